"""Files that are no photographs, folders that mislead, names of all kinds: skipped or kept apart."""

import json
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from photo_samples import HEIGHT, WIDTH, high_of, make, picture, png_of
from PIL import Image

from data_scripts.make_pairs import main
from data_scripts.photo_pairs import kind_of, name_of
from data_scripts.photo_search import READABLE


def damaged_jpeg(path: Path) -> bytes:
    picture().save(path, format="JPEG", quality=95)
    return path.read_bytes()


def save_truncated(path: Path) -> None:
    path.write_bytes(damaged_jpeg(path)[:1500])


def save_truncated_png(path: Path) -> None:
    rng = np.random.default_rng(0)
    Image.fromarray(rng.integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8)).save(path, format="PNG")
    path.write_bytes(path.read_bytes()[:9000])


def save_corrupt(path: Path) -> None:
    data = damaged_jpeg(path)
    path.write_bytes(data[:2] + bytes(300) + data[302:])


def save_loop_of_one(path: Path) -> None:
    path.symlink_to(path.name)


def save_bomb(path: Path) -> None:
    path.write_bytes(png_of(60_000, 60_000, 8, 2, bytes(1000)))


def save_of(size: tuple[int, int]) -> Callable[[Path], None]:
    return lambda path: Image.new("RGB", size, "gray").save(path)


def save_measurements(path: Path) -> None:
    Image.fromarray(np.linspace(-3, 1e6, HEIGHT * WIDTH, dtype=np.float32).reshape(HEIGHT, WIDTH)).save(path)


SKIPPED: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "corrupt": ("b.jpg", save_corrupt, "no image, or one too damaged"),
    "truncated JPEG": ("b.jpg", save_truncated, "damaged: image file is truncated"),
    "truncated PNG": ("b.png", save_truncated_png, "damaged: "),
    "only the start of a JPEG": ("b.jpg", lambda path: path.write_bytes(b"\xff\xd8\xff\xe0"), "damaged"),
    "empty": ("b.jpg", lambda path: path.touch(), "empty file (0 bytes)"),
    "HTML named .jpg": ("b.jpg", lambda path: path.write_text("\n<!DOCTYPE HTML><html>404"), "an HTML page"),
    "text named .png": ("b.png", lambda path: path.write_text("see other folder"), "no image"),
    "random bytes": ("b.webp", lambda path: path.write_bytes(os.urandom(4000)), "no image"),
    "1x1": ("b.png", save_of((1, 1)), "1 x 1 pixels: too small"),
    "a thread of a picture": ("b.png", save_of((4000, 40)), "4000 x 40 pixels: too small or too narrow"),
    "decompression bomb": ("b.png", save_bomb, "megapixels"),
    "measurements": ("b.tif", save_measurements, "measurements, not a photograph"),
    "HEIC": ("b.heic", lambda path: path.write_bytes(b"\0\0\0\x18ftypheic"), "HEIC"),
    "HEIC named .jpg": ("b.jpg", lambda path: path.write_bytes(b"\0\0\0\x18ftypheic" + bytes(99)), "HEIC"),
    "camera raw": ("b.NEF", lambda path: path.write_bytes(b"II*\0"), "raw file"),
    "broken symlink": (
        "b.jpg",
        lambda path: path.symlink_to("gone.jpg"),
        "a broken symbolic link to gone.jpg",
    ),
    "symlink to itself": ("b.jpg", save_loop_of_one, "Too many levels of symbolic links"),
    "named pipe": ("b.jpg", lambda path: os.mkfifo(path), "a named pipe"),
}


@pytest.mark.parametrize("case", SKIPPED)
def test_is_skipped_with_the_reason_and_stops_nothing(tmp_path, case, capsys):
    name, save, reason = SKIPPED[case]
    photos, root = tmp_path / "photos", tmp_path / "set"
    photos.mkdir()
    save(photos / name)
    picture().save(photos / "good.png")
    assert main(["--photos", str(photos), "--out", str(root), "--workers", "1"]) == 0
    table = capsys.readouterr().out
    assert "1 skipped:" in table
    assert name in table
    assert reason in table
    content = json.loads((root / "report.json").read_text())
    assert [entry["photo"] for entry in content["skipped"]] == [name]
    assert reason in content["skipped"][0]["reason"]
    assert [path.name for path in (root / "high").iterdir()] == [name_of("good.png")]
    assert [path.name for path in (root / "low").iterdir()] == [name_of("good.png")]


@pytest.fixture
def not_root() -> Iterator[Path]:
    """Make a folder where this process has no more rights than its owner, even if root runs the tests."""
    folder = Path(tempfile.mkdtemp())
    root = os.geteuid() == 0
    if root:
        os.chown(folder, 65534, 65534)
        os.seteuid(65534)
    try:
        yield folder
    finally:
        if root:
            os.seteuid(0)
        for path in folder.rglob("*"):
            path.chmod(stat.S_IRWXU) if not path.is_symlink() else None
        shutil.rmtree(folder)


