"""Where each step runs: the one place that asks whether there is a GPU.

Every lesson calls :func:`choose` once and hands the result on; the pipelines,
loaders and timings never ask the driver themselves. Taught in lesson 00, swept
in lesson 04.
"""

import os
import platform
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import torch

ENVIRONMENT_VARIABLE = "TUTORIAL_DEVICE"
RANK_VARIABLE = "LOCAL_RANK"


@dataclass(frozen=True)
class Placement:
    """Where a loader decodes, resizes and delivers, and where a model trains.

    Attributes:
        name: the device's name for people, such as ``NVIDIA H200`` or ``CPU (AMD EPYC, 2 cores)``.
        torch_device: where batches arrive and the model lives.
        dali_device_id: ``device_id`` of a DALI pipeline; None builds a CPU-only pipeline.
        decoder_device: ``device`` of DALI's image decoders, ``mixed`` on a GPU.
        operator_device: ``device`` of the DALI operators after the decoder.
    """

    name: str
    torch_device: torch.device
    dali_device_id: int | None
    decoder_device: Literal["mixed", "cpu"]
    operator_device: Literal["gpu", "cpu"]

    @property
    def has_gpu(self) -> bool:
        """Whether steps run on a GPU (also what ``pin_memory`` of a ``DataLoader`` should be)."""
        return self.dali_device_id is not None

    def synchronize(self) -> None:
        """Wait for all work queued on the GPU, so that a clock read next is honest; no-op on a CPU."""
        if self.has_gpu:
            torch.cuda.synchronize(self.torch_device)


def choose(device: str | None = None) -> Placement:
    """Pick the device for this process; first used in lesson 00.

    Args:
        device: ``auto``, ``cpu``, ``gpu`` or ``gpu:N``. None reads the environment
            variable ``TUTORIAL_DEVICE`` and else means ``auto``. Without a number the
            GPU is that of ``LOCAL_RANK`` (set by ``torchrun``), else GPU 0.

    Returns:
        The placement: everything on the GPU where there is one, else everything on the CPU.

    Raises:
        ValueError: the device is none of the above, or a GPU number (or local rank) that does not exist.
        RuntimeError: ``gpu`` was asked for and PyTorch finds none.
    """
    source = "device" if device is not None else ENVIRONMENT_VARIABLE
    wanted = (device if device is not None else os.environ.get(ENVIRONMENT_VARIABLE)) or "auto"
    kind, colon, number = wanted.lower().partition(":")
    if kind not in ("auto", "cpu", "gpu") or (colon and (kind != "gpu" or not number.isdecimal())):
        raise ValueError(f"{source}={wanted!r}: choose 'auto', 'cpu', 'gpu' or 'gpu:N' with N from 0 on")
    if kind == "cpu" or (kind == "auto" and not torch.cuda.is_available()):
        return _on_cpu()
    if not torch.cuda.is_available():
        raise RuntimeError(
            f"{source}={wanted!r}, but PyTorch {torch.__version__} finds no usable GPU. "
            "Run `python -m tutorial_utils.doctor` for the reason and the remedy, or choose 'cpu'."
        )
    return _on_gpu(int(number), source) if number else _on_own_gpu(source)


def cores() -> int:
    """Count the CPU cores this process may use: the affinity mask, cut to the container's quota.

    ``os.cpu_count()`` counts the whole machine, which in a container or a batch job starts
    far too many worker processes. Used by lessons 00 and 01.

    Returns:
        A count of at least 1; a quota of 2.5 cores counts as 2.
    """
    allowed = len(os.sched_getaffinity(0))
    quota = _quota(Path("/sys/fs/cgroup"))
    return max(1, min(allowed, int(quota) if quota else allowed))


def _on_cpu() -> Placement:
    return Placement(
        name=f"CPU ({cpu_name()}, {cores()} cores)",
        torch_device=torch.device("cpu"),
        dali_device_id=None,
        decoder_device="cpu",
        operator_device="cpu",
    )


def _on_own_gpu(source: str) -> Placement:
    rank = os.environ.get(RANK_VARIABLE)
    if not rank:
        return _on_gpu(0, source)
    if not rank.isdecimal():
        raise ValueError(
            f"{RANK_VARIABLE}={rank!r}: torchrun sets it to this process's number on the machine"
        )
    return _on_gpu(int(rank), RANK_VARIABLE)


def _on_gpu(index: int, source: str) -> Placement:
    count = torch.cuda.device_count()
    if index >= count:
        raise ValueError(f"{source}: GPU {index} does not exist; this machine shows {count}, numbered from 0")
    return Placement(
        name=torch.cuda.get_device_name(index),
        torch_device=torch.device("cuda", index),
        dali_device_id=index,
        decoder_device="mixed",
        operator_device="gpu",
    )


@cache
def cpu_name() -> str:
    """Name the processor as the kernel does, for timing cards."""
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _quota(group: Path) -> float | None:
    """Read the CPU quota of a container in cores: cgroup v2's ``cpu.max``, else v1's two files."""
    for files in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):
        try:
            limit, period = " ".join((group / name).read_text() for name in files).split()
            quota = int(limit) / int(period)
        except (OSError, ValueError, ZeroDivisionError):  # not there, or "max": no limit
            continue
        return quota if quota > 0 else None  # version 1 writes -1 for no limit
    return None
