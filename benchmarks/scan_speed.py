"""How long do the first scan of a set and a rescan take? Claim: 150,000 pairs rescan in seconds.

    python -m benchmarks.scan_speed
    python -m benchmarks.scan_speed --pairs 20000 --shrink 8 --json scan.json

Makes a set of many pairs by hard-linking a few generated ones into a temporary folder, opens it once (all
files are decoded) and then several times (only their sizes and times are asked for). The quickest rescan
counts, since other work on the machine can only slow it. The links share their pages in memory, so the first
scan shows what decoding costs, not what a disk does.
"""

import argparse
import json
import os
import tempfile
import time
from pathlib import Path

import cv2

from data_scripts.jpeg import encode
from data_scripts.low_light import darken
from data_scripts.scenes import JPEG_QUALITY, render
from tutorial_utils.data import open_pairs
from tutorial_utils.placement import cores, cpu_name

LINKS_A_FILE = 30_000  # ext4 allows 65,000


def make_linked_set(root: Path, pairs: int, shrink: int) -> int:
    """Fill ``root/low`` and ``root/high``; returns the bytes of one average pair."""
    sources = max(8, -(-pairs // LINKS_A_FILE))
    total = 0
    for folder in ("low", "high", "source"):
        (root / folder).mkdir()
    for number in range(sources):
        image = render(number).image
        image = cv2.resize(image, (image.shape[1] // shrink, image.shape[0] // shrink))
        for half, pixels in (("low", darken(image, number)), ("high", image)):
            data = encode(pixels, JPEG_QUALITY)
            (root / "source" / f"{half}{number}").write_bytes(data)
            total += len(data)
    for number in range(pairs):
        for half in ("low", "high"):
            os.link(root / "source" / f"{half}{number % sources}", root / half / f"{number:06d}.jpg")
    return total // sources


def timed_open(root: Path) -> tuple[float, float]:
    """Open the set; returns wall-clock and CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    open_pairs(root)
    return time.perf_counter() - wall, time.process_time() - cpu


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=150_000)
    parser.add_argument("--shrink", type=int, default=1, help="divide both sides of the pictures by this")
    parser.add_argument("--rescans", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where to make the set for the time being")
    parser.add_argument("--json", type=Path, help="write the figures to this file, too")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        root = Path(folder)
        average = make_linked_set(root, arguments.pairs, arguments.shrink)
        first = timed_open(root)
        rescans = [timed_open(root) for _ in range(arguments.rescans)]
        cache = sum(path.stat().st_size for path in root.iterdir() if path.is_file())
    rescan = min(rescans)
    print(f"{arguments.pairs:,} pairs of {average / 1e3:.0f} kB on average, {cpu_name()}, {cores()} cores")
    print(f"{'':<12}{'wall s':>10}{'CPU s':>10}{'files/s':>12}")
    for name, (wall, cpu) in (("first scan", first), ("rescan", rescan)):
        print(f"{name:<12}{wall:>10.2f}{cpu:>10.2f}{2 * arguments.pairs / wall:>12,.0f}")
    print(f"cache file: {cache / 1e6:.1f} MB")
    if arguments.json:
        figures = {
            "pairs": arguments.pairs,
            "bytes_a_pair": average,
            "first_scan": {"wall_seconds": first[0], "cpu_seconds": first[1]},
            "rescans": [{"wall_seconds": wall, "cpu_seconds": cpu} for wall, cpu in rescans],
            "cache_bytes": cache,
            "cores": cores(),
            "cpu": cpu_name(),
        }
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
