"""The graphs: short, the same on both images of a pair, in the asked range, layout and type."""

import inspect
from functools import partial

import cv2
import numpy as np
import pytest
import torch
from loader_fixtures import numbers_in, write_pairs
from nvidia.dali.plugin.pytorch import DALIGenericIterator
from PIL import Image

from tutorial_utils import pipelines
from tutorial_utils.article_pipeline import ArticleLoader, ArticlePipeline, PairBytes
from tutorial_utils.data import Pairs
from tutorial_utils.epochs import EpochPlan
from tutorial_utils.pipelines import Augmentation, Delivery
from tutorial_utils.placement import choose
from tutorial_utils.sources import EncodedPairs

GRAPHS = ["paired_from_source", "paired_decoded", "paired_from_files", "paired_augmented", "labelled"]


@pytest.fixture(scope="module")
def ramps(tmp_path_factory):
    """Pairs of one big image: red grows with x, green with y; the high one is the low one's negative."""
    root = tmp_path_factory.mktemp("ramps")
    height, width = 250, 200
    low = np.empty((height, width, 3), np.uint8)
    low[..., 0], low[..., 1], low[..., 2] = np.arange(width), np.arange(height)[:, None], 77
    paths = {}
    for folder, image in (("low", low), ("high", 255 - low)):
        (root / folder).mkdir()
        paths[folder] = []
        for number in range(64):
            path = root / folder / f"{number:02d}.png"
            assert cv2.imwrite(str(path), image[..., ::-1])
            paths[folder].append(str(path))
    names = tuple(f"{number:02d}" for number in range(64))
    return Pairs(root, names, tuple(paths["low"]), tuple(paths["high"]), ((0, 0),) * 64)


def run(pipeline, names, batches=1):
    """Collect what a pipeline delivers, batch after batch, as tensors on the CPU."""
    iterator = DALIGenericIterator(pipeline, names)
    collected = [next(iterator)[0] for _ in range(batches)]
    return [torch.cat([batch[name].cpu() for batch in collected]) for name in names]


def augmented(ramps, augmentation, size=(24, 24)):
    plan = EpochPlan(len(ramps), len(ramps), shuffle=False, seed=1)
    read = partial(pipelines.from_source, EncodedPairs(ramps, plan, throws=True), False, outputs=4)
    placement = choose()
    pipeline = pipelines.paired_augmented(
        read, augmentation, placement=placement, delivery=Delivery(size),
        batch_size=len(ramps), num_threads=2, device_id=placement.dali_device_id,
    )  # fmt: skip
    low, high, index = run(pipeline, ["low", "high", "id"])
    return low, high, plan.throws(0)[index.view(-1)]


@pytest.mark.parametrize("name", GRAPHS)
def test_a_lesson_can_show_each_graph_whole(name):
    source = inspect.getsource(getattr(pipelines, name))
    assert "@pipeline_def" in source
    assert len(source.splitlines()) <= 25


@pytest.mark.parametrize("size", [(24, 24), (20, 36)])
@pytest.mark.parametrize("flips", [True, False])
@pytest.mark.parametrize("turns", [True, False])
def test_both_images_undergo_the_same_crop_flips_and_turn(ramps, size, flips, turns):
    low, high, _ = augmented(ramps, Augmentation(0.3, flips, turns), size)
    assert low.shape == (64, 3, *size)
    assert ((low + high) - 1).abs().max() < 1.5 / 255  # negatives, pixel by pixel
    assert len({tuple(image.flatten().tolist()) for image in low}) == 64


@pytest.mark.parametrize("size", [(24, 24), (20, 36)])
def test_crop_flips_and_turn_are_those_thrown(ramps, size):
    """Every corner of every image shows the place of the original that the throw says."""
    height, width = 250, 200
    low, _, throws = augmented(ramps, Augmentation(0.3), size)
    for image, throw in zip(low, throws.astype(float), strict=True):
        side = 0.3 + 0.7 * throw[0]
        top, left = throw[1] * (1 - side) * height, throw[2] * (1 - side) * width
        # Two coordinates of each corner pixel's centre, in the order of rows and columns.
        turned = size[::-1] if throw[5] < 0.5 else size
        ys = top + side * height * (np.arange(turned[0]) + 0.5) / turned[0] - 0.5
        xs = left + side * width * (np.arange(turned[1]) + 0.5) / turned[1] - 0.5
        expected = np.stack(np.broadcast_arrays(xs[None, :], ys[:, None]))
        quarters = int(throw[5] < 0.5) + 2 * int(throw[4] < 0.5)
        expected = np.rot90(expected, quarters, axes=(1, 2))
        if throw[3] < 0.5:
            expected = expected[:, :, ::-1]
        inner = (slice(None), slice(2, -2), slice(2, -2))  # at the rim, antialiasing finds no neighbours
        difference = np.abs(image[:2].numpy()[inner] * 255 - expected[inner])
        assert difference.max() < 2.5  # rounding of the crop to whole pixels, and of the values


