"""The CPU competitors: every sample once, pairs stay pairs, pixels agree, errors name files."""

import collections
import itertools
import os
import pickle
from pathlib import Path

import cv2
import damaged_files
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from skimage import data as photographs

from tutorial_utils import cpu_loaders, placement
from tutorial_utils.article_baseline import ArticlePairs
from tutorial_utils.cpu_decoders import load_image
from tutorial_utils.cpu_loaders import (
    EpochShuffle,
    ImageFileError,
    LabelledImages,
    PairImages,
    to_device,
    tuned_loader,
)
from tutorial_utils.data import open_labelled, open_pairs

pytestmark = [
    pytest.mark.usefixtures("private_places"),
    pytest.mark.filterwarnings(
        "ignore:This DataLoader will create"
    ),  # more workers than this machine has cores
]

DECODERS = ("pil", "opencv", "torchvision")
SIZE = (24, 32)
ON_CPU = placement.choose("cpu")


@pytest.fixture
def pairs(tiny_pairs):
    return open_pairs(tiny_pairs)


@pytest.fixture
def labelled(tiny_pairs):
    return open_labelled(tiny_pairs / "by_class")


def numbers(loader, number_of) -> list[int]:
    """Read an epoch: the numbers of the images in order, each checked against its partner."""
    seen = []
    for low, high in loader:
        assert low.shape == high.shape
        for dark, bright in zip(low, high, strict=True):
            assert number_of(dark) == number_of(bright)
            assert dark.mean() < 0.5 * bright.mean()  # low really is the low image
            seen.append(number_of(dark))
    return seen


# Data sets.


@pytest.mark.parametrize("decoder", DECODERS)
def test_pairs_are_float_planes_of_rgb(pairs, decoder, number_of):
    dataset = PairImages(pairs, SIZE, decoder)
    assert len(dataset) == 24
    for index in (0, 7, 23):
        for image in dataset[index]:
            assert (image.shape, image.dtype) == ((3, *SIZE), torch.float32)
            assert image.is_contiguous()
            assert 0 <= image.min() < image.max() <= 1
            assert number_of(image) == index
            red, green, blue = image.mean((1, 2))
            assert red > green > blue  # as drawn: no channel swapped


@pytest.mark.parametrize("decoder", DECODERS)
def test_labelled_images_carry_their_label(labelled, decoder, number_of):
    dataset = LabelledImages(labelled, SIZE, decoder)
    assert len(dataset) == 24
    for index in range(24):
        image, label = dataset[index]
        assert (image.shape, image.dtype, label) == ((3, *SIZE), torch.float32, labelled.labels[index])
        assert number_of(image) % 3 == label
    images, labels = next(iter(tuned_loader(dataset, 8, workers=0)))
    assert (images.shape, labels.shape, labels.dtype) == ((8, 3, *SIZE), (8,), torch.int64)


def test_sizes_default_to_the_articles(pairs, labelled):
    assert PairImages(pairs)[0][0].shape == (3, 192, 192)
    assert LabelledImages(labelled)[0][0].shape == (3, 640, 640)


@pytest.mark.parametrize(
    "size", [192, (192,), (1, 2, 3), (0, 5), (5, -1), (5.0, 5), ("5", "5"), None, (True, 5)]
)
def test_a_wrong_size_is_named(pairs, labelled, size):
    for make in (lambda: PairImages(pairs, size), lambda: LabelledImages(labelled, size)):
        with pytest.raises(ValueError, match=r"size=.*give \(height, width\) in whole pixels"):
            make()


def test_a_wrong_decoder_is_named_with_the_choices(pairs, labelled):
    for make in (lambda: PairImages(pairs, decoder="cv2"), lambda: LabelledImages(labelled, decoder="cv2")):
        with pytest.raises(ValueError, match="decoder='cv2': choose one of 'pil', 'opencv', 'torchvision'"):
            make()


def test_a_wrong_source_is_named(pairs, labelled):
    with pytest.raises(TypeError, match=r"pairs: give what open_pairs\(\) returns, not str"):
        PairImages("data/pairs")
    with pytest.raises(TypeError, match=r"labelled: give what open_labelled\(\) returns, not Pairs"):
        LabelledImages(pairs)


