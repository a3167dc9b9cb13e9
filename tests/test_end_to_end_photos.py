"""Real photographs, by the command line, into pairs, and once through lesson 01's loaders."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import skimage
import sklearn
import torch
from PIL import Image

from data_scripts.photo_pairs import name_of
from tutorial_utils.cpu_loaders import PairImages, tuned_loader
from tutorial_utils.data import open_labelled, open_pairs

REPOSITORY = Path(__file__).resolve().parent.parent
# Photographs that lie in the wheels themselves; nothing is downloaded.
SCIKIT_IMAGE = (
    "astronaut.png",
    "chelsea.png",
    "coffee.png",
    "rocket.jpg",
    "camera.png",
    "motorcycle_left.png",
)
SCIKIT_LEARN = ("china.jpg", "flower.jpg")
SUFFIXES = (".jpg", ".png", ".bmp", ".tiff", ".webp")


@pytest.fixture(scope="module")
def photographs(tmp_path_factory) -> Path:
    """Write every photograph in every format, in one folder a library."""
    folder = tmp_path_factory.mktemp("photographs")
    sources = {
        "scikit-image": [Path(skimage.__file__).parent / "data" / name for name in SCIKIT_IMAGE],
        "scikit-learn": [
            Path(sklearn.__file__).parent / "datasets" / "images" / name for name in SCIKIT_LEARN
        ],
    }
    for library, paths in sources.items():
        (folder / library).mkdir()
        for path in paths:
            with Image.open(path) as image:
                for suffix in SUFFIXES:
                    image.save(folder / library / f"{path.stem}{suffix}")
    (folder / "scikit-image" / "torn.jpg").write_bytes(
        (folder / "scikit-image" / "rocket.jpg").read_bytes()[:9000]
    )
    return folder


@pytest.fixture(scope="module")
def root(photographs, tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("pairs") / "set"
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "data_scripts.make_pairs",
            "--photos",
            photographs,
            "--out",
            root,
            "--max-side",
            "400",
        ],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "40 pairs" in done.stdout
    assert "scikit-image/torn.jpg" in done.stdout
    assert "image file is truncated" in done.stdout
    return root


def fingerprint(image: torch.Tensor) -> bytes:
    return image.contiguous().numpy().tobytes()


def test_pairs_are_those_of_the_photographs(root, photographs):
    pairs = open_pairs(root)
    expected = {
        name_of(os.fspath(path.relative_to(photographs)))
        for path in photographs.rglob("*.*")
        if path.stem != "torn"
    }
    assert {Path(path).name for path in pairs.low} == {Path(path).name for path in pairs.high} == expected
    assert len(pairs) == len(expected) == 40
    assert pairs.skipped == ()


@pytest.mark.parametrize("workers", [0, 2])
def test_one_epoch_delivers_every_pair_once_and_each_low_is_darker(root, workers):
    dataset = PairImages(open_pairs(root), size=(64, 64))
    loader = tuned_loader(dataset, 7, workers=workers, shuffle=True)
    arrived: Counter[tuple[bytes, bytes]] = Counter()
    for low, high in loader:
        assert low.shape == high.shape
        assert low.shape[1:] == (3, 64, 64)
        assert low.dtype == high.dtype == torch.float32
        assert (low.mean(dim=(1, 2, 3)) < high.mean(dim=(1, 2, 3))).all()
        arrived.update((fingerprint(dark), fingerprint(lit)) for dark, lit in zip(low, high, strict=True))
    assert arrived == Counter((fingerprint(low), fingerprint(high)) for low, high in dataset)
    assert arrived.total() == 40


def test_folders_are_the_classes(root):
    labelled = open_labelled(root / "by_class")
    assert tuple(labelled.classes) == ("scikit-image", "scikit-learn")
    assert Counter(labelled.labels) == {0: 30, 1: 10}
