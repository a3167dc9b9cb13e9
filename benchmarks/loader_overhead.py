"""What does our loader cost over the bare DALI iterator it wraps? A section of ``benchmarks.images``.

``paired_loader(source="files")`` against DALI's own ``DALIGenericIterator`` over the very same pipeline, the
two in turn in many rounds. Besides the clock on the wall the processor's time is read, all threads of the
process together: other work on the machine disturbs it far less.
"""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

import torch
from nvidia.dali.plugin.pytorch import DALIGenericIterator

from benchmarks.rounds import Competitor, Ratio, race
from tutorial_utils import pipelines
from tutorial_utils.data import Pairs
from tutorial_utils.loader_readings import BUFFER, OUTPUTS
from tutorial_utils.loaders import paired_loader
from tutorial_utils.pipelines import Delivery
from tutorial_utils.placement import Placement, cores
from tutorial_utils.timing import MIN_REPETITIONS, Throughput

OURS, BARE = "paired_loader", "bare iterator"
LIMIT = 1.03


@dataclass(frozen=True)
class Overhead:
    """Our loader over the bare iterator, both ratios above 1 where ours takes more.

    Attributes:
        wall: seconds on the clock.
        processor: seconds of processor time, all threads of the process.
        results: the rounds of each of the two.
        processor_seconds: of the timed epochs of each of the two, for the record.
    """

    wall: Ratio
    processor: Ratio
    results: dict[str, list[Throughput]]
    processor_seconds: dict[str, tuple[float, ...]]


class BareIterator:
    """DALI's iterator over the pipeline that ``paired_loader`` builds, in the loop that its users write."""

    def __init__(self, pairs: Pairs, batch_size: int, placement: Placement) -> None:
        """Build the pipeline with the loader's defaults.

        Args:
            pairs: as many as make full batches, so that an epoch needs no padding.
            batch_size: pairs a batch.
            placement: where the steps run.
        """
        pipeline = pipelines.paired_from_files(
            list(pairs.low),
            list(pairs.high),
            pipelines.reading(buffer=min(BUFFER, len(pairs))),
            placement=placement,
            delivery=Delivery(),
            batch_size=batch_size,
            num_threads=cores(),
            prefetch_queue_depth=2,
            device_id=placement.dali_device_id,
            enable_checkpointing=True,
        )
        self._iterator = DALIGenericIterator(pipeline, OUTPUTS, reader_name="low", auto_reset=True)

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        for (batch,) in self._iterator:
            yield batch["low"], batch["high"]


class _ProcessorTimed:
    """Notes the processor seconds of every epoch of a loader."""

    def __init__(self, loader: Iterable[Any], placement: Placement) -> None:
        self.seconds: list[float] = []
        self._loader, self._placement = loader, placement

    def __iter__(self) -> Iterator[Any]:
        start = time.process_time()
        yield from self._loader
        self._placement.synchronize()
        self.seconds.append(time.process_time() - start)


def measure_overhead(pairs: Pairs, batch_size: int, rounds: int, placement: Placement) -> Overhead:
    """Run both in turn.

    Args:
        pairs: as many as make full batches.
        batch_size: pairs a batch.
        rounds: how often each is measured; from 6 on there is a confidence interval.
        placement: where the steps run.
    """
    with paired_loader(pairs, batch_size=batch_size, placement=placement, source="files") as ours:
        loaders = {OURS: ours, BARE: BareIterator(pairs, batch_size, placement)}
        timed = {label: _ProcessorTimed(loader, placement) for label, loader in loaders.items()}
        results = race(
            [Competitor(label, loader, {"batch": batch_size}) for label, loader in timed.items()],
            rounds,
            placement=placement,
            unit="pairs",
            data=pairs,
        )
    processor = {label: _without_warmups(one.seconds) for label, one in timed.items()}
    wall = {label: [median(one.seconds) for one in results[label]] for label in results}
    busy = {label: [median(seconds) for seconds in _rounds(processor[label])] for label in processor}
    return Overhead(_over(wall), _over(busy), results, processor)


def _over(seconds: dict[str, list[float]]) -> Ratio:
    return Ratio(OURS, BARE, tuple(a / b for a, b in zip(seconds[OURS], seconds[BARE], strict=True)))


def _without_warmups(seconds: list[float]) -> tuple[float, ...]:
    return tuple(value for place, value in enumerate(seconds) if place % (MIN_REPETITIONS + 1))


def _rounds(seconds: tuple[float, ...]) -> list[tuple[float, ...]]:
    return [seconds[at : at + MIN_REPETITIONS] for at in range(0, len(seconds), MIN_REPETITIONS)]
