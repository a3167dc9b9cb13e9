"""The kernel's end of the recorder: starts it, reads what it wrote, ends it.

Nothing here raises into the watched program: what goes wrong becomes a note.
"""

import contextlib
import fcntl
import json
import os
import select
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tutorial_utils.monitor.channels import Channel

INTERVAL = 0.1
"""Seconds between two beats of the recorder."""

_READY_SECONDS = 10.0
_GOODBYE_SECONDS = 3.0
_PIPE_BYTES = 1 << 20


class Recording:
    """A running recorder and what it has said so far.

    Attributes:
        source: where the figures come from, for people; empty until the recorder has spoken.
        channels: the lines recorded.
        notes: what people should know, each with its second, in order.
        start: CLOCK_MONOTONIC of the first sample, the zero of all times; of the call of
            :meth:`begin` if there is none.
    """

    def __init__(self, gpus: Sequence[int] | None):
        self.source = ""
        self.channels: tuple[Channel, ...] = ()
        self.notes: list[str] = []
        self.start = time.monotonic()
        self._gpus = gpus
        self._rows = np.empty((0, 0))
        self._count = 0
        self._unfinished_line = b""
        self._process: subprocess.Popen[bytes] | None = None
        self._complaints = None
        self._lock = threading.Lock()
        self._over = False
        self._asked_to_stop = False

    @property
    def process_id(self) -> int | None:
        """Process number of the recorder, None if it never ran."""
        return self._process.pid if self._process else None

    def begin(self) -> None:
        """Start the recorder and wait for its first sample, so that its start disturbs no measurement."""
        self.start = time.monotonic()
        try:
            self._launch()
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            self._over = True
            self.notes.append(f"the recorder could not be started: {error}")
            return
        deadline = self.start + _READY_SECONDS
        while not self._count and not self._over and time.monotonic() < deadline:
            select.select([self._process.stdout], [], [], max(0, deadline - time.monotonic()))
            self.drain()
        if not self._count and not self._over:
            self._note(f"the recorder has said nothing for {_READY_SECONDS:.0f} s; the program runs on")

    def drain(self) -> None:
        """Take in what the recorder has written by now; returns at once."""
        with self._lock:
            while self._process is not None and not self._over:
                try:
                    piece = self._process.stdout.read(1 << 16)
                except (OSError, ValueError) as error:
                    self._end(f"its pipe broke: {error}")
                    return
                if piece is None:
                    return
                if not piece:
                    self._end(self._last_words())
                    return
                self._take(piece)

    def samples(self) -> tuple[np.ndarray, np.ndarray]:
        """Give what was recorded.

        Returns:
            Times in seconds since ``start``, float64 (samples,), and values, float64
            (samples, channels), NaN where there is none. Rows once given do not change.
        """
        with self._lock:
            if not self._count:
                return np.empty(0), np.empty((0, len(self.channels)))
            rows = self._rows[: self._count]
            return rows[:, 0] - self.start, rows[:, 1:]

    def end(self) -> None:
        """Stop the recorder, take in its last samples and leave no process behind."""
        process = self._process
        if process is None or self._asked_to_stop:
            return
        try:
            self._stop_politely(process)
        finally:
            process.kill()  # a no-op once it has ended
            try:
                process.wait(timeout=_GOODBYE_SECONDS)
            except subprocess.TimeoutExpired:
                self.notes.append(
                    f"the recorder, process {process.pid}, hangs in the driver and cannot be ended"
                )
            self._over = True
            process.stdout.close()
            self._complaints.close()

    def _launch(self) -> None:
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115  (closed in end)
        home = str(Path(__file__).resolve().parents[2])
        paths = [home, *filter(None, [os.environ.get("PYTHONPATH")])]
        settings = {"gpus": None if self._gpus is None else list(self._gpus), "interval": INTERVAL}
        self._process = subprocess.Popen(
            # -P: a file of the reader's beside the notebook must not stand in for a module of ours.
            [sys.executable, "-P", "-m", "tutorial_utils.monitor.recorder", json.dumps(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            bufsize=0,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            # Jupyter interrupts a cell by a signal to the kernel's whole process group; not to us.
            start_new_session=True,
        )
        os.set_blocking(self._process.stdout.fileno(), False)
        with contextlib.suppress(OSError):  # over the user's limit: the recorder keeps what does not fit
            fcntl.fcntl(self._process.stdout.fileno(), fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    def _take(self, piece: bytes) -> None:
        *lines, self._unfinished_line = (self._unfinished_line + piece).split(b"\n")
        for line in lines:
            message = json.loads(line)
            if "values" in message:
                self._append([message["t"], *message["values"]])
            elif "note" in message:
                self._note(message["note"], message["t"])
            else:
                self.source = message["source"]
                self.channels = tuple(Channel(*fields) for fields in message["channels"])

    def _append(self, row: list[float | None]) -> None:
        if not self._count:
            self.start = row[0]
        if self._count == len(self._rows):
            longer = np.empty((max(512, 2 * self._count), len(row)))
            longer[: self._count] = self._rows[:, : len(row)] if self._count else 0
            self._rows = longer
        self._rows[self._count] = row  # None becomes NaN
        self._count += 1

    def _note(self, text: str, clock: float | None = None) -> None:
        second = max(0.0, (time.monotonic() if clock is None else clock) - self.start)
        self.notes.append(f"{text} (at {second:.1f} s)" if self._count else text)

    def _end(self, why: str) -> None:
        self._over = True
        found_nothing = self.source and not self.channels  # its notes say why
        if not self._asked_to_stop and not found_nothing:
            self._note(f"the recorder ended by itself: {why}")

    def _last_words(self) -> str:
        """Say why the recorder is gone: the last line it complained, else how it ended."""
        self._complaints.seek(0)
        lines = self._complaints.read().decode(errors="replace").strip().splitlines()
        if lines:
            return lines[-1]
        try:
            status = self._process.wait(timeout=_GOODBYE_SECONDS)
        except subprocess.TimeoutExpired:
            return "it closed its output"
        return f"killed by signal {-status}" if status < 0 else f"exit status {status}"

    def _stop_politely(self, process: subprocess.Popen[bytes]) -> None:
        self._asked_to_stop = True
        with contextlib.suppress(OSError):  # it is gone already, which is what we want
            process.stdin.write(b".")
        with contextlib.suppress(OSError):
            process.stdin.close()
        deadline = time.monotonic() + _GOODBYE_SECONDS
        while not self._over and time.monotonic() < deadline:
            select.select([process.stdout], [], [], max(0, deadline - time.monotonic()))
            self.drain()
