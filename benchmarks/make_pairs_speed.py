"""How many pairs a second does ``make_pairs`` make? Claim: at least 80 on 2 cores.

    python -m benchmarks.make_pairs_speed
    python -m benchmarks.make_pairs_speed --pairs 4096 --workers 1 2 4 8 --json speed.json

First one process makes pairs in memory and tells where its time goes: render, darken, encode. Then
``make_set`` makes whole sets on disk with different numbers of worker processes, from their start to
the finished manifest, so the start of the workers and the textures they draw first are in the figure.
The quickest of the repetitions counts, since other work on the machine can only slow it; the others
are printed beside it. Sets are written to a temporary folder and removed.
"""

import argparse
import json
import platform
import resource
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from data_scripts.jpeg import encode
from data_scripts.low_light import darken
from data_scripts.make_pairs import make_set
from data_scripts.scenes import JPEG_QUALITY, render

CLAIM = 80.0  # pairs a second on 2 cores
STAGES = ("render", "darken", "encode")


@dataclass(frozen=True)
class Run:
    """Sets made with one number of workers.

    Attributes:
        workers: worker processes.
        pairs: pairs a set.
        seconds: wall time of each repetition.
        cpu_seconds: CPU time of each repetition, of all processes together.
    """

    workers: int
    pairs: int
    seconds: tuple[float, ...]
    cpu_seconds: tuple[float, ...]

    @property
    def rate(self) -> float:
        """Pairs a second in the quickest repetition."""
        return self.pairs / min(self.seconds)

    @property
    def cpu_ms(self) -> float:
        """CPU milliseconds a pair in the thriftiest repetition, the start of the workers included."""
        return min(self.cpu_seconds) * 1e3 / self.pairs


def _cpu_seconds() -> float:
    """CPU time so far of this process and of its children that have ended."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def stages(pairs: int, seed: int) -> dict[str, float]:
    """CPU milliseconds a pair in each stage, in this process, caches warm."""
    for index in range(64):
        darken(render(index, seed + 1).image, index)
    spent = dict.fromkeys(STAGES, 0.0)
    for index in range(pairs):
        clock = [time.process_time()]
        image = render(index, seed).image
        clock.append(time.process_time())
        low = darken(image, (seed, index))
        clock.append(time.process_time())
        encode(image, JPEG_QUALITY)
        encode(low, JPEG_QUALITY)
        clock.append(time.process_time())
        for stage, begin, end in zip(STAGES, clock[:-1], clock[1:], strict=True):
            spent[stage] += (end - begin) * 1e3 / pairs
    return spent


def whole_sets(pairs: int, workers: int, repetitions: int, seed: int, folder: Path) -> Run:
    """Time ``make_set`` from nothing to a finished set."""
    seconds, cpu = [], []
    for repetition in range(repetitions):
        with tempfile.TemporaryDirectory(dir=folder) as root:
            begin, used = time.perf_counter(), _cpu_seconds()
            make_set(Path(root) / "set", pairs=pairs, seed=seed + repetition, workers=workers, progress=False)
            seconds.append(time.perf_counter() - begin)
            cpu.append(_cpu_seconds() - used)
    return Run(workers, pairs, tuple(seconds), tuple(cpu))


def main() -> int:
    """Measure, print a table, write JSON; exit code 1 where 2 workers on 2 cores stay below the claim."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=1024, help="a set (default 1024)")
    parser.add_argument(
        "--workers", type=int, nargs="+", default=[1, 2], help="numbers of workers (default 1 2)"
    )
    parser.add_argument("--repetitions", type=int, default=3, help="of each (default 3)")
    parser.add_argument("--seed", type=int, default=0, help="of the first repetition's set (default 0)")
    parser.add_argument(
        "--folder", type=Path, help="where to write the sets (default: the system's for temporary files)"
    )
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    if min(options.pairs, options.repetitions, *options.workers) < 1:
        parser.error("--pairs, --repetitions and --workers must be at least 1")

    spent = stages(min(options.pairs, 256), options.seed)
    total = sum(spent.values())
    print(f"{'stage':<8}{'CPU ms a pair':>15}{'share':>8}")
    for stage, ms in spent.items():
        print(f"{stage:<8}{ms:>15.2f}{ms / total:>8.0%}")
    print(f"{'all':<8}{total:>15.2f}        one core, in memory: {1e3 / total:.0f} pairs/s\n")

    print(f"{'workers':<8}{'pairs':>8}{'best pairs/s':>14}{'CPU ms a pair':>15}   pairs/s of all repetitions")
    runs = []
    for workers in options.workers:
        run = whole_sets(options.pairs, workers, options.repetitions, options.seed, options.folder)
        runs.append(run)
        every = ", ".join(f"{run.pairs / s:.0f}" for s in run.seconds)
        print(f"{run.workers:<8}{run.pairs:>8}{run.rate:>14.1f}{run.cpu_ms:>15.1f}   {every}", flush=True)
    held = next((run.rate >= CLAIM for run in runs if run.workers == 2), None)
    if held is not None:
        print(f"\nat least {CLAIM:.0f} pairs/s with 2 workers: {'yes' if held else 'NO'}")
    if options.json:
        from tutorial_utils import placement

        record = {
            "machine": {
                "cpu": placement.cpu_name(),
                "cores": placement.cores(),
                "python": platform.python_version(),
            },
            "settings": {"pairs": options.pairs, "repetitions": options.repetitions, "seed": options.seed},
            "cpu_ms_a_pair": spent,
            "runs": [
                {**asdict(run), "pairs_per_second": run.rate, "cpu_ms_a_pair": run.cpu_ms} for run in runs
            ],
        }
        options.json.write_text(json.dumps(record, indent=2) + "\n")
    return 1 if held is False else 0


if __name__ == "__main__":
    sys.exit(main())
