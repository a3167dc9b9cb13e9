"""Which results may be compared, and what their ratio is. Used by the timing card (lesson 00)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tutorial_utils.batches import EndPoint, Part
from tutorial_utils.timing import Throughput


class NotComparable(ValueError):  # noqa: N818 - what the reader is told, not an accident
    """Results that differ in more than the thing compared; the message names each difference."""


@dataclass(frozen=True)
class Speedup:
    """How many times as fast one result is as another.

    Attributes:
        label: the result above the fraction line.
        over: the result below it.
        value: ratio of the median rates.
        low: slowest repetition of the one over the fastest of the other.
        high: fastest repetition of the one over the slowest of the other.
    """

    label: str
    over: str
    value: float
    low: float
    high: float

    @property
    def clear(self) -> bool:
        """Whether every repetition of the one was faster (or slower) than every one of the other."""
        return not self.low <= 1 <= self.high

    def __str__(self) -> str:
        digits = 0 if self.value >= 9.95 else 1 if self.value >= 1.95 else 2
        return f"{self.value:.{digits}f}x ({self.low:.{digits}f}-{self.high:.{digits}f})"


def compare(one: Throughput, other: Throughput) -> Speedup:
    """Give the ratio of two results that are known to be comparable."""
    (low, high), (other_low, other_high) = one.spread, other.spread
    return Speedup(one.label, other.label, one.rate / other.rate, low / other_high, high / other_low)


def require_comparable(results: Sequence[Throughput], data_fingerprint: str = "") -> str:
    """Refuse results that must not stand side by side.

    Args:
        results: at least one.
        data_fingerprint: the data set all of them read, where a result does not say so itself.

    Returns:
        The fingerprint of the data they share.

    Raises:
        NotComparable: they differ in unit, samples an epoch, data, machine, cores or end point, or
            nobody says which data one of them read.
    """
    first = results[0]
    complaints = [
        f"{other.label!r} cannot be compared with {first.label!r}:{_bullets(found)}"
        for other in results[1:]
        if (found := list(_differences(first, other)))
    ]
    fingerprints = {result.label: result.data_fingerprint or data_fingerprint for result in results}
    complaints += _data_complaints(fingerprints, data_fingerprint)
    if complaints:
        raise NotComparable("\n".join(complaints))
    return fingerprints[first.label]


def _bullets(lines: Sequence[str]) -> str:
    return "".join(f"\n  - {line}" for line in lines)


def _data_complaints(fingerprints: dict[str, str], of_card: str) -> Iterator[str]:
    silent = [label for label, fingerprint in fingerprints.items() if not fingerprint]
    if silent:
        yield (
            f"nobody says which data {', '.join(map(repr, silent))} read: give measure(..., data=pairs), "
            "or the card data_fingerprint=pairs.fingerprint if all results read the same."
        )
    spoken = {label: fingerprint for label, fingerprint in fingerprints.items() if fingerprint}
    if of_card:
        spoken = {**spoken, "the card": of_card}
    if len(set(spoken.values())) > 1:
        listed = ", ".join(f"{label} {fingerprint}" for label, fingerprint in spoken.items())
        yield f"the data sets differ: {listed}. Measure all of them over the same files."


def _differences(first: Throughput, other: Throughput) -> Iterator[str]:
    if first.unit != other.unit:
        yield f"it counts {other.unit}, not {first.unit}: count the same thing in both"
    if first.machine != other.machine:
        yield (
            f"it ran on another machine or before a restart ({other.machine}, not {first.machine}): "
            "measure both in one run; a recorded result is shown with reference.beside(), without a ratio"
        )
    if first.cores != other.cores:
        yield f"it was allowed {other.cores} cores, not {first.cores}: measure both under the same limit"
    if first.samples != other.samples:
        yield (
            f"its epochs brought {other.samples} {other.unit}, not {first.samples}: give both the same "
            "files and the same treatment of the last batch (dropped, padded or partial)"
        )
    yield from _end_point_differences(first.end_point, other.end_point)


def _end_point_differences(first: EndPoint, other: EndPoint) -> Iterator[str]:
    if len(first.parts) != len(other.parts):
        yield (
            f"its batches hold {len(other.parts)} tensors, not {len(first.parts)}: deliver the same "
            "tensors from both"
        )
        return
    for number, (a, b) in enumerate(zip(first.parts, other.parts, strict=True), start=1):
        for name, remedy in PART_REMEDIES.items():
            if getattr(a, name) != getattr(b, name):
                yield f"tensor {number} of a batch ended {_as(name, b)}, not {_as(name, a)}: {remedy}"


PART_REMEDIES = {
    "device": "bring both to the same device inside the loader (to_device(loader, placement) wraps a "
    "CPU loader), so that the copy is timed too",
    "dtype": "convert inside the loader, so that the conversion is timed too",
    "shape": "deliver the same size and order of axes from both",
    "layout": "make both contiguous, or both channels last, inside the loader",
}


def _as(name: str, part: Part) -> str:
    value = getattr(part, name)
    if name == "device":
        return f"on {value}"
    if name == "shape":
        return "as (" + ", ".join(["B", *("varies" if axis is None else str(axis) for axis in value)]) + ")"
    return f"as {value}"
