"""The doctor's checks of driver, CUDA family and GPU: one function a check, each gives one line (lesson 00).

On a machine without a GPU these lines say ``not here`` and no more: nothing is wrong there.
"""

import ctypes
import functools
import os
from collections.abc import Callable
from pathlib import Path

from tutorial_utils import nvml
from tutorial_utils.diagnosis import Line
from tutorial_utils.distributions import CONSTRAINTS, DALI_FAMILIES, dali_families, install, installed, pip
from tutorial_utils.doctor_checks import decode_with_dali

OLDEST_DRIVER = {12: 525, 13: 580}
CONTAINER = "docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=all ..."
COMPARE = "compare the lines 'CUDA family' and 'NVIDIA driver'"
NVIDIA_VENDOR, DISPLAY_CLASS = "0x10de", "0x03"


def gpu_count() -> int:
    """Count the GPUs that the driver shows; 0 without a driver or without the module ``pynvml``."""
    try:
        with nvml.opened() as pynvml:
            return pynvml.nvmlDeviceGetCount()
    except Exception:  # why there is none is what driver() explains
        return 0


def _on_gpu(name: str) -> Callable[[Callable[[], Line]], Callable[[], Line]]:
    """Make a check say ``not here`` where there is no GPU."""

    def decorate(check: Callable[[], Line]) -> Callable[[], Line]:
        @functools.wraps(check)
        def guarded() -> Line:
            return check() if gpu_count() else Line(name, "not here", "no usable GPU")

        return guarded

    return decorate


def driver(devices: Path = Path("/dev"), pci: Path = Path("/sys/bus/pci/devices")) -> Line:
    """Check the NVIDIA driver: there, running, and new enough for the installed CUDA family."""
    try:
        import pynvml
    except ImportError:
        return Line("NVIDIA driver", "problem", "the module pynvml is missing", pip("install nvidia-ml-py"))
    try:
        with nvml.opened():
            count, version = pynvml.nvmlDeviceGetCount(), pynvml.nvmlSystemGetDriverVersion()
    except pynvml.NVMLError as error:
        return _without_driver(error, devices, pci)
    if count == 0:
        return Line("NVIDIA driver", "not here", f"driver {version}, but no GPU")
    family = torch_family()
    needed = OLDEST_DRIVER.get(family, 0)
    found = f"{version}, {count} GPU" + ("s" if count > 1 else "")
    if int(version.partition(".")[0]) < needed:
        remedy = f"update the driver to {needed} or newer, or install an older CUDA family (cuda12 needs 525)"
        return Line("NVIDIA driver", "problem", f"{found}; CUDA {family} needs {needed} or newer", remedy)
    return Line("NVIDIA driver", "ok", found)


def cuda_family() -> Line:
    """Check that PyTorch, DALI and the driver speak the same major version of CUDA."""
    families = dali_families()
    family = torch_family()
    wanted = family if family in DALI_FAMILIES else 12
    if not families:
        return Line("CUDA family", "problem", "DALI is not installed", install(wanted))
    if len(families) > 1:
        both = " and ".join(DALI_FAMILIES.values())
        again = f"install --force-reinstall --no-deps -c {CONSTRAINTS[wanted]} {DALI_FAMILIES[wanted]}"
        remedy = f"{pip('uninstall -y ' + ' '.join(DALI_FAMILIES.values()))} && {pip(again)}"
        return Line(
            "CUDA family", "problem", f"{both} are both installed and overwrite each other's files", remedy
        )
    found = f"PyTorch {f'CUDA {family}' if family else 'without CUDA'}, DALI CUDA {families[0]}"
    if family is None:
        if gpu_count():
            remedy = f"{pip('uninstall -y torch torchvision')} && {install(wanted)}"
            return Line("CUDA family", "problem", f"{found}: PyTorch cannot use the GPU", remedy)
        return Line("CUDA family", "ok", found)
    if family != families[0]:
        remedy = f"{pip('uninstall -y ' + DALI_FAMILIES[families[0]])} && {install(wanted)}"
        return Line("CUDA family", "problem", f"{found}: one process should load one family", remedy)
    return _against_driver(found, family)


