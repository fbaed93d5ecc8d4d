"""The report is one page that needs nothing else, says what was measured, and can be read wide and narrow."""

import html
import json
import re
import shutil
import subprocess
from dataclasses import replace
from importlib.util import find_spec

import pytest
from other_systems import changed

import flowsys
from flowsys.claims import Provable
from flowsys.claims.statements import coverage
from flowsys.ladder import Rung, compare
from flowsys.plot.drawing import Drawing, PaperFigure
from flowsys.report import report
from flowsys.report.parts import MAKE
from flowsys.sweeps.named import NamedDiagram

WIDTHS = (1280, 400)
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)


def a_figure(setup) -> Drawing:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3))
    figure.subplots().plot([0, 1], [0, 1])
    return Drawing(figure, {}, "a line")


@pytest.fixture(scope="module")
def page() -> str:
    """Every kind of part, each small: a diagram of 25 points, a figure, a ladder of one rung, a short proof."""
    small = NamedDiagram("T_2", ("b=0.1:1:5", "omega=0.05:0.3:5:log"), ("T_2",))
    rung = Rung("L2", "L3", "width", lambda m: m**-0.5, "width", (1.0, 4.0, 16.0), -0.5, 0.1)
    mixture, short = flowsys.load("mixture"), Provable(["S_cv_same > 0 on (T_1, 21]"])
    claims = [replace(claim, provable=short) if claim.provable else claim for claim in mixture.claims]
    system = changed(mixture, ladder=lambda setup: [rung], diagrams={"small": small}, claims=claims,
                     figures={"1": PaperFigure(a_figure, "a line")})  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:  # its verdicts on record and its statements are the package's
        patch.setattr("flowsys.systems.mixture.SYSTEM", system)
        return report([system])


def test_the_page_needs_nothing_but_itself(page):
    assert not re.findall(r"(?:src|href)=\"(?!data:|#)[^\"]*", page)
    assert page.count("<img") == page.count("data:image/png;base64,") == 3 + (find_spec("flint") is not None)


def test_the_page_has_the_theorem_that_is_proven(page):
    pytest.importorskip("flint")
    assert "Theorem. For the program" in page and "S_cv_same &gt; 0 on (T_1, 21]" in page
    assert "flowsys check mixture --claim E.5 --prove" in page


def test_the_page_shows_every_claim_with_its_verdict_on_record(page):
    for claim in flowsys.load("mixture").claims:
        assert f'id="mixture-claim-{claim.id}"' in page
    text = flowsys.claims.checking.recorded(flowsys.load("mixture"))["6.1-printed"].measured
    assert html.escape(text) in page
    assert "exponent -0.500" in page


def test_every_link_has_its_target(page):
    targets = set(re.findall(r'id="([^"]*)"', page))
    assert set(re.findall(r'href="#([^"]*)"', page)) <= targets
    assert all(
        f"mixture-{c.place.replace('. ', '-').replace(' ', '-')}" in targets for c in coverage(flowsys.load("mixture"))
    )


def test_parts_that_are_kept_are_not_made_again(tmp_path, monkeypatch):
    made = []
    monkeypatch.setitem(MAKE, "figure", lambda system, name: made.append(name) or "a figure")
    monkeypatch.setitem(MAKE, "proof", lambda system, name: "a proof")
    system = changed(flowsys.load("mixture"), ladder=None, diagrams={}, figures={"1": PaperFigure(a_figure, "a line")})
    pages = [report([system], directory=tmp_path) for _ in range(2)]
    assert made == ["1"] and pages[0] == pages[1] and "a figure" in pages[0]
    beside = r'a figure<p><a class="\w+" href="#mixture-claim-figure_1">not testable</a>: '  # a copy has no record
    assert re.search(beside, pages[0])


def test_parts_made_in_other_processes_are_the_same():
    small = NamedDiagram("$x$ at $t$ = 1", ("rate=0.5:2:3", "start=1:2:3"), ("loss@t=1",))
    model = flowsys.Model(
        "decay",
        parameters={"rate": flowsys.Real(1.0, 0.1, 10), "start": flowsys.Real(1.0, 0.1, 10)},
        blocks=lambda p: {"x": flowsys.Direct(start=p.start)},
        loss=lambda ops, w, X, p: p.rate * w.x**2 / 2,
        diagrams={"one": small, "two": small},
        ladder=None,
    )
    told = []
    pages = [report([model], workers=workers, on_progress=lambda *done: told.append(done)) for workers in (2, 1)]
    assert pages[0] == pages[1] and pages[0].count("<img") == 2
    assert [str(part) for part, done in told if not done] == ["decay diagram one"] * 2
    assert sum(done for _, done in told) == 4


