"""Pictures to write in any format, and what a set made of them holds; shared by the tests of photographs."""

import struct
import zlib
from pathlib import Path

import numpy as np
from PIL import Image

from data_scripts.photo_pairs import make_photo_set, name_of
from data_scripts.report import Report

HEIGHT, WIDTH = 96, 128


def scene() -> np.ndarray:
    """Paint a smooth picture without any symmetry, uint8 (96, 128, 3), that JPEG hardly changes."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    return np.stack([60 + x, 40 + 1.5 * y, 200 - 0.5 * x - 0.8 * y], axis=-1).astype(np.uint8)


def picture() -> Image.Image:
    return Image.fromarray(scene())


def gray() -> np.ndarray:
    return np.asarray(picture().convert("L"))


def make(folder: Path, root: Path, **options) -> Report:
    return make_photo_set(folder, root, workers=1, progress=False, **options)


def high_of(report: Report, photo: str) -> np.ndarray:
    """Read the well-lit image of a photograph; its low-light twin must be there and darker."""
    name = name_of(photo)
    with Image.open(report.root / "high" / name) as high, Image.open(report.root / "low" / name) as low:
        assert (high.format, high.mode, low.format, low.mode) == ("JPEG", "RGB", "JPEG", "RGB")
        assert high.size == low.size
        assert np.asarray(low).mean() < np.asarray(high).mean()
        return np.asarray(high).astype(int)


def as_rgb(pixels: np.ndarray) -> np.ndarray:
    return np.repeat(pixels[..., None], 3, axis=-1) if pixels.ndim == 2 else pixels


def png_of(width: int, height: int, bits: int, kind: int, rows: bytes) -> bytes:
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, bits, kind, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )
