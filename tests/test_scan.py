"""The scan: its verdicts against DALI's own, what it names, and what it remembers."""

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import damaged_files
import pytest
import torch

from tutorial_utils import scan as scan_module
from tutorial_utils.cpu_decoders import load_image
from tutorial_utils.image_check import ImageDefectError, check_image
from tutorial_utils.scan import DataError, Problem, scan
from tutorial_utils.scan_cache import FILE_NAME, ScanCache

pytestmark = pytest.mark.usefixtures("private_places")

SOUND = damaged_files.sound()
BAD = damaged_files.damaged_jpegs() | damaged_files.damaged_others() | damaged_files.foreign()
JPEG = SOUND["plain.jpg"]


def verdict_of_scan(data: bytes) -> list[int] | None:
    try:
        return list(check_image(data))
    except ImageDefectError:
        return None


def verdicts_of_dali(folder: Path, files: dict[str, bytes], device: str) -> dict[str, list[int] | None]:
    for name, data in files.items():
        (folder / name).write_bytes(data)
    script = Path(__file__).with_name("dali_verdicts.py")
    command = [sys.executable, str(script), str(folder), device]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout)


@pytest.fixture(
    params=[
        "cpu",
        pytest.param("mixed", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")),
    ]
)
def device(request: pytest.FixtureRequest) -> str:
    return request.param


def test_every_sound_file_passes_with_the_size_that_dali_delivers(tmp_path, device):
    ours = {name: verdict_of_scan(data) for name, data in SOUND.items()}
    assert ours == verdicts_of_dali(tmp_path, SOUND, device)
    assert None not in ours.values()


def test_every_bad_file_is_refused_and_dali_agrees_but_for_the_stricter_ones(tmp_path):
    passed = [name for name, data in BAD.items() if verdict_of_scan(data)]
    assert passed == []
    decoded = {name for name, shape in verdicts_of_dali(tmp_path, BAD, "cpu").items() if shape}
    assert decoded == damaged_files.STRICTER


def test_damage_that_no_decoder_notices_is_let_through_as_dali_does(tmp_path):
    files = damaged_files.unnoticed()
    ours = {name: verdict_of_scan(data) for name, data in files.items()}
    assert ours == verdicts_of_dali(tmp_path, files, "cpu")
    assert None not in ours.values()


def test_no_injured_file_passes_that_dali_refuses(tmp_path):
    files = damaged_files.mutants(200)
    dali = verdicts_of_dali(tmp_path, files, "cpu")
    ours = {name: verdict_of_scan(data) for name, data in files.items()}
    assert [name for name in files if ours[name] and dali[name] != ours[name]] == []
    assert sum(shape is None for shape in dali.values()) > 50  # else the injuries prove nothing
    assert sum(shape is not None for shape in ours.values()) > 50


@pytest.mark.parametrize("decoder", ["pil", "opencv"])
def test_what_passes_is_loaded_by_the_cpu_competitors(tmp_path, decoder):
    for name, data in SOUND.items():
        (tmp_path / name).write_bytes(data)
        assert load_image(str(tmp_path / name), (8, 8), decoder).shape == (3, 8, 8)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("empty.jpg", "empty file"),
        ("web_page.jpg", "web page"),
        ("zeros.jpg", "zero bytes"),
        ("text.jpg", "no image format"),
        ("any.gif", "GIF image, a format that DALI does not decode; convert it"),
        ("avif_inside.jpg", "AVIF image, a format that DALI does not decode"),
        ("one_bit.tiff", "1 bit a pixel"),
        ("float_gray.tiff", "mode 'F'"),
        ("last_1_bytes_missing.jpg", "truncated"),
        ("cut_at_10.jpg", "header"),
        ("zeros_for_the_second_half.jpg", "end-of-image marker"),
        ("height_0.jpg", "without any pixels"),
        ("size_0.png", "without any pixels"),
        ("absurd_size.jpg", "absurd size"),
        ("stray_bytes_before_frame.jpg", "stray byte at offset 20"),
        ("segment_length_0.jpg", "segment length"),
        ("no_end.png", "damaged or incomplete PNG"),
    ],
)
def test_the_reason_says_what_is_wrong(name, words):
    with pytest.raises(ImageDefectError, match=words):
        check_image(BAD[name])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "set" / "low").mkdir(parents=True)
    return tmp_path / "set" / "low"


def only_problem(folder: Path) -> Problem:
    found = scan(folder.parent, ["low"])["low"]
    assert found.images == {}
    (problem,) = found.problems
    return problem


def test_sound_images_are_listed_with_bytes_and_shown_size(folder):
    (folder / "b.jpg").write_bytes(JPEG)
    (folder / "a.jpg").write_bytes(SOUND["turned6.jpg"])
    found = scan(folder.parent, ["low"])["low"]
    assert list(found.images) == ["a.jpg", "b.jpg"]
    assert found.images["b.jpg"] == (
        str(folder / "b.jpg"),
        len(JPEG),
        damaged_files.HEIGHT,
        damaged_files.WIDTH,
    )
    assert found.images["a.jpg"][2:] == (damaged_files.WIDTH, damaged_files.HEIGHT)
    assert found.problems == found.ignored == []


