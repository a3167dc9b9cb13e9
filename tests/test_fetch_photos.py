"""Downloads through torchvision's own code and checksums, from a server on loopback with faults at will."""

import contextlib
import errno
import hashlib
import http.server
import io
import os
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from torchvision.datasets import Imagenette, VOCDetection, voc

from data_scripts import disk, fetch_photos
from data_scripts.fetch_photos import FetchError, fetch, main
from data_scripts.photo_pairs import make_photo_set

REPOSITORY = Path(__file__).resolve().parent.parent


@dataclass
class Server:
    """Files by path, the faults to commit, and what was asked."""

    address: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    cut_after: int | None = None
    status: int = 200
    head: bool = True
    asked: list[str] = field(default_factory=list)


@pytest.fixture
def server() -> Iterator[Server]:
    state = Server()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.answer(body=False)

        def do_GET(self) -> None:
            self.answer(body=True)

        def answer(self, body: bool) -> None:
            state.asked.append(f"{self.command} {self.path}")
            data = state.files.get(self.path)
            status = 405 if not (body or state.head) else state.status if data is not None else 404
            self.send_response(status)
            self.send_header("Content-Length", str(len(data or b"")))
            self.end_headers()
            if body and data is not None:
                # torchvision asks once more than it reads, to follow redirections.
                with contextlib.suppress(ConnectionError):
                    self.wfile.write(data[: state.cut_after])

        def log_message(self, *_) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        state.address = f"http://127.0.0.1:{running.server_address[1]}"
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        yield state
        running.shutdown()
        thread.join()


def jpeg(number: int) -> bytes:
    buffer = io.BytesIO()
    pixels = np.random.default_rng(number).integers(0, 256, (48, 64, 3), np.uint8)
    Image.fromarray(pixels).save(buffer, "JPEG")
    return buffer.getvalue()


