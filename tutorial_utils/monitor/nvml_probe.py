"""NVML: what the NVIDIA driver says about its GPUs.

Only the standard library is imported here, because the recorder must start fast; the module
``pynvml`` is handed in.
"""

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple

from tutorial_utils.monitor.channels import Channel

RETRY_SECONDS = 5.0
"""How long a GPU whose driver stopped answering is left alone before it is asked again."""


def _sm(nvml: ModuleType, handle: Any) -> float:
    return nvml.nvmlDeviceGetUtilizationRates(handle).gpu


def _decoder(nvml: ModuleType, handle: Any) -> float:
    return nvml.nvmlDeviceGetDecoderUtilization(handle)[0]


def _jpeg_engine(nvml: ModuleType, handle: Any) -> float:
    return nvml.nvmlDeviceGetJpgUtilization(handle)[0]


def _memory(nvml: ModuleType, handle: Any) -> float:
    return nvml.nvmlDeviceGetMemoryInfo(handle).used / 2**30


def _power(nvml: ModuleType, handle: Any) -> float:
    return nvml.nvmlDeviceGetPowerUsage(handle) / 1000


def _memory_size(nvml: ModuleType, handle: Any) -> float:
    return nvml.nvmlDeviceGetMemoryInfo(handle).total / 2**30


def _power_limit(nvml: ModuleType, handle: Any) -> float:
    return nvml.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000


def _percent(_nvml: ModuleType, _handle: Any) -> float:
    return 100.0


class Query(NamedTuple):
    """How one quantity of a GPU is asked: its reading and its full scale, in the same unit."""

    quantity: str
    unit: str
    read: Callable[[ModuleType, Any], float]
    full_scale: Callable[[ModuleType, Any], float]


GPU_QUERIES = (
    Query("SM", "%", _sm, _percent),
    Query("decoder", "%", _decoder, _percent),
    Query("JPEG engine", "%", _jpeg_engine, _percent),
    Query("memory", "GiB", _memory, _memory_size),
    Query("power", "W", _power, _power_limit),
)


def visible_gpus(setting: str | None, uuids: Sequence[str]) -> list[str]:
    """List the GPUs that CUDA shows to programs, in CUDA's numbering.

    Args:
        setting: ``CUDA_VISIBLE_DEVICES``: numbers, UUIDs or unique beginnings of UUIDs, parted by
            commas. As in CUDA, the first entry that names no GPU ends the list. None: all.
        uuids: UUIDs of all GPUs in the driver's order.

    Returns:
        UUIDs; the first is ``cuda:0``.
    """
    if setting is None:
        return list(uuids)
    chosen: list[str] = []
    for entry in (part.strip() for part in setting.split(",")):
        if entry.isdecimal():
            matches = [uuids[int(entry)]] if int(entry) < len(uuids) else []
        elif entry.startswith("MIG-"):
            matches = [entry]
        else:
            matches = [uuid for uuid in uuids if entry and uuid.startswith(entry)]
        if len(matches) != 1:
            break
        chosen.append(matches[0])
    return chosen


class _Gpu:
    """One GPU under watch: its handle, the queries it supports, and whether it answers."""

    def __init__(self, number: int, uuid: str, name: str, handle: Any):
        self.number, self.uuid, self.name, self.handle = number, uuid, name, handle
        self.queries: list[Query] = []
        self.silent_since: float | None = None


