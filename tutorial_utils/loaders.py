"""DALI iterators with the manners of a ``DataLoader``: ``for low, high in loader``, as often as wanted.

Every ``for`` is one epoch, also after a ``break``: the next one begins the next epoch at its start.
``len`` is right at any time. Tensors belong to the caller and are never written again. Built up in
lessons 02 and 03 and used in all later ones.
"""

import dataclasses
import os
from collections.abc import Callable
from functools import partial
from typing import Any

import nvidia.dali
import torch
from nvidia.dali import Pipeline

from tutorial_utils import loader_arguments as arguments
from tutorial_utils import pipelines
from tutorial_utils.data import Labelled, Pairs, open_labelled, open_pairs
from tutorial_utils.epoch_loader import Loader, StateMismatchError
from tutorial_utils.epochs import EpochPlan, Policy
from tutorial_utils.feeds import Batch
from tutorial_utils.loader_faults import BrokenFileError
from tutorial_utils.loader_readings import OUTPUTS, PairReading, reader_feed
from tutorial_utils.pipelines import Augmentation, Delivery
from tutorial_utils.placement import Placement, choose, cores

__all__ = [
    "Augmentation",
    "BrokenFileError",
    "Loader",
    "StateMismatchError",
    "labelled_loader",
    "paired_loader",
]


def paired_loader(
    pairs: Pairs | str | os.PathLike | None = None,
    *,
    batch_size: int,
    size: tuple[int, int] = (192, 192),
    placement: Placement | None = None,
    source: str = "files",
    policy: Policy = "train",
    shuffle: bool | None = None,
    seed: int = 0,
    shard: int | None = None,
    num_shards: int | None = None,
    augment: Augmentation | None = None,
    dtype: torch.dtype = torch.float32,
    layout: str = "CHW",
    value_range: tuple[float, float] = (0.0, 1.0),
    antialias: bool = True,
    interpolation: str = "linear",
    threads: int | None = None,
    prefetch: int = 2,
    workers: int | None = None,
    decoder: str | None = None,
    with_ids: bool = False,
) -> Loader:
    """Make a loader of pairs, ``for low, high in loader``; used from lesson 02 on.

    Args:
        pairs: what :func:`tutorial_utils.data.open_pairs` returned, or the folder (None: the default set)
            for it to open.
        batch_size: pairs a batch, on this shard.
        size: (height, width) of the delivered images in pixels; aspect ratios are not kept.
        placement: where the steps run and batches arrive; None asks :func:`tutorial_utils.placement.choose`.
        source: who reads. ``files``: two file readers of DALI (lesson 03). ``batches``: Python, in this
            process. ``samples``: Python, in worker processes. ``decoded``: worker processes that decode
            and resize, too, which is the fastest form on a CPU (all lesson 02).
        policy: ``train``: full batches only, equally many on every shard. ``evaluate``: every pair exactly
            once over all shards; the last batch may be short, none is ever empty.
        shuffle: whether each epoch has its own order; None means: for ``train``.
        seed: of the order and the augmentation.
        shard: number of this shard; None takes ``RANK``, which ``torchrun`` sets, else 0.
        num_shards: number of shards; None takes ``WORLD_SIZE``, else 1.
        augment: random crop, flips and turns, the same for both images of a pair; not with ``decoded``.
        dtype: ``torch.float32`` or ``torch.float16``.
        layout: of an image: ``CHW`` or ``HWC``.
        value_range: (0.0, 1.0) or (-1.0, 1.0).
        antialias: whether shrinking averages over all pixels a new one covers, as PIL does.
        interpolation: ``linear``, ``cubic``, ``nearest``, ``triangular`` or ``lanczos``.
        threads: of the pipeline; None takes every core this process may use.
        prefetch: batches that the pipeline holds ready.
        workers: processes of ``samples`` and ``decoded``; 0 reads in this process. None takes every core
            for ``decoded``, one for ``samples``.
        decoder: of the source ``decoded``: ``torchvision`` (the default) or ``opencv``.
        with_ids: whether the index of each pair in ``pairs`` comes, too: ``for low, high, ids in loader``.

    Returns:
        The loader. ``low`` and ``high`` have the shape (B, 3, height, width), or (B, height, width, 3) for
        ``HWC``, on the placement's device; ``ids`` are int64 of shape (B,) on the CPU.

    Raises:
        ValueError: an argument out of range or none of the choices; fewer pairs than one batch a shard in
            training; too little shared memory for the workers' batches.
        TypeError: ``pairs`` is something else.
        FileNotFoundError: the folder is not there.
    """
    pairs = _opened(pairs, "pairs", Pairs, open_pairs)
    placement = _placed(placement)
    plan = _plan(len(pairs), batch_size, policy, shuffle, seed, shard, num_shards)
    delivery = Delivery(size, dtype, layout, value_range, antialias, interpolation)
    options = _pipeline_options(plan, placement, threads, prefetch)
    options |= {"placement": placement, "delivery": delivery}
    feed, first = PairReading(source, workers, decoder, augment).feed(pairs, plan, delivery, options)
    names = OUTPUTS if with_ids else OUTPUTS[:2]

    def deliver(batch: Batch) -> tuple[torch.Tensor, ...]:
        batch["id"] = batch["id"].view(-1) + first
        return tuple(batch[name] for name in names)

    settings = _settings(plan, pairs, source) | {"augment": None if augment is None else str(augment)}
    sizes = list(zip(*pairs.sizes, strict=True))
    files = partial(zip, (*pairs.low, *pairs.high), (*sizes[0], *sizes[1]))
    return Loader(plan, feed, deliver, settings, files)


