"""A DALI pipeline that is running, and where it stands: started, moved on, left early, closed.

A loader asks its feed for the batches of an epoch; how the feed gets to a certain epoch and batch is
its own affair. Two kinds, because two kinds of reading remember differently:

- a source is a pure function of epoch and place, so it can begin anywhere and is told when to stop;
- a file reader shuffles through a buffer whose contents only DALI knows, so it is continued from DALI's
  own checkpoint, and an epoch that is left early costs a new pipeline.

Beneath ``loaders``; lesson 03 explains the difference.
"""

from collections.abc import Callable
from typing import Any

import torch
from nvidia.dali import Pipeline
from nvidia.dali.backend import ReleaseUnusedMemory
from nvidia.dali.plugin.pytorch import DALIGenericIterator

from tutorial_utils.sources import EncodedPairBatches

Batch = dict[str, torch.Tensor]


class Feed:
    """What both kinds share: one iterator over one pipeline, and the place of its next batch.

    Attributes:
        at: (epoch, batch) that :meth:`next` delivers; meaningless while nothing runs.
    """

    def __init__(self, outputs: list[str]) -> None:
        """Name the pipeline's outputs; nothing is built yet."""
        self.at = (0, 0)
        self._outputs = outputs
        self._iterator: DALIGenericIterator | None = None
        self._pipeline: Pipeline | None = None

    def next(self) -> Batch:
        """Take the next batch; DALI goes on with those after it in the background."""
        (batch,) = next(self._iterator)
        self.at = (self.at[0], self.at[1] + 1)
        return batch

    def close(self) -> None:
        """End the pipeline and its worker processes, and give its memory back. Does nothing a second time."""
        pipeline, self._pipeline, self._iterator = self._pipeline, None, None
        if pipeline is None:
            return
        # Ended outright and not by reference counting: a notebook keeps the traceback of its last error,
        # and with it every pipeline that the error went through.
        pipeline._shutdown()
        if pipeline._py_pool is not None:
            pipeline._py_pool.close()
        ReleaseUnusedMemory()

    def _run(self, pipeline: Pipeline, at: tuple[int, int]) -> None:
        self.close()
        self._pipeline = pipeline
        # The first batch is not fetched here, so that a bad file shows up in the loop and nowhere else.
        self._iterator = DALIGenericIterator(pipeline, self._outputs, prepare_first_batch=False)
        self.at = at


class SourceFeed(Feed):
    """Batches of a pipeline that reads from a source of :mod:`tutorial_utils.sources`."""

    def __init__(
        self,
        outputs: list[str],
        make_source: Callable[[int, int], EncodedPairBatches],
        make_pipeline: Callable[[EncodedPairBatches], Pipeline],
    ) -> None:
        """Keep the recipes.

        Args:
            outputs: names of the pipeline's outputs.
            make_source: makes a source that begins at (epoch, batch).
            make_pipeline: makes the pipeline of a source.
        """
        super().__init__(outputs)
        self._make_source, self._make_pipeline = make_source, make_pipeline
        self._leave = _Leave()

    def seek(self, epoch: int, batch: int) -> None:
        """Let the next batch be the given one; the next epoch costs two batches in flight, not a rebuild."""
        if self._iterator is not None and (epoch, batch) == (self.at[0] + 1, 0):
            try:
                self.finish()
            except Exception:  # what failed are batches that nobody asked for: a new pipeline does without
                self.close()
        if self._iterator is None or self.at != (epoch, batch):
            pipeline = self._make_pipeline(self._make_source(epoch, batch))
            # DALI asks `iter_setup` before each batch whether the epoch is over, beside the sources.
            # Should it one day not do so, the rest of a left epoch is read to its end: slower, not wrong.
            pipeline.iter_setup = self._leave
            self._run(pipeline, (epoch, batch))

    def finish(self) -> None:
        """Go to the start of the next epoch, wherever in this one; batches in flight are thrown away."""
        self._leave.now = True
        try:
            while True:
                next(self._iterator)
        except StopIteration:
            pass
        finally:
            self._leave.now = False
        self._iterator.reset()
        self.at = (self.at[0] + 1, 0)

    def state(self) -> dict[str, Any]:
        """Nothing needs to be remembered: epoch and batch are enough."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """See :meth:`state`."""


class _Leave:
    """Called before each batch; ends the epoch on request."""

    now = False

    def __call__(self) -> None:
        if self.now:
            raise StopIteration


class ReaderFeed(Feed):
    """Batches of a pipeline with file readers.

    A pipeline begins its readers anew, with a seed made of the loader's and the epoch it was built for,
    its ``start``. In the epochs after that DALI's reader goes on by itself. So an epoch depends on the
    seed and on ``start``, and an interrupted run has other orders than one that was not; which samples
    a shard reads in which epoch does not change.
    """

    def __init__(
        self, outputs: list[str], padded_steps: int, make_pipeline: Callable[[int, bytes | None], Pipeline]
    ) -> None:
        """Keep the recipe.

        Args:
            outputs: names of the pipeline's outputs.
            padded_steps: batches that the readers deliver in an epoch, padding included.
            make_pipeline: makes a pipeline that begins with an epoch, or goes on from a checkpoint of it.
        """
        super().__init__(outputs)
        self._padded_steps, self._make_pipeline = padded_steps, make_pipeline
        self._start = 0
        self._restored: dict[str, Any] | None = None

    def seek(self, epoch: int, batch: int) -> None:
        """Let the next batch be the given one: the start of an epoch, or what was restored."""
        if self._iterator is not None and self.at == (epoch, batch):
            return
        restored, self._restored = self._restored, None
        if restored is None:
            restored = {"start": epoch, "checkpoint": None}
        self._start = restored["start"]
        self._run(self._make_pipeline(self._start, restored["checkpoint"]), (epoch, batch))

    def finish(self) -> None:
        """Read a delivered epoch to its end: the batches that hold only what is padded or left out."""
        for _ in range(self._padded_steps - self.at[1]):
            next(self._iterator)
        self.at = (self.at[0] + 1, 0)

    def state(self) -> dict[str, Any]:
        """Give what :meth:`restore` needs: the epoch that the pipeline was built for and DALI's checkpoint.

        Raises:
            RuntimeError: the pipeline was closed or broke in mid-epoch, and its state went with it.
        """
        if self._iterator is not None:
            fresh = self.at == (self._start, 0)
            return {"start": self._start, "checkpoint": None if fresh else self._iterator.checkpoints()[0]}
        return self._restored

    def restore(self, state: dict[str, Any] | None) -> None:
        """Go on from there at the next :meth:`seek`."""
        self.close()
        self._restored = state
