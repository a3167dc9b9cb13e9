"""The notebook guard fails what it must: rules on outputs made here, and whole runs under nbmake."""

import base64
import io
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import numpy as np
import pytest
from matplotlib.figure import Figure
from nbformat.v4 import new_code_cell, new_notebook, new_output
from notebook_guard import problems
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]


def png(picture: Figure | np.ndarray) -> str:
    """Encode a matplotlib figure, or uint8 pixels (H, W, 3), as a notebook stores a PNG."""
    stream = io.BytesIO()
    if isinstance(picture, Figure):
        picture.savefig(stream, format="png", bbox_inches="tight")
    else:
        Image.fromarray(picture).save(stream, format="png")
    return base64.b64encode(stream.getvalue()).decode()


def axes(draw=lambda axes: None) -> str:
    """Draw into a fresh pair of axes; the PNG."""
    figure = Figure()
    draw(figure.subplots())
    return png(figure)


def svg(shapes: int) -> str:
    """Make an SVG of that many rectangles."""
    return "<svg xmlns='http://www.w3.org/2000/svg'>" + "<rect/>" * shapes + "</svg>"


def ran(source: str, *outputs, tags=()):
    """Make a code cell as execution leaves it."""
    cell = new_code_cell(source, execution_count=1, outputs=list(outputs))
    cell.metadata["tags"] = list(tags)
    return cell


def shows(data: str, kind: str = "image/png"):
    """Make a cell tagged ``figure`` that shows this image."""
    return ran("draw()", new_output("display_data", {kind: data}), tags=["figure"])


def executed(*cells):
    """Make an executed notebook: these cells, and plain ones so that there are enough."""
    return new_notebook(cells=[*cells, *(ran(f"filler = {index}") for index in range(3))])


LINE = shows(axes(lambda axes: axes.plot([1, 3, 2])))
LOUD = new_output("stream", name="stderr", text="Traceback (most recent call last):\n  ...\nOSError: gone\n")
SPRUNG = new_output("stream", name="stdout", text="Failed as predicted.\nRuntimeError: workers\n")
WARNING = new_output("stream", name="stderr", text="UserWarning: slow\n")
ALTERED = ran("epochs = 9")
ALTERED.metadata["nbmake"] = {"mock": {"epochs": 1}}
GREY = np.linspace(0, 255, 200 * 300, dtype=np.uint8).reshape(200, 300, 1).repeat(3, axis=2)


