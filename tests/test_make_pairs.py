"""Generated sets: contents, determinism, growth, refusals, the view by class, starting from anywhere."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from nvidia.dali import fn, pipeline_def
from PIL import Image
from torchvision.datasets import ImageFolder

from data_scripts import make_pairs, manifest
from data_scripts.generated import name_of
from data_scripts.low_light import darken
from data_scripts.make_pairs import BYTES_PER_PAIR, SCALES, make_set
from data_scripts.pair_folder import PairFolder
from data_scripts.scenes import KINDS, render

REPOSITORY = Path(__file__).resolve().parent.parent
COMMAND = [sys.executable, "-m", "data_scripts.make_pairs"]
COUNT = 16  # two of every kind


def digests(root: Path) -> dict[str, str]:
    """Digest every file of a set; links give what they point to."""
    files = sorted(path for path in root.rglob("*.jpg"))
    return {
        str(path.relative_to(root)): str(path.readlink())
        if path.is_symlink()
        else hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }


def run(*arguments, **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
        check=False,
        **options,
    )


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> Path:
    return make_set(tmp_path_factory.mktemp("made") / "set", pairs=COUNT, workers=1, progress=False)


def test_files_are_the_pairs_of_scenes_and_twins(small):
    names = [f"{index:06d}.jpg" for index in range(COUNT)]
    assert sorted(path.name for path in (small / "low").iterdir()) == names
    assert sorted(path.name for path in (small / "high").iterdir()) == names
    for index in (0, 7, COUNT - 1):
        scene = render(index, 0)
        for folder, expected in (("high", scene.image), ("low", darken(scene.image, (0, index)))):
            with Image.open(small / folder / names[index]) as image:
                assert (image.format, image.mode) == ("JPEG", "RGB")
                got = np.asarray(image).astype(int)
            assert got.shape == expected.shape
            # What JPEG loses; another scene, or unequal channel order, is tens of levels away.
            assert np.abs(got - expected).mean() < 8
        assert (
            str((small / "by_class" / scene.kind / names[index]).readlink()) == f"../../high/{names[index]}"
        )


def test_manifest_names_what_was_made(small):
    content = json.loads((small / "pairs.json").read_text())
    assert content["source"] == "generated"
    assert content["seed"] == 0
    assert content["pairs"] == COUNT
    assert content["complete"] is True
    assert {"generator", "jpeg_quality"} <= set(content)


def test_nothing_but_the_set_is_left(small):
    assert {path.name for path in small.iterdir()} == {"low", "high", "by_class", "pairs.json", ".lock"}
    assert not [path for path in small.rglob("*") if path.name.endswith(".part")]


@pytest.mark.parametrize("workers", [2, 3])
def test_number_of_workers_changes_no_byte(small, tmp_path, workers):
    other = make_set(tmp_path / "set", pairs=COUNT, workers=workers, progress=False)
    assert digests(other) == digests(small)


def test_a_small_set_grows_into_a_larger_one(small, tmp_path):
    root = make_set(tmp_path / "set", pairs=9, workers=1, progress=False)
    before = {path: path.stat().st_mtime_ns for path in (root / "high").iterdir()}
    make_set(root, pairs=COUNT, workers=1, progress=False)
    assert digests(root) == digests(small)
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_another_seed_gives_other_pictures(small, tmp_path):
    other = digests(make_set(tmp_path / "set", pairs=4, seed=1, workers=1, progress=False))
    same = digests(small)
    assert all(same[name] != digest for name, digest in other.items() if not name.startswith("by_class"))


def test_a_complete_set_is_left_alone_even_where_nothing_can_be_written(small, monkeypatch):
    before = {path: path.stat().st_mtime_ns for path in small.rglob("*")}

    def refuse(*_):
        raise PermissionError("read-only")

    monkeypatch.setattr(make_pairs.lock, "hold", refuse)
    assert make_set(small, pairs=COUNT, progress=False) == small
    assert {path: path.stat().st_mtime_ns for path in small.rglob("*")} == before


@pytest.mark.parametrize("lost", ["low/000003.jpg", "high/000004.jpg", "by_class"])
def test_what_was_deleted_is_made_again(small, tmp_path, lost):
    root = make_set(tmp_path / "set", pairs=COUNT, workers=1, progress=False)
    for path in [root / lost] if (root / lost).is_file() else list((root / lost).rglob("*.jpg"))[:5]:
        path.unlink()
    make_set(root, pairs=COUNT, workers=1, progress=False)
    assert digests(root) == digests(small)


def test_leftovers_of_a_killed_run_are_removed(small, tmp_path):
    root = make_set(tmp_path / "set", pairs=COUNT, workers=1, progress=False)
    (root / "low" / ".000002.jpg.part").write_bytes(b"half")
    (root / "high" / "000005.jpg").unlink()
    kind = next((root / "by_class").iterdir())
    (kind / ".000002.jpg.part").symlink_to("nowhere")
    make_set(root, pairs=COUNT, workers=1, progress=False)
    assert not [path for path in root.rglob("*") if path.name.endswith(".part")]
    assert digests(root) == digests(small)


def test_another_seed_in_the_same_folder_is_refused_by_name(small):
    with pytest.raises(manifest.OtherSetError, match=r"seed is 0 there, 5 was asked for.*--out") as error:
        make_set(small, pairs=COUNT, seed=5, progress=False)
    assert str(small) in str(error.value)


def test_fewer_pairs_than_there_are_is_refused_with_the_way_out(small):
    with pytest.raises(manifest.OtherSetError, match=rf"{COUNT} pairs, 5 were asked for.*take"):
        make_set(small, pairs=5, progress=False)


def test_images_without_a_manifest_are_not_touched(tmp_path):
    (tmp_path / "low").mkdir()
    mine = tmp_path / "low" / "mine.jpg"
    mine.write_bytes(b"precious")
    with pytest.raises(manifest.OtherSetError, match=r"no pairs\.json"):
        make_set(tmp_path, pairs=4, progress=False)
    assert mine.read_bytes() == b"precious"
    assert [path.name for path in tmp_path.iterdir()] == ["low"]


@pytest.mark.parametrize("content", ["{ not JSON", '{"format": 99}', "[]"])
def test_a_foreign_manifest_is_refused(tmp_path, content):
    (tmp_path / "pairs.json").write_text(content)
    with pytest.raises(manifest.OtherSetError, match=r"pairs\.json is no"):
        make_set(tmp_path, pairs=4, progress=False)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"scale": "huge"}, "smoke, workshop, article"),
        ({"pairs": 0}, "at least 1"),
        ({"workers": 0}, "at least 1"),
        ({"seed": -1}, "from 0"),
    ],
)
def test_wrong_arguments_are_named(tmp_path, arguments, words):
    with pytest.raises(ValueError, match=words):
        make_set(tmp_path / "set", progress=False, **arguments)
    assert not (tmp_path / "set").exists()


def test_the_estimate_of_the_disk_is_near_the_truth(small):
    assert PairFolder(small).size() / COUNT == pytest.approx(BYTES_PER_PAIR, rel=0.35)


def test_scales_are_the_three_of_the_series():
    assert SCALES == {"smoke": 256, "workshop": 4096, "article": 153_856}
    assert len(name_of(SCALES["article"] - 1)) == len(name_of(0))


@pipeline_def(batch_size=COUNT, num_threads=1, device_id=None)
def labelled_files(folder):
    files, labels = fn.readers.file(file_root=str(folder), name="files")
    return fn.decoders.image(files), labels


def test_dali_and_torchvision_read_the_view_by_class_after_the_set_moved(small, tmp_path):
    root = make_set(tmp_path / "before", pairs=COUNT, workers=1, progress=False).rename(tmp_path / "after")
    expected = {name_of(index): render(index, 0).kind for index in range(COUNT)}
    assert set(expected.values()) <= set(KINDS)
    folder = ImageFolder(root / "by_class")
    assert {Path(path).name: folder.classes[label] for path, label in folder.samples} == expected
    pipeline = labelled_files(root / "by_class")
    assert pipeline.epoch_size("files") == COUNT
    images, labels = pipeline.run()
    for number, (path, label) in enumerate(folder.samples):
        assert int(labels.at(number)[0]) == label
        with Image.open(path) as image:
            # Both decode by libjpeg-turbo; rounding in its inverse DCT differs at most by a few levels.
            assert np.abs(np.asarray(images.at(number)).astype(int) - np.asarray(image)).max() <= 4


def test_command_line_makes_a_set_and_says_where(small, tmp_path):
    done = run("--pairs", COUNT, "--out", tmp_path / "set", "--workers", 2)
    assert done.returncode == 0, done.stderr
    assert f"{COUNT} pairs in {tmp_path / 'set'}" in done.stdout
    assert digests(tmp_path / "set") == digests(small)


def test_help_explains_by_example():
    done = run("--help")
    assert done.returncode == 0
    assert done.stdout.count("python -m data_scripts.make_pairs") >= 5
    for word in ("--photos", "--scale article", "exit code", "by_class"):
        assert word in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["--pairs", "0"],
        ["--scale", "huge"],
        ["--photos", ".", "--pairs", "3"],
        ["--max-side", "9"],
        ["--workers", "x"],
    ],
)
def test_wrong_usage_exits_with_2(arguments):
    assert run(*arguments).returncode == 2


def test_other_set_exits_with_1_and_one_line(small):
    done = run("--pairs", COUNT, "--out", small, "--seed", 9)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "seed" in done.stderr


STARTS = {
    "script without a guard": lambda code, folder: [sys.executable, str(folder / "script.py")],
    "python -c": lambda code, folder: [sys.executable, "-c", code],
    "standard input": lambda code, folder: [sys.executable, "-"],
}


@pytest.mark.parametrize("start", STARTS)
def test_workers_start_from_anywhere_and_import_nothing_of_the_caller(small, tmp_path, start):
    code = (
        "from pathlib import Path\n"
        "from data_scripts.make_pairs import make_set\n"
        "print('once')\n"
        f"make_set(Path({str(tmp_path / 'set')!r}), pairs={COUNT}, workers=2, progress=False)\n"
    )
    (tmp_path / "script.py").write_text(code)
    done = subprocess.run(
        STARTS[start](code, tmp_path), input=code, capture_output=True, text=True, cwd=REPOSITORY, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "once\n"
    assert digests(tmp_path / "set") == digests(small)


def test_workers_start_from_a_notebook(small, tmp_path):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    cell = (
        "import torch, pathlib\n"
        "from data_scripts.make_pairs import make_set\n"
        f"make_set(pathlib.Path({str(tmp_path / 'set')!r}), pairs={COUNT}, workers=2).name"
    )
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)])
    nbclient.NotebookClient(
        notebook, kernel_name="python3", timeout=120, resources={"metadata": {"path": str(REPOSITORY)}}
    ).execute()
    outputs = notebook.cells[0].outputs
    assert [output.output_type for output in outputs] == ["stream", "execute_result"]
    assert outputs[0].name == "stdout"  # a notebook paints the other stream red
    assert "%" not in outputs[0].text  # no bar is left behind
    assert digests(tmp_path / "set") == digests(small)
