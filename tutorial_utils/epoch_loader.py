"""A loader with the manners of a ``DataLoader``: epochs, breaks, resuming, errors that name the file.

Beneath ``loaders``, whose functions make it.
"""

import copy
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

import torch

from tutorial_utils.epochs import EpochPlan
from tutorial_utils.feeds import Batch, ReaderFeed, SourceFeed
from tutorial_utils.loader_faults import BrokenFileError, broken_files

STATE_FORMAT = 1


class StateMismatchError(ValueError):
    """A state saved by a loader with other settings; going on would deliver other data without a word."""


class Loader:
    """Batches of a DALI pipeline; made by the functions of :mod:`tutorial_utils.loaders`.

    The pipeline is built when the first batch is asked for. Use the loader in a ``with`` statement, or
    call :meth:`close`, to have its memory and worker processes back at a certain moment.
    """

    def __init__(
        self,
        plan: EpochPlan,
        feed: SourceFeed | ReaderFeed,
        deliver: Callable[[Batch], tuple[torch.Tensor, ...]],
        settings: dict[str, Any],
        files: Callable[[], Iterable[tuple[str, int]]],
    ) -> None:
        """Put a loader together.

        Args:
            plan: how many batches there are, and how many samples in each.
            feed: runs the pipeline.
            deliver: picks from a batch, by name, what the loop gets.
            settings: all that decides what is delivered when; a saved state is for equal settings only.
            files: gives path and size of each file, to find the one that broke an epoch.
        """
        self.plan = plan
        self._feed = feed
        self._deliver = deliver
        self._settings = settings
        self._files = files
        self._epoch, self._batch = 0, 0
        self._resumed = False
        self._closed = False
        self._loop = 0

    def __len__(self) -> int:
        """Count the batches of an epoch; the same in every epoch, and after a break or a resume."""
        return self.plan.steps

    @property
    def epoch(self) -> int:
        """Number of the epoch that the next ``for`` delivers, from 0 on."""
        return self._epoch + int(self._batch > 0 and not self._resumed)

    def __iter__(self) -> Iterator[tuple[torch.Tensor, ...]]:
        """Begin an epoch: the next one, or what is left of the one that :meth:`load_state_dict` restored.

        Raises:
            RuntimeError: the loader is closed.
        """
        self._check_open()
        if self._batch and not self._resumed:
            self._epoch, self._batch = self._epoch + 1, 0
        self._resumed = False
        self._loop += 1
        return self._batches(self._loop)

    def _batches(self, loop: int) -> Iterator[tuple[torch.Tensor, ...]]:
        while self._batch < self.plan.steps:
            batch = self._deliver(self._guarded(self._take))
            size = self.plan.valid(self._batch)
            self._batch += 1
            yield tuple(tensor if len(tensor) == size else tensor[:size] for tensor in batch)
            self._check_open()
            if loop != self._loop:
                raise RuntimeError(
                    "this loop has ended: another one was begun over the same loader. For two loops at a "
                    "time make two loaders."
                )
        if self.plan.steps:
            self._guarded(self._finish)
        self._epoch, self._batch = self._epoch + 1, 0

    def _take(self) -> Batch:
        self._feed.seek(self._epoch, self._batch)
        return self._feed.next()

    def _finish(self) -> None:
        self._feed.seek(self._epoch, self._batch)
        self._feed.finish()

    def _guarded(self, step: Callable[[], Any]) -> Any:
        """Take a step; if it fails the pipeline is of no more use, and the file at fault is looked for."""
        try:
            return step()
        except StopIteration as error:
            self._feed.close()
            raise RuntimeError(f"the pipeline ended at batch {self._batch} of {self.plan.steps}") from error
        except Exception as error:
            self._feed.close()
            if problems := broken_files(self._files()):
                # Without its traceback, which would keep the broken pipeline alive.
                raise BrokenFileError(problems) from error.with_traceback(None)
            raise
        except BaseException:  # an interrupt may have left the pipeline between two batches
            self._feed.close()
            raise

    def state_dict(self) -> dict[str, Any]:
        """Remember the place behind the last batch that was delivered; lesson 07 resumes from it.

        May be called at any time, also inside the loop or after a ``break``. Can be pickled and saved
        with ``torch.save``.

        Returns:
            A plain dictionary of numbers, strings and bytes.

        Raises:
            RuntimeError: the pipeline broke or was closed in mid-epoch, and its place went with it.
        """
        feed = self._feed.state()
        if feed is None and self._batch:
            raise RuntimeError(
                f"the pipeline was closed or broke after batch {self._batch} of epoch {self._epoch}, and its "
                "state went with it. Save the state inside the loop, or before close()."
            )
        return {
            "format": STATE_FORMAT,
            "epoch": self._epoch,
            "batch": self._batch,
            "settings": copy.deepcopy(self._settings),
            "feed": copy.deepcopy(feed),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a saved place: the next ``for`` delivers what was left of that epoch, bit for bit.

        If the state was saved after the last batch of an epoch, that ``for`` is empty, as it is the rest
        of that epoch.

        Args:
            state: what :meth:`state_dict` of a loader with the same settings returned.

        Raises:
            RuntimeError: the loader is closed.
            StateMismatchError: the state is of a loader with another batch size, seed, set of files, number
                of shards, ...; the message names both values. Sizes, dtype and threads may differ.
        """
        self._check_open()
        if not isinstance(state, dict) or state.get("format") != STATE_FORMAT:
            raise StateMismatchError("state: this is no state_dict() of a loader of this version")
        saved = state["settings"]
        names = [name for name in {**saved, **self._settings} if saved.get(name) != self._settings.get(name)]
        if names:
            differences = "; ".join(
                f"{name} was {saved.get(name)!r}, is {self._settings.get(name)!r} here" for name in names
            )
            raise StateMismatchError(f"state: saved by a loader with other settings: {differences}")
        self._feed.restore(copy.deepcopy(state["feed"]))
        self._epoch, self._batch = state["epoch"], state["batch"]
        self._resumed = True
        self._loop += 1

    def close(self) -> None:
        """Give back the pipeline's memory, also on the GPU, and end its worker processes.

        Tensors that were delivered stay valid. Does nothing a second time.
        """
        self._closed = True
        self._feed.close()

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("the loader is closed; make a new one")

    def __enter__(self) -> Self:
        self._check_open()
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
