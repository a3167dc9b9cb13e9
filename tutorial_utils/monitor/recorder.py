"""The recorder: a process that asks the driver at a steady beat and writes what it hears to its output.

Run by ``recording.Recording`` as ``python -m tutorial_utils.monitor.recorder SETTINGS``; SETTINGS is a
JSON object with ``gpus`` (numbers, null for all, [] for none) and ``interval`` (seconds). It writes one
JSON object a line: first ``{"source", "channels"}``, then ``{"t", "values"}`` at every beat and
``{"note", "t"}`` when something happened. ``t`` is CLOCK_MONOTONIC, which all processes share.

It ends when its input speaks or closes, and when its parent is gone: a forked worker of the parent
may hold the other end of the input open, so the parent's number is looked at as well.
"""

import importlib
import json
import math
import os
import select
import sys
import time
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from tutorial_utils.monitor.channels import Probe
from tutorial_utils.monitor.cpu_probe import CpuProbe
from tutorial_utils.monitor.nvml_probe import NvmlProbe


class Outbox:
    """Lines on their way to a reader who may be asleep: what the pipe does not take waits here.

    A blocking write would stop the beat as soon as nobody had read the pipe for a minute.
    """

    def __init__(self, descriptor: int):
        self.descriptor = descriptor
        self._waiting = bytearray()
        os.set_blocking(descriptor, False)

    def put(self, message: Mapping[str, Any]) -> None:
        """Add one line and send what the pipe takes now."""
        self._waiting += json.dumps(message, separators=(",", ":")).encode() + b"\n"
        self.push()

    def push(self) -> bool:
        """Send what the pipe takes now; whether all of it went.

        Raises:
            BrokenPipeError: nobody will ever read again.
        """
        try:
            while self._waiting:
                del self._waiting[: os.write(self.descriptor, self._waiting)]
        except BlockingIOError:
            return False
        return True


def open_probes(
    gpus: Sequence[int] | None, watched: int, environment: Mapping[str, str]
) -> tuple[list[Probe], str, list[str]]:
    """Choose what can be asked on this machine.

    Args:
        gpus: numbers as PyTorch counts them; None for all visible ones, empty for none.
        watched: process whose own CPU time is recorded where there is no GPU.
        environment: environment variables of the watched process.

    Returns:
        The probes, the name of the source for people, and notes on what is missing.
    """
    notes: list[str] = []
    on_gpu, why_not = _open_nvml(gpus, environment, notes)
    psutil = _load("psutil", notes)
    on_cpu = CpuProbe(psutil, None if on_gpu else watched) if psutil else None
    probes: list[Probe] = [probe for probe in (on_gpu, on_cpu) if probe is not None]
    if on_gpu is not None:
        names = [f"{on_gpu.names.count(name)} x {name}" for name in dict.fromkeys(on_gpu.names)]
        return probes, "NVML: " + ", ".join(names).replace("1 x ", ""), notes
    if on_cpu is not None:
        return probes, f"psutil: CPU, {on_cpu.cores} cores, {why_not}", notes
    return probes, f"nothing to ask, {why_not}", notes


def _open_nvml(
    gpus: Sequence[int] | None, environment: Mapping[str, str], notes: list[str]
) -> tuple[NvmlProbe | None, str]:
    if gpus is not None and not gpus:
        return None, "no GPU watched"
    nvml = _load("pynvml", notes)
    if nvml is None:
        return None, "no GPU here"
    try:
        return NvmlProbe(nvml, gpus, environment), ""
    except nvml.NVMLError_LibraryNotFound:
        return None, "no GPU here (no NVIDIA driver)"
    except nvml.NVMLError as error:
        notes.append(f"the NVIDIA driver does not answer: {error}")
    except LookupError as error:
        notes.append(str(error))
    return None, "no GPU here"


def _load(name: str, notes: list[str]) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        notes.append(f"the module {name} cannot be loaded: {error}")
        return None


def record(probes: Sequence[Probe], outbox: Outbox, interval: float, parent: int) -> None:
    """Read all probes at every multiple of ``interval`` until told to stop or left alone.

    The deadlines are absolute: a late beat does not delay the next one, and a beat missed
    altogether (a suspended machine) is left out, not made up for.
    """
    start = time.monotonic()
    beat = 0
    while os.getppid() == parent:
        values = [value for probe in probes for value in probe.read()]
        now = time.monotonic()
        for probe in probes:
            for note in probe.new_notes():
                outbox.put({"note": note, "t": now})
        outbox.put({"t": now, "values": values})
        beat = max(beat + 1, math.ceil((time.monotonic() - start) / interval))
        if _told_to_stop(start + beat * interval - time.monotonic()):
            return


def _told_to_stop(patience: float) -> bool:
    """Sleep until the next beat; a byte or the end of the input ends the sleep and the recording."""
    return bool(select.select([sys.stdin], [], [], max(patience, 0))[0])


def _deliver(outbox: Outbox, parent: int) -> None:
    """Wait until the parent has read the rest, or is gone."""
    while not outbox.push() and os.getppid() == parent:
        select.select([], [outbox.descriptor], [], 0.1)


def main(arguments: Sequence[str] | None = None) -> None:
    """Record until told to stop; see the module's text for the protocol."""
    parent = os.getppid()
    arguments = sys.argv[1:] if arguments is None else arguments
    if len(arguments) != 1:
        sys.exit("The recorder is started by tutorial_utils.monitor.Monitor, with its settings as JSON.")
    settings = json.loads(arguments[0])
    # The protocol gets a descriptor of its own: whatever a driver's library prints must not mix with it.
    outbox = Outbox(os.dup(1))
    os.dup2(2, 1)
    probes, source, notes = open_probes(settings["gpus"], parent, os.environ)
    channels = [channel for probe in probes for channel in probe.channels]
    try:
        outbox.put({"source": source, "channels": channels})
        for note in notes:
            outbox.put({"note": note, "t": time.monotonic()})
        if channels:
            record(probes, outbox, settings["interval"], parent)
        _deliver(outbox, parent)
    except BrokenPipeError:
        pass  # the parent is gone; there is nobody to tell


if __name__ == "__main__":
    main()
