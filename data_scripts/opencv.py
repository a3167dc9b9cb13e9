"""OpenCV kept to the calling thread."""

from collections.abc import Iterator
from contextlib import contextmanager

import cv2


@contextmanager
def in_this_thread() -> Iterator[None]:
    """Run OpenCV's functions in the calling thread; afterwards they use as many threads as before.

    The workers are the parallelism: a pool of threads in each of them only contends for the same
    cores, and a pool that a forked process inherits hangs. Used wherever lessons 00 and 01 make pairs.
    """
    before = cv2.getNumThreads()
    cv2.setNumThreads(0)
    try:
        yield
    finally:
        cv2.setNumThreads(before)
