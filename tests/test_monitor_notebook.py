"""The monitor's pictures in real kernels: live below the busy cell, one static picture after it."""

import base64
import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from queue import Empty
from types import SimpleNamespace

import nbformat
import psutil
import pytest
from jupyter_client.manager import KernelManager
from monitor_helpers import FAKE_DRIVER, ROOT, wait_for
from nbclient import NotebookClient

from tutorial_utils.monitor.notebook import stage

PATIENCE = 60

BUSY = """
import time
from tutorial_utils.monitor import Monitor
with Monitor("busy cell") as watch:
    print("recorder", watch._recording.process_id, flush=True)
    with watch.phase("epoch 1"):
        end = time.monotonic() + {seconds}
        while time.monotonic() < end:
            sum(range(1000))
"""


@contextmanager
def running_kernel():
    """Run a kernel with a client that, like JupyterLab's, can answer ``input()``."""
    manager = KernelManager(kernel_name="python3")
    variables = {name: value for name, value in os.environ.items() if name != "TUTORIAL_LIVE"}
    manager.start_kernel(cwd=str(ROOT), env=variables)
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=PATIENCE)
    yield manager, client
    client.stop_channels()
    if manager.has_kernel:
        manager.shutdown_kernel(now=True)


@pytest.fixture
def kernel():
    """Give a test that changes or ends its kernel one of its own."""
    with running_kernel() as made:
        yield made


@pytest.fixture(scope="module")
def shared_kernel():
    """Save the other tests the start of a kernel each."""
    with running_kernel() as made:
        yield made


def listen(client, request, until):
    """Messages about one request (or all, for None), to the first that ``until`` accepts, inclusive."""
    heard = []
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            message = client.get_iopub_msg(timeout=1)
        except Empty:
            continue
        if request is None or message["parent_header"].get("msg_id") == request:
            heard.append(message)
            if until(message):
                return heard
    raise AssertionError(f"not heard within {PATIENCE} s; heard {[each['msg_type'] for each in heard]}")


def is_idle(message):
    return message["msg_type"] == "status" and message["content"]["execution_state"] == "idle"


def is_live(message):
    return message["msg_type"] == "update_display_data" and "text/html" in message["content"]["data"]


def is_drawn(message):
    return message["msg_type"] in ("display_data", "update_display_data")


def recorder_in(messages):
    text = "".join(each["content"]["text"] for each in messages if each["msg_type"] == "stream")
    return int(text.split("recorder ")[1].split()[0])


def test_the_picture_grows_below_the_busy_cell_and_one_static_picture_stays(shared_kernel):
    _, client = shared_kernel
    request = client.execute(BUSY.format(seconds=4))
    heard = listen(client, request, is_idle)
    drawn = [each for each in heard if is_drawn(each)]
    first, *frames, last = drawn
    assert first["msg_type"] == "display_data"
    assert "<svg" in first["content"]["data"]["text/html"]
    assert len({each["content"]["transient"]["display_id"] for each in drawn}) == 1
    assert {each["msg_type"] for each in [*frames, last]} == {"update_display_data"}
    # All of it came while the cell was busy, and under the cell's own request (`listen` looks at that).
    assert heard.index(first) < heard.index(frames[0]) < heard.index(last) < len(heard) - 1
    pictures = [each["content"]["data"]["text/html"] for each in frames]
    assert len(pictures) >= 2
    assert len(set(pictures)) == len(pictures)
    assert "epoch 1" in pictures[-1]
    png = base64.b64decode(last["content"]["data"]["image/png"])
    assert png.startswith(b"\x89PNG")
    assert last["content"]["metadata"]["image/png"]["width"] == 800
    assert "text/html" not in last["content"]["data"]
    assert "busy cell: mean of" in last["content"]["data"]["text/plain"]
    assert not psutil.pid_exists(recorder_in(heard))


