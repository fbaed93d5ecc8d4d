"""`fs.explore` in a real JupyterLab in a real browser: a slider, a click on the diagram, the printed line.

Skipped where there is no Chromium, no JupyterLab or no playwright to drive them.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import flowsys as fs

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (extra tests)")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine"),
    pytest.mark.skipif(find_spec("jupyterlab") is None, reason="JupyterLab is not installed (extra notebooks)"),
]
ROOT = Path(__file__).parents[2]
PATIENCE = 120_000  # ms: a kernel that starts on a busy machine

MODEL = """
model = fs.Model(
    "two_modes",
    parameters={"s": fs.Real(2.0, 0.5, 4, "strength"), "small": fs.Real(0.1, 0.01, 1, "start", log=True)},
    blocks=lambda p: {"a": fs.Direct(2, start=p.small), "c": fs.Direct(2, start=p.small)},
    loss=lambda ops, w, X, p: (p.s - w.a[0] * w.c[0]) ** 2 / 2 + (1.0 - w.a[1] * w.c[1]) ** 2 / 2,
    observe={"first": lambda ops, w, X, p: w.a[0] * w.c[0]},
    events={"half": fs.Crossing("first", 0.5, +1)},
)
"""
NOTEBOOKS = {
    "packaged": ["import flowsys as fs\nfs.explore('mixture', omega=0.2)"],
    "own": [f"import flowsys as fs\n{MODEL}\nfs.explore(model)"],
}
CASES = {"packaged": ("omega", ("b", "T_1")), "own": ("small", ("s", "small"))}


def notebook(cells: list[str]) -> str:
    code = [{"cell_type": "code", "id": f"c{i}", "metadata": {}, "source": text, "outputs": [], "execution_count": None}
            for i, text in enumerate(cells)]  # fmt: skip
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return json.dumps({"cells": code, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5})


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """The address of a JupyterLab that serves the notebooks."""
    folder = tmp_path_factory.mktemp("lab")
    for name, cells in NOTEBOOKS.items():
        (folder / f"{name}.ipynb").write_text(notebook(cells), encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {"ip": "127.0.0.1", "port": port, "port_retries": 0, "open_browser": False, "root_dir": folder,
               "allow_root": True}  # fmt: skip
    command = [sys.executable, "-m", "jupyterlab", *(f"--ServerApp.{k}={v}" for k, v in options.items())]
    command += ["--IdentityProvider.token=", "--ServerApp.password=", "--LabApp.collaborative=False"]
    homes = {name: str(folder / name.lower()) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")}
    environment = os.environ | homes | {"PYTHONPATH": str(ROOT)}
    with open(folder / "server.log", "w") as log:
        server = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_for(f"{address}/api", server, folder / "server.log")
        yield address
    finally:
        server.terminate()
        server.wait(20)


def _wait_for(address: str, server: subprocess.Popen, log: Path) -> None:
    end = time.monotonic() + PATIENCE / 1000
    while time.monotonic() < end:
        assert server.poll() is None, log.read_text()
        try:
            return urllib.request.urlopen(address, timeout=5).close()
        except OSError:
            time.sleep(0.2)
    raise TimeoutError(log.read_text())


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


@pytest.fixture
def page(request, lab, browser):
    """The notebook, run, with its explorer on the page."""
    page = browser.new_page(viewport={"width": 1500, "height": 1400})
    page.set_default_timeout(PATIENCE)
    page.goto(f"{lab}/lab/tree/{request.param}.ipynb?reset")
    page.wait_for_selector(".jp-NotebookPanel .jp-CodeCell")
    page.wait_for_selector("text=/Python 3.*Idle/")  # what is run before the kernel is there is lost
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name=re.compile("^Run All Cells")).click()
    page.wait_for_selector("img.flowsys-curves")
    yield page
    page.close()


def numbers(page) -> dict[str, float]:
    """What the page tells of the end of the curves, {name: number}."""
    told = page.inner_text(".flowsys-told")
    return {name: float(x) for name, x in re.findall(r"([\w.]+) = (-?[\d.e+-]+)", told)}


def changed(page, what, before):
    """A reading of the page, once it is another one than before."""
    end = time.monotonic() + PATIENCE / 1000
    while (now := what(page)) == before and time.monotonic() < end:
        page.wait_for_timeout(50)
    assert now != before
    return now


def settled(page) -> dict[str, float]:
    """The numbers, once they have stood still: sliders send every step of a move."""
    now = numbers(page)
    while True:
        page.wait_for_timeout(1500)
        before, now = now, numbers(page)
        if now == before:
            return now


def picture(page) -> str:
    return page.get_attribute("img.flowsys-curves", "src")


@pytest.mark.parametrize("page,name", [(name, name) for name in NOTEBOOKS], indirect=["page"], ids=list(NOTEBOOKS))
def test_sliders_clicks_and_the_printed_line(page, name):
    slider, axes = CASES[name]
    first, drawn = numbers(page), picture(page)
    handle = page.locator(f".widget-slider:has(label:text-is('{slider}')) .noUi-handle")
    handle.focus()
    for _ in range(4):
        handle.press("ArrowRight")
    changed(page, numbers, first)
    changed(page, picture, drawn)
    moved = settled(page)

    page.get_by_role("button", name="phase diagram").click()
    page.wait_for_selector("img.flowsys-phase", state="visible")
    box = page.locator("img.flowsys-phase").bounding_box()
    page.mouse.click(box["x"] + 0.4 * box["width"], box["y"] + 0.25 * box["height"])
    changed(page, numbers, moved)
    clicked = settled(page)

    page.get_by_role("button", name="as code").click()
    line = page.inner_text(".flowsys-code").splitlines()[2]
    assert all(f"{axis}=" in line for axis in axes)
    known = {"fs": fs}
    if name == "own":
        exec(MODEL, known)
    run = eval(line, known)
    again = {name: run[name][-1] for name in run}
    assert run.t[-1] == pytest.approx(clicked.pop("t"), rel=1e-5)
    assert again.keys() == clicked.keys()
    assert np.allclose(list(again.values()), list(clicked.values()), rtol=1e-7)
