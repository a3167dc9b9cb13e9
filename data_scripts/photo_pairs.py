"""A folder of photographs becomes a set of pairs, continued by the next run."""

import hashlib
import os
import re
import unicodedata
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path, PurePath

from data_scripts import disk, jpeg, lock, manifest, photos
from data_scripts.low_light import darken
from data_scripts.pair_folder import FILES_PER_PAIR, SUFFIX, PairFolder
from data_scripts.photo_ledger import Entry, Ledger
from data_scripts.photo_search import Listing, Photo, find
from data_scripts.progress import Progress
from data_scripts.report import Report, printable
from data_scripts.scenes import JPEG_QUALITY
from data_scripts.workers import cores, run

VERSION = 1  # raise it when the same photograph would give another pair
MAX_SIDE = 1024  # pixels; the size of photographs on the web, where a phone's have 4,000 to 8,000
BYTES_PER_PIXEL = 0.8  # of one JPEG at JPEG_QUALITY, towards the upper end of real photographs
GROWTH = 2  # how much larger a photograph's file may become at JPEG_QUALITY


@dataclass(frozen=True)
class PhotoTask:
    """One photograph to turn into a pair: the task of one worker."""

    folder: Path
    root: Path
    photo: Photo
    seed: int
    max_side: int


@dataclass(frozen=True)
class Outcome:
    """What became of a photograph: a pair made with these conversions, or the reason why not."""

    photo: Photo
    notes: tuple[str, ...] = ()
    reason: str = ""


def make_photo_set(
    folder: Path,
    root: Path,
    *,
    seed: int = 0,
    max_side: int = MAX_SIDE,
    workers: int | None = None,
    progress: bool = True,
) -> Report:
    """Make a pair of every photograph in a folder tree, or continue where an earlier run stopped.

    A pair's name is made of the photograph's path, so it stays when photographs are added. Its
    class is the name of the folder the photograph lies in. What was skipped is tried again by the
    next run, and a photograph that changed (size or time) is made anew. Used with lesson 00's data.

    Args:
        folder: the photographs, in any tree of folders.
        root: the folder of the set, made if absent.
        seed: seed of the low-light model.
        max_side: larger photographs are reduced to this longer side in pixels; 0 keeps their size.
        workers: worker processes; None takes all cores.
        progress: whether to show the progress and print the closing table.

    Returns:
        The report, also written to ``report.json`` in `root`.

    Raises:
        ValueError: a negative seed or side.
        OtherSetError: `root` holds a set of something else.
        DiskFullError: the disk cannot hold the pairs or filled up; what is there is whole.
        OSError: `folder` or `root` cannot be used, or no photograph is in `folder`.
    """
    if seed < 0 or max_side < 0:
        raise ValueError(f"seed={seed}, max_side={max_side}: both count from 0")
    folder, root = Path(folder).expanduser().resolve(), Path(root).expanduser().absolute()
    if root.resolve() == folder:
        raise manifest.OtherSetError(
            f"{root} is the folder of the photographs: choose another one with --out."
        )
    settings = {
        "source": "photos",
        "folder": printable(os.fspath(folder)),
        "seed": seed,
        "max_side": max_side,
        "low_light": VERSION,
        "jpeg_quality": JPEG_QUALITY,
    }
    manifest.check(root, settings)
    listing = find(folder, root)
    if not root.exists():
        if not (listing.photos or listing.refused):
            raise FileNotFoundError(f"{folder} holds no photographs ({listing.ignored.total()} other files)")
        _require_room(root, listing.photos, max_side)
    with lock.hold(root):
        manifest.check(root, settings)
        return _Run(folder, root, settings, listing, progress).make(workers or cores())


def make_one(task: PhotoTask) -> Outcome:
    """Read a photograph, darken it and write the pair; a photograph that cannot be read is an outcome.

    Raises:
        OSError: the pair could not be written.
    """
    path = task.photo.path
    try:
        high, notes = photos.read(task.folder / path, task.max_side)
    except photos.UnusableError as error:
        return Outcome(task.photo, reason=str(error))
    low = darken(high, (task.seed, int(_digest(path), 16)))
    PairFolder(task.root).write(
        name_of(path),
        kind_of(path, task.folder),
        low=jpeg.encode(low, JPEG_QUALITY),
        high=jpeg.encode(high, JPEG_QUALITY),
    )
    return Outcome(task.photo, notes)


def name_of(path: str) -> str:
    """Name a pair after its photograph's path, without folders and never twice the same.

    The readable part keeps letters of any script; the digest of the whole path tells apart what
    looks alike without it (``a/b.jpg`` and ``a_b.png``).
    """
    return f"{_readable(os.fspath(PurePath(path).with_suffix('')))[-40:]}-{_digest(path)}{SUFFIX}"


