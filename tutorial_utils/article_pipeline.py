"""The article's external-source pipeline in its own form: a ``Pipeline`` subclass, executed by lesson 02.

Rebuilt in our words from the blog post "NVIDIA DALI Tutorials", and still running on today's DALI. Its
shortcomings are kept, because the lesson shows and prices them; for your own work take
:func:`tutorial_utils.loaders.paired_loader`. They are:

- asynchronous and pipelined execution are switched off: while the GPU decodes, Python reads nothing, and
  while the model trains, nobody prepares the next batch;
- one Python thread reads all files, between two batches;
- the order is shuffled once, and every epoch is the same;
- the last batch wraps round to the first files, so that some pairs come twice in an epoch;
- the length counts all pipelines' batches together and forgets that last batch.

The article also listed each folder for itself, in whatever order the file system gave, so that pairs
could come apart; here the lists of :func:`tutorial_utils.data.open_pairs` are taken, so that what is
timed is at least the right data.
"""

import random
from collections.abc import Iterator

import numpy as np
import torch
from nvidia.dali import ops, types
from nvidia.dali.pipeline import Pipeline
from nvidia.dali.plugin.pytorch import DALIGenericIterator

from tutorial_utils.data import Pairs
from tutorial_utils.placement import Placement


class PairBytes:
    """An iterator over batches of encoded pairs, as the article fed them."""

    def __init__(self, pairs: Pairs, batch_size: int, seed: int = 0) -> None:
        """Shuffle the pairs, once and for all.

        Args:
            pairs: what :func:`tutorial_utils.data.open_pairs` returned.
            batch_size: pairs a batch.
            seed: of the order.
        """
        self.batch_size = batch_size
        self.files = list(zip(pairs.low, pairs.high, strict=True))
        random.Random(seed).shuffle(self.files)
        self.position = 0

    def __iter__(self) -> "PairBytes":
        self.position = 0
        return self

    def __next__(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
        if self.position >= len(self.files):
            raise StopIteration
        wrapped = [self.files[(self.position + i) % len(self.files)] for i in range(self.batch_size)]
        self.position += self.batch_size
        low, high = zip(
            *((np.fromfile(a, np.uint8), np.fromfile(b, np.uint8)) for a, b in wrapped), strict=True
        )
        return list(low), list(high)


class ArticlePipeline(Pipeline):
    """Decode, resize with a triangular filter, turn HWC into CHW, divide by 255; for both images."""

    def __init__(
        self,
        source: PairBytes,
        placement: Placement,
        *,
        size: tuple[int, int] = (192, 192),
        threads: int = 4,
    ) -> None:
        """Create the operators; :meth:`define_graph` connects them.

        Args:
            source: gives the encoded files.
            placement: where the steps run.
            size: (height, width) in pixels.
            threads: of the pipeline.
        """
        super().__init__(
            source.batch_size, threads, placement.dali_device_id, exec_async=False, exec_pipelined=False
        )
        self.source = iter(source)
        self.read_low = ops.ExternalSource()
        self.read_high = ops.ExternalSource()
        self.decode = ops.decoders.Image(device=placement.decoder_device, output_type=types.RGB)
        self.resize = ops.Resize(
            device=placement.operator_device, size=size, interp_type=types.INTERP_TRIANGULAR
        )
        self.transpose = ops.Transpose(device=placement.operator_device, perm=[2, 0, 1])

    def define_graph(self):
        """Connect the operators; DALI calls this when it builds the pipeline."""
        self.low, self.high = self.read_low(), self.read_high()
        images = [self.resize(self.decode(encoded)) for encoded in (self.low, self.high)]
        low, high = (self.transpose(image) / 255.0 for image in images)
        return low, high

    def iter_setup(self) -> None:
        """Feed the next batch; DALI calls this before each.

        Raises:
            StopIteration: the epoch is over; the source is rewound for the next one.
        """
        try:
            low, high = next(self.source)
        except StopIteration:
            self.source = iter(self.source)
            raise
        self.feed_input(self.low, low)
        self.feed_input(self.high, high)


class ArticleLoader(DALIGenericIterator):
    """The article's iterator: ``for low, high in loader``, float32 of shape (B, 3, height, width)."""

    def __init__(self, pipelines: ArticlePipeline | list[ArticlePipeline]) -> None:
        """Wrap one pipeline, or several.

        Args:
            pipelines: one :class:`ArticlePipeline` or a list of them.
        """
        super().__init__(pipelines, ["low", "high"], auto_reset=True)

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        return self

    def __next__(self) -> tuple[torch.Tensor, torch.Tensor]:
        batch = super().__next__()[0]
        return batch["low"], batch["high"]

    def __len__(self) -> int:
        return sum(len(pipe.source.files) // pipe.source.batch_size for pipe in self._pipes)
