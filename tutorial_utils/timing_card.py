"""The timing card: results side by side, with all that makes them comparable, or a refusal that says why not.

Taught in lesson 00; every comparison of the series stands on such a card.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from tutorial_utils.comparing import NotComparable, Speedup, compare, require_comparable
from tutorial_utils.machine import GIB, Machine, describe
from tutorial_utils.published import PublishedFigure
from tutorial_utils.sheet import Block, Facts, Heading, Table, to_html, to_text
from tutorial_utils.timing import Throughput, figure

__all__ = ["NotComparable", "Speedup", "TimingCard", "speedup"]

SCHEMA = 1
PUBLISHED_HEADING = "published elsewhere, on other hardware: context, never a ratio"


@dataclass(frozen=True, repr=False)
class TimingCard:
    """Results that may be compared, and the circumstances they share; shown by a notebook as a table.

    Attributes:
        results: what :func:`tutorial_utils.timing.measure` found, in the order of the rows.
        data_fingerprint: fingerprint of the data set that all of them read. May be left out if
            the results carry it (``measure(..., data=pairs)``).
        title: what the card compares.
        baseline: label of the result that the ratios refer to; by default the first.
        published: figures of others to show below, apart from the results.
        machine: hardware and versions; by default those of this machine, now.
        date: time of the card in ISO 8601, UTC.

    Raises:
        NotComparable: the results differ in unit, samples an epoch, data, machine, cores or in where
            and as what their batches ended; the message names every difference and what to do.
        ValueError: no results, two with one label, or a baseline that is none of them.
    """

    results: Sequence[Throughput]
    data_fingerprint: str = ""
    title: str = ""
    baseline: str = ""
    published: Sequence[PublishedFigure] = ()
    machine: Machine = field(default_factory=describe)
    date: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    def __post_init__(self) -> None:
        object.__setattr__(self, "results", tuple(self.results))
        object.__setattr__(self, "published", tuple(self.published))
        labels = [result.label for result in self.results]
        if not labels:
            raise ValueError("a timing card needs at least one result of measure()")
        if repeated := sorted({label for label in labels if labels.count(label) > 1}):
            raise ValueError(f"two results are labelled {repeated[0]!r}; give each a label of its own")
        object.__setattr__(self, "baseline", self.baseline or labels[0])
        self.result(self.baseline)
        object.__setattr__(self, "data_fingerprint", require_comparable(self.results, self.data_fingerprint))
        datetime.fromisoformat(self.date)

    def result(self, label: str) -> Throughput:
        """Give the result with this label.

        Raises:
            ValueError: there is none.
        """
        for result in self.results:
            if result.label == label:
                return result
        known = ", ".join(repr(result.label) for result in self.results)
        raise ValueError(f"no result is labelled {label!r} on this card; there are {known}")

    def blocks(self) -> list[Block]:
        """Lay the card out, for whoever shows it as part of something larger."""
        blocks: list[Block] = [
            Heading(f"Timing card: {self.title}" if self.title else "Timing card"),
            self.table(),
            Facts((*_circumstances(self), *_machine_facts(self))),
        ]
        if self.published:
            rows = tuple((row.label, row.figure, row.hardware, row.source) for row in self.published)
            blocks += [
                Heading(PUBLISHED_HEADING),
                Table(("system", "figure as reported", "hardware", "source"), rows),
            ]
        return blocks

    def table(self) -> Table:
        """Lay out the results alone: one row each."""
        unit = self.results[0].unit
        header = ["loader", f"{unit}/s", "slowest-fastest", "first epoch", "settings"]
        rows = [_row(result) for result in self.results]
        if len(self.results) > 1:
            header.insert(4, f"against {self.baseline}")
            base = self.result(self.baseline)
            for row, result in zip(rows, self.results, strict=True):
                row.insert(4, "1 (baseline)" if result is base else _ratio(compare(result, base)))
        return Table(tuple(header), tuple(tuple(row) for row in rows))

    def to_dict(self) -> dict[str, Any]:
        """All that the card records, raw seconds included, as plain JSON values."""
        return {
            "kind": "timing card",
            "schema": SCHEMA,
            "title": self.title,
            "date": self.date,
            "data_fingerprint": self.data_fingerprint,
            "baseline": self.baseline,
            "machine": asdict(self.machine),
            "results": [result.to_dict() for result in self.results],
            "published": [asdict(row) for row in self.published],
        }

    @classmethod
    def from_dict(cls, recorded: Mapping[str, Any]) -> "TimingCard":
        """Undo :meth:`to_dict`.

        Raises:
            ValueError: it is no timing card, one of another schema, or a damaged one.
        """
        if not isinstance(recorded, Mapping) or recorded.get("kind") != "timing card":
            raise ValueError("not a timing card")
        if recorded.get("schema") != SCHEMA:
            raise ValueError(
                f"a timing card of schema {recorded.get('schema')!r}; this version reads {SCHEMA}"
            )
        try:
            return cls(
                results=[Throughput.from_dict(result) for result in recorded["results"]],
                data_fingerprint=recorded["data_fingerprint"],
                title=recorded["title"],
                baseline=recorded["baseline"],
                published=[PublishedFigure(**row) for row in recorded["published"]],
                machine=Machine.from_dict(recorded["machine"]),
                date=recorded["date"],
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"a damaged timing card: {type(error).__name__}: {error}") from error

    def to_json(self) -> str:
        """Write the card as JSON text."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "TimingCard":
        """Read what :meth:`to_json` wrote.

        Raises:
            ValueError: the text is not JSON or not a timing card.
        """
        return cls.from_dict(json.loads(text))

    def __str__(self) -> str:
        return to_text(self.blocks())

    __repr__ = __str__  # what a terminal shows for the value of a line

    def _repr_html_(self) -> str:
        return to_html(self.blocks())