def kind_of(path: str, folder: Path) -> str:
    """Name a photograph's class: the folder it lies in, for the topmost ones the whole folder's name."""
    parent = PurePath(path).parent.name or folder.name
    # Characters that stand for undecodable bytes, and a dot that would hide the class, are replaced.
    return printable(parent).replace("\\", "_").lstrip(".") or "photos"


def _readable(text: str) -> str:
    return re.sub(r"\W+", "_", unicodedata.normalize("NFC", text)).strip("_") or "photo"


def _digest(path: str) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:10]


def _died(task: PhotoTask, cause: str) -> Outcome:
    return Outcome(task.photo, reason=f"the process that read it was {cause} (too large for the memory?)")


def _require_room(root: Path, todo: list[Photo], max_side: int) -> None:
    """Guess the bytes of the pairs from those of the photographs and the size they are reduced to."""
    most = max_side**2 * 3 / 4 * BYTES_PER_PIXEL if max_side else float("inf")
    size = 2 * sum(min(photo.size * GROWTH, most) for photo in todo)
    disk.require_room(root, f"{len(todo):,} pairs", size=size, files=len(todo) * FILES_PER_PAIR)


class _Run:
    """One run over a listing, in a folder that is locked."""

    def __init__(self, folder: Path, root: Path, settings: dict, listing: Listing, progress: bool) -> None:
        self.folder, self.settings, self.listing, self.progress = folder, settings, listing, progress
        self.pairs = PairFolder(root)
        self.ledger = Ledger(root)
        self.skipped = dict(listing.refused)
        self.made = 0
        there = self.pairs.names()
        self.todo = [photo for photo in listing.photos if not self._is_done(photo, there)]
        self.kept = len(listing.photos) - len(self.todo)

    def make(self, processes: int) -> Report:
        root, max_side = self.pairs.root, self.settings["max_side"]
        _require_room(root, self.todo, max_side)
        manifest.write(root, self.settings, self.kept, complete=False)
        self.pairs.prepare()
        tasks = [PhotoTask(self.folder, root, photo, self.settings["seed"], max_side) for photo in self.todo]
        ended = "failed"
        with self.ledger:
            try:
                self._work(tasks, processes)
                ended = "complete"
            except KeyboardInterrupt:
                ended = "interrupted"
                raise
            except OSError as error:
                if not disk.is_full(error):
                    raise
                ended = "disk full"
                raise disk.DiskFullError(error.errno, self._full()) from error
            finally:
                report = self._close(ended)
        return report

    def _is_done(self, photo: Photo, there: set[str]) -> bool:
        entry = self.ledger.entries.get(photo.path)
        return entry is not None and entry.is_of(photo) and entry.name in there

    def _work(self, tasks: list[PhotoTask], processes: int) -> None:
        with (
            Progress(len(tasks), unit="photos", show=self.progress) as progress,
            closing(run(make_one, tasks, processes, _died)) as outcomes,
        ):
            for outcome in outcomes:
                self._note(outcome)
                progress.advance(1)

    def _note(self, outcome: Outcome) -> None:
        photo, name = outcome.photo, name_of(outcome.photo.path)
        if outcome.reason:
            self.skipped[photo.path] = outcome.reason
            # The pair of an earlier run, from when the photograph was good, shows what is no more.
            if self.ledger.entries.pop(photo.path, None):
                self.pairs.remove(name)
        else:
            self.ledger.add(Entry(photo.path, photo.size, photo.mtime_ns, name, outcome.notes))
            self.made += 1

    def _full(self) -> str:
        return (
            f"the disk of {self.pairs.root} is full: {self.made + self.kept:,} of "
            f"{len(self.listing.photos):,} pairs are there and whole. Free some room and run the same "
            "command again: it continues"
        )

    def _close(self, ended: str) -> Report:
        """Clean up, and write ledger, manifest and report; a full disk is told once, not three times."""
        self.pairs.sweep()
        report = self._report(ended)
        try:
            self.ledger.store()
            manifest.write(
                self.pairs.root, self.settings, self.made + self.kept, complete=ended == "complete"
            )
            report.write()
        except OSError as error:
            if not disk.is_full(error) or ended == "complete":
                raise
        if self.progress:
            print(report.text(), flush=True)
        return report

    def _report(self, ended: str) -> Report:
        present = {photo.path for photo in self.listing.photos} | set(self.listing.refused)
        return Report(
            root=self.pairs.root,
            ended=ended,
            made=self.made,
            kept=self.kept,
            skipped=dict(sorted(self.skipped.items())),
            left=len(self.todo) - self.made - sum(photo.path in self.skipped for photo in self.todo),
            ignored=self.listing.ignored,
            gone=tuple(sorted(set(self.ledger.entries) - present)),
            notes=Counter(note for entry in self.ledger.entries.values() for note in entry.notes),
        )
