"""What the recorder's probes make of drivers of all kinds, in this process, with a stand-in for NVML."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from tutorial_utils.monitor import nvml_probe
from tutorial_utils.monitor.cpu_probe import CpuProbe
from tutorial_utils.monitor.nvml_probe import NvmlProbe, visible_gpus

UUIDS = ["GPU-aa11", "GPU-bb22", "GPU-bb33"]
GPUS = [{"uuid": uuid, "name": "NVIDIA H200", "sm": sm} for uuid, sm in zip(UUIDS, (91, 52, 13), strict=True)]


@pytest.fixture
def driver(monkeypatch):
    """Load the stand-in afresh and say what it shall do."""

    def load(**setting):
        monkeypatch.setenv("FAKE_DRIVER", json.dumps({"gpus": GPUS, **setting}))
        place = Path(__file__).parent / "fake_driver" / "pynvml.py"
        spec = importlib.util.spec_from_file_location("fake_pynvml", place)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


def reading(probe):
    return dict(zip([channel.label for channel in probe.channels], probe.read(), strict=True))


@pytest.mark.parametrize(
    ("setting", "shown"),
    [
        (None, UUIDS),
        ("0,1,2", UUIDS),
        ("2,0", ["GPU-bb33", "GPU-aa11"]),
        (" 1 , 0", ["GPU-bb22", "GPU-aa11"]),
        ("GPU-aa", ["GPU-aa11"]),
        ("GPU-bb33,0", ["GPU-bb33", "GPU-aa11"]),
        ("GPU-bb", []),
        ("0,7,1", ["GPU-aa11"]),
        ("1,-1,0", ["GPU-bb22"]),
        ("", []),
        ("none", []),
        ("MIG-1234", ["MIG-1234"]),
    ],
)
def test_gpus_are_numbered_as_cuda_numbers_them(setting, shown):
    assert visible_gpus(setting, UUIDS) == shown


def test_every_figure_of_every_gpu(driver):
    probe = NvmlProbe(driver(), None, {})
    assert reading(probe) == {
        "GPU 0 SM": 91,
        "GPU 0 decoder": 20,
        "GPU 0 JPEG engine": 40,
        "GPU 0 memory": 2.0,
        "GPU 0 power": 350.5,
        "GPU 1 SM": 52,
        "GPU 1 decoder": 21,
        "GPU 1 JPEG engine": 41,
        "GPU 1 memory": 3.0,
        "GPU 1 power": 350.5,
        "GPU 2 SM": 13,
        "GPU 2 decoder": 22,
        "GPU 2 JPEG engine": 42,
        "GPU 2 memory": 4.0,
        "GPU 2 power": 350.5,
    }
    assert [channel.full_scale for channel in probe.channels[:5]] == [100, 100, 100, 80, 700]
    assert [channel.unit for channel in probe.channels[:5]] == ["%", "%", "%", "GiB", "W"]
    assert probe.new_notes() == []


def test_the_numbers_are_those_of_cuda_not_of_the_driver(driver):
    probe = NvmlProbe(driver(), [0], {"CUDA_VISIBLE_DEVICES": "2,0"})
    assert reading(probe)["GPU 0 SM"] == 13
    assert {channel.device for channel in probe.channels} == {0}


def test_a_gpu_that_is_not_there_is_named(driver):
    probe = NvmlProbe(driver(), [1, 5], {})
    assert {channel.device for channel in probe.channels} == {1}
    assert probe.new_notes() == ["GPU 5 is not here: this process sees 3, from 0 on"]


@pytest.mark.parametrize(
    ("environment", "gpus", "words"),
    [
        ({"CUDA_VISIBLE_DEVICES": ""}, None, "CUDA_VISIBLE_DEVICES='' hides every GPU"),
        ({}, [3], "GPU 3 is not here"),
    ],
)
def test_nothing_left_to_watch(driver, environment, gpus, words):
    with pytest.raises(LookupError, match=words):
        NvmlProbe(driver(), gpus, environment)


def test_what_a_gpu_does_not_know_is_left_out_and_said(driver):
    unsupported = ["nvmlDeviceGetJpgUtilization", "nvmlDeviceGetEnforcedPowerLimit"]
    probe = NvmlProbe(driver(unsupported=unsupported), [0], {})
    assert list(reading(probe)) == ["GPU 0 SM", "GPU 0 decoder", "GPU 0 memory", "GPU 0 power"]
    assert probe.channels[-1].full_scale is None
    assert probe.new_notes() == ["GPU 0: its driver gives no figure for JPEG engine"]


def test_an_old_module_without_the_jpeg_engine(driver):
    module = driver()
    del module.nvmlDeviceGetJpgUtilization
    probe = NvmlProbe(module, [0], {})
    assert "GPU 0 JPEG engine" not in reading(probe)
    assert probe.new_notes() == ["GPU 0: its driver gives no figure for JPEG engine"]


def test_a_slice_of_a_gpu_has_memory_only(driver):
    sliced = [{**GPUS[0], "mig": "MIG-77"}]
    missing = ["UtilizationRates", "DecoderUtilization", "JpgUtilization", "PowerUsage"]
    module = driver(gpus=sliced, unsupported=[f"nvmlDeviceGet{name}" for name in missing])
    probe = NvmlProbe(module, None, {"CUDA_VISIBLE_DEVICES": "MIG-77"})
    assert reading(probe) == {"GPU 0 memory": 2.0}
    assert probe.new_notes() == [
        "GPU 0: MIG is on, and its driver gives no figure for SM, decoder, JPEG engine, power"
    ]


def test_unlike_gpus_get_a_word_on_their_order(driver):
    mixed = [GPUS[0], {**GPUS[1], "name": "NVIDIA T4"}]
    assert "CUDA_DEVICE_ORDER" in NvmlProbe(driver(gpus=mixed), None, {}).new_notes()[0]
    in_order = NvmlProbe(driver(gpus=mixed), None, {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"})
    assert in_order.new_notes() == []


def test_one_gpu_dies_the_others_go_on_and_it_comes_back(driver, monkeypatch):
    module = driver()
    probe = NvmlProbe(module, None, {})
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(nvml_probe, "time", SimpleNamespace(monotonic=lambda: clock.now))

    monkeypatch.setenv("FAKE_DRIVER", json.dumps({"gpus": GPUS, "dies": 0, "dead_gpu": 1}))
    values = reading(probe)
    assert (values["GPU 0 SM"], values["GPU 1 SM"], values["GPU 2 SM"]) == (91, None, 13)
    assert probe.new_notes() == [
        "GPU 1: the driver stopped answering (GPU is lost); it is asked again every 5 s"
    ]

    clock.now += 5.1  # asked again, still dead: no second note
    assert reading(probe)["GPU 1 power"] is None
    assert probe.new_notes() == []

    monkeypatch.setenv("FAKE_DRIVER", json.dumps({"gpus": GPUS}))
    clock.now += 1  # not asked so soon
    assert reading(probe)["GPU 1 SM"] is None
    clock.now += 4.1
    assert reading(probe)["GPU 1 SM"] == 52
    assert probe.new_notes() == ["GPU 1: the driver answers again"]


def test_a_gpu_dead_from_the_start_does_not_hide_the_others(driver):
    probe = NvmlProbe(driver(dies=0, dead_gpu=0), None, {})
    assert {channel.device for channel in probe.channels} == {1, 2}
    assert probe.new_notes() == ["GPU 0: the driver does not answer (GPU is lost)"]


def test_the_whole_driver_dies_and_stays_dead(driver, monkeypatch):
    probe = NvmlProbe(driver(), None, {})
    monkeypatch.setenv("FAKE_DRIVER", json.dumps({"gpus": GPUS, "dies": 0}))
    monkeypatch.setattr(nvml_probe, "RETRY_SECONDS", 0.0)
    for _ in range(3):
        assert set(probe.read()) == {None}
    assert len(probe.new_notes()) == len(GPUS)


def test_cpu_figures_are_shares_and_know_the_watched_process():
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        probe = CpuProbe(psutil, busy.pid)
        assert [channel.label for channel in probe.channels] == ["CPU", "CPU of this program", "RAM"]
        assert probe.read()[:2] == [None, None]  # nothing to compare with yet
        used = 0.0
        while used == 0.0:  # until the kernel has given it a tick; no clock is judged
            cpu, used, ram = probe.read()
        assert 0 <= cpu <= 100
        assert 0 < ram < probe.channels[2].full_scale
        assert probe.new_notes() == []
    finally:
        busy.kill()
        busy.wait()
    assert CpuProbe(psutil, None).cores == len(os.sched_getaffinity(0))


def test_a_system_that_refuses_its_figures_gives_a_note_not_an_error():
    def refuse(percpu):
        raise psutil.AccessDenied(1)

    probe = CpuProbe(SimpleNamespace(cpu_percent=refuse, Error=psutil.Error), None)
    assert probe.read() == [None]
    assert probe.read() == [None]
    assert len(probe.new_notes()) == 1
