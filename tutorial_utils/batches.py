"""What a batch is, whoever made it: how many samples it holds, and where and as what it ended.

Understands what PyTorch's ``DataLoader`` and DALI's iterators deliver. Used by the
measuring protocol (lessons 00 and 01): two loaders are compared only if their
batches end on the same device, with the same dtype, layout and size.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch


def count_samples(batch: Any) -> int:
    """Count the samples in a batch: the first dimension of the first tensor in it, which all share.

    Args:
        batch: a tensor or array of shape (B, ...); a tuple, list or dict of such, nested or not;
            or what DALI's PyTorch iterators deliver for one pipeline, ``[{"data": tensor, ...}]``.

    Returns:
        B, which may be 0 (DALI's PARTIAL policy can give a rank an empty batch).

    Raises:
        TypeError: there is no tensor in the batch, the first one has no dimensions, the tensors
            disagree about the number of samples (a list of single images, say), or it is a list of
            several dicts (several DALI pipelines, each with its own samples).
    """
    if isinstance(batch, list | tuple) and len(batch) > 1 and all(isinstance(one, Mapping) for one in batch):
        raise TypeError(
            f"a batch that is a {type(batch).__name__} of {len(batch)} dicts: counting the first would "
            "miss samples if each comes from a pipeline of its own. Give a count function, e.g. "
            "count=lambda batch: sum(len(one['data']) for one in batch)."
        )
    tensors = list(_tensors(batch))
    if not tensors:
        raise TypeError(
            f"a batch of type {type(batch).__name__} holds no PyTorch tensor or NumPy array, so its "
            "samples cannot be counted. Make the loader deliver tensors, arrays, or tuples, lists or "
            "dicts of them."
        )
    if tensors[0].ndim == 0:
        raise TypeError(
            "the first tensor in the batch has no dimensions, so it says nothing about the number of "
            "samples. Put a batched tensor first or give a count function, e.g. count=lambda batch: "
            "len(batch['image'])."
        )
    sizes = [int(tensor.shape[0]) for tensor in tensors if tensor.ndim]
    if len(set(sizes)) > 1:
        raise TypeError(
            f"the tensors in the batch have {', '.join(map(str, sizes[:8]))} as their first dimensions, so "
            "it is not clear which is the number of samples. Make the loader stack single images into one "
            "tensor, or give a count function, e.g. count=lambda batch: len(batch['image'])."
        )
    return sizes[0]


@dataclass(frozen=True)
class Part:
    """One tensor of a batch, without its batch axis.

    Attributes:
        device: ``cpu``, ``cuda:0``, ...
        dtype: ``float32``, ``uint8``, ...
        shape: sizes of the axes after the batch axis; None where they differ between batches.
        layout: ``contiguous``, ``channels last``, ``strided`` (a view: somebody still has to move
            the bytes), or ``varies`` between batches.
    """

    device: str
    dtype: str
    shape: tuple[int | None, ...]
    layout: str

    def merge(self, other: "Part") -> "Part":
        """Describe two batches of one loader at once.

        Raises:
            ValueError: they differ in device, dtype or number of axes.
        """
        mine = (self.device, self.dtype, len(self.shape))
        if mine != (other.device, other.dtype, len(other.shape)):
            raise ValueError(f"one batch has {self}, another {other}")
        return Part(
            device=self.device,
            dtype=self.dtype,
            shape=tuple(a if a == b else None for a, b in zip(self.shape, other.shape, strict=True)),
            layout=self.layout if self.layout == other.layout else "varies",
        )

    def __str__(self) -> str:
        axes = ", ".join(["B", *("varies" if axis is None else str(axis) for axis in self.shape)])
        layout = "" if self.layout == "contiguous" else f" {self.layout}"
        return f"{self.dtype} ({axes}){layout} on {self.device}"


@dataclass(frozen=True)
class EndPoint:
    """Where a loader's batches ended: every tensor of a batch, in order.

    Names and nesting do not count: ``(x, y)`` and ``[{"x": x, "y": y}]`` end in the same place.

    Attributes:
        parts: the tensors of a batch without their batch axis.
        batch_size: samples in the largest batch seen. A setting, so not part of a comparison.
    """

    parts: tuple[Part, ...]
    batch_size: int

    @classmethod
    def of(cls, batch: Any) -> "EndPoint":
        """Describe one batch.

        Raises:
            TypeError: there is no tensor in it, so nobody can tell where it ended.
        """
        tensors = list(_tensors(batch))
        if not tensors:
            raise TypeError(
                f"a batch of type {type(batch).__name__} holds no PyTorch tensor or NumPy array, so it "
                "cannot be told where it ended. Make the loader deliver tensors or arrays."
            )
        sizes = [int(tensor.shape[0]) for tensor in tensors if tensor.ndim]
        return cls(parts=tuple(_part(tensor) for tensor in tensors), batch_size=max(sizes, default=0))

    def merge(self, other: "EndPoint") -> "EndPoint":
        """Describe two batches of one loader at once.

        Raises:
            ValueError: they differ in more than sizes of axes and layout.
        """
        if len(self.parts) != len(other.parts):
            raise ValueError(f"one batch holds {len(self.parts)} tensors, another {len(other.parts)}")
        parts = tuple(a.merge(b) for a, b in zip(self.parts, other.parts, strict=True))
        return EndPoint(parts, max(self.batch_size, other.batch_size))

    @classmethod
    def from_dict(cls, recorded: Mapping[str, Any]) -> "EndPoint":
        """Undo ``dataclasses.asdict``."""
        parts = (Part(**{**part, "shape": tuple(part["shape"])}) for part in recorded["parts"])
        return cls(tuple(parts), recorded["batch_size"])

    def __str__(self) -> str:
        return "; ".join(str(part) for part in self.parts)


def _tensors(batch: Any) -> Iterator[torch.Tensor | np.ndarray]:
    if isinstance(batch, torch.Tensor | np.ndarray):
        yield batch
    elif isinstance(batch, Mapping):
        for value in batch.values():
            yield from _tensors(value)
    elif isinstance(batch, list | tuple):
        for value in batch:
            yield from _tensors(value)


def _part(tensor: torch.Tensor | np.ndarray) -> Part:
    is_torch = isinstance(tensor, torch.Tensor)
    return Part(
        device=str(tensor.device) if is_torch else "cpu",
        dtype=str(tensor.dtype).removeprefix("torch."),
        shape=tuple(int(axis) for axis in tensor.shape[1:]),
        layout=_torch_layout(tensor) if is_torch else _numpy_layout(tensor),
    )


def _torch_layout(tensor: torch.Tensor) -> str:
    if tensor.layout != torch.strided:
        return str(tensor.layout).removeprefix("torch.")
    if tensor.is_contiguous():
        return "contiguous"
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    last = formats.get(tensor.ndim)
    return "channels last" if last and tensor.is_contiguous(memory_format=last) else "strided"


def _numpy_layout(array: np.ndarray) -> str:
    return "contiguous" if array.flags.c_contiguous else "strided"
