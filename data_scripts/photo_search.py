"""The photographs in any folder tree, found without opening one."""

import os
import stat
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from data_scripts import manifest

READABLE = (
    *(".jpg", ".jpeg", ".jpe", ".jfif", ".mpo", ".png", ".apng", ".gif", ".webp", ".avif", ".tif", ".tiff"),
    *(".bmp", ".dib", ".jp2", ".j2k", ".jpx", ".ppm", ".pgm", ".pbm", ".pnm"),
)
# Photographs too, but not for Pillow: refused by name, so that the reason can say what to do.
APPLE = (".heic", ".heif", ".hif")
CAMERA_RAW = (".arw", ".cr2", ".cr3", ".dng", ".nef", ".nrw", ".orf", ".pef", ".raf", ".raw", ".rw2", ".srw")


@dataclass(frozen=True)
class Photo:
    """A file that may be a photograph.

    Attributes:
        path: relative to the folder searched; bytes that are not UTF-8 are kept as surrogates.
        size: bytes.
        mtime_ns: time of the last change, nanoseconds.
    """

    path: str
    size: int
    mtime_ns: int


@dataclass
class Listing:
    """What a search found; nothing in the tree is left unmentioned.

    Attributes:
        photos: candidates, sorted by path.
        refused: reason by path, for what looks like a photograph and is no candidate.
        ignored: how many files of other kinds there are, by suffix.
    """

    photos: list[Photo] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    ignored: Counter[str] = field(default_factory=Counter)


def find(folder: Path, exclude: Path) -> Listing:
    """List the photographs in a folder and in all folders below it.

    Symbolic links are followed, but no folder is entered twice, so loops end. Folders that hold a
    set of pairs made by these scripts are left out.

    Args:
        folder: where to search.
        exclude: a folder to leave out, the output's; it need not exist.

    Returns:
        The listing.

    Raises:
        OSError: `folder` is no folder or cannot be listed.
    """
    with os.scandir(folder):  # os.walk would only report this folder to onerror
        pass
    return _Search(folder, exclude).run()


class _Search:
    def __init__(self, folder: Path, exclude: Path) -> None:
        self.folder = folder
        self.listing = Listing()
        self.entered: set[tuple[int, int]] = set()
        self.output = _identity(exclude) if exclude.is_dir() else None

    def run(self) -> Listing:
        # Links wait until all real folders are through, so a folder counts where it really lies.
        tops = [self.folder]
        for top in tops:
            if self._enter(top):
                tops += self._walk(top)
        self.listing.photos.sort(key=lambda photo: photo.path)
        return self.listing

    def _walk(self, top: Path) -> list[Path]:
        """Take in a folder and the real folders below it; return the links to others."""
        links = []
        for parent, folders, files in os.walk(top, onerror=self._unlistable):
            here = Path(parent)
            if manifest.NAME in files and {"low", "high"} <= set(folders):
                self._refuse(here, "a set of pairs made by make_pairs, not photographs")
                folders.clear()
                continue
            below = [here / name for name in sorted(folders)]
            links += [path for path in below if path.is_symlink()]
            folders[:] = [path.name for path in below if not path.is_symlink() and self._enter(path)]
            for name in files:
                self._sort(here / name)
        return links

    def _enter(self, path: Path) -> bool:
        try:
            identity = _identity(path)
        except OSError as error:
            self._refuse(path, f"folder cannot be read: {error.strerror}")
            return False
        if identity == self.output:
            return False
        if identity in self.entered:
            self._refuse(
                path, "leads to a folder that is searched already (a symlink loop, or a second way in)"
            )
            return False
        self.entered.add(identity)
        return True

    def _sort(self, path: Path) -> None:
        suffix = path.suffix.lower()
        if suffix in APPLE:
            self._refuse(path, "HEIC, which Pillow does not read: convert it to JPEG first (heif-convert)")
        elif suffix in CAMERA_RAW:
            self._refuse(path, "a camera's raw file: develop it to JPEG or TIFF first")
        elif suffix in READABLE:
            self._add(path)
        else:
            self.listing.ignored[suffix or "no suffix"] += 1

    def _add(self, path: Path) -> None:
        try:
            state = path.stat()
        except FileNotFoundError:
            self._refuse(path, f"a broken symbolic link to {path.readlink()}")
        except OSError as error:
            self._refuse(path, f"cannot be read: {error.strerror}")
        else:
            if stat.S_ISREG(state.st_mode):
                self.listing.photos.append(Photo(self._relative(path), state.st_size, state.st_mtime_ns))
            else:
                self._refuse(path, "a named pipe, socket or device, not a file")

    def _unlistable(self, error: OSError) -> None:
        self._refuse(Path(error.filename), f"folder cannot be listed: {error.strerror}")

    def _refuse(self, path: Path, reason: str) -> None:
        self.listing.refused[self._relative(path)] = reason

    def _relative(self, path: Path) -> str:
        return os.fspath(path.relative_to(self.folder))


def _identity(path: Path) -> tuple[int, int]:
    state = path.stat()
    return state.st_dev, state.st_ino