def test_what_may_not_be_read_is_skipped(not_root):
    photos = not_root / "photos"
    (photos / "closed").mkdir(parents=True)
    for name in ("good.png", "secret.png", "closed/inside.png"):
        picture().save(photos / name)
    (photos / "secret.png").chmod(0)
    (photos / "closed").chmod(0)
    report = make(photos, not_root / "set")
    assert report.made == 1
    assert report.skipped == {
        "secret.png": "cannot be read: Permission denied",
        "closed": "folder cannot be listed: Permission denied",
    }


def test_symlink_loops_end_and_linked_folders_count_once(tmp_path):
    photos = tmp_path / "photos"
    (photos / "album").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    picture().save(photos / "album" / "a.png")
    picture().save(tmp_path / "elsewhere" / "b.png")
    (photos / "album" / "up").symlink_to("..")
    (photos / "again").symlink_to("album")
    (photos / "far").symlink_to(tmp_path / "elsewhere")
    report = make(photos, tmp_path / "set")
    assert report.made == 2
    assert sorted(report.skipped) == ["again", "album/up"]
    assert all("searched already" in reason for reason in report.skipped.values())


def test_names_that_look_alike_after_flattening_stay_apart(tmp_path):
    photos = tmp_path / "photos"
    names = [
        "a/b.png",
        "a_b.png",
        "a b.png",
        "a-b.png",
        "A/b.png",
        "a/b.bmp",
        "a/b.tif",
        "a/b/c.png",
        "a/b_c.png",
    ]
    for number, name in enumerate(names):
        (photos / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (64, 48), (20 * number + 40, 90, 120)).save(photos / name)
    report = make(photos, tmp_path / "set")
    assert (report.made, report.skipped) == (len(names), {})
    for number, name in enumerate(names):
        assert high_of(report, name)[..., 0].mean() == pytest.approx(20 * number + 40, abs=3)


@given(
    st.lists(
        st.text(st.characters(exclude_characters="\0"), min_size=1, max_size=300), unique=True, max_size=20
    )
)
def test_names_are_distinct_and_short_enough_for_any_path(paths):
    paths = sorted(
        {
            path.strip("/.") or "x"
            for path in paths
            if all(0xDC80 <= ord(c) <= 0xDCFF or not 0xD800 <= ord(c) <= 0xDFFF for c in path)
        }
    )
    names = [name_of(path) for path in paths]
    assert len(set(names)) == len(paths)
    for name in names:
        assert len(os.fsencode(name)) <= 240
        assert "/" not in name
        assert not name.startswith(".")
        assert name.endswith(".jpg")


def test_a_name_that_is_not_utf_8_becomes_a_pair_and_can_be_printed(tmp_path, capsys):
    photos = tmp_path / "photos"
    folder = photos / os.fsdecode(b"caf\xe9")
    folder.mkdir(parents=True)
    picture().save(folder / os.fsdecode(b"\xff\xfe.png"))
    (folder / os.fsdecode(b"\xfb.jpg")).write_bytes(b"broken")
    out = tmp_path / "set"
    for made, kept in ((1, 0), (0, 1)):
        assert main(["--photos", str(photos), "--out", str(out), "--workers", "1"]) == 0
        printed = capsys.readouterr().out
        assert f"{made} made now, {kept} kept" in printed
        assert r"caf\xe9/\xfb.jpg" in printed
    assert [path.name for path in (out / "by_class").iterdir()] == ["caf_xe9"]
    assert json.loads((out / "report.json").read_text())["skipped"][0]["photo"] == r"caf\xe9/\xfb.jpg"


def test_classes_are_the_folders_of_the_photographs(tmp_path):
    photos = tmp_path / "Holiday"
    for name in ("top.png", "2023/beach/a.png", "2024/beach/b.png", "2024/my dog/c.png", ".hidden/d.png"):
        (photos / name).parent.mkdir(parents=True, exist_ok=True)
        picture().save(photos / name)
    report = make(photos, tmp_path / "set")
    classes = {
        folder.name: sorted(path.name for path in folder.iterdir())
        for folder in (report.root / "by_class").iterdir()
    }
    assert classes == {
        "Holiday": [name_of("top.png")],
        "beach": sorted([name_of("2023/beach/a.png"), name_of("2024/beach/b.png")]),
        "my dog": [name_of("2024/my dog/c.png")],
        "hidden": [name_of(".hidden/d.png")],
    }
    for path in (report.root / "by_class").rglob("*.jpg"):
        assert path.resolve() == (report.root / "high" / path.name).resolve()
    assert kind_of("a.jpg", Path("/")) == "photos"


def test_other_files_are_counted_by_their_suffix(tmp_path, capsys):
    photos = tmp_path / "photos"
    photos.mkdir()
    picture().save(photos / "a.png")
    for name in ("b.xml", "c.xml", "README", "d.mp4"):
        (photos / name).write_text("no picture")
    assert main(["--photos", str(photos), "--out", str(tmp_path / "set"), "--workers", "1"]) == 0
    assert "4 files ignored, no images by their name: 2 .xml" in capsys.readouterr().out
    assert json.loads((tmp_path / "set" / "report.json").read_text())["ignored"] == {
        ".xml": 2,
        "no suffix": 1,
        ".mp4": 1,
    }


def test_every_suffix_searched_for_is_one_pillow_opens():
    Image.init()
    assert set(READABLE) <= set(Image.registered_extensions())
