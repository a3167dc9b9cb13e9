"""The measuring protocol: every samples-per-second figure of the series comes from :func:`measure`.

Warm-up first and apart, the GPU synchronised before a clock is read, at least
three repetitions, samples counted from what arrived, and a record of where the
batches ended. Taught in lesson 00, used by every lesson after it. What may be
compared with what is decided in ``timing_card``; the share of an epoch spent
waiting for data is measured by ``waiting``.
"""

import math
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sized
from dataclasses import asdict, dataclass, field
from typing import Any

from tutorial_utils.batches import EndPoint, count_samples
from tutorial_utils.machine import machine_identity
from tutorial_utils.placement import Placement, cores
from tutorial_utils.waiting import Waiting

__all__ = ["MeasurementError", "Throughput", "Waiting", "figure", "measure"]

MIN_REPETITIONS = 3

ITERATOR_HINT = (
    "The loader stopped for good after an epoch. The usual reasons: a generator (it can be read only once; "
    "pass the loader itself), or a DALI external_source iterator whose __iter__ resets without cycle='raise' "
    "(it delivers one epoch and then nothing for ever, silently)."
)
UNEQUAL_HINT = (
    "The usual reasons: a DALI reader whose last batch is filled from the next epoch (pad_last_batch=True "
    "mends it), a loop that broke off in mid-epoch before this call, or files that come and go."
)


class MeasurementError(RuntimeError):
    """The loader's epochs cannot be timed honestly: empty, unequal, or ending in different places."""


@dataclass(frozen=True)
class Throughput:
    """What :func:`measure` found for one loader; read on a timing card in lesson 00.

    Attributes:
        label: the competitor's name on the card.
        unit: what is counted, in the plural: ``images``, ``pairs``, ``frames``.
        samples: samples that arrived in each repetition (the same in all).
        seconds: wall-clock seconds of each repetition, in order.
        end_point: where and as what the batches ended.
        first_epoch_seconds: the warm-up's first epoch, which also builds pipelines, starts
            workers and fills the page cache; never part of the rate.
        settings: what makes this competitor what it is (workers, decoder, ...), for the card.
        device: PyTorch's name of the placement's device, such as ``cuda:0``.
        cores: CPU cores the process was allowed.
        machine: name of the processor and a short code that differs between machines.
        data_fingerprint: fingerprint of the data set that was read; empty where it was not given.
        data_count: samples in that data set; None where it was not given.
        measured: whether :func:`measure` made this object with the real clock. It cannot be given
            to the constructor: figures typed by hand never become a reference.
    """

    label: str
    unit: str
    samples: int
    seconds: tuple[float, ...]
    end_point: EndPoint
    first_epoch_seconds: float
    settings: dict[str, Any] = field(default_factory=dict)
    device: str = "cpu"
    cores: int = 1
    machine: str = ""
    data_fingerprint: str = ""
    data_count: int | None = None
    measured: bool = field(default=False, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "seconds", tuple(float(value) for value in self.seconds))
        object.__setattr__(self, "settings", {str(k): _printable(v) for k, v in self.settings.items()})
        if not self.label or not self.unit:
            raise ValueError("a throughput needs a label and a unit")
        if self.samples < 1:
            raise ValueError(f"{self.label!r}: {self.samples} samples in a repetition are no measurement")
        if len(self.seconds) < MIN_REPETITIONS:
            raise ValueError(
                f"{self.label!r}: {len(self.seconds)} repetitions; at least {MIN_REPETITIONS} are needed"
            )
        if not all(math.isfinite(value) and value > 0 for value in (*self.seconds, self.first_epoch_seconds)):
            raise ValueError(f"{self.label!r}: seconds must be positive and finite, not {self.seconds}")

    @property
    def rates(self) -> tuple[float, ...]:
        """Samples per second of each repetition, in order."""
        return tuple(self.samples / value for value in self.seconds)

    @property
    def rate(self) -> float:
        """Median of the repetitions' samples per second."""
        return statistics.median(self.rates)

    @property
    def spread(self) -> tuple[float, float]:
        """Slowest and fastest repetition, in samples per second."""
        return min(self.rates), max(self.rates)

    def to_dict(self) -> dict[str, Any]:
        """All that was recorded, raw seconds included, as plain JSON values."""
        recorded = asdict(self)
        del recorded["measured"]
        return recorded

    @classmethod
    def from_dict(cls, recorded: Mapping[str, Any]) -> "Throughput":
        """Undo :meth:`to_dict`.

        Raises:
            KeyError, TypeError, ValueError: the mapping was not made by :meth:`to_dict`.
        """
        return cls(**{**recorded, "end_point": EndPoint.from_dict(recorded["end_point"])})

    def __str__(self) -> str:
        low, high = (figure(rate) for rate in self.spread)
        epochs = f"{len(self.seconds)} epochs of {self.samples:,}"
        return f"{figure(self.rate)} {self.unit}/s ({low}-{high}), {epochs}"


