"""Recorded results of named machines: written by a run, read by a lesson, never typed by hand.

A lesson without a GPU shows such a record beside the reader's own figures (first in
lesson 01), or says that there is none yet. The files are ``reference/NAME.json`` of
the checkout, or of the folder that ``$TUTORIAL_REFERENCE`` names.
"""

import contextlib
import json
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tutorial_utils.machine import CHECKOUT
from tutorial_utils.sheet import Block, Facts, Heading, Note, to_html, to_text
from tutorial_utils.timing_card import TimingCard, when

ENVIRONMENT_VARIABLE = "TUTORIAL_REFERENCE"
SCHEMA = 1
KIND = "dali-tutorials reference"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
NO_GPU_FIGURE = "No GPU figure is recorded yet."


@dataclass(frozen=True)
class Reference:
    """A recorded timing card.

    Attributes:
        name: the file's name without ``.json``.
        lesson: the lesson it belongs to, such as ``01``.
        card: what was measured, with machine, versions, date and raw seconds.
    """

    name: str
    lesson: str
    card: TimingCard

    @property
    def on_gpu(self) -> bool:
        """Whether the results were measured with a GPU in use."""
        return any(result.device != "cpu" for result in self.card.results)

    def blocks(self) -> list[Block]:
        """Lay the record out so that nobody takes it for the reader's own."""
        card = self.card
        return [
            Heading(f"recorded on {card.machine.name}, {when(card.date)}"),
            card.table(),
            Facts(
                (
                    ("machine", f"{card.machine.cpu}, {card.machine.cores} cores, driver {_driver(card)}"),
                    ("data", f"set {card.data_fingerprint}"),
                    ("file", f"{self.name}.json"),
                )
            ),
        ]

    def __str__(self) -> str:
        return to_text(self.blocks())

    def _repr_html_(self) -> str:
        return to_html(self.blocks())


@dataclass(frozen=True)
class Beside:
    """A reader's card with a record under it; made by :func:`beside`."""

    card: TimingCard
    reference: Reference | None

    def blocks(self) -> list[Block]:
        """Lay out the reader's card, then the record or the word that there is none."""
        blocks = self.card.blocks()
        if self.reference is None:
            return [*blocks, Note(NO_GPU_FIGURE)]
        blocks += self.reference.blocks()
        blocks.append(
            Note(
                "Recorded, not measured here. The ratios within one table may be held against those of the "
                "other; the absolute figures are records of their own machine."
            )
        )
        if self.reference.card.data_fingerprint != self.card.data_fingerprint:
            blocks.append(Note("The record was measured over another data set than the card above it."))
        if not self.reference.on_gpu:
            blocks.append(Note(NO_GPU_FIGURE))
        return blocks

    def __str__(self) -> str:
        return to_text(self.blocks())

    def _repr_html_(self) -> str:
        return to_html(self.blocks())


def beside(card: TimingCard, reference: Reference | str) -> Beside:
    """Show a recorded result under the reader's own card; the last line of a lesson's comparison.

    Args:
        card: what the reader measured.
        reference: a record, or the name of one. A name without a file is no error: the page then says
            that no GPU figure is recorded yet.

    Returns:
        What a notebook shows as HTML and ``print`` as text.

    Raises:
        ValueError: the name is no name, or the file is damaged.
    """
    if isinstance(reference, Reference):
        return Beside(card, reference)
    _require_name(reference)
    known = reference in references()
    return Beside(card, load_reference(reference) if known else None)


