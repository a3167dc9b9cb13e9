"""Worker processes that can be started from anywhere and never outlive their parent.

``multiprocessing`` is not used to start them: it forks (unsafe once CUDA or threads
are up) or imports the caller's main module again in every worker, which a script
without ``if __name__ == "__main__"`` does not survive. These are plain new Python
processes that import the task's module and nothing of the caller. Each holds one end
of a socket; the kernel closes the other with the parent, whatever ended it, and a
worker that sees the end of its socket exits at once.
"""

import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")

# A worker has one core: libraries that start a thread a core would fight each other.
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OPENCV_FOR_THREADS_NUM")
_START = "import sys; from data_scripts.workers import serve; serve(int(sys.argv[1]))"


class WorkerDiedError(RuntimeError):
    """A worker process ended in the middle of a task."""


def cores() -> int:
    """Count the cores this process may use: its affinity mask, cut to a container's quota (cgroup v2)."""
    allowed = len(os.sched_getaffinity(0))
    try:
        limit, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return allowed
    return allowed if limit == "max" else max(1, min(allowed, int(limit) // int(period)))


def run(
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    workers: int,
    on_death: Callable[[Task, str], Result] | None = None,
) -> Iterator[Result]:
    """Apply a function to every task in several processes.

    With one worker (or one task) everything runs in this process, without any start-up.

    Args:
        function: a function of an importable module, not of ``__main__``.
        tasks: picklable arguments.
        workers: how many processes, at least 1.
        on_death: makes the result of a task whose worker died (killed for memory, crashed in a
            decoder), given the task and the cause; the worker is replaced. None raises.

    Yields:
        The results, in order of completion.

    Raises:
        WorkerDiedError: a worker died and there is no `on_death`.
        Exception: what the function raised, with the worker's traceback as a note.
    """
    workers = min(workers, len(tasks))
    if workers <= 1:
        yield from map(function, tasks)
        return
    pool = [_Worker() for _ in range(workers)]
    try:
        waiting = iter(tasks)
        busy = {worker.connection: worker for worker in pool if worker.take(function, waiting)}
        while busy:
            for connection in wait(list(busy)):
                worker = busy.pop(connection)
                try:
                    yield worker.result()
                except EOFError:
                    cause = worker.cause_of_death()
                    if on_death is None:
                        raise WorkerDiedError(
                            f"A worker process was {cause} during the task {worker.task!r}. If memory ran "
                            "out, use fewer workers; the next run continues where this one stopped."
                        ) from None
                    yield on_death(worker.task, cause)
                    pool.remove(worker)
                    pool.append(worker := _Worker())
                if worker.take(function, waiting):
                    busy[worker.connection] = worker
    finally:
        for worker in pool:
            worker.connection.close()
        for worker in pool:
            worker.process.wait()


class _Worker:
    """The parent's side: one process, one task at a time."""

    def __init__(self) -> None:
        self.connection, theirs = Pipe()
        package = str(Path(__file__).resolve().parent.parent)
        search = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = dict.fromkeys(_ONE_THREAD, "1") | {"PYTHONPATH": os.pathsep.join(search)}
        # -P: a file beside the notebook that is named like a module must not be imported for it.
        # A session of its own: Ctrl-C in the terminal is the parent's to handle.
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", _START, str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            env=os.environ | environment,
            start_new_session=True,
        )
        theirs.close()
        self.task: Any = None

    def take(self, function: Callable, tasks: Iterator) -> bool:
        """Send the next task, if there is one; a worker that died shows when its result is read."""
        try:
            self.task = next(tasks)
        except StopIteration:
            return False
        with suppress(BrokenPipeError, ConnectionResetError):
            self.connection.send((function, self.task))
        return True

    def result(self) -> Any:
        """Receive the result of the task, or raise what it raised; EOFError: the worker is dead."""
        try:
            answer = self.connection.recv()
        except ConnectionResetError as error:
            raise EOFError from error
        if isinstance(answer, _Failure):
            answer.error.add_note(f"In a worker process:\n{answer.trace}")
            raise answer.error
        return answer

    def cause_of_death(self) -> str:
        code = self.process.wait()
        return f"ended by {signal.Signals(-code).name}" if code < 0 else f"gone with exit code {code}"


@dataclass(frozen=True)
class _Failure:
    error: Exception
    trace: str


def serve(descriptor: int) -> None:
    """Do tasks as they come, in a worker process; a second thread ends it with its parent.

    Args:
        descriptor: the number of the inherited end of the socket.
    """
    connection = Connection(descriptor)
    tasks: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(connection, tasks), daemon=True).start()
    while True:
        pickled = tasks.get()
        try:
            function, task = pickle.loads(pickled)
            answer = function(task)
        except Exception as error:
            answer = _Failure(error, traceback.format_exc())
        connection.send(answer)


def _receive(connection: Connection, tasks: queue.SimpleQueue) -> None:
    while True:
        try:
            tasks.put(connection.recv_bytes())
        except (EOFError, ConnectionResetError):
            os._exit(0)
