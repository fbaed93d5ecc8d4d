"""How the page looks: one column, readable on a phone; wide tables become cards there."""

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; max-width: 76rem; margin: 0 auto; padding: 1rem; }
h1, h2, h3 { line-height: 1.2; overflow-wrap: anywhere; } h2 { margin-top: 3rem; border-bottom: 1px solid #ccc; }
table { border-collapse: collapse; width: 100%; font-size: .8125rem; }
.scroll { overflow-x: auto; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid #ddd;
  overflow-wrap: break-word; }
.claims td { min-width: 6rem; } .claims td:nth-child(4) { min-width: 16rem; }
img { max-width: 100%; height: auto; }
.holds { color: #1b6e2c; } .part { color: #8a5a00; } .fails { color: #a11; } .untested { color: #666; }
.places { font-size: .75rem; }
figure { margin: 1.5rem 0; } figcaption { font-size: .875rem; color: #444; }
details { margin: 1rem 0; } summary { cursor: pointer; font-weight: 600; }
:target { background: #fff6cc; scroll-margin-top: 1rem; }
@media (max-width: 700px) {
  .claims tr:first-child { display: none; }
  .claims tr { display: block; border-bottom: 2px solid #ccc; padding: .5rem 0; }
  .claims td, .claims td:nth-child(4) { display: block; border: 0; padding: .1rem 0; min-width: 0; }
  .claims td:empty { display: none; }
  .claims td:nth-child(2) { font-weight: 600; }
  .claims td:nth-child(3)::before { content: "predicted: "; color: #666; }
  .claims td:nth-child(4)::before { content: "measured: "; color: #666; }
}
"""
