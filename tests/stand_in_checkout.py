"""A stand-in checkout with this project's Makefile and extras, whose installation needs no network.

It has an in-tree build back end, and two wheels made here play the two CUDA families, each in
two versions. `make data` in it says what is installed, whence and where.
"""

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MAKE = shutil.which("make")

PYPROJECT = """\
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "stand-in"
version = "1"
requires-python = ">=3.11"

[project.optional-dependencies]
cuda12 = ["family12"]
cuda13 = ["family13"]
{others}
"""

BACKEND = '''\
"""The least PEP 517 and PEP 660 back end: one .pth file that points into the checkout."""
import os, pathlib, time, zipfile

WHEEL = "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"

def build_editable(folder, config_settings=None, metadata_directory=None):
    if os.environ.get("STALL"):
        pathlib.Path(os.environ["STALL"]).touch()
        time.sleep(600)
    pyproject = __import__("tomllib").loads(pathlib.Path("pyproject.toml").read_text())["project"]
    extras = pyproject["optional-dependencies"]
    metadata = ["Metadata-Version: 2.1", "Name: stand-in", "Version: 1", "Requires-Python: >=3.11"]
    for extra, needs in extras.items():
        metadata.append(f"Provides-Extra: {extra}")
        metadata += [f"Requires-Dist: {need}; extra == {extra!r}" for need in needs]
    name = "stand_in-1-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(folder) / name, "w") as wheel:
        wheel.writestr("stand_in.pth", os.getcwd() + "\\n")
        wheel.writestr("stand_in-1.dist-info/METADATA", "\\n".join(metadata) + "\\n")
        wheel.writestr("stand_in-1.dist-info/WHEEL", WHEEL)
        wheel.writestr("stand_in-1.dist-info/RECORD", "")
    return name

def build_wheel(folder, config_settings=None, metadata_directory=None):
    return build_editable(folder)
'''

SHOW = """\
import importlib.metadata, pathlib, sys
found = {each.name: each.version for each in importlib.metadata.distributions()}
families = [f"{name}=={version}" for name, version in found.items() if name.startswith("family")]
print("INSTALLED", *sorted(families), "FROM", pathlib.Path(__file__).parents[1], "IN", sys.prefix)
"""


def wheel(folder: Path, name: str, version: str) -> None:
    """Write an empty distribution."""
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{name}.py", f"version = {version!r}\n")
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")


class Checkout:
    """A stand-in checkout whose `make data` says what is installed, whence and where."""

    def __init__(self, folder: Path, uv: str):
        self.folder, self.uv = folder, uv

    def make(self, *arguments: str, expect: int = 0, **environment: str) -> str:
        """Run make, which must end with the exit code ``expect``; what it printed."""
        result = subprocess.run(
            [MAKE, f"UV={self.uv}", *arguments],
            cwd=self.folder,
            env=self.environment() | environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        printed = result.stdout + result.stderr
        assert result.returncode == expect, printed
        return printed

    def environment(self) -> dict[str, str]:
        """Give a caller's shell with nothing but the stand-in wheels to install from."""
        wheels = str(self.folder.parent / "wheels")
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder.parent),
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": wheels,
            "UV_NO_CONFIG": "1",
            "UV_NO_INDEX": "1",
            "UV_FIND_LINKS": wheels,
            "UV_OFFLINE": "1",
        }

    @property
    def stamps(self) -> list[str]:
        """Names of the stamp files, of whole and half installations."""
        return sorted(path.name for path in (self.folder / ".venv").glob(".install*"))


def find_uv() -> str | None:
    """Find uv beside this Python (the `test` extra brings it), else on PATH."""
    beside = Path(sys.executable).with_name("uv")
    return str(beside) if beside.exists() else shutil.which("uv")


def make_checkout(parent: Path, uv: str) -> Checkout:
    """Write the stand-in checkout and its wheels into a folder.

    Args:
        parent: an empty folder.
        uv: the uv to install with; empty for venv and pip.
    """
    (parent / "wheels").mkdir()
    for name in ("family12", "family13"):
        wheel(parent / "wheels", name, "1.0")
        wheel(parent / "wheels", name, "2.0")
    folder = parent / "a checkout"
    for name in ("tutorial_utils", "data_scripts", "notebooks"):
        (folder / name).mkdir(parents=True)
    shutil.copy(ROOT / "Makefile", folder)
    (folder / "tutorial_utils/placement.py").touch()
    (folder / "data_scripts/make_pairs.py").write_text(SHOW)
    (folder / "backend.py").write_text(BACKEND)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    others = "\n".join(f"{extra} = []" for extra in extras if not extra.startswith("cuda"))
    (folder / "pyproject.toml").write_text(PYPROJECT.format(others=others))
    (folder / "constraints.txt").write_text("family12==1.0\n")
    (folder / "constraints-cuda13.txt").write_text("family13==1.0\n")
    return Checkout(folder, uv)