def test_hidden_and_system_files_are_ignored_and_counted(folder):
    for name in (".DS_Store", "Thumbs.db", ".hidden.jpg"):
        (folder / name).write_bytes(b"?")
    (folder / ".ipynb_checkpoints").mkdir()
    found = scan(folder.parent, ["low"])["low"]
    assert found.images == {}
    assert found.problems == []
    assert [Path(path).name for path in found.ignored] == [
        ".DS_Store",
        ".hidden.jpg",
        ".ipynb_checkpoints",
        "Thumbs.db",
    ]


def test_a_folder_named_like_an_image(folder):
    (folder / "a.jpg").mkdir()
    assert "a folder" in only_problem(folder).reason


def test_a_broken_link_names_its_target(folder):
    (folder / "a.jpg").symlink_to("nowhere.jpg")
    assert only_problem(folder).reason == "a broken link to 'nowhere.jpg'"


def test_a_link_to_itself(folder):
    (folder / "a.jpg").symlink_to("a.jpg")
    assert "a broken link" in only_problem(folder).reason


def test_a_link_to_an_image_is_followed(folder, tmp_path):
    (tmp_path / "elsewhere.jpg").write_bytes(JPEG)
    (folder / "a.jpg").symlink_to(tmp_path / "elsewhere.jpg")
    assert list(scan(folder.parent, ["low"])["low"].images) == ["a.jpg"]


def test_a_named_pipe_is_not_read(folder):
    os.mkfifo(folder / "a.jpg")
    assert "pipe" in only_problem(folder).reason


def test_a_name_that_is_no_text(folder):
    (folder / os.fsdecode(b"caf\xe9.jpg")).write_bytes(JPEG)
    assert "UTF-8" in only_problem(folder).reason


def problems_seen_by_nobody(root: Path) -> str:
    """Scan in a child process of the user `nobody`: root, as in a container, may read everything."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgid(65534)
            os.setuid(65534)
            answer = "\n".join(map(str, scan(root, ["low"])["low"].problems))
        except BaseException as error:
            answer = repr(error)
        os.write(writing, answer.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return answer


def test_a_file_without_permission(folder, tmp_path_factory):
    path = folder / "a.jpg"
    path.write_bytes(JPEG)
    scan(folder.parent, ["low"])  # remembered as sound: the permission counts all the same
    path.chmod(0)
    if os.access(path, os.R_OK):  # as root
        ours = tmp_path_factory.getbasetemp().parent
        for parent in (folder, *(one for one in folder.parents if one.is_relative_to(ours))):
            parent.chmod(0o755)
        seen = problems_seen_by_nobody(folder.parent)
    else:
        seen = str(only_problem(folder))
    assert seen == f"{path}: no permission to read it; chmod u+r {str(path)!r}, or ask its owner"


def test_a_file_that_cannot_be_read_is_a_problem_but_not_remembered(folder, monkeypatch):
    (folder / "a.jpg").write_bytes(JPEG)

    def fail(path):
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", fail)
        assert only_problem(folder).reason == "cannot be read: Input/output error"
    assert list(scan(folder.parent, ["low"])["low"].images) == ["a.jpg"]


def test_the_message_shows_twenty_problems_and_their_number():
    problems = [Problem(f"/set/{n}.jpg", "empty file", "delete it") for n in range(30)]
    error = DataError("30 problems", problems)
    assert str(error).count("empty file") == 20
    assert "10 more" in str(error)
    assert error.problems == tuple(problems)


# What the scan remembers.


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Record every file that is decoded."""
    seen = []

    def check(data: bytes) -> tuple[int, int]:
        seen.append(data)
        return check_image(data)

    monkeypatch.setattr(scan_module, "check_image", check)
    return seen


def fill(folder: Path) -> None:
    for number in range(5):
        (folder / f"{number}.jpg").write_bytes(JPEG)
    (folder / "bad.jpg").write_bytes(JPEG[:-500])


def test_a_second_scan_decodes_nothing_and_finds_the_same(folder, decoded):
    fill(folder)
    first = scan(folder.parent, ["low"])
    assert len(decoded) == 6
    assert scan(folder.parent, ["low"]) == first
    assert len(decoded) == 6


def test_only_what_changed_is_decoded_again(folder, decoded):
    fill(folder)
    scan(folder.parent, ["low"])
    decoded.clear()
    (folder / "0.jpg").write_bytes(JPEG[:-400])  # another size
    status = (folder / "1.jpg").stat()
    os.utime(folder / "1.jpg", ns=(status.st_atime_ns, status.st_mtime_ns + 1))  # another time
    (folder / "2.jpg").unlink()
    (folder / "bad.jpg").write_bytes(JPEG)
    (folder / "new.jpg").write_bytes(JPEG)
    found = scan(folder.parent, ["low"])["low"]
    assert len(decoded) == 4
    assert list(found.images) == ["1.jpg", "3.jpg", "4.jpg", "bad.jpg", "new.jpg"]
    assert [Path(problem.path).name for problem in found.problems] == ["0.jpg"]
    assert sorted(json.loads((folder.parent / FILE_NAME).read_text())["files"]) == [
        f"low/{name}" for name in ("0.jpg", "1.jpg", "3.jpg", "4.jpg", "bad.jpg", "new.jpg")
    ]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b"{}",
        b'{"format": 0, "rules": "", "files": {}}',
        b'{"format": 1, "rules": "older rules", "files": {"low/bad.jpg": [1, 2, 3, 4]}}',
    ],
)
def test_an_unusable_cache_is_ignored_and_replaced(folder, decoded, content):
    fill(folder)
    (folder.parent / FILE_NAME).write_bytes(content)
    found = scan(folder.parent, ["low"])
    assert len(found["low"].images) == 5
    scan(folder.parent, ["low"])
    assert len(decoded) == 6


