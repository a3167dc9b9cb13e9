"""What loaders leave behind in a process: nothing, also after an interrupt or a kill."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).resolve().parents[1]
PRELUDE = """
import sys
from pathlib import Path

from loader_fixtures import write_pairs


def loaders(root):
    from tutorial_utils.loaders import paired_loader
    return paired_loader, write_pairs(Path(root) / "pairs", 23)


"""
MADE_AND_CLOSED = """
def main():
    import psutil

    paired_loader, pairs = loaders(sys.argv[1])
    me = psutil.Process()
    seen = []
    for number in range(200):
        options = {"source": ("files", "batches", "samples", "decoded")[number % 4]}
        if options["source"] in ("samples", "decoded"):
            options["workers"] = int(number in (22, 62))  # starting a process takes seconds
        with paired_loader(pairs, batch_size=4, size=(8, 8), threads=2, **options) as loader:
            for step, _ in enumerate(loader):
                if number % 2 and step == 1:
                    break
        seen.append((me.num_threads(), me.num_fds(), len(me.children(recursive=True)), me.memory_info().rss))
    print(seen[79], seen[199])


if __name__ == "__main__":
    main()
"""
RUNS_ON = """
def main():
    import psutil

    paired_loader, pairs = loaders(sys.argv[1])
    workers = {"workers": 2} if sys.argv[2] == "samples" else {}
    loader = paired_loader(pairs, batch_size=4, size=(8, 8), source=sys.argv[2], **workers)
    try:
        while True:
            for _ in loader:
                print("batch", flush=True)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        print("again", len(list(loader)), flush=True)
        loader.close()
        workers = [c for c in psutil.Process().children() if "resource_tracker" not in " ".join(c.cmdline())]
        print("children", len(workers), flush=True)


if __name__ == "__main__":
    main()
"""


DROPPED = """
def main():
    import gc

    import psutil

    paired_loader, pairs = loaders(sys.argv[1])
    loader = paired_loader(pairs, batch_size=4, size=(8, 8), source="samples", workers=2)
    kept = [low for low, _ in loader]
    workers = [c for c in psutil.Process().children() if "resource_tracker" not in " ".join(c.cmdline())]
    print(len(workers))
    del loader
    gc.collect()
    print(len(psutil.wait_procs(workers, timeout=30)[1]), [len(low) for low in kept])
    left_open = paired_loader(pairs, batch_size=4, size=(8, 8), source="samples", workers=1)
    next(iter(left_open))


if __name__ == "__main__":
    main()
"""


def start(tmp_path: Path, code: str, *arguments: str) -> subprocess.Popen:
    script = tmp_path / "script.py"
    script.write_text(PRELUDE + code)
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    return subprocess.Popen(
        [sys.executable, str(script), str(tmp_path), *arguments],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that an interrupt of the whole group does not reach pytest
    )


def read_until(process: subprocess.Popen, word: str, times: int) -> None:
    while times:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        times -= word in line


def test_two_hundred_loaders_leave_nothing_behind(tmp_path):
    process = start(tmp_path, MADE_AND_CLOSED)
    output, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    numbers = [int(word.strip("(),")) for word in output.split()]
    threads, files, children, memory = (
        late - early for early, late in zip(numbers[:4], numbers[4:], strict=True)
    )
    assert threads <= 0
    assert files <= 0
    assert children <= 0
    assert memory < 24 * 2**20


@pytest.mark.parametrize("whole_group", [False, True], ids=["kernel", "terminal"])
@pytest.mark.parametrize("source", ["files", "samples"])
def test_an_interrupt_leaves_no_orphan_and_a_usable_loader(tmp_path, source, whole_group):
    """A notebook interrupts its kernel, a terminal the whole group of processes."""
    process = start(tmp_path, RUNS_ON, source)
    read_until(process, "batch", 20)
    children = psutil.Process(process.pid).children(recursive=True)
    assert (len(children) >= 2) == (source == "samples")
    (os.killpg if whole_group else os.kill)(process.pid, signal.SIGINT)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert output.splitlines()[-3:] == ["interrupted", "again 5", "children 0"]
    assert psutil.wait_procs(children, timeout=30)[1] == []


def test_workers_end_when_their_parent_is_killed(tmp_path):
    process = start(tmp_path, RUNS_ON, "samples")
    read_until(process, "batch", 20)
    children = psutil.Process(process.pid).children(recursive=True)
    assert len(children) >= 2
    process.kill()
    process.communicate(timeout=60)
    assert psutil.wait_procs(children, timeout=30)[1] == []


def test_a_loader_that_is_dropped_or_never_closed_ends_its_workers(tmp_path):
    process = start(tmp_path, DROPPED)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert output.splitlines() == ["2", "0 [4, 4, 4, 4, 4]"]
