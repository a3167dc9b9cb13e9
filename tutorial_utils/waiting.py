"""Who waits for whom: the share of an epoch that the consumer spends waiting for data (lesson 01)."""

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

from tutorial_utils.batches import count_samples
from tutorial_utils.placement import Placement


class Waiting:
    """A loader that measures how long its consumer waits for it; lesson 01 wraps the training loop's loader.

    Two things are counted, and together they are the whole time from the start of an
    epoch to its end::

        for batch in waiting:      # waited: from asking for a batch until its data is there
            train(batch)           # busy: from then on until the consumer's work is done

    On a GPU the consumer's work is only queued when its Python code is through, so "done" needs a
    decision:

    - ``synchronize=True`` (the default) waits for the consumer's GPU stream before a batch is asked
      for, and again when it has come. ``waited`` is then time in which the consumer's GPU work was
      finished and the next batch was not there: the GPU is starved, nothing else. Only the current
      stream is waited for, so a loader that prefetches on streams of its own (DALI) goes on doing
      so. The price: the host's part of fetching a batch, which an ordinary loop hides behind
      queued GPU work, is laid open. For a loader that works in the background (``DataLoader``
      workers, DALI) that is the few hundred microseconds of taking a finished batch from a queue
      and copying it; for a loader that does all its work inside ``next()`` (``num_workers=0``) it
      is all of it, and the share is an upper bound.
    - ``synchronize=False`` leaves the loop as it is and counts only the host's time inside
      ``next()``. The epoch takes what it always takes, but the GPU may be busy with queued work
      while the host waits: a loop whose model is the bottleneck can show a large share although
      the GPU never starves. Right for asking what the host does, wrong for asking whether the GPU
      is fed.

    On a CPU both count the same. Starting the epoch (``iter(loader)``: workers start, a pipeline is
    built) counts as waiting; run a warm-up epoch over the loader itself first to leave it out.
    Several epochs add up, and an epoch that is left early counts as far as it went.

    Attributes:
        waited: seconds the consumer waited for data.
        busy: seconds the consumer worked.
        batches: batches delivered.
        samples: samples delivered.
    """

    def __init__(
        self,
        loader: Iterable[Any],
        placement: Placement,
        *,
        synchronize: bool = True,
        count: Callable[[Any], int] = count_samples,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Wrap a loader.

        Args:
            loader: anything that can be iterated once an epoch.
            placement: whose GPU the consumer works on.
            synchronize: whether to wait for the consumer's GPU work, see above.
            count: samples in a batch; the default is :func:`tutorial_utils.batches.count_samples`.
            clock: seconds from any start; tests give a synthetic one.
        """
        self.loader = loader
        self.waited = 0.0
        self.busy = 0.0
        self.batches = 0
        self.samples = 0
        self._placement = placement
        self._synchronize = synchronize and placement.has_gpu
        self._count = count
        self._clock = clock

    @property
    def share(self) -> float:
        """Share of the time, from 0 to 1, that the consumer waited for data.

        Raises:
            RuntimeError: no batch was asked for yet.
        """
        total = self.waited + self.busy
        if total <= 0:
            raise RuntimeError("nothing measured yet: run an epoch first (`for batch in waiting: ...`)")
        return self.waited / total

    def __len__(self) -> int:
        return len(self.loader)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Any]:
        asked = self._now()
        batches = iter(self.loader)
        while True:
            try:
                batch = next(batches)
            except StopIteration:
                self.waited += self._now() - asked
                return
            self.samples += self._count(batch)
            self.batches += 1
            came = self._now()
            self.waited += came - asked
            try:
                yield batch
            except GeneratorExit:
                # The consumer left the loop. If a CUDA error threw it out, it has that error already.
                with contextlib.suppress(RuntimeError):
                    self.busy += self._now() - came
                raise
            asked = self._now()
            self.busy += asked - came

    def _now(self) -> float:
        if self._synchronize:
            torch.cuda.current_stream(self._placement.torch_device).synchronize()
        return self._clock()

    def __str__(self) -> str:
        total = self.waited + self.busy
        if total <= 0:
            return "waiting: nothing measured yet"
        return (
            f"{self.share:.0%} of {total:.2f} s waiting for data ({self.waited:.2f} s), "
            f"{1 - self.share:.0%} at work ({self.busy:.2f} s), {self.batches} batches, {self.samples:,} "
            "samples"
        )
