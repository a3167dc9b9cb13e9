"""Which sample ids each shard saw in which epoch: coverage and duplicates as a table and a picture.

A loader can deliver the right NUMBER of samples and still leave some out and give others twice.
Counting does not notice; a ledger of ids does. Lesson 03 shows with it what a last batch without padding
loses, lesson 07 what several GPUs see together. It stands alone: copy the file into your own project::

    ledger = Ledger(total=len(files))
    for epoch in range(20):
        ledger.record([], epoch=epoch, shard=rank)   # an epoch that brings nothing is seen as well
        for images, ids in loader:                   # the sample's number, given as its label
            ledger.record(ids, epoch=epoch, shard=rank)
    ledger                                           # the table, in a notebook
    ledger.figure()                                  # the picture
"""

import json
from collections import defaultdict
from collections.abc import Iterable
from operator import index
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch

SCHEMA = 1
RULE = "1px solid rgba(127, 127, 127, 0.45)"
# Paul Tol's "light" colours, so that the red of what is missing stands out of them.
SHARD_COLOURS = ("#77AADD", "#EEDD88", "#44BB99", "#BBCC33", "#99DDFF", "#DDDDDD")
MISSING_COLOUR = "#E0201B"
REPEATED_COLOUR = "#000000"
MOST_COLUMNS = 800  # one picture column a sample up to here, then equal bins of samples
BODY_ROWS = 6  # picture rows an epoch, so that a mark can fill a part of its cell
MARK_ROWS = 2


