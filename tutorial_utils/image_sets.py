"""Pairs and labelled images as equal, sorted lists, with reproducible divisions and a fingerprint.

Beneath ``data``, whose :func:`~tutorial_utils.data.open_pairs` and
:func:`~tutorial_utils.data.open_labelled` make them after checking every file.
"""

import hashlib
import math
import operator
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path

from tutorial_utils.scan import Problem


@dataclass(frozen=True)
class Pairs:
    """Pairs of a dark and a well-lit image of the same scene and size; from :func:`open_pairs`.

    Attributes:
        root: the folder of the set.
        names: names of the pairs (file names without suffix), sorted.
        low: paths of the dark images, absolute, in the order of ``names``.
        high: paths of the well-lit images, likewise.
        sizes: bytes of (dark, well-lit) file of each pair.
        skipped: what was left out, and why; empty unless ``on_bad="skip"``.
        ignored: hidden and system files, which were passed over.
    """

    root: Path
    names: tuple[str, ...]
    low: tuple[str, ...] = field(repr=False)
    high: tuple[str, ...] = field(repr=False)
    sizes: tuple[tuple[int, int], ...] = field(repr=False)
    skipped: tuple[Problem, ...] = ()
    ignored: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def fingerprint(self) -> str:
        """Twelve hexadecimal digits over names and file sizes; two timings are compared only if equal.

        Times of change and the folder's place do not enter, so a copy has the same fingerprint. A set
        generated on another processor may differ in a few JPEG files by some bytes, and then does not.
        """
        return _fingerprint(
            f"{name}\0{low}\0{high}" for name, (low, high) in zip(self.names, self.sizes, strict=True)
        )

    def take(self, count: int) -> "Pairs":
        """Keep the first pairs.

        Raises:
            ValueError: ``count`` is not from 1 to ``len(self)``.
        """
        _check_count(count, len(self), "pairs", self.root)
        return self._only(range(count))

    def split(self, fraction: float, seed: int = 0) -> tuple["Pairs", "Pairs"]:
        """Divide into two disjoint sets, such as training and validation.

        Which pair goes where depends on its name and the seed alone: not on the order of files, the
        machine or the Python version.

        Args:
            fraction: share of the first set, between 0 and 1; rounded to whole pairs.
            seed: another seed makes another division.

        Returns:
            The first set with ``fraction`` of the pairs and the second with the rest, both sorted.

        Raises:
            ValueError: the fraction is not between 0 and 1, or leaves a side without any pair.
        """
        chosen = _choose(self.names, range(len(self)), fraction, seed)
        return self._only(sorted(chosen)), self._only(i for i in range(len(self)) if i not in chosen)

    def _only(self, indices: Iterable[int]) -> "Pairs":
        keep = list(indices)
        return Pairs(
            self.root,
            *(tuple(column[i] for i in keep) for column in (self.names, self.low, self.high, self.sizes)),
            skipped=self.skipped,
            ignored=self.ignored,
        )

    def _facts(self) -> list[tuple[str, str]]:
        total = sum(low + high for low, high in self.sizes)
        return [("pairs", f"{len(self):,}"), *_common_facts(self, total)]

    def __str__(self) -> str:
        return _as_text(self._facts())

    def _repr_html_(self) -> str:
        return _as_html(self._facts())


