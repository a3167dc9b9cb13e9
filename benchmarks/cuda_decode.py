"""torchvision's own way to decode on a GPU: batches of JPEG files by ``decode_jpeg(list, device="cuda")``.

A competitor of ``benchmarks.images``. Worker processes read the files, one call decodes a whole batch, and
images of equal shape are resized together, so that neither step is done image by image without need. It
knows JPEG only and turns no picture by its EXIF orientation.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

import torch
from torch.utils.data import Dataset
from torchvision.io import ImageReadMode, decode_jpeg, read_file
from torchvision.transforms.v2 import functional

from tutorial_utils.cpu_loaders import tuned_loader
from tutorial_utils.placement import Placement

Bytes = tuple[torch.Tensor, list[int], torch.Tensor]
JPEG_NAMES = (".jpg", ".jpeg")


class EncodedFiles(Dataset):
    """Sample ``i`` is the bytes of the files of sample ``i`` and a number that goes with them."""

    def __init__(self, *columns: Sequence[str], numbers: Sequence[int]) -> None:
        """Keep the lists.

        Args:
            columns: the files, such as all low and all high ones; equally many in each.
            numbers: the classes, or anything else that is delivered untouched.
        """
        self.columns, self.numbers = columns, numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, index: int) -> tuple[list[torch.Tensor], int]:
        return [read_file(files[index]) for files in self.columns], self.numbers[index]


class CudaDecoding:
    """Batches decoded and resized on the GPU: one image tensor per column of files, then the numbers."""

    def __init__(
        self,
        files: EncodedFiles,
        batch_size: int,
        size: tuple[int, int],
        placement: Placement,
        *,
        workers: int,
        with_numbers: bool,
    ) -> None:
        """Put the loader together.

        Args:
            files: what to read.
            batch_size: samples a batch; a last, smaller one is left out.
            size: (height, width) in pixels.
            placement: one with a GPU.
            workers: processes that read.
            with_numbers: whether the numbers are delivered, as int64 of shape (B,) on the GPU.
        """
        # The decoder wants the bytes in ordinary memory: pinning them would only be a copy.
        self._loader = tuned_loader(files, batch_size, workers=workers, drop_last=True, pin_memory=False)
        self._loader.collate_fn = _pack
        self._size, self._device, self._with_numbers = size, placement.torch_device, with_numbers

    def __iter__(self) -> Iterator[tuple[torch.Tensor, ...]]:
        for data, lengths, numbers in self._loader:
            decoded = decode_jpeg(list(data.split(lengths)), ImageReadMode.RGB, device=self._device)
            images = resized(decoded, self._size).split(len(numbers))
            yield (*images, numbers.to(self._device)) if self._with_numbers else images


def resized(images: Sequence[torch.Tensor], size: tuple[int, int]) -> torch.Tensor:
    """Resize images of various shapes, those of the same shape together.

    Args:
        images: uint8 of shape (3, H, W) each, all on one device.
        size: (height, width) in pixels.

    Returns:
        float32 of shape (B, 3, height, width), from 0 to 1, on that device.
    """
    batch = torch.empty((len(images), 3, *size), device=images[0].device)
    alike = defaultdict(list)
    for place, image in enumerate(images):
        alike[image.shape].append(place)
    for places in alike.values():
        stacked = torch.stack([images[place] for place in places]).float().div_(255)
        batch[places] = functional.resize(stacked, list(size), antialias=True)
    return batch


def _pack(samples: list[tuple[list[torch.Tensor], int]]) -> Bytes:
    """Join the bytes of a batch, column by column: one block of shared memory instead of one a file."""
    columns = zip(*(files for files, _ in samples), strict=True)
    files = [data for column in columns for data in column]
    numbers = torch.tensor([number for _, number in samples])
    return torch.cat(files), [len(data) for data in files], numbers