def labelled_loader(
    labelled: Labelled | str | os.PathLike | None = None,
    *,
    batch_size: int,
    size: tuple[int, int] = (640, 640),
    placement: Placement | None = None,
    policy: Policy = "train",
    shuffle: bool | None = None,
    seed: int = 0,
    shard: int | None = None,
    num_shards: int | None = None,
    dtype: torch.dtype = torch.float32,
    layout: str = "CHW",
    value_range: tuple[float, float] = (0.0, 1.0),
    antialias: bool = True,
    interpolation: str = "linear",
    threads: int | None = None,
    prefetch: int = 2,
) -> Loader:
    """Make a loader of images and their classes, ``for images, labels in loader``; lesson 03.

    Args:
        labelled: what :func:`tutorial_utils.data.open_labelled` returned, or the folder (None: the
            default set) for it to open.
        batch_size: images a batch, on this shard.
        size: (height, width) of the delivered images in pixels; aspect ratios are not kept.
        placement: see :func:`paired_loader`, as for all that follow.
        policy: ``train`` or ``evaluate``.
        shuffle: whether each epoch has its own order; None means: for ``train``.
        seed: of the order.
        shard: number of this shard.
        num_shards: number of shards.
        dtype: of the images.
        layout: of an image.
        value_range: of the images.
        antialias: of the resizing.
        interpolation: of the resizing.
        threads: of the pipeline.
        prefetch: batches that the pipeline holds ready.

    Returns:
        The loader. ``images`` have the shape (B, 3, height, width), or (B, height, width, 3) for ``HWC``;
        ``labels`` are int64 of shape (B,), indices into ``labelled.classes``; both on the placement's device.

    Raises:
        ValueError: an argument out of range or none of the choices; fewer images than one batch a shard in
            training.
        TypeError: ``labelled`` is something else.
        FileNotFoundError: the folder is not there.
    """
    labelled = _opened(labelled, "labelled", Labelled, open_labelled)
    placement = _placed(placement)
    plan = _plan(len(labelled), batch_size, policy, shuffle, seed, shard, num_shards)
    delivery = Delivery(size, dtype, layout, value_range, antialias, interpolation)
    options = _pipeline_options(plan, placement, threads, prefetch)
    options |= {"placement": placement, "delivery": delivery}

    def make_pipeline(reading: dict[str, Any], part: slice, **resuming: Any) -> Pipeline:
        files, labels = list(labelled.files[part]), list(labelled.labels[part])
        return pipelines.labelled(files, labels, reading, **options, **resuming)

    feed, _ = reader_feed(["image", "label"], plan, make_pipeline)
    return Loader(
        plan,
        feed,
        lambda batch: (batch["image"], batch["label"]),
        _settings(plan, labelled, "files"),
        partial(zip, labelled.files, labelled.sizes),
    )


def _opened(files: Any, name: str, kind: type, opener: Callable[[Any], Any]) -> Any:
    if files is None or isinstance(files, str | os.PathLike):
        return opener(files)
    if not isinstance(files, kind):
        raise TypeError(
            f"{name}: give a folder or what {opener.__name__}() returns, not {type(files).__name__}"
        )
    return files


def _placed(placement: Placement | None) -> Placement:
    if placement is not None and not isinstance(placement, Placement):
        raise TypeError(
            f"placement={placement!r}: give what tutorial_utils.placement.choose() returns, or None"
        )
    return placement or choose()


def _plan(
    samples: int,
    batch_size: int,
    policy: Policy,
    shuffle: bool | None,
    seed: int,
    shard: int | None,
    num_shards: int | None,
) -> EpochPlan:
    shard, num_shards = arguments.sharding(shard, num_shards)
    shuffle = policy == "train" if shuffle is None else shuffle
    return EpochPlan(samples, batch_size, policy, shuffle, seed, shard, num_shards)


def _pipeline_options(
    plan: EpochPlan, placement: Placement, threads: int | None, prefetch: int
) -> dict[str, Any]:
    return {
        "batch_size": plan.batch_size,
        "num_threads": cores() if threads is None else arguments.whole("threads", threads, 1),
        "prefetch_queue_depth": arguments.whole("prefetch", prefetch, 1),
        "device_id": placement.dali_device_id,
    }


def _settings(plan: EpochPlan, files: Pairs | Labelled, source: str) -> dict[str, Any]:
    settings = dataclasses.asdict(plan) | {"fingerprint": files.fingerprint, "source": source}
    if source == "files":  # a checkpoint of DALI's is for the version that wrote it
        return settings | {"dali_version": nvidia.dali.__version__}
    del settings["shard"]  # without a reader's buffer the state is the same on all shards
    return settings
