"""Callables for ``fn.external_source``: encoded pairs, and pairs decoded in worker processes.

In a module, because spawned workers import what they run and cannot import a notebook's cell. All of
them are stateless: what they return depends on the epoch and the place that DALI asks for, and on
nothing that was asked before, so that workers need not agree, and no epoch wraps round into the next.
Built in lesson 02.
"""

import multiprocessing
import os
import signal
import threading
from functools import cache
from multiprocessing import connection
from typing import TYPE_CHECKING, Any

import numpy as np

from tutorial_utils.epochs import EpochPlan

if TYPE_CHECKING:  # neither is needed in a worker
    from nvidia.dali.types import BatchInfo, SampleInfo

    from tutorial_utils.data import Pairs

DECODERS = ("torchvision", "opencv")


class EncodedPairBatches:
    """A whole batch a call, read by one thread of the main process; lesson 02's first source.

    For ``fn.external_source(source, batch=True, batch_info=True)``. The last batch of an evaluation
    comes short.
    """

    batch = True

    def __init__(
        self,
        pairs: "Pairs",
        plan: EpochPlan,
        *,
        first_epoch: int = 0,
        first_batch: int = 0,
        throws: bool = False,
    ) -> None:
        """Keep the file lists; nothing is read yet.

        Args:
            pairs: what :func:`tutorial_utils.data.open_pairs` returned.
            plan: which pairs come, and in which order; its ``samples`` is ``len(pairs)``.
            first_epoch: the epoch that a freshly built pipeline begins with.
            first_batch: the batch of that epoch that it begins with.
            throws: whether random numbers for augmentation come with each pair.

        Raises:
            ValueError: the plan is for another number of pairs.
        """
        if plan.samples != len(pairs):
            raise ValueError(f"plan: it is for {plan.samples} samples, there are {len(pairs)} pairs")
        self._low, self._high = pairs.low, pairs.high
        self._plan = plan
        self._first_epoch, self._first_batch = first_epoch, first_batch
        self._throws = throws

    def __call__(self, info: "BatchInfo") -> tuple[list[np.ndarray], ...]:
        """Read one batch.

        Returns:
            Lists of B arrays each: bytes of the low images and of the high ones (uint8, (file size,)),
            indices of the pairs (int64, (1,)) and, if asked for, throws (float32, (6,)).

        Raises:
            StopIteration: the epoch is over.
            OSError: a file cannot be read; the message names it.
        """
        first = info.iteration * self._plan.batch_size
        samples = [self._sample(info.epoch_idx, first + i) for i in range(self._plan.batch_size)]
        samples = [sample for sample in samples if sample is not None]
        if not samples:
            raise StopIteration
        return tuple(map(list, zip(*samples, strict=True)))

    def _sample(self, epoch: int, place: int) -> tuple[np.ndarray, ...] | None:
        """Read the pair at a place of an epoch, both counted by DALI; None behind the last."""
        if epoch == 0:
            place += self._first_batch * self._plan.batch_size
        epoch += self._first_epoch
        if place >= self._plan.count:
            return None
        index = int(self._plan.order(epoch)[place])
        pair = (self._load(self._low[index]), self._load(self._high[index]), np.array([index]))
        return (*pair, self._plan.throws(epoch)[index]) if self._throws else pair

    def _load(self, path: str) -> np.ndarray:
        return read_encoded(path)


class EncodedPairs(EncodedPairBatches):
    """A pair a call, which spawned workers can share; lesson 02's second source.

    For ``fn.external_source(source, batch=False, parallel=True)``. DALI wants full batches of a
    per-sample source (it drops a partial one), so the last pair is repeated until the batch is full, as
    the file reader's ``pad_last_batch`` does; who receives the batches cuts them to ``plan.valid(step)``.

    Workers end with their parent, even if it is killed. The other way round DALI 2.4 is not safe: if the
    system kills a worker that waits for work, the parent may wait for ever; an interrupt frees it.
    """

    batch = False

    def __call__(self, info: "SampleInfo") -> tuple[np.ndarray, ...]:
        """Read one pair.

        Returns:
            Bytes of the low image and of the high one (uint8, (file size,)), the index of the pair
            (int64, (1,)) and, if asked for, throws (float32, (6,)).

        Raises:
            StopIteration: the epoch is over.
            OSError: a file cannot be read; the message names it.
        """
        place = info.idx_in_epoch
        skipped = self._first_batch * self._plan.batch_size if info.epoch_idx == 0 else 0
        if place + skipped >= self._plan.steps * self._plan.batch_size:
            raise StopIteration
        return self._sample(info.epoch_idx, min(place, self._plan.count - 1 - skipped))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        _settle_in_worker()


