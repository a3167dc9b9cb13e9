"""How many pairs a second do the CPU competitors deliver? The figures behind lesson 01.

    python -m benchmarks.cpu_baselines
    python -m benchmarks.cpu_baselines --root data/pairs-workshop --workers 0 4 8 16 --json baselines.json

PIL, OpenCV and torchvision with different numbers of workers, and the article's data set with both its
defects, with either and with none, in a plain ``DataLoader`` as the article had it. All read the same files
and end in the same place: float32 batches of 192x192 on the training device.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from torch.utils.data import DataLoader

from tutorial_utils import placement
from tutorial_utils.article_baseline import ArticlePairs
from tutorial_utils.cpu_decoders import DECODERS
from tutorial_utils.cpu_loaders import DeviceLoader, PairImages, to_device, tuned_loader
from tutorial_utils.data import Pairs, open_pairs
from tutorial_utils.timing import measure
from tutorial_utils.timing_card import TimingCard

ARTICLE_WORKERS = 4


def competitors(
    pairs: Pairs, workers: list[int], batch: int, where: placement.Placement
) -> Iterator[tuple[str, dict, DeviceLoader]]:
    """Make one loader after the other: (label, settings, loader)."""
    for lists in (True, False):
        for low in (True, False):
            dataset = ArticlePairs(pairs.root, lists_every_time=lists, reads_low_twice=low)
            settings = {"lists_every_time": lists, "reads_low_twice": low, "workers": ARTICLE_WORKERS}
            loader = DataLoader(dataset, batch, num_workers=ARTICLE_WORKERS)
            defects = " and ".join(["lists every time"] * lists + ["low twice"] * low) or "no defect"
            yield f"article: {defects}", {**settings, "batch": batch}, to_device(loader, where)
    for count in workers:
        for decoder in DECODERS:
            loader = tuned_loader(PairImages(pairs, decoder=decoder), batch, workers=count)
            settings = {"decoder": decoder, "workers": count, "batch": batch, "pin_memory": loader.pin_memory}
            yield f"{decoder}, {count} workers", settings, to_device(loader, where)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--root", type=Path, help="a set of pairs; by default the smoke set")
    parser.add_argument("--workers", type=int, nargs="+", default=sorted({0, 1, 2, placement.cores()}))
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--json", type=Path, help="write the figures to this file, too")
    arguments = parser.parse_args()
    where = placement.choose()
    pairs = open_pairs(arguments.root)
    results = []
    for label, settings, loader in competitors(pairs, arguments.workers, arguments.batch, where):
        result = measure(
            loader,
            label=label,
            placement=where,
            unit="pairs",
            repetitions=arguments.repetitions,
            settings=settings,
            data=pairs,
        )
        print(f"{label}: {result}", flush=True)
        results.append(result)
    print(TimingCard(results, title="CPU competitors, 192x192, pairs"))
    if arguments.json:
        figures = [result.to_dict() for result in results]
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
