"""Every lesson keeps the form that the series promises; each rule is shown to bite on the template."""

import copy
import re
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[1]
LESSONS = sorted((ROOT / "notebooks").glob("*.ipynb"))
TEMPLATE = ROOT / "templates/lesson.ipynb"

LINES_IN_A_CELL = 16
LINES_OF_CODE = 160
WORDS_OF_PROSE = (800, 1500)
MINUTES = (20, 40)


def problems(notebook) -> list[str]:
    """Find what breaks the form, prose length and the neighbours apart; empty when nothing does."""
    rules = (_stripped, _identified, _sized, _opened, _questioned, _tagged, _closed, _portable)
    return [problem for rule in rules for problem in rule(notebook)]


def words_of_prose(notebook) -> int:
    """Count the words of the markdown cells without code, addresses, HTML tags and table rules."""
    text = "\n".join(cell.source for cell in _cells(notebook, "markdown"))
    text = re.sub(r"```.*?```|<[^>]+>|\]\([^)]*\)|`[^`]*`", " ", text, flags=re.DOTALL)
    return len(re.findall(r"[^\W\d_][\w'’-]*", text))


def minutes(notebook) -> int:
    """Read the minutes in the first cell."""
    return int(re.search(r"(\d+) minutes", notebook.cells[0].source)[1])


def _cells(notebook, kind: str) -> list:
    return [cell for cell in notebook.cells if cell.cell_type == kind]


def _stripped(notebook):
    for cell in _cells(notebook, "code"):
        if cell.outputs or cell.execution_count is not None:
            yield f"{cell.get('id')}: outputs or a run number are stored; run `nbstripout --keep-id` on it"
    if notebook.metadata.get("kernelspec", {}).get("name") != "python3":
        yield "the kernel is not python3"


def _identified(notebook):
    names = [cell.get("id") for cell in notebook.cells]
    if None in names or (notebook.nbformat, notebook.nbformat_minor) < (4, 5):
        yield "cells without ids"
    if len(set(names)) < len(names):
        yield "cell ids are not unique"


def _sized(notebook):
    for cell in _cells(notebook, "code"):
        if (lines := len(cell.source.splitlines())) > LINES_IN_A_CELL:
            yield f"{cell.get('id')}: {lines} lines; a cell has at most {LINES_IN_A_CELL}"
        if not cell.source.strip():
            yield f"{cell.get('id')}: an empty cell"
    code = sum(bool(line.strip()) for cell in _cells(notebook, "code") for line in cell.source.splitlines())
    if code > LINES_OF_CODE:
        yield f"{code} lines of code; a lesson has at most {LINES_OF_CODE}"


def _opened(notebook):
    first = notebook.cells[0]
    if first.cell_type != "markdown" or not first.source.startswith("# "):
        yield "the first cell is no title"
        return
    for promise in ("**You will** ", "**You will learn** ", "**You need** "):
        if promise not in first.source:
            yield f"the first cell does not say {promise!r}"
    found = re.search(r"(\d+) minutes", first.source)
    if not found or not MINUTES[0] <= int(found[1]) <= MINUTES[1]:
        yield f"the first cell does not name {MINUTES[0]} to {MINUTES[1]} minutes"


def _questioned(notebook):
    questions = _listed(notebook.cells[0].source, "questions")
    if not questions:
        yield "the first cell lists no questions"
    elif not all(question.endswith("?") for question in questions):
        yield "a question of the first cell ends without a question mark"
    if not any("predict" in cell.source.lower() for cell in _cells(notebook, "markdown")):
        yield "no prediction is asked for"


def _tagged(notebook):
    tags = [tag for cell in _cells(notebook, "code") for tag in cell.metadata.get("tags", [])]
    if "figure" not in tags:
        yield "no cell is tagged 'figure'"
    for cell in _cells(notebook, "code"):
        if cell.source.startswith("%%time") != ("time" in cell.metadata.get("tags", [])):
            yield f"{cell.get('id')}: %%time and the tag 'time' belong together"
        if set(cell.metadata.get("tags", [])) & {"raises-exception", "skip-execution"}:
            yield f"{cell.get('id')}: catch the exact exception instead of a tag that lets any pass"
        if "nbmake" in cell.metadata:
            yield f"{cell.get('id')}: nbmake metadata makes the test run something else than the reader does"
    if "execution" in notebook.metadata:
        yield "notebook metadata 'execution' changes how the test runs it"


def _closed(notebook):
    last = notebook.cells[-1].source
    if notebook.cells[-1].cell_type != "markdown" or "## Key points" not in last:
        yield "the last cell is not '## Key points'"
        return
    points, questions = _listed(last, "key points"), _listed(notebook.cells[0].source, "questions")
    if len(points) != len(questions):
        yield f"{len(points)} key points mirror {len(questions)} questions"


def _portable(notebook):
    for cell in notebook.cells:
        if re.search(r"(^|[\s\"'(])(/(home|root|Users)/|C:\\)", cell.source):
            yield f"{cell.get('id')}: a path of one machine"
        if re.search(r"^\s*[%!]\s*(pip|conda|apt)\b", cell.source, re.MULTILINE):
            yield f"{cell.get('id')}: installs something; `make lab` installs"


