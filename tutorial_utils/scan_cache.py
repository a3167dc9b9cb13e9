"""What a scan found, kept so that the next one is quick: one JSON file beside the data.

Beneath ``scan``. A cache may always be deleted; one that is damaged, of another version or made with
other decoders is ignored and made anew.
"""

import hashlib
import json
import os
import tempfile
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import cv2
import PIL
import platformdirs

FILE_NAME = ".dali-tutorials-scan.json"
FORMAT = 1
# Raise the first number when `image_check` judges otherwise: verdicts of older rules are not trusted.
RULES = f"1, Pillow {PIL.__version__}, OpenCV {cv2.__version__}"

Verdict = tuple[int, int] | tuple[str, str]


class ScanCache:
    """Verdicts by file: ``(height, width)`` of a sound image, ``(reason, remedy)`` of a bad one."""

    def __init__(self, entries: dict[str, list] | None = None) -> None:
        self._entries = entries or {}
        self._changed = False

    @classmethod
    def load(cls, root: Path) -> "ScanCache":
        """Read what the last scan of a data set found; empty if there is nothing usable."""
        for path in sorted(_places(root), key=_written, reverse=True):
            try:
                content = json.loads(path.read_bytes())
            except (OSError, ValueError):
                continue
            if _usable(content):
                return cls(content["files"])
        return cls()

    def verdict(self, key: str, size: int, modified: int) -> Verdict | None:
        """Look a file up.

        Args:
            key: path of the file relative to the data set.
            size: its bytes now.
            modified: its time of change now, in nanoseconds.

        Returns:
            What was found, or None if the file is new or changed.
        """
        entry = self._entries.get(key)
        if not isinstance(entry, list) or len(entry) != 4 or entry[0] != size or entry[1] != modified:
            return None
        first, second = entry[2:]
        if type(first) is not type(second) or type(first) not in (int, str):
            return None
        return first, second

    def enter(self, key: str, size: int, modified: int, verdict: Verdict) -> None:
        """Remember a verdict about a file of this size and time of change."""
        self._entries[key] = [size, modified, *verdict]
        self._changed = True

    def save(self, root: Path, keep: Iterable[str]) -> None:
        """Write the cache, whole or not at all, if anything changed.

        Two scans at once each write their own complete file; the later one stays.

        Args:
            root: the data set; where it cannot be written, the user's cache folder takes the file.
            keep: keys of the files that are there; the rest is forgotten.
        """
        entries = {key: self._entries[key] for key in keep if key in self._entries}
        if not self._changed and len(entries) == len(self._entries):
            return
        content = json.dumps({"format": FORMAT, "rules": RULES, "files": entries}, separators=(",", ":"))
        for path in _places(root):
            try:
                _write_whole(path, content)
            except OSError as error:
                reason = error
            else:
                self._changed = False
                return
        warnings.warn(
            f"The scan of {root} could not be remembered ({reason}); the next one will take as long.",
            stacklevel=2,
        )


def _places(root: Path) -> tuple[Path, Path]:
    absolute = str(root.resolve()).encode(errors="surrogateescape")
    name = hashlib.sha256(absolute).hexdigest()[:16] + ".json"
    return root / FILE_NAME, platformdirs.user_cache_path("dali-tutorials") / "scans" / name


def _written(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _usable(content: Any) -> bool:
    return (
        isinstance(content, dict)
        and content.get("format") == FORMAT
        and content.get("rules") == RULES
        and isinstance(content.get("files"), dict)
    )


def _write_whole(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, part = tempfile.mkstemp(prefix=f"{FILE_NAME}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(content)
        Path(part).chmod(0o644)  # a data set shared by several people is scanned once
        Path(part).replace(path)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise
