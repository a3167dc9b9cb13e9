"""The CPU competitors: data sets over PIL, OpenCV and torchvision, and a ``DataLoader`` tuned honestly.

Lesson 01 builds and measures them; later lessons compare DALI with the best of them. What the decoders
do, and how their pixels differ, stands in ``cpu_decoders``.
"""

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import cv2
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, Sampler

from tutorial_utils.cpu_decoders import DECODERS, ImageFileError, Size, load_image
from tutorial_utils.data import Labelled, Pairs
from tutorial_utils.placement import Placement, choose, cores

__all__ = [
    "DeviceLoader",
    "EpochShuffle",
    "ImageFileError",
    "LabelledImages",
    "PairImages",
    "load_image",
    "to_device",
    "tuned_loader",
]


class PairImages(Dataset):
    """The correct ``Dataset`` of pairs; built in lesson 01.

    Sample ``i`` is ``(low, high)``, the two images of pair ``i``: float32 tensors of shape
    (3, height, width), RGB from 0 to 1.
    """

    def __init__(self, pairs: Pairs, size: Size = (192, 192), decoder: str = "pil") -> None:
        """Keep the file lists; nothing is read yet.

        Args:
            pairs: what :func:`tutorial_utils.data.open_pairs` returned.
            size: (height, width) of the delivered images in pixels; aspect ratios are not kept.
            decoder: ``pil``, ``opencv`` or ``torchvision``.

        Raises:
            TypeError: ``pairs`` is something else.
            ValueError: a wrong size or decoder.
        """
        if not isinstance(pairs, Pairs):
            raise TypeError(f"pairs: give what open_pairs() returns, not {type(pairs).__name__}")
        self.pairs = pairs
        self.size = _checked_size(size)
        self.decoder = _checked_decoder(decoder)

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        low, high = self.pairs.low[index], self.pairs.high[index]
        return load_image(low, self.size, self.decoder), load_image(high, self.size, self.decoder)


class LabelledImages(Dataset):
    """Images with their class, as in the article's OpenCV loader; built in lesson 01.

    Sample ``i`` is ``(image, label)``: a float32 tensor of shape (3, height, width), RGB from 0 to 1, and an
    ``int``, which a ``DataLoader`` collates to int64.
    """

    def __init__(self, labelled: Labelled, size: Size = (640, 640), decoder: str = "opencv") -> None:
        """Keep the file list; nothing is read yet.

        Args:
            labelled: what :func:`tutorial_utils.data.open_labelled` returned.
            size: (height, width) of the delivered images in pixels; aspect ratios are not kept.
            decoder: ``pil``, ``opencv`` or ``torchvision``.

        Raises:
            TypeError: ``labelled`` is something else.
            ValueError: a wrong size or decoder.
        """
        if not isinstance(labelled, Labelled):
            raise TypeError(f"labelled: give what open_labelled() returns, not {type(labelled).__name__}")
        self.labelled = labelled
        self.size = _checked_size(size)
        self.decoder = _checked_decoder(decoder)

    def __len__(self) -> int:
        return len(self.labelled)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        image = load_image(self.labelled.files[index], self.size, self.decoder)
        return image, self.labelled.labels[index]


class EpochShuffle(Sampler[int]):
    """Every index once an epoch, in an order that depends on the seed and the epoch's number alone.

    ``RandomSampler`` with a generator would do until an epoch is broken off: the generator then stands
    elsewhere, and all later epochs differ from an unbroken run's.
    """

    def __init__(self, count: int, seed: int) -> None:
        self.count = count
        self.seed = seed
        self.epoch = 0

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[int]:
        key = np.random.SeedSequence([self.seed, self.epoch]).generate_state(1, np.uint64)[0]
        self.epoch += 1
        generator = torch.Generator().manual_seed(int(key >> 1))
        yield from torch.randperm(self.count, generator=generator).tolist()


