"""Lessons in JupyterLab, in a real headless browser: Run All, and the live plot moves while its cell is busy.

It needs Chromium (or Chrome) and chromedriver: on Debian `apt install chromium chromium-driver`.
Without them it is skipped with that reason, unless BROWSER_REQUIRED is set, as CI does.
"""

import io
import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import nbformat
import numpy as np
import psutil
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from PIL import Image
from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException, WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

ROOT = Path(__file__).resolve().parents[1]
BASELINE = sorted((ROOT / "notebooks").glob("01_*.ipynb"))
TOKEN = "of-this-test"
LOADED, FINISHED = 120, 1500
"""Seconds that opening a notebook, and running one, may take at most."""

MOVING = """\
import time
from IPython.display import SVG, display
bar = "<svg xmlns='http://www.w3.org/2000/svg' width='300' height='40'>"
bar += "<rect width='{}' height='40' fill='teal'/></svg>"
shown = display(SVG(bar.format(0)), display_id=True)
for step in range(1, 25):
    time.sleep(0.25)
    shown.update(SVG(bar.format(12 * step)))
"""
STILL = MOVING.replace("12 * step", "12")

# One look at the page: each code cell's prompt, digests of its pictures, errors and stderr it shows.
LOOK = """\
const digest = text => {
  let sum = 0;
  for (const sign of text) sum = (sum * 31 + sign.codePointAt(0)) >>> 0;
  return sum;
};
const panel = document.querySelector('.jp-NotebookPanel:not(.lm-mod-hidden)');
const cells = [...panel.querySelectorAll('.jp-CodeCell')].map(cell => {
  const all = selector => [...cell.querySelectorAll(selector)];
  const texts = kind =>
    all(`[data-mime-type="application/vnd.jupyter.${kind}"]`).map(each => each.textContent);
  return {
    prompt: cell.querySelector('.jp-InputPrompt').textContent.trim(),
    pictures: all('.jp-RenderedSVG, .jp-OutputArea-output svg').map(picture => digest(picture.outerHTML)),
    errors: texts('error'),
    stderr: texts('stderr'),
  };
});
const indicator = panel.querySelector('.jp-Notebook-ExecutionIndicator');
return {cells: cells, kernel: indicator ? indicator.dataset.status : ''};
"""


def find_browser() -> tuple[str, str]:
    """Find the browser and its driver; skip, or in CI fail, with what to install."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    driver = shutil.which("chromedriver")
    if browser and driver:
        return browser, driver
    lacking = "Chromium" if not browser else "chromedriver"
    reason = f"there is no {lacking} on this machine: apt install chromium chromium-driver"
    return pytest.fail(reason) if os.environ.get("BROWSER_REQUIRED") else pytest.skip(reason)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Start the headless browser with an empty profile."""
    binary, driver = find_browser()
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    flags = "--headless=new --no-sandbox --disable-gpu --disable-quic --disable-dev-shm-usage --no-first-run"
    flags += " --disable-background-networking --disable-component-update --disable-sync"
    for flag in [
        *flags.split(),
        "--window-size=1400,1000",
        f"--user-data-dir={tmp_path_factory.mktemp('profile')}",
    ]:
        options.add_argument(flag)
    started = webdriver.Chrome(options, webdriver.ChromeService(driver))
    yield started
    started.quit()


