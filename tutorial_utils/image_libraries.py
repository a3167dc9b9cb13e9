"""One step by each library: a file decoded, or pixels resized, by DALI, torchvision and Pillow.

The parity laboratory of lesson 03 puts their results side by side; see ``tutorial_utils.parity``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
import torch
from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.pipeline import DataNode
from PIL import Image, UnidentifiedImageError
from torchvision.io import ImageReadMode, decode_image
from torchvision.transforms.v2 import InterpolationMode
from torchvision.transforms.v2 import functional as transforms

from tutorial_utils.placement import Placement

DALI_FILTERS = {
    "linear": types.INTERP_LINEAR,
    "triangular": types.INTERP_TRIANGULAR,
    "nearest": types.INTERP_NN,
    "cubic": types.INTERP_CUBIC,
    "lanczos": types.INTERP_LANCZOS3,
}
TORCHVISION_FILTERS = {
    "linear": InterpolationMode.BILINEAR,
    "nearest": InterpolationMode.NEAREST,
    "nearest-exact": InterpolationMode.NEAREST_EXACT,
    "cubic": InterpolationMode.BICUBIC,
}
PIL_FILTERS = {
    "linear": Image.Resampling.BILINEAR,
    "nearest": Image.Resampling.NEAREST,
    "cubic": Image.Resampling.BICUBIC,
    "lanczos": Image.Resampling.LANCZOS,
}
FILTERS = {"DALI": DALI_FILTERS, "torchvision": TORCHVISION_FILTERS, "PIL": PIL_FILTERS}


class CannotDecodeError(RuntimeError):
    """A library cannot decode a file; the message says which, which file, and why.

    Attributes:
        library: ``DALI``, ``torchvision`` or ``PIL``.
        reason: what the library said.
    """

    def __init__(self, library: str, file: Path | str, reason: str) -> None:
        super().__init__(f"{library} cannot decode {file}: {reason}")
        self.library = library
        self.reason = reason


def decode_with_dali(
    file: Path | str, placement: Placement, *, adjust_orientation: bool = True
) -> np.ndarray:
    """Decode a file as a DALI pipeline does.

    Args:
        file: an image of any format that DALI knows, of any colour space and 8 or 16 bits.
        placement: on a GPU the ``mixed`` decoder is used, else the one on the CPU.
        adjust_orientation: turn the picture upright as its EXIF data says; DALI's default.

    Returns:
        uint8 (H, W, 3), RGB.

    Raises:
        OSError: the file cannot be read.
        CannotDecodeError: DALI cannot decode it.
    """
    encoded = _encoded(file)
    try:
        return _run(_decode_pipeline, placement, encoded, placement.decoder_device, adjust_orientation)
    except RuntimeError as error:
        # DALI wraps its reason in a traceback above and a remark on the pipeline below.
        reason = str(error).partition("encountered:")[2].strip() or str(error)
        raise CannotDecodeError("DALI", file, reason.splitlines()[0]) from error


def decode_with_pil(file: Path | str) -> np.ndarray:
    """Decode a file as a loader built on Pillow does: ``Image.open(file).convert("RGB")``, on the CPU.

    EXIF orientation is not applied, and a gray image of 16 bits is cut off at white, not scaled.

    Returns:
        uint8 (H, W, 3), RGB.

    Raises:
        OSError: the file cannot be read.
        CannotDecodeError: Pillow cannot decode it.
    """
    encoded = BytesIO(Path(file).read_bytes())
    try:
        with Image.open(encoded) as image:
            return np.array(image.convert("RGB"))
    except (OSError, SyntaxError, ValueError) as error:  # what its readers of various formats raise
        reason = "unknown format" if isinstance(error, UnidentifiedImageError) else str(error)
        raise CannotDecodeError("PIL", file, reason) from error


def decode_with_torchvision(file: Path | str) -> np.ndarray:
    """Decode a file as torchvision does: ``decode_image(file, mode="RGB")``, on the CPU.

    EXIF orientation is not applied; 16 bits a value are scaled to 8.

    Returns:
        uint8 (H, W, 3), RGB.

    Raises:
        OSError: the file cannot be read.
        CannotDecodeError: torchvision cannot decode it; it knows JPEG, PNG, WebP and GIF.
    """
    encoded = torch.from_numpy(_encoded(file))
    try:
        image = decode_image(encoded, mode=ImageReadMode.RGB)
    except RuntimeError as error:
        raise CannotDecodeError("torchvision", file, str(error).partition(". ")[0]) from error
    return transforms.to_dtype(image, torch.uint8, scale=True).permute(1, 2, 0).numpy()


REFERENCE_DECODERS = {"torchvision": decode_with_torchvision, "PIL": decode_with_pil}


@dataclass(frozen=True)
class Resizing:
    """One way to resize: whose, by which filter, antialiased or not.

    Attributes:
        library: ``DALI``, ``torchvision`` or ``PIL``.
        filter: a key of ``FILTERS[library]``.
        antialias: whether the filter is widened when it makes an image smaller. Pillow always does,
            except for ``nearest``, which nobody can widen.

    Raises:
        ValueError: a library, filter or combination that does not exist.
    """

    library: str
    filter: str = "linear"
    antialias: bool = True

    def __post_init__(self) -> None:
        if self.library not in FILTERS:
            raise ValueError(f"library={self.library!r}: choose one of {', '.join(FILTERS)}")
        if self.filter not in FILTERS[self.library]:
            allowed = ", ".join(FILTERS[self.library])
            raise ValueError(f"filter={self.filter!r}: {self.library} resizes images by {allowed}")
        if self.library == "PIL" and not self.antialias and self.filter != "nearest":
            raise ValueError("antialias=False: Pillow cannot leave it off; choose DALI or torchvision")

    def __str__(self) -> str:
        if self.filter.startswith("nearest"):
            return f"{self.library} {self.filter}"
        return f"{self.library} {self.filter}, {'antialias' if self.antialias else 'no antialias'}"

    def __call__(self, pixels: np.ndarray, size: tuple[int, int], placement: Placement) -> np.ndarray:
        """Resize a picture.

        Args:
            pixels: uint8 (H, W, 3), RGB.
            size: height and width to come out.
            placement: where DALI works; the others work on the CPU.

        Returns:
            uint8 (*size, 3), RGB.

        Raises:
            TypeError: the pixels are not uint8.
            ValueError: they are not (H, W, 3), or the size is not two positive integers.
        """
        check_pixels(pixels)
        if len(size) != 2 or not all(isinstance(side, int) and side > 0 for side in size):
            raise ValueError(f"size={size!r}: give height and width as two integers of at least 1")
        known = FILTERS[self.library][self.filter]
        if self.library == "PIL":
            return np.array(Image.fromarray(pixels).resize((size[1], size[0]), known))
        if self.library == "torchvision":
            image = torch.tensor(pixels).permute(2, 0, 1)
            resized = transforms.resize(image, list(size), known, antialias=self.antialias)
            return resized.permute(1, 2, 0).numpy()
        return _run(
            _resize_pipeline, placement, pixels, size, placement.operator_device, known, self.antialias
        )


def check_pixels(pixels: np.ndarray) -> None:
    """Refuse what is not a decoded RGB image: TypeError unless uint8, ValueError unless (H, W, 3)."""
    if pixels.dtype != np.uint8:
        raise TypeError(f"pixels must be uint8, got {pixels.dtype}; decode without scaling to 0..1")
    if pixels.ndim != 3 or pixels.shape[2] != 3 or 0 in pixels.shape:
        raise ValueError(f"pixels must be RGB of shape (H, W, 3), got {pixels.shape}")


def _encoded(file: Path | str) -> np.ndarray:
    return np.frombuffer(bytearray(Path(file).read_bytes()), np.uint8)


@pipeline_def(batch_size=1, num_threads=1)
def _decode_pipeline(encoded: np.ndarray, device: str, adjust_orientation: bool) -> DataNode:
    source = fn.external_source(source=lambda: [encoded], name="encoded")
    images = fn.decoders.image(
        source, device=device, output_type=types.RGB, adjust_orientation=adjust_orientation
    )
    return images.cpu()


@pipeline_def(batch_size=1, num_threads=1)
def _resize_pipeline(
    pixels: np.ndarray,
    size: tuple[int, int],
    device: str,
    interpolation: types.DALIInterpType,
    antialias: bool,
) -> DataNode:
    source = fn.external_source(source=lambda: [pixels], layout="HWC")
    source = source.gpu() if device == "gpu" else source
    return fn.resize(source, size=size, interp_type=interpolation, antialias=antialias).cpu()


def _run(pipeline: Callable, placement: Placement, *arguments: object) -> np.ndarray:
    (batch,) = pipeline(*arguments, device_id=placement.dali_device_id).run()
    return np.array(batch.at(0))
