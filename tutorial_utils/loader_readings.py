"""Who reads for a loader: file readers, Python in this process, or worker processes; beneath ``loaders``."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from nvidia.dali import Pipeline

from tutorial_utils import loader_arguments as arguments
from tutorial_utils import pipelines
from tutorial_utils.data import Pairs
from tutorial_utils.epochs import EpochPlan
from tutorial_utils.feeds import ReaderFeed, SourceFeed
from tutorial_utils.pipelines import Augmentation, Delivery
from tutorial_utils.placement import cores
from tutorial_utils.sources import DECODERS, DecodedPairs, EncodedPairBatches, EncodedPairs

SOURCES = ("files", "samples", "batches", "decoded")
BUFFER = 1024  # encoded files that a reader shuffles among
OUTPUTS = ["low", "high", "id"]


@dataclass(frozen=True)
class PairReading:
    """How pairs are read; the arguments of :func:`tutorial_utils.loaders.paired_loader` of the same names."""

    source: str
    workers: int | None
    decoder: str | None
    augment: Augmentation | None

    def __post_init__(self) -> None:
        """Check the arguments, also against each other.

        Raises:
            ValueError: one is none of the choices, or means nothing for this source.
        """
        arguments.choice("source", self.source, SOURCES)
        arguments.choice("decoder", self.decoder, (None, *DECODERS))
        if self.augment is not None and not isinstance(self.augment, Augmentation):
            raise ValueError(f"augment={self.augment!r}: give an Augmentation(...) or None")
        if self.workers is not None:
            arguments.whole("workers", self.workers, 0)
        if self.decoder is not None and self.source != "decoded":
            raise ValueError(f"decoder={self.decoder!r}: only source 'decoded' has a choice of decoders")
        if self.augment is not None and self.source == "decoded":
            raise ValueError(
                f"augment={self.augment}: source 'decoded' resizes before DALI could crop; choose another one"
            )
        if self.workers and self.source in ("files", "batches"):
            raise ValueError(
                f"workers={self.workers}: source {self.source!r} has no worker processes; choose 'samples' "
                "or 'decoded', or leave workers out"
            )

    def feed(
        self, pairs: Pairs, plan: EpochPlan, delivery: Delivery, options: dict[str, Any]
    ) -> tuple[ReaderFeed | SourceFeed, int]:
        """Make the feed, and say by how much its sample numbers must be raised.

        Args:
            pairs: the files.
            plan: how they are gone through.
            delivery: what every image becomes; also in ``options``.
            options: of every pipeline.

        Raises:
            ValueError: the source cannot resize in that way, or there is too little shared memory.
        """
        if self.source == "files":
            return reader_feed(OUTPUTS, plan, partial(self._file_pipeline, pairs, options))
        if self.source == "decoded" and (not delivery.antialias or delivery.interpolation != "linear"):
            raise ValueError(
                f"antialias={delivery.antialias}, interpolation={delivery.interpolation!r}: source 'decoded' "
                "resizes as its decoder does, antialiased and linear; choose another source for anything else"
            )
        if workers := self._count_workers():
            batch_bytes = self._batch_bytes(pairs, plan, delivery)
            arguments.check_shared_memory(batch_bytes, options["prefetch_queue_depth"])
            options = options | {"py_num_workers": workers, "py_start_method": "spawn"}
        make_source = partial(self._make_source, pairs, plan, delivery)
        return SourceFeed(OUTPUTS, make_source, partial(self._source_pipeline, workers > 0, options)), 0

    def _count_workers(self) -> int:
        if self.workers is not None or self.source == "batches":
            return self.workers or 0
        return cores() if self.source == "decoded" else 1

    def _batch_bytes(self, pairs: Pairs, plan: EpochPlan, delivery: Delivery) -> int:
        if self.source == "decoded":
            return plan.batch_size * 2 * 3 * delivery.size[0] * delivery.size[1]
        return plan.batch_size * sum(map(sum, pairs.sizes)) // len(pairs)

    def _make_source(
        self, pairs: Pairs, plan: EpochPlan, delivery: Delivery, epoch: int, batch: int
    ) -> EncodedPairBatches:
        start = {"first_epoch": epoch, "first_batch": batch}
        if self.source == "decoded":
            return DecodedPairs(pairs, plan, delivery.size, self.decoder or DECODERS[0], **start)
        kind = EncodedPairBatches if self.source == "batches" else EncodedPairs
        return kind(pairs, plan, throws=self.augment is not None, **start)

    def _source_pipeline(
        self, parallel: bool, options: dict[str, Any], source: EncodedPairBatches
    ) -> Pipeline:
        if self.augment is not None:
            read = partial(pipelines.from_source, source, parallel, outputs=4)
            return pipelines.paired_augmented(read, self.augment, **options)
        paired = pipelines.paired_decoded if self.source == "decoded" else pipelines.paired_from_source
        return paired(source, parallel=parallel, **options)

    def _file_pipeline(
        self, pairs: Pairs, options: dict[str, Any], reading: dict[str, Any], part: slice, **resuming: Any
    ) -> Pipeline:
        low, high = list(pairs.low[part]), list(pairs.high[part])
        if self.augment is not None:
            read = partial(pipelines.from_files, low, high, reading)
            return pipelines.paired_augmented(read, self.augment, **options, **resuming)
        return pipelines.paired_from_files(low, high, reading, **options, **resuming)


def reader_feed(
    outputs: list[str], plan: EpochPlan, make_pipeline: Callable[..., Pipeline]
) -> tuple[ReaderFeed, int]:
    """Divide the files among the shards, and say which is the first that this shard's readers list.

    In training the readers do it, and each shard goes on to the next part in every epoch if they shuffle.
    For an evaluation each shard lists its own part only: DALI's readers would refuse more shards than
    files, and the number of batches would change with the part.

    Args:
        outputs: names of the pipeline's outputs.
        plan: how the files are gone through.
        make_pipeline: makes a pipeline of the reader's options, the slice of the files to list, and the
            options that let it resume.
    """
    first, end, shards = 0, plan.samples, plan.num_shards
    if plan.policy == "evaluate":
        (first, end), shards = plan.bounds, 1
    longest = -(-(end - first) // shards)

    def make(start: int, checkpoint: bytes | None) -> Pipeline:
        reading = pipelines.reading(
            shuffle=plan.shuffle,
            order_seed=_order_seed(plan, start),
            shard_id=(plan.shard + start * plan.shuffle) % shards,
            num_shards=shards,
            stick_to_shard=not plan.shuffle,
            buffer=min(BUFFER, longest),
        )
        return make_pipeline(reading, slice(first, end), enable_checkpointing=True, checkpoint=checkpoint)

    return ReaderFeed(outputs, -(-longest // plan.batch_size), make), first


def _order_seed(plan: EpochPlan, start: int) -> int:
    """Another order for each pipeline that a loader builds, and other augmentation for each shard."""
    return int(np.random.SeedSequence([plan.seed, start, plan.shard]).generate_state(1)[0])
