"""``photos.jsonl``: which photograph each pair came from, one line a pair, kept as the pairs are made."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from data_scripts.pair_folder import write_whole
from data_scripts.photo_search import Photo

NAME = "photos.jsonl"


@dataclass(frozen=True)
class Entry:
    """A photograph that became a pair.

    Attributes:
        photo: its path relative to the folder of photographs.
        size: its bytes when it was read.
        mtime_ns: its time of change then.
        name: the file name of the pair.
        notes: the conversions applied.
    """

    photo: str
    size: int
    mtime_ns: int
    name: str
    notes: tuple[str, ...]

    def is_of(self, photo: Photo) -> bool:
        """Tell whether the photograph is unchanged since: same size, same time of change."""
        return (self.size, self.mtime_ns) == (photo.size, photo.mtime_ns)


class Ledger:
    """The entries of a set by photograph; entered as a context, it takes additions.

    Attributes:
        entries: by the photograph's path.
    """

    def __init__(self, root: Path) -> None:
        """Read the ledger of a set, leaving out what a killed run wrote of its last line."""
        self._path = root / NAME
        self.entries: dict[str, Entry] = {}
        if self._path.exists():
            for line in self._path.read_text(encoding="utf-8").splitlines():
                try:
                    fields = json.loads(line)
                except ValueError:
                    continue
                self.entries[fields["photo"]] = Entry(**fields | {"notes": tuple(fields["notes"])})

    def add(self, entry: Entry) -> None:
        """Note a pair just written, in the file too.

        Raises:
            OSError: the line could not be written; the pair will be made again.
        """
        self.entries[entry.photo] = entry
        self._file.write(_line(entry).encode("ascii"))

    def store(self) -> None:
        """Write all entries anew, sorted, so that a photograph made twice has one line."""
        lines = [_line(self.entries[photo]) for photo in sorted(self.entries)]
        write_whole(self._path, "".join(lines))

    def __enter__(self) -> Self:
        self.store()
        # Unbuffered: a line is on its way when `add` returns, and closing has nothing left to fail.
        self._file = self._path.open("ab", buffering=0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def _line(entry: Entry) -> str:
    # ASCII, so that file names that are not UTF-8 survive as escaped surrogates.
    return json.dumps(asdict(entry)) + "\n"
