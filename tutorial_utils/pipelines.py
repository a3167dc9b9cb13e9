"""The DALI graphs of the image lessons, each short enough to be shown whole with ``inspect``.

``placement`` decides where the steps run, ``delivery`` what arrives; nothing else differs between a CPU
and a GPU. The pipelines of pairs end in (low, high, index): two images and the number of the pair, which
the ledger counts. Lesson 02 builds the first ones, lesson 03 those with file readers; the loaders of
:mod:`tutorial_utils.loaders` run them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.data_node import DataNode

from tutorial_utils.epochs import THROWS
from tutorial_utils.placement import Placement
from tutorial_utils.sources import DecodedPairs, EncodedPairBatches

DTYPES = {torch.float32: types.FLOAT, torch.float16: types.FLOAT16}
INTERPOLATIONS = {
    "linear": types.INTERP_LINEAR,
    "cubic": types.INTERP_CUBIC,
    "nearest": types.INTERP_NN,
    "triangular": types.INTERP_TRIANGULAR,
    "lanczos": types.INTERP_LANCZOS3,
}


Read = Callable[[], tuple[DataNode, ...]]  # gives low, high, index, throw: `from_source` or `from_files`


@dataclass(frozen=True)
class Delivery:
    """What every image becomes before it is delivered; the settings of lessons 02 and 03.

    Attributes:
        size: (height, width) in pixels; aspect ratios are not kept.
        dtype: ``torch.float32`` or ``torch.float16``.
        layout: of an image, ``CHW`` or ``HWC``.
        value_range: what 0 and 255 become: (0.0, 1.0) or (-1.0, 1.0).
        antialias: whether shrinking averages over all pixels that a new one covers, as PIL and
            torchvision do; on a CPU this is DALI's slowest step.
        interpolation: a key of :data:`INTERPOLATIONS`.
    """

    size: tuple[int, int] = (192, 192)
    dtype: torch.dtype = torch.float32
    layout: str = "CHW"
    value_range: tuple[float, float] = (0.0, 1.0)
    antialias: bool = True
    interpolation: str = "linear"

    def __post_init__(self) -> None:
        """Check the settings.

        Raises:
            ValueError: one of them is none of the choices.
        """
        sides = self.size if isinstance(self.size, tuple | list) else ()
        if len(sides) != 2 or not all(
            isinstance(n, int) and not isinstance(n, bool) and n > 0 for n in sides
        ):
            raise ValueError(f"size={self.size!r}: give (height, width) in whole pixels, such as (192, 192)")
        choices = {
            "dtype": tuple(DTYPES),
            "layout": ("CHW", "HWC"),
            "value_range": ((0.0, 1.0), (-1.0, 1.0)),
            "antialias": (True, False),
            "interpolation": tuple(INTERPOLATIONS),
        }
        for name, allowed in choices.items():
            value = getattr(self, name)
            if (tuple(value) if isinstance(value, list) else value) not in allowed:
                raise ValueError(f"{name}={value!r}: choose one of {', '.join(map(repr, allowed))}")

    def resize(self, images: DataNode, turned: DataNode | None = None) -> DataNode:
        """Resize; samples where ``turned`` is 1 to (width, height), since they are turned afterwards."""
        height, width = self.size
        size = {"resize_y": height, "resize_x": width}
        if turned is not None and height != width:
            size = {
                "resize_y": height + turned * float(width - height),
                "resize_x": width + turned * float(height - width),
            }
        return fn.resize(
            images, **size, interp_type=INTERPOLATIONS[self.interpolation], antialias=self.antialias
        )

    def turn(self, images: DataNode, angle: DataNode) -> DataNode:
        """Turn counter-clockwise by a multiple of 90 degrees; each pixel is moved, none is blended."""
        return fn.rotate(images, angle=angle, size=self.size, interp_type=types.INTERP_NN, fill_value=0)

    def normalize(self, images: DataNode, mirror: DataNode | int = 0) -> DataNode:
        """Scale to the value range, mirror where ``mirror`` is 1, and bring into layout and dtype."""
        low, high = self.value_range
        scale = 255 / (high - low)
        return fn.crop_mirror_normalize(
            images, mirror=mirror, mean=[-low * scale], std=[scale],
            dtype=DTYPES[self.dtype], output_layout=self.layout,
        )  # fmt: skip


@dataclass(frozen=True)
class Augmentation:
    """Random changes that both images of a pair undergo alike; lesson 02 proves it with pictures.

    Attributes:
        smallest: least side of the random crop, as a share of the image's sides, above 0 up to 1.
        flips: whether images are flipped, horizontally and vertically, each with probability 1/2.
        turns: whether images are turned by a quarter, with probability 1/2; with flips all eight
            positions are equally likely.
    """

    smallest: float = 0.5
    flips: bool = True
    turns: bool = True

    def __post_init__(self) -> None:
        """Check the share.

        Raises:
            ValueError: ``smallest`` is not above 0 and at most 1.
        """
        if not isinstance(self.smallest, int | float) or not 0 < self.smallest <= 1:
            raise ValueError(f"smallest={self.smallest!r}: give a share of the side, above 0 up to 1")


@pipeline_def
def paired_from_source(
    source: EncodedPairBatches, *, parallel: bool = False, placement: Placement, delivery: Delivery
):
    """Pairs whose encoded bytes a Python callable reads; lesson 02."""
    low, high, index = from_source(source, parallel)
    images = [fn.decoders.image(encoded, device=placement.decoder_device) for encoded in (low, high)]
    images = [delivery.resize(to(placement.operator_device, image)) for image in images]
    low, high = (to(placement.torch_device.type, delivery.normalize(image)) for image in images)
    return low, high, index


@pipeline_def
def paired_decoded(source: DecodedPairs, *, parallel: bool = True, placement: Placement, delivery: Delivery):
    """Pairs that worker processes decode and resize, the best form on a CPU; lesson 02."""
    low, high, index = from_source(source, parallel, layout=["HWC", "HWC", ""])
    images = [delivery.normalize(to(placement.operator_device, image)) for image in (low, high)]
    low, high = (to(placement.torch_device.type, image) for image in images)
    return low, high, index


@pipeline_def
def paired_from_files(
    low: Sequence[str],
    high: Sequence[str],
    reading: dict[str, Any],
    *,
    placement: Placement,
    delivery: Delivery,
):
    """Pairs from two file readers that cannot come apart, as one ``reading`` is for both; lesson 03."""
    low, index = fn.readers.file(files=low, name="low", **reading)
    high, _ = fn.readers.file(files=high, name="high", **reading)
    images = [fn.decoders.image(encoded, device=placement.decoder_device) for encoded in (low, high)]
    images = [delivery.resize(to(placement.operator_device, image)) for image in images]
    low, high = (to(placement.torch_device.type, delivery.normalize(image)) for image in images)
    return low, high, fn.cast(index, dtype=types.INT64)


@pipeline_def
def paired_augmented(read: Read, augmentation: Augmentation, *, placement: Placement, delivery: Delivery):
    """Pairs with the same random crop, flips and turn on both; only the crop is decoded; lesson 02."""
    low, high, index, throw = read()
    side = augmentation.smallest + (1 - augmentation.smallest) * throw[0]
    crop = fn.stack(throw[1], throw[2]) * (1 - side), fn.stack(side, side)
    mirror, half, quarter = (fn.cast(throw[i] < 0.5, dtype=types.INT32) for i in (3, 4, 5))
    mirror, quarter = mirror * int(augmentation.flips), quarter * int(augmentation.turns)
    half = half * int(augmentation.flips or augmentation.turns)
    images = [
        fn.decoders.image_slice(encoded, *crop, axis_names="HW", device=placement.decoder_device)
        for encoded in (low, high)
    ]
    images = [delivery.resize(to(placement.operator_device, image), turned=quarter) for image in images]
    images = [delivery.turn(image, 90.0 * quarter + 180.0 * half) for image in images]
    low, high = (to(placement.torch_device.type, delivery.normalize(image, mirror)) for image in images)
    return low, high, index


@pipeline_def
def labelled(
    files: Sequence[str],
    labels: Sequence[int],
    reading: dict[str, Any],
    *,
    placement: Placement,
    delivery: Delivery,
):
    """Images in RGB, whatever colours the file has, and the number of their class; lesson 03."""
    encoded, label = fn.readers.file(files=files, labels=labels, name="files", **reading)
    image = fn.decoders.image(encoded, device=placement.decoder_device, output_type=types.RGB)
    image = delivery.normalize(delivery.resize(to(placement.operator_device, image)))
    label = fn.squeeze(fn.cast(label, dtype=types.INT64), axes=0)
    return to(placement.torch_device.type, image), to(placement.torch_device.type, label)


def reading(
    *,
    shuffle: bool = True,
    order_seed: int = 0,
    shard_id: int = 0,
    num_shards: int = 1,
    stick_to_shard: bool = False,
    buffer: int = 1024,
) -> dict[str, Any]:
    """Options of ``fn.readers.file`` that two readers must share lest pairs come apart; lesson 03.

    Each of them was seen to break pairs when the readers differed in it. Files are read, not mapped
    into memory: DALI's default maps them, and a file that is cut short while an epoch runs then ends
    the whole process with a bus error.

    Args:
        shuffle: whether the reader shuffles.
        order_seed: of the shuffling. A pipeline's own ``seed`` gives each reader another one.
        shard_id: the part of the files to read in the first epoch; in each later one the next part.
        num_shards: parts the files are divided into.
        stick_to_shard: whether to read the same part in every epoch.
        buffer: encoded files in memory among which the reader shuffles; all of a part if it has fewer.
            More than a part has would be filled with later epochs.

    Returns:
        Keyword arguments. Every epoch has full batches, the last padded by repeating its last sample.
    """
    return {
        "random_shuffle": shuffle,
        "seed": order_seed,
        "shard_id": shard_id,
        "num_shards": num_shards,
        "stick_to_shard": stick_to_shard,
        "initial_fill": buffer,
        "pad_last_batch": True,
        "dont_use_mmap": True,
    }


def from_source(
    source: EncodedPairBatches, parallel: bool, outputs: int = 3, layout: Sequence[str] | None = None
) -> tuple[DataNode, ...]:
    """Read what a source returns, in worker processes if ``parallel``."""
    low, high, index, *throw = fn.external_source(
        source, num_outputs=outputs, batch=source.batch, batch_info=source.batch, layout=layout,
        parallel=parallel, prefetch_queue_depth=2 if parallel else None,
    )  # fmt: skip
    # A copy, since what goes out of the pipeline untouched would be overwritten by the worker's next batch.
    return low, high, fn.copy(index), *throw


def from_files(
    low: Sequence[str], high: Sequence[str], reading: dict[str, Any]
) -> tuple[DataNode, DataNode, DataNode, DataNode]:
    """Read pairs with two file readers, and throw the dice for :func:`paired_augmented`."""
    low, index = fn.readers.file(files=low, name="low", **reading)
    high, _ = fn.readers.file(files=high, name="high", **reading)
    throw = fn.random.uniform(range=(0.0, 1.0), shape=THROWS, seed=reading["seed"])
    return low, high, fn.cast(index, dtype=types.INT64), throw


def to(device: str, data: DataNode) -> DataNode:
    """Copy to the GPU if that is the device: ``gpu`` as DALI calls it, ``cuda`` as PyTorch does."""
    return data.gpu() if device in ("gpu", "cuda") else data
