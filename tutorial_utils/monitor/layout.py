"""What the live and the static picture share: panels, colours, and thinning to a picture's width."""

import textwrap
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tutorial_utils.monitor.channels import Channel, spell
from tutorial_utils.monitor.trace import Phase, Trace

# Middle tones, legible on white and on JupyterLab's dark grey.
COLOURS = ("#5b9f10", "#3d85e0", "#e07b28", "#b45fd0", "#1fa396", "#d84a62", "#b8921a", "#9c6b4f")
GREY = "#8a8a8a"

_PANELS = (
    ("busy", ("SM", "CPU", "CPU of this program")),
    ("decoding engines", ("decoder", "JPEG engine")),
    ("memory in use", ("memory", "RAM")),
    ("power", ("power",)),
)
_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)


class Line(NamedTuple):
    """How one channel is drawn; ``dashed`` tells apart the channels of one GPU within a panel."""

    channel: Channel
    colour: str
    width: float
    dashed: bool


class Panel(NamedTuple):
    """One set of axes: its title, unit, the value at its top, its lines from back to front."""

    title: str
    unit: str
    top: float
    lines: tuple[Line, ...]
    legend: tuple[tuple[Line, str], ...]


class Columns(NamedTuple):
    """A series thinned to the width of a picture: float64 (columns,) each, NaN where nothing is known."""

    times: np.ndarray
    lows: np.ndarray
    means: np.ndarray
    highs: np.ndarray


