"""Make pairs of low-light and well-lit images: generated ones, or of your own photographs.

Run ``python -m data_scripts.make_pairs --help``.
"""

import argparse
import math
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from data_scripts import disk, generated, locations, lock, manifest
from data_scripts.pair_folder import FILES_PER_PAIR, PairFolder
from data_scripts.photo_pairs import MAX_SIDE, make_photo_set
from data_scripts.progress import Progress
from data_scripts.scenes import JPEG_QUALITY
from data_scripts.workers import WorkerDiedError, cores, run

SCALES = {"smoke": 256, "workshop": 4096, "article": 153_856}
BYTES_PER_PAIR = 200_000  # of both files, on average over all kinds and sizes of scenes
CHUNK = 8  # pairs a task: a worker asks for the next one some times a second
WORTH_A_WORKER = 16  # pairs; starting a process takes about as long as making them

NOTHING_MADE, USAGE, DISK_FULL, INTERRUPTED = 1, 2, 3, 130

EXAMPLES = f"""\
examples:
  python -m data_scripts.make_pairs
      {SCALES["smoke"]} generated pairs in seconds, where the lessons look for them
  python -m data_scripts.make_pairs --scale workshop
      {SCALES["workshop"]:,} pairs in a minute or two, for steady figures on one GPU
  python -m data_scripts.make_pairs --scale article --out /scratch/pairs
      {SCALES["article"]:,} pairs, as many as the articles trained on: 31 GB, half an hour or more on 2 cores
  python -m data_scripts.make_pairs --pairs 1000 --seed 7 --out /tmp/other
      1,000 pairs of other scenes
  python -m data_scripts.make_pairs --photos ~/Pictures/holiday --out data/pairs-holiday
      a pair of every photograph in that folder and the folders below it

A run that was stopped continues when the same command is given again.

The set is OUT/low/NAME.jpg and OUT/high/NAME.jpg, equal names belonging together; OUT/by_class/KIND/NAME.jpg
shows the well-lit images by the kind of scene (of photographs: by the name of the folder they lie in).
Photographs that cannot be used are skipped; the closing table and OUT/report.json say which and why.

exit code: 0 done, {NOTHING_MADE} nothing could be made, {USAGE} wrong usage,
           {DISK_FULL} the disk is full or too small, {INTERRUPTED} interrupted (Ctrl-C)
"""


def make_set(
    root: Path,
    scale: str = "smoke",
    *,
    pairs: int | None = None,
    seed: int = 0,
    workers: int | None = None,
    progress: bool = True,
) -> Path:
    """Make a set of generated pairs, or complete the one that is there; used in lesson 00.

    Pair number N depends on `seed` and N alone, whatever the number of pairs and workers. A set
    that is complete is recognised by its manifest and its number of files. Two processes may call
    this at once: the second waits and finds the set made.

    Args:
        root: the folder of the set, made if absent.
        scale: ``smoke``, ``workshop`` or ``article``: how many pairs.
        pairs: how many pairs instead; a smaller set in the folder is extended.
        seed: other seeds give other scenes.
        workers: worker processes; None takes all cores.
        progress: whether to show the progress.

    Returns:
        The folder, holding JPEG files ``low/NAME`` and ``high/NAME``, links
        ``by_class/KIND/NAME`` and the manifest ``pairs.json``.

    Raises:
        ValueError: an unknown scale, fewer than one pair or worker, or a negative seed.
        OtherSetError: the folder holds a set of something else, or a larger one.
        DiskFullError: the disk cannot hold the set or filled up; what is there is whole.
        OSError: the folder cannot be written.
    """
    count = _count(scale, pairs)
    if workers is not None and workers < 1:
        raise ValueError(f"workers={workers}: at least 1")
    if seed < 0:
        raise ValueError(f"seed={seed}: seeds count from 0")
    root = Path(root).expanduser().absolute()
    settings = {
        "source": "generated",
        "seed": seed,
        "generator": generated.VERSION,
        "jpeg_quality": JPEG_QUALITY,
    }
    if _is_complete(root, settings, count):
        return root
    if not root.exists():
        _require_room(root, count)
    with lock.hold(root):
        if not _is_complete(root, settings, count):
            _complete(PairFolder(root), settings, count, workers, progress)
    return root


def _count(scale: str, pairs: int | None) -> int:
    if pairs is None:
        if scale not in SCALES:
            raise ValueError(f"scale={scale!r}: choose one of {', '.join(SCALES)}")
        return SCALES[scale]
    if pairs < 1:
        raise ValueError(f"pairs={pairs}: at least 1")
    return pairs


def _is_complete(root: Path, settings: dict[str, Any], count: int) -> bool:
    found = manifest.check(root, settings)
    if found and found["pairs"] > count:
        raise manifest.OtherSetError(
            f"{root} is a set of {found['pairs']:,} pairs, {count:,} were asked for. Use it and take as many "
            "as you want (`open_pairs(...).take(...)`), or choose another folder with --out."
        )
    return manifest.is_complete(root, settings, count)


def _require_room(root: Path, count: int) -> None:
    disk.require_room(root, f"{count:,} pairs", size=count * BYTES_PER_PAIR, files=count * FILES_PER_PAIR)


