"""Watch the GPU (without one, the CPU) while a cell trains: recorded apart, drawn live, kept as a picture.

    from tutorial_utils.monitor import Monitor

    with Monitor("AlexNet on the article's loader") as watch:
        with watch.phase("epoch 1"):
            train_one_epoch()
    watch.trace.mean("GPU 0 SM", phase="epoch 1")

Who does what, and why it disturbs the training so little:

- ``recorder``, a process of its own, asks the driver ten times a second. It keeps its beat while
  the kernel's interpreter is busy in C code, and ends with its parent. ``nvml_probe`` and
  ``cpu_probe`` know what to ask.
- ``recording`` is the kernel's end of the recorder's pipe; nothing is lost while nobody reads it.
- ``live_plot`` makes a small SVG by hand twice a second, in a thread that ``watching`` starts;
  ``notebook`` puts it under the right cell. ``static_plot`` draws the picture that stays, ``layout``
  is what both share.
- ``trace`` is what was seen: times, series, phases, means.

The recorder imports this package too, so the public names are loaded when they are first asked for:
it starts without numpy and matplotlib. Used around the training cells from lesson 01 on.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tutorial_utils.monitor.trace import Phase, Trace
    from tutorial_utils.monitor.watching import Monitor

__all__ = ["Monitor", "Phase", "Trace"]

_HOMES = {"Monitor": "watching", "Phase": "trace", "Trace": "trace"}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
