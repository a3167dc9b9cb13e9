"""The Makefile's two ways of installing, uv and pip, on a stand-in project that needs no network."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from stand_in_checkout import MAKE, ROOT, Checkout, find_uv, make_checkout

INHERITED = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))}
pytestmark = pytest.mark.skipif(MAKE is None, reason="there is no make on this machine")


@pytest.fixture(params=["uv", "pip"])
def checkout(request, tmp_path) -> Checkout:
    """Make the stand-in checkout, once for each route."""
    uv = ""
    if request.param == "uv":
        uv = find_uv() or pytest.skip("there is no uv: neither on PATH nor in this environment")
    return make_checkout(tmp_path, uv)


def test_the_first_call_installs_the_tested_versions_into_the_environment(checkout):
    printed = checkout.make("data")
    where = f"INSTALLED family12==1.0 FROM {checkout.folder} IN {checkout.folder / '.venv'}"
    assert where in printed
    assert len(checkout.stamps) == 1


def test_nothing_is_installed_again_until_the_requirements_change(checkout):
    checkout.make("data")
    own = checkout.folder / ".venv/kept"
    own.touch()
    assert " install " not in checkout.make("data")
    (checkout.folder / "constraints.txt").write_text("family12==2.0\n")
    assert "INSTALLED family12==2.0 FROM" in checkout.make("data")
    assert own.exists(), "new constraints go into the environment that is there"


def test_another_cuda_family_never_meets_the_first_in_one_environment(checkout):
    checkout.make("data")
    assert "INSTALLED family13==1.0 FROM" in checkout.make("data", "CUDA=13")
    assert "INSTALLED family12==1.0 FROM" in checkout.make("data")


def test_without_constraints_the_newest_allowed_versions_come(checkout):
    assert "INSTALLED family12==2.0 FROM" in checkout.make("data", "CONSTRAINTS=")


def test_a_moved_checkout_imports_itself_and_not_its_old_place(checkout):
    checkout.make("data")
    moved = checkout.folder.with_name("moved")
    checkout.folder.rename(moved)
    checkout.folder = moved
    assert f"FROM {moved} IN {moved / '.venv'}" in checkout.make("data")


def test_a_failed_installation_leaves_no_stamp_and_the_next_call_mends_it(checkout):
    (checkout.folder / "constraints.txt").write_text("family12==99\n")
    checkout.make("data", expect=2)
    assert checkout.stamps == [".installing"]
    (checkout.folder / "constraints.txt").write_text("family12==1.0\n")
    assert "INSTALLED family12==1.0" in checkout.make("data")


def test_ctrl_c_in_the_middle_leaves_no_stamp_and_the_next_call_mends_it(checkout, tmp_path):
    began = tmp_path / "began"
    running = subprocess.Popen(
        [MAKE, f"UV={checkout.uv}", "data"],
        cwd=checkout.folder,
        env=checkout.environment() | {"STALL": str(began)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        # A test run started in the background ignores Ctrl-C, and would hand that on.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        deadline = time.monotonic() + 120
        while not began.exists():
            assert running.poll() is None, "make ended before the installation began"
            assert time.monotonic() < deadline, "the installation never began"
            time.sleep(0.05)
        os.killpg(running.pid, signal.SIGINT)
        assert running.wait(60) != 0
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()
    assert checkout.stamps == [".installing"]
    assert "INSTALLED family12==1.0" in checkout.make("data")


def test_an_environment_whose_python_is_gone_is_made_anew(checkout):
    checkout.make("data")
    (checkout.folder / ".venv/bin/python").unlink()
    assert "INSTALLED family12==1.0" in checkout.make("data")


def test_what_the_callers_shell_carries_sends_nothing_elsewhere(checkout, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "pip.py").write_text("raise SystemExit('a stray pip ran')")
    printed = checkout.make(
        "data",
        PIP_USER="1",
        PIP_TARGET=str(elsewhere),
        PIP_PREFIX=str(elsewhere),
        PYTHONPATH=str(elsewhere),
        UV_SYSTEM_PYTHON="1",
        VIRTUAL_ENV=str(elsewhere),
        CONDA_PREFIX=str(elsewhere),
        CUDA="/usr/local/cuda",
        VENV=str(elsewhere),
    )
    assert f"INSTALLED family12==1.0 FROM {checkout.folder} IN {checkout.folder / '.venv'}" in printed
    assert [path.name for path in elsewhere.iterdir()] == ["pip.py"]


@pytest.mark.parametrize("target", ["data", "clean"])
def test_a_folder_that_is_no_environment_is_left_alone(checkout, target):
    mine = checkout.folder / "thesis/chapter.txt"
    mine.parent.mkdir()
    mine.write_text("years of work")
    printed = checkout.make(target, "VENV=thesis", expect=2)
    assert "VENV=thesis" in printed
    assert [path.name for path in mine.parent.iterdir()] == ["chapter.txt"]
    assert mine.read_text() == "years of work"


def fake_python(folder: Path, body: str) -> str:
    """Write a stand-in for a python that lacks something."""
    path = folder / "fake-python"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            'case "$1" in -V) echo Python 3.9.2 ;; *) exit 1 ;; esac',
            "Python 3.9.2, but 3.11 or newer is needed",
        ),
        (f'case "$2" in *ensurepip*) exit 1 ;; esac; exec {sys.executable} "$@"', "apt install python3-venv"),
    ],
    ids=["old python", "no venv module"],
)
def test_pip_route_says_what_the_python_lacks(checkout, tmp_path, body, message):
    if checkout.uv:
        pytest.skip("uv finds or fetches a Python itself")
    printed = checkout.make("data", f"PYTHON={fake_python(tmp_path, body)}", expect=2)
    assert message in printed
    assert not (checkout.folder / ".venv").exists()


def test_pip_route_says_that_there_is_no_python(checkout):
    if checkout.uv:
        pytest.skip("uv finds or fetches a Python itself")
    assert "There is no python9" in checkout.make("data", "PYTHON=python9", expect=2)


@pytest.mark.parametrize(
    ("argument", "message"), [("CUDA=11", "choose 12"), ("VENV=a b", "one folder, without spaces")]
)
def test_a_wrong_setting_is_answered_with_the_right_ones(checkout, argument, message):
    assert message in checkout.make("data", argument, expect=2)


def test_make_outside_the_checkout_says_where_to_go(tmp_path):
    result = subprocess.run(
        [MAKE, "-f", str(ROOT / "Makefile"), "lab"],
        cwd=tmp_path,
        env=INHERITED,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode != 0
    assert "root of the checkout" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_plain_make_lists_every_target():
    makefile = (ROOT / "Makefile").read_text()
    result = subprocess.run(
        [MAKE, "-C", str(ROOT)], env=INHERITED, capture_output=True, text=True, timeout=60
    )
    for target in ("lab", "test", "data", "lint", "constraints", "clean"):
        assert f"make {target} " in result.stdout
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


def test_make_lab_serves_lesson_00(tmp_path):
    """JupyterLab itself, from this environment: the page it would open is there, as root too."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    flags = f"LAB_FLAGS=--no-browser --ip=127.0.0.1 --port={port} --ServerApp.port_retries=0"
    settings = [f"VENV={sys.prefix}", flags]
    planned = subprocess.run(
        [MAKE, "-n", "lab", *settings], cwd=ROOT, env=INHERITED, capture_output=True, text=True, timeout=60
    )
    stamp = re.search(r"^mv \S+ (\S+)$", planned.stdout, re.MULTILINE)
    log = tmp_path / "lab.log"
    with log.open("w") as output:
        server = subprocess.Popen(
            [MAKE, "lab", *settings, *(["-o", stamp[1]] if stamp else [])],
            cwd=ROOT,
            env=INHERITED | {"HOME": str(tmp_path), "JUPYTER_TOKEN": "secret"},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        page = f"http://127.0.0.1:{port}/lab/tree/notebooks/00_start_here.ipynb?token=secret"
        deadline = time.monotonic() + 120
        while page.removesuffix("secret") not in log.read_text():
            assert server.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.2)
        with urllib.request.urlopen(page, timeout=60) as answer:
            assert answer.status == 200
        contents = (
            f"http://127.0.0.1:{port}/api/contents/notebooks/00_start_here.ipynb?token=secret&content=0"
        )
        with urllib.request.urlopen(contents, timeout=60) as answer:
            assert b'"type": "notebook"' in answer.read()
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(60)