def speedup(card: TimingCard, label: str, over: str) -> Speedup:
    """Say how many times as fast one result of a card is as another; used from lesson 01 on.

    Args:
        card: both results stand on it, so they are comparable.
        label: the result that is above the fraction line: 2.1x means that this one is faster.
        over: the one below it.

    Returns:
        The ratio with its spread, printed as ``2.1x (1.9-2.3)``.

    Raises:
        ValueError: one of the labels is not on the card.
    """
    return compare(card.result(label), card.result(over))


def when(date: str) -> str:
    """Write an ISO 8601 time for people, in UTC."""
    return datetime.fromisoformat(date).astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def _row(result: Throughput) -> list[str]:
    low, high = result.spread
    settings = ", ".join(f"{name}={value}" for name, value in result.settings.items())
    return [
        result.label,
        figure(result.rate),
        f"{figure(low)}-{figure(high)}",
        f"{figure(result.first_epoch_seconds)} s",
        settings or "none given",
    ]


def _ratio(ratio: Speedup) -> str:
    return str(ratio) if ratio.clear else f"{ratio}, no clear difference"


def _circumstances(card: TimingCard) -> tuple[tuple[str, str], ...]:
    first = card.results[0]
    count = next((result.data_count for result in card.results if result.data_count is not None), None)
    data = f"set {card.data_fingerprint}"
    if count is not None:
        data += f" of {count:,}"
    batches = sorted({result.end_point.batch_size for result in card.results})
    return (
        ("data", f"{data}; {first.samples:,} {first.unit} arrived in every epoch"),
        ("batches", f"{first.end_point}; B up to {', '.join(map(str, batches))}"),
        (
            "protocol",
            f"warm-up first (its first epoch apart), then median of {_repetitions(card.results)} epochs; "
            f"{card.results[0].cores} cores allowed",
        ),
    )


def _repetitions(results: Sequence[Throughput]) -> str:
    return " or ".join(str(number) for number in sorted({len(result.seconds) for result in results}))


def _machine_facts(card: TimingCard) -> tuple[tuple[str, str], ...]:
    machine = card.machine
    versions = ", ".join(f"{name} {version}" for name, version in machine.libraries.items())
    cuda = f"CUDA {machine.cuda} in PyTorch" if machine.cuda else "PyTorch without CUDA"
    project = " ".join(
        filter(None, [machine.project, f"(commit {machine.commit})" if machine.commit else ""])
    )
    return (
        ("GPU", _gpu(card)),
        ("driver", f"{machine.driver}, {cuda}" if machine.driver else f"none ({cuda})"),
        (
            "processor",
            f"{machine.cpu}, {machine.cores} of {machine.cores_installed} cores, "
            f"{machine.memory_bytes / GIB:.0f} GiB memory",
        ),
        ("versions", f"Python {machine.python}, {versions}, {machine.system}"),
        ("recorded", when(card.date) + (f", project {project}" if project else "")),
    )


def _gpu(card: TimingCard) -> str:
    gpus = ", ".join(map(str, card.machine.gpus))
    if not gpus:
        return "no GPU: CPU run"
    if all(result.device == "cpu" for result in card.results):
        return f"{gpus}: present but not used, CPU run"
    return gpus
