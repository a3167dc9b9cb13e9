"""Which image loader is how many times as fast as which? The figures behind lessons 01 to 03.

    python -m benchmarks.images
    python -m benchmarks.images --only pairs --root data/pairs-workshop --rounds 8 --json images.json
    python -m benchmarks.images --only dataloader-pil dali-files overhead
    python -m benchmarks.images --root data/pairs-workshop --batch 128 --record h200-images

Three sections:

- ``pairs``: low and high at 192x192. The article's baseline and pipeline, tuned ``DataLoader``s over PIL,
  OpenCV and torchvision, torchvision's decoding on the GPU, and every form of DALI loader.
- ``labelled``: images and classes at 640x640, as far as the same systems have a form of it.
- ``overhead``: our loader against the bare DALI iterator that it wraps.

In a section all read the same files with the same cores and end in the same place: full float32 batches on
the training device. Each ``DataLoader`` gets the number of workers that a short sweep finds best. The
competitors are measured in turn, in random order, in several rounds (see ``benchmarks.rounds``); ratios are
to the tuned torchvision ``DataLoader`` of the same round. Short epochs are kind to DALI, whose next epoch is
under way when one ends, while a ``DataLoader`` begins each with empty hands: take some dozens of batches.
"""

import argparse
import json
import tempfile
import warnings
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks import image_competitors as field_of
from benchmarks.image_competitors import ARTICLE, BASELINE, LABELLED, PAIRED, PAIRED_DALI, Section
from benchmarks.image_report import Findings, as_json, report
from benchmarks.loader_overhead import measure_overhead
from benchmarks.rounds import Absent, Ratio, pooled, race, ratio
from tutorial_utils.data import Labelled, Pairs, open_labelled, open_pairs
from tutorial_utils.placement import Placement, choose, cores
from tutorial_utils.reference import NAME, references, save_reference
from tutorial_utils.timing_card import TimingCard

PAIRS, LABELS, OVERHEAD = "pairs", "labelled", "overhead"
SECTIONS = {PAIRS: PAIRED, LABELS: LABELLED, OVERHEAD: ()}
LESSONS = {PAIRS: "02", LABELS: "03", OVERHEAD: "03"}
SIZES = {PAIRS: (192, 192), LABELS: (640, 640)}
LEVEL, TWICE, ARTICLES_CLAIM = 1.0, 2.0, 40.0


