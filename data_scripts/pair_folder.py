"""The folder of a set: ``low/NAME``, ``high/NAME``, ``by_class/KIND/NAME``, written whole or not at all."""

import os
from dataclasses import dataclass
from pathlib import Path

SUFFIX = ".jpg"
PART = ".part"
FILES_PER_PAIR = 3  # low, high and the link


@dataclass(frozen=True)
class PairFolder:
    """Writes, counts and cleans the files of one set of pairs.

    A pair counts when ``low``, ``high`` and the link are all there, and they appear in this
    order, so a run that is killed leaves no pair that only looks complete.

    Attributes:
        root: the folder of the set.
    """

    root: Path

    @property
    def low(self) -> Path:
        """Folder of the low-light images."""
        return self.root / "low"

    @property
    def high(self) -> Path:
        """Folder of the well-lit images."""
        return self.root / "high"

    @property
    def by_class(self) -> Path:
        """Folder of the view by class: one folder a kind, links to the well-lit images in it."""
        return self.root / "by_class"

    def prepare(self) -> None:
        """Make the folders, and remove what a killed run left: parts, single halves, dangling links."""
        for folder in (self.low, self.high, self.by_class):
            folder.mkdir(parents=True, exist_ok=True)
        self.sweep()

    def sweep(self) -> None:
        """Remove unfinished files, halves without partner, and links whose image is gone."""
        for folder in (self.root, self.low, self.high, *self._kinds()):
            for name in _names(folder):
                if name.startswith(".") and name.endswith(PART):
                    (folder / name).unlink()
        low, high = _images(self.low), _images(self.high)
        for folder, lonely in ((self.low, low - high), (self.high, high - low)):
            for name in lonely:
                (folder / name).unlink()
        for folder in self._kinds():
            for name in _images(folder) - (low & high):
                (folder / name).unlink()

    def write(self, name: str, kind: str, low: bytes, high: bytes) -> None:
        """Write one pair: both halves under temporary names, then both renamed, then the link.

        Args:
            name: file name, ending in ``.jpg``.
            kind: the class of the image, a folder name.
            low: the JPEG file of the low-light image.
            high: the JPEG file of the well-lit image.

        Raises:
            OSError: a write failed (a full disk, say); no temporary file is left behind.
        """
        halves = [(self.low, low), (self.high, high)]
        try:
            for folder, data in halves:
                (folder / _part(name)).write_bytes(data)
            for folder, _ in halves:
                (folder / _part(name)).replace(folder / name)
        except BaseException:
            for folder, _ in halves:
                (folder / _part(name)).unlink(missing_ok=True)
            raise
        self._link(name, kind)

    def remove(self, name: str) -> None:
        """Remove a pair and its links, the links first so that none ever dangles."""
        for folder in (*self._kinds(), self.high, self.low):
            (folder / name).unlink(missing_ok=True)

    def names(self) -> set[str]:
        """List the names of the pairs that count: both halves and a link are there."""
        linked = set().union(*(_images(folder) for folder in self._kinds()))
        return _images(self.low) & _images(self.high) & linked

    def holds(self, count: int) -> bool:
        """Tell quickly whether the folders hold this many files each, without looking at any file."""
        if any(len(_images(folder)) != count for folder in (self.low, self.high)):
            return False
        return sum(len(_images(folder)) for folder in self._kinds()) == count

    def size(self) -> int:
        """Add up the bytes of all images of the set."""
        return sum(entry.stat().st_size for folder in (self.low, self.high) for entry in os.scandir(folder))

    def _kinds(self) -> list[Path]:
        return [self.by_class / name for name in _names(self.by_class) if (self.by_class / name).is_dir()]

    def _link(self, name: str, kind: str) -> None:
        """Show the image in the view by class, as a relative symbolic link.

        DALI's ``fn.readers.file(file_root=...)`` and torchvision's ``ImageFolder`` read symbolic
        and hard links alike, before and after the set is moved (tried with DALI 2.4 and
        torchvision 0.25). Symbolic ones are taken because a plain recursive copy keeps them
        while it doubles hard-linked files, and because a hard link would go on showing the old
        image when a pair is made anew, as that renames a new file into place.
        """
        link, target = self.by_class / kind / name, f"../../high/{name}"
        link.parent.mkdir(exist_ok=True)
        part = link.with_name(_part(name))
        part.unlink(missing_ok=True)
        part.symlink_to(target)
        part.replace(link)


def write_whole(path: Path, text: str) -> None:
    """Write a text file so that a reader sees the old one or the new one, never a piece.

    Raises:
        OSError: the write failed; the old file is as it was and no temporary file is left.
    """
    part = path.with_name(_part(path.name))
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _part(name: str) -> str:
    return f".{name}{PART}"


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - half the time of Path.iterdir on 150,000 files
    except FileNotFoundError:
        return []


def _images(folder: Path) -> set[str]:
    return {name for name in _names(folder) if name.endswith(SUFFIX) and not name.startswith(".")}
