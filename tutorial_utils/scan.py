"""The scan: which files are sound images, found out before any pipeline runs, and remembered.

Beneath ``data``, which makes pairs and labelled lists of what is found here. The first scan decodes
every file; what it found is kept by ``scan_cache``, so that the next scan only asks the file system
whether a file changed (same path, size and time of change: same verdict).
"""

import os
import stat
import sys
import warnings
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from data_scripts.progress import Progress
from tutorial_utils.image_check import CONVERT, REPLACE, ImageDefectError, check_image
from tutorial_utils.placement import cores
from tutorial_utils.scan_cache import ScanCache

SYSTEM_FILES = ("Thumbs.db", "ehthumbs.db", "desktop.ini", "__MACOSX")
_SHOWN = 20
_LONG = 2000  # files whose check takes seconds: worth a line and a bar
_CHUNK = 64  # files a task: enough to make the hand-over to a thread free of cost


@dataclass(frozen=True)
class Problem:
    """A file that cannot be used; shown in lesson 00.

    Attributes:
        path: the file (or folder), absolute.
        reason: what is wrong with it.
        remedy: what to do about it.
    """

    path: str
    reason: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}; {self.remedy}"


class DataError(ValueError):
    """Files that would stop or spoil a pipeline, all of them named in one error; shown in lesson 00.

    Attributes:
        problems: every one of them; the message shows the first 20.
    """

    def __init__(self, message: str, problems: Iterable[Problem] = ()):
        self.problems = tuple(problems)
        lines = [message, *(f"  {problem}" for problem in self.problems[:_SHOWN])]
        if len(self.problems) > _SHOWN:
            lines.append(
                f"  ... and {len(self.problems) - _SHOWN:,} more, all of them in this error's .problems"
            )
        super().__init__("\n".join(lines))


class SoundImage(NamedTuple):
    """An image that decodes.

    Attributes:
        path: where it is, absolute.
        size: bytes of the file.
        height: pixels, as shown (after the EXIF orientation).
        width: pixels, likewise.
    """

    path: str
    size: int
    height: int
    width: int


@dataclass
class FolderScan:
    """What one folder holds, each list sorted by file name.

    Attributes:
        images: the sound images, by file name.
        problems: everything else that is neither hidden nor a system's own file.
        ignored: hidden and system files, absolute paths.
    """

    images: dict[str, SoundImage] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)


class _Candidate(NamedTuple):
    folder: str
    name: str
    key: str  # in the cache
    path: str
    size: int
    modified: int  # nanoseconds


def scan(root: Path, folders: Iterable[str]) -> dict[str, FolderScan]:
    """Check every file directly inside some folders of a data set.

    Args:
        root: the data set; what was found is remembered here (else in the user's cache folder).
        folders: names of folders in ``root``.

    Returns:
        What each folder holds.

    Raises:
        OSError: a folder cannot be listed.
    """
    found = {folder: FolderScan() for folder in folders}
    candidates = [one for folder, result in found.items() for one in _list_folder(root, folder, result)]
    cache = ScanCache.load(root)
    unknown = [one for one in candidates if cache.verdict(one.key, one.size, one.modified) is None]
    try:
        unreadable = _check(unknown, cache)
    finally:  # also when interrupted: what was checked so far need not be checked again
        cache.save(root, keep=[one.key for one in candidates])
    for one in candidates:
        _enter(
            found[one.folder],
            one,
            unreadable.get(one.path) or cache.verdict(one.key, one.size, one.modified),
        )
    for result in found.values():
        result.problems.sort(key=lambda problem: problem.path)
    return found


