"""Fixtures of the monitor's tests: a stand-in for the driver, and modules that are broken."""

import json

import pytest
from monitor_helpers import FAKE_DRIVER

GPUS = [{"uuid": f"GPU-{n}", "name": "NVIDIA H200", "sm": 90 - n} for n in range(2)]


@pytest.fixture
def driver(monkeypatch):
    """Put the stand-in for NVML on the recorder's path and say what it shall do."""

    def load(**setting):
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        monkeypatch.setenv("PYTHONPATH", str(FAKE_DRIVER))
        monkeypatch.setenv("FAKE_DRIVER", json.dumps({"gpus": GPUS, **setting}))

    return load


@pytest.fixture
def broken_module(monkeypatch, tmp_path):
    """Put a module on the recorder's path in place of the real one."""

    def write(**sources):
        for name, source in sources.items():
            (tmp_path / f"{name}.py").write_text(source)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    return write
