"""One generated pair: a scene and its low-light twin, as JPEG files."""

from dataclasses import dataclass
from pathlib import Path

from data_scripts import jpeg
from data_scripts.low_light import darken
from data_scripts.pair_folder import SUFFIX, PairFolder
from data_scripts.scenes import JPEG_QUALITY, render

# Raise it when `render`, `darken` or `jpeg.encode` change what they make: a set that an older
# version began is then refused instead of completed with other pictures.
VERSION = 1
DIGITS = 6  # of a name, the same at every scale, so that a smoke set can grow into a larger one


@dataclass(frozen=True)
class Stretch:
    """A stretch of pairs to make: the task of one worker.

    Attributes:
        root: the folder of the set.
        indices: the numbers of the pairs.
        seed: the seed of the set.
    """

    root: Path
    indices: tuple[int, ...]
    seed: int


def name_of(index: int) -> str:
    """Name the files of a pair, zero-padded so that names sort as numbers do."""
    return f"{index:0{DIGITS}d}{SUFFIX}"


def make(task: Stretch) -> int:
    """Render, darken, encode and write a stretch of pairs.

    Every pair depends on the seed and its own number alone, so who makes it, and when, is the same.

    Returns:
        How many pairs were written.

    Raises:
        OSError: a write failed; the pairs before it are whole, nothing of it is left.
    """
    folder = PairFolder(task.root)
    for index in task.indices:
        scene = render(index, task.seed)
        low = darken(scene.image, (task.seed, index))
        folder.write(
            name_of(index),
            scene.kind,
            low=jpeg.encode(low, JPEG_QUALITY),
            high=jpeg.encode(scene.image, JPEG_QUALITY),
        )
    return len(task.indices)
