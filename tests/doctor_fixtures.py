"""Machines for the doctor's tests: with a GPU, without one, with other packages installed."""

import importlib
import sys
from types import SimpleNamespace

import pynvml
import pytest
import torch

from tutorial_utils import distributions, doctor_checks, doctor_gpu_checks


@pytest.fixture
def no_gpu(monkeypatch):
    def init():
        raise pynvml.NVMLError_LibraryNotFound()

    monkeypatch.setattr(pynvml, "nvmlInit", init)


@pytest.fixture
def gpu(monkeypatch):
    """Pretend a machine with one H200; a test changes the answers it cares about."""

    def refuse(handle):
        raise pynvml.NVMLError_NotSupported()

    answers = SimpleNamespace(count=1, driver="570.86.15", cuda=12080, refused=set())

    def reading(name):
        return lambda handle: refuse(handle) if name in answers.refused else 0

    monkeypatch.setattr(pynvml, "nvmlInit", lambda: None)
    monkeypatch.setattr(pynvml, "nvmlShutdown", lambda: None)
    monkeypatch.setattr(pynvml, "nvmlDeviceGetCount", lambda: answers.count)
    monkeypatch.setattr(pynvml, "nvmlSystemGetDriverVersion", lambda: answers.driver)
    monkeypatch.setattr(pynvml, "nvmlSystemGetCudaDriverVersion_v2", lambda: answers.cuda)
    monkeypatch.setattr(pynvml, "nvmlDeviceGetHandleByIndex", lambda index: index)
    for name in ("UtilizationRates", "MemoryInfo", "DecoderUtilization", "PowerUsage", "JpgUtilization"):
        monkeypatch.setattr(pynvml, f"nvmlDeviceGet{name}", reading(name))
    monkeypatch.setattr(torch.version, "cuda", "12.8")
    return answers


@pytest.fixture
def packages(monkeypatch):
    """Pretend installed distributions, name to version, for a test to change."""
    known = {
        "nvidia-dali-cuda120": "2.4.0",
        "nvidia-ml-py": "13.0",
        "jupyterlab": "4.6",
        "ipykernel": "7.4",
        "jupyter_client": "8.0",
    }

    def version(name):
        if name not in known:
            raise importlib.metadata.PackageNotFoundError(name)
        return known[name]

    monkeypatch.setattr(distributions.importlib.metadata, "version", version)
    monkeypatch.setattr(distributions, "pip", lambda arguments: f"pip {arguments}")
    for module in (doctor_checks, doctor_gpu_checks):
        monkeypatch.setattr(module, "pip", lambda arguments: f"pip {arguments}")
    return known


@pytest.fixture
def break_import(monkeypatch):
    """Make the import of a module fail, by its name."""
    return lambda name: monkeypatch.setitem(sys.modules, name, None)
