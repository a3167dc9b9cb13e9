"""Procedural, photo-like scenes: the ``high`` half of the generated pairs, with the scene kind as label.

One module a kind, shared strokes in ``paint``, materials in ``textures``, things in ``solids``,
``botany``, ``furniture``, ``facades`` and ``vehicles``, weather in ``sky``. A scene is a pure function
of its index and seed: no global state beyond caches of constants, so any number of workers, in any
order, makes the same pictures. Used by ``data_scripts.make_pairs`` (lessons 00 and 01).
"""

import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from data_scripts.opencv import in_this_thread
from data_scripts.scenes import (
    bookshelf,
    flowers,
    forest,
    harbour,
    landscape,
    living_room,
    still_life,
    street,
)

JPEG_QUALITY = 96
"""Where the scenes take 0.45 to 0.60 bytes a pixel, as photographs do (``benchmarks.photo_likeness``)."""

_PAINTERS: dict[str, Callable[[random.Random, int, int], np.ndarray]] = {
    "bookshelf": bookshelf.scene,
    "flowers": flowers.scene,
    "forest": forest.scene,
    "harbour": harbour.scene,
    "landscape": landscape.scene,
    "living_room": living_room.scene,
    "still_life": still_life.scene,
    "street": street.scene,
}

KINDS: tuple[str, ...] = tuple(_PAINTERS)
"""The scene kinds, sorted: the classes of the labelled view."""

# Longer side for shorter side, as in collections of web photographs: 4:3 and 3:2 most, then 16:9 and square.
_ASPECTS = (4 / 3, 4 / 3, 4 / 3, 4 / 3, 3 / 2, 3 / 2, 3 / 2, 16 / 9, 5 / 4, 1.0)
_PORTRAIT = 0.3  # share of upright pictures


@dataclass(frozen=True)
class Scene:
    """A rendered scene.

    Attributes:
        image: uint8, shape (H, W, 3), RGB; between 0.11 and 0.25 million pixels.
        kind: one of ``KINDS``.
    """

    image: np.ndarray
    kind: str


def kind_of(index: int, seed: int = 0) -> str:
    """Tell the kind of a scene without painting it.

    The kinds are shuffled block by block, so each run of ``len(KINDS)`` indices that starts at a
    multiple of ``len(KINDS)`` holds every kind once.

    Args:
        index: number of the scene, from 0.
        seed: number of the set, from 0.

    Returns:
        One of ``KINDS``.

    Raises:
        ValueError: index or seed is negative.
    """
    if index < 0 or seed < 0:
        raise ValueError(f"index and seed count from 0; got index {index} and seed {seed}")
    block, place = divmod(index, len(KINDS))
    return random.Random(f"kinds {seed} {block}").sample(KINDS, len(KINDS))[place]


def render(index: int, seed: int = 0) -> Scene:
    """Paint scene number ``index`` of the set ``seed``; the pictures of lessons 00 and 01.

    The same arguments give the same pixels in any process and any order. Across processor models
    single values may differ by a level, because vector units round differently.

    Args:
        index: number of the scene, from 0.
        seed: number of the set, from 0.

    Returns:
        The scene: its pixels and its kind.

    Raises:
        ValueError: index or seed is negative.
    """
    kind = kind_of(index, seed)
    dice = random.Random(f"scene {seed} {index}")
    width, height = _size(dice)
    with in_this_thread():
        return Scene(_PAINTERS[kind](dice, width, height), kind)


def _size(dice: random.Random) -> tuple[int, int]:
    """Choose width and height: most have 500 pixels on their longer side, as web photographs do."""
    aspect = dice.choice(_ASPECTS)
    longer = 500 if dice.random() < 0.6 else dice.randint(420, 600)
    area = min(max(longer * longer / aspect, 118_000), 240_000)
    sides = round((area * aspect) ** 0.5), round((area / aspect) ** 0.5)
    return sides[::-1] if dice.random() < _PORTRAIT else sides
