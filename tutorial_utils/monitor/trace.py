"""What the monitor saw: times, series, phases, and the means that lesson 01 asks for."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tutorial_utils.monitor.channels import Channel, spell


class Phase(NamedTuple):
    """A named stretch of the recording; start and end in seconds since the monitor's start."""

    name: str
    start: float
    end: float


@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """A finished recording, or the recording so far.

    Attributes:
        title: what was watched.
        source: where the figures come from: ``NVML: NVIDIA H200``, or
            ``psutil: CPU, 2 cores, no GPU here``.
        times: float64 (samples,), seconds since the monitor's start.
        series: label to float64 (samples,), in the channel's unit; NaN where there was no answer.
        channels: label, unit, quantity, GPU number and full scale of each series, in the same order.
        phases: what ``watch.phase`` marked, in the order of their starts.
        duration: seconds watched.
        notes: what people should know about the recording, such as a driver that stopped answering.
    """

    title: str
    source: str
    times: np.ndarray
    series: Mapping[str, np.ndarray]
    channels: tuple[Channel, ...]
    phases: tuple[Phase, ...]
    duration: float
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return self.summary()  # thousands of samples are nothing to look at

    @property
    def units(self) -> dict[str, str]:
        """Unit of each series by label: ``%``, ``GiB`` or ``W``."""
        return {channel.label: channel.unit for channel in self.channels}

    @property
    def headline(self) -> str:
        """Label of the series that says whether the device was busy: ``GPU 0 SM``, or ``CPU``.

        Raises:
            LookupError: nothing was recorded; the message says why.
        """
        if not self.channels:
            raise LookupError(f"nothing was recorded: {'; '.join(self.notes) or 'no reason is known'}")
        return next((c.label for c in self.channels if c.unit == "%"), self.channels[0].label)

    def mean(self, label: str, phase: str | None = None) -> float:
        """Average one series; lesson 01 asks for the mean of the SM while AlexNet trains.

        Args:
            label: a key of ``series``.
            phase: only the samples within the phases of this name; None for all.

        Returns:
            Mean in the series' unit; NaN if no sample falls into the phase.

        Raises:
            KeyError: no such series or phase; the message lists those there are.
        """
        values = self._within(label, phase)
        return float(values.mean()) if len(values) else float("nan")

    def share_above(self, label: str, level: float, phase: str | None = None) -> float:
        """Say how much of the time a series was above a level.

        Args:
            label: a key of ``series``.
            level: in the series' unit.
            phase: only the samples within the phases of this name; None for all.

        Returns:
            Share of the answered samples, 0 to 1; NaN if there are none.

        Raises:
            KeyError: no such series or phase; the message lists those there are.
        """
        values = self._within(label, phase)
        return float((values > level).mean()) if len(values) else float("nan")

    def summary(self) -> str:
        """Say in one line what was watched, from where, and the mean of the headline figure(s)."""
        if not self.channels or not len(self.times):
            return f"Monitor, {self.title}: nothing recorded ({'; '.join(self.notes) or 'no samples'})"
        wanted = next(c.quantity for c in self.channels if c.label == self.headline)
        means = [
            f"{channel.label} {spell(self.mean(channel.label), channel.unit)}"
            for channel in self.channels
            if channel.quantity == wanted
        ]
        words = [f"Monitor, {self.title}: mean of {self.duration:.1f} s: {', '.join(means)} ({self.source})"]
        return "; ".join([*words, *self.notes])

    def to_json(self) -> str:
        """Write the whole trace as JSON; NaN becomes null."""
        return json.dumps(
            {
                "title": self.title,
                "source": self.source,
                "duration": self.duration,
                "times": self.times.tolist(),
                "channels": [channel._asdict() for channel in self.channels],
                "series": {
                    label: [None if np.isnan(value) else value for value in self.series[label].tolist()]
                    for label in self.units
                },
                "phases": [phase._asdict() for phase in self.phases],
                "notes": list(self.notes),
            },
            allow_nan=False,
        )

    @classmethod
    def from_json(cls, text: str) -> "Trace":
        """Read back what :meth:`to_json` wrote.

        Raises:
            ValueError: the text is no JSON, or not that of a trace.
        """
        read = json.loads(text)
        try:
            channels = tuple(Channel(**channel) for channel in read["channels"])
            return cls(
                title=read["title"],
                source=read["source"],
                times=np.array(read["times"], dtype=float),
                series={c.label: np.array(read["series"][c.label], dtype=float) for c in channels},
                channels=channels,
                phases=tuple(Phase(**phase) for phase in read["phases"]),
                duration=read["duration"],
                notes=tuple(read["notes"]),
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"this JSON is not a trace of the monitor: {error!r}") from error

    def _within(self, label: str, phase: str | None) -> np.ndarray:
        if label not in self.series:
            raise KeyError(f"no series {label!r}; there are {', '.join(self.series) or 'none'}")
        values = self.series[label]
        if phase is not None:
            stretches = [each for each in self.phases if each.name == phase]
            if not stretches:
                names = ", ".join(dict.fromkeys(each.name for each in self.phases))
                raise KeyError(f"no phase {phase!r}; there are {names or 'none'}")
            inside = np.zeros(len(values), dtype=bool)
            for stretch in stretches:
                inside |= (self.times >= stretch.start) & (self.times <= stretch.end)
            values = values[inside]
        return values[~np.isnan(values)]