@pytest.mark.parametrize(
    "cells",
    [
        [LINE],
        [shows(axes(lambda axes: axes.bar([1, 2], [3, 3])))],
        [shows(png(GREY))],
        [shows(svg(4), "image/svg+xml")],
        [LINE, ran("warn()", WARNING)],
        [LINE, ran("trap()", LOUD, SPRUNG, tags=["trap"])],
        [
            LINE,
            ran(
                "%%time\nwork()", new_output("stream", name="stdout", text="Wall time: 3 ms\n"), tags=["time"]
            ),
        ],
    ],
    ids=["line", "bars", "grey photograph", "svg", "warning", "trap", "time"],
)
def test_what_shows_its_figures_has_no_problems(cells):
    assert problems(executed(*cells)) == []


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        (ran("draw()", tags=["figure"]), "shows no image"),
        (shows(png(Figure())), "its PNG is blank"),
        (shows(axes()), "its PNG is blank"),
        (
            shows(axes(lambda axes: (axes.grid(), axes.set_title("nothing was drawn here")))),
            "its PNG is blank",
        ),
        (shows(png(np.full((200, 200, 3), (30, 90, 200), np.uint8))), "its PNG is blank"),
        (shows(png(np.zeros((9, 9, 3), np.uint8))), "only 9x9 pixels"),
        (shows("bm8gcG5n"), "cannot be read"),
        (shows(svg(1), "image/svg+xml"), "its SVG is blank"),
        (shows("<svg><rect>", "image/svg+xml"), "malformed"),
        (new_code_cell("never()"), "was not run"),
        (new_code_cell(" "), "is empty"),
        (ran("work()", tags=["time"]), "does not start with %%time"),
        (ran("%%time\nwork()", tags=["time"]), "reported no wall time"),
        (ran("explode()", LOUD), "printed a traceback to stderr: OSError: gone"),
        (ran("trap()", LOUD, tags=["trap"]), "printed a traceback to stderr: OSError: gone"),
        (ran("explode()", LOUD, SPRUNG), "printed a traceback to stderr: OSError: gone"),
        (
            ran("1 / 0", new_output("error", ename="ZeroDivisionError", evalue="zero")),
            "raised ZeroDivisionError",
        ),
        (ALTERED, "is altered under test"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_lack_is_named_with_its_cell(cell, reason):
    found = problems(executed(LINE, cell))
    assert {index for index, _ in found} == {1}
    assert any(reason in sentence for _, sentence in found), found


def test_a_second_blank_figure_in_a_cell_is_found():
    both = shows(axes(lambda axes: axes.plot([1, 3, 2])))
    both.outputs.append(new_output("display_data", {"image/png": axes()}))
    assert len(problems(executed(both))) == 1


def test_a_lesson_needs_code_cells_and_a_figure():
    sentences = [sentence for _, sentence in problems(new_notebook())]
    assert any("0 code cells" in sentence for sentence in sentences)
    assert any("no cell tagged 'figure'" in sentence for sentence in sentences)


DRAW = "import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])\nplt.show()"
EXPECTED_ERROR = """\
from contextlib import contextmanager
@contextmanager
def must_raise(kind):
    try:
        yield
    except kind as error:
        print('as predicted:', error)
    else:
        raise AssertionError(f'{kind.__name__} was expected')
with must_raise(ZeroDivisionError):
    1 / 0"""


def lesson(*cells: tuple[str, ...]):
    """Make a notebook to run; a cell is its source, then its tags."""
    notebook = new_notebook(cells=[new_code_cell(source) for source, *_ in cells])
    for cell, (_, *tags) in zip(notebook.cells, cells, strict=True):
        cell.metadata["tags"] = tags
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return notebook


RUNS = {
    "good.ipynb": (lesson((DRAW, "figure"), (EXPECTED_ERROR,), ("%%time\nsum(range(9))", "time")), None),
    "did_nothing.ipynb": (lesson(), "has 0 code cells"),
    "blank.ipynb": (
        lesson((DRAW.replace("plot([1, 3, 2])", "axes()"), "figure"), ("1",), ("2",)),
        "its PNG is blank",
    ),
    "raises.ipynb": (lesson((DRAW, "figure"), ("1 / 0",), ("2",)), "ZeroDivisionError"),
    "allowed.ipynb": (lesson((DRAW, "figure"), ("1 / 0", "raises-exception"), ("2",)), "raised ZeroDivision"),
}


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory) -> tuple[Path, str]:
    """Run all of RUNS in a pytest of its own, as `make test` does; the folder and what was printed."""
    folder = tmp_path_factory.mktemp("guarded")
    for name, (notebook, _) in RUNS.items():
        nbformat.write(notebook, str(folder / name))
    flags = ["-p", "notebook_guard", "--nbmake", "--nbmake-kernel=python3", "-rA", "--color=no"]
    flags += ["-p", "no:cacheprovider", "-c", os.devnull, f"--rootdir={folder}", str(folder)]
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    result = subprocess.run(
        [sys.executable, "-m", "pytest", *flags],
        env=inherited
        | {"PYTHONPATH": str(ROOT / "tests"), "EXECUTED_TO": str(folder / "kept"), "COLUMNS": "500"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    return folder, result.stdout + result.stderr


@pytest.mark.parametrize("name", RUNS)
def test_a_whole_run_passes_or_fails_with_the_reason(whole_run, name):
    _, printed = whole_run
    [line] = [
        line for line in printed.splitlines() if f"{name}::" in line and line[:6] in ("PASSED", "FAILED")
    ]
    reason = RUNS[name][1]
    if reason is None:
        assert line.startswith("PASSED"), printed
    else:
        assert line.startswith("FAILED"), printed
        assert reason in line, printed


def test_executed_notebooks_are_kept_failed_ones_too(whole_run):
    folder, printed = whole_run
    assert {path.name for path in (folder / "kept").iterdir()} == set(RUNS), printed
    assert "image/png" in (folder / "kept" / "good.ipynb").read_text()
    assert nbformat.read(folder / "good.ipynb", 4).cells[0].outputs == [], "the source must stay as it was"


def test_the_guard_watches_the_lessons():
    """The root conftest loads the plugin: its option exists in the run that tests the lessons."""
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "--help"], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert "--executed-to" in result.stdout, result.stderr
