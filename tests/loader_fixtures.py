"""Pairs of tiny images whose pixels say which pair they belong to, so that contents prove the pairing."""

from pathlib import Path

import cv2
import numpy as np
import torch

from tutorial_utils.data import Labelled, Pairs

SIDE = 8  # pixels of the plain images; big enough for every operator, small enough for hundreds of epochs
_LEVELS = 7  # a digit of the number is one of this many levels of a channel, 36 apart


def colour_of(number: int) -> tuple[int, int, int]:
    """Encode a number below 343 as the colour of a whole image; survives JPEG, resizing and any crop."""
    return tuple(20 + 36 * (number // _LEVELS**digit % _LEVELS) for digit in range(3))


def numbers_in(images: torch.Tensor) -> list[int]:
    """Read the numbers from a batch (B, 3, H, W) of values from 0 to 1."""
    means = images.float().mean(dim=(2, 3)) * 255
    digits = ((means - 20) / 36).round()
    assert (means - 20 - 36 * digits).abs().max() < 8, "colours lie between the levels"
    return (digits @ torch.tensor([1.0, _LEVELS, _LEVELS**2])).int().tolist()


def write_pairs(
    root: Path, count: int, *, size: tuple[int, int] = (SIDE, SIDE), suffix: str = ".jpg"
) -> Pairs:
    """Write pairs whose two images both have the number of the pair as their colour."""
    for folder in ("low", "high"):
        (root / folder).mkdir(parents=True)
        for number in range(count):
            image = np.full((*size, 3), colour_of(number)[::-1], np.uint8)
            assert cv2.imwrite(str(root / folder / f"{number:05d}{suffix}"), image)
    return listed(root, count, suffix)


def listed(root: Path, count: int, suffix: str = ".jpg") -> Pairs:
    """List the pairs as `open_pairs` does, without its scan."""
    names = tuple(f"{number:05d}" for number in range(count))
    low, high = ([root / folder / f"{name}{suffix}" for name in names] for folder in ("low", "high"))
    sizes = tuple((a.stat().st_size, b.stat().st_size) for a, b in zip(low, high, strict=True))
    return Pairs(root, names, tuple(map(str, low)), tuple(map(str, high)), sizes)


def as_labelled(pairs: Pairs) -> Labelled:
    """View the well-lit images as a labelled set in which each image has its number as its class."""
    sizes = tuple(high for _, high in pairs.sizes)
    return Labelled(pairs.root, pairs.high, tuple(range(len(pairs))), pairs.names, sizes)
