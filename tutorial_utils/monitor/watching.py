"""The monitor itself: a ``with`` block that records, draws while it runs, and leaves a picture."""

import contextvars
import operator
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType

import numpy as np

from tutorial_utils.monitor.live_plot import render as render_live
from tutorial_utils.monitor.notebook import Stage, stage
from tutorial_utils.monitor.recording import Recording
from tutorial_utils.monitor.trace import Phase, Trace

FRAME_SECONDS = 0.5
"""Least time between two frames of the live picture."""

_SHARE_FOR_DRAWING = 0.004
_SILENT_SECONDS = 2.0


class Monitor:
    """Watch the GPUs, or without one the CPU, while a block runs; used around lesson 01's training.

        with Monitor("AlexNet on the article's loader") as watch:
            with watch.phase("epoch 1"):
                train_one_epoch()
        watch.trace.mean("GPU 0 SM", phase="epoch 1")

    A process of its own records ten times a second. In a notebook somebody looks at, a picture grows
    below the cell while it is busy; when the block ends, by whatever way, one static picture takes
    its place. A notebook run by nbmake or nbconvert gets the static picture only, a plain Python
    program one line of text. ``TUTORIAL_LIVE=0`` or ``1`` in the environment decides otherwise.

    A block that raises or is interrupted gets its picture too, and the exception goes on. Trouble
    with the monitoring (no driver, a driver that dies, a recorder that cannot start) never raises:
    it is told in the picture and in ``trace.notes``.

    Args:
        title: what is watched, for the pictures.
        gpus: numbers as PyTorch counts them (``cuda:N``); None for all that this process may see,
            empty to watch the CPU although there is a GPU.

    Raises:
        ValueError: a GPU number below 0.
        TypeError: ``gpus`` is neither None nor a sequence of whole numbers.
        RuntimeError: the same monitor is entered twice.
    """

    def __init__(self, title: str = "This cell", gpus: Sequence[int] | None = None):
        self.title = title
        self._recording = Recording(_checked(gpus))
        self._phases: list[Phase] = []
        self._finished: Trace | None = None
        self._stage: Stage | None = None
        self._stop_drawing = threading.Event()
        self._painter: threading.Thread | None = None

    def __enter__(self) -> "Monitor":
        if self._stage is not None:
            raise RuntimeError("a Monitor watches one block; make a new one for the next")
        self._stage = stage()
        try:
            self._recording.begin()
            self._start_drawing()
        except Exception as error:
            self._recording.notes.append(f"monitoring failed: {error!r}")
        except BaseException:
            self._recording.end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        duration = time.monotonic() - self._recording.start
        try:
            self._stop_drawing.set()
            if self._painter is not None:
                self._painter.join(timeout=5)
            self._recording.end()
            self._finished = self._trace(duration)
            self._show_final(self._finished)
        except Exception as trouble:
            print(f"Monitor, {self.title}: no picture ({trouble!r})", flush=True)
        finally:
            self._recording.end()

    @property
    def trace(self) -> Trace:
        """The recording: within the block what there is so far, after it the whole."""
        if self._finished is not None:
            return self._finished
        self._recording.drain()
        return self._trace(time.monotonic() - self._recording.start)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Mark a stretch of the block, such as an epoch; phases may repeat and lie within each other.

        Args:
            name: shown in the pictures, and the key of ``trace.mean(label, phase=name)``.
        """
        number = len(self._phases)
        self._phases.append(Phase(name, time.monotonic(), float("inf")))
        try:
            yield
        finally:
            self._phases[number] = self._phases[number]._replace(end=time.monotonic())

    def _start_drawing(self) -> None:
        if not self._stage.live or not self._recording.channels:
            return
        self._draw()
        context = contextvars.copy_context()
        self._painter = threading.Thread(
            target=context.run, args=(self._keep_drawing,), name="monitor's live picture", daemon=True
        )
        self._painter.start()

    def _keep_drawing(self) -> None:
        """Draw until told to stop; the dearer a frame, the rarer, so that drawing stays a trifle."""
        cost = latest = 0.0
        while not self._stop_drawing.wait(max(FRAME_SECONDS, cost / _SHARE_FOR_DRAWING)):
            before = time.thread_time()
            try:
                self._draw()
            except Exception as error:
                self._recording.notes.append(f"the live picture stopped: {error!r}")
                return
            # The lesser of the last two, since one frame may have paid for a garbage collection.
            before_that, latest = latest, time.thread_time() - before
            cost = min(before_that, latest)

    def _draw(self) -> None:
        self._recording.drain()
        trace = self._trace(time.monotonic() - self._recording.start)
        self._stage.show_live(render_live(trace), f"Monitor, {self.title}: recording")

    def _show_final(self, trace: Trace) -> None:
        if trace.channels and len(trace.times) and self._stage.draws:
            from tutorial_utils.monitor import static_plot

            self._stage.show_final(static_plot.render(trace), static_plot.WIDTH, trace.summary())
        else:
            self._stage.show_words(trace.summary())

    def _trace(self, duration: float) -> Trace:
        recording = self._recording
        channels = recording.channels
        times, values = recording.samples()
        within = int(np.searchsorted(times, duration, side="right"))
        times, values = times[:within], values[:within]
        notes = list(recording.notes)
        silence = duration - (times[-1] if within else 0.0)
        if silence > _SILENT_SECONDS:
            notes.append(f"no answer from the recorder for the last {silence:.0f} s")
        return Trace(
            title=self.title,
            source=recording.source,
            times=times,
            series={channel.label: values[:, column] for column, channel in enumerate(channels)},
            channels=channels,
            phases=tuple(
                Phase(name, start - recording.start, min(end - recording.start, duration))
                for name, start, end in self._phases
            ),
            duration=duration,
            notes=tuple(notes),
        )


def _checked(gpus: Sequence[int] | None) -> list[int] | None:
    if gpus is None:
        return None
    try:
        numbers = [operator.index(gpu) for gpu in gpus]
    except TypeError:
        raise TypeError(f"gpus={gpus!r}: give whole numbers, as in gpus=[0, 1], or None for all") from None
    if any(number < 0 for number in numbers):
        raise ValueError(f"gpus={numbers}: GPUs are numbered from 0 on")
    return numbers