# Decoders.


def save(folder: Path, name: str, data: bytes) -> str:
    (folder / name).write_bytes(data)
    return str(folder / name)


@pytest.mark.parametrize("photograph", ["chelsea", "coffee", "astronaut", "rocket"])
@pytest.mark.parametrize("size", [(192, 192), (640, 640), (192, 640)])
def test_photographs_agree_within_the_stated_bounds(tmp_path, photograph, size):
    image = Image.fromarray(getattr(photographs, photograph)()).resize((500, 375))
    path = save(tmp_path, "photo.jpg", damaged_files.encode(image, "JPEG", quality=95))
    height, width = size
    reference = np.asarray(Image.open(path).resize((width, height), Image.Resampling.BILINEAR), float)
    found = {name: load_image(path, size, name).permute(1, 2, 0).numpy() * 255.0 for name in DECODERS}
    assert np.abs(found["pil"] - reference).max() < 1e-3
    assert np.abs(found["torchvision"] - reference).max() < 1 + 1e-3
    assert np.abs(found["opencv"] - reference).mean() < 1.7
    assert np.percentile(np.abs(found["opencv"] - reference), 99) < 20


@pytest.mark.parametrize("decoder", DECODERS)
def test_shrinking_does_not_alias(tmp_path, decoder):
    # Single-pixel stripes must become even gray, whatever the filter; nearest or plain bilinear would not.
    stripes = np.zeros((240, 240, 3), np.uint8)
    stripes[:, ::2] = 255
    path = save(tmp_path, "stripes.png", damaged_files.encode(Image.fromarray(stripes), "PNG"))
    for size in ((24, 24), (480, 24)):  # the second grows in height while it shrinks in width
        image = load_image(path, size, decoder)[:, :, 2:-2]
        assert image.sub(0.5).abs().max() < 0.06


@pytest.mark.parametrize("turn", range(1, 9))
@pytest.mark.parametrize(
    ("decoder", "kind"),
    [*itertools.product(DECODERS, ["JPEG", "PNG"]), ("pil", "WEBP"), ("opencv", "WEBP")],
)
def test_every_decoder_applies_the_exif_orientation(tmp_path, number_of, draw_number, decoder, turn, kind):
    upright = draw_number(151, 120, 160)
    back = {
        1: None,
        2: Image.Transpose.FLIP_LEFT_RIGHT,
        3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_90,
        7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }[turn]
    stored = upright if back is None else upright.transpose(back)
    path = save(tmp_path, "turned", damaged_files.encode(stored, kind, exif=damaged_files.exif(turn)))
    assert number_of(load_image(path, (60, 80), decoder)) == 151


@pytest.mark.parametrize(
    "name",
    [
        "gray.jpg",
        "cmyk.jpg",
        "gray16.png",
        "color16.png",
        "palette.png",
        "alpha.png",
        "gray_alpha.png",
        "one_bit.png",
    ],
)
def test_other_kinds_of_pixels_become_the_same_rgb(tmp_path, name):
    path = save(tmp_path, name, damaged_files.sound()[name])
    found = [load_image(path, SIZE, decoder) for decoder in DECODERS]
    original = np.asarray(damaged_files.picture().resize(SIZE[::-1], Image.Resampling.BOX), float) / 255
    if name in ("gray.jpg", "gray16.png", "gray_alpha.png", "one_bit.png"):
        assert all((image[0] == image[2]).all() for image in found)
    else:
        assert np.abs(found[0].permute(1, 2, 0).numpy() - original).mean() < 0.03
    for image in found[1:]:
        # Black and white dots leave the filters the most to differ in.
        assert image.sub(found[0]).abs().mean() < (0.1 if name == "one_bit.png" else 0.02)


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("name", ["web_page.jpg", "empty.jpg", "cut_at_100.jpg"])
def test_a_bad_file_is_named(tmp_path, decoder, name):
    bad = {**damaged_files.foreign(), **damaged_files.damaged_jpegs()}[name]
    path = save(tmp_path, name, bad)
    with pytest.raises(ImageFileError, match=rf"{path}: {decoder} cannot load it .*open_pairs\(\)"):
        load_image(path, SIZE, decoder)