def measure(
    loader: Iterable[Any],
    *,
    label: str,
    placement: Placement,
    unit: str = "images",
    repetitions: int = MIN_REPETITIONS,
    warmup: int = 1,
    count: Callable[[Any], int] = count_samples,
    settings: Mapping[str, Any] | None = None,
    data: Any = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Throughput:
    """Time whole epochs of a loader by the protocol; first used in lessons 00 and 01.

    The batches are counted and let go: nothing is moved or converted, so a loader that
    should end on the GPU must deliver there. Each clock is read after the GPU has
    finished all work queued on it.

    Args:
        loader: anything that can be iterated once an epoch (a ``DataLoader``, a DALI iterator).
        label: the competitor's name on the timing card.
        placement: whose device is synchronised; what :func:`tutorial_utils.placement.choose` gave.
        unit: what is counted, in the plural.
        repetitions: timed epochs, at least 3.
        warmup: epochs before them, at least 1; the first one's seconds are kept apart.
        count: samples in a batch; the default is :func:`tutorial_utils.batches.count_samples`.
        settings: what to print beside the figure: workers, decoder, batch size, ...
        data: the data set the loader reads: anything with a ``fingerprint`` (``Pairs``,
            ``Labelled``), or the fingerprint itself. Results over different data are not compared.
        clock: seconds from any start; tests give a synthetic one.

    Returns:
        The rate with its spread, and what is needed to compare it honestly.

    Raises:
        MeasurementError: an epoch without samples, epochs of different sizes, or batches that
            change device, dtype or number of axes.
        TypeError: a batch in which no samples can be counted, or ``data`` without a fingerprint.
        ValueError: fewer than 3 repetitions, no warm-up, or a clock that stands still.
    """
    if repetitions < MIN_REPETITIONS or warmup < 1:
        raise ValueError(
            f"{label!r}: repetitions={repetitions}, warmup={warmup}; the protocol asks for at least "
            f"{MIN_REPETITIONS} repetitions after at least 1 warm-up epoch. For a quicker run give the "
            "loader fewer samples (`take(count)`)."
        )
    fingerprint, data_count = _data_set(data)
    ends, samples, seconds = _EndPoints(), [], []
    for _ in range(warmup + repetitions):
        arrived, elapsed = _epoch(loader, placement, count, clock, ends)
        samples.append(arrived)
        seconds.append(elapsed)
        _require_equal_epochs(label, unit, samples)
    result = Throughput(
        label=label,
        unit=unit,
        samples=samples[0],
        seconds=tuple(seconds[warmup:]),
        end_point=ends.merged(label),
        first_epoch_seconds=seconds[0],
        settings=dict(settings or {}),
        device=str(placement.torch_device),
        cores=cores(),
        machine=machine_identity(),
        data_fingerprint=fingerprint,
        data_count=data_count,
    )
    object.__setattr__(result, "measured", clock is time.perf_counter)
    return result


def figure(value: float) -> str:
    """Write a rate or a duration with about three digits, for cards and messages: 41,200; 412; 41.2; 4.12."""
    digits = 0 if value >= 99.95 else 1 if value >= 9.995 else 2
    return f"{value:,.{digits}f}"


class _EndPoints:
    """Where batches ended: all of the first epoch's, and the last batch of each later epoch."""

    def __init__(self) -> None:
        self.complete = False
        self._merged: EndPoint | None = None
        self._conflict = ""

    def add(self, batch: Any) -> None:
        found = EndPoint.of(batch)
        try:
            self._merged = found if self._merged is None else self._merged.merge(found)
        except ValueError as error:
            self._conflict = self._conflict or str(error)

    def merged(self, label: str) -> EndPoint:
        if self._conflict or self._merged is None:
            raise MeasurementError(
                f"{label!r}: the batches do not all end alike: {self._conflict}. Make the loader deliver "
                "one kind of batch, then measure again."
            )
        return self._merged


def _epoch(
    loader: Iterable[Any],
    placement: Placement,
    count: Callable[[Any], int],
    clock: Callable[[], float],
    ends: _EndPoints,
) -> tuple[int, float]:
    # Only the warm-up looks at every batch: a timed epoch does nothing but count.
    inspect_all = not ends.complete
    samples, batch = 0, None
    placement.synchronize()
    start = clock()
    for batch in loader:
        samples += count(batch)
        if inspect_all:
            ends.add(batch)
    placement.synchronize()
    seconds = clock() - start
    if batch is not None and not inspect_all:
        ends.add(batch)
    ends.complete = True
    return samples, seconds


def _require_equal_epochs(label: str, unit: str, samples: list[int]) -> None:
    if len(set(samples)) == 1 and samples[0] > 0:
        return
    listed = ", then ".join(str(number) for number in samples)
    if samples[0] == 0:
        raise MeasurementError(
            f"{label!r}: the first epoch delivered no {unit}. Check that the loader's file list is not "
            "empty, that drop_last does not drop the only batch, and that it was not used up before this "
            "call."
        )
    hint = ITERATOR_HINT if 0 in samples else UNEQUAL_HINT
    raise MeasurementError(
        f"{label!r}: the epochs delivered {listed} {unit}; epochs of different sizes have no common rate. "
        f"{hint}"
    )


def _data_set(data: Any) -> tuple[str, int | None]:
    if data is None:
        return "", None
    if isinstance(data, str):
        return data, None
    if not isinstance(getattr(data, "fingerprint", None), str):
        raise TypeError(
            f"data={data!r}: give the data set itself (open_pairs(), open_labelled()) or its fingerprint "
            "as text"
        )
    return data.fingerprint, len(data) if isinstance(data, Sized) else None


def _printable(value: Any) -> Any:
    """Keep what JSON holds exactly; show the rest as text."""
    if isinstance(value, bool | int | str | None) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return str(value)
