"""Which file broke a running pipeline, as DALI's own message often names none; beneath ``loaders``."""

import heapq
from collections.abc import Iterable, Iterator
from pathlib import Path

from tutorial_utils.image_check import ImageDefectError, check_image

RECENT = 256  # files to decode when no size tells; the one that broke was most likely written last


class BrokenFileError(RuntimeError):
    """Files that were sound when they were listed and no longer are; the message names them.

    Attributes:
        files: their paths.
    """

    def __init__(self, problems: list[tuple[str, str]]):
        lines = "".join(f"\n  {path}: {reason}" for path, reason in problems)
        super().__init__(
            f"the epoch broke off, since {'a file' if len(problems) == 1 else 'files'} changed after the "
            f"list was made:{lines}\nRemove the file and open the folder anew; or mend it and loop over the "
            "loader again: it begins its next epoch with a new pipeline."
        )
        self.files = [path for path, _ in problems]


def broken_files(files: Iterable[tuple[str, int]]) -> list[tuple[str, str]]:
    """Find the files that cannot be decoded, without decoding all of them.

    Files that are gone or whose size has changed are decoded first; if all of those are sound, the
    256 that were written last.

    Args:
        files: path of each file and its size in bytes when it was listed.

    Returns:
        (path, reason) of each broken file found, perhaps none.
    """
    changed, unchanged = [], []
    for path, size in files:
        try:
            status = Path(path).stat()
        except OSError:
            changed.append(path)
            continue
        if status.st_size != size:
            changed.append(path)
        else:
            unchanged.append((status.st_mtime_ns, path))
    return list(_defects(changed)) or list(_defects(path for _, path in heapq.nlargest(RECENT, unchanged)))


def _defects(paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    for path in paths:
        try:
            check_image(Path(path).read_bytes())
        except (ImageDefectError, OSError) as defect:
            yield path, getattr(defect, "strerror", None) or str(defect)
