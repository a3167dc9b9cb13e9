"""What a figure was measured on: processor, memory, GPUs, driver, library versions, version of this project.

Printed on every timing card (lesson 00) and stored with every recorded result.
"""

import functools
import hashlib
import os
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pynvml
import torch

from tutorial_utils import nvml
from tutorial_utils.distributions import DALI_FAMILIES, installed
from tutorial_utils.placement import cores, cpu_name

PROJECT = "dali-tutorials"
CHECKOUT = Path(__file__).resolve().parent.parent
LIBRARIES = (
    "torch",
    "torchvision",
    *DALI_FAMILIES.values(),
    "numpy",
    "opencv-python-headless",
    "opencv-python",
    "pillow",
)
GIB = 2**30


@dataclass(frozen=True)
class Gpu:
    """One GPU as the driver describes it.

    Attributes:
        name: such as ``NVIDIA H200``.
        memory_bytes: its whole memory.
        power_limit_watts: what it may draw; None where the driver does not say.
    """

    name: str
    memory_bytes: int
    power_limit_watts: float | None

    def __str__(self) -> str:
        power = f", {self.power_limit_watts:.0f} W" if self.power_limit_watts else ""
        return f"{self.name}, {self.memory_bytes / GIB:.0f} GiB{power}"


@dataclass(frozen=True)
class Machine:
    """The hardware and software under a figure; made by :func:`describe`.

    Attributes:
        cpu: the processor's name.
        cores: cores this process was allowed.
        cores_installed: cores of the whole machine.
        memory_bytes: the machine's memory.
        gpus: every GPU the driver shows; empty without one.
        driver: version of the NVIDIA driver; empty without one.
        cuda: CUDA version PyTorch was built with; empty for a CPU build.
        system: kernel name and release.
        python: Python's version.
        libraries: distribution name to version, of those installed.
        project: version of this project; empty if it is not installed as a distribution.
        commit: Git commit of the checkout, with ``+changes`` if tracked files differ; else empty.
    """

    cpu: str
    cores: int
    cores_installed: int
    memory_bytes: int
    gpus: tuple[Gpu, ...] = ()
    driver: str = ""
    cuda: str = ""
    system: str = ""
    python: str = ""
    libraries: Mapping[str, str] = field(default_factory=dict)
    project: str = ""
    commit: str = ""

    @property
    def name(self) -> str:
        """One short line: the GPUs if there are any, else the processor and its cores."""
        if not self.gpus:
            return f"{self.cpu}, {self.cores} cores, no GPU"
        names = [gpu.name for gpu in self.gpus]
        return ", ".join(f"{names.count(n)}x {n}" if names.count(n) > 1 else n for n in dict.fromkeys(names))

    @classmethod
    def from_dict(cls, recorded: Mapping[str, Any]) -> "Machine":
        """Undo ``dataclasses.asdict``."""
        return cls(**{**recorded, "gpus": tuple(Gpu(**gpu) for gpu in recorded["gpus"])})


def describe() -> Machine:
    """Describe this machine as it is now."""
    gpus, driver = _gpus_and_driver()
    return Machine(
        cpu=cpu_name(),
        cores=cores(),
        cores_installed=os.cpu_count() or 1,
        memory_bytes=psutil.virtual_memory().total,
        gpus=gpus,
        driver=driver,
        cuda=torch.version.cuda or "",
        system=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        libraries={name: version for name in LIBRARIES if (version := installed(name))},
        project=installed(PROJECT) or "",
        commit=commit(CHECKOUT),
    )


@functools.cache
def machine_identity() -> str:
    """Name this machine so that results of two machines are told apart.

    Returns:
        The processor's name and a short code made from host name, processor, memory and the
        kernel's mark of this start: equal until the machine is started again, different on its
        twin. The host name cannot be read back from it.
    """
    facts = (platform.node(), cpu_name(), psutil.virtual_memory().total, _boot_mark())
    return f"{cpu_name()} #{hashlib.sha256(repr(facts).encode()).hexdigest()[:8]}"


def commit(checkout: Path) -> str:
    """Give the Git commit of a checkout, ``+changes`` appended if tracked files differ from it.

    Returns:
        Twelve hex digits and the mark, or nothing where ``checkout`` is not the top of a Git
        checkout (a copy installed inside another project's folders must not borrow its commit).
    """
    top = _git(checkout, "rev-parse", "--show-toplevel")
    head = _git(checkout, "rev-parse", "--verify", "--short=12", "HEAD")
    if not top or not head or Path(top).resolve() != checkout.resolve():
        return ""
    changed = _git(checkout, "status", "--porcelain", "--untracked-files=no")
    return head + ("+changes" if changed else "")


def _boot_mark(path: Path = Path("/proc/sys/kernel/random/boot_id")) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def _gpus_and_driver() -> tuple[tuple[Gpu, ...], str]:
    try:
        with nvml.opened():
            gpus = tuple(_gpu(index) for index in range(pynvml.nvmlDeviceGetCount()))
            return gpus, pynvml.nvmlSystemGetDriverVersion()
    except pynvml.NVMLError:
        return (), ""


def _gpu(index: int) -> Gpu:
    handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    try:
        power = pynvml.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000
    except pynvml.NVMLError:
        power = None
    return Gpu(pynvml.nvmlDeviceGetName(handle), pynvml.nvmlDeviceGetMemoryInfo(handle).total, power)


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
