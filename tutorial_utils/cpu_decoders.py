"""PIL, OpenCV and torchvision: from a file to a tensor, each the fastest honest way it has.

Beneath ``cpu_loaders``; lesson 01 shows the three side by side. All apply the EXIF orientation (as DALI
does by default) and turn gray, CMYK, palette, alpha and 16-bit files into 8-bit RGB before they resize. The
pixels agree up to what the libraries' filters leave open (scale 0 to 255, photographs that shrink):

- ``pil``: bilinear with antialiasing (a triangle as wide as the shrinking factor); the reference.
- ``torchvision``: the same filter in other arithmetic, at most 1 level from PIL.
- ``opencv``: has no antialiased bilinear filter. ``INTER_AREA`` (the mean over each target pixel's own
  area) is its equal against aliasing, half as wide, so a little sharper: 0.6 to 1.7 levels from PIL in the
  mean at 192x192, up to 30 at hard edges. In a direction that grows, ``INTER_LINEAR`` does as the others.

torchvision decodes JPEG, PNG and WebP only; the other two also BMP, TIFF, JPEG 2000 and PNM. OpenCV is given
the file's bytes, because its ``imread`` delivers a truncated JPEG without a word, grey from the break on,
while its ``imdecode`` refuses it.
"""

import cv2
import numpy as np
import torch
from PIL import ExifTags, Image, ImageOps
from torchvision.io import ImageReadMode, decode_image, read_file
from torchvision.transforms.v2 import functional

Size = tuple[int, int]


class ImageFileError(RuntimeError):
    """A file that a loader's decoder refuses; the message names it. Shown in lesson 01."""


def load_image(path: str, size: Size, decoder: str) -> torch.Tensor:
    """Read, decode and resize one image; lesson 01 shows the three decoders side by side.

    Args:
        path: the file.
        size: (height, width) in pixels.
        decoder: a key of :data:`DECODERS`.

    Returns:
        A contiguous float32 tensor of shape (3, height, width), RGB from 0 to 1.

    Raises:
        ImageFileError: the file cannot be read or decoded; the message names it.
    """
    try:
        return DECODERS[decoder](path, size)
    except Exception as error:  # each library raises its own kinds, and none names the file reliably
        reason = " ".join(str(error).split())
        raise ImageFileError(
            f"{path}: {decoder} cannot load it ({reason}). open_pairs() and open_labelled() find such files "
            "before a loader runs."
        ) from error


def _load_pil(path: str, size: Size) -> torch.Tensor:
    with Image.open(path) as image:
        upright = _pil_rgb(ImageOps.exif_transpose(image))
    height, width = size
    pixels = np.array(upright.resize((width, height), Image.Resampling.BILINEAR))
    return _to_float(torch.from_numpy(pixels).permute(2, 0, 1))


def _pil_rgb(image: Image.Image) -> Image.Image:
    if image.mode.startswith("I;16"):  # convert() would clip 16-bit values at 255 instead of scaling them
        image = Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    return image.convert("RGB")


def _load_opencv(path: str, size: Size) -> torch.Tensor:
    image = cv2.imdecode(np.fromfile(path, np.uint8), cv2.IMREAD_COLOR_RGB)
    if image is None:
        raise ValueError("imdecode returns None")
    height, width = size
    shrunk = min(height, image.shape[0]), min(width, image.shape[1])
    if shrunk != image.shape[:2]:
        image = cv2.resize(image, shrunk[::-1], interpolation=cv2.INTER_AREA)
    if shrunk != size:
        image = cv2.resize(image, (width, height), interpolation=cv2.INTER_LINEAR)
    return _to_float(torch.from_numpy(image).permute(2, 0, 1))


def _load_torchvision(path: str, size: Size) -> torch.Tensor:
    data = read_file(path)
    if bytes(data[8:12]) == b"WEBP" and _orientation(path) != 1:
        raise ValueError(
            "torchvision does not turn WebP files by their EXIF orientation; use another decoder"
        )
    image = decode_image(data, ImageReadMode.RGB, apply_exif_orientation=True)
    if image.dtype != torch.uint8:  # a 16-bit PNG
        image = functional.to_dtype(image, torch.uint8, scale=True)
    # Resizing 8-bit pixels is the fast path: vectorised, and a quarter of the bytes of float32.
    return _to_float(functional.resize(image, list(size), antialias=True))


def _orientation(path: str) -> int:
    with Image.open(path) as image:
        return image.getexif().get(ExifTags.Base.Orientation, 1)


def _to_float(image: torch.Tensor) -> torch.Tensor:
    return image.contiguous().to(torch.float32).div_(255)


DECODERS = {"pil": _load_pil, "opencv": _load_opencv, "torchvision": _load_torchvision}
