"""What the doctor says: one line a check, and all of them on one page (lesson 00)."""

from dataclasses import dataclass
from typing import Literal

from tutorial_utils.sheet import Heading, Note, Table, to_html

State = Literal["ok", "not here", "warning", "problem"]

MARKS = {"ok": "✓", "not here": "–", "warning": "⚠", "problem": "✗"}

WITHOUT_GPU = (
    "There is no usable NVIDIA GPU here. Every lesson still runs from top to bottom, on the CPU; the "
    "figures of a GPU then come from recorded runs."
)


@dataclass(frozen=True)
class Line:
    """The outcome of one check.

    Attributes:
        name: what was checked.
        state: ``ok``; ``not here`` (a GPU part on a machine without one, an optional part); ``warning``
            (the lessons run, something will be slower or missing); ``problem`` (something a lesson
            stands on does not work).
        found: what the check saw.
        remedy: the exact command or setting that mends it; empty where there is nothing to mend.
    """

    name: str
    state: State
    found: str
    remedy: str = ""


@dataclass(frozen=True)
class Diagnosis:
    """All lines of a check-up; a notebook shows it as a table, ``print`` as text.

    Attributes:
        lines: in the order of the checks.
        has_gpu: whether the driver shows a GPU.
    """

    lines: tuple[Line, ...]
    has_gpu: bool

    @property
    def ok(self) -> bool:
        """Whether no line is a problem (warnings do not stop a lesson)."""
        return not self.problems

    @property
    def problems(self) -> tuple[Line, ...]:
        """The lines that stop a lesson."""
        return tuple(line for line in self.lines if line.state == "problem")

    @property
    def warnings(self) -> tuple[Line, ...]:
        """The lines worth mending that stop no lesson."""
        return tuple(line for line in self.lines if line.state == "warning")

    @property
    def verdict(self) -> str:
        """One sentence for the end of the page."""
        if self.problems:
            names = ", ".join(line.name for line in self.problems)
            return f"To mend before the lessons: {names}. The remedies stand with the lines."
        if self.warnings:
            names = ", ".join(line.name for line in self.warnings)
            return f"Ready for the lessons. Worth a look: {names}."
        return "Ready for the lessons."

    def __str__(self) -> str:
        indent = max((len(line.name) for line in self.lines), default=0)
        rows = []
        for line in self.lines:
            rows.append(f"{line.state:<8}  {line.name:<{indent}}  {line.found}")
            if line.remedy:
                # One line however long, so that a command can be copied whole.
                rows.append(f"{'':<8}  {'':<{indent}}  -> {line.remedy}")
        return "\n".join([*rows, *([] if self.has_gpu else ["", WITHOUT_GPU]), "", self.verdict])

    def _repr_html_(self) -> str:
        rows = tuple(
            (f"{MARKS[line.state]} {line.state}", line.name, line.found, line.remedy) for line in self.lines
        )
        notes = [Note(self.verdict)] if self.has_gpu else [Note(WITHOUT_GPU), Note(self.verdict)]
        return to_html([Heading("Check-up"), Table(("", "check", "found", "remedy"), rows), *notes])
