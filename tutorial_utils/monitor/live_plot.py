"""The live picture: a small SVG written by hand, because a frame must cost next to nothing.

A matplotlib figure costs some 30 ms a frame, taken from the training under watch; this costs about
one. The text takes the colour of the page around it, so the picture suits light and dark themes.
"""

from collections.abc import Sequence
from html import escape

import numpy as np

from tutorial_utils.monitor.layout import (
    Line,
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

WIDTH = 800
_LEFT, _RIGHT = 40, 214
_PLOT = WIDTH - _LEFT - _RIGHT
_HEADER, _TITLE, _GAP, _AXIS, _ROW, _NOTE, _NAME = 30, 16, 8, 22, 14, 15, 12
_POINTS = 4000
_LETTER = 5.6
_MUTED = 'opacity=".7"'
_FAINT = 'stroke="currentColor" stroke-opacity=".45"'


def render(trace: Trace) -> str:
    """Draw the recording so far.

    Args:
        trace: what was recorded; an open phase ends at ``trace.duration``.

    Returns:
        An SVG element to put into HTML: 800 units wide, at most some 60 kB however long the recording.
    """
    made = panels(trace, since=trace.duration - 1)
    rows = phase_rows(trace.phases)
    names = _NAME * (max(rows) + 1) if rows else 0
    span = max(trace.duration, 1.0)
    heights = [_height(panel, first=index == 0) for index, panel in enumerate(made)]
    lines = sum(len(panel.lines) for panel in made)
    columns = max(60, min(_PLOT // 3, _POINTS // max(lines, 1)))
    notes = wrapped(trace.notes)
    total = _HEADER + names + sum(heights) + len(made) * (_TITLE + _GAP) + _AXIS + _NOTE * len(notes)
    parts = [_opening(trace, total)]
    top = _HEADER + names
    for panel, height in zip(made, heights, strict=True):
        parts.append(_panel(panel, trace, top + _TITLE, height, span, columns))
        top += _TITLE + height + _GAP
    if made:
        parts.append(_phases(trace.phases, rows, _HEADER, top - _GAP, span))
        parts.append(_time_axis(span, top - _GAP))
    for number, note in enumerate(notes):
        y = total - _NOTE * (len(notes) - number) + 9
        parts.append(f'<text x="{_LEFT}" y="{y}" fill="#d9730d">{escape(note)}</text>')
    parts.append("</svg>")
    return "".join(parts)


def _opening(trace: Trace, height: int) -> str:
    minutes, seconds = divmod(int(trace.duration), 60)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tutorial-monitor" viewBox="0 0 {WIDTH} {height}" '
        f'data-seconds="{trace.duration:.1f}" role="img" aria-label="{escape(trace.summary(), quote=True)}" '
        f'style="width:100%;max-width:{WIDTH}px;height:auto;display:block" fill="currentColor" '
        'font-family="system-ui,-apple-system,Segoe UI,Helvetica,Arial,sans-serif" font-size="11">'
        f'<text x="{_LEFT}" y="18" font-size="13" font-weight="600">{escape(trace.title)}</text>'
        f'<text x="{WIDTH - 4}" y="18" text-anchor="end" {_MUTED}>'
        f"{escape(trace.source)} · {minutes}:{seconds:02d}</text>"
    )


def _height(panel: Panel, first: bool) -> int:
    return max(130 if first else 50, _ROW * len(panel.legend))


def _panel(panel: Panel, trace: Trace, top: int, height: int, span: float, columns: int) -> str:
    parts = [f'<text x="{_LEFT}" y="{top - 4}" {_MUTED}>{panel.title}, {panel.unit}</text>']
    for share in (0, 0.25, 0.5, 0.75, 1) if height >= 100 else (0, 1):
        y = top + height * (1 - share)
        parts.append(
            f'<path d="M{_LEFT} {y:.1f}h{_PLOT}" stroke="currentColor" stroke-opacity=".18"/>'
            f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" {_MUTED} text-anchor="end">{panel.top * share:g}</text>'
        )
    alone = len({line.channel.device for line in panel.lines}) == 1
    for line in panel.lines:
        parts.append(_curve(line, trace, panel.top, top, height, span, columns, band=alone))
    for number, (line, text) in enumerate(panel.legend):
        x, y = WIDTH - _RIGHT + 10, top + 6 + number * _ROW
        parts.append(f'<path d="M{x} {y}h14" {_stroke(line, 2.4)}/>')
        parts.append(f'<text x="{x + 19}" y="{y + 4}">{escape(text)}</text>')
    return "".join(parts)


def _curve(
    line: Line, trace: Trace, scale: float, top: int, height: int, span: float, columns: int, band: bool
) -> str:
    thinned = broken_at_gaps(thin(trace.times, trace.series[line.channel.label], columns))
    xs = _LEFT + _PLOT * np.clip(thinned.times / span, 0, 1)

    def down(values: np.ndarray) -> np.ndarray:
        return top + height * (1 - np.clip(values / scale, 0, 1))

    drawn = (
        f'<path d="{_path(xs, down(thinned.means))}" {_stroke(line, line.width)} stroke-linejoin="round"/>'
    )
    if not band or len(trace.times) <= columns:
        return drawn
    known = ~np.isnan(thinned.means)
    there, back = (
        _path(xs[known], down(thinned.highs[known])),
        _path(xs[known][::-1], down(thinned.lows[known])[::-1]),
    )
    return f'<path d="{there}{back.replace("M", "L", 1)}z" fill="{line.colour}" fill-opacity=".18"/>{drawn}'


def _path(xs: np.ndarray, ys: np.ndarray) -> str:
    pieces, pen = [], "M"
    for x, y in zip(xs.tolist(), ys.tolist(), strict=True):
        if y != y:  # NaN: lift the pen
            pen = "M"
            continue
        pieces.append(f"{pen}{x:.1f} {y:.1f}")
        pen = "L"
    return "".join(pieces)


def _stroke(line: Line, width: float) -> str:
    dashes = ' stroke-dasharray="4 2.5"' if line.dashed else ""
    return f'fill="none" stroke="{line.colour}" stroke-width="{width}"{dashes}'


def _phases(phases: Sequence[Phase], rows: Sequence[int], top: int, bottom: int, span: float) -> str:
    """Shade each phase and name it where there is room; phases within phases go a line lower."""
    parts = []
    for phase, row in zip(phases, rows, strict=True):
        x0, x1 = (_LEFT + _PLOT * min(edge / span, 1) for edge in (phase.start, phase.end))
        parts.append(
            f'<rect x="{x0:.1f}" y="{top}" width="{x1 - x0:.1f}" height="{bottom - top}" fill-opacity=".05"/>'
            f'<path d="M{x0:.1f} {top}V{bottom}" {_FAINT} stroke-dasharray="2 3"/>'
        )
        later = [p.start for p, r in zip(phases, rows, strict=True) if r == row and p.start > phase.start]
        room = _PLOT * (min([*later, span]) - phase.start) / span - 12
        name = fitted(phase.name, int(room / _LETTER))
        if name:
            y = top + 9 + _NAME * row
            parts.append(f'<text x="{x0 + 4:.1f}" y="{y}" font-size="10" opacity=".85">{escape(name)}</text>')
    return "".join(parts)


def _time_axis(span: float, bottom: int) -> str:
    places = [(_LEFT + _PLOT * second / span, text) for second, text in time_ticks(span)]
    return "".join(
        f'<path d="M{x:.1f} {bottom}v4" {_FAINT}/>'
        f'<text x="{x:.1f}" y="{bottom + 15}" {_MUTED} text-anchor="middle">{text}</text>'
        for x, text in places
    )