class Ledger:
    """Ids of samples as they arrived, by epoch and shard; shown by a notebook as a table.

    Attributes:
        total: how many samples the data set has; ids run from 0 to ``total - 1``.
    """

    def __init__(self, total: int) -> None:
        """Open an empty ledger.

        Args:
            total: samples in the whole data set, over all shards; at least 1.

        Raises:
            TypeError: the total is no integer.
            ValueError: the total is below 1.
        """
        self.total = _integer(total, "total", least=1)
        self._batches: defaultdict[tuple[int, int], list[np.ndarray]] = defaultdict(list)

    def record(self, ids: Any, *, epoch: int, shard: int = 0) -> None:
        """Write down what one batch brought.

        Args:
            ids: the samples' numbers: an int, a sequence, a NumPy array or a torch tensor on any
                device, of any integer dtype and shape (B,), (B, 1) or (). Zero of them are allowed:
                they say that the shard took part in the epoch.
            epoch: number of the epoch, from 0 on.
            shard: number of the shard (the rank that got the batch), from 0 on.

        Raises:
            TypeError: the ids, the epoch or the shard are no integers.
            ValueError: an id outside 0 to ``total - 1``, ids of another shape, a negative epoch or
                shard. Nothing of the batch is recorded then.
        """
        key = _integer(epoch, "epoch"), _integer(shard, "shard")
        batch = _as_ids(ids)
        if len(wrong := batch[(batch < 0) | (batch >= self.total)]):
            raise ValueError(
                f"epoch {key[0]}, shard {key[1]}: id {wrong[0]} is outside of 0..{self.total - 1}. "
                "Give every sample its own number as its label, and Ledger(total) the number of samples "
                "of the whole data set"
            )
        self._batches[key].append(batch.astype(np.int64))

    @property
    def epochs(self) -> tuple[int, ...]:
        """Numbers of all epochs from the first recorded to the last; one in between may be empty."""
        recorded = [epoch for epoch, _ in self._batches]
        return tuple(range(min(recorded), max(recorded) + 1)) if recorded else ()

    @property
    def shards(self) -> tuple[int, ...]:
        """Numbers of the shards that recorded anything, in order."""
        return tuple(sorted({shard for _, shard in self._batches}))

    def ids(self, epoch: int, shard: int) -> np.ndarray:
        """Give the ids that a shard saw in an epoch, int64 of shape (N,), in the order they arrived."""
        return np.concatenate([np.zeros(0, np.int64), *self._batches.get((epoch, shard), [])])

    def times_seen(self, epoch: int, shard: int | None = None) -> np.ndarray:
        """Count how often each sample was seen: int64 of shape (total,).

        Args:
            epoch: number of the epoch.
            shard: one shard; None counts over all.
        """
        shards = self.shards if shard is None else (shard,)
        seen = (np.bincount(self.ids(epoch, each), minlength=self.total) for each in shards)
        return sum(seen, start=np.zeros(self.total, np.int64))

    def coverage(self, epoch: int) -> float:
        """Give the share of all samples that the epoch showed at least once, from 0 to 1."""
        return np.count_nonzero(self.times_seen(epoch)) / self.total

    def missing(self, epoch: int) -> tuple[int, ...]:
        """Name the samples that no shard saw in the epoch, in order."""
        return tuple(np.flatnonzero(self.times_seen(epoch) == 0).tolist())

    def duplicates(self, epoch: int) -> dict[int, int]:
        """Name the samples that were seen more than once in the epoch, each with how often."""
        counts = self.times_seen(epoch)
        return {int(sample): int(counts[sample]) for sample in np.flatnonzero(counts > 1)}

    def verdict(self, epoch: int) -> str:
        """Say in words whether the epoch showed each sample once, or what is wrong with it."""
        counts = self.times_seen(epoch)
        if not counts.any():
            return "nothing was seen"
        missing, repeated = np.count_nonzero(counts == 0), np.count_nonzero(counts > 1)
        complaints = [f"{missing:,} missing"] * bool(missing)
        complaints += [f"{repeated:,} seen more than once"] * bool(repeated)
        return ", ".join(complaints) or "each sample once"

    @property
    def exactly_once(self) -> bool:
        """Whether every epoch from the first to the last showed each sample once (False if none did)."""
        return bool(self.epochs) and all((self.times_seen(epoch) == 1).all() for epoch in self.epochs)

    def to_json(self) -> str:
        """Write the ledger as JSON, to be merged with those of other processes; same ledger, same text."""
        records = [
            {"epoch": epoch, "shard": shard, "ids": self.ids(epoch, shard).tolist()}
            for epoch, shard in sorted(self._batches)
        ]
        return json.dumps({"schema": SCHEMA, "total": self.total, "records": records})

    @classmethod
    def from_json(cls, text: str) -> "Ledger":
        """Read what :meth:`to_json` wrote.

        Raises:
            ValueError: the text is no ledger, is cut off, or is one of another version.
        """
        try:
            content = json.loads(text)
            if content["schema"] != SCHEMA:
                raise ValueError(f"it has schema {content['schema']!r}, this version reads {SCHEMA}")
            ledger = cls(content["total"])
            for record in content["records"]:
                ledger.record(record["ids"], epoch=record["epoch"], shard=record["shard"])
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"this is no whole ledger written by Ledger.to_json: {error}") from error
        return ledger

    @classmethod
    def merge(cls, ledgers: Iterable["Ledger"]) -> "Ledger":
        """Join the ledgers of several processes into a new one.

        Two of them may hold the same epoch of the same shard, as a run and its resumption do: their
        samples are added up. The table and the picture do not depend on the order of the ledgers;
        only the order of :meth:`ids` within such a shared epoch does.

        Raises:
            ValueError: there are none, or they are of data sets of different size.
        """
        ledgers = tuple(ledgers)
        totals = sorted({ledger.total for ledger in ledgers})
        if len(totals) != 1:
            sizes = " and ".join(map(str, totals)) or "none at all"
            raise ValueError(f"ledgers of one data set can be merged; these have totals of {sizes}")
        merged = cls(totals[0])
        for ledger in ledgers:
            for key, batches in ledger._batches.items():
                merged._batches[key].extend(batches)
        return merged

    def __repr__(self) -> str:
        return f"<Ledger of {self.total:,} samples: {len(self.epochs)} epochs, {len(self.shards)} shards>"

    def rows(self) -> list[tuple[str, ...]]:
        """Give the table, its header first; ``duplicates`` counts the samples seen more than once."""
        header = ("epoch", *(f"shard {shard}" for shard in self.shards))
        rows = [(*header, "seen", "unique", "missing", "duplicates", "verdict")]
        for epoch in self.epochs:
            counts = self.times_seen(epoch)
            numbers = [len(self.ids(epoch, shard)) for shard in self.shards]
            numbers += [counts.sum(), *(np.count_nonzero(part) for part in (counts, counts == 0, counts > 1))]
            rows.append((str(epoch), *(f"{number:,}" for number in numbers), self.verdict(epoch)))
        return rows

    def __str__(self) -> str:
        rows = self.rows()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join([*(cell.rjust(width) for cell, width in zip(row[:-1], widths, strict=False)), row[-1]])
            for row in rows
        ]
        return "\n".join([f"{self.total:,} samples", *lines])

    def _repr_html_(self) -> str:
        header, *rows = self.rows()
        head = "".join(f'<th style="{_cell(cell)}; border-bottom: {RULE}">{cell}</th>' for cell in header)
        body = "".join(
            '<tr style="background: transparent">'
            + "".join(
                f'<td style="{_cell(name, cell)}">{cell}</td>' for name, cell in zip(header, row, strict=True)
            )
            + "</tr>"
            for row in rows
        )
        return (
            f'<div style="color: inherit">{self.total:,} samples'
            '<table style="color: inherit; border-collapse: collapse; margin: 0.3em 0">'
            f'<tr style="background: transparent">{head}</tr>{body}</table></div>'
        )

    def figure(self) -> Figure:
        """Draw the epochs as rows: the colour is the shard that saw the sample.

        A missing sample is red and one seen more than once has a black foot. Beyond 800 samples a
        column is a bin of several: shards mix their colours, and a bin with any missing sample keeps
        a red top, however few they are.

        Returns:
            A figure for the last line of a cell.

        Raises:
            ValueError: nothing has been recorded.
        """
        if not self.epochs:
            raise ValueError("the ledger is empty: record() some ids first")
        figure = plt.figure(figsize=(10, min(9, 1.5 + 0.27 * len(self.epochs))), layout="constrained")
        plt.close(figure)  # shown once, as the value of the cell
        axis = figure.subplots()
        picture = np.concatenate([self._stripe(epoch) for epoch in self.epochs])
        extent = (-0.5, self.total - 0.5, self.epochs[-1] + 0.5, self.epochs[0] - 0.5)
        axis.imshow(picture, extent=extent, aspect="auto", interpolation="nearest")
        axis.set(xlabel="sample id", ylabel="epoch")
        axis.xaxis.set_major_formatter("{x:,.0f}")
        axis.locator_params(integer=True)
        axis.spines[:].set_visible(False)
        self._write_unique_counts(axis.secondary_yaxis("right"))
        figure.legend(handles=self._legend(), loc="outside upper left", ncols=8, frameon=False)
        return figure

    def _stripe(self, epoch: int) -> np.ndarray:
        """Draw one epoch: float RGB of shape (``BODY_ROWS`` + 1, columns, 3), its last row a white gap."""
        bins = min(self.total, MOST_COLUMNS)
        edges = np.arange(bins) * self.total // bins
        by_shard = np.array([np.add.reduceat(self.times_seen(epoch, each), edges) for each in self.shards])
        mixed = by_shard.T @ _colours(len(self.shards)) / np.maximum(by_shard.sum(0), 1)[:, None]
        counts = self.times_seen(epoch)
        absent = np.add.reduceat(counts == 0, edges, dtype=float) / np.diff([*edges, self.total])
        # The share of the bin that is missing is red, and never less than a mark that the eye can find.
        red = np.where(absent > 0, np.maximum(np.ceil(absent * BODY_ROWS), MARK_ROWS), 0)
        black = np.where(np.logical_or.reduceat(counts > 1, edges), MARK_ROWS, 0)
        row = np.arange(BODY_ROWS)[:, None]
        body = np.where((row < red)[..., None], to_rgb(MISSING_COLOUR), mixed)
        body = np.where((row >= BODY_ROWS - black)[..., None], to_rgb(REPEATED_COLOUR), body)
        return np.concatenate([body, np.ones((1, bins, 3))])

    def _write_unique_counts(self, axis: Any) -> None:
        step = -(-len(self.epochs) // 30)
        shown = self.epochs[::step]
        unique = [np.count_nonzero(self.times_seen(epoch)) for epoch in shown]
        axis.set_yticks(shown, [f"{count:,}" for count in unique])
        axis.set_ylabel(f"different samples seen, of {self.total:,}")
        axis.tick_params(length=0)
        axis.spines[:].set_visible(False)
        for label, count in zip(axis.get_yticklabels(), unique, strict=True):
            label.set_color(MISSING_COLOUR if count < self.total else "black")

    def _legend(self) -> list[Patch]:
        colours = _colours(len(self.shards))
        shown = sorted({*np.linspace(0, len(self.shards) - 1, min(len(self.shards), 6)).round().astype(int)})
        labels = {f"shard {self.shards[each]}": colours[each] for each in shown}
        labels |= {"missing": MISSING_COLOUR, "seen more than once": REPEATED_COLOUR}
        return [Patch(color=colour, label=label) for label, colour in labels.items()]


def _integer(value: Any, name: str, least: int = 0) -> int:
    try:
        number = index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {value!r}") from None
    if number < least:
        raise ValueError(f"{name} must be {least} or more, got {number}")
    return number


def _as_ids(ids: Any) -> np.ndarray:
    array = np.asarray(ids.detach().cpu() if hasattr(ids, "detach") else ids)
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"ids must be integers, got {array.dtype} of shape {array.shape}")
    if array.ndim > 2 or (array.ndim == 2 and array.shape[1] != 1):
        raise ValueError(f"ids must have one number a sample, shape (B,) or (B, 1); got {array.shape}")
    return array.reshape(-1)


def _cell(column: str, text: str = "") -> str:
    """Style a cell: numbers to the right, what is wrong in bold."""
    align = "left" if column == "verdict" else "right"
    wrong = column == "verdict" and text not in ("", "each sample once")
    return f"text-align: {align}; padding: 2px 12px 2px 0{'; font-weight: bold' if wrong else ''}"


def _colours(count: int) -> np.ndarray:
    """Give each shard a colour: float RGB of shape (count, 3)."""
    if count <= len(SHARD_COLOURS):
        return np.array([to_rgb(colour) for colour in SHARD_COLOURS[:count]])
    return plt.get_cmap("viridis")(np.linspace(0.05, 0.95, count))[:, :3]