def archive_of(files: dict[str, bytes], mode: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for path, data in files.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


@pytest.fixture
def imagenette(server, monkeypatch) -> bytes:
    """Serve an archive in Imagenette's layout: 2 splits, 10 classes, 2 photographs each."""
    files = {
        f"imagenette2-160/{split}/{kind}/{kind}_{number}.JPEG": jpeg(number)
        for split in ("train", "val")
        for kind in Imagenette._WNID_TO_CLASS
        for number in range(2)
    }
    data = archive_of(files, "w:gz")
    server.files["/imagenette2-160.tgz"] = data
    entry = (f"{server.address}/imagenette2-160.tgz", hashlib.md5(data).hexdigest())
    monkeypatch.setitem(Imagenette._ARCHIVES, "160px", entry)
    return data


@pytest.fixture
def pascal(server, monkeypatch) -> bytes:
    """Serve an archive in the layout of PASCAL VOC 2007: photographs, annotations, lists."""
    base, names = "VOCdevkit/VOC2007", ["000005", "000007"]
    files = {f"{base}/JPEGImages/{name}.jpg": jpeg(int(name)) for name in names}
    files |= {f"{base}/Annotations/{name}.xml": b"<annotation/>" for name in names}
    files[f"{base}/ImageSets/Main/trainval.txt"] = "\n".join(names).encode()
    data = archive_of(files, "w")
    server.files["/voc/trainval.tar"] = data
    entry = voc.DATASET_YEAR_DICT["2007"]
    changed = {"url": f"{server.address}/voc/trainval.tar", "md5": hashlib.md5(data).hexdigest()}
    monkeypatch.setitem(voc.DATASET_YEAR_DICT, "2007", entry | changed)
    return data


def test_imagenette_arrives_whole_and_becomes_pairs(imagenette, tmp_path):
    photos = fetch("imagenette-160px", tmp_path / "photos")
    assert photos == tmp_path / "photos" / "imagenette-160px" / "imagenette2-160"
    assert len(list(photos.rglob("*.JPEG"))) == 40
    # torchvision's class opens the folder, and nothing but the photographs takes room.
    assert len(Imagenette(photos.parent, "train", "160px")) == 20
    assert [path.name for path in photos.parent.iterdir()] == ["imagenette2-160"]
    report = make_photo_set(photos, tmp_path / "set", workers=1, progress=False)
    assert (report.made, report.skipped) == (40, {})
    assert {path.name for path in (tmp_path / "set" / "by_class").iterdir()} == set(Imagenette._WNID_TO_CLASS)


def test_pascal_voc_arrives_whole_and_becomes_pairs(pascal, tmp_path):
    photos = fetch("voc2007", tmp_path)
    assert sorted(path.name for path in photos.iterdir()) == ["000005.jpg", "000007.jpg"]
    assert len(VOCDetection(tmp_path / "voc2007", "2007", "trainval")) == 2
    assert not (tmp_path / "voc2007" / "VOCtrainval_06-Nov-2007.tar").exists()
    assert make_photo_set(photos, tmp_path / "set", workers=1, progress=False).made == 2


def test_second_fetch_asks_the_server_nothing(imagenette, server, tmp_path):
    photos = fetch("imagenette-160px", tmp_path)
    server.asked.clear()
    assert fetch("imagenette-160px", tmp_path) == photos
    assert server.asked == []


def looks_whole(folder: Path) -> bool:
    return (folder / "imagenette-160px").exists()


def test_cut_download_is_told_with_its_figures_and_starts_again(imagenette, server, tmp_path):
    server.cut_after = len(imagenette) // 2
    with pytest.raises(FetchError, match=r"cut after .* MB of .* MB.*same command again"):
        fetch("imagenette-160px", tmp_path)
    assert not looks_whole(tmp_path)
    assert not list(tmp_path.rglob("*.tgz"))
    server.cut_after = None
    assert len(list(fetch("imagenette-160px", tmp_path).rglob("*.JPEG"))) == 40


def test_wrong_checksum_is_told_and_nothing_stays(imagenette, server, tmp_path):
    server.files["/imagenette2-160.tgz"] = b"<html>please log in</html>".ljust(len(imagenette))
    with pytest.raises(FetchError, match=r"checksum torchvision expects.*proxy or a login page"):
        fetch("imagenette-160px", tmp_path)
    assert not looks_whole(tmp_path)
    assert not list(tmp_path.rglob("*.tgz"))
    server.files["/imagenette2-160.tgz"] = imagenette
    fetch("imagenette-160px", tmp_path)


@pytest.mark.parametrize("status", [403, 404, 500])
def test_refusing_server_is_named_with_its_answer(imagenette, server, tmp_path, status):
    server.status = status
    with pytest.raises(FetchError, match=rf"127\.0\.0\.1:\d+ answered {status}"):
        fetch("imagenette-160px", tmp_path)
    assert not looks_whole(tmp_path)


def test_server_that_does_not_tell_sizes_is_asked_all_the_same(imagenette, server, tmp_path):
    server.head = False
    assert len(list(fetch("imagenette-160px", tmp_path).rglob("*.JPEG"))) == 40


def test_offline_is_told_with_the_ways_out(monkeypatch, tmp_path, capsys):
    with http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as closed:
        port = closed.server_address[1]
    monkeypatch.setitem(
        Imagenette._ARCHIVES, "160px", (f"http://127.0.0.1:{port}/imagenette2-160.tgz", "0" * 32)
    )
    assert main(["imagenette-160px", "--out", str(tmp_path)]) == 1
    words = capsys.readouterr().err
    assert f"127.0.0.1:{port} cannot be reached" in words
    assert "Connection refused" in words
    assert "data_scripts.make_pairs" in words
    assert not looks_whole(tmp_path)


def test_server_that_falls_silent_is_given_up(monkeypatch, tmp_path):
    monkeypatch.setattr(fetch_photos, "TIMEOUT", 0.2)
    with http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as silent:
        address = f"http://127.0.0.1:{silent.server_address[1]}/imagenette2-160.tgz"
        monkeypatch.setitem(Imagenette._ARCHIVES, "160px", (address, "0" * 32))
        with pytest.raises(FetchError, match=r"stopped answering \(.*timed out"):
            fetch("imagenette-160px", tmp_path)


def test_half_unpacked_set_is_not_taken_for_whole(imagenette, server, tmp_path, monkeypatch):
    """Any folder of the right name is a whole set to torchvision, so this one must not get it."""
    extract = tarfile.TarFile.extract
    left = [25]

    def stop(archive, member, *arguments, **options):
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return extract(archive, member, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(
            tarfile.TarFile, "extractall", lambda archive, path: [stop(archive, m, path) for m in archive]
        )
        with pytest.raises(KeyboardInterrupt):
            fetch("imagenette-160px", tmp_path)
    assert not looks_whole(tmp_path)
    # As a killed process would leave it: part of the photographs beside a sound archive.
    partial = tmp_path / ".imagenette-160px.partial" / "imagenette2-160" / "train" / "n01440764"
    partial.mkdir(parents=True)
    (partial / "half.JPEG").write_bytes(b"half")
    server.asked.clear()
    photos = fetch("imagenette-160px", tmp_path)
    assert len(list(photos.rglob("*.JPEG"))) == 40
    assert server.asked == []  # the sound archive was not fetched again
    assert [path.name for path in tmp_path.iterdir() if path.name != ".lock"] == ["imagenette-160px"]


def test_room_is_asked_for_with_both_figures(imagenette, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(disk.os, "statvfs", lambda _: os.statvfs_result([512, 512, 9, 9, 9, 9, 9, 9, 0, 255]))
    assert main(["imagenette-160px", "--out", str(tmp_path)]) == 3
    words = capsys.readouterr().err
    assert "imagenette-160px, archive and photographs, need about" in words
    assert "0.0 MB free" in words
    assert not looks_whole(tmp_path)


def test_disk_that_fills_while_unpacking_leaves_nothing_unpacked(imagenette, tmp_path, monkeypatch, capsys):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tarfile.TarFile, "extractall", full)
    assert main(["imagenette-160px", "--out", str(tmp_path)]) == 3
    assert "filled up" in capsys.readouterr().err
    assert not looks_whole(tmp_path)
    assert not list(tmp_path.rglob("*.JPEG"))


def test_command_line_ends_with_the_command_that_makes_the_pairs(pascal, tmp_path, capsys):
    assert main(["voc2007", "--out", str(tmp_path / "my photos")]) == 0
    photos = tmp_path / "my photos" / "voc2007" / "VOCdevkit" / "VOC2007" / "JPEGImages"
    assert f"python -m data_scripts.make_pairs --photos '{photos}'" in capsys.readouterr().out


def test_default_folder_follows_the_variable(pascal, tmp_path, monkeypatch):
    monkeypatch.setenv("TUTORIAL_DATA", str(tmp_path))
    assert main(["voc2007"]) == 0
    assert (tmp_path / "photos" / "voc2007").is_dir()


def test_help_explains_by_example_and_unknown_names_exit_with_2():
    command = [sys.executable, "-m", "data_scripts.fetch_photos"]
    shown = subprocess.run(
        [*command, "--help"], capture_output=True, text=True, cwd=REPOSITORY, check=True
    ).stdout
    assert shown.count("python -m data_scripts.fetch_photos") >= 4
    assert "checksum" in shown
    assert subprocess.run([*command, "cifar"], capture_output=True, cwd=REPOSITORY).returncode == 2
    with pytest.raises(ValueError, match="choose one of imagenette-160px"):
        fetch("cifar", Path("unused"))