class NvmlProbe:
    """The NVIDIA driver's own figures (NVML), for every GPU asked for.

    ``SM`` is the share of time in which at least one kernel ran, averaged by the driver over its
    own sampling period (between 1/6 s and 1 s, by GPU model): it says whether the GPU had work, not
    how much of it the work filled. ``decoder`` and ``JPEG engine`` are the fixed-function units.

    Args:
        nvml: the module ``pynvml`` (handed in, so that a test can hand in its own).
        gpus: numbers as PyTorch counts them; None for all that ``CUDA_VISIBLE_DEVICES`` shows.
        environment: where ``CUDA_VISIBLE_DEVICES`` and ``CUDA_DEVICE_ORDER`` are looked up.

    Raises:
        LookupError: no GPU is left to watch; the message says why.
        nvml.NVMLError: the driver or its library is missing.
    """

    def __init__(self, nvml: ModuleType, gpus: Sequence[int] | None, environment: Mapping[str, str]):
        self._nvml = nvml
        self._notes: list[str] = []
        nvml.nvmlInit()
        self._gpus = self._open(gpus, environment)
        if not self._gpus:
            raise LookupError("; ".join(self._notes))
        self.channels = tuple(channel for gpu in self._gpus for channel in self._support(gpu))
        self.names = [gpu.name for gpu in self._gpus]
        self._warn_of_order(environment)

    def read(self) -> list[float | None]:
        """Read every channel; a GPU that does not answer gives None until it answers again."""
        self._revive()
        return [value for gpu in self._gpus for value in self._read_gpu(gpu)]

    def new_notes(self) -> list[str]:
        """Hand over the notes that came up since the last call."""
        notes, self._notes = self._notes, []
        return notes

    def _open(self, gpus: Sequence[int] | None, environment: Mapping[str, str]) -> list[_Gpu]:
        uuids = [self._uuid(index) for index in range(self._nvml.nvmlDeviceGetCount())]
        setting = environment.get("CUDA_VISIBLE_DEVICES")
        visible = visible_gpus(setting, uuids)
        if not visible:
            hidden = uuids and setting is not None
            self._notes.append(f"CUDA_VISIBLE_DEVICES={setting!r} hides every GPU" if hidden else "no GPU")
            return []
        found = []
        for number in range(len(visible)) if gpus is None else gpus:
            if number >= len(visible):
                self._notes.append(f"GPU {number} is not here: this process sees {len(visible)}, from 0 on")
                continue
            try:
                handle = self._nvml.nvmlDeviceGetHandleByUUID(visible[number])
                found.append(_Gpu(number, visible[number], self._nvml.nvmlDeviceGetName(handle), handle))
            except self._nvml.NVMLError as error:
                self._notes.append(f"GPU {number}: the driver does not answer ({error})")
        return found

    def _uuid(self, index: int) -> str:
        """UUID of a GPU in the driver's order; an empty one where the GPU has fallen off the bus."""
        try:
            return self._nvml.nvmlDeviceGetUUID(self._nvml.nvmlDeviceGetHandleByIndex(index))
        except self._nvml.NVMLError:
            return ""

    def _support(self, gpu: _Gpu) -> list[Channel]:
        """Try each query once; leave out, with a note, what this GPU or driver does not know."""
        channels, missing = [], []
        for query in GPU_QUERIES:
            try:
                query.read(self._nvml, gpu.handle)
            except (self._nvml.NVMLError, AttributeError):
                missing.append(query.quantity)
                continue
            gpu.queries.append(query)
            scale = self._full_scale(query, gpu)
            label = f"GPU {gpu.number} {query.quantity}"
            channels.append(Channel(label, query.unit, query.quantity, gpu.number, scale))
        if missing:
            reason = "MIG is on, and its" if self._in_slices(gpu) else "its"
            self._notes.append(f"GPU {gpu.number}: {reason} driver gives no figure for {', '.join(missing)}")
        return channels

    def _full_scale(self, query: Query, gpu: _Gpu) -> float | None:
        try:
            return query.full_scale(self._nvml, gpu.handle)
        except (self._nvml.NVMLError, AttributeError):
            return None

    def _in_slices(self, gpu: _Gpu) -> bool:
        try:
            return gpu.uuid.startswith("MIG-") or self._nvml.nvmlDeviceGetMigMode(gpu.handle)[0] == 1
        except (self._nvml.NVMLError, AttributeError):
            return False

    def _warn_of_order(self, environment: Mapping[str, str]) -> None:
        by_bus = environment.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"
        if len(set(self.names)) > 1 and not by_bus:
            self._notes.append(
                "unlike GPUs: they are numbered by bus here, but CUDA may put the fastest first; "
                "set CUDA_DEVICE_ORDER=PCI_BUS_ID before the kernel starts, and the numbers agree"
            )

    def _read_gpu(self, gpu: _Gpu) -> list[float | None]:
        if gpu.silent_since is not None:
            return [None] * len(gpu.queries)
        try:
            return [query.read(self._nvml, gpu.handle) for query in gpu.queries]
        except self._nvml.NVMLError as error:
            gpu.silent_since = time.monotonic()
            self._notes.append(
                f"GPU {gpu.number}: the driver stopped answering ({error}); "
                f"it is asked again every {RETRY_SECONDS:.0f} s"
            )
            return [None] * len(gpu.queries)

    def _revive(self) -> None:
        """Open NVML afresh, seldom, when a GPU is silent; handles of the living are renewed with it."""
        now = time.monotonic()
        due = [gpu for gpu in self._gpus if gpu.silent_since and now - gpu.silent_since >= RETRY_SECONDS]
        if not due:
            return
        nvml = self._nvml
        with contextlib.suppress(nvml.NVMLError):  # a dead driver refuses this too; nvmlInit decides
            nvml.nvmlShutdown()
        try:
            nvml.nvmlInit()
        except nvml.NVMLError:
            for gpu in due:
                gpu.silent_since = now
            return
        for gpu in self._gpus:
            self._renew(gpu, now)

    def _renew(self, gpu: _Gpu, now: float) -> None:
        try:
            gpu.handle = self._nvml.nvmlDeviceGetHandleByUUID(gpu.uuid)
            for query in gpu.queries:
                query.read(self._nvml, gpu.handle)
        except self._nvml.NVMLError:
            gpu.silent_since = now
            return
        if gpu.silent_since is not None:
            gpu.silent_since = None
            self._notes.append(f"GPU {gpu.number}: the driver answers again")