def test_two_cells_two_monitors_each_with_its_own_picture(shared_kernel):
    _, client = shared_kernel
    first, second = (client.execute(BUSY.format(seconds=0.7)) for _ in range(2))
    ids = [
        {
            each["content"]["transient"]["display_id"]
            for each in listen(client, request, is_idle)
            if is_drawn(each)
        }
        for request in (first, second)
    ]
    assert [len(each) for each in ids] == [1, 1]
    assert ids[0] != ids[1]


def test_while_c_code_holds_the_lock_drawing_waits_and_the_recording_does_not(shared_kernel):
    _, client = shared_kernel
    request = client.execute(
        "import ctypes, numpy as np\n"
        "from tutorial_utils.monitor import Monitor\n"
        "with Monitor('held') as watch:\n"
        "    ctypes.PyDLL(None).usleep(2_000_000)\n"
        "print('samples', len(watch.trace.times), 'gap', np.diff(watch.trace.times).max())"
    )
    heard = listen(client, request, is_idle)
    words = "".join(each["content"]["text"] for each in heard if each["msg_type"] == "stream").split()
    assert int(words[1]) >= 15
    assert float(words[3]) < 0.5


def test_an_interrupted_cell_keeps_its_picture_and_its_recorder_ends(shared_kernel):
    manager, client = shared_kernel
    request = client.execute(BUSY.format(seconds=PATIENCE))
    heard = listen(client, request, is_live)
    manager.interrupt_kernel()
    heard += listen(client, request, is_idle)
    assert [each["content"]["ename"] for each in heard if each["msg_type"] == "error"] == [
        "KeyboardInterrupt"
    ]
    assert "image/png" in [each for each in heard if is_drawn(each)][-1]["content"]["data"]
    assert not psutil.pid_exists(recorder_in(heard))


def test_a_cell_that_fails_keeps_its_picture(shared_kernel):
    _, client = shared_kernel
    request = client.execute(
        "from tutorial_utils.monitor import Monitor\nwith Monitor('failing'):\n    1 / 0"
    )
    heard = listen(client, request, is_idle)
    assert [each["content"]["ename"] for each in heard if each["msg_type"] == "error"] == [
        "ZeroDivisionError"
    ]
    assert "image/png" in [each for each in heard if is_drawn(each)][-1]["content"]["data"]


@pytest.mark.parametrize("how", ["kill", "restart"])
def test_the_recorder_ends_with_its_kernel(kernel, how):
    manager, client = kernel
    heard = listen(client, client.execute(BUSY.format(seconds=PATIENCE)), is_live)
    recorder = psutil.Process(recorder_in(heard))
    assert recorder.is_running()
    if how == "kill":
        os.kill(manager.provisioner.pid, 9)
    else:
        manager.restart_kernel(now=True)
    # Who inherits an orphan may be slow to bury it; a zombie records nothing any more.
    wait_for(lambda: not recorder.is_running() or recorder.status() == psutil.STATUS_ZOMBIE)


def test_live_pictures_can_be_forbidden(kernel):
    _, client = kernel
    request = client.execute("import os; os.environ['TUTORIAL_LIVE'] = '0'\n" + BUSY.format(seconds=1.2))
    (only,) = (each for each in listen(client, request, is_idle) if is_drawn(each))
    assert only["msg_type"] == "display_data"
    assert list(only["content"]["data"]) == ["image/png", "text/plain"]


def test_a_dying_driver_is_told_in_the_picture(kernel):
    _, client = kernel
    setting = {"gpus": [{"uuid": "GPU-0", "name": "NVIDIA H200", "sm": 77}], "dies": 1.0}
    variables = {"PYTHONPATH": str(FAKE_DRIVER), "FAKE_DRIVER": json.dumps(setting)}
    request = client.execute(
        f"import os; os.environ.update({variables!r})\n"
        "os.environ.pop('CUDA_VISIBLE_DEVICES', None)\n" + BUSY.format(seconds=4)
    )
    drawn = [each for each in listen(client, request, is_idle) if is_drawn(each)]
    assert "NVML: NVIDIA H200" in drawn[0]["content"]["data"]["text/html"]
    assert "driver stopped answering" not in drawn[0]["content"]["data"]["text/html"]
    assert "GPU 0: the driver stopped answering (GPU is lost)" in drawn[-2]["content"]["data"]["text/html"]
    assert "driver stopped answering" in drawn[-1]["content"]["data"]["text/plain"]


