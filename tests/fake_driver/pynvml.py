"""A stand-in for the module ``pynvml``: GPUs, faults and their times as the variable FAKE_DRIVER says.

A JSON object: ``gpus`` (each with ``uuid``, ``name``, ``sm`` and maybe ``mig``), ``unsupported``
(names of functions), ``dies`` and ``revives`` (seconds since this module was loaded), ``dead_gpu``
(index of the one that dies; all without it), ``absent`` (the driver's library is missing), ``crash``
(seconds after which a call ends the whole process, as a fault in the driver's library would).
"""
# ruff: noqa: N801, N802, N818

import json
import os
import time
from types import SimpleNamespace

_LOADED = time.monotonic()
_GIB = 2**30


class NVMLError(Exception):
    pass


class NVMLError_LibraryNotFound(NVMLError):
    pass


class NVMLError_NotSupported(NVMLError):
    pass


class NVMLError_GpuIsLost(NVMLError):
    pass


def _setting():
    return json.loads(os.environ.get("FAKE_DRIVER", "{}"))


def _is_dead(gpu):
    setting, age = _setting(), time.monotonic() - _LOADED
    hit = setting.get("dead_gpu") in (None, gpu)
    return hit and setting.get("dies", 1e9) <= age < setting.get("revives", 1e9)


def _ask(gpu, function):
    setting = _setting()
    if time.monotonic() - _LOADED > setting.get("crash", 1e9):
        os._exit(41)
    if _is_dead(gpu):
        raise NVMLError_GpuIsLost("GPU is lost")
    if function in setting.get("unsupported", []):
        raise NVMLError_NotSupported("Not Supported")
    return setting["gpus"][gpu]


def nvmlInit():
    if _setting().get("absent"):
        raise NVMLError_LibraryNotFound("NVML Shared Library Not Found")
    if _setting().get("dead_gpu") is None and _is_dead(None):
        raise NVMLError_GpuIsLost("GPU is lost")


def nvmlShutdown():
    if _is_dead(None):
        raise NVMLError_GpuIsLost("GPU is lost")


def nvmlDeviceGetCount():
    return len(_setting()["gpus"])


def nvmlDeviceGetHandleByIndex(index):
    return index


def nvmlDeviceGetHandleByUUID(uuid):
    for index, gpu in enumerate(_setting()["gpus"]):
        if uuid in (gpu["uuid"], gpu.get("mig")):
            _ask(index, "nvmlDeviceGetHandleByUUID")
            return index
    raise NVMLError("Not Found")


def nvmlDeviceGetUUID(handle):
    return _setting()["gpus"][handle]["uuid"]


def nvmlDeviceGetName(handle):
    return _setting()["gpus"][handle]["name"]


def nvmlDeviceGetUtilizationRates(handle):
    return SimpleNamespace(gpu=_ask(handle, "nvmlDeviceGetUtilizationRates")["sm"], memory=3)


def nvmlDeviceGetDecoderUtilization(handle):
    _ask(handle, "nvmlDeviceGetDecoderUtilization")
    return [20 + handle, 167000]


def nvmlDeviceGetJpgUtilization(handle):
    _ask(handle, "nvmlDeviceGetJpgUtilization")
    return [40 + handle, 167000]


def nvmlDeviceGetMemoryInfo(handle):
    _ask(handle, "nvmlDeviceGetMemoryInfo")
    return SimpleNamespace(used=(2 + handle) * _GIB, total=80 * _GIB)


def nvmlDeviceGetPowerUsage(handle):
    _ask(handle, "nvmlDeviceGetPowerUsage")
    return 350_500


def nvmlDeviceGetEnforcedPowerLimit(handle):
    _ask(handle, "nvmlDeviceGetEnforcedPowerLimit")
    return 700_000


def nvmlDeviceGetMigMode(handle):
    return [1 if "mig" in _ask(handle, "nvmlDeviceGetMigMode") else 0, 0]