@dataclass(frozen=True)
class Labelled:
    """Images with the class they belong to; from :func:`open_labelled`.

    Attributes:
        root: the folder of the set, with one folder a class.
        files: paths, absolute and sorted.
        labels: the class of each file, an index into ``classes``.
        classes: names of the classes (folder names), sorted.
        sizes: bytes of each file.
        skipped: what was left out, and why; empty unless ``on_bad="skip"``.
        ignored: hidden and system files, which were passed over.
    """

    root: Path
    files: tuple[str, ...] = field(repr=False)
    labels: tuple[int, ...] = field(repr=False)
    classes: tuple[str, ...]
    sizes: tuple[int, ...] = field(repr=False)
    skipped: tuple[Problem, ...] = ()
    ignored: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.files)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Paths relative to the root: ``CLASS/FILE``."""
        return tuple(
            f"{self.classes[label]}/{os.path.basename(file)}"  # noqa: PTH119 - half a second on 150,000 files
            for file, label in zip(self.files, self.labels, strict=True)
        )

    @cached_property
    def fingerprint(self) -> str:
        """Twelve hexadecimal digits over classes, names and file sizes; see :attr:`Pairs.fingerprint`."""
        return _fingerprint(f"{name}\0{size}" for name, size in zip(self.names, self.sizes, strict=True))

    def take(self, count: int) -> "Labelled":
        """Keep the first files of each class, as many of every class as its size allows.

        Raises:
            ValueError: ``count`` is not from 1 to ``len(self)``.
        """
        _check_count(count, len(self), "files", self.root)
        turns = [(turn, index) for members in self._members() for turn, index in enumerate(members)]
        return self._only(sorted(index for _, index in sorted(turns)[:count]))

    def split(self, fraction: float, seed: int = 0) -> tuple["Labelled", "Labelled"]:
        """Divide every class in the same proportion; see :meth:`Pairs.split`.

        Raises:
            ValueError: the fraction is not between 0 and 1, or leaves a side without any file of a class.
        """
        chosen = set().union(*(_choose(self.names, members, fraction, seed) for members in self._members()))
        return self._only(sorted(chosen)), self._only(i for i in range(len(self)) if i not in chosen)

    def _members(self) -> list[list[int]]:
        members = [[] for _ in self.classes]
        for index, label in enumerate(self.labels):
            members[label].append(index)
        return [indices for indices in members if indices]

    def _only(self, indices: Iterable[int]) -> "Labelled":
        keep = list(indices)
        files, labels, sizes = (
            tuple(column[i] for i in keep) for column in (self.files, self.labels, self.sizes)
        )
        return Labelled(self.root, files, labels, self.classes, sizes, self.skipped, self.ignored)

    def _facts(self) -> list[tuple[str, str]]:
        classes = (
            f"{len(self.classes)} ({', '.join(self.classes[:12])}{', ...' if len(self.classes) > 12 else ''})"
        )
        return [("images", f"{len(self):,}"), ("classes", classes), *_common_facts(self, sum(self.sizes))]

    def __str__(self) -> str:
        return _as_text(self._facts())

    def _repr_html_(self) -> str:
        return _as_html(self._facts())


def _fingerprint(lines: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for line in sorted(lines):
        digest.update(f"{line}\n".encode())
    return digest.hexdigest()[:12]


def _choose(names: Sequence[str], members: Sequence[int], fraction: float, seed: int) -> set[int]:
    """Choose a fraction of some indices by the digests of their names: no order or generator enters."""
    if not 0 < fraction < 1:
        raise ValueError(f"fraction={fraction}: give a number between 0 and 1, such as 0.9")
    count = math.floor(len(members) * fraction + 0.5)
    if not 0 < count < len(members):
        folder, _, _ = names[members[0]].rpartition("/")
        what = f"class {folder!r}, {len(members)} files" if folder else f"{len(members)} pairs"
        raise ValueError(
            f"fraction={fraction} of {what} leaves one side empty; take more files or another fraction"
        )
    seed = operator.index(seed)
    ranked = sorted(members, key=lambda index: hashlib.sha256(f"{seed}/{names[index]}".encode()).digest())
    return set(ranked[:count])


def _check_count(count: int, available: int, unit: str, root: Path) -> None:
    if not 1 <= operator.index(count) <= available:
        raise ValueError(
            f"take({count}): choose 1 to {available:,}, the number of {unit} of {root}; a larger set is made "
            "by `python -m data_scripts.make_pairs --scale workshop` (or article)"
        )


def _common_facts(files: "Pairs | Labelled", total: int) -> list[tuple[str, str]]:
    facts = [("folder", str(files.root)), ("bytes", f"{total:,}"), ("fingerprint", files.fingerprint)]
    facts.append(("skipped", f"{len(files.skipped):,}{', see .skipped' if files.skipped else ''}"))
    if files.ignored:
        facts.append(("ignored", f"{len(files.ignored):,} hidden or system files"))
    return facts


def _as_text(facts: list[tuple[str, str]]) -> str:
    return "\n".join(f"{name + ':':<13}{value}" for name, value in facts)


def _as_html(facts: list[tuple[str, str]]) -> str:
    style = "text-align: left"
    rows = (f'<tr><th style="{style}">{n}</th><td style="{style}">{escape(v)}</td></tr>' for n, v in facts)
    return f"<table>{''.join(rows)}</table>"