def test_a_recorder_that_cannot_start_is_told_and_the_cell_runs(kernel):
    _, client = kernel
    request = client.execute("import sys; sys.executable = '/nonexistent'\n" + BUSY.format(seconds=0.1))
    heard = listen(client, request, is_idle)
    (only,) = (each for each in heard if is_drawn(each))
    assert "the recorder could not be started" in only["content"]["data"]["text/plain"]
    assert not [each for each in heard if each["msg_type"] == "error"]


def kernel_asked_by(content):
    parent = {"content": content} if content is not None else {}
    return SimpleNamespace(kernel=SimpleNamespace(get_parent=lambda: parent))


@pytest.mark.parametrize(
    ("content", "wish", "live"),
    [
        ({"allow_stdin": True}, None, True),
        ({"allow_stdin": False}, None, False),
        ({}, None, False),
        (None, None, False),
        ({"allow_stdin": True}, "0", False),
        ({"allow_stdin": False}, "1", True),
    ],
)
def test_the_picture_is_live_where_somebody_looks(monkeypatch, content, wish, live):
    monkeypatch.setattr("IPython.get_ipython", lambda: kernel_asked_by(content))
    monkeypatch.delenv("TUTORIAL_LIVE", raising=False)
    if wish is not None:
        monkeypatch.setenv("TUTORIAL_LIVE", wish)
    assert stage().live is live
    assert stage().draws


def test_a_terminal_gets_no_picture(monkeypatch):
    for shell in (None, SimpleNamespace()):  # plain Python; IPython without a kernel
        monkeypatch.setattr("IPython.get_ipython", lambda shell=shell: shell)
        assert not stage().live
        assert not stage().draws


def run_headless(cell):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)])
    messages = []
    client = NotebookClient(notebook, kernel_name="python3", resources={"metadata": {"path": str(ROOT)}})
    handle = client.process_message

    def note(message, *rest):
        messages.append(message)
        return handle(message, *rest)

    client.process_message = note
    client.execute()
    return notebook.cells[0].outputs, messages


def test_nothing_is_animated_where_nobody_looks(monkeypatch):
    monkeypatch.delenv("TUTORIAL_LIVE", raising=False)
    outputs, messages = run_headless(BUSY.format(seconds=1.5))
    assert [each["msg_type"] for each in messages if is_drawn(each)] == ["display_data"]
    (picture,) = (each for each in outputs if each.output_type == "display_data")
    assert set(picture.data) == {"image/png", "text/plain"}


def test_nothing_is_animated_under_nbmake(tmp_path, monkeypatch):
    monkeypatch.delenv("TUTORIAL_LIVE", raising=False)
    check = (
        "from tutorial_utils.monitor import notebook\n"
        "shown = []\n"
        "publish = notebook.Cell._put\n"
        "def put(self, data, *rest):\n"
        "    shown.append(set(data))\n"
        "    publish(self, data, *rest)\n"
        "notebook.Cell._put = put\n"
        + BUSY.format(seconds=1.2)
        + "assert shown == [{'image/png', 'text/plain'}], shown\n"
        "assert len(watch.trace.times) > 5\n"
    )
    place = tmp_path / "lesson.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(check)]), place)
    command = [sys.executable, "-m", "pytest", "-q", "--nbmake", "--nbmake-kernel=python3", str(place)]
    run = subprocess.run(
        [*command, "-p", "no:cacheprovider", f"--rootdir={tmp_path}"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert run.returncode == 0, run.stdout
    assert "1 passed" in run.stdout
