"""The NVIDIA management library, opened for a block of code and closed after it.

The module ``pynvml`` (distribution nvidia-ml-py) is imported only inside, so that
whoever asks also works where it is missing. Used by timing cards and the doctor (lesson 00).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType


@contextmanager
def opened() -> Iterator[ModuleType]:
    """Open the library.

    Yields:
        The module ``pynvml``.

    Raises:
        ImportError: the module is not installed.
        pynvml.NVMLError: there is no driver, or it does not answer.
    """
    import pynvml

    pynvml.nvmlInit()
    try:
        yield pynvml
    finally:
        pynvml.nvmlShutdown()
