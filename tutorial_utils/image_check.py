"""Is an encoded image sound? Verdicts that never let through what DALI refuses.

One undecodable file ends a DALI pipeline for good, so a file is decoded in full before it is let into
a list; the header alone proves nothing. Every image passed here decodes with DALI 2.4, with Pillow and
with OpenCV (``tests/test_scan.py`` holds the three against each other over a zoo of damaged files).
Refused besides: files that DALI decodes without a word but whose picture is visibly damaged, where
Pillow notices. No decoder notices every flipped bit: a JPEG carries no checksum.
Beneath ``scan``; used from lesson 00 on.
"""

import io

import cv2
import numpy as np
from PIL import ExifTags, Image, UnidentifiedImageError

CONVERT = "convert it to JPEG or PNG, or move it out of the folder"
REPLACE = "fetch or make it again, or delete it (of a pair, both files)"

# Formats that DALI 2.4 decodes (lower-case words for people; keys as Pillow names them).
SUPPORTED = ("JPEG", "MPO", "PNG", "WEBP", "BMP", "TIFF", "JPEG2000", "PPM")
# What DALI turns into RGB; Pillow also reads floating point, 32-bit integers and CIELAB.
_MODES = ("1", "L", "LA", "P", "PA", "RGB", "RGBA", "CMYK", "YCbCr", "I;16", "I;16B")
_SIDEWAYS = (5, 6, 7, 8)  # EXIF orientations that swap height and width


class ImageDefectError(ValueError):
    """An image that would end a pipeline.

    Attributes:
        reason: what is wrong, in words.
        remedy: what to do about it.
    """

    def __init__(self, reason: str, remedy: str = REPLACE):
        super().__init__(f"{reason}; {remedy}")
        self.reason = reason
        self.remedy = remedy


def check_image(data: bytes) -> tuple[int, int]:
    """Decode an image in full and say how large it is; used by the scan of lesson 00.

    Args:
        data: the whole file.

    Returns:
        (height, width) in pixels as shown, that is after the EXIF orientation is applied, which is
        what DALI delivers.

    Raises:
        ImageDefectError: DALI would refuse the file, or Pillow or OpenCV would.
    """
    if not data:
        raise ImageDefectError("empty file, 0 bytes")
    image = _open(data)
    if image.format in ("JPEG", "MPO"):
        _check_jpeg_structure(data)
        size = _shown_size(image)
        image.draft("L", (1, 1))  # all entropy-coded data is still read; only the transform is skipped
    else:
        size = _shown_size(image)
    try:
        image.load()
    except Exception as error:  # Pillow's decoders raise OSError, SyntaxError, struct.error, IndexError ...
        raise ImageDefectError(f"damaged {image.format} file: {error}") from error
    if image.format not in ("JPEG", "MPO"):
        _check_with_opencv(data, image.format)
    return size


def _open(data: bytes) -> Image.Image:
    try:
        image = Image.open(io.BytesIO(data))
    except UnidentifiedImageError as error:
        raise _unidentified(data) from error
    except Image.DecompressionBombError as error:
        raise ImageDefectError(f"its header claims an absurd size: {error}") from error
    except Exception as error:  # a damaged header
        raise ImageDefectError(f"damaged header: {error}") from error
    if image.format not in SUPPORTED:
        raise ImageDefectError(f"{image.format} image, a format that DALI does not decode", CONVERT)
    if image.mode not in _MODES:
        raise ImageDefectError(f"pixels of mode {image.mode!r}, which do not become RGB", CONVERT)
    if image.format == "TIFF" and image.mode == "1":
        raise ImageDefectError("TIFF with 1 bit a pixel, which DALI does not decode", CONVERT)
    return image


def _unidentified(data: bytes) -> ImageDefectError:
    start = data[:512].lstrip().lower()
    if start.startswith((b"<!doctype html", b"<html", b"<head", b"<?xml", b"<body")):
        return ImageDefectError("a web page under an image's name, often a download that failed")
    if not any(data):
        return ImageDefectError("nothing but zero bytes, often a copy that was cut short")
    if data.startswith(b"\xff\xd8"):
        return ImageDefectError("JPEG with a damaged or incomplete header, or without any pixels")
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return ImageDefectError("PNG with a damaged or incomplete header, or without any pixels")
    return ImageDefectError("no image format that can be recognised", CONVERT)


def _shown_size(image: Image.Image) -> tuple[int, int]:
    width, height = image.size
    if image.format != "TIFF" and _orientation(image) in _SIDEWAYS:  # Pillow turns TIFF files itself
        width, height = height, width
    return height, width


def _orientation(image: Image.Image) -> int:
    if "exif" not in image.info:
        return 1
    try:
        return image.getexif().get(ExifTags.Base.Orientation, 1)
    except Exception:  # damaged EXIF data is ignored by every decoder
        return 1


def _check_jpeg_structure(data: bytes) -> None:
    """Walk the segments up to the first scan as DALI's parser does, then look for the end marker.

    Pillow and OpenCV skip stray bytes between segments, DALI does not. A file whose end was lost and
    filled with zeros decodes everywhere but in torchvision: grey from there on, and no end marker.
    """
    position = 2
    while True:
        if data[position : position + 1] != b"\xff":
            raise ImageDefectError(
                f"damaged JPEG header: stray byte at offset {position} between two segments"
            )
        while data[position : position + 1] == b"\xff":  # a marker may be preceded by any number of these
            position += 1
        marker = data[position : position + 1]
        length = int.from_bytes(data[position + 1 : position + 3], "big")
        if length < 2 or position + 1 + length > len(data):
            raise ImageDefectError(f"damaged JPEG header: impossible segment length at offset {position + 1}")
        position += 1 + length
        if marker == b"\xda":  # start of scan: entropy-coded data follows
            break
    if data.rfind(b"\xff\xd9", position) < 0:
        raise ImageDefectError("truncated JPEG: the end-of-image marker is missing")


def _check_with_opencv(data: bytes, kind: str) -> None:
    """Ask for a second opinion: OpenCV checks what Pillow skips, such as checksums and end of a PNG."""
    try:
        decoded = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    except cv2.error as error:
        raise ImageDefectError(f"damaged {kind} file: {error.err}") from error
    if decoded is None:
        raise ImageDefectError(f"damaged or incomplete {kind} file: OpenCV refuses it, as DALI does")
