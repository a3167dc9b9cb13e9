"""Which samples a shard reads in which epoch, and in which order: arithmetic only, no files.

The one place where the order of an epoch is decided: a pure function of the seed and the epoch's
number. So any epoch can be started anywhere, a resumed run continues bit for bit, and the shards of a
job agree without talking to each other. Light on purpose (NumPy alone): worker processes of
``sources`` import it. Used from lesson 02 on; shown in lessons 03 and 07.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

import numpy as np

Policy = Literal["train", "evaluate"]
THROWS = 6  # random numbers a sample and epoch, see EpochPlan.throws


@dataclass(frozen=True)
class EpochPlan:
    """How one shard goes through a set of samples; first used in lesson 02.

    Attributes:
        samples: samples in the whole set, over all shards.
        batch_size: samples a batch.
        policy: ``train`` gives every shard the same number of full batches, none short, none empty, and
            leaves out what does not fill them (another remainder every epoch if shuffled).
            ``evaluate`` gives every sample exactly once over all shards; the last batch may be short,
            and a shard may have fewer batches than another, or none.
        shuffle: whether each epoch has its own order, over all shards; else samples come as listed.
        seed: of the order, from 0 on.
        shard: number of this shard, from 0 on.
        num_shards: shards the set is divided among, such as one a GPU.
    """

    samples: int
    batch_size: int
    policy: Policy = "train"
    shuffle: bool = True
    seed: int = 0
    shard: int = 0
    num_shards: int = 1

    def __post_init__(self) -> None:
        """Check the settings.

        Raises:
            ValueError: a number out of range, an unknown policy, or ``train`` with fewer samples than
                one batch for every shard.
        """
        for name, least in (("samples", 1), ("batch_size", 1), ("num_shards", 1), ("shard", 0), ("seed", 0)):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
                raise ValueError(f"{name}={value!r}: give a whole number from {least} on")
            object.__setattr__(self, name, int(value))
        if self.shard >= self.num_shards:
            raise ValueError(
                f"shard={self.shard} of num_shards={self.num_shards}: "
                f"choose 0 to {self.num_shards - 1}, shards are numbered from 0"
            )
        if self.policy not in get_args(Policy):
            raise ValueError(f"policy={self.policy!r}: choose 'train' or 'evaluate'")
        if not isinstance(self.shuffle, bool | np.bool_):
            raise ValueError(f"shuffle={self.shuffle!r}: choose True or False")
        if self.policy == "train" and not self.steps:
            raise ValueError(
                f"batch_size={self.batch_size} with num_shards={self.num_shards}: policy 'train' needs at "
                f"least {self.batch_size * self.num_shards} samples, there are {self.samples}; choose "
                f"batch_size={max(1, self.samples // self.num_shards)} or less, fewer shards, or 'evaluate'"
            )

    @property
    def bounds(self) -> tuple[int, int]:
        """First and one past the last place of this shard in the order of an epoch."""
        return self.samples * self.shard // self.num_shards, self.samples * (
            self.shard + 1
        ) // self.num_shards

    @property
    def count(self) -> int:
        """Samples that this shard delivers in an epoch."""
        if self.policy == "train":
            return self.steps * self.batch_size
        first, end = self.bounds
        return end - first

    @property
    def steps(self) -> int:
        """Batches that this shard delivers in an epoch; in training the same for all shards."""
        if self.policy == "train":
            return self.samples // self.num_shards // self.batch_size
        first, end = self.bounds
        return -(-(end - first) // self.batch_size)

    def valid(self, step: int) -> int:
        """Count the samples of one batch of an epoch, from 1 to ``batch_size``."""
        return min(self.batch_size, self.count - step * self.batch_size)

    def order(self, epoch: int) -> np.ndarray:
        """List the samples that this shard delivers in an epoch.

        Args:
            epoch: number of the epoch, from 0 on.

        Returns:
            int64 indices of shape (``count``,), in order of delivery. Do not write to it.
        """
        return _order(self, epoch)

    def throws(self, epoch: int) -> np.ndarray:
        """Throw the dice for random augmentation: for each sample of the set and each epoch once.

        Drawn here and not in the pipeline, so that a pair gets the same numbers whatever was
        delivered before it, in whichever process.

        Returns:
            float32 numbers in [0, 1) of shape (``samples``, 6). Do not write to it.
        """
        return _throws(self.seed, epoch, self.samples)


# A few epochs are kept: prefetching alternates between the end of one and the start of the next.
@lru_cache(maxsize=4)
def _order(plan: EpochPlan, epoch: int) -> np.ndarray:
    first, end = plan.bounds[0], plan.bounds[0] + plan.count
    if not plan.shuffle:
        return np.arange(first, end)
    generator = np.random.default_rng(np.random.SeedSequence([plan.seed, epoch, 0]))
    return generator.permutation(plan.samples)[first:end].copy()


@lru_cache(maxsize=4)
def _throws(seed: int, epoch: int, samples: int) -> np.ndarray:
    generator = np.random.default_rng(np.random.SeedSequence([seed, epoch, 1]))
    return generator.random((samples, THROWS), dtype=np.float32)
