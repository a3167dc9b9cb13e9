"""Competitors measured in turn, round after round, so that other work on the machine hits all alike.

In each round every competitor is measured once by the protocol of ``tutorial_utils.timing`` (an epoch of
warm-up, then three), in another random order. Ratios are taken within a round, and their median and spread
over the rounds. The turns are not shorter than that on purpose: a DALI pipeline goes on with the next
epoch's first batches when an epoch ends. In turns of single epochs this head start would be a gift to it and
a burden on whoever comes next; here both fall into a warm-up.
"""

import random
import statistics
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import comb
from typing import Any

from tutorial_utils.comparing import require_comparable
from tutorial_utils.placement import Placement
from tutorial_utils.timing import Throughput, measure

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Competitor:
    """A loader in the race.

    Attributes:
        label: its name in the tables and for ``--only``.
        loader: an epoch at each iteration.
        settings: what makes it what it is, to be printed.
    """

    label: str
    loader: Iterable[Any]
    settings: dict[str, Any] = field(default_factory=dict)

    def close(self) -> None:
        """End worker processes and free memory, where the loader can."""
        close = getattr(self.loader, "close", None)
        if close:
            close()


@dataclass(frozen=True)
class Absent:
    """A competitor that did not run, and why."""

    label: str
    reason: str


@dataclass(frozen=True)
class Ratio:
    """How many times as fast one competitor is as another, round by round.

    Attributes:
        label: the one above the fraction line.
        over: the one below it.
        rounds: ratio of the median rates of each round.
    """

    label: str
    over: str
    rounds: tuple[float, ...]

    @property
    def value(self) -> float:
        """Median over the rounds."""
        return statistics.median(self.rounds)

    @property
    def spread(self) -> tuple[float, float]:
        """Lowest and highest round."""
        return min(self.rounds), max(self.rounds)

    @property
    def interval(self) -> tuple[float, float] | None:
        """95% confidence interval of the median; None with fewer than 6 rounds, which allow none."""
        return median_interval(self.rounds)

    def verdict(self, aim: float) -> str:
        """Say whether the ratio is at least ``aim``, as far as the rounds can tell."""
        low, high = self.interval or self.spread
        if low >= aim:
            return "holds"
        return "falls short" if high < aim else "not decided by these rounds"

    def __str__(self) -> str:
        low, high = self.spread
        return f"{self.value:.2f}x ({low:.2f}-{high:.2f})"


def race(
    competitors: Sequence[Competitor],
    rounds: int,
    *,
    placement: Placement,
    unit: str,
    data: Any,
    seed: int = 0,
) -> dict[str, list[Throughput]]:
    """Measure all competitors in every round.

    The first round goes in the order given, each later one in a random order: ``DataLoader`` workers are
    forked at their first epoch, and should be before the threads of DALI's pipelines exist.

    Args:
        competitors: at least one, each with a label of its own.
        rounds: how often each is measured.
        placement: whose device is synchronised.
        unit: what is counted, in the plural.
        data: the set that all of them read.
        seed: of the order.

    Returns:
        For each label its result in each round.
    """
    results = {competitor.label: [] for competitor in competitors}
    generator, order = random.Random(seed), list(competitors)
    for number in range(1, rounds + 1):
        print(f"round {number} of {rounds}: {', '.join(one.label for one in order)}", file=sys.stderr)
        for one in order:
            result = measure(
                one.loader, label=one.label, placement=placement, unit=unit, settings=one.settings, data=data
            )
            results[one.label].append(result)
        generator.shuffle(order)
    return results


def pooled(rounds: Sequence[Throughput]) -> Throughput:
    """Make one result of a competitor's rounds: all their repetitions, and the very first epoch.

    It counts as measured if every round was, so that it can be recorded.

    Raises:
        NotComparable: the rounds differ in data, machine, cores or end point.
    """
    require_comparable(rounds)
    seconds = tuple(second for one in rounds for second in one.seconds)
    whole = replace(rounds[0], seconds=seconds)
    object.__setattr__(whole, "measured", all(one.measured for one in rounds))
    return whole


def ratio(results: dict[str, list[Throughput]], label: str, over: str) -> Ratio:
    """Compare two competitors of one race.

    Raises:
        NotComparable: their batches did not end alike.
    """
    require_comparable([results[over][0], results[label][0]])
    rounds = zip(results[label], results[over], strict=True)
    return Ratio(label, over, tuple(one.rate / other.rate for one, other in rounds))


def median_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Give a confidence interval of at least 95% for the median, without assuming any distribution.

    Each value is as likely above the true median as below it, so how many are below follows a binomial
    distribution, which tells how many of the sorted values can be left out at either end.

    Returns:
        Two of the values; None if there are too few (under 6) for that confidence.
    """
    count, outside, left_out = len(values), 0.0, 0
    while left_out < count:
        outside += 2 * comb(count, left_out) / 2**count
        if outside > 1 - CONFIDENCE:
            break
        left_out += 1
    if not left_out:
        return None
    ordered = sorted(values)
    return ordered[left_out - 1], ordered[count - left_out]
