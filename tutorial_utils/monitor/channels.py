"""The lines of a recording, and what the recorder asks of a probe that fills them."""

from typing import NamedTuple, Protocol


class Channel(NamedTuple):
    """One line of the recording.

    Attributes:
        label: its name for people and the key of ``Trace.series``, such as ``GPU 0 SM``.
        unit: ``%``, ``GiB`` or ``W``.
        quantity: ``SM``, ``decoder``, ``JPEG engine``, ``memory``, ``power``, ``CPU``,
            ``CPU of this program`` or ``RAM``.
        device: the GPU's number as PyTorch counts (``cuda:N``); None for the CPU's channels.
        full_scale: the value that means "all of it" (100 %, the memory's size, the power limit), if known.
    """

    label: str
    unit: str
    quantity: str
    device: int | None
    full_scale: float | None


class Probe(Protocol):
    """What the recorder needs of a probe."""

    channels: tuple[Channel, ...]

    def read(self) -> list[float | None]:
        """Read one value a channel, None where there is none."""

    def new_notes(self) -> list[str]:
        """Hand over the notes that came up since the last call."""


def spell(value: float, unit: str) -> str:
    """Write a figure for people: ``87%``, ``12.3 GiB``, ``512 W``, ``no answer`` for NaN."""
    if value != value:
        return "no answer"
    if unit == "%":
        return f"{value:.0f}%"
    return f"{value:.1f} {unit}" if value < 100 and unit == "GiB" else f"{value:.0f} {unit}"
