"""Arguments of the loaders that are checked before anything is built, and those found in the environment.

Beneath ``loaders``.
"""

import os
import shutil
from typing import Any

SHARED_MEMORY = "/dev/shm"
_MIB = 2**20


def sharding(shard: int | None, num_shards: int | None) -> tuple[int, int]:
    """Complete the shard by what ``torchrun`` sets: ``RANK`` and ``WORLD_SIZE``, else 0 of 1; lesson 07.

    Raises:
        ValueError: only one of the two is given, or the environment holds no numbers.
    """
    if (shard is None) != (num_shards is None):
        raise ValueError(
            f"shard={shard!r}, num_shards={num_shards!r}: give both, or none to take them from RANK and "
            "WORLD_SIZE, which torchrun sets"
        )
    if shard is not None:
        return shard, num_shards
    found = {name: os.environ.get(name) for name in ("RANK", "WORLD_SIZE")}
    if found["RANK"] is None or found["WORLD_SIZE"] is None:
        return 0, 1
    if not all(value.isdecimal() for value in found.values()):
        raise ValueError(
            f"RANK={found['RANK']!r}, WORLD_SIZE={found['WORLD_SIZE']!r} in the environment: whole numbers "
            "are needed. torchrun sets them; else unset both or give shard and num_shards"
        )
    return int(found["RANK"]), int(found["WORLD_SIZE"])


def choice(name: str, value: Any, allowed: tuple[Any, ...]) -> Any:
    """Return the value if it is among the allowed ones.

    Raises:
        ValueError: it is not; the message names the argument and what is allowed.
    """
    if value not in allowed:
        raise ValueError(f"{name}={value!r}: choose one of {', '.join(map(repr, allowed))}")
    return value


def whole(name: str, value: Any, least: int) -> int:
    """Return the value if it is a whole number from ``least`` on.

    Raises:
        ValueError: it is not.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name}={value!r}: give a whole number from {least} on")
    return value


def check_shared_memory(batch_bytes: int, prefetch: int) -> None:
    """Make sure that worker processes have room for their batches; without it they die of a bus error.

    Args:
        batch_bytes: what the workers return for one batch.
        prefetch: batches the pipeline holds; the workers hold two more.

    Raises:
        ValueError: there is too little.
    """
    needed = batch_bytes * (prefetch + 2)
    free = shutil.disk_usage(SHARED_MEMORY).free
    if needed > free:
        raise ValueError(
            f"batch_size: the batches of the worker processes need about {needed / _MIB:,.0f} MiB in "
            f"{SHARED_MEMORY}, {free / _MIB:,.0f} MiB are free. Choose a smaller batch_size or prefetch, "
            "workers=0, or give a container more (docker run --shm-size=1g)"
        )
