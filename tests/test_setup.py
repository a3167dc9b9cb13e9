"""The files that set the project up agree with one another, and environment.yml really installs."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
EXTRAS = PROJECT["optional-dependencies"]
FAMILIES = {"cuda12": "constraints.txt", "cuda13": "constraints-cuda13.txt"}
PYTHONS = ("3.11", "3.12", "3.13")


def pins(name: str) -> list[Requirement]:
    """Read a constraints file."""
    lines = (ROOT / name).read_text().splitlines()
    return [Requirement(line) for line in lines if line.strip() and not line.lstrip().startswith("#")]


def pinned(name: str, python: str) -> dict[str, str]:
    """Read the versions that hold on Linux with this Python."""
    machine = {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix", "extra": ""}
    machine |= {"platform_machine": "x86_64", "python_version": python, "python_full_version": f"{python}.9"}
    machine |= {"implementation_name": "cpython", "platform_python_implementation": "CPython"}
    found = {}
    for pin in pins(name):
        if pin.marker is None or pin.marker.evaluate(machine):
            key = canonicalize_name(pin.name)
            assert key not in found, f"{name}: {key} has two versions for Python {python}"
            found[key] = str(pin.specifier).removeprefix("==")
    return found


@pytest.mark.parametrize("name", FAMILIES.values())
def test_constraints_are_exact_versions_without_addresses(name):
    text = (ROOT / name).read_text()
    assert "://" not in text
    assert not re.search(r"^\s*-", text, re.MULTILINE), "an installer's options do not belong here"
    for pin in pins(name):
        assert re.fullmatch(r"==[\w.+!]+", str(pin.specifier)), pin
        assert pin.url is None


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize(("family", "name"), FAMILIES.items())
def test_constraints_hold_a_version_of_every_dependency_within_its_bounds(family, name, python):
    versions = pinned(name, python)
    wanted = [*PROJECT["dependencies"], *EXTRAS[family]]
    wanted += [need for extra, needs in EXTRAS.items() if extra not in FAMILIES for need in needs]
    for requirement in map(Requirement, wanted):
        version = versions.get(canonicalize_name(requirement.name))
        assert version is not None, f"{requirement} is not in {name}: run `make constraints`"
        assert requirement.specifier.contains(version), f"{name} has {version}, {requirement} is asked for"


def test_the_families_never_mix():
    assert PYPROJECT["tool"]["uv"]["conflicts"] == [[{"extra": "cuda12"}, {"extra": "cuda13"}]]
    names = {family: {pin.name for pin in pins(name)} for family, name in FAMILIES.items()}
    assert "nvidia-dali-cuda120" in names["cuda12"] - names["cuda13"]
    assert "nvidia-dali-cuda130" in names["cuda13"] - names["cuda12"]
    assert not [name for name in names["cuda12"] if re.search(r"cu(da)?13", name)]
    assert not [name for name in names["cuda13"] if re.search(r"cu(da)?12", name)]


def test_pynvml_comes_from_its_maintained_distribution():
    wanted = {
        Requirement(need).name for needs in (PROJECT["dependencies"], *EXTRAS.values()) for need in needs
    }
    assert "nvidia-ml-py" in wanted
    assert "pynvml" not in wanted | {pin.name for name in FAMILIES.values() for pin in pins(name)}


def test_every_package_folder_is_installed():
    """Setuptools takes only the packages that pyproject lists, so a forgotten one breaks installs."""
    on_disk = {
        str(path.parent.relative_to(ROOT)).replace(os.sep, ".")
        for top in ("tutorial_utils", "data_scripts")
        for path in (ROOT / top).rglob("__init__.py")
    }
    assert set(PYPROJECT["tool"]["setuptools"]["packages"]) == on_disk


ENVIRONMENT = yaml.safe_load((ROOT / "environment.yml").read_text())


def pip_section() -> list[str]:
    """Read the lines that conda hands to pip."""
    [section] = [entry["pip"] for entry in ENVIRONMENT["dependencies"] if isinstance(entry, dict)]
    return section


def test_environment_yml_brings_python_and_pip_from_conda_forge_alone():
    plain = [entry for entry in ENVIRONMENT["dependencies"] if isinstance(entry, str)]
    assert [entry.split()[0] for entry in plain] == ["python", "pip"]
    assert ENVIRONMENT["channels"] == ["conda-forge", "nodefaults"]
    allowed, supported = SpecifierSet(plain[0].split()[1]), SpecifierSet(PROJECT["requires-python"])
    for minor in range(8, 20):
        assert not allowed.contains(f"3.{minor}") or supported.contains(f"3.{minor}")
    assert all(allowed.contains(python) for python in PYTHONS)


def test_environment_yml_asks_for_this_project_under_its_constraints():
    constraints, project = pip_section()
    [extras] = re.fullmatch(r"-e \.\[([\w,]+)\]", project).groups()
    chosen = extras.split(",")
    assert set(chosen) <= set(EXTRAS)
    assert {"lab", "video", "test"} <= set(chosen)
    [family] = set(chosen) & set(FAMILIES)
    assert constraints == f"-c {FAMILIES[family]}"


def test_the_makefile_installs_every_extra_of_a_family():
    [extras] = re.findall(r"^EXTRAS\s*=\s*(.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(extras.replace("cuda$(CUDA)", "cuda12").split(",")) == set(EXTRAS) - {"cuda13"}


def test_local_hooks_call_tools_that_the_test_extra_brings():
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    tools = {Requirement(need).name for need in EXTRAS["test"]}
    assert "pre-commit" in tools
    for repository in config["repos"]:
        assert repository["repo"] == "local", "hooks run the tested versions, not a copy of their own"
        for hook in repository["hooks"]:
            assert Path(hook["entry"].split()[0]).relative_to(".venv/bin").name in tools


def test_local_hooks_refuse_a_notebook_with_outputs(tmp_path):
    """The hooks themselves, in a repository of their own with .venv pointing at this environment."""
    git = shutil.which("git") or pytest.skip("there is no git on this machine")
    (tmp_path / ".venv").symlink_to(sys.prefix)
    for name in (".pre-commit-config.yaml", "pyproject.toml", ".gitignore"):
        shutil.copy(ROOT / name, tmp_path)
    template = (ROOT / "templates/lesson.ipynb").read_text()
    (tmp_path / "clean.ipynb").write_text(template)
    (tmp_path / "dirty.ipynb").write_text(
        template.replace('"execution_count": null', '"execution_count": 7', 1)
    )
    assert (tmp_path / "clean.ipynb").read_text() != (tmp_path / "dirty.ipynb").read_text()
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    environment |= {"PRE_COMMIT_HOME": str(tmp_path / "hooks"), "HOME": str(tmp_path)}
    subprocess.run([git, "init", "-q"], cwd=tmp_path, env=environment, check=True, timeout=60)

    def verdict(name: str) -> subprocess.CompletedProcess:
        subprocess.run([git, "add", name], cwd=tmp_path, env=environment, check=True, timeout=60)
        return subprocess.run(
            [sys.executable, "-m", "pre_commit", "run", "--files", name],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )

    clean, dirty = verdict("clean.ipynb"), verdict("dirty.ipynb")
    assert clean.returncode == 0, clean.stdout + clean.stderr
    assert dirty.returncode == 1, dirty.stdout + dirty.stderr
    assert "notebooks without outputs" in dirty.stdout


def test_the_workflow_and_ci_run_lint_and_test_by_both_routes():
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]
    steps = {name: [step.get("run", "") for step in job["steps"]] for name, job in jobs.items()}
    assert any(step.startswith("make lint") for step in steps["tested-set"])
    assert any(step.startswith("make test") for step in steps["tested-set"])
    assert jobs["tested-set"]["strategy"]["matrix"]["route"] == ["pip", "uv"]
    assert any("CONSTRAINTS= " in step for step in steps["newest-versions"])
    script = (ROOT / ".ci/run").read_text()
    assert re.search(r"^make lint UV=$", script, re.MULTILINE)
    assert re.search(r"^make test UV= ", script, re.MULTILINE)
    assert re.search(r"^make test UV=\"\$PWD/\.venv/bin/uv\"", script, re.MULTILINE)


@pytest.fixture
def copy(tmp_path) -> Path:
    """Copy what a clone of the checkout would hold."""
    left_out = (".git", ".venv*", "data", "build", "*.egg-info", "__pycache__", ".*_cache", ".hypothesis")
    return Path(shutil.copytree(ROOT, tmp_path / "checkout", ignore=shutil.ignore_patterns(*left_out)))


PROVE = """\
import json, sys, importlib.metadata as metadata
import torch, torchvision, nvidia.dali, pynvml, jupyterlab, cv2, matplotlib, tutorial_utils, data_scripts
print(json.dumps({d.name.lower().replace("_", "-"): d.version for d in metadata.distributions()}))
"""


@pytest.mark.install
def test_environment_yml_installs_into_an_empty_environment(copy, tmp_path):
    """As conda does it: the pip section as a requirements file, pip started in the file's folder."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    python = tmp_path / "environment/bin/python"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "environment"], check=True, timeout=300)
    try:
        (copy / "condaenv.requirements.txt").write_text("\n".join(pip_section()) + "\n")
        subprocess.run(
            [python, "-m", "pip", "install", "-U", "-r", "condaenv.requirements.txt"],
            cwd=copy,
            env=environment,
            check=True,
            timeout=3000,
        )
        proof = subprocess.run(
            [python, "-c", PROVE], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
        )
        assert proof.returncode == 0, proof.stderr
        installed = yaml.safe_load(proof.stdout.splitlines()[-1])
    finally:
        shutil.rmtree(tmp_path / "environment")
    tested = pinned("constraints.txt", "{}.{}".format(*sys.version_info))
    strays = {name: version for name, version in installed.items() if version != tested.get(name)}
    assert set(strays) <= {"pip", "setuptools", "dali-tutorials"}, strays


@pytest.mark.install
@pytest.mark.parametrize("route", ["uv", "without uv"])
def test_make_constraints_renews_both_files(copy, route):
    """The renewed files keep the form and hold what pyproject asks for; their versions may be newer."""
    uv = str(Path(sys.executable).with_name("uv")) if route == "uv" else ""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))}
    for name in FAMILIES.values():
        (copy / name).write_text("")
    subprocess.run(["make", "constraints", f"UV={uv}"], cwd=copy, env=inherited, check=True, timeout=900)
    for family, name in FAMILIES.items():
        text = (copy / name).read_text()
        assert "://" not in text
        assert "make constraints" in text.splitlines()[1]
        listed = {
            Requirement(line).name for line in text.splitlines() if line and not line.lstrip().startswith("#")
        }
        assert {Requirement(need).name for need in EXTRAS[family]} <= listed