def save_reference(card: TimingCard, name: str, *, lesson: str, overwrite: bool = False) -> Path:
    """Record a card as ``reference/NAME.json``; run by the maintainers on a named machine.

    The file appears whole or not at all, also if two processes save at once.

    Args:
        card: results that :func:`tutorial_utils.timing.measure` measured in this process.
        name: letters, digits, ``_``, ``-`` and ``.``, such as ``01-baseline-h200``.
        lesson: the lesson it belongs to, such as ``01``.
        overwrite: whether a record of that name may be replaced.

    Returns:
        The file's path.

    Raises:
        ValueError: the name is no file name, the lesson is empty, or a result was not measured by this
            process with the real clock (made by hand, or read from a file).
        FileExistsError: there is a record of that name.
        FileNotFoundError: this package does not run from a checkout and ``$TUTORIAL_REFERENCE`` is not set.
    """
    _require_name(name)
    if not lesson:
        raise ValueError(f"reference {name!r}: name the lesson it belongs to, such as lesson='01'")
    unmeasured = [result.label for result in card.results if not result.measured]
    if unmeasured:
        raise ValueError(
            f"reference {name!r}: {', '.join(map(repr, unmeasured))} was not measured by this process; "
            "only results that measure() has just made with the real clock are recorded. Run the "
            "measurement again."
        )
    folder = _folder()
    if folder is None:
        raise FileNotFoundError(
            f"reference {name!r}: there is no reference folder beside an installed package; set "
            f"{ENVIRONMENT_VARIABLE} to a folder, or run from the project's checkout"
        )
    recorded = {"kind": KIND, "schema": SCHEMA, "name": name, "lesson": lesson, "card": card.to_dict()}
    path = folder / f"{name}.json"
    _write_whole(path, json.dumps(recorded, indent=2, allow_nan=False) + "\n", overwrite)
    return path


def load_reference(name: str) -> Reference:
    """Read a record.

    Raises:
        FileNotFoundError: there is none of that name; the message lists those that exist.
        ValueError: the name is no file name, or the file is damaged or something else.
    """
    _require_name(name)
    folder = _folder()
    path = folder / f"{name}.json" if folder else None
    if path is None or not path.is_file():
        known = ", ".join(references()) or "none"
        raise FileNotFoundError(
            f"no reference {name!r} in {folder or 'this installation'}; recorded so far: {known}"
        )
    try:
        return _reference(json.loads(path.read_text(encoding="utf-8")), name)
    except ValueError as error:
        raise ValueError(
            f"{path}: not a record that save_reference() wrote ({error}). Restore it from version control "
            "or record it anew; records are not edited by hand."
        ) from error


def references() -> list[str]:
    """List the names of all records, sorted; damaged ones too, which :func:`load_reference` explains."""
    folder = _folder()
    if folder is None or not folder.is_dir():
        return []
    return sorted(path.stem for path in folder.glob("*.json") if NAME.fullmatch(path.stem))


def _folder() -> Path | None:
    named = os.environ.get(ENVIRONMENT_VARIABLE)
    if named:
        return Path(named)
    return CHECKOUT / "reference" if (CHECKOUT / "pyproject.toml").is_file() else None


def _reference(recorded: Any, name: str) -> Reference:
    if not isinstance(recorded, Mapping) or recorded.get("kind") != KIND:
        raise ValueError(f"its kind is not {KIND!r}")
    if recorded.get("schema") != SCHEMA:
        raise ValueError(f"it has schema {recorded.get('schema')!r}, this version reads {SCHEMA}")
    if recorded.get("name") != name or not isinstance(recorded.get("lesson"), str):
        raise ValueError("it names another record, or no lesson")
    return Reference(name, recorded["lesson"], TimingCard.from_dict(recorded.get("card")))


def _require_name(name: str) -> None:
    if not NAME.fullmatch(name):
        raise ValueError(
            f"{name!r} is no name for a reference: use letters, digits, '_', '-' and '.', beginning with a "
            "letter or digit, without folders, such as '01-baseline-h200'"
        )


def _write_whole(path: Path, text: str, overwrite: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.stem}.{os.getpid()}.{secrets.token_hex(4)}.draft")
    try:
        with draft.open("x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if overwrite:
            draft.replace(path)
        else:
            # A hard link, unlike a rename, fails if the name has been taken meanwhile.
            path.hardlink_to(draft)
    except FileExistsError as error:
        raise FileExistsError(
            f"{path} exists; a record is replaced only with overwrite=True, or choose another name"
        ) from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            draft.unlink()


def _driver(card: TimingCard) -> str:
    return card.machine.driver or "none"
