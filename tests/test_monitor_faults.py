"""Drivers that die, recorders that fail: the watched program runs on, and there is a clear word."""

import os
import signal
import sys
from pathlib import Path

import numpy as np
import psutil
from monitor_helpers import gone, recorder_of, wait_for

from tutorial_utils.monitor import Monitor, recording, watching

pytest_plugins = ["monitor_fixtures"]


def test_a_driver_that_dies_leaves_a_gap_and_a_word(driver):
    driver(dies=0.6)
    with Monitor("dying") as watch:
        wait_for(lambda: watch.trace.notes and np.isnan(watch.trace.series["GPU 0 SM"]).sum() > 3)
    trace = watch.trace
    series = trace.series["GPU 0 SM"]
    first = int(np.flatnonzero(np.isnan(series))[0])
    assert first > 0
    assert set(series[:first]) == {90}
    assert np.isnan(series[first:]).all()
    assert not np.isnan(trace.series["CPU"][1:]).any()
    assert "GPU 0: the driver stopped answering (GPU is lost)" in trace.notes[0]
    assert "the driver stopped answering" in trace.summary()


def test_a_recorder_that_is_killed_leaves_what_it_had_and_a_word():
    with Monitor("killed") as watch:
        wait_for(lambda: len(watch.trace.times) >= 3)
        os.kill(recorder_of(watch), signal.SIGKILL)
        wait_for(lambda: watch.trace.notes)
    assert len(watch.trace.times) >= 3
    assert "the recorder ended by itself: killed by signal 9" in watch.trace.notes[0]


def test_a_driver_that_takes_the_recorder_down(driver):
    driver(crash=0.5)
    with Monitor("crash") as watch:
        wait_for(lambda: watch.trace.notes)
    assert "exit status 41" in watch.trace.notes[0]
    assert watch.trace.mean("GPU 0 SM") == 90


def test_a_python_that_cannot_start(monkeypatch, capsys):
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    ran = False
    with Monitor("no python") as watch, watch.phase("epoch"):
        ran = True
    assert ran
    assert watch.trace.times.size == 0
    assert watch.trace.phases[0].name == "epoch"
    assert "the recorder could not be started" in capsys.readouterr().out


def test_a_recorder_that_fails_at_once_says_why(broken_module, capsys):
    broken_module(psutil="raise RuntimeError('this psutil is broken')")
    with Monitor("broken") as watch:
        pass
    assert "RuntimeError: this psutil is broken" in watch.trace.notes[0]
    assert "this psutil is broken" in capsys.readouterr().out


def test_without_psutil_and_pynvml_there_is_a_word(broken_module, capsys):
    missing = "raise ImportError('not installed')"
    broken_module(psutil=missing, pynvml=missing)
    with Monitor("bare") as watch:
        pass
    assert watch.trace.series == {}
    assert [note.split(" cannot")[0] for note in watch.trace.notes] == [
        "the module pynvml",
        "the module psutil",
    ]
    assert "nothing recorded" in capsys.readouterr().out


def test_a_module_that_prints_does_not_garble_the_recording(broken_module):
    real = Path(psutil.__file__).parents[1]
    broken_module(
        pynvml=f"print('hello')\nimport sys\nsys.path.insert(0, {str(real)!r})\nraise ImportError('x')"
    )
    with Monitor("noisy") as watch:
        pass
    assert watch.trace.times.size


def test_a_hanging_recorder_holds_nothing_up(broken_module, monkeypatch):
    broken_module(pynvml="import time\ntime.sleep(3600)")
    monkeypatch.setattr(recording, "_READY_SECONDS", 0.3)
    monkeypatch.setattr(recording, "_GOODBYE_SECONDS", 0.3)
    with Monitor("hanging") as watch:
        pid = recorder_of(watch)
    assert "the recorder has said nothing" in watch.trace.notes[0]
    assert gone(pid)


def test_a_recorder_that_falls_silent_is_told(monkeypatch):
    monkeypatch.setattr(watching, "_SILENT_SECONDS", 0.5)
    monkeypatch.setattr(recording, "_GOODBYE_SECONDS", 0.3)
    with Monitor("stopped") as watch:
        os.kill(recorder_of(watch), signal.SIGSTOP)  # as a call into a hanging driver would
        wait_for(lambda: watch.trace.notes)
        seen = watch.trace.notes
    assert "no answer from the recorder for the last" in seen[0]
    assert "no answer from the recorder for the last" in watch.trace.notes[0]
    assert gone(recorder_of(watch))


def test_the_exception_of_a_broken_picture_stays_inside(monkeypatch, capsys):
    monkeypatch.setattr(Monitor, "_show_final", lambda self, trace: 1 / 0)
    with Monitor("no picture") as watch:
        pass
    assert "no picture (ZeroDivisionError" in capsys.readouterr().out
    assert watch.trace.times.size
