"""Figures that others published, on other hardware: context beside a reader's own, never part of a ratio.

The systems A1 to C4 are those of the articles the series grew from; each stands in
the lesson that rebuilds it (A1, A2, B2 in lesson 01).
"""

from dataclasses import dataclass

_PAIRS_ARTICLE = "'NVIDIA DALI Tutorials', a blog post"
_VOC_ARTICLE = "a Korean blog post on DALI 1.6"
_MEMORY_ARTICLE = "a Chinese digest of an English article"
_UNSTATED = "not stated"
_V100_XEON = "V100 32 GB, Xeon Gold 5120"
_V100_12 = "V100, 12 vCPU, mixed precision"


@dataclass(frozen=True)
class PublishedFigure:
    """One figure from the literature, as it was reported.

    Attributes:
        label: the system, in the reader's words.
        figure: the figure with its unit and its conditions, as text: it is never computed with.
        hardware: what it was measured on, or ``not stated``.
        source: where it stands.
    """

    label: str
    figure: str
    hardware: str
    source: str


PUBLISHED: dict[str, PublishedFigure] = {
    "A1": PublishedFigure(
        "PyTorch baseline, 4 workers, PIL, 192x192",
        "about 2 minutes an epoch of 1,856 pairs (its loader lists both folders for every item)",
        _UNSTATED,
        _PAIRS_ARTICLE,
    ),
    "A2": PublishedFigure(
        "AlexNet trained on that baseline", "GPU utilisation mostly 0%", _UNSTATED, _PAIRS_ARTICLE
    ),
    "A3": PublishedFigure(
        "DALI external_source pipeline", "under 3 s for the same epoch", _UNSTATED, _PAIRS_ARTICLE
    ),
    "A4": PublishedFigure(
        "AlexNet trained on that pipeline", "GPU utilisation steadily over 85%", _UNSTATED, _PAIRS_ARTICLE
    ),
    "B1": PublishedFigure(
        "DALI image loader, 640x640, batch 32", "21,453 VOC images in 6.2 s", _V100_XEON, _VOC_ARTICLE
    ),
    "B2": PublishedFigure(
        "OpenCV DataLoader, every core", "about 16 times slower than B1", _V100_XEON, _VOC_ARTICLE
    ),
    "B3": PublishedFigure(
        "DALI video loader, 60 frames, stride 5, batch 8",
        "173 videos (300 frames, 1080p) in 97 s, low GPU utilisation",
        _V100_XEON,
        _VOC_ARTICLE,
    ),
    "B4": PublishedFigure(
        "decord video loader on the CPU", "about 2 times faster than B3", _V100_XEON, _VOC_ARTICLE
    ),
    "C1": PublishedFigure(
        "DALI CPU pipeline, ShuffleNetV2-0.5, batch 512", "1,816 images/s", _V100_12, _MEMORY_ARTICLE
    ),
    "C2": PublishedFigure(
        "DALI GPU pipeline, ShuffleNetV2-0.5, batch 512", "3,910 images/s", _V100_12, _MEMORY_ARTICLE
    ),
    "C3": PublishedFigure(
        "torchvision, ShuffleNetV2-0.5, batch 512", "1,058 images/s", _V100_12, _MEMORY_ARTICLE
    ),
    "C4": PublishedFigure(
        "largest batch of ResNet-18",
        "DALI GPU 640 before the memory fixes, 928 after; DALI CPU 800 and 1,216; torchvision 1,248",
        _V100_12,
        _MEMORY_ARTICLE,
    ),
}