@pytest.mark.parametrize(
    "change", [lambda e: e[:3], lambda e: None, lambda e: [*e[:2], 1, "x"], lambda e: [*e[:2], None, None]]
)
def test_an_unusable_entry_is_decoded_again(folder, decoded, change):
    fill(folder)
    first = scan(folder.parent, ["low"])
    path = folder.parent / FILE_NAME
    content = json.loads(path.read_text())
    content["files"]["low/3.jpg"] = change(content["files"]["low/3.jpg"])
    path.write_text(json.dumps(content))
    decoded.clear()
    assert scan(folder.parent, ["low"]) == first
    assert len(decoded) == 1


def test_verdicts_of_other_decoder_versions_are_not_trusted(folder, decoded, monkeypatch):
    fill(folder)
    scan(folder.parent, ["low"])
    monkeypatch.setattr("tutorial_utils.scan_cache.RULES", "1, Pillow 99")
    scan(folder.parent, ["low"])
    assert len(decoded) == 12


def test_where_the_data_cannot_be_written_the_user_cache_serves(folder, decoded):
    fill(folder)
    (folder.parent / FILE_NAME).mkdir()  # a folder in the way cannot be replaced by a file, not even by root
    first = scan(folder.parent, ["low"])
    assert scan(folder.parent, ["low"]) == first
    assert len(decoded) == 6
    assert sorted(path.name for path in folder.parent.iterdir()) == [FILE_NAME, "low"]


def test_a_scan_that_cannot_be_remembered_says_so(folder, tmp_path, monkeypatch):
    fill(folder)
    (folder.parent / FILE_NAME).mkdir()
    (tmp_path / "a file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a file"))
    with pytest.warns(UserWarning, match="could not be remembered"):
        found = scan(folder.parent, ["low"])
    assert len(found["low"].images) == 5


def test_an_interrupted_scan_keeps_what_it_found(folder, monkeypatch):
    fill(folder)
    monkeypatch.setattr(scan_module, "_CHUNK", 1)
    monkeypatch.setattr(scan_module, "cores", lambda: 1)
    seen = []

    def check(data: bytes) -> tuple[int, int]:
        seen.append(data)
        if len(seen) == 3:
            raise KeyboardInterrupt
        return check_image(data)

    monkeypatch.setattr(scan_module, "check_image", check)
    with pytest.raises(KeyboardInterrupt):
        scan(folder.parent, ["low"])
    assert len(json.loads((folder.parent / FILE_NAME).read_text())["files"]) == 2
    monkeypatch.setattr(scan_module, "check_image", check_image)
    assert len(scan(folder.parent, ["low"])["low"].images) == 5


def _scan_and_count(root: str, start: float) -> tuple[int, int]:
    time.sleep(max(0, start - time.time()))
    found = scan(Path(root), ["low"])["low"]
    return len(found.images), len(found.problems)


def test_several_processes_may_scan_at_once(folder):
    for number in range(60):
        (folder / f"{number}.jpg").write_bytes(JPEG if number % 3 else JPEG[:-9])
    with ProcessPoolExecutor(4) as pool:
        start = time.time() + 0.5
        jobs = [pool.submit(_scan_and_count, str(folder.parent), start) for _ in range(4)]
        assert {job.result(timeout=120) for job in jobs} == {(40, 20)}
    assert sorted(path.name for path in folder.parent.iterdir()) == [FILE_NAME, "low"]
    assert len(json.loads((folder.parent / FILE_NAME).read_text())["files"]) == 60


def test_a_file_that_grows_while_it_is_read_is_judged_anew_next_time(folder, monkeypatch, decoded):
    (folder / "a.jpg").write_bytes(JPEG)
    cut = JPEG[:-100]
    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", lambda path: cut)
        assert "truncated" in only_problem(folder).reason
    assert list(scan(folder.parent, ["low"])["low"].images) == ["a.jpg"]


def test_the_cache_forgets_and_remembers_by_size_and_time():
    cache = ScanCache()
    cache.enter("low/a.jpg", 10, 20, (3, 4))
    assert cache.verdict("low/a.jpg", 10, 20) == (3, 4)
    assert cache.verdict("low/a.jpg", 11, 20) is None
    assert cache.verdict("low/a.jpg", 10, 21) is None
    assert cache.verdict("high/a.jpg", 10, 20) is None
