"""How far a long run is: a bar on a terminal, a line now and then elsewhere."""

import sys
import time
from types import TracebackType
from typing import Self

from tqdm import tqdm

SECONDS_BETWEEN_LINES = 10.0


class Progress:
    """Shows count, rate and time left.

    On a terminal it is a bar, on the standard error stream. Where a bar would leave a trail (a log
    file, a notebook) it is a plain line every ten seconds on the standard output, which a notebook
    does not paint red; a short run shows nothing at all.
    """

    def __init__(self, total: int, *, unit: str, show: bool = True) -> None:
        """Start the clock.

        Args:
            total: how many units this run will do.
            unit: the unit's name, such as ``pairs``.
            show: False shows nothing.
        """
        self.total, self.unit, self.count = total, unit, 0
        self._start = self._last = time.monotonic()
        self._lines = show and not sys.stderr.isatty()
        self._bar = tqdm(
            total=total, unit=f" {unit}", disable=not show or self._lines, dynamic_ncols=True, file=sys.stderr
        )

    def advance(self, count: int) -> None:
        """Add finished units."""
        self.count += count
        self._bar.update(count)
        now = time.monotonic()
        if self._lines and now - self._last >= SECONDS_BETWEEN_LINES:
            self._last = now
            line = tqdm.format_meter(self.count, self.total, now - self._start, unit=f" {self.unit}", ncols=0)
            print(line.strip(), flush=True)

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._start

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.close()