def tuned_loader(
    dataset: Dataset,
    batch_size: int,
    *,
    workers: int | None = None,
    shuffle: bool = True,
    pin_memory: bool | None = None,
    prefetch_factor: int = 2,
    persistent_workers: bool = True,
    drop_last: bool = False,
    seed: int = 0,
) -> DataLoader:
    """Make the fastest plain ``DataLoader``; lesson 01 sweeps each of these settings.

    Each worker decodes on one thread, since the workers already fill the cores. They are started in
    Python's own way (fork up to 3.13, forkserver from 3.14 on): they never touch CUDA, so fork is safe,
    and it starts in milliseconds without a second import of torch. The data sets of this module can be
    pickled, so ``loader.multiprocessing_context = "spawn"`` works as well.

    Args:
        dataset: a map-style data set.
        batch_size: samples a batch.
        workers: worker processes. None takes every core this process may use
            (:func:`tutorial_utils.placement.cores`); 0 decodes in this process.
        shuffle: whether each epoch has another order, the same for the same seed and any ``workers``.
        pin_memory: whether batches arrive in page-locked memory, from which copies to a GPU run beside
            other work. None means: if there is a GPU.
        prefetch_factor: batches that each worker keeps ready; without workers it has no meaning.
        persistent_workers: whether workers survive the end of an epoch; without workers no meaning.
        drop_last: whether a last, smaller batch is left out.
        seed: of the order.

    Returns:
        The loader; every ``for`` over it is one epoch.

    Raises:
        TypeError: the data set has no length.
        ValueError: a number out of range, or an empty data set.
    """
    if not hasattr(dataset, "__len__"):
        raise TypeError(f"dataset: {type(dataset).__name__} has no length; give a map-style data set")
    if len(dataset) == 0:
        raise ValueError("dataset: it is empty; give one with at least 1 sample")
    workers = cores() if workers is None else workers
    for name, value, least in (
        ("batch_size", batch_size, 1),
        ("workers", workers, 0),
        ("prefetch_factor", prefetch_factor, 1),
        ("seed", seed, 0),
    ):
        if not _is_whole(value) or value < least:
            raise ValueError(f"{name}={value!r}: give a whole number from {least} on")
    return DataLoader(
        dataset,
        batch_size,
        sampler=EpochShuffle(len(dataset), seed) if shuffle else None,
        num_workers=workers,
        pin_memory=choose().has_gpu if pin_memory is None else pin_memory,
        prefetch_factor=prefetch_factor if workers else None,
        persistent_workers=persistent_workers and workers > 0,
        drop_last=drop_last,
        worker_init_fn=_one_thread,
        generator=torch.Generator().manual_seed(seed),  # of the workers' own random numbers
    )


def _one_thread(worker: int) -> None:
    torch.set_num_threads(1)
    cv2.setNumThreads(0)  # 0 runs in the caller's thread; a pool inherited by fork would hang


class DeviceLoader:
    """A loader whose batches arrive on a placement's device; from :func:`to_device`."""

    def __init__(self, loader: Any, placement: Placement) -> None:
        self.loader = loader
        self.placement = placement

    def __len__(self) -> int:
        return len(self.loader)

    def __iter__(self) -> Iterator[Any]:
        for batch in self.loader:
            yield _moved(batch, self.placement.torch_device)


def to_device(loader: Any, placement: Placement) -> DeviceLoader:
    """Let a loader end where the model is, as all that are compared must; first used in lesson 01.

    Args:
        loader: any iterable of tensors, or of tuples, lists or dicts of tensors.
        placement: what :func:`tutorial_utils.placement.choose` returned.

    Returns:
        A loader of the same length. From pinned memory the copy runs beside other work; on a CPU
        batches pass through uncopied.
    """
    return DeviceLoader(loader, placement)


def _moved(batch: Any, device: torch.device) -> Any:
    if isinstance(batch, torch.Tensor):
        return batch.to(device, non_blocking=True)
    if isinstance(batch, dict):
        return {key: _moved(value, device) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):  # a named tuple takes its fields one by one
        return type(batch)(*(_moved(value, device) for value in batch))
    if isinstance(batch, (tuple, list)):
        return type(batch)(_moved(value, device) for value in batch)
    return batch


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _checked_size(size: Any) -> Size:
    if not isinstance(size, (tuple, list)) or len(size) != 2 or not all(_is_whole(n) and n > 0 for n in size):
        raise ValueError(f"size={size!r}: give (height, width) in whole pixels, such as (192, 192)")
    return tuple(size)


def _checked_decoder(decoder: str) -> str:
    if decoder not in DECODERS:
        raise ValueError(f"decoder={decoder!r}: choose one of {', '.join(map(repr, DECODERS))}")
    return decoder