def _complete(
    folder: PairFolder, settings: dict[str, Any], count: int, processes: int | None, show: bool
) -> None:
    there = folder.names()
    missing = [index for index in range(count) if generated.name_of(index) not in there]
    _require_room(folder.root, len(missing))
    processes = processes or min(cores(), math.ceil(len(missing) / WORTH_A_WORKER))
    if show:
        print(
            f"Making {len(missing):,} pairs in {folder.root} (about "
            f"{disk.megabytes(len(missing) * BYTES_PER_PAIR)}, {processes} processes)",
            flush=True,
        )
    try:
        manifest.write(folder.root, settings, count, complete=False)
        folder.prepare()
        _work(folder, settings["seed"], missing, processes, show)
        manifest.write(folder.root, settings, count, complete=True)
    except OSError as error:
        if not disk.is_full(error):
            raise
        made = len(folder.names())
        raise disk.DiskFullError(
            error.errno,
            f"the disk of {folder.root} is full: {made:,} of {count:,} pairs are there and whole. "
            "Free some room and run the same command again: it continues",
        ) from error
    finally:
        folder.sweep()


def _work(folder: PairFolder, seed: int, missing: list[int], processes: int, show: bool) -> None:
    size = max(1, min(CHUNK, len(missing) // (4 * max(1, processes))))
    stretches = [tuple(missing[start : start + size]) for start in range(0, len(missing), size)]
    tasks = [generated.Stretch(folder.root, indices, seed) for indices in stretches]
    with (
        Progress(len(missing), unit="pairs", show=show) as progress,
        closing(run(generated.make, tasks, processes)) as counts,
    ):
        for count in counts:
            progress.advance(count)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; ``--help`` explains it.

    Returns:
        The exit code.
    """
    options = _parse(arguments)
    root = options.out or _default_out(options)
    try:
        if options.photos:
            return _make_of_photos(options, root)
        make_set(root, options.scale, pairs=options.pairs, seed=options.seed, workers=options.workers)
    except KeyboardInterrupt:
        made = len(PairFolder(root).names())
        print(
            f"\nInterrupted. {made:,} pairs are whole in {root}; the same command continues from there.",
            file=sys.stderr,
        )
        return INTERRUPTED
    except (OSError, ValueError, WorkerDiedError) as error:
        print(f"make_pairs: {error}", file=sys.stderr)
        return DISK_FULL if isinstance(error, OSError) and disk.is_full(error) else NOTHING_MADE
    count, size = len(PairFolder(root).names()), PairFolder(root).size()
    print(f"{count:,} pairs in {root}, {disk.megabytes(size)}")
    return 0


def _make_of_photos(options: argparse.Namespace, root: Path) -> int:
    report = make_photo_set(
        options.photos, root, seed=options.seed, max_side=options.max_side, workers=options.workers
    )
    return 0 if report.made + report.kept else NOTHING_MADE


def _default_out(options: argparse.Namespace) -> Path:
    if options.photos:
        return locations.default_folder(f"pairs-{options.photos.resolve().name or 'photos'}")
    return locations.default_root(options.scale)


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m data_scripts.make_pairs",
        description="Make pairs of low-light and well-lit images, generated or of your own photographs.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    sizes = ", ".join(f"{name} {count:,}" for name, count in SCALES.items())
    parser.add_argument("--scale", choices=SCALES, help=f"how many pairs: {sizes} (default smoke)")
    parser.add_argument("--pairs", type=_from(1), metavar="N", help="how many pairs, instead of a scale")
    parser.add_argument(
        "--photos", type=Path, metavar="FOLDER", help="make the pairs of the photographs in there"
    )
    parser.add_argument(
        "--max-side",
        type=_from(0),
        metavar="PIXELS",
        help=f"reduce larger photographs to this longer side (default {MAX_SIDE}; 0 keeps their size)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FOLDER",
        help=f"the folder of the set (default: pairs-SCALE, or pairs- and the name of the photographs' "
        f"folder, in ${locations.PARENT_VARIABLE} if that is set, else in data/ of this checkout or the "
        "user's cache)",
    )
    parser.add_argument(
        "--seed", type=_from(0), default=0, metavar="N", help="other seeds, other pairs (default 0)"
    )
    parser.add_argument(
        "--workers", type=_from(1), metavar="N", help="worker processes (default: one a core)"
    )
    options = parser.parse_args(arguments)
    if options.photos and (options.scale or options.pairs):
        parser.error("--photos makes a pair of every photograph: leave --scale and --pairs out")
    if options.max_side is not None and not options.photos:
        parser.error("--max-side is for --photos")
    options.scale = options.scale or "smoke"
    options.max_side = MAX_SIDE if options.max_side is None else options.max_side
    return options


def _from(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if int(text) < least:
            raise argparse.ArgumentTypeError(f"{text} is less than {least}")
        return int(text)

    return number


if __name__ == "__main__":
    # Names of files may hold what the terminal's encoding does not.
    sys.stdout.reconfigure(errors="backslashreplace")
    sys.stderr.reconfigure(errors="backslashreplace")
    sys.exit(main())