@pytest.mark.parametrize("decoder", DECODERS)
def test_a_missing_file_is_named(tmp_path, decoder):
    with pytest.raises(ImageFileError, match=rf"{tmp_path}/gone\.jpg: {decoder} cannot load it"):
        load_image(f"{tmp_path}/gone.jpg", SIZE, decoder)


@pytest.mark.parametrize("decoder", DECODERS)
def test_a_truncated_file_is_refused(tmp_path, decoder):
    data = damaged_files.sound()["plain.jpg"]
    path = save(tmp_path, "cut.jpg", data[: len(data) // 2])
    with pytest.raises(ImageFileError, match=r"cut\.jpg"):
        load_image(path, SIZE, decoder)
    assert cv2.imread(path) is not None  # why imread is not used


def test_torchvision_refuses_what_it_would_show_lying(tmp_path):
    path = save(tmp_path, "turned.webp", damaged_files.sound()["turned.webp"])
    with pytest.raises(ImageFileError, match="does not turn WebP files"):
        load_image(path, SIZE, "torchvision")
    path = save(tmp_path, "plain.webp", damaged_files.sound()["plain.webp"])
    assert load_image(path, SIZE, "torchvision").shape == (3, *SIZE)


# Epochs.


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("batch_size", [1, 7, 24, 100])
def test_an_epoch_delivers_every_pair_once(pairs, number_of, workers, batch_size):
    loader = tuned_loader(PairImages(pairs, SIZE), batch_size, workers=workers)
    assert sorted(numbers(loader, number_of)) == list(range(24))
    assert len(loader) == -(-24 // batch_size)


@pytest.mark.parametrize("decoder", DECODERS)
def test_unshuffled_epochs_keep_the_order_of_names(pairs, number_of, decoder):
    loader = tuned_loader(PairImages(pairs, SIZE, decoder), 5, workers=2, shuffle=False)
    for _ in range(2):
        assert numbers(loader, number_of) == list(range(24))


def test_dropping_the_last_batch(pairs, number_of):
    loader = tuned_loader(PairImages(pairs, SIZE), 7, workers=0, drop_last=True)
    seen = numbers(loader, number_of)
    assert len(seen) == len(set(seen)) == 21


def test_epochs_differ_and_repeat_by_seed_whatever_the_workers(pairs, number_of):
    def epochs(seed: int, workers: int, persistent: bool = True) -> list[list[int]]:
        dataset = PairImages(pairs, SIZE)
        loader = tuned_loader(dataset, 5, workers=workers, seed=seed, persistent_workers=persistent)
        return [numbers(loader, number_of) for _ in range(3)]

    expected = epochs(seed=3, workers=0)
    assert len({tuple(epoch) for epoch in expected}) == 3
    assert epochs(seed=3, workers=2) == expected
    assert epochs(seed=3, workers=1, persistent=False) == expected
    assert epochs(seed=4, workers=0)[0] != expected[0]


@pytest.mark.parametrize("workers", [0, 2])
def test_an_epoch_that_is_broken_off_changes_no_later_one(pairs, number_of, workers):
    whole = tuned_loader(PairImages(pairs, SIZE), 5, workers=workers)
    expected = [numbers(whole, number_of) for _ in range(2)][1]
    broken = tuned_loader(PairImages(pairs, SIZE), 5, workers=workers)
    for _ in broken:
        break
    assert numbers(broken, number_of) == expected


@given(st.integers(1, 300), st.integers(0, 2**63))
@settings(deadline=None)
def test_every_shuffle_is_a_permutation(count, seed):
    sampler = EpochShuffle(count, seed)
    first = list(sampler)
    assert sorted(first) == list(range(count)) == sorted(sampler)
    assert list(EpochShuffle(count, seed)) == first
    assert len(sampler) == count


def test_spawned_workers_serve_as_well(pairs, number_of):
    loader = tuned_loader(PairImages(pairs, SIZE), 12, workers=1)
    loader.multiprocessing_context = "spawn"
    assert sorted(numbers(loader, number_of)) == list(range(24))


def test_data_sets_can_be_pickled(pairs, labelled, number_of):
    low, _ = pickle.loads(pickle.dumps(PairImages(pairs, SIZE)))[5]
    assert number_of(low) == 5
    image, label = pickle.loads(pickle.dumps(LabelledImages(labelled, SIZE)))[5]
    assert number_of(image) % 3 == label


@pytest.mark.parametrize("workers", [0, 1])
def test_a_bad_file_met_in_an_epoch_is_named(own_pairs, workers):
    pairs = open_pairs(own_pairs)
    Path(pairs.high[9]).write_bytes(b"<html>")  # after the scan
    loader = tuned_loader(PairImages(pairs, SIZE), 4, workers=workers)
    with pytest.raises(ImageFileError, match=rf"{pairs.high[9]}: pil cannot load it"):
        list(loader)


# The loader's settings.


class Settings(torch.utils.data.Dataset):
    """Tell from inside a worker how many threads it may use."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return torch.get_num_threads(), cv2.getNumThreads()


def test_workers_decode_on_one_thread_each():
    torch_threads, opencv_threads = next(iter(tuned_loader(Settings(), 4, workers=1)))
    assert set(torch_threads.tolist()) == {1}
    assert set(opencv_threads.tolist()) == {1}


@pytest.mark.parametrize("cores", [1, 2, 48])
def test_by_default_every_allowed_core_has_a_worker(pairs, monkeypatch, cores):
    monkeypatch.setattr(cpu_loaders, "cores", lambda: cores)
    assert tuned_loader(PairImages(pairs), 4).num_workers == cores


def test_on_one_core_an_epoch_is_complete(pairs, number_of, monkeypatch):
    monkeypatch.setattr(cpu_loaders, "cores", lambda: 1)
    assert sorted(numbers(tuned_loader(PairImages(pairs, SIZE), 5), number_of)) == list(range(24))


def test_memory_is_pinned_if_there_is_a_gpu(pairs, monkeypatch):
    for has_gpu in (False, True):
        chosen = placement.Placement("pretended", torch.device("cpu"), 0 if has_gpu else None, "cpu", "cpu")
        monkeypatch.setattr(cpu_loaders, "choose", lambda chosen=chosen: chosen)
        assert tuned_loader(PairImages(pairs), 4).pin_memory is has_gpu
    assert tuned_loader(PairImages(pairs), 4, pin_memory=False).pin_memory is False


def test_settings_reach_the_loader(pairs):
    loader = tuned_loader(PairImages(pairs), 4, workers=3, prefetch_factor=5, persistent_workers=False)
    assert (loader.num_workers, loader.prefetch_factor, loader.persistent_workers) == (3, 5, False)
    assert tuned_loader(PairImages(pairs), 4, workers=3).persistent_workers is True


@pytest.mark.parametrize(
    ("name", "value", "least"),
    [
        ("batch_size", 0, 1),
        ("batch_size", 2.5, 1),
        ("batch_size", None, 1),
        ("workers", -1, 0),
        ("workers", "4", 0),
        ("workers", True, 0),
        ("prefetch_factor", 0, 1),
        ("seed", -1, 0),
        ("seed", 0.5, 0),
    ],
)
def test_wrong_settings_are_named_at_once(pairs, name, value, least):
    arguments = {"batch_size": 4, "workers": 0, name: value}
    with pytest.raises(ValueError, match=rf"{name}={value!r}: give a whole number from {least} on"):
        tuned_loader(PairImages(pairs), **arguments)


def test_an_unusable_data_set_is_told():
    with pytest.raises(TypeError, match="has no length"):
        tuned_loader(iter([1, 2]), 4)
    with pytest.raises(ValueError, match="it is empty"):
        tuned_loader([], 4)


# Moving to a device.

Named = collections.namedtuple("Named", "image label")


def test_batches_move_whatever_their_structure():
    image, label = torch.zeros(2, 3), torch.ones(2)
    batches = [
        image,
        (image, label),
        [image, label],
        {"a": image, "b": [label]},
        Named(image, label),
        ("name", 3),
    ]
    meta = placement.Placement("no memory", torch.device("meta"), None, "cpu", "cpu")
    moved = list(to_device(batches, meta))
    assert moved[0].device.type == "meta"
    assert [type(batch) for batch in moved] == [type(batch) for batch in batches]
    assert moved[3]["b"][0].device.type == moved[4].label.device.type == "meta"
    assert moved[5] == ("name", 3)


def test_on_a_cpu_batches_pass_through_uncopied():
    image = torch.zeros(2)
    assert next(iter(to_device([image], ON_CPU))) is image


def test_a_moving_loader_has_the_length_and_the_epochs_of_its_source(pairs, number_of):
    loader = to_device(tuned_loader(PairImages(pairs, SIZE), 5, workers=0), ON_CPU)
    assert len(loader) == 5
    for _ in range(2):
        assert sorted(numbers(loader, number_of)) == list(range(24))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_batches_arrive_on_the_gpu(pairs):
    chosen = placement.choose("gpu")
    source = tuned_loader(PairImages(pairs, SIZE), 5, workers=2, shuffle=False)
    on_cpu = list(tuned_loader(PairImages(pairs, SIZE), 5, workers=0, shuffle=False))
    for (low, high), (low_cpu, high_cpu) in zip(to_device(source, chosen), on_cpu, strict=True):
        assert low.device == high.device == chosen.torch_device
        assert torch.equal(low.cpu(), low_cpu)
        assert torch.equal(high.cpu(), high_cpu)


# The article's baseline, defects and all.


@pytest.fixture
def listings(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Record every listing of a folder; names come in an order of their own, as on a real disk."""
    seen, real = [], os.listdir

    def listdir(path):
        seen.append(Path(path))
        return sorted(real(path), key=lambda name: name[::-1])

    monkeypatch.setattr("tutorial_utils.article_baseline.os.listdir", listdir)
    return seen


def test_the_article_lists_both_folders_for_every_sample(tiny_pairs, listings):
    dataset = ArticlePairs(tiny_pairs, SIZE)
    listings.clear()
    for index in range(5):
        _ = dataset[index]
    assert listings == [tiny_pairs / "low", tiny_pairs / "high"] * 5
    once = ArticlePairs(tiny_pairs, SIZE, lists_every_time=False)
    listings.clear()
    for index in range(5):
        _ = once[index]
    assert listings == []


def test_the_article_reads_the_low_folder_for_both(tiny_pairs, number_of):
    for index in range(24):
        low, high = ArticlePairs(tiny_pairs, SIZE)[index]
        assert low.mean() < 0.3
        assert high.mean() < 0.3
    low, high = ArticlePairs(tiny_pairs, SIZE, reads_low_twice=False)[0]
    assert number_of(low) >= 0
    assert high.mean() > 2 * low.mean()


def test_the_article_takes_files_in_the_order_of_listing(tiny_pairs, listings, number_of):
    dataset = ArticlePairs(tiny_pairs, SIZE, lists_every_time=False, reads_low_twice=False)
    order = [number_of(dataset[index][0]) for index in range(len(dataset))]
    assert order == sorted(range(24), key=lambda number: f"{number:04d}.jpg"[::-1])
    assert order != list(range(24))


def test_the_article_delivers_what_its_transforms_make(tiny_pairs):
    for image in ArticlePairs(tiny_pairs)[0]:
        assert (image.shape, image.dtype) == ((3, 192, 192), torch.float32)
        assert 0 <= image.min() < image.max() <= 1


def test_the_article_runs_in_a_loader_of_its_kind(tiny_pairs):
    loader = torch.utils.data.DataLoader(ArticlePairs(tiny_pairs, SIZE), batch_size=8, num_workers=2)
    assert sum(len(low) for low, _ in loader) == 24


def test_the_article_without_its_defects_delivers_the_tuned_pixels(tiny_pairs, pairs, listings):
    article = ArticlePairs(tiny_pairs, SIZE, lists_every_time=False, reads_low_twice=False)
    order = sorted(range(24), key=lambda number: f"{number:04d}.jpg"[::-1])
    correct = PairImages(pairs, SIZE)
    for index in (0, 11):
        for ours, theirs in zip(correct[order[index]], article[index], strict=True):
            assert torch.allclose(ours, theirs, atol=1e-6)


def test_the_article_needs_both_folders(tmp_path):
    (tmp_path / "low").mkdir()
    with pytest.raises(FileNotFoundError, match="high"):
        ArticlePairs(tmp_path)
