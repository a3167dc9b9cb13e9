"""Photographs again: what a second run keeps, makes anew, removes and refuses, and how to go on."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
from PIL import Image

from data_scripts import photo_pairs, photos
from data_scripts.make_pairs import DISK_FULL, INTERRUPTED, NOTHING_MADE, main, make_set
from data_scripts.manifest import OtherSetError
from data_scripts.pair_folder import PairFolder
from data_scripts.photo_pairs import make_photo_set, name_of
from data_scripts.report import Report

REPOSITORY = Path(__file__).resolve().parent.parent
COUNT = 40
PATIENCE = 60  # seconds until a test gives a process up


def picture(number: int, side: int = 64) -> Image.Image:
    rng = np.random.default_rng(number)
    rough = Image.fromarray(rng.integers(40, 256, (6, 6, 3), np.uint8))
    return rough.resize((side, side), Image.Resampling.BICUBIC)


@pytest.fixture
def album(tmp_path) -> Path:
    folder = tmp_path / "album"
    folder.mkdir()
    for number in range(6):
        picture(number).save(folder / f"{number}.png")
    return folder


def make(folder: Path, root: Path, **options) -> Report:
    return make_photo_set(folder, root, progress=False, **{"workers": 1} | options)


def times(root: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in (root / "high").iterdir()}


def contents(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*.jpg"))}


def test_second_run_makes_nothing(album, tmp_path):
    first = make(album, tmp_path / "set")
    before = times(tmp_path / "set")
    second = make(album, tmp_path / "set")
    assert (first.made, first.kept, second.made, second.kept) == (6, 0, 0, 6)
    assert times(tmp_path / "set") == before
    assert json.loads((tmp_path / "set" / "pairs.json").read_text())["pairs"] == 6


@pytest.mark.parametrize("workers", [2, 3])
def test_number_of_workers_changes_no_byte(album, tmp_path, workers):
    make(album, tmp_path / "one")
    make(album, tmp_path / "many", workers=workers)
    assert contents(tmp_path / "one") == contents(tmp_path / "many")


def test_added_photographs_leave_the_others_as_they_are(album, tmp_path):
    make(album, tmp_path / "set")
    before = times(tmp_path / "set")
    picture(9).save(album / "00.png")
    report = make(album, tmp_path / "set")
    assert (report.made, report.kept) == (1, 6)
    assert before.items() <= times(tmp_path / "set").items()


def test_changed_photograph_is_made_anew(album, tmp_path):
    make(album, tmp_path / "set")
    before = contents(tmp_path / "set")
    picture(77, side=80).save(album / "3.png")
    report = make(album, tmp_path / "set")
    assert (report.made, report.kept) == (1, 5)
    after = contents(tmp_path / "set")
    name = name_of("3.png")
    assert {path for path in after if after[path] != before[path]} == {
        f"low/{name}",
        f"high/{name}",
        f"by_class/album/{name}",
    }


def test_photograph_changed_to_the_same_size_is_noticed_by_its_time(album, tmp_path):
    make(album, tmp_path / "set")
    os.utime(album / "2.png", ns=(1, 1))
    assert make(album, tmp_path / "set").made == 1


def test_skipped_photograph_is_tried_again(album, tmp_path):
    good = (album / "4.png").read_bytes()
    (album / "4.png").write_bytes(b"not yet copied")
    report = make(album, tmp_path / "set")
    assert (report.made, list(report.skipped)) == (5, ["4.png"])
    assert list(make(album, tmp_path / "set").skipped) == ["4.png"]
    (album / "4.png").write_bytes(good)
    report = make(album, tmp_path / "set")
    assert (report.made, report.kept, report.skipped) == (1, 5, {})


def test_pair_of_a_photograph_that_broke_is_removed(album, tmp_path):
    make(album, tmp_path / "set")
    (album / "1.png").write_bytes(b"")
    report = make(album, tmp_path / "set")
    assert (report.made, report.kept, report.skipped) == (0, 5, {"1.png": "empty file (0 bytes)"})
    assert not list((tmp_path / "set").rglob(name_of("1.png")))


def test_pair_of_a_photograph_that_is_gone_stays_and_is_told(album, tmp_path):
    make(album, tmp_path / "set")
    (album / "5.png").unlink()
    report = make(album, tmp_path / "set")
    assert report.gone == ("5.png",)
    assert "1 pairs kept although their photograph is gone" in report.text()
    assert (tmp_path / "set" / "low" / name_of("5.png")).exists()


def test_deleted_half_and_torn_ledger_are_repaired(album, tmp_path):
    root = tmp_path / "set"
    make(album, root)
    before = contents(root)
    (root / "low" / name_of("0.png")).unlink()
    lines = (root / "photos.jsonl").read_text().splitlines()
    (root / "photos.jsonl").write_text("\n".join(lines[:-1]) + "\n" + lines[-1][:20])
    (root / "high" / f".{name_of('3.png')}.part").write_bytes(b"half")
    report = make(album, root)
    assert (report.made, report.kept) == (2, 4)
    assert contents(root) == before
    assert len((root / "photos.jsonl").read_text().splitlines()) == 6
    assert not [path for path in root.rglob("*") if path.name.endswith(".part")]


def test_ledger_tells_which_photograph_a_pair_came_from(album, tmp_path):
    make(album, tmp_path / "set")
    lines = [json.loads(line) for line in (tmp_path / "set" / "photos.jsonl").read_text().splitlines()]
    assert {line["photo"]: line["name"] for line in lines} == {
        f"{n}.png": name_of(f"{n}.png") for n in range(6)
    }


@pytest.mark.parametrize(
    ("options", "words"), [({"seed": 3}, "seed is 0 there, 3"), ({"max_side": 50}, "max_side")]
)
def test_other_settings_in_the_same_folder_are_refused(album, tmp_path, options, words):
    make(album, tmp_path / "set")
    with pytest.raises(OtherSetError, match=words):
        make(album, tmp_path / "set", **options)


def test_other_photographs_in_the_same_folder_are_refused(album, tmp_path, capsys):
    make(album, tmp_path / "set")
    (tmp_path / "other").mkdir()
    picture(1).save(tmp_path / "other" / "x.png")
    assert main(["--photos", str(tmp_path / "other"), "--out", str(tmp_path / "set")]) == NOTHING_MADE
    words = capsys.readouterr().err
    assert str(album) in words
    assert str(tmp_path / "other") in words


def test_photographs_and_generated_pairs_do_not_mix(album, tmp_path):
    make(album, tmp_path / "set")
    with pytest.raises(OtherSetError, match="source is 'photos' there, 'generated' was asked for"):
        make_set(tmp_path / "set", pairs=2, progress=False)


def test_output_inside_the_photographs_is_not_taken_for_photographs(album):
    for name in ("pairs", "pairs", "deeper/pairs"):
        report = make(album, album / name)
        assert report.made + report.kept == 6
    # The first set lies in the tree that the second one is made of, and is left out by name.
    assert list(report.skipped) == ["pairs"]
    assert "a set of pairs" in report.skipped["pairs"]


def test_output_that_is_the_photographs_folder_is_refused(album):
    before = sorted(album.iterdir())
    with pytest.raises(OtherSetError, match="folder of the photographs"):
        make(album, album)
    assert sorted(album.iterdir()) == before


@pytest.mark.parametrize("kind", ["missing", "file", "empty", "no photographs"])
def test_nothing_to_make_exits_with_1_and_leaves_nothing(tmp_path, capsys, kind):
    folder = tmp_path / "photos"
    if kind == "file":
        folder.touch()
    elif kind != "missing":
        folder.mkdir()
    if kind == "no photographs":
        (folder / "notes.txt").touch()
    assert main(["--photos", str(folder), "--out", str(tmp_path / "set")]) == NOTHING_MADE
    assert str(folder) in capsys.readouterr().err
    assert not (tmp_path / "set").exists()


def test_only_bad_photographs_exit_with_1_and_a_report(tmp_path, capsys):
    (tmp_path / "photos").mkdir()
    for number in range(30):
        (tmp_path / "photos" / f"{number:02}.jpg").touch()
    assert main(["--photos", str(tmp_path / "photos"), "--out", str(tmp_path / "set")]) == NOTHING_MADE
    table = capsys.readouterr().out
    assert "30 skipped" in table
    assert "and 10 more in report.json, by reason:" in table
    assert "30  empty file" in table
    assert len(json.loads((tmp_path / "set" / "report.json").read_text())["skipped"]) == 30


def test_disk_that_fills_stops_with_3_and_the_next_run_continues(album, tmp_path, monkeypatch, capsys):
    write, left = Path.write_bytes, [7]

    def write_some(path: Path, data: bytes) -> int:
        left[0] -= 1
        if left[0] < 0:
            write(path, data[:100])
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", write_some)
    arguments = ["--photos", str(album), "--out", str(tmp_path / "set"), "--workers", "1"]
    assert main(arguments) == DISK_FULL
    told = capsys.readouterr()
    assert "is full: 3 of 6 pairs are there and whole" in told.err
    assert "3 photographs not reached (disk full)" in told.out
    assert json.loads((tmp_path / "set" / "report.json").read_text())["ended"] == "disk full"
    assert len(PairFolder(tmp_path / "set").names()) == 3
    assert not [path for path in (tmp_path / "set").rglob("*") if path.name.endswith(".part")]
    left[0] = 1000
    assert main(arguments) == 0
    assert "3 made now, 3 kept" in capsys.readouterr().out


def test_room_is_asked_for_before_anything_is_written(album, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(
        photo_pairs.disk.os, "statvfs", lambda _: os.statvfs_result([512, 512, 9, 9, 9, 9, 9, 9, 0, 255])
    )
    assert main(["--photos", str(album), "--out", str(tmp_path / "set")]) == DISK_FULL
    assert "6 pairs need about" in capsys.readouterr().err
    assert not (tmp_path / "set").exists()


def test_a_photograph_that_kills_its_reader_is_skipped(album, tmp_path, monkeypatch):
    """A worker that dies (out of memory, a crash in a decoder) costs one photograph, not the run."""
    site = tmp_path / "site"
    site.mkdir()
    # Every Python process started from here on dies when it opens this photograph.
    (site / "sitecustomize.py").write_text(
        "import os, sys\n"
        "def watch(event, arguments):\n"
        "    if event == 'open' and str(arguments[0]).endswith('3.png'):\n"
        "        os.kill(os.getpid(), 9)\n"
        "sys.addaudithook(watch)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(site))
    report = make(album, tmp_path / "set", workers=2)
    assert (report.made, list(report.skipped)) == (5, ["3.png"])
    assert "ended by SIGKILL" in report.skipped["3.png"]


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_stopped_in_the_middle_and_continued(tmp_path, end):
    folder, root = tmp_path / "photos", tmp_path / "set"
    folder.mkdir()
    for number in range(COUNT):
        picture(number, side=500).save(folder / f"{number:02}.jpg")
    command = [
        sys.executable,
        "-m",
        "data_scripts.make_pairs",
        "--photos",
        folder,
        "--out",
        root,
        "--workers",
        "2",
    ]
    process = subprocess.Popen(
        command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + PATIENCE
    while len(PairFolder(root).names()) < 5:
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.01)
    children = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(end)
    told, errors = process.communicate(timeout=PATIENCE)
    assert not psutil.wait_procs(children, timeout=PATIENCE)[1]
    made = len(PairFolder(root).names())
    assert 5 <= made < COUNT
    if end == signal.SIGINT:
        assert process.returncode == INTERRUPTED
        assert "not reached (interrupted)" in told
        assert "the same command continues" in errors
        assert not [path for path in root.rglob("*") if path.name.endswith(".part")]
    report = make(folder, root)
    assert report.made + report.kept == COUNT
    assert report.kept >= made - 2  # a pair whose line in the ledger was not written yet is made again
    make(folder, tmp_path / "at once", workers=2)
    assert contents(root) == contents(tmp_path / "at once")


def test_bugs_are_not_blamed_on_photographs(album, tmp_path, monkeypatch):
    def broken(*_):
        raise RuntimeError("a bug")

    monkeypatch.setattr(photo_pairs, "darken", broken)
    with pytest.raises(RuntimeError, match="a bug"):
        make(album, tmp_path / "set")
    assert photos.read(album / "0.png")[0].shape == (64, 64, 3)
