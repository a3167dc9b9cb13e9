"""The recorder as a process: what it records, its beat, its end, with a stand-in for the driver."""

import ctypes
import gc
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import psutil
import pytest
from monitor_helpers import ROOT, gone, recorder_of, wait_for

from tutorial_utils.monitor import Monitor, recording
from tutorial_utils.monitor.recorder import Outbox

pytest_plugins = ["monitor_fixtures"]


def test_gpus_are_recorded_and_named(driver):
    driver()
    with Monitor("two GPUs") as watch:
        first = watch.trace
        wait_for(lambda: len(watch.trace.times) >= 3)
    trace = watch.trace
    assert len(first.times) >= 1  # __enter__ waits for the recorder
    assert trace.source == "NVML: 2 x NVIDIA H200"
    assert trace.mean("GPU 0 SM") == 90
    assert trace.mean("GPU 1 JPEG engine") == 41
    assert trace.headline == "GPU 0 SM"
    assert trace.units["GPU 1 power"] == "W"
    assert "CPU" in trace.series
    assert trace.notes == ()
    assert 0 == trace.times[0] <= trace.times[-1] <= trace.duration


def test_without_a_driver_the_cpu_is_recorded_and_labelled_so(driver):
    driver(absent=True)
    with Monitor("no driver") as watch:
        pass
    assert watch.trace.source.startswith("psutil: CPU, ")
    assert watch.trace.source.endswith("no GPU here (no NVIDIA driver)")
    assert list(watch.trace.series) == ["CPU", "CPU of this program", "RAM"]
    assert watch.trace.headline == "CPU"


def test_the_cpu_can_be_asked_for(driver):
    driver()
    with Monitor("forced", gpus=()) as watch:
        pass
    assert watch.trace.source.endswith("no GPU watched")
    assert watch.trace.headline == "CPU"


def test_hidden_gpus_are_not_watched(driver, monkeypatch):
    driver()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with Monitor("hidden") as watch:
        pass
    assert watch.trace.headline == "CPU"
    assert watch.trace.notes == ("CUDA_VISIBLE_DEVICES='' hides every GPU",)


def test_the_beat_goes_on_while_c_code_holds_the_interpreter_lock():
    sleep_with_the_lock = ctypes.PyDLL(None).usleep
    with Monitor("held") as watch, watch.phase("held"):
        sleep_with_the_lock(2_000_000)
    trace = watch.trace
    (held,) = trace.phases
    inside = trace.times[(trace.times > held.start) & (trace.times < held.end)]
    assert len(inside) >= 15
    assert np.diff(inside).max() < 0.5
    assert trace.duration >= 2


def test_the_lock_really_is_held_in_that_test():
    ticks = []
    done = threading.Event()
    counter = threading.Thread(
        target=lambda: [ticks.append(time.monotonic()) for _ in iter(done.is_set, True)]
    )
    counter.start()
    start = time.monotonic()
    ctypes.PyDLL(None).usleep(300_000)
    end = time.monotonic()
    done.set()
    counter.join()
    assert not [tick for tick in ticks if start + 0.05 < tick < end - 0.05]


def test_nothing_is_lost_while_nobody_reads():
    reading, writing = os.pipe()
    outbox = Outbox(writing)
    messages = [{"t": number, "values": [number / 7, None]} for number in range(20_000)]
    for message in messages:  # many times what a pipe takes; a blocking write would hang here
        outbox.put(message)
    heard = b""
    while not outbox.push():
        heard += os.read(reading, 1 << 16)
    os.close(writing)
    while piece := os.read(reading, 1 << 16):
        heard += piece
    os.close(reading)
    assert [json.loads(line) for line in heard.splitlines()] == messages


def test_the_beat_outlasts_a_full_pipe(monkeypatch):
    monkeypatch.setattr(recording, "INTERVAL", 0.001)
    monkeypatch.setattr(recording, "_PIPE_BYTES", 4096)
    with Monitor("asleep") as watch:
        recorder = psutil.Process(recorder_of(watch))
        wait_for(lambda: recorder.cpu_times().user > 0.4)
    times = watch.trace.times
    assert len(times) * 60 > 2 * 4096  # more than the pipe holds, at well over 60 bytes a line
    assert np.diff(times).min() > 0