def test_all_eight_positions_occur(ramps):
    low, _, _ = augmented(ramps, Augmentation(1.0))
    signs = set()
    for image in low:
        across, down = image[:, :, -1] - image[:, :, 0], image[:, -1] - image[:, 0]
        signs.add(
            tuple(int(np.sign(round(float(part[c].mean()), 2))) for part in (across, down) for c in (0, 1))
        )
    assert len(signs) == 8


@pytest.mark.parametrize(
    ("options", "positions"),
    [({"flips": False}, 4), ({"turns": False}, 4), ({"flips": False, "turns": False}, 1)],
)
def test_fewer_positions_can_be_chosen(ramps, options, positions):
    low, _, _ = augmented(ramps, Augmentation(1.0, **options))
    assert len({tuple(image.flatten().tolist()) for image in low}) == positions


@pytest.mark.parametrize("layout", ["CHW", "HWC"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("value_range", [(0.0, 1.0), (-1.0, 1.0)])
def test_delivery_has_the_range_layout_and_type(tmp_path, layout, dtype, value_range):
    image = np.zeros((16, 16, 3), np.uint8)
    image[:, 8:] = (255, 128, 0)
    path = tmp_path / "two-halves.png"
    Image.fromarray(image).save(path)
    placement = choose()
    pipeline = pipelines.labelled(
        [str(path)], [5], pipelines.reading(shuffle=False), placement=placement,
        delivery=Delivery((16, 16), dtype, layout, value_range),
        batch_size=1, num_threads=1, device_id=placement.dali_device_id,
    )  # fmt: skip
    images, labels = run(pipeline, ["image", "label"])
    assert images.dtype == dtype
    assert (labels.dtype, labels.tolist()) == (torch.int64, [5])
    low, high = value_range
    expected = torch.from_numpy(image).float() / 255 * (high - low) + low
    if layout == "CHW":
        expected = expected.permute(2, 0, 1)
    assert images.shape == (1, *expected.shape)
    assert (images[0].float() - expected).abs().max() < 2e-3


@pytest.mark.parametrize(
    ("mode", "suffix", "colour", "rgb"),
    [
        ("L", "jpg", 90, (90, 90, 90)),
        ("L", "png", 90, (90, 90, 90)),
        ("RGB", "bmp", (200, 30, 90), (200, 30, 90)),
        ("RGBA", "png", (200, 30, 90, 128), (200, 30, 90)),
        ("RGB", "webp", (200, 30, 90), (200, 30, 90)),
        ("RGB", "tiff", (200, 30, 90), (200, 30, 90)),
    ],
)
def test_labelled_images_are_rgb_whatever_the_file(tmp_path, mode, suffix, colour, rgb):
    path = tmp_path / f"image.{suffix}"
    Image.new(mode, (24, 16), colour).save(path)
    placement = choose()
    pipeline = pipelines.labelled(
        [str(path)], [0], pipelines.reading(), placement=placement, delivery=Delivery((8, 8)),
        batch_size=1, num_threads=1, device_id=placement.dali_device_id,
    )  # fmt: skip
    images, _ = run(pipeline, ["image", "label"])
    assert images.shape == (1, 3, 8, 8)
    assert np.abs(images[0].mean(dim=(1, 2)).numpy() * 255 - rgb).max() < 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 192}, r"size=192: give \(height, width\)"),
        ({"size": (192,)}, r"size=\(192,\)"),
        ({"size": (0, 192)}, r"size=\(0, 192\)"),
        ({"size": (192.0, 192)}, r"size=\(192\.0, 192\)"),
        ({"size": "192"}, r"size='192'"),
        ({"dtype": torch.float64}, r"dtype=torch\.float64: choose one of torch\.float32, torch\.float16"),
        ({"layout": "NCHW"}, r"layout='NCHW': choose one of 'CHW', 'HWC'"),
        ({"value_range": (0, 255)}, r"value_range=\(0, 255\)"),
        ({"interpolation": "bilinear"}, r"interpolation='bilinear': choose one of 'linear'"),
        ({"antialias": "no"}, r"antialias='no'"),
    ],
)
def test_wrong_deliveries_are_refused_by_name(options, message):
    with pytest.raises(ValueError, match=message):
        Delivery(**options)


@pytest.mark.parametrize("smallest", [0, -0.1, 1.5, "half"])
def test_wrong_crops_are_refused(smallest):
    with pytest.raises(ValueError, match="smallest="):
        Augmentation(smallest)


def test_the_article_pipeline_runs_with_its_shortcomings(tmp_path):
    pairs = write_pairs(tmp_path / "pairs", 23)
    loader = ArticleLoader(ArticlePipeline(PairBytes(pairs, 4), choose(), size=(8, 8)))
    epochs = [[(low.cpu(), high.cpu()) for low, high in loader] for _ in range(2)]
    for epoch in epochs:
        numbers = [n for low, high in epoch for n in numbers_in(low)]
        assert numbers == [n for low, high in epoch for n in numbers_in(high)]
        assert set(numbers) == set(range(23))
        assert len(numbers) == 24  # the last batch wrapped round
    assert torch.equal(epochs[0][0][0], epochs[1][0][0])  # shuffled once and for all
    assert len(loader) == 5  # and it gave 6
    assert epochs[0][0][0].shape == (4, 3, 8, 8)
