"""The packages keep the directions of import that make them readable from bottom to top."""

import ast
import re
import shutil
import subprocess
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("tutorial_utils", "data_scripts")
MOST_LINES = 320

# What each room may reach, itself apart; a room is a module or a package with all below it. Helper
# modules are not listed: what they import counts for every room that imports them.
ROOMS = {
    "data_scripts": set(),
    "tutorial_utils.placement": set(),
    "tutorial_utils.monitor": set(),
    "tutorial_utils.ledger": set(),
    "tutorial_utils.data": {"data_scripts", "tutorial_utils.placement"},
    "tutorial_utils.sources": {"tutorial_utils.data"},
    "tutorial_utils.cpu_loaders": {"tutorial_utils.data", "tutorial_utils.placement"},
    "tutorial_utils.timing": {"tutorial_utils.placement", "tutorial_utils.waiting"},
    "tutorial_utils.timing_card": {"tutorial_utils.timing"},
    "tutorial_utils.reference": {"tutorial_utils.timing_card"},
    "tutorial_utils.waiting": {"tutorial_utils.placement"},
    "tutorial_utils.doctor": {"tutorial_utils.placement", "data_scripts"},
    "tutorial_utils.pipelines": {"tutorial_utils.data", "tutorial_utils.sources"},
    "tutorial_utils.loaders": {"tutorial_utils.pipelines"},
    "tutorial_utils.training": {"tutorial_utils.placement"},
    "tutorial_utils.ceiling": {"tutorial_utils.timing", "tutorial_utils.training"},
    "tutorial_utils.train": {"tutorial_utils.loaders", "tutorial_utils.training", "tutorial_utils.ledger"},
}


def sources() -> dict[str, Path]:
    """Map every module of the packages to its file."""
    found = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            found[".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")] = path
    return found


@cache
def imports() -> dict[str, frozenset[str]]:
    """Map every module to those of ours that it imports, also inside functions."""
    return {module: imported_by(path.read_text(), module) for module, path in sources().items()}


def imported_by(text: str, module: str) -> frozenset[str]:
    """Name the modules of this checkout that a source text imports."""
    known = sources()
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: imports of ours are absolute"
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                found.add(name if name in known else node.module)
    ours = (*PACKAGES, "tests", "benchmarks")
    return frozenset(name for name in found if name.partition(".")[0] in ours) - {module}


def reached(module: str) -> set[str]:
    """Name every module of ours that importing this one may bring along."""
    seen, waiting = set(), [module]
    while waiting:
        for name in imports().get(waiting.pop(), ()):
            if name not in seen:
                seen.add(name)
                waiting.append(name)
    return seen


def rooms_of(module: str) -> set[str]:
    """Name the room a module belongs to, if it is listed."""
    return {room for room in ROOMS if module == room or module.startswith(f"{room}.")}


def allowed(room: str) -> set[str]:
    """Name the rooms that a room may reach, through others too."""
    return ROOMS[room].union(*(allowed(other) for other in ROOMS[room]))


@pytest.mark.parametrize("module", sources())
def test_imports_point_downwards(module):
    for room in rooms_of(module):
        for other in reached(module):
            strangers = rooms_of(other) - {room} - allowed(room)
            assert not strangers, f"{module} reaches {other}; {room} may reach only {sorted(allowed(room))}"


@pytest.mark.parametrize(
    "room", ["tutorial_utils.placement", "tutorial_utils.monitor", "tutorial_utils.ledger"]
)
def test_what_stands_alone_imports_nothing_else_of_ours(room):
    for module in imports():
        if rooms_of(module) == {room}:
            assert {other for other in reached(module) if rooms_of(other) != {room}} == set()


def test_the_packages_import_neither_tests_nor_benchmarks():
    for module, names in imports().items():
        assert not {name for name in names if name.partition(".")[0] in ("tests", "benchmarks")}, module


def test_no_circles():
    try:
        TopologicalSorter(imports()).prepare()
    except CycleError as error:
        pytest.fail("imports in a circle: " + " -> ".join(error.args[1]))


def test_imports_are_seen_in_every_form():
    text = (
        "import tutorial_utils.placement as p\ndef later():\n    from tutorial_utils import placement, data\n"
    )
    text += "from torch import nn\nfrom data_scripts.locations import default_root\n"
    assert imported_by(text, "example") == {
        "tutorial_utils.placement",
        "tutorial_utils.data",
        "data_scripts.locations",
    }


@pytest.mark.parametrize("module", sources())
def test_a_file_holds_one_concept(module):
    lines = len(sources()[module].read_text().splitlines())
    assert lines <= MOST_LINES, f"{lines} lines: split it by concept"


@pytest.mark.parametrize("module", sources())
def test_everything_public_is_documented(module):
    """Google style: a docstring, and every argument of a public function named in it."""
    tree = ast.parse(sources()[module].read_text())
    assert ast.get_docstring(tree), f"{module} says nothing about itself"
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            text = ast.get_docstring(node)
            assert text, f"{module}.{node.name} has no docstring"
            if isinstance(node, ast.FunctionDef) and "Args:" in text:
                arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                silent = [each.arg for each in arguments if not re.search(rf"\b{each.arg}\b", text)]
                assert not silent, f"{module}.{node.name}: Args: says nothing of {silent}"


def kept_files() -> list[Path]:
    """List what is or would be committed."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("what is committed is known only in a git checkout")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


ADDRESS = re.compile(
    r"(https?|file)://\S*(pypi|pythonhosted|download\.pytorch|anaconda|artifactory)", re.IGNORECASE
)
MACHINE = re.compile(r"(?<![\w.~$}/-])/(root|work|mnt|Users|home/(?!me/))[/\w]")


def test_nothing_kept_names_a_package_index_or_a_place_on_one_machine():
    found = []
    for path in kept_files():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if ADDRESS.search(line) or MACHINE.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}")
    assert found == []


@pytest.mark.parametrize(
    "pieces",  # in pieces, so that this file is none of the findings
    [
        ("see https://py", "pi.org/"),
        ("/ro", "ot/x"),
        ('open("/ho', 'me/anna/a.jpg")'),
        ("at /wo", "rk/x"),
        ("file:///opt/py", "pi"),
    ],
)
def test_addresses_and_machine_paths_are_recognised(pieces):
    line = "".join(pieces)
    assert ADDRESS.search(line) or MACHINE.search(line)


@pytest.mark.parametrize(
    "line", ["the /proc/cpuinfo file", "$HOME/data", "a/src/x", "https://github.com/NVIDIA/DALI"]
)
def test_other_lines_are_let_through(line):
    assert not ADDRESS.search(line)
    assert not MACHINE.search(line)


def test_nothing_large_is_kept():
    heavy = [path.name for path in kept_files() if path.stat().st_size > 1_000_000]
    assert heavy == []
