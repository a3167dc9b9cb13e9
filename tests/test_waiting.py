"""The share of an epoch spent waiting for data, on a synthetic clock and a synthetic GPU stream."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from timing_samples import CPU, Clock

from tutorial_utils import waiting as waiting_module
from tutorial_utils.placement import Placement
from tutorial_utils.timing import Waiting


class SlowLoader:
    """Takes ``wait`` seconds before each batch and ``start`` before the first."""

    def __init__(self, clock: Clock, wait: float, batches: int = 10, start: float = 0) -> None:
        self.clock, self.wait, self.batches, self.start = clock, wait, batches, start

    def __len__(self) -> int:
        return self.batches

    def __iter__(self):
        self.clock.pass_time(self.start)
        for _ in range(self.batches):
            self.clock.pass_time(self.wait)
            yield torch.zeros(4, 3)


class TestWaiting:
    @pytest.mark.parametrize("percent", [0, 10, 50, 90, 100])
    def test_share_is_right_to_the_point(self, percent):
        clock = Clock()
        waiting = Waiting(SlowLoader(clock, percent), CPU, clock=clock)
        for _ in waiting:
            clock.pass_time(100 - percent)
        assert waiting.share == pytest.approx(percent / 100, abs=1e-9)
        assert (waiting.waited, waiting.busy) == (percent * 10, (100 - percent) * 10)
        assert (waiting.batches, waiting.samples, len(waiting)) == (10, 40, 10)

    @given(
        waits=st.lists(st.integers(0, 1000), min_size=1, max_size=8),
        work=st.integers(1, 1000),
        epochs=st.integers(1, 3),
        leave_after=st.integers(1, 9),
    )
    def test_waited_and_busy_are_the_whole_time(self, waits, work, epochs, leave_after):
        clock = Clock()

        class Loader:
            def __iter__(self):
                for wait in waits:
                    clock.pass_time(wait)
                    yield torch.zeros(1)

        waiting = Waiting(Loader(), CPU, clock=clock)
        for _ in range(epochs):
            for number, _ in enumerate(waiting, start=1):
                clock.pass_time(work)
                if number == leave_after:
                    break
        taken = min(leave_after, len(waits))
        assert waiting.waited == epochs * sum(waits[:taken])
        assert waiting.busy == epochs * taken * work
        assert waiting.waited + waiting.busy == clock.now
        assert waiting.batches == epochs * taken

    def test_starting_the_epoch_and_finding_its_end_count_as_waiting(self):
        clock = Clock()

        class Loader(SlowLoader):
            def __iter__(self):
                yield from super().__iter__()
                clock.pass_time(7)

        waiting = Waiting(Loader(clock, 1, batches=2, start=5), CPU, clock=clock)
        for _ in waiting:
            clock.pass_time(1)
        assert (waiting.waited, waiting.busy) == (5 + 2 + 7, 2)

    def test_an_error_in_the_consumer_passes_through_and_its_time_counts(self):
        clock = Clock()
        waiting = Waiting(SlowLoader(clock, 1), CPU, clock=clock)

        def train():
            for _ in waiting:
                clock.pass_time(3)
                raise KeyError("mine")

        with pytest.raises(KeyError, match="mine"):
            train()
        assert (waiting.waited, waiting.busy, waiting.batches) == (1, 3, 1)

    def test_an_error_in_the_loader_passes_through(self):
        class Broken:
            def __iter__(self):
                yield torch.zeros(1)
                raise OSError("disk gone")

        with pytest.raises(OSError, match="disk gone"):
            list(Waiting(Broken(), CPU))

    def test_before_the_first_epoch_there_is_no_share(self):
        waiting = Waiting([torch.zeros(1)], CPU)
        with pytest.raises(RuntimeError, match="run an epoch first"):
            _ = waiting.share
        assert str(waiting) == "waiting: nothing measured yet"

    def test_text(self):
        clock = Clock()
        waiting = Waiting(SlowLoader(clock, 3), CPU, clock=clock)
        for _ in waiting:
            clock.pass_time(1)
        assert str(waiting) == (
            "75% of 40.00 s waiting for data (30.00 s), 25% at work (10.00 s), 10 batches, 40 samples"
        )


class FakeStream:
    """A GPU stream: work is queued on it in no time, and waiting for it takes the queued seconds."""

    def __init__(self, clock: Clock) -> None:
        self.clock, self.done_at = clock, 0.0

    def queue(self, seconds: float) -> None:
        self.done_at = max(self.done_at, self.clock.now) + seconds

    def synchronize(self) -> None:
        self.clock.now = max(self.clock.now, self.done_at)


class BackgroundLoader:
    """Workers make one batch every ``pace`` seconds, at most two ahead of the consumer."""

    def __init__(self, clock: Clock, pace: float, batches: int) -> None:
        self.clock, self.pace, self.batches = clock, pace, batches

    def __iter__(self):
        ready = [self.clock.now + self.pace * (number + 1) for number in range(2)]
        for _ in range(self.batches):
            self.clock.now = max(self.clock.now, ready.pop(0))
            ready.append(max(ready[-1], self.clock.now) + self.pace)
            yield torch.zeros(4, 3)


class TestWaitingOnAGpu:
    @pytest.fixture
    def gpu(self, monkeypatch):
        clock = Clock()
        stream = FakeStream(clock)
        monkeypatch.setattr(waiting_module.torch.cuda, "current_stream", lambda device: stream)
        return clock, stream, Placement("G", torch.device("cuda", 0), 0, "mixed", "gpu")

    def run(self, gpu, pace, step, **options):
        clock, stream, placement = gpu
        waiting = Waiting(BackgroundLoader(clock, pace, 100), placement, clock=clock, **options)
        for _ in waiting:
            stream.queue(step)
        return waiting

    def test_a_loader_that_keeps_up_is_not_waited_for_but_at_the_start(self, gpu):
        waiting = self.run(gpu, pace=4, step=5)
        assert waiting.waited == 4
        assert waiting.busy == 100 * 5

    def test_a_slow_loader_starves_the_gpu(self, gpu):
        # A batch every 10 s, worked on for 1 s: nine tenths of the time there is nothing to do.
        assert self.run(gpu, pace=10, step=1).share == pytest.approx(0.9, abs=0.01)

    def test_without_synchronising_the_host_seems_to_wait_although_the_gpu_is_never_idle(self, gpu):
        waiting = self.run(gpu, pace=4, step=5, synchronize=False)
        assert waiting.share == 1.0
        assert waiting.busy == 0

    def test_a_broken_gpu_does_not_hide_the_consumers_error(self, gpu):
        clock, stream, placement = gpu

        def broken():
            raise RuntimeError("CUDA error: an illegal memory access was encountered")

        def train():
            for _ in Waiting(BackgroundLoader(clock, 1, 5), placement, clock=clock):
                stream.synchronize = broken
                raise KeyError("mine")

        with pytest.raises(KeyError, match="mine"):
            train()
