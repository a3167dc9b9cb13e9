"""torchvision in a ``DataLoader`` whose workers ship bytes: a quarter of what float32 images take.

A competitor of ``benchmarks.images``, tuned one step further than the loaders of lesson 01: batches travel
from the workers and onto the device as uint8, and become float32 there, a whole batch at once.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.utils.data import Dataset
from torchvision.io import ImageReadMode, decode_image, read_file
from torchvision.transforms.v2 import functional

from tutorial_utils.cpu_loaders import to_device, tuned_loader
from tutorial_utils.placement import Placement


class Uint8Images(Dataset):
    """Sample ``i``: image ``i`` of each column, uint8 (3, height, width), and number ``i`` if wanted."""

    def __init__(
        self, *columns: Sequence[str], size: tuple[int, int], numbers: Sequence[int] | None = None
    ) -> None:
        """Keep the lists.

        Args:
            columns: the files, such as all low and all high ones; equally many in each.
            size: (height, width) in pixels.
            numbers: the classes, where they are wanted.
        """
        self.columns, self.size, self.numbers = columns, list(size), numbers

    def __len__(self) -> int:
        return len(self.columns[0])

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        images = [self._load(files[index]) for files in self.columns]
        return tuple(images if self.numbers is None else [*images, self.numbers[index]])

    def _load(self, path: str) -> torch.Tensor:
        image = decode_image(read_file(path), ImageReadMode.RGB, apply_exif_orientation=True)
        return functional.resize(image, self.size, antialias=True)


class Uint8Loader:
    """The ``DataLoader`` over them, ending in float32 from 0 to 1 on the device."""

    def __init__(self, dataset: Uint8Images, batch_size: int, placement: Placement, *, workers: int) -> None:
        """Put the loader together; a last, smaller batch is left out."""
        loader = tuned_loader(dataset, batch_size, workers=workers, drop_last=True)
        self._loader = to_device(loader, placement)

    def __iter__(self) -> Iterator[tuple[torch.Tensor, ...]]:
        for batch in self._loader:
            yield tuple(
                part.to(torch.float32).div_(255) if part.dtype == torch.uint8 else part for part in batch
            )