class Lab(NamedTuple):
    """A running JupyterLab: where it listens (ending in a slash), and the folder it serves."""

    address: str
    root: Path


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """Serve copies of the notebooks on loopback; afterwards neither server nor kernel may be left."""
    find_browser()
    root = tmp_path_factory.mktemp("lab")
    (root / "notebooks").mkdir()
    for path in BASELINE:
        shutil.copy(path, root / "notebooks")
    for name, source in {"moving": MOVING, "still": STILL, "failing": "1 / 0"}.items():
        notebook = new_notebook(cells=[new_code_cell("1 + 1"), new_code_cell(source), new_code_cell("2 + 2")])
        notebook.metadata["kernelspec"] = {
            "name": "python3",
            "display_name": "Python 3",
            "language": "python",
        }
        nbformat.write(notebook, str(root / "notebooks" / f"{name}.ipynb"))
    # Every cell's output stays in the page, and nothing pops up over it.
    settings = {"notebook-extension/tracker": {"windowingMode": "none", "autoStartDefaultKernel": True}}
    settings["apputils-extension/notification"] = {"fetchNews": "false", "checkForUpdates": False}
    for name, values in settings.items():
        path = root / "settings/@jupyterlab" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values))
    folders = {"JUPYTERLAB_SETTINGS_DIR": "settings", "JUPYTERLAB_WORKSPACES_DIR": "workspaces"}
    folders |= {"JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data", "JUPYTER_RUNTIME_DIR": "runtime"}
    environment = os.environ | {key: str(root / folder) for key, folder in folders.items()}
    environment |= {"JUPYTER_TOKEN": TOKEN, "IPYTHONDIR": str(root / "ipython")}
    flags = ["--no-browser", "--allow-root", "--ip=127.0.0.1", "--port=0", f"--ServerApp.root_dir={root}"]
    with (root / "server.log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *flags],
            cwd=root,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    kernels = []
    try:
        yield Lab(address(server, root), root)
        kernels = psutil.Process(server.pid).children(recursive=True)
    finally:
        server.terminate()
        try:
            server.wait(60)
        finally:
            _, orphans = psutil.wait_procs(kernels, timeout=30)
            for process in [*orphans, *([psutil.Process(server.pid)] if server.poll() is None else [])]:
                process.kill()
    assert kernels, "no kernel ran, so their end proves nothing"
    assert orphans == [], "processes outlived the server"


def address(server: subprocess.Popen, root: Path) -> str:
    """Wait until the server says where it listens."""
    deadline = time.monotonic() + LOADED
    while time.monotonic() < deadline:
        assert server.poll() is None, (root / "server.log").read_text()
        for path in (root / "runtime").glob("jpserver-*.json"):
            try:
                return json.loads(path.read_text())["url"]
            except (ValueError, KeyError):
                pass  # half written: look again
        time.sleep(0.1)
    raise TimeoutError((root / "server.log").read_text())


class Page:
    """A notebook open in JupyterLab."""

    def __init__(self, browser, lab: Lab, name: str):
        self.browser, self.lab, self.name = browser, lab, name
        browser.get(f"{lab.address}lab/tree/notebooks/{name}?token={TOKEN}&reset")
        cells = nbformat.read(lab.root / "notebooks" / name, 4).cells
        shown = "return document.querySelectorAll('.jp-NotebookPanel:not(.lm-mod-hidden) .jp-Cell').length"
        self.until(lambda: browser.execute_script(shown) == len(cells), "not all cells appeared")
        self.until(self.connected, "the kernel never became ready")

    def connected(self) -> bool:
        """Whether the page is connected to a kernel that waits for work; the page alone says so too early."""
        with urllib.request.urlopen(f"{self.lab.address}api/sessions?token={TOKEN}", timeout=10) as answer:
            kernels = [each["kernel"] for each in json.load(answer) if each["path"].endswith(f"/{self.name}")]
        ready = [each for each in kernels if each["execution_state"] == "idle" and each["connections"] > 0]
        return bool(ready) and self.look()["kernel"] == "idle"

    def until(self, condition, complaint: str, seconds: float = LOADED) -> None:
        """Wait for a condition of the page; with the page's text in the complaint if it never holds."""
        try:
            WebDriverWait(self.browser, seconds, 0.1, [WebDriverException]).until(lambda _: condition())
        except WebDriverException:
            text = self.browser.find_element(By.TAG_NAME, "body").text[-3000:]
            raise AssertionError(f"{complaint} within {seconds} s; the page reads:\n{text}") from None

    def look(self) -> dict:
        """Take one look at all code cells and the kernel."""
        return self.browser.execute_script(LOOK)

    def run_all(self) -> None:
        """Choose Run, Run All Cells in the menu bar, as a reader does."""
        labels = self.browser.find_elements(By.CSS_SELECTOR, ".lm-MenuBar-item")
        next(label for label in labels if label.text == "Run").click()
        item = '.lm-Menu-item[data-command="runmenu:run-all"]'
        self.until(lambda: self.browser.find_element(By.CSS_SELECTOR, item).is_displayed(), "no Run menu")
        self.browser.find_element(By.CSS_SELECTOR, item).click()
        self.until(lambda: any(cell["prompt"] != "[ ]:" for cell in self.look()["cells"]), "nothing was run")

    def photograph(self, index: int) -> np.ndarray | None:
        """Take the pixels of a code cell's first picture, uint8 (H, W, 3); None if it was just replaced."""
        cell = self.browser.find_elements(
            By.CSS_SELECTOR, ".jp-NotebookPanel:not(.lm-mod-hidden) .jp-CodeCell"
        )[index]
        try:
            element = cell.find_element(By.CSS_SELECTOR, ".jp-RenderedSVG, .jp-OutputArea-output svg")
            with Image.open(io.BytesIO(element.screenshot_as_png)) as image:
                return np.asarray(image.convert("RGB"))
        except (StaleElementReferenceException, WebDriverException):
            return None

    def watch(self) -> dict[int, tuple[set[int], list[np.ndarray]]]:
        """Look until the run ends.

        Returns:
            For each code cell that showed a picture while busy: digests of the pictures seen
            meanwhile, and screenshots of some.
        """
        seen: dict[int, tuple[set[int], list[np.ndarray]]] = {}
        deadline = time.monotonic() + FINISHED
        while time.monotonic() < deadline:
            page = self.look()
            for index, cell in enumerate(page["cells"]):
                if cell["prompt"] != "[*]:" or not cell["pictures"]:
                    continue
                digests, photographs = seen.setdefault(index, (set(), []))
                fresh = cell["pictures"][0] not in digests
                digests.add(cell["pictures"][0])
                pixels = self.photograph(index) if fresh and len(photographs) < 4 else None
                if pixels is not None and self.look()["cells"][index]["prompt"] == "[*]:":
                    photographs.append(pixels)
            if page["kernel"] == "idle" and all(cell["prompt"] != "[*]:" for cell in page["cells"]):
                return seen
            time.sleep(0.05)
        raise AssertionError(
            f"still running after {FINISHED} s: {[cell['prompt'] for cell in page['cells']]}"
        )

    def complaints(self) -> list[str]:
        """Name every code cell that did not run, shows an error, or printed a traceback."""
        found = []
        for index, cell in enumerate(self.look()["cells"]):
            if not cell["prompt"].strip("[]:").isdecimal():
                found.append(f"code cell {index} did not run: {cell['prompt']}")
            found += [f"code cell {index}: {text}" for text in cell["errors"]]
            found += [f"code cell {index}: {text}" for text in cell["stderr"] if "Traceback" in text]
        return found


def moved(seen: dict[int, tuple[set[int], list[np.ndarray]]]) -> list[int]:
    """Name the code cells whose picture changed while they were busy, in the page and in its pixels."""
    return [
        index
        for index, (digests, photographs) in seen.items()
        if len(digests) >= 3
        and any(
            first.shape != other.shape or (first != other).any() for first, other in pairwise(photographs)
        )
    ]


def test_a_picture_updated_by_a_busy_cell_is_seen_moving(browser, lab):
    page = Page(browser, lab, "moving.ipynb")
    page.run_all()
    assert moved(page.watch()) == [1]
    assert page.complaints() == []


def test_a_still_picture_is_not_taken_for_a_live_one(browser, lab):
    page = Page(browser, lab, "still.ipynb")
    page.run_all()
    seen = page.watch()
    assert 1 in seen
    assert moved(seen) == []
    assert page.complaints() == []


def test_an_error_is_seen_with_the_cells_it_stopped(browser, lab):
    page = Page(browser, lab, "failing.ipynb")
    page.run_all()
    page.watch()
    complaints = page.complaints()
    assert any("ZeroDivisionError" in text for text in complaints)
    assert any("code cell 2 did not run" in text for text in complaints)


@pytest.mark.skipif(not BASELINE, reason="there is no notebooks/01_*.ipynb")
def test_lesson_01_runs_in_the_browser_and_its_live_plot_moves(browser, lab):
    page = Page(browser, lab, BASELINE[0].name)
    page.run_all()
    seen = page.watch()
    assert page.complaints() == []
    assert moved(seen), f"no picture moved while its cell was busy; pictures seen: {seen.keys()}"
