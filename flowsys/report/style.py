"""How the page looks: one column; on a narrow screen the rows of tables become cards."""

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; max-width: 76rem; margin: 0 auto; padding: 1rem; }
h1, h2, h3 { line-height: 1.2; overflow-wrap: anywhere; } h2 { margin-top: 3rem; border-bottom: 1px solid #ccc; }
table { border-collapse: collapse; width: 100%; font-size: .8125rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid #ddd;
  overflow-wrap: anywhere; }
th { overflow-wrap: normal; }
[data-label=measured] { min-width: 14rem; } [data-label=claim], [data-label=note] { min-width: 9rem; }
[data-label=place], [data-label=predicted] { min-width: 7rem; } [data-label=claims] { min-width: 16rem; }
[data-label=system] { white-space: nowrap; }
[data-label=verdict] { min-width: 5rem; }
img { max-width: 100%; height: auto; }
.holds { color: #1b6e2c; } .part { color: #8a5a00; } .fails { color: #a11; } .untested { color: #666; }
figure { margin: 1.5rem 0; } figcaption { font-size: .875rem; color: #444; overflow-wrap: anywhere; }
.figures figure { display: grid; grid-template-columns: minmax(0, 3fr) minmax(14rem, 1fr); gap: 1rem; }
.diagrams { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 30rem), 1fr)); gap: 1rem; }
details { margin: 1rem 0; } summary { cursor: pointer; font-weight: 600; }
:target { background: #fff6cc; }
@media (max-width: 800px) {
  .figures figure { grid-template-columns: minmax(0, 1fr); }
  table tr:first-child { display: none; }
  table tr { display: block; border-bottom: 2px solid #ccc; padding: .5rem 0; }
  table td { display: block; border: 0; padding: .1rem 0; min-width: 0 !important; }
  table td:empty { display: none; }
  table td::before { content: attr(data-label) ": "; color: #666; }
  table td:first-child { font-weight: 600; } table td:first-child::before { content: none; }
}
"""

SCRIPT = """
const unfold = () => document.getElementById(decodeURIComponent(location.hash.slice(1)))?.closest("details")
  ?.setAttribute("open", "");
addEventListener("hashchange", unfold); unfold();
"""
