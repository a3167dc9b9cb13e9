"""Who takes part in ``benchmarks.images``: the loaders of lessons 01 to 03 and the tuned competitors.

All of one section read the same files and end in the same place: float32 batches from 0 to 1, CHW, on the
placement's device, full batches only.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from torch.utils.data import DataLoader, Dataset

from benchmarks.cuda_decode import JPEG_NAMES, CudaDecoding, EncodedFiles
from benchmarks.rounds import Absent, Competitor, pooled, race
from benchmarks.uint8_loader import Uint8Images, Uint8Loader
from tutorial_utils.article_baseline import ArticlePairs
from tutorial_utils.article_pipeline import ArticleLoader, ArticlePipeline, PairBytes
from tutorial_utils.cpu_loaders import LabelledImages, PairImages, to_device, tuned_loader
from tutorial_utils.data import Labelled, Pairs
from tutorial_utils.loaders import labelled_loader, paired_loader
from tutorial_utils.placement import Placement, cores

BASELINE = "dataloader-torchvision"
UINT8 = "dataloader-torchvision-uint8"
CUDA = "torchvision-cuda"
ARTICLE, ARTICLE_MENDED, ARTICLE_PIPELINE = "article-a1", "article-a1-mended", "article-a3"
ARTICLE_WORKERS = 4
DATALOADERS = {BASELINE: "torchvision", "dataloader-opencv": "opencv", "dataloader-pil": "pil"}
PAIRED_DALI = {
    "dali-files": {"source": "files"},
    "dali-files-aliased": {"source": "files", "antialias": False},
    "dali-batches": {"source": "batches"},
    "dali-samples": {"source": "samples"},
    "dali-decoded-torchvision": {"source": "decoded", "decoder": "torchvision"},
    "dali-decoded-opencv": {"source": "decoded", "decoder": "opencv"},
}
LABELLED_DALI = {"dali-labelled": {}, "dali-labelled-aliased": {"antialias": False}}
PAIRED = (*DATALOADERS, UINT8, ARTICLE, ARTICLE_MENDED, CUDA, ARTICLE_PIPELINE, *PAIRED_DALI)
LABELLED = (*DATALOADERS, UINT8, CUDA, *LABELLED_DALI)


@dataclass(frozen=True)
class Section:
    """What all competitors of one table share.

    Attributes:
        data: the files; as many as make full batches.
        unit: ``pairs`` or ``images``.
        size: (height, width) in pixels.
        batch: samples a batch.
        placement: where the steps run and batches end.
        workers: numbers of worker processes to choose from, for each ``DataLoader``.
    """

    data: Pairs | Labelled
    unit: str
    size: tuple[int, int]
    batch: int
    placement: Placement
    workers: Sequence[int]


def paired(section: Section, wanted: Sequence[str], folder: Path) -> Iterator[Competitor | Absent]:
    """Make the wanted competitors of the paired set, one after the other.

    Args:
        section: what they share.
        wanted: some of :data:`PAIRED`.
        folder: an empty one, in which the article's baseline finds these pairs and no others.
    """
    datasets = {
        label: PairImages(section.data, section.size, decoder) for label, decoder in DATALOADERS.items()
    }
    yield from _dataloaders(section, wanted, datasets)
    if UINT8 in wanted:
        yield _uint8(section, Uint8Images(section.data.low, section.data.high, size=section.size))
    yield from _article_baseline(section, wanted, folder)
    if CUDA in wanted:
        files = EncodedFiles(section.data.low, section.data.high, numbers=range(len(section.data)))
        yield _cuda(section, files, with_numbers=False)
    if ARTICLE_PIPELINE in wanted:
        pipeline = ArticlePipeline(
            PairBytes(section.data, section.batch), section.placement, size=section.size, threads=cores()
        )
        yield Competitor(
            ARTICLE_PIPELINE, ArticleLoader(pipeline), {"threads": cores(), "batch": section.batch}
        )
    yield from _dali(section, wanted, PAIRED_DALI, paired_loader)


def labelled(section: Section, wanted: Sequence[str]) -> Iterator[Competitor | Absent]:
    """Make the wanted competitors of the labelled set, some of :data:`LABELLED`."""
    datasets = {
        label: LabelledImages(section.data, section.size, decoder) for label, decoder in DATALOADERS.items()
    }
    yield from _dataloaders(section, wanted, datasets)
    if UINT8 in wanted:
        files, labels = section.data.files, section.data.labels
        yield _uint8(section, Uint8Images(files, size=section.size, numbers=labels))
    if CUDA in wanted:
        yield _cuda(section, EncodedFiles(section.data.files, numbers=section.data.labels), with_numbers=True)
    yield from _dali(section, wanted, LABELLED_DALI, labelled_loader)


def _dataloaders(
    section: Section, wanted: Sequence[str], datasets: dict[str, Dataset]
) -> Iterator[Competitor]:
    for label, dataset in datasets.items():
        if label in wanted:
            yield _with_best_workers(section, label, partial(_tuned, section, dataset))


def _tuned(section: Section, dataset: Dataset, workers: int) -> Any:
    return to_device(tuned_loader(dataset, section.batch, workers=workers, drop_last=True), section.placement)


def _uint8(section: Section, dataset: Uint8Images) -> Competitor:
    def make(workers: int) -> Uint8Loader:
        return Uint8Loader(dataset, section.batch, section.placement, workers=workers)

    return _with_best_workers(section, UINT8, make)


def _with_best_workers(section: Section, label: str, make: Callable[[int], Any]) -> Competitor:
    """Sweep the worker counts in two rounds, and keep the fastest by median."""
    sweep = [
        Competitor(f"{label}, {count} workers", make(count), {"workers": count}) for count in section.workers
    ]
    if len(sweep) > 1:
        results = race(sweep, 2, placement=section.placement, unit=section.unit, data=section.data)
        swept = {one.settings["workers"]: pooled(results[one.label]).rate for one in sweep}
    else:
        swept = {section.workers[0]: 0.0}
    best = max(swept, key=swept.get)
    (loader,) = (one.loader for one in sweep if one.settings["workers"] == best)
    tried = "/".join(map(str, swept))
    return Competitor(
        label, loader, {"workers": best, "workers tried": tried, "batch": section.batch, **_fixed(section)}
    )


def _fixed(section: Section) -> dict[str, Any]:
    return {"pinned": section.placement.has_gpu, "persistent": True, "prefetch": 2}


def _article_baseline(section: Section, wanted: Sequence[str], folder: Path) -> Iterator[Competitor]:
    settings = {"workers": ARTICLE_WORKERS, "batch": section.batch, "decoder": "pil"}
    for label, defects in ((ARTICLE, True), (ARTICLE_MENDED, False)):
        if label not in wanted:
            continue
        if not folder.joinpath("low").is_dir():
            _link(section.data, folder)
        dataset = ArticlePairs(folder, section.size, lists_every_time=defects, reads_low_twice=defects)
        loader = DataLoader(dataset, section.batch, num_workers=ARTICLE_WORKERS, drop_last=True)
        yield Competitor(label, to_device(loader, section.placement), {**settings, "defects": defects})


def _link(pairs: Pairs, folder: Path) -> None:
    for half in ("low", "high"):
        (folder / half).mkdir()
        for name, path in enumerate(getattr(pairs, half)):
            (folder / half / f"{name:06d}{Path(path).suffix}").symlink_to(path)


def _cuda(section: Section, files: EncodedFiles, with_numbers: bool) -> Competitor | Absent:
    if not section.placement.has_gpu:
        return Absent(CUDA, "needs a GPU; this run is on the CPU")
    others = [path for column in files.columns for path in column if not path.lower().endswith(JPEG_NAMES)]
    if others:
        return Absent(CUDA, f"decodes JPEG only; the set has {len(others)} other files, such as {others[0]}")

    def make(workers: int) -> CudaDecoding:
        return CudaDecoding(
            files, section.batch, section.size, section.placement, workers=workers, with_numbers=with_numbers
        )

    try:
        next(iter(make(0)))
    except RuntimeError as error:  # a torchvision built without nvJPEG
        return Absent(CUDA, f"torchvision cannot decode on this GPU: {str(error).splitlines()[0]}")
    return _with_best_workers(section, CUDA, make)


def _dali(
    section: Section, wanted: Sequence[str], forms: dict[str, dict], make: Callable[..., Any]
) -> Iterator[Competitor | Absent]:
    for label, options in forms.items():
        if label not in wanted:
            continue
        try:
            loader = make(
                section.data,
                batch_size=section.batch,
                size=section.size,
                placement=section.placement,
                **options,
            )
        except ValueError as error:
            if "shared memory" not in str(error):
                raise
            yield Absent(label, str(error))
            continue
        settings = {"threads": cores(), "prefetch": 2, "batch": section.batch, **options}
        if options.get("source") in ("samples", "decoded"):
            settings["workers"] = cores() if options["source"] == "decoded" else 1
        yield Competitor(label, loader, settings)