def thin(times: np.ndarray, values: np.ndarray, columns: int) -> Columns:
    """Gather the samples into equal groups of neighbours, so that an hour costs no more than a minute.

    Args:
        times: float64 (samples,), ascending.
        values: float64 (samples,), NaN where there is none.
        columns: at most so many groups, at least 1.

    Returns:
        Mean time of each group, and the least, mean and greatest of its values. No maximum or
        minimum is lost; with no more samples than columns every sample stands by itself.
    """
    size = max(1, -(-len(values) // columns))
    starts = np.arange(0, len(values), size)
    if not len(starts):
        return Columns(*(np.empty(0) for _ in range(4)))
    known = ~np.isnan(values)
    counts = np.add.reduceat(known, starts, dtype=float)
    lengths = np.diff(np.append(starts, len(values)))
    with np.errstate(invalid="ignore"):  # a group without a value has the mean 0 / 0, and is to have it
        return Columns(
            np.add.reduceat(times, starts) / lengths,
            np.fmin.reduceat(values, starts),
            np.add.reduceat(np.where(known, values, 0.0), starts) / counts,
            np.fmax.reduceat(values, starts),
        )


def broken_at_gaps(columns: Columns) -> Columns:
    """Put a NaN where the recorder was silent, so that no line is drawn across the silence."""
    steps = np.diff(columns.times)
    if not len(steps):
        return columns
    gaps = np.flatnonzero(steps > max(1.0, 4 * float(np.sort(steps)[len(steps) // 2]))) + 1
    times = np.insert(columns.times, gaps, (columns.times[gaps - 1] + columns.times[gaps]) / 2)
    return Columns(times, *(np.insert(values, gaps, np.nan) for values in columns[1:]))


def panels(trace: Trace, since: float) -> list[Panel]:
    """Group the channels into panels, top to bottom.

    Args:
        trace: what was recorded.
        since: the legend's figures are those of the samples from this second on.

    Returns:
        First how busy the device and the CPU were, then the decoding engines, memory and power,
        each only if it was recorded.
    """
    made = []
    for title, quantities in _PANELS:
        channels = [channel for channel in trace.channels if channel.quantity in quantities]
        if channels:
            # The first channel is the one to look at: it is drawn last, over the others.
            lines = tuple(_line(channel, trace) for channel in reversed(channels))
            made.append(
                Panel(title, channels[0].unit, _top(channels, trace), lines, _legend(lines, trace, since))
            )
    return made


def time_ticks(duration: float, most: int = 9) -> list[tuple[float, str]]:
    """Choose round seconds for the time axis, with their text: ``40 s``, ``2:30``, ``1 h 20``."""
    step = next(
        (each for each in _STEPS if duration / each < most),
        _STEPS[-1] * (1 + duration // (most * _STEPS[-1])),
    )
    return [(second, _clock(second, duration)) for second in np.arange(0, duration + 1e-9, step)]


def _clock(second: float, duration: float) -> str:
    if duration < 120:
        return f"{second:.0f} s"
    minutes, seconds = divmod(int(second), 60)
    if duration < 7200:
        return f"{minutes}:{seconds:02d}"
    return f"{minutes // 60} h {minutes % 60:02d}"


def _line(channel: Channel, trace: Trace) -> Line:
    on_gpu = trace.channels[0].device is not None
    if channel.device is not None:
        colour = COLOURS[channel.device % len(COLOURS)]
        return Line(
            channel, colour, 1.6 if channel.quantity == "SM" else 1.2, channel.quantity == "JPEG engine"
        )
    if on_gpu:
        return Line(channel, GREY, 1.0, False)
    return Line(channel, COLOURS[2 if channel.quantity == "CPU of this program" else 1], 1.6, False)


def _top(channels: Sequence[Channel], trace: Trace) -> float:
    """100 for shares; else the greatest value so far, rounded up to a round number."""
    if channels[0].unit == "%":
        return 100.0
    greatest = max(
        (float(np.nanmax(v)) for c in channels if not np.isnan(v := trace.series[c.label]).all()), default=0
    )
    power = 10.0 ** np.floor(np.log10(max(greatest, 1.0)))
    return float(next(step * power for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if step * power >= greatest))


def _legend(lines: Sequence[Line], trace: Trace, since: float) -> tuple[tuple[Line, str], ...]:
    """One entry a line with its figure; where several GPUs share a quantity other than SM, their range."""
    entries: list[tuple[Line, str]] = []
    for quantity in dict.fromkeys(line.channel.quantity for line in reversed(lines)):
        alike = [line for line in reversed(lines) if line.channel.quantity == quantity]
        if len(alike) == 1 or quantity == "SM":
            entries += [(line, f"{line.channel.label} {_figures([line], trace, since)}") for line in alike]
        else:
            entries.append((alike[0]._replace(colour=GREY), f"{quantity} {_figures(alike, trace, since)}"))
    return tuple(entries)


def _figures(lines: Sequence[Line], trace: Trace, since: float) -> str:
    """Spell the mean (of memory the peak) since then: one figure, or the range over several GPUs."""
    channel = lines[0].channel
    first = int(np.searchsorted(trace.times, since))
    reduce = np.max if channel.unit == "GiB" else np.mean
    recent = [trace.series[line.channel.label][first:] for line in lines]
    values = [float(reduce(known)) for each in recent if len(known := each[~np.isnan(each)])]
    if not values:
        return spell(np.nan, channel.unit)
    low, high = spell(min(values), channel.unit), spell(max(values), channel.unit)
    words = high if low == high else f"{low.removesuffix(channel.unit).strip()}–{high}"
    if channel.unit == "%" or channel.full_scale is None:
        return words
    return f"{words.removesuffix(channel.unit).strip()} of {channel.full_scale:.0f} {channel.unit}"


def phase_rows(phases: Sequence[Phase]) -> list[int]:
    """Line in which each phase's name stands: 0, and one lower for every phase it lies within."""
    return [sum(other.start < phase.start < other.end for other in phases) for phase in phases]


def fitted(name: str, letters: int) -> str:
    """Cut a name to the room there is; nothing is left if that is too little to be read."""
    if len(name) <= letters:
        return name
    if letters < 5:
        return ""
    tail = letters // 2  # both ends are kept, because phases are mostly told apart by a number at the end
    return f"{name[: letters - 1 - tail]}…{name[-tail:]}"


def wrapped(notes: Sequence[str], letters: int = 125, most: int = 4) -> list[str]:
    """Break the latest notes into lines that fit the picture."""
    lines = [line for note in notes for line in textwrap.wrap(note, letters)]
    return lines[-most:]