def _listed(text: str, heading: str) -> list[str]:
    """Read the list items below the line that names the heading."""
    below = re.split(rf"^.*\b{heading}\b.*$", text, maxsplit=1, flags=re.MULTILINE | re.IGNORECASE)
    return re.findall(r"^(?:\d+\.|[-*])\s+(.*\S)\s*$", below[1], re.MULTILINE) if below[1:] else []


def read(path: Path):
    """Read a notebook as it is stored, without any conversion."""
    return nbformat.read(path, as_version=nbformat.NO_CONVERT)


@pytest.mark.parametrize("path", [*LESSONS, TEMPLATE], ids=lambda path: path.stem)
def test_form(path):
    assert problems(read(path)) == []


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_prose_fills_a_lesson_and_no_more(path):
    assert WORDS_OF_PROSE[0] <= words_of_prose(read(path)) <= WORDS_OF_PROSE[1]


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_each_lesson_leads_to_the_next(path):
    follower = LESSONS[LESSONS.index(path) + 1 :][:1]
    last = read(path).cells[-1].source.partition("## Key points")[2]
    assert "next" in last.lower()
    for lesson in follower:
        assert f"({lesson.name})" in last, f"link to {lesson.name}"


def test_lessons_are_numbered_from_00_without_gaps():
    assert LESSONS, "there are no lessons in notebooks/"
    for number, path in enumerate(LESSONS):
        assert re.fullmatch(rf"{number:02}(_[a-z0-9]+)+", path.stem), (
            f"{path.name}: expected {number:02}_verb_phrase"
        )


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_readme_lists_the_lesson_with_its_minutes(path):
    rows = [line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("|")]
    listed = [row for row in rows if f"(notebooks/{path.name})" in row]
    assert len(listed) == 1, f"README.md: one table row links notebooks/{path.name}"
    cells = [cell.strip() for cell in listed[0].strip("|").split("|")]
    assert cells[0] == path.stem[:2]
    assert str(minutes(read(path))) in cells, f"README.md gives other minutes than {path.name}"


def test_readme_lists_no_lesson_that_is_not_there():
    linked = re.findall(r"\(notebooks/([\w.]+\.ipynb)\)", (ROOT / "README.md").read_text())
    assert set(linked) <= {path.name for path in LESSONS}


def spoil(notebook, index: int, **changes):
    """Change fields of one cell."""
    notebook.cells[index].update(changes)


def without(text: str, index: int) -> Callable:
    """Take a text out of one cell."""
    return lambda notebook: spoil(notebook, index, source=notebook.cells[index].source.replace(text, ""))


FIRST_CODE = 1
BREAKS = {
    "outputs": (lambda nb: spoil(nb, FIRST_CODE, execution_count=3), "outputs or a run number"),
    "kernel": (lambda nb: nb.metadata.kernelspec.update(name="mine"), "kernel is not python3"),
    "no id": (lambda nb: nb.cells[0].pop("id"), "cells without ids"),
    "same id": (lambda nb: spoil(nb, 0, id=nb.cells[1].id), "not unique"),
    "long cell": (lambda nb: spoil(nb, FIRST_CODE, source="a = 1\n" * 17), "17 lines"),
    "empty cell": (lambda nb: spoil(nb, FIRST_CODE, source=""), "an empty cell"),
    "much code": (lambda nb: nb.cells.__setitem__(slice(1, 1), [nb.cells[1]] * 40), "lines of code"),
    "no title": (without("# ", 0), "no title"),
    "no promise": (without("**You will learn**", 0), "You will learn"),
    "no minutes": (without("20 minutes", 0), "minutes"),
    "no questions": (without("Questions", 0), "lists no questions"),
    "no question mark": (without("?", 0), "question mark"),
    "no prediction": (lambda nb: spoil(nb, 2, source="Run it."), "no prediction"),
    "no figure": (lambda nb: spoil(nb, 4, metadata=nbformat.from_dict({})), "tagged 'figure'"),
    "untagged time": (lambda nb: spoil(nb, 3, metadata=nbformat.from_dict({})), "belong together"),
    "any error passes": (lambda nb: nb.cells[1].metadata.update(tags=["raises-exception"]), "lets any pass"),
    "mocked": (lambda nb: nb.cells[1].metadata.update(nbmake={"mock": {"a": 1}}), "nbmake metadata"),
    "own timeout": (lambda nb: nb.metadata.update(execution={"timeout": 9}), "'execution'"),
    "no key points": (without("## Key points", -1), "not '## Key points'"),
    "points missing": (without("2. The answer", -1), "1 key points mirror 2 questions"),
    "machine path": (lambda nb: spoil(nb, 1, source="open('/home/me/a')"), "path of one machine"),
    "installs": (lambda nb: spoil(nb, 1, source="%pip install dali"), "installs something"),
}


@pytest.mark.parametrize("name", BREAKS)
def test_each_rule_bites(name):
    notebook = copy.deepcopy(read(TEMPLATE))
    change, complaint = BREAKS[name]
    change(notebook)
    assert any(complaint in problem for problem in problems(notebook)), problems(notebook)


def test_words_are_counted_without_code_and_markup():
    notebook = nbformat.v4.new_notebook()
    text = (
        "# Two words\n\n```python\nnot = counted\n```\nThree [more here](a/b.md) `code`.\n|---|\n<b>six</b>"
    )
    notebook.cells = [nbformat.v4.new_markdown_cell(text), nbformat.v4.new_code_cell("none = 'of these'")]
    assert words_of_prose(notebook) == 6