MEASURE = """
<!doctype html><meta charset="utf-8"><body>FRAMES<pre id="out"></pre><script>
window.onload = () => { const found = [...document.querySelectorAll("iframe")].map(frame => {
  const page = frame.contentDocument, width = frame.clientWidth, name = e => e.tagName + "." + e.className;
  for (const details of page.querySelectorAll("details")) details.open = true;
  const clipped = [...page.querySelectorAll("body *")].filter(e => e.getClientRects().length
    && (e.getBoundingClientRect().right > width + 1 || e.getBoundingClientRect().left < -1)).map(name);
  const pictures = [...page.images].map(image => {
    const canvas = document.createElement("canvas"), pen = canvas.getContext("2d");
    canvas.width = canvas.height = 64; pen.drawImage(image, 0, 0, 64, 64);
    const colours = new Set(new Uint32Array(pen.getImageData(0, 0, 64, 64).data.buffer)).size;
    return {shown: image.getBoundingClientRect().width, natural: image.naturalWidth, colours};
  });
  return {width, scroll: page.documentElement.scrollWidth, height: page.documentElement.scrollHeight,
    title: page.querySelector("h1").innerText, clipped, pictures};
}); document.getElementById("out").textContent = JSON.stringify(found); };
</script>
"""


def seen(page: str, directory, widths=WIDTHS) -> list[dict]:
    """What a browser makes of the page at each width: its extent, what is cut off, and its pictures."""
    frames = "".join(
        f'<iframe width="{w}" height="900" style="border:0" srcdoc="{html.escape(page)}"></iframe>' for w in widths
    )
    (directory / "frames.html").write_text(MEASURE.replace("FRAMES", frames), encoding="utf-8")
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={directory / 'profile'}",
               "--virtual-time-budget=20000", "--dump-dom", (directory / "frames.html").as_uri()]  # fmt: skip
    dom = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout
    return json.loads(html.unescape(re.search(r'<pre id="out">(.*?)</pre>', dom, re.DOTALL)[1]))


in_a_browser = pytest.mark.skipif(BROWSER is None, reason="no chromium or chrome is installed (.ci/run installs one)")


@pytest.mark.browser
@in_a_browser
def test_nothing_is_cut_off_and_plots_are_visible_wide_and_narrow(page, tmp_path):
    for view, width in zip(seen(page, tmp_path), WIDTHS, strict=True):
        assert view["title"] == "flowsys report"
        assert view["scroll"] <= width
        assert view["clipped"] == []
        assert len(view["pictures"]) == 3 + (find_spec("flint") is not None)
        for picture in view["pictures"]:
            assert picture["natural"] >= picture["shown"] > min(300, width / 2)
            assert picture["colours"] > 10


@pytest.mark.browser
@in_a_browser
def test_the_browser_notices_what_is_cut_off_and_what_is_blank(tmp_path):
    blank = "data:image/gif;base64,R0lGODlhAQABAIAAAP///wAAACH5BAAAAAAALAAAAAABAAEAAAICRAEAOw=="
    bad = f'<h1>x</h1><p style="width: 1000px">wide</p><img src="{blank}">'
    wide, narrow = seen(bad, tmp_path)
    assert (wide["clipped"], narrow["clipped"]) == ([], ["P."])
    assert narrow["pictures"][0]["colours"] == 1


@pytest.mark.parametrize(
    "errors, answer",
    [([1.0, 0.5, 0.25, 0.125], "yes"), ([1.0, 0.25, 0.0625, 0.0156], "no"), ([1.0, 0.3, 0.25, 0.07], "undecided")],
)
def test_a_rung_is_undecided_where_its_errors_scatter_too_much_to_tell(errors, answer):
    values = (8.0, 4.0, 2.0, 1.0)
    rung = Rung("L0", "L1", "descent", dict(zip(values, errors)).get, "learning_rate", values, 1.0, 0.1)
    (measured,) = compare(changed(flowsys.load("mixture"), ladder=lambda setup: [rung])).rungs
    assert measured.answer == answer and measured.holds is {"yes": True, "no": False, "undecided": None}[answer]
