"""The end of a run over photographs: the closing table, and the same as a file."""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from data_scripts.pair_folder import write_whole

NAME = "report.json"
ROWS = 20  # of skipped files in the closing table; the file has them all


@dataclass(frozen=True)
class Report:
    """What became of a folder of photographs.

    Attributes:
        root: the folder of the set.
        ended: ``complete``, ``interrupted`` or ``disk full``, or the error that ended the run.
        made: pairs made by this run.
        kept: pairs of earlier runs that needed no work.
        skipped: reason by path, for every file that gave no pair.
        left: photographs that were not reached.
        ignored: files that are no images by their name, counted by suffix.
        gone: photographs of earlier runs that are in the folder no more; their pairs stay.
        notes: conversions, counted over all pairs of the set.
    """

    root: Path
    ended: str
    made: int
    kept: int
    skipped: dict[str, str]
    left: int
    ignored: Counter[str]
    gone: tuple[str, ...]
    notes: Counter[str]

    def write(self) -> Path:
        """Write ``report.json`` beside the pairs.

        Returns:
            The file.

        Raises:
            OSError: it could not be written.
        """
        content = {
            "ended": self.ended,
            "made": self.made,
            "kept": self.kept,
            "left": self.left,
            "skipped": [{"photo": printable(photo), "reason": why} for photo, why in self.skipped.items()],
            "ignored": dict(self.ignored),
            "gone": [printable(photo) for photo in self.gone],
            "conversions": dict(self.notes),
        }
        path = self.root / NAME
        write_whole(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
        return path

    def text(self) -> str:
        """Lay the report out for people: the counts, then one line a skipped file."""
        lines = [
            f"{self.made + self.kept:,} pairs in {self.root}: {self.made:,} made now, {self.kept:,} kept"
        ]
        lines += [f"  {count:>9,}  {note}" for note, count in self.notes.most_common()]
        if self.left:
            lines.append(f"{self.left:,} photographs not reached ({self.ended})")
        if self.gone:
            lines.append(
                f"{len(self.gone):,} pairs kept although their photograph is gone, such as {self.gone[0]}"
            )
        if self.ignored:
            kinds = ", ".join(f"{count:,} {suffix}" for suffix, count in self.ignored.most_common(8))
            lines.append(f"{self.ignored.total():,} files ignored, no images by their name: {kinds}")
        if self.skipped:
            lines += [f"{len(self.skipped):,} skipped:", *self._table()]
        return printable("\n".join(lines))

    def _table(self) -> list[str]:
        shown = list(self.skipped.items())[:ROWS]
        width = min(48, max(len(printable(photo)) for photo, _ in shown))
        rows = [f"  {printable(photo):<{width}}  {reason}" for photo, reason in shown]
        if len(self.skipped) > ROWS:
            rows.append(f"  and {len(self.skipped) - ROWS:,} more in {NAME}, by reason:")
            by_reason = Counter(self.skipped.values())
            rows += [f"  {count:>9,}  {reason}" for reason, count in by_reason.most_common(ROWS)]
        return rows


def printable(path: str) -> str:
    r"""Show a file name that is not UTF-8 with its bytes as ``\xNN``, as no terminal prints surrogates."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