def _list_folder(root: Path, folder: str, result: FolderScan) -> list[_Candidate]:
    """List what is to be decoded, sorted; enter into the result what need not be."""
    candidates = []
    with os.scandir(root / folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.name.startswith(".") or entry.name in SYSTEM_FILES:
                result.ignored.append(entry.path)
                continue
            try:
                status = entry.stat()
            except OSError as error:
                result.problems.append(_without_status(entry, error))
                continue
            problem = _problem_of(entry.path, status)
            if problem:
                result.problems.append(problem)
            else:
                candidates.append(
                    _Candidate(
                        folder,
                        entry.name,
                        f"{folder}/{entry.name}",
                        entry.path,
                        status.st_size,
                        status.st_mtime_ns,
                    )
                )
    return candidates


def _without_status(entry: os.DirEntry, error: OSError) -> Problem:
    if entry.is_symlink():
        target = os.readlink(entry.path)  # noqa: PTH115 - the target as written, not as a Path
        return Problem(entry.path, f"a broken link to {target!r}", "make the link anew or delete it")
    return Problem(entry.path, f"cannot be looked at: {error.strerror}", "mend its permissions or delete it")


def _problem_of(path: str, status: os.stat_result) -> Problem | None:
    """Find what is wrong with a file without reading it (a pipe would block for ever)."""
    if stat.S_ISDIR(status.st_mode):
        return Problem(path, "a folder, not an image", "move its images up, or move it out")
    if not stat.S_ISREG(status.st_mode):
        return Problem(path, "neither a file nor a folder (a pipe, socket or device)", "delete it")
    if not path.isascii() and not _encodable(path):
        return Problem(path, "a name that is not valid UTF-8, which DALI cannot be given", "rename it")
    # Whoever may read the rest of the world's files needs no question to the kernel.
    if not status.st_mode & stat.S_IROTH and not os.access(path, os.R_OK):
        return Problem(path, "no permission to read it", f"chmod u+r {path!r}, or ask its owner")
    return None


def _encodable(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check(unknown: list[_Candidate], cache: ScanCache) -> dict[str, tuple[str, str]]:
    """Decode files in threads (the decoders let go of the interpreter lock) and enter the verdicts.

    Returns:
        Reason and remedy of files that could not be read, by path; such a verdict is not remembered.
    """
    unreadable = {}
    chunks = [unknown[start : start + _CHUNK] for start in range(0, len(unknown), _CHUNK)]
    executor = ThreadPoolExecutor(cores(), thread_name_prefix="scan")
    try:
        # The decoders warn of oddities in metadata, once a file; a verdict says all that matters.
        with warnings.catch_warnings(), _progress(len(unknown)) as progress:
            warnings.simplefilter("ignore")
            for chunk, verdicts in zip(chunks, executor.map(_check_chunk, chunks), strict=True):
                for one, (verdict, lasting) in zip(chunk, verdicts, strict=True):
                    if lasting:
                        cache.enter(one.key, one.size, one.modified, verdict)
                    else:
                        unreadable[one.path] = verdict
                progress.advance(len(chunk))
    finally:
        executor.shutdown(cancel_futures=True)
    return unreadable


def _progress(total: int) -> Progress:
    show = total >= _LONG
    if show:
        print(f"Checking {total:,} images, once; what is found is remembered.", file=sys.stderr, flush=True)
    return Progress(total, unit="images", show=show)


def _check_chunk(chunk: list[_Candidate]) -> list[tuple[tuple, bool]]:
    return [_verdict_of(one) for one in chunk]


def _verdict_of(one: _Candidate) -> tuple[tuple, bool]:
    """Return ((height, width) or (reason, remedy), whether the verdict lasts while the file is unchanged)."""
    try:
        data = Path(one.path).read_bytes()
    except OSError as error:
        return (f"cannot be read: {error.strerror}", REPLACE), False
    lasting = len(data) == one.size  # else the file is being written right now
    try:
        return check_image(data), lasting
    except ImageDefectError as defect:
        return (defect.reason, defect.remedy), lasting
    except MemoryError:
        return ("too large to be decoded in this machine's memory", CONVERT), False


def _enter(result: FolderScan, one: _Candidate, verdict: tuple) -> None:
    first, second = verdict
    if isinstance(first, str):
        result.problems.append(Problem(one.path, first, second))
    else:
        result.images[one.name] = SoundImage(one.path, one.size, first, second)