def test_it_leaves_no_process_behind():
    before = set(psutil.Process().children())
    with Monitor("outer") as outer:
        with Monitor("inner") as inner:
            assert recorder_of(inner) != recorder_of(outer)
        assert gone(recorder_of(inner))
        assert psutil.pid_exists(recorder_of(outer))
    assert gone(recorder_of(outer))
    assert set(psutil.Process().children()) <= before
    assert inner.trace.times.size
    assert outer.trace.times.size


PARENT = """
    import os, time
    from tutorial_utils.monitor import Monitor
    with Monitor("doomed") as watch:
        if {fork}:
            if os.fork() == 0:      # a forked worker keeps the recorder's pipes open
                time.sleep(60)
                os._exit(0)
        print(watch._recording.process_id, flush=True)
        time.sleep(60)
"""


@pytest.mark.parametrize("fork", [False, True])
def test_it_ends_with_its_parent(fork):
    program = textwrap.dedent(PARENT).format(fork=fork)
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, cwd=ROOT, text=True)
    family = []
    try:
        pid = int(parent.stdout.readline())
        family = psutil.Process(parent.pid).children()
        assert pid in {process.pid for process in family}
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        recorder = next(process for process in family if process.pid == pid)
        # Who inherits an orphan may be slow to bury it; a zombie records nothing any more.
        wait_for(lambda: not recorder.is_running() or recorder.status() == psutil.STATUS_ZOMBIE)
    finally:
        parent.kill()
        parent.wait()
        parent.stdout.close()
        for process in family:
            if process.is_running():
                process.kill()


def test_an_interrupt_ends_the_block_not_the_recording():
    def train():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(30)

    with pytest.raises(KeyboardInterrupt), Monitor("interrupted") as watch, watch.phase("epoch 1"):
        train()
    assert watch.trace.phases[0].name == "epoch 1"
    assert watch.trace.phases[0].end <= watch.trace.duration < 30
    assert gone(recorder_of(watch))


def test_the_recorder_does_not_hear_the_interrupt_of_its_parents_group():
    with Monitor("group") as watch:
        assert os.getpgid(recorder_of(watch)) != os.getpgid(0)


def test_an_error_in_the_block_goes_on_its_way(capsys):
    with pytest.raises(ZeroDivisionError), Monitor("failing") as watch:
        _ = 1 / 0
    assert gone(recorder_of(watch))
    assert "Monitor, failing: mean of" in capsys.readouterr().out


def test_the_recorder_started_by_hand_says_who_starts_it():
    command = [sys.executable, "-m", "tutorial_utils.monitor.recorder"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 1
    assert run.stderr.startswith("The recorder is started by tutorial_utils.monitor.Monitor")


def test_a_trace_before_the_block_is_empty():
    assert Monitor("not yet").trace.times.size == 0


def test_the_recorder_starts_light():
    program = "import sys; import tutorial_utils.monitor.recorder; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"numpy", "matplotlib", "torch", "nvidia", "IPython", "psutil"} & set(loaded)


@pytest.mark.parametrize(
    ("gpus", "error", "words"),
    [
        ([-1], ValueError, "numbered from 0"),
        ("0", TypeError, "whole numbers"),
        ([0.5], TypeError, "whole numbers"),
    ],
)
def test_bad_gpu_numbers_are_refused_before_anything_starts(gpus, error, words):
    with pytest.raises(error, match=words):
        Monitor("t", gpus=gpus)


def test_a_monitor_watches_one_block_only():
    with Monitor("once") as watch:
        pass
    with pytest.raises(RuntimeError, match="one block"), watch:
        pass


def test_unknown_names_of_the_package():
    import tutorial_utils.monitor

    with pytest.raises(AttributeError, match="Moniter"):
        _ = tutorial_utils.monitor.Moniter


def test_no_descriptor_stays_open():
    with Monitor("first"):
        pass
    gc.collect()
    before = psutil.Process().num_fds()
    with Monitor("second"):
        pass
    assert psutil.Process().num_fds() == before