@_on_gpu("PyTorch on the GPU")
def torch_runs() -> Line:
    """Check that PyTorch finds the GPU and computes on it."""
    name = "PyTorch on the GPU"
    try:
        import torch

        if not torch.cuda.is_available():
            return _torch_finds_none(torch.__version__)
        total = torch.arange(5, dtype=torch.float32, device="cuda").square().sum().item()
        where = torch.cuda.get_device_name()
    except Exception as error:
        remedy = f"{COMPARE}; free the GPU if it is out of memory (nvidia-smi)"
        return Line(name, "problem", f"{type(error).__name__}: {error}", remedy)
    if total != 30:
        return Line(
            name, "problem", f"0+1+4+9+16 gave {total} on {where}", "restart the machine; test its memory"
        )
    if os.environ.get("TUTORIAL_DEVICE", "").lower() == "cpu":
        found = f"{where} computes, but TUTORIAL_DEVICE=cpu keeps the lessons on the CPU"
        return Line(name, "warning", found, "unset TUTORIAL_DEVICE, then start JupyterLab again")
    return Line(name, "ok", f"{where} computes")


@_on_gpu("DALI on the GPU")
def dali_runs() -> Line:
    """Check that a DALI pipeline decodes a JPEG on the GPU."""
    try:
        version = decode_with_dali(device_id=0)
    except Exception as error:
        remedy = f"{COMPARE}; with TUTORIAL_DEVICE=cpu the lessons run on the CPU"
        return Line("DALI on the GPU", "problem", f"{type(error).__name__}: {error}", remedy)
    return Line("DALI on the GPU", "ok", f"{version}, a GPU pipeline decoded a JPEG")


@_on_gpu("NVML")
def nvml_readings() -> Line:
    """Try what the live monitor reads: utilisation, memory, video decoder, power."""
    with nvml.opened() as pynvml:
        handle = pynvml.nvmlDeviceGetHandleByIndex(0)
        readings = {
            "utilisation": pynvml.nvmlDeviceGetUtilizationRates,
            "memory": pynvml.nvmlDeviceGetMemoryInfo,
            "video decoder": pynvml.nvmlDeviceGetDecoderUtilization,
            "power": pynvml.nvmlDeviceGetPowerUsage,
        }
        silent = [name for name, read in readings.items() if not _readable(pynvml, read, handle)]
    if silent:
        found = f"the driver does not tell {', '.join(silent)}: the live plot leaves these lines out"
        remedy = "on a MIG slice or a virtual GPU this is as it should be; else update the driver"
        return Line("NVML", "warning", found, remedy)
    return Line("NVML", "ok", f"{', '.join(readings)} can be read")


def nvml_distribution() -> Line:
    """Check that ``pynvml`` comes from nvidia-ml-py, not from the deprecated distribution of that name."""
    right, deprecated = installed("nvidia-ml-py"), installed("pynvml")
    again = pip("install --force-reinstall --no-deps nvidia-ml-py")
    if deprecated:
        found = (
            f"the deprecated distribution pynvml {deprecated} is installed and may hide nvidia-ml-py's module"
        )
        return Line("pynvml package", "warning", found, f"{pip('uninstall -y pynvml')} && {again}")
    if not right:
        return Line("pynvml package", "problem", "nvidia-ml-py is not installed", again)
    return Line("pynvml package", "ok", f"nvidia-ml-py {right}")


@_on_gpu("video decoder")
def video_decoder() -> Line:
    """Check the driver's video decoder library, which lesson 06 needs on the GPU."""
    try:
        ctypes.CDLL("libnvcuvid.so.1")
    except OSError as error:
        found = f"libnvcuvid.so.1 cannot be loaded ({error}): no video decoding on the GPU in lesson 06"
        remedy = (
            f"{CONTAINER} ('video' is enough); outside a container: the driver's package libnvidia-decode"
        )
        return Line("video decoder", "warning", found, remedy)
    return Line("video decoder", "ok", "libnvcuvid.so.1 loads")


