"""psutil: how busy the CPU is, and how much of that is the watched program.

Only the standard library is imported here, because the recorder must start fast; the module
``psutil`` is handed in.
"""

import os
import time
from pathlib import Path
from types import ModuleType
from typing import Any

from tutorial_utils.monitor.channels import Channel


class CpuProbe:
    """The CPU's figures from psutil: all allowed cores, memory, and the watched program's share.

    Values are the mean since the last beat; the kernel counts in ticks of 10 ms, so single values
    are coarse and their mean is not.

    Args:
        psutil: the module (handed in, so that a test can hand in its own).
        watched: process whose CPU time, workers included, is a channel of its own; None for none.
    """

    def __init__(self, psutil: ModuleType, watched: int | None):
        self._psutil = psutil
        self._allowed = sorted(os.sched_getaffinity(0))
        self._tree = _ProcessTree(psutil, watched) if watched is not None else None
        self._notes: list[str] = []
        self.cores = len(self._allowed)
        channels = [Channel("CPU", "%", "CPU", None, 100.0)]
        if self._tree is not None:
            channels.append(Channel("CPU of this program", "%", "CPU of this program", None, 100.0))
            ram = psutil.virtual_memory().total / 2**30
            channels.append(Channel("RAM", "GiB", "RAM", None, ram))
        self.channels = tuple(channels)
        self._has_looked = False

    def read(self) -> list[float | None]:
        """Read every channel; None where the system refuses."""
        try:
            return self._read()
        except (self._psutil.Error, OSError) as error:
            note = f"CPU figures stopped: {error}"
            if note not in self._notes:
                self._notes.append(note)
            return [None] * len(self.channels)

    def new_notes(self) -> list[str]:
        """Hand over the notes that came up since the last call."""
        notes, self._notes = self._notes, []
        return notes

    def _read(self) -> list[float | None]:
        every = self._psutil.cpu_percent(percpu=True)
        mine = [every[core] for core in self._allowed if core < len(every)] or every
        shares: list[float | None] = [sum(mine) / len(mine)]
        memory = []
        if self._tree is not None:
            shares.append(self._tree.percent())
            now = self._psutil.virtual_memory()
            memory = [(now.total - now.available) / 2**30]
        if not self._has_looked:
            self._has_looked = True
            shares = [None] * len(shares)  # a share is that of the time since the last look
        return [*shares, *memory]


class _ProcessTree:
    """CPU share of one process and its descendants, of the cores they may use."""

    def __init__(self, psutil: ModuleType, root: int):
        self._psutil = psutil
        self._root = psutil.Process(root)
        self._cores = _cores_of_quota() or len(os.sched_getaffinity(0))
        self._spent: dict[Any, float] = {}
        self._clock = self._look_again = time.monotonic()

    def percent(self) -> float:
        """Share since the last call, in % of the allowed cores."""
        now = time.monotonic()
        if now >= self._look_again:
            self._find_members(now)
        used = 0.0
        for process, before in list(self._spent.items()):
            try:
                times = process.cpu_times()
            except self._psutil.Error:
                del self._spent[process]
                continue
            self._spent[process] = times.user + times.system
            used += self._spent[process] - before
        seconds, self._clock = now - self._clock, now
        return 100 * used / (seconds * self._cores) if seconds > 0 else 0.0

    def _find_members(self, now: float) -> None:
        """List the descendants: at most once a second, and seldom where thousands of processes run."""
        members = [self._root, *self._root.children(recursive=True)]
        for process in members:
            if process not in self._spent and process.pid != os.getpid():
                try:
                    times = process.cpu_times()
                except self._psutil.Error:
                    continue
                self._spent[process] = times.user + times.system
        self._look_again = now + max(1.0, 200 * (time.monotonic() - now))


def _cores_of_quota() -> float | None:
    """Read how many cores a container's quota allows, None without one (cgroup v2, else v1)."""
    group = Path("/sys/fs/cgroup")
    try:
        limit, period = (group / "cpu.max").read_text().split()
    except (OSError, ValueError):
        try:
            limit = (group / "cpu/cpu.cfs_quota_us").read_text().strip()
            period = (group / "cpu/cpu.cfs_period_us").read_text().strip()
        except OSError:
            return None
    if limit == "max" or int(limit) <= 0:
        return None
    return min(int(limit) / int(period), len(os.sched_getaffinity(0)))
