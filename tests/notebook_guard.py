"""A pytest plugin: a lesson passes only when the notebook that nbmake executed shows what it promises.

nbmake asks whether a cell raised. This plugin then looks at the executed notebook: did every
code cell run, did the cells tagged ``figure`` draw something, did those tagged ``time`` report a
wall time? It also keeps the executed notebooks when told where: ``--executed-to DIR`` or the
environment variable ``EXECUTED_TO``.
"""

import base64
import io
import os
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import numpy as np
import pytest
from nbmake import pytest_items
from nbmake.nb_result import NotebookError, NotebookResult
from nbmake.nb_run import NotebookRun
from nbmake.pytest_items import NotebookFailedException, NotebookItem
from PIL import Image, UnidentifiedImageError

MINIMUM_CODE_CELLS = 3
"""A lesson with fewer code cells than this teaches nothing by running."""

MINIMUM_SIDE = 100
"""Pixels of the shorter side of a figure that can still be read."""

SHAPES = ("path", "line", "polyline", "polygon", "rect", "circle", "ellipse", "text", "image")


def pytest_addoption(parser):
    """Add ``--executed-to DIR``."""
    parser.getgroup("nbmake", "notebook testing").addoption(
        "--executed-to",
        metavar="DIR",
        default=os.environ.get("EXECUTED_TO"),
        help="keep every executed notebook, outputs and all, in DIR (or $EXECUTED_TO)",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Hold on to the notebook that nbmake executes, keep a copy if asked to, and examine it."""
    if not isinstance(item, NotebookItem):
        return (yield)
    executed = []

    class RememberedRun(NotebookRun):
        def execute(self):
            executed.append(super().execute())
            return executed[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pytest_items, "NotebookRun", RememberedRun)
        try:
            outcome = yield
        finally:
            if executed and item.config.option.executed_to:
                _keep(executed[-1].nb, Path(item.config.option.executed_to) / Path(item.filename).name)
    if not executed:
        raise AssertionError("nbmake executed no notebook: tests/notebook_guard.py must follow its change")
    found = problems(executed[-1].nb)
    if found:
        raise NotebookFailedException(_verdict(executed[-1].nb, found))
    return outcome


def problems(notebook) -> list[tuple[int, str]]:
    """Find what an executed notebook lacks.

    Args:
        notebook: the executed notebook, as nbformat reads it.

    Returns:
        Pairs of a cell's position (from 0) and a sentence; empty when all is well.
    """
    code = [(index, cell) for index, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
    found = []
    if len(code) < MINIMUM_CODE_CELLS:
        found.append((0, f"has {len(code)} code cells; a lesson has at least {MINIMUM_CODE_CELLS}"))
    if not any("figure" in _tags(cell) for _, cell in code):
        found.append((0, "has no cell tagged 'figure'; a lesson shows at least one"))
    for index, cell in code:
        found += [(index, sentence) for sentence in _problems_of_cell(cell)]
    return found


def _problems_of_cell(cell) -> list[str]:
    found = []
    if cell.get("execution_count") is None:
        found.append("was not run" if cell.source.strip() else "is empty, so it was not run")
    if "mock" in cell.metadata.get("nbmake", {}) or "post_cell_execute" in cell.metadata.get("nbmake", {}):
        found.append("is altered under test by nbmake metadata; a lesson runs as the reader runs it")
    printed = {"stdout": "", "stderr": ""}
    for output in cell.get("outputs", []):
        if output.output_type == "error":
            found.append(f"raised {output.ename}: {output.evalue}")
        elif output.output_type == "stream":
            printed[output.name] += output.text
    # A worker process of a trap prints its own traceback beside the error that the trap demands.
    sprung = "trap" in _tags(cell) and "Failed as predicted." in printed["stdout"]
    if "Traceback (most recent call last)" in printed["stderr"] and not sprung:
        found.append("printed a traceback to stderr: " + printed["stderr"].strip().splitlines()[-1])
    if "figure" in _tags(cell):
        found += _problems_of_figure(cell)
    if "time" in _tags(cell):
        if not cell.source.startswith("%%time"):
            found.append("is tagged 'time' but does not start with %%time")
        if "Wall time:" not in printed["stdout"]:
            found.append("is tagged 'time' but reported no wall time")
    return found


def _problems_of_figure(cell) -> list[str]:
    shown = [
        (kind, output.data[kind])
        for output in cell.get("outputs", [])
        if output.output_type in ("display_data", "execute_result")
        for kind in ("image/png", "image/svg+xml")
        if kind in output.data
    ]
    if not shown:
        return ["is tagged 'figure' but shows no image (image/png or image/svg+xml)"]
    verdicts = [_blank_png(data) if kind == "image/png" else _blank_svg(data) for kind, data in shown]
    return [f"is tagged 'figure' but {verdict}" for verdict in verdicts if verdict]


def _blank_png(data: str) -> str | None:
    """Say why a PNG counts as blank: unreadable, tiny, empty, or nothing but a pair of axes."""
    try:
        with Image.open(io.BytesIO(base64.b64decode(data))) as image:
            pixels = np.asarray(image.convert("RGBA").convert("RGB"), dtype=np.int16)
    except (UnidentifiedImageError, OSError, ValueError) as error:
        return f"its PNG cannot be read: {error}"
    if min(pixels.shape[:2]) < MINIMUM_SIDE:
        return f"its PNG is only {pixels.shape[1]}x{pixels.shape[0]} pixels"
    colours, counts = np.unique(pixels.reshape(-1, 3), axis=0, return_counts=True)
    background = colours[counts.argmax()]
    ink = np.abs(pixels - background).max(axis=2) > 16
    coloured = np.ptp(pixels, axis=2) > 16
    # Axes without data, even with a grid and titles, are grey and cover 1 to 6% (measured); data
    # brings colour, or covers more. A sheet of one colour has no ink at all.
    if ink.mean() < 0.002 or (ink.mean() < 0.08 and coloured.mean() < 0.0003):
        return f"its PNG is blank: {ink.mean():.1%} of it is drawn on, and hardly any of that in colour"
    return None


def _blank_svg(data: str) -> str | None:
    """Say why an SVG counts as blank: malformed, or fewer drawn shapes than axes alone need."""
    try:
        root = ElementTree.fromstring(data)
    except ElementTree.ParseError as error:
        return f"its SVG is malformed: {error}"
    shapes = sum(1 for element in root.iter() if element.tag.rpartition("}")[2] in SHAPES)
    if shapes < 3:
        return f"its SVG is blank: it draws {shapes} shapes"
    return None


def _tags(cell) -> list[str]:
    return cell.metadata.get("tags", [])


def _keep(notebook, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, str(path))


def _verdict(notebook, found: list[tuple[int, str]]) -> NotebookResult:
    lines = [f"cell {index} {sentence}" for index, sentence in found]
    error = NotebookError(
        summary=f"notebook guard: {lines[0]}" + (f" (and {len(lines) - 1} more)" if lines[1:] else ""),
        trace="The notebook ran without an error, but\n  " + "\n  ".join(lines),
        failing_cell_index=found[0][0],
    )
    return NotebookResult(nb=notebook, error=error)
