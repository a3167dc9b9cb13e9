"""Synthetic clocks, loaders and results for the tests of the measuring protocol."""

import dataclasses
from collections.abc import Iterator

import torch

from tutorial_utils.batches import EndPoint, Part
from tutorial_utils.machine import Gpu, Machine
from tutorial_utils.placement import Placement
from tutorial_utils.timing import Throughput

CPU = Placement("CPU", torch.device("cpu"), None, "cpu", "cpu")
IMAGE = Part("cpu", "float32", (3, 8, 8), "contiguous")


class Clock:
    """A clock that moves only when told to, in seconds."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def pass_time(self, seconds: float) -> None:
        self.now += seconds


class Scripted:
    """A loader whose epochs take the given seconds and deliver the given batch sizes, one entry an epoch."""

    def __init__(self, clock: Clock, seconds, batches) -> None:
        self.clock, self.seconds, self.batches = clock, list(seconds), list(batches)
        self.epochs = 0

    def __iter__(self) -> Iterator[torch.Tensor]:
        epoch = self.epochs
        self.epochs += 1
        self.clock.pass_time(self.seconds[epoch])
        for size in self.batches[epoch]:
            yield torch.zeros(size, 3, 8, 8)


def throughput(label: str = "A", **changes) -> Throughput:
    values = {
        "label": label,
        "unit": "images",
        "samples": 100,
        "seconds": (1.0, 2.0, 4.0),
        "end_point": EndPoint((IMAGE,), 10),
        "first_epoch_seconds": 5.0,
        "settings": {"workers": 2},
        "cores": 2,
        "machine": "cpu #1",
        "data_fingerprint": "f00d",
        **changes,
    }
    return Throughput(**values)


def ends(**changes) -> EndPoint:
    return EndPoint((dataclasses.replace(IMAGE, **changes),), 10)


def machine(**changes) -> Machine:
    values = {
        "cpu": "Testium 3000",
        "cores": 2,
        "cores_installed": 64,
        "memory_bytes": 48 * 2**30,
        "system": "Linux 6",
        "python": "3.11.7",
        "libraries": {"torch": "2.10.0"},
        **changes,
    }
    return Machine(**values)


def gpu_machine() -> Machine:
    return machine(gpus=(Gpu("NVIDIA H200", 141 * 2**30, 700.0),), driver="570.1", cuda="12.8")
