"""Shared fixtures: a tiny set of pairs whose images carry their own number."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

TINY_PAIRS = 24
TINY_CLASSES = ("beach", "forest", "street")
_BITS = 8
_ROWS, _COLUMNS = 3, 4  # eight bits, and a bright and a dark field that give the threshold, twice each


def number_image(number: int, height: int, width: int, brightness: float = 1.0) -> Image.Image:
    """Draw a number below 256 as twelve large fields that survive JPEG, darkening and resizing."""
    bits = [number >> bit & 1 for bit in range(_BITS)]
    fields = np.array([1, 0, *bits, 0, 1], float).reshape(_ROWS, _COLUMNS)
    rows = np.arange(height) * _ROWS // height
    columns = np.arange(width) * _COLUMNS // width
    gray = (40 + 180 * fields[rows][:, columns]) * brightness
    tinted = gray[..., None] * np.array([1.0, 0.9, 0.8])  # red > green > blue, so that swapped channels show
    return Image.fromarray(tinted.astype(np.uint8))


def read_number(image) -> int:
    """Read the number of an image: any array or tensor of shape (3, H, W) or (H, W, 3), any scale."""
    pixels = np.asarray(image, float)
    if pixels.shape[-1] != 3:
        pixels = np.moveaxis(pixels, 0, -1)
    height, width = pixels.shape[:2]
    rows = (2 * np.arange(_ROWS) + 1) * height // (2 * _ROWS)
    columns = (2 * np.arange(_COLUMNS) + 1) * width // (2 * _COLUMNS)
    fields = pixels.mean(axis=-1)[rows][:, columns].ravel()
    bright, dark = fields[[0, -1]].min(), fields[[1, -2]].max()
    assert bright > 1.5 * dark + 1e-6, "this image carries no number"
    bits = fields[2:-2] > (bright + dark) / 2
    return sum(int(bit) << position for position, bit in enumerate(bits))


def make_tiny_pairs(root: Path, count: int = TINY_PAIRS) -> Path:
    """Make pairs of varied sizes: number N in low/N.jpg and high/N.jpg, and by_class/KIND/N.jpg."""
    for folder in ("low", "high", *(f"by_class/{kind}" for kind in TINY_CLASSES)):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for number in range(count):
        name = f"{number:04d}.jpg"
        height, width = 48 + 8 * (number % 3), 64 - 12 * (number % 4)
        number_image(number, height, width).save(root / "high" / name, quality=95)
        number_image(number, height, width, brightness=0.3).save(root / "low" / name, quality=95)
        link = root / "by_class" / TINY_CLASSES[number % len(TINY_CLASSES)] / name
        link.symlink_to(f"../../high/{name}")
    return root


@pytest.fixture(scope="session")
def tiny_pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of 24 pairs with low/, high/ and by_class/KIND/ in it; for reading only."""
    return make_tiny_pairs(tmp_path_factory.mktemp("tiny") / "pairs")


@pytest.fixture
def own_pairs(tiny_pairs: Path, tmp_path: Path) -> Path:
    """Copy ``tiny_pairs`` for a test that damages it."""
    return Path(shutil.copytree(tiny_pairs, tmp_path / "pairs", symlinks=True))


@pytest.fixture
def number_of() -> Callable[[object], int]:
    """Give the function that reads an image's number; see :func:`read_number`."""
    return read_number


@pytest.fixture
def draw_number() -> Callable[..., Image.Image]:
    """Give the function that draws an image with a number; see :func:`number_image`."""
    return number_image


@pytest.fixture
def private_places(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep a test out of the user's cache folder, and away from a user's own data and choice of scale."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    for variable in ("TUTORIAL_DATA", "TUTORIAL_SCALE"):
        monkeypatch.delenv(variable, raising=False)
