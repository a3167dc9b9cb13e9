"""The picture that stays in the notebook when the cell has ended: one PNG by matplotlib.

Drawn on a canvas of its own and in matplotlib's default style, so that neither the notebook's
backend nor its style changes it, and no figure is left open. matplotlib is loaded here, at the end,
and not while the watched program runs.
"""

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tutorial_utils.monitor.channels import spell
from tutorial_utils.monitor.layout import (
    Panel,
    broken_at_gaps,
    fitted,
    panels,
    phase_rows,
    thin,
    time_ticks,
    wrapped,
)
from tutorial_utils.monitor.trace import Phase, Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 800
"""Width in the notebook's pixels; the PNG has twice as many, for sharp screens."""

_INCH = 100
_COLUMNS = 1200
_LETTERS = 96
_NAME_ROW = 0.13


def render(trace: Trace) -> bytes:
    """Draw a finished recording, the phases shaded and each with its mean.

    Args:
        trace: at least one channel.

    Returns:
        A PNG, 1600 pixels wide.
    """
    import matplotlib.style
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    made = panels(trace, since=0)
    shares = [2.6 if index == 0 else 1.0 for index in range(len(made))]
    height = 0.5 * sum(shares) + 0.3 * len(made) + 0.6 + 0.16 * len(wrapped(trace.notes))
    with matplotlib.style.context("default", after_reset=True):
        figure = Figure(figsize=(WIDTH / _INCH, height), dpi=2 * _INCH, layout="constrained")
        canvas = FigureCanvasAgg(figure)
        axes = figure.subplots(len(made), 1, sharex=True, squeeze=False, height_ratios=shares)[:, 0]
        for panel, ax in zip(made, axes, strict=True):
            _draw(panel, trace, ax)
        _mark_phases(trace, made[0], axes)
        _label(figure, trace, axes)
        picture = io.BytesIO()
        canvas.print_png(picture)
    return picture.getvalue()


def _draw(panel: Panel, trace: Trace, ax: "Axes") -> None:
    alone = len({line.channel.device for line in panel.lines}) == 1
    for line in panel.lines:
        columns = broken_at_gaps(thin(trace.times, trace.series[line.channel.label], _COLUMNS))
        ax.plot(columns.times, columns.means, color=line.colour, lw=line.width, ls=_dashes(line.dashed))
        if alone and len(trace.times) > _COLUMNS:
            ax.fill_between(columns.times, columns.lows, columns.highs, color=line.colour, alpha=0.18, lw=0)
    ax.set_ylim(0, panel.top * 1.04)
    ax.set_yticks(np.linspace(0, panel.top, 5 if panel.title == "busy" else 3))
    ax.set_title(f"{panel.title}, {panel.unit}", loc="left", fontsize=8, color="0.35", pad=3)
    ax.legend(
        [_key(line.colour, line.dashed) for line, _ in panel.legend],
        [text for _, text in panel.legend],
        title="peak" if panel.unit == "GiB" else "mean",
        loc="upper left",
        bbox_to_anchor=(1.005, 1.12),
        frameon=False,
        fontsize=7.5,
        title_fontsize=7,
        alignment="left",
        borderpad=0,
        handlelength=1.6,
        labelspacing=0.3,
    )


def _dashes(dashed: bool) -> str | tuple[int, tuple[float, float]]:
    return (0, (4, 2)) if dashed else "-"


def _key(colour: str, dashed: bool) -> object:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=colour, lw=2, ls=_dashes(dashed))


def _mark_phases(trace: Trace, busy: Panel, axes: Sequence["Axes"]) -> None:
    """Shade the phases; above the first panel name each, with the mean of what that panel is about."""
    rows = phase_rows(trace.phases)
    first, lowest = axes[0], max(rows, default=-1) + 1
    first.set_ylim(0, busy.top * (1.04 + _NAME_ROW * lowest))
    span = max(trace.duration, 1.0)
    for phase, row in zip(trace.phases, rows, strict=True):
        for ax in axes:
            ax.axvspan(phase.start, phase.end, color="0.5", alpha=0.1, lw=0)
            ax.axvline(phase.start, color="0.4", lw=0.7, ls=":")
        mean = spell(_mark_mean(trace, busy, phase, first), busy.unit)
        later = [
            p.start for p, r in zip(trace.phases, rows, strict=True) if r == row and p.start > phase.start
        ]
        room = int(_LETTERS * (min([*later, span]) - phase.start) / span) - 1
        text = " ".join(filter(None, [fitted(phase.name, room - len(mean) - 1), mean]))
        if len(text) <= room:
            height = busy.top * (1.06 + _NAME_ROW * (lowest - row - 1))
            first.text(phase.start + 0.004 * span, height, text, fontsize=7.5, parse_math=False)


def _mark_mean(trace: Trace, busy: Panel, phase: Phase, ax: "Axes") -> float:
    """Draw the mean of a panel's first figure over one phase, of all GPUs together; return it."""
    wanted = busy.lines[-1].channel.quantity  # in front: what the panel is about
    alike = [line for line in busy.lines if line.channel.quantity == wanted]
    inside = (trace.times >= phase.start) & (trace.times <= phase.end)
    values = np.concatenate([trace.series[line.channel.label][inside] for line in alike])
    known = values[~np.isnan(values)]
    if not len(known):
        return float("nan")
    colour = alike[0].colour if len(alike) == 1 else "0.2"
    ax.hlines(known.mean(), phase.start, phase.end, color=colour, lw=3, alpha=0.45)
    return float(known.mean())


def _label(figure: "Figure", trace: Trace, axes: Sequence["Axes"]) -> None:
    for ax in axes:
        ax.grid(axis="y", color="0.88", lw=0.7)
        ax.set_axisbelow(True)
        ax.tick_params(labelsize=7.5, length=2)
        ax.spines[["top", "right"]].set_visible(False)
    span = max(trace.duration, 1.0)
    ticks = time_ticks(span)
    axes[-1].set_xlim(0, span)
    axes[-1].set_xticks([second for second, _ in ticks], [text for _, text in ticks])
    figure.suptitle(trace.title, x=0.01, ha="left", fontsize=10, fontweight="bold", parse_math=False)
    figure.text(0.99, 0.985, trace.source, ha="right", va="top", fontsize=8, color="0.35", parse_math=False)
    if trace.notes:
        notes = "\n".join(wrapped(trace.notes))
        figure.supxlabel(notes, x=0.01, ha="left", fontsize=7.5, color="#b45309", parse_math=False)