class DecodedPairs(EncodedPairs):
    """A pair a call, decoded and resized by the worker; lesson 02 shows when that pays.

    On a CPU this is DALI's best form: its own antialiased resize there is many times slower than
    torchvision's. The images leave the worker as uint8 of shape (height, width, 3), RGB; what is left
    for the pipeline is to normalise and deliver them. The pixels are those of the decoder of the same name
    in :mod:`tutorial_utils.cpu_decoders`, which tells how the decoders differ.
    """

    def __init__(
        self,
        pairs: "Pairs",
        plan: EpochPlan,
        size: tuple[int, int] = (192, 192),
        decoder: str = "torchvision",
        *,
        first_epoch: int = 0,
        first_batch: int = 0,
    ) -> None:
        """Keep the file lists; nothing is read yet.

        Args:
            pairs: what :func:`tutorial_utils.data.open_pairs` returned.
            plan: which pairs come, and in which order.
            size: (height, width) of the images in pixels; aspect ratios are not kept.
            decoder: ``torchvision`` (JPEG, PNG and WebP; bilinear with antialiasing) or ``opencv``
                (also BMP, TIFF, JPEG 2000; area means).
            first_epoch: the epoch that a freshly built pipeline begins with.
            first_batch: the batch of that epoch that it begins with.

        Raises:
            ValueError: the plan is for another number of pairs, or the decoder is unknown.
        """
        super().__init__(pairs, plan, first_epoch=first_epoch, first_batch=first_batch)
        if decoder not in DECODERS:
            raise ValueError(f"decoder={decoder!r}: choose one of {', '.join(map(repr, DECODERS))}")
        self._size, self._decoder = tuple(size), decoder

    def _load(self, path: str) -> np.ndarray:
        decode = _decode_opencv if self._decoder == "opencv" else _decode_torchvision
        try:
            return decode(read_encoded(path), self._size)
        except OSError:
            raise
        except Exception as error:  # each library raises its own kinds, and none names the file
            raise ValueError(f"{path}: {self._decoder} cannot decode it ({error})") from error


def read_encoded(path: str) -> np.ndarray:
    """Read a whole file, as an image decoder of DALI wants it; used by lesson 02.

    Returns:
        uint8 of shape (file size,).

    Raises:
        OSError: the file is missing, cannot be read or is empty; the message names it.
    """
    data = np.fromfile(path, np.uint8)
    if not data.size:
        raise OSError(f"{path}: empty file, 0 bytes")
    return data


def _decode_torchvision(data: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    torch, io, functional = _torchvision()
    image = io.decode_image(torch.from_numpy(data), io.ImageReadMode.RGB, apply_exif_orientation=True)
    if image.dtype != torch.uint8:  # a 16-bit PNG
        image = functional.to_dtype(image, torch.uint8, scale=True)
    return functional.resize(image, list(size), antialias=True).permute(1, 2, 0).contiguous().numpy()


def _decode_opencv(data: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    cv2 = _opencv()
    image = cv2.imdecode(data, cv2.IMREAD_COLOR_RGB)
    if image is None:
        raise ValueError("imdecode returns None")
    height, width = size
    shrunk = min(height, image.shape[0]), min(width, image.shape[1])
    if shrunk != image.shape[:2]:
        image = cv2.resize(image, shrunk[::-1], interpolation=cv2.INTER_AREA)
    if shrunk != size:
        image = cv2.resize(image, (width, height), interpolation=cv2.INTER_LINEAR)
    return image


# Imported at the first image: an import of torch takes seconds, which the other sources need not pay.
# A worker decodes on one thread, since the workers already fill the cores.
@cache
def _torchvision() -> tuple[Any, Any, Any]:
    import torch
    from torchvision import io
    from torchvision.transforms.v2 import functional

    if multiprocessing.parent_process() is not None:
        torch.set_num_threads(1)
    return torch, io, functional


@cache
def _opencv() -> Any:
    import cv2

    if multiprocessing.parent_process() is not None:
        cv2.setNumThreads(0)
    return cv2


@cache
def _settle_in_worker() -> None:
    """Tie a worker process to its parent: it ends when the parent ends, and only then.

    DALI's workers wait for ever on a queue in shared memory if their parent is killed outright. And an
    interrupt of a notebook or a terminal reaches the whole group of processes: it is the parent's to handle.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def wait() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=wait, name="ends-with-parent", daemon=True).start()
