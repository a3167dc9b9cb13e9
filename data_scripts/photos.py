"""One photograph of any make, read as 8-bit RGB or refused with the reason."""

import warnings
from contextlib import suppress
from pathlib import Path
from typing import IO

import numpy as np
from PIL import ExifTags, Image, ImageOps, UnidentifiedImageError

# Pillow reads more, but what starts another program (EPS) or holds no photographs stays out.
# `init` registers all formats of this build of Pillow; `open` would do so only after the commonest failed.
Image.init()
_PHOTOGRAPHIC = ("JPEG", "PNG", "GIF", "WEBP", "AVIF", "TIFF", "BMP", "DIB", "JPEG2000", "PPM")
FORMATS = tuple(name for name in _PHOTOGRAPHIC if name in Image.OPEN)
SMALLEST_SIDE = 32  # pixels; below it there is nothing to light or to crop
LARGEST = 2 * (Image.MAX_IMAGE_PIXELS or 89_478_485)  # pixels; where Pillow suspects a decompression bomb
WHITE = (255, 255, 255, 255)


class UnusableError(ValueError):
    """A file cannot become a pair; the message is the reason, for the closing table."""


def read(path: Path, max_side: int = 0) -> tuple[np.ndarray, tuple[str, ...]]:
    """Read a photograph, whatever its file calls itself, as what a training set holds.

    Grayscale, palette, CMYK and 16-bit pixels become 8-bit RGB, transparency is laid over white,
    the EXIF orientation is applied, and of an animation or a file of several pages the first
    image is taken. The file's content decides its format, not its name.

    Args:
        path: a regular file.
        max_side: a longer side is reduced to this many pixels; 0 keeps the size.

    Returns:
        The pixels, uint8 of shape (H, W, 3), and the names of the conversions applied.

    Raises:
        UnusableError: the file cannot be opened, is no image, is damaged, too small or too large.
    """
    try:
        with path.open("rb") as file, warnings.catch_warnings():
            # Photographs of 100 megapixels exist; the hard limit below them still holds.
            warnings.simplefilter("ignore")
            _refuse_what_is_no_image(file)
            with Image.open(file, formats=FORMATS) as image:
                return _convert(image, max_side)
    except UnusableError:
        raise
    except UnidentifiedImageError as error:
        raise UnusableError("no image, or one too damaged to tell its format") from error
    except Image.DecompressionBombError as error:
        raise UnusableError(
            f"claims more than {LARGEST / 1e6:.0f} megapixels (a decompression bomb?)"
        ) from error
    except OSError as error:
        raise UnusableError(
            f"cannot be read: {error.strerror}" if error.errno else f"damaged: {error}"
        ) from error
    except Exception as error:
        # Decoders meet damage with whatever breaks first: ValueError, SyntaxError, struct.error...
        raise UnusableError(f"damaged: {type(error).__name__}: {error}") from error


def _refuse_what_is_no_image(file: IO[bytes]) -> None:
    """Name the commonest impostors, where Pillow would only say that it knows no such format."""
    head = file.read(512)
    file.seek(0)
    if not head:
        raise UnusableError("empty file (0 bytes)")
    if head.lstrip().lower().startswith((b"<!doctype html", b"<html")):
        raise UnusableError("an HTML page, not an image (a download that met an error page?)")
    if head[4:8] == b"ftyp" and head[8:12] in (b"heic", b"heix", b"hevc", b"heim", b"mif1"):
        raise UnusableError("HEIC, which Pillow does not read: convert it to JPEG first (heif-convert)")


def _convert(image: Image.Image, max_side: int) -> tuple[np.ndarray, tuple[str, ...]]:
    several = getattr(image, "n_frames", 1) > 1 and image.format != "MPO"
    size = image.size
    if max_side:
        # A JPEG can be decoded at 1/2, 1/4 or 1/8; twice the final size keeps the reduction clean.
        scale = 2 * max_side / max(size)
        image.draft(None, (max(1, int(size[0] * scale)), max(1, int(size[1] * scale))))
    turned = _is_turned(image)  # asked twice: a TIFF is turned by `load`, a PNG may say so behind its pixels
    image.load()
    turned = turned or _is_turned(image)
    _turn_upright(image)
    image, converted = _to_rgb(image)
    reduced = max_side and max(size) > max_side
    if reduced:
        image.thumbnail((max_side, max_side), Image.Resampling.LANCZOS)
    if min(image.size) < SMALLEST_SIDE:
        raise UnusableError(
            f"{size[0]} x {size[1]} pixels: too small or too narrow (at least {SMALLEST_SIDE} a side)"
        )
    notes = {"first image of several": several, "turned upright by EXIF": turned, "reduced": reduced}
    return np.asarray(image), (*filter(None, [converted]), *(note for note, holds in notes.items() if holds))


def _to_rgb(image: Image.Image) -> tuple[Image.Image, str]:
    if image.mode.startswith("I") or image.mode == "F":
        return Image.fromarray(_to_8_bit(image)).convert("RGB"), "16 bits or more"
    if image.has_transparency_data:
        image = image.convert("RGBA")
        opaque = image.getextrema()[3][0] == 255
        return Image.alpha_composite(Image.new("RGBA", image.size, WHITE), image).convert("RGB"), (
            "" if opaque else "transparency over white"
        )
    note = {"L": "grayscale", "1": "black and white", "P": "palette", "CMYK": "CMYK"}.get(image.mode, "")
    return image.convert("RGB"), note


def _to_8_bit(image: Image.Image) -> np.ndarray:
    """Scale deep grayscale pixels to uint8: integers from 0..65535, floats from 0..1.

    Pillow's own conversion cuts everything above 255 off, a white picture.
    """
    pixels = np.asarray(image)
    top = 1.0 if image.mode == "F" else 65535.0
    if not (np.isfinite(pixels).all() and pixels.min() >= 0 and pixels.max() <= top):
        raise UnusableError(f"pixel values outside 0..{top:g}: measurements, not a photograph")
    return np.round(pixels * (255.0 / top)).astype(np.uint8)


def _is_turned(image: Image.Image) -> bool:
    try:
        return image.getexif().get(ExifTags.Base.Orientation, 1) in range(2, 9)
    except Exception:
        return False  # a broken EXIF block is no reason to lose a good picture


def _turn_upright(image: Image.Image) -> None:
    """Turn the picture in place as its EXIF orientation says, unless the EXIF block cannot be read."""
    with suppress(Exception):
        ImageOps.exif_transpose(image, in_place=True)