@_on_gpu("JPEG engine")
def jpeg_engine() -> Line:
    """Ask whether the GPU has a hardware JPEG engine (A100, H100, H200, ...)."""
    with nvml.opened() as pynvml:
        handle = pynvml.nvmlDeviceGetHandleByIndex(0)
        if _readable(pynvml, pynvml.nvmlDeviceGetJpgUtilization, handle):
            return Line("JPEG engine", "ok", "the driver reports a hardware JPEG engine")
    return Line("JPEG engine", "not here", "none reported: DALI decodes JPEGs with CUDA kernels instead")


def torch_family() -> int | None:
    """Give the major version of CUDA that PyTorch was built with; None for a CPU build or without PyTorch."""
    try:
        import torch
    except Exception:  # a broken PyTorch has a line of its own
        return None
    return int(torch.version.cuda.partition(".")[0]) if torch.version.cuda else None


def _against_driver(found: str, family: int) -> Line:
    if not gpu_count():
        return Line("CUDA family", "ok", found)
    with nvml.opened() as pynvml:
        number = pynvml.nvmlSystemGetCudaDriverVersion_v2()
    major, minor = number // 1000, number % 1000 // 10
    found = f"{found}, driver CUDA {major}.{minor}"
    if major < family:
        needed = OLDEST_DRIVER.get(family, "a newer one")
        remedy = f"update the driver to {needed}, or install the older CUDA family"
        return Line("CUDA family", "problem", f"{found}: the driver is too old for CUDA {family}", remedy)
    return Line("CUDA family", "ok", found)


def _torch_finds_none(version: str) -> Line:
    name = "PyTorch on the GPU"
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES")
    if hidden is not None and hidden.split(",")[0].strip() in ("", "-1"):
        found = f"CUDA_VISIBLE_DEVICES={hidden!r} hides every GPU"
        return Line(name, "warning", found, "unset CUDA_VISIBLE_DEVICES, then start JupyterLab again")
    remedy = f"{COMPARE}; in a container: {CONTAINER}"
    return Line(name, "problem", f"the driver shows a GPU, but PyTorch {version} finds none", remedy)


def _without_driver(error: Exception, devices: Path, pci: Path) -> Line:
    import pynvml

    name = "NVIDIA driver"
    if isinstance(error, pynvml.NVMLError_LibRmVersionMismatch):
        found = "the driver was updated, but the old one is still loaded"
        return Line(name, "problem", found, "restart the machine (or the container's host)")
    missing = (pynvml.NVMLError_LibraryNotFound, pynvml.NVMLError_DriverNotLoaded)
    if not isinstance(error, missing):
        return Line(
            name, "problem", f"the driver does not answer: {error}", "run nvidia-smi; restart the machine"
        )
    if (devices / "nvidiactl").exists():
        return Line(name, "warning", "a GPU is passed in, but the driver's libraries are not", CONTAINER)
    if _on_pci(pci):
        remedy = "sudo ubuntu-drivers install (Debian: sudo apt-get install nvidia-driver), then restart"
        return Line(name, "warning", "an NVIDIA GPU is in this machine, but no driver is loaded", remedy)
    return Line(name, "not here", "no driver and no GPU")


def _on_pci(pci: Path) -> bool:
    for vendor in pci.glob("*/vendor"):
        try:
            kind = (vendor.parent / "class").read_text()
            if vendor.read_text().strip() == NVIDIA_VENDOR and kind.startswith(DISPLAY_CLASS):
                return True
        except OSError:
            continue
    return False


def _readable(pynvml, read: Callable, handle) -> bool:
    try:
        read(handle)
    except pynvml.NVMLError:
        return False
    return True
