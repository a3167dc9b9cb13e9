"""One page of facts, tables and notes, as plain text and as HTML for a notebook.

Timing cards (lesson 00), recorded results beside them and the doctor's diagnosis
are all such sheets, so that they look alike and escape what they show in one place.
The HTML takes its colours from the page around it: it is readable in JupyterLab's
light and dark themes and needs no style sheet, script or picture.
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import zip_longest

TEXT_WIDTH = 110
CELL_WIDTH = 40
RULE = "1px solid rgba(127, 127, 127, 0.45)"
CELL = "text-align: left; vertical-align: top; padding: 2px 12px 2px 0"
QUIET = "font-weight: normal; opacity: 0.75"
SHORT = 20  # characters of a cell that are kept on one line


@dataclass(frozen=True)
class Heading:
    """A line that opens a part of the sheet."""

    text: str


@dataclass(frozen=True)
class Facts:
    """Named facts, one a line; a fact without text is left out."""

    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Table:
    """Rows under a header; every row is as long as the header."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Note:
    """A sentence of its own."""

    text: str


Block = Heading | Facts | Table | Note


def to_text(blocks: Sequence[Block]) -> str:
    """Write a sheet for a terminal or a headless run."""
    return "\n".join(_text(block) for block in blocks)


def to_html(blocks: Sequence[Block]) -> str:
    """Write a sheet for a notebook, everything shown in it escaped."""
    return f'<div style="color: inherit; max-width: 70em">{"".join(_html(block) for block in blocks)}</div>'


def _text(block: Block) -> str:
    match block:
        case Heading(text):
            return f"\n{text}\n{'-' * min(len(text), TEXT_WIDTH)}"
        case Note(text):
            return "\n".join(_wrap(text, TEXT_WIDTH))
        case Facts(rows):
            return "\n".join(_fact(name, text, rows) for name, text in rows if text)
        case Table(header, rows):
            return _table((header, *rows))


def _fact(name: str, text: str, rows: Sequence[tuple[str, str]]) -> str:
    indent = max(len(other) for other, _ in rows) + 2
    return "\n".join(
        (name if number == 0 else "").ljust(indent) + line
        for number, line in enumerate(_wrap(text, TEXT_WIDTH - indent))
    )


def _table(rows: Sequence[Sequence[str]]) -> str:
    wrapped = [[_wrap(cell, CELL_WIDTH) for cell in row] for row in rows]
    widths = [max(len(line) for cell in column for line in cell) for column in zip(*wrapped, strict=True)]
    lines = [
        "  ".join(part.ljust(width) for part, width in zip(parts, widths, strict=True)).rstrip()
        for row in wrapped
        for parts in zip_longest(*row, fillvalue="")
    ]
    return "\n".join(lines)


def _wrap(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]


def _html(block: Block) -> str:
    match block:
        case Heading(text):
            return f'<p style="margin: 0.8em 0 0.3em"><strong>{escape(text)}</strong></p>'
        case Note(text):
            return f'<p style="margin: 0.3em 0">{escape(text)}</p>'
        case Facts(rows):
            return _rows([_cell("th", name, QUIET) + _cell("td", text) for name, text in rows if text])
        case Table(header, rows):
            head = "".join(_cell("th", text, f"border-bottom: {RULE}") for text in header)
            return _rows([head, *("".join(_cell("td", text) for text in row) for row in rows)])


def _rows(lines: Sequence[str]) -> str:
    body = "".join(f'<tr style="background: transparent">{line}</tr>' for line in lines)
    return f'<table style="color: inherit; border-collapse: collapse; margin: 0.3em 0">{body}</table>'


def _cell(tag: str, text: str, style: str = "") -> str:
    wrap = "nowrap" if len(text) <= SHORT else "normal"
    return f'<{tag} style="{CELL}; white-space: {wrap}; {style}">{escape(text)}</{tag}>'
