"""One picture in every file format, colour space and orientation that the loaders must cope with.

Each file is written by Pillow or OpenCV, never by DALI, so that a decoder meets what others made.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from PIL import Image
from skimage import data

ORIENTATION_TAG = 0x0112
# What to do to an upright picture before writing it with that EXIF orientation (EXIF 2.32, tag 274).
STORED = {
    1: lambda upright: upright,
    2: lambda upright: upright[:, ::-1],
    3: lambda upright: upright[::-1, ::-1],
    4: lambda upright: upright[::-1],
    5: lambda upright: upright.swapaxes(0, 1),
    6: lambda upright: np.rot90(upright, 1),
    7: lambda upright: upright.swapaxes(0, 1)[::-1, ::-1],
    8: lambda upright: np.rot90(upright, -1),
}


@dataclass(frozen=True)
class Specimen:
    """A file of the zoo and what a decoder should find in it.

    Attributes:
        name: name of the file, unique.
        family: ``jpeg``, ``png``, ``webp``, ``bmp``, ``tiff``, ``jpeg2000`` or ``ppm``.
        write: writes the upright picture, uint8 (H, W, 3), to the path given.
        truth: the 8-bit RGB pixels, upright, that a lossless file stands for; None if it is lossy.
        orientation: EXIF orientation of the file, 1 to 8; None if it has no EXIF data.
        high_depth: whether it has 16 bits a value, which decoders round to 8 differently.
    """

    name: str
    family: str
    write: Callable[[np.ndarray, Path], None]
    truth: Callable[[np.ndarray], np.ndarray] | None = None
    orientation: int | None = None
    high_depth: bool = False


def picture() -> np.ndarray:
    """Give a photograph, uint8 (300, 451, 3), whose odd width leaves half a chroma sample and JPEG block."""
    return data.chelsea()


def gray(upright: np.ndarray) -> np.ndarray:
    """Give the gray of a picture, by ITU-R 601 as Pillow computes it: uint8 (H, W, 3) of equal values."""
    return np.repeat(np.array(Image.fromarray(upright).convert("L"))[..., None], 3, axis=2)


def write_zoo(folder: Path) -> dict[str, Path]:
    """Write every specimen into the folder; gives the path of each by its name."""
    upright = picture()
    for specimen in SPECIMENS:
        specimen.write(upright, folder / specimen.name)
    return {specimen.name: folder / specimen.name for specimen in SPECIMENS}


def _pil(mode: str = "RGB", **options: object) -> Callable[[np.ndarray, Path], None]:
    return lambda upright, path: Image.fromarray(upright).convert(mode).save(path, **options)


def _exif(orientation: int, **options: object) -> Callable[[np.ndarray, Path], None]:
    def write(upright: np.ndarray, path: Path) -> None:
        exif = Image.Exif()
        exif[ORIENTATION_TAG] = orientation
        stored = np.ascontiguousarray(STORED[orientation](upright))
        Image.fromarray(stored).save(path, exif=exif, **options)

    return write


def _opencv(sampling: int) -> Callable[[np.ndarray, Path], None]:
    def write(upright: np.ndarray, path: Path) -> None:
        cv2.imwrite(str(path), upright[..., ::-1], [cv2.IMWRITE_JPEG_SAMPLING_FACTOR, sampling])

    return write


def _with_alpha(mode: str, **options: object) -> Callable[[np.ndarray, Path], None]:
    """Write with an alpha channel that a decoder to RGB must ignore, not blend."""

    def write(upright: np.ndarray, path: Path) -> None:
        alpha = np.tile(np.linspace(0, 255, upright.shape[1]).astype(np.uint8), (upright.shape[0], 1))
        image = Image.fromarray(upright)
        image.putalpha(Image.fromarray(alpha))
        image.convert(mode).save(path, **options)

    return write


def sixteen_bits(upright: np.ndarray) -> np.ndarray:
    """Give the picture in 16 bits a value, uint16 (H, W, 3): the lower byte is noise, not a copy."""
    noise = np.random.default_rng(0).integers(0, 256, upright.shape, np.uint16)
    return upright.astype(np.uint16) * 256 + noise


def _write_sixteen_bits(channels: int) -> Callable[[np.ndarray, Path], None]:
    def write(upright: np.ndarray, path: Path) -> None:
        values = sixteen_bits(upright)[..., ::-1]
        cv2.imwrite(str(path), values if channels == 3 else values[..., -1])

    return write


def _eight_bits(upright: np.ndarray) -> np.ndarray:
    return np.round(sixteen_bits(upright) / 257).astype(np.uint8)


def _eight_bits_gray(upright: np.ndarray) -> np.ndarray:
    return np.repeat(_eight_bits(upright)[..., :1], 3, axis=2)


def _same(upright: np.ndarray) -> np.ndarray:
    return upright


def _palette(upright: np.ndarray) -> np.ndarray:
    return np.array(_quantised(upright).convert("RGB"))


def _quantised(upright: np.ndarray) -> Image.Image:
    return Image.fromarray(upright).quantize(64)


def _write_palette(upright: np.ndarray, path: Path) -> None:
    _quantised(upright).save(path)


def _black_and_white(upright: np.ndarray) -> np.ndarray:
    return np.array(Image.fromarray(upright).convert("1").convert("RGB"))


def _specimens() -> Iterator[Specimen]:
    jpeg = {
        "baseline": _pil(quality=95),
        "coarse": _pil(quality=20),
        "progressive": _pil(quality=95, progressive=True),
        "444": _pil(quality=95, subsampling="4:4:4"),
        "422": _pil(quality=95, subsampling="4:2:2"),
        "420": _pil(quality=95, subsampling="4:2:0"),
        "440": _opencv(cv2.IMWRITE_JPEG_SAMPLING_FACTOR_440),
        "411": _opencv(cv2.IMWRITE_JPEG_SAMPLING_FACTOR_411),
        "gray": _pil("L", quality=95),
        "cmyk": _pil("CMYK", quality=95),
        "restart_markers": _pil(quality=95, restart_marker_blocks=4),
    }
    for name, write in jpeg.items():
        yield Specimen(f"{name}.jpg", "jpeg", write)
    for orientation in STORED:
        yield Specimen(
            f"exif_{orientation}.jpg", "jpeg", _exif(orientation, quality=95), orientation=orientation
        )
        yield Specimen(f"exif_{orientation}.png", "png", _exif(orientation), _same, orientation)
    yield Specimen("rgb.png", "png", _pil(), _same)
    yield Specimen("rgba.png", "png", _with_alpha("RGBA"), _same)
    yield Specimen("palette.png", "png", _write_palette, _palette)
    yield Specimen("gray.png", "png", _pil("L"), gray)
    yield Specimen("gray_alpha.png", "png", _with_alpha("LA"), gray)
    yield Specimen("black_and_white.png", "png", _pil("1"), _black_and_white)
    yield Specimen("rgb_16.png", "png", _write_sixteen_bits(3), _eight_bits, high_depth=True)
    yield Specimen("gray_16.png", "png", _write_sixteen_bits(1), _eight_bits_gray, high_depth=True)
    yield Specimen("lossy.webp", "webp", _pil(quality=90))
    yield Specimen("lossless.webp", "webp", _pil(lossless=True), _same)
    yield Specimen("rgba.webp", "webp", _with_alpha("RGBA", lossless=True, exact=True), _same)
    yield Specimen("rgb.bmp", "bmp", _pil(), _same)
    yield Specimen("gray.bmp", "bmp", _pil("L"), gray)
    yield Specimen("palette.bmp", "bmp", _write_palette, _palette)
    yield Specimen("raw.tif", "tiff", _pil(), _same)
    yield Specimen("lzw.tif", "tiff", _pil(compression="tiff_lzw"), _same)
    yield Specimen("gray.tif", "tiff", _pil("L"), gray)
    yield Specimen("lossless.jp2", "jpeg2000", _pil(), _same)
    yield Specimen("lossy.jp2", "jpeg2000", _pil(irreversible=True, quality_mode="dB", quality_layers=[40]))
    yield Specimen("rgb.ppm", "ppm", _pil(), _same)
    yield Specimen("gray.pgm", "ppm", _pil("L"), gray)


SPECIMENS = tuple(_specimens())
