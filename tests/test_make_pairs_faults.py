"""Faults while a set is made: full disks, kills, interrupts, two makers; and how progress is told."""

import errno
import os
import pty
import signal
import subprocess
import sys
import termios
import time
from collections import namedtuple
from pathlib import Path

import psutil
import pytest

from data_scripts import disk, progress, workers
from data_scripts.make_pairs import DISK_FULL, INTERRUPTED, main, make_set
from data_scripts.pair_folder import PairFolder
from data_scripts.progress import Progress

REPOSITORY = Path(__file__).resolve().parent.parent
COMMAND = [sys.executable, "-m", "data_scripts.make_pairs"]
MANY = 48
PATIENCE = 60  # seconds until a test gives a process up; nothing is timed by it


def contents(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*.jpg"))}


def parts(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.name.endswith(".part")]


def started(root: Path, *arguments, **options) -> subprocess.Popen:
    """Start the command and wait until it has made some pairs."""
    process = subprocess.Popen(
        [*COMMAND, "--out", str(root), *arguments],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )
    deadline = time.monotonic() + PATIENCE
    while len(PairFolder(root).names()) < 3:
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return process


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> dict[str, bytes]:
    root = make_set(tmp_path_factory.mktemp("whole") / "set", pairs=MANY, progress=False)
    return contents(root)


def test_killed_parent_leaves_no_worker_and_the_next_run_continues(whole, tmp_path):
    root = tmp_path / "set"
    process = started(root, "--pairs", str(MANY), "--workers", "2")
    children = psutil.Process(process.pid).children(recursive=True)
    assert len(children) == 2
    process.kill()
    process.wait()
    _, alive = psutil.wait_procs(children, timeout=PATIENCE)
    assert not alive
    made = PairFolder(root).names()
    assert 0 < len(made) < MANY
    kept = {name: (root / "high" / name).stat().st_mtime_ns for name in made}
    again = subprocess.run(
        [*COMMAND, "--out", root, "--pairs", str(MANY)], cwd=REPOSITORY, capture_output=True
    )
    assert again.returncode == 0
    assert {name: (root / "high" / name).stat().st_mtime_ns for name in made} == kept
    assert contents(root) == whole
    assert not parts(root)


@pytest.mark.parametrize("processes", ["1", "2"])
def test_ctrl_c_ends_cleanly_says_what_is_there_and_continues(whole, tmp_path, processes):
    root = tmp_path / "set"
    process = started(root, "--pairs", str(MANY), "--workers", processes)
    children = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == INTERRUPTED == 130
    assert not any(child.is_running() for child in children)
    made = len(PairFolder(root).names())
    assert f"{made} pairs are whole" in errors
    assert "the same command continues" in errors
    assert "Traceback" not in errors
    assert not parts(root)
    assert {path.name for path in (root / "low").iterdir()} == {
        path.name for path in (root / "high").iterdir()
    }
    make_set(root, pairs=MANY, progress=False)
    assert contents(root) == whole


def test_second_maker_waits_and_finds_the_set_made(whole, tmp_path):
    root = tmp_path / "set"
    first = started(root, "--pairs", str(MANY))
    first.send_signal(signal.SIGSTOP)  # in the middle, until the second one waits
    second = subprocess.Popen(
        [*COMMAND, "--out", root, "--pairs", str(MANY)],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert f"(number {first.pid}) is at work in {root}; waiting" in second.stdout.readline()
    first.send_signal(signal.SIGCONT)
    first.communicate(timeout=PATIENCE)
    assert first.returncode == 0
    assert second.communicate(timeout=PATIENCE)[0].count("\n") == 1  # the closing line: it made nothing
    assert second.returncode == 0
    assert contents(root) == whole


def test_a_dead_worker_is_named_and_what_is_there_stays(tmp_path):
    root = tmp_path / "set"
    process = started(root, "--pairs", str(MANY), "--workers", "2")
    child, *_ = psutil.Process(process.pid).children()
    child.kill()
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert "ended by SIGKILL" in errors
    assert "continues where this one stopped" in errors
    assert PairFolder(root).names()
    assert not parts(root)


@pytest.fixture
def disk_that_fills(monkeypatch):
    """Let a number of file writes pass and the next ones fail half-way, as on a full disk."""
    write, left = Path.write_bytes, [21]

    def write_some(path: Path, data: bytes) -> int:
        if left[0] > 0:
            left[0] -= 1
            return write(path, data)
        write(path, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(Path, "write_bytes", write_some)
    return left


def test_disk_that_fills_stops_with_3_and_whole_pairs_only(disk_that_fills, tmp_path, capsys):
    root = tmp_path / "set"
    assert main(["--pairs", "40", "--workers", "1", "--out", str(root)]) == DISK_FULL == 3
    words = capsys.readouterr().err
    assert "is full: 10 of 40 pairs are there and whole" in words
    assert "the same command" in words
    assert len(list((root / "low").iterdir())) == len(list((root / "high").iterdir())) == 10
    assert not parts(root)
    disk_that_fills[0] = 1000
    assert main(["--pairs", "40", "--workers", "1", "--out", str(root)]) == 0
    assert len(PairFolder(root).names()) == 40


@pytest.fixture
def tiny_disk(tmp_path):
    """Mount a real file system of 3 MB, where the machine lets us have one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"no small file system can be mounted here: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.mark.parametrize("processes", ["1", "2"])
def test_really_full_disk(tiny_disk, monkeypatch, capsys, processes):
    root = tiny_disk / "set"
    monkeypatch.setattr(disk, "require_room", lambda *_, **__: None)
    assert main(["--pairs", "200", "--workers", processes, "--out", str(root)]) == DISK_FULL
    assert "is full" in capsys.readouterr().err
    low, high = ({path.name: path for path in (root / half).iterdir()} for half in ("low", "high"))
    assert low.keys() == high.keys()
    assert len(low) > 3
    assert all(path.read_bytes().endswith(b"\xff\xd9") for path in (*low.values(), *high.values()))
    assert not parts(root)


def test_room_is_asked_for_before_anything_is_written(tiny_disk, capsys):
    assert main(["--pairs", "3000", "--out", str(tiny_disk / "set")]) == DISK_FULL
    words = capsys.readouterr().err
    assert "3,000 pairs need about" in words
    assert "3.1 MB free" in words
    assert not list(tiny_disk.iterdir())


Room = namedtuple("Room", "f_bavail f_frsize f_files f_favail")


@pytest.mark.parametrize(
    ("room", "figures"),
    [
        (Room(1000, 4096, 10**6, 10**6), ["4.1 MB free", "100 pairs need about", "Free "]),
        (Room(10**9, 4096, 10**6, 299), ["300 files", "only 299 more", "inodes"]),
    ],
)
def test_lack_of_room_is_told_with_both_figures(monkeypatch, tmp_path, capsys, room, figures):
    monkeypatch.setattr(os, "statvfs", lambda _: room)
    assert main(["--pairs", "100", "--out", str(tmp_path / "set")]) == DISK_FULL
    words = capsys.readouterr().err
    assert all(figure in words for figure in figures)
    assert not (tmp_path / "set").exists()


def test_file_systems_that_count_no_files_are_not_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "statvfs", lambda _: Room(10**9, 4096, 0, 0))
    disk.require_room(tmp_path, "100 pairs", size=1e6, files=300)


def test_file_system_without_locks_is_warned_of(monkeypatch, tmp_path):
    def no_locks(*_):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr("fcntl.flock", no_locks)
    with pytest.warns(UserWarning, match="without locks"):
        make_set(tmp_path / "set", pairs=2, workers=1, progress=False)
    assert len(PairFolder(tmp_path / "set").names()) == 2


def test_folder_that_cannot_be_made_exits_with_1(tmp_path, capsys):
    (tmp_path / "file").write_text("in the way")
    assert main(["--pairs", "2", "--out", str(tmp_path / "file" / "set")]) == 1
    assert "file" in capsys.readouterr().err


def test_errors_of_workers_arrive_with_their_traceback():
    with pytest.raises(ValueError, match="invalid literal") as error:
        list(workers.run(int, ["1", "x", "3"], 2))
    assert "In a worker process" in error.value.__notes__[0]


@pytest.mark.parametrize("processes", [1, 2, 5])
def test_every_task_is_done_once(processes):
    assert sorted(workers.run(abs, list(range(-40, 0)), processes)) == list(range(1, 41))


def test_no_worker_outlives_an_abandoned_run():
    before = set(psutil.Process().children())
    results = workers.run(abs, list(range(-40, 0)), 2)
    next(results)
    ours = set(psutil.Process().children()) - before
    assert len(ours) == 2
    results.close()
    assert not any(child.is_running() for child in ours)


def test_a_terminal_gets_a_bar_with_rate_and_time_left(tmp_path):
    leader, follower = pty.openpty()
    termios.tcsetwinsize(leader, (24, 100))
    process = subprocess.Popen(
        [*COMMAND, "--pairs", "40", "--out", tmp_path / "set"],
        cwd=REPOSITORY,
        stdout=subprocess.DEVNULL,
        stderr=follower,
    )
    os.close(follower)
    shown = b""
    while True:
        try:
            shown += os.read(leader, 4096)
        except OSError:  # the other end is closed
            break
    os.close(leader)
    assert process.wait(timeout=PATIENCE) == 0
    text = shown.decode()
    assert "\r" in text
    assert "40/40" in text
    assert "pairs/s" in text


def test_a_log_gets_plain_lines_now_and_then(monkeypatch, capsys):
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    with Progress(8, unit="pairs") as shown:
        for _ in range(4):
            shown.advance(2)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert "2/8" in lines[0]
    assert all("pairs/s" in line and "<" in line and "\r" not in line for line in lines)


def test_a_short_run_without_a_terminal_leaves_no_trace(capsys):
    with Progress(8, unit="pairs") as shown:
        shown.advance(8)
    assert capsys.readouterr() == ("", "")