def main(words: Sequence[str] | None = None) -> None:
    """Run the benchmark.

    Args:
        words: the command line's; None takes the process's own.
    """
    arguments = _arguments(words)
    # More workers than cores are tried on purpose.
    warnings.filterwarnings("ignore", message="This DataLoader will create", category=UserWarning)
    placement = choose()
    wanted = _wanted(arguments.only)
    findings = Findings()
    pairs = _full_batches(open_pairs(arguments.root), arguments.pairs, arguments.batch)
    if LABELS in wanted:  # opened before minutes are spent on the other section
        labelled = _full_batches(_open_classes(arguments.root), arguments.pairs, arguments.batch)
    if PAIRS in wanted:
        _race(PAIRS, pairs, arguments, placement, wanted[PAIRS], findings)
    if LABELS in wanted:
        _race(LABELS, labelled, arguments, placement, wanted[LABELS], findings)
    if OVERHEAD in wanted:
        found = measure_overhead(pairs, arguments.batch, arguments.overhead_rounds, placement)
        results = [pooled(rounds) for rounds in found.results.values()]
        findings.overhead = found
        _keep(TimingCard(results, title="our loader and the bare DALI iterator"), OVERHEAD, findings)
    print(report(findings))
    if arguments.json:
        arguments.json.write_text(json.dumps(as_json(findings), indent=2) + "\n", encoding="utf-8")
    if arguments.record:
        for path in record(findings.cards, arguments.record):
            print(f"recorded in {path}")


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--root", type=Path, help="folder of the set; default: the small one, made if absent")
    parser.add_argument("--pairs", type=_count, help="take this many pairs, and as many labelled images")
    parser.add_argument("--batch", type=_count, default=32)
    parser.add_argument("--rounds", type=_count, default=6)
    parser.add_argument("--overhead-rounds", type=_count, default=20)
    parser.add_argument(
        "--workers", type=int, nargs="+", help="numbers to choose from; default: half, all, twice the cores"
    )
    parser.add_argument("--only", nargs="+", metavar="NAME", help="sections or competitors to run")
    parser.add_argument("--json", type=Path, help="write the figures to this file, too")
    parser.add_argument("--record", metavar="NAME", help="record the cards as reference/NAME-SECTION.json")
    arguments = parser.parse_args(words)
    if arguments.workers is None:
        arguments.workers = sorted({max(1, cores() // 2), cores(), 2 * cores()})
    if min(arguments.workers) < 0:
        parser.error("--workers: give numbers from 0 on")
    try:
        wanted = _wanted(arguments.only)
    except ValueError as error:
        parser.error(str(error))
    if arguments.record:  # before minutes are spent on measuring
        taken = {_record_name(arguments.record, section) for section in wanted} & set(references())
        if not NAME.fullmatch(arguments.record) or taken:
            parser.error(f"--record {arguments.record}: {_refusal(taken)}")
    return arguments


def _refusal(taken: Iterable[str]) -> str:
    if taken:
        return f"there is a record {', '.join(sorted(taken))} already; choose another name"
    return "use letters, digits, '_', '-' and '.', beginning with a letter or digit"


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number}: give a whole number from 1 on")
    return number


def _wanted(only: Sequence[str] | None) -> dict[str, list[str]]:
    """Name the competitors to run of each section; the baseline runs with any of them."""
    names = set(only or SECTIONS)
    known = set(SECTIONS).union(*SECTIONS.values())
    if names - known:
        raise ValueError(f"--only {' '.join(sorted(names - known))}: choose among {', '.join(sorted(known))}")
    chosen = {
        section: [one for one in labels if section in names or one in names]
        for section, labels in SECTIONS.items()
    }
    return {
        section: [one for one in SECTIONS[section] if one in labels or one == BASELINE]
        for section, labels in chosen.items()
        if labels or section in names
    }


def _open_classes(root: Path | None) -> Labelled:
    return open_labelled(None if root is None else root / "by_class")


def _full_batches(data: Any, count: int | None, batch: int) -> Any:
    """Take as many samples as fill batches, so that nobody drops, pads or repeats any."""
    count = len(data) if count is None else min(count, len(data))
    if count < batch:
        raise SystemExit(
            f"{count} samples are less than one batch: choose --batch {count} or less, or more --pairs"
        )
    return data.take(count // batch * batch)


def _race(
    section: str,
    data: Pairs | Labelled,
    arguments: argparse.Namespace,
    placement: Placement,
    wanted: Sequence[str],
    findings: Findings,
) -> None:
    unit = "pairs" if section == PAIRS else "images"
    shared = Section(data, unit, SIZES[section], arguments.batch, placement, arguments.workers)
    labels = SECTIONS[section]
    absent = [Absent(label, "left out by --only") for label in labels if label not in wanted]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        made = (
            field_of.paired(shared, wanted, folder) if section == PAIRS else field_of.labelled(shared, wanted)
        )
        racing = []
        for one in made:
            if isinstance(one, Absent):
                absent.append(one)
            else:
                stack.callback(one.close)
                racing.append(one)
        results = race(racing, arguments.rounds, placement=placement, unit=unit, data=data)
    height, width = SIZES[section]
    title = f"image loaders, {section}, {height}x{width}, {arguments.rounds} rounds in turn"
    findings.cards[section] = TimingCard(list(map(pooled, results.values())), title=title, baseline=BASELINE)
    findings.ratios[section] = [ratio(results, label, BASELINE) for label in results]
    findings.absent[section] = absent
    if section == PAIRS:
        findings.aims = _aims(results, placement)


def _keep(card: TimingCard, section: str, findings: Findings) -> None:
    """Print a section's card as soon as it is there: the next section may take long, or fail."""
    findings.cards[section] = card
    print(f"{card}\n", flush=True)


def _aims(results: dict[str, list], placement: Placement) -> list[tuple[str, Ratio, float]]:
    """Hold against what the project wants to reach on the paired set, with the best DALI form that ran."""
    running = [label for label in PAIRED_DALI if label in results]
    if not running:
        return []
    best = max(running, key=lambda label: pooled(results[label]).rate)
    over_tuned = ratio(results, best, BASELINE)
    if not placement.has_gpu:
        return [("best DALI form level with the tuned torchvision loader", over_tuned, LEVEL)]
    aims = [("best DALI form twice the tuned torchvision loader", over_tuned, TWICE)]
    if ARTICLE in results:
        aims.append(("40 times the article's baseline", ratio(results, best, ARTICLE), ARTICLES_CLAIM))
    return aims


def _record_name(name: str, section: str) -> str:
    return f"{name}-{section}"


def record(cards: dict[str, TimingCard], name: str) -> list[Path]:
    """Record the cards as ``reference/NAME-SECTION.json``.

    Raises:
        ValueError: there is none, or a result was not measured in this process.
        FileExistsError: a record of that name exists.
    """
    if not cards:
        raise ValueError(f"--record {name}: nothing was measured")
    return [
        save_reference(card, _record_name(name, section), lesson=LESSONS[section])
        for section, card in cards.items()
    ]


if __name__ == "__main__":
    main()
