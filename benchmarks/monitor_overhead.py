"""What does the monitor cost the program it watches? Claim: at most 1% of its throughput.

    python -m benchmarks.monitor_overhead
    python -m benchmarks.monitor_overhead --workloads loader --pairs 60 --json overhead.json

Each workload does a fixed amount of work in a real Jupyter kernel, so that the live picture is really
drawn and sent; the frames that arrive are counted. Runs come in pairs: one watched and one not, in
random order; among them, at random, control pairs in which neither is watched. What the control shows
is this machine's noise, and the method's: its interval should hold 0.

Beside it stands what the monitor's own process and its drawing thread used of one core, read from the
kernel's accounts: much less noisy, but blind to waits.

The change is the mean of the logarithms of the pairs' ratios, with a 95% bootstrap interval over the
pairs. Run it while the machine does nothing else.
"""

import argparse
import ast
import json
import platform
import random
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.monitor_workloads import WORKLOADS

CLAIM = 0.01
_RESAMPLES = 10_000


@dataclass(frozen=True)
class Pair:
    """Throughputs of two runs of one workload, in units of work a second.

    Attributes:
        monitor_cpu: CPU seconds of the recorder and the drawing thread for each second watched.
        first_is_tested: whether the tested run (watched, or in a control chosen at random) came first.
    """

    workload: str
    watched: bool
    tested: float
    plain: float
    frames: int
    monitor_cpu: float
    first_is_tested: bool


@dataclass(frozen=True)
class Estimate:
    """Change of the throughput by the tested condition, as a fraction, with its 95% interval."""

    workload: str
    comparison: str
    pairs: int
    change: float
    low: float
    high: float
    frames_a_run: float
    monitor_cpu: float

    @property
    def verdict(self) -> str:
        """What the interval allows to say about the claim."""
        if self.comparison == "off/off":
            return "holds 0" if self.low <= 0 <= self.high else "noise is not fair: run it again"
        if self.low >= -CLAIM:
            return "at most 1%"
        return "more than 1%" if self.high < -CLAIM else "undecided: more pairs or a quieter machine"


class Kernel:
    """A Jupyter kernel whose client can answer ``input()``, so that the monitor draws live in it."""

    def __init__(self):
        from jupyter_client.manager import KernelManager

        self.manager = KernelManager(kernel_name="python3")
        self.manager.start_kernel(cwd=str(Path(__file__).parents[1]))
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=120)
        self.frames = 0

    def close(self) -> None:
        """End the kernel."""
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)

    def run(self, workload: str, units: int, watched: bool) -> tuple[float, float]:
        """Run the work once in a cell of its own; what ``run_once`` says of it."""
        reply = self.client.execute_interactive(
            "from benchmarks.monitor_workloads import run_once\n"
            f"took = run_once({workload!r}, {units}, {watched})",
            user_expressions={"took": "took"},
            output_hook=self._count_frames,
            timeout=600,
        )["content"]
        if reply["status"] != "ok":
            raise RuntimeError(f"{workload}: the kernel answered {reply['ename']}: {reply['evalue']}")
        return ast.literal_eval(reply["user_expressions"]["took"]["data"]["text/plain"])

    def _count_frames(self, message: dict[str, Any]) -> None:
        self.frames += "text/html" in message["content"].get("data", {})


def measure(kernel: Kernel, workload: str, pairs: int, seconds: float, dice: random.Random) -> list[Pair]:
    """Measure ``pairs`` pairs with the monitor and as many controls, all in random order."""
    kernel.run(workload, 2, watched=True)  # everything is loaded and has run once
    units = 4
    while (took := kernel.run(workload, units, watched=False)[0]) < seconds / 4:
        units *= 2
    units = max(1, round(units * seconds / took))
    plan = [True, False] * pairs
    dice.shuffle(plan)
    made = []
    for watched in plan:
        first_is_tested = dice.random() < 0.5
        before, took, used = kernel.frames, {}, 0.0
        for tested in (True, False) if first_is_tested else (False, True):
            took[tested], cpu = kernel.run(workload, units, watched=watched and tested)
            used += cpu
        rates = units / took[True], units / took[False]
        frames = kernel.frames - before
        made.append(Pair(workload, watched, *rates, frames, used / took[True], first_is_tested))
    return made


def estimate(pairs: list[Pair], watched: bool, seed: int) -> Estimate:
    """Estimate the change from the pairs of one workload: those with the monitor, or the controls."""
    chosen = [pair for pair in pairs if pair.watched == watched]
    ratios = np.log([pair.tested / pair.plain for pair in chosen])
    resampled = np.random.default_rng(seed).choice(ratios, (_RESAMPLES, len(ratios))).mean(axis=1)
    low, high = np.expm1(np.percentile(resampled, [2.5, 97.5]))
    return Estimate(
        workload=chosen[0].workload,
        comparison="on/off" if watched else "off/off",
        pairs=len(chosen),
        change=float(np.expm1(ratios.mean())),
        low=float(low),
        high=float(high),
        frames_a_run=sum(pair.frames for pair in chosen) / len(chosen),
        monitor_cpu=sum(pair.monitor_cpu for pair in chosen) / len(chosen),
    )


HEADER = (
    f"{'workload':<12} {'pairs':<8} {'n':>4} {'change':>8}   {'95% interval':<18} "
    f"{'frames':>7} {'own CPU':>8}  verdict"
)


def rows(estimates: list[Estimate]) -> str:
    """Lay the estimates out for people, under ``HEADER``."""
    lines = []
    for each in estimates:
        interval = f"{each.low:+.2%} to {each.high:+.2%}"
        lines.append(
            f"{each.workload:<12} {each.comparison:<8} {each.pairs:>4} {each.change:>+8.2%}   {interval:<18} "
            f"{each.frames_a_run:>7.1f} {each.monitor_cpu:>8.2%}  {each.verdict}"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure, print a table, write JSON if asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workloads", nargs="+", choices=WORKLOADS, default=list(WORKLOADS))
    parser.add_argument("--pairs", type=int, default=30, help="pairs, and as many controls (default 30)")
    parser.add_argument("--seconds", type=float, default=3.0, help="length of one run, about (default 3)")
    parser.add_argument("--seed", type=int, default=0, help="of the random order (default 0)")
    parser.add_argument("--json", type=Path, help="write pairs and estimates to this file")
    options = parser.parse_args()
    if options.pairs < 2 or options.seconds <= 0:
        parser.error("--pairs must be at least 2 and --seconds above 0")

    dice = random.Random(options.seed)
    every, estimates = [], []
    print(HEADER)
    for workload in options.workloads:
        kernel = Kernel()
        try:
            pairs = measure(kernel, workload, options.pairs, options.seconds, dice)
        finally:
            kernel.close()
        every += pairs
        estimates += [estimate(pairs, watched, options.seed) for watched in (True, False)]
        print(rows(estimates[-2:]), flush=True)
    if options.json:
        from tutorial_utils import placement

        machine = {"device": placement.choose().name, "python": platform.python_version()}
        settings = {"pairs": options.pairs, "seconds": options.seconds, "seed": options.seed}
        record = {
            "machine": machine,
            "settings": settings,
            "estimates": [{**asdict(each), "verdict": each.verdict} for each in estimates],
            "pairs": [asdict(pair) for pair in every],
        }
        options.json.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
