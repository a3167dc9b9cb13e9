"""What the monitor's tests share: where things are, and patience."""

import time
from pathlib import Path

import psutil

FAKE_DRIVER = Path(__file__).parent / "fake_driver"
ROOT = Path(__file__).parents[1]


def recorder_of(watch):
    """Give the process number of a monitor's recorder."""
    return watch._recording.process_id


def gone(pid):
    """Wait until no process has this number (a zombie counts as one); the test's own limit is generous."""
    for _ in range(300):
        if not psutil.pid_exists(pid):
            return True
        time.sleep(0.1)
    return False


def wait_for(condition):
    """Wait until something has come about; the limit is generous and no measurement."""
    for _ in range(300):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("it never came about")
