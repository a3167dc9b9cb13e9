"""The article's PyTorch baseline, rebuilt with its two defects, each behind a switch.

Lesson 01 shows both live and prices them separately; nothing else should use this module. The
correct data set is :class:`tutorial_utils.cpu_loaders.PairImages`.
"""

import os
from pathlib import Path

import torch
from PIL import Image
from torch.utils.data import Dataset
from torchvision.transforms import Compose, Resize, ToTensor


class ArticlePairs(Dataset):
    """The data set of the article's system A1: PIL, ``Resize``, ``ToTensor``, 8-bit RGB files only.

    Its defects:

    1. ``lists_every_time``: ``__getitem__`` lists both folders again for every single sample, work that
       grows with the square of the number of files.
    2. ``reads_low_twice``: the file that should be the well-lit image is read from the low folder, so the
       model is shown two dark images.

    One more stays whatever the switches say, since it is part of how the article works: files come in
    whatever order the file system lists them, in each folder by itself, so that even with both switches
    off the partners can be wrong.

    (The article's class did not derive from ``Dataset`` either; this one does, for today's
    ``DataLoader`` asks for a map-style data set and nothing about the speed depends on it.)
    """

    def __init__(
        self,
        root: str | os.PathLike,
        size: tuple[int, int] = (192, 192),
        *,
        lists_every_time: bool = True,
        reads_low_twice: bool = True,
    ) -> None:
        """Remember the folders and, with the first defect off, their files.

        Args:
            root: a folder with ``low`` and ``high`` in it, equal file names belonging together.
            size: (height, width) in pixels.
            lists_every_time: whether the first defect is on.
            reads_low_twice: whether the second defect is on.

        Raises:
            FileNotFoundError: ``low`` or ``high`` is not there.
        """
        self.low = Path(root) / "low"
        self.high = Path(root) / "high"
        self.lists_every_time = lists_every_time
        self.reads_low_twice = reads_low_twice
        self.transform = Compose([Resize(size), ToTensor()])
        self._listed = self._list()

    def _list(self) -> tuple[list[str], list[str]]:
        # As the article does it: unsorted, and each folder by itself.
        return os.listdir(self.low), os.listdir(self.high)  # noqa: PTH208

    def __len__(self) -> int:
        return len(self._listed[0])

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return a low image and what passes for its partner, float32 (3, height, width) in [0, 1]."""
        low_names, high_names = self._list() if self.lists_every_time else self._listed
        low = Image.open(self.low / low_names[index])
        high = Image.open((self.low if self.reads_low_twice else self.high) / high_names[index])
        return self.transform(low), self.transform(high)
