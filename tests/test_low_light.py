"""The low-light model: dark, uneven, noisy as sensors are, tinted, deterministic, for any picture."""

import multiprocessing
import tracemalloc
from itertools import pairwise

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data_scripts import low_light
from data_scripts.low_light import darken
from data_scripts.scenes import KINDS, render


def linear(image: np.ndarray) -> np.ndarray:
    """Decode sRGB by the formula of IEC 61966-2-1."""
    v = image / 255
    return np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4)


def flat(level: int, height: int = 256, width: int = 256) -> np.ndarray:
    return np.full((height, width, 3), level, np.uint8)


def blocks(values: np.ndarray, size: int) -> np.ndarray:
    """Cut (H, W) into squares: (rows, columns, size * size)."""
    rows, columns = values.shape[0] // size, values.shape[1] // size
    cut = values[: rows * size, : columns * size].reshape(rows, size, columns, size)
    return cut.swapaxes(1, 2).reshape(rows, columns, size * size)


@given(height=st.integers(1, 300), width=st.integers(1, 300), seed=st.integers(0, 2**64))
@settings(max_examples=40, deadline=None)
def test_any_size_keeps_shape_and_type_and_repeats_itself(height, width, seed):
    image = np.random.default_rng(0).integers(0, 256, (height, width, 3), np.uint8)
    original = image.copy()
    low = darken(image, seed)
    assert low.shape == image.shape
    assert low.dtype == np.uint8
    assert np.array_equal(image, original), "the picture itself is untouched"
    assert np.array_equal(darken(image, seed), low)


@given(seed=st.integers(0, 2**64), level=st.integers(48, 255), side=st.integers(16, 64))
@settings(max_examples=60, deadline=None)
def test_pictures_get_darker(seed, level, side):
    assert darken(flat(level, side, side), seed).mean() < level


@pytest.mark.parametrize("index", range(len(KINDS)))
def test_scenes_get_much_darker_but_not_black(index):
    image = render(index).image
    ratio = linear(darken(image, (0, index))).mean() / linear(image).mean()
    assert 0.01 < ratio < 0.45


def test_bright_and_dark_areas_lie_side_by_side():
    """The brightest twentieth of a flat wall gets 1.5 times the light of the darkest or more, mostly 3."""
    image, factors = flat(180, 240, 320), []
    for seed in range(40):
        ratio = blocks(linear(darken(image, seed)).mean(axis=2) / linear(image).mean(axis=2), 16).mean(axis=2)
        low, high = np.percentile(ratio, (5, 95))
        factors.append(high / low)
    print(f"\nbright by dark areas: {np.percentile(factors, (0, 50, 100)).round(1)}")
    assert min(factors) > 1.5
    assert np.median(factors) > 3


def test_light_gathers_where_the_picture_is_bright():
    """A lamp in a dark picture is likelier inside a pool of light than its mirror place is."""
    image = flat(20, 192, 256)
    cv2.circle(image, (64, 96), 20, (255, 250, 230), -1)
    ahead = 0
    for seed in range(60):
        field = low_light.draw_illumination(image, np.random.default_rng(seed)).mean(axis=2)
        rows, columns = field.shape
        ahead += field[rows // 2, columns // 4] > field[rows // 2, columns * 3 // 4]
    assert ahead > 38, ahead


def test_noise_grows_with_the_signal_as_shot_noise_does():
    """Variance rises with the signal in linear light, while the noise relative to the signal falls."""
    # Stripes of four levels under the same light: each 8x8 block is one level, flat but for the light.
    image = flat(0, 256, 256)
    for index, level in enumerate((60, 120, 180, 250)):
        for left in range(index * 8, 256, 32):
            image[:, left : left + 8] = level
    signal, variance = [], []
    for seed in range(12):
        got = linear(darken(image, seed))[..., 1]
        signal.append(blocks(got, 8).mean(axis=2).ravel())
        # Differences of neighbours in a row: the light's slope and the rows' offsets drop out.
        steps = np.diff(got.reshape(256, 32, 8), axis=2)
        variance.append(
            (steps.reshape(32, 8, 32, 7).swapaxes(1, 2).reshape(32, 32, -1) ** 2).mean(axis=2).ravel() / 2
        )
    signal, variance = np.concatenate(signal), np.concatenate(variance)
    order = np.argsort(signal)
    bins = [part[len(part) // 4 : -1] for part in np.array_split(order, 8)][3:]
    means, noise = [signal[b].mean() for b in bins], [np.median(variance[b]) for b in bins]
    print("\nsignal", np.round(means, 4), "variance", np.round(np.array(noise) * 1e6, 2), "e-6")
    assert all(a < b for a, b in pairwise(noise)), "more light, more noise"
    relative = np.sqrt(noise) / means
    assert all(a > b for a, b in pairwise(relative)), "but less of it for the signal"
    assert noise[-1] > 3 * noise[0]


def test_noise_spreads_to_neighbours_and_is_coloured():
    """Demosaicing: white noise would have no correlation; and channels do not share their noise."""
    got = darken(flat(150, 512, 512), 7).astype(float)
    noise = got - cv2.GaussianBlur(got, (0, 0), 12)
    for channel in range(3):
        n = noise[..., channel]
        assert np.corrcoef(n[:, 1:].ravel(), n[:, :-1].ravel())[0, 1] > 0.15
    assert abs(np.corrcoef(noise[..., 0].ravel(), noise[..., 2].ravel())[0, 1]) < 0.3


def test_grey_pictures_get_a_cast_that_differs_from_picture_to_picture():
    warmth = []
    for seed in range(40):
        red, _, blue = linear(darken(flat(170, 64, 64), seed)).mean(axis=(0, 1))
        warmth.append(np.log(red / blue))
    assert np.mean(np.abs(warmth) > 0.05) > 0.8, "nearly all are tinted"
    assert np.std(warmth) > 0.1
    assert min(warmth) < 0 < max(warmth), "some cold, some warm"


def test_black_stays_near_black():
    for seed in range(30):
        assert darken(flat(0, 64, 64), seed).mean() < 12


def test_the_noise_is_not_repeated_within_a_picture():
    """In a picture up to 640x1024 no patch of noise is found a second time."""
    got = darken(flat(160, 640, 1024), 3).astype(np.float32)
    noise = (got - cv2.GaussianBlur(got, (0, 0), 6))[..., 1]
    noise = (noise - noise.mean()) / noise.std()
    for top, left in ((40, 60), (300, 420), (500, 700)):
        patch = noise[top : top + 24, left : left + 24]
        match = cv2.matchTemplate(noise, patch, cv2.TM_CCOEFF_NORMED)
        match[top - 1 : top + 2, left - 1 : left + 2] = 0
        assert match.max() < 0.5


def test_strips_join_without_a_seam():
    """Rows are computed in strips; on a wide flat wall neighbouring rows differ no more at a joint."""
    rows = linear(darken(flat(200, 640, 1600), 11)).mean(axis=(1, 2))
    jumps = np.abs(np.diff(rows))
    joints = jumps[low_light._STRIP - 1 :: low_light._STRIP]
    assert joints.max() <= 1.2 * np.sort(jumps)[-8]


def test_seeds_are_told_apart_and_may_be_tuples():
    image = flat(140, 40, 50)
    results = {darken(image, seed).tobytes() for seed in (0, 1, (0, 1), (1, 0), (0, 0, 1))}
    assert len(results) == 5


def digest(index: int) -> bytes:
    return darken(render(index).image, (3, index)).tobytes()


def test_the_result_depends_on_neither_threads_nor_order_nor_process():
    before = cv2.getNumThreads()
    try:
        cv2.setNumThreads(1)
        expected = [digest(index) for index in range(4)]
        cv2.setNumThreads(4)
        assert [digest(index) for index in (3, 1, 0, 2)] == [expected[i] for i in (3, 1, 0, 2)]
        assert cv2.getNumThreads() == 4, "left as it was"
    finally:
        cv2.setNumThreads(before)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(digest, [2, 0, 3, 1], chunksize=1) == [expected[i] for i in (2, 0, 3, 1)]


def test_any_memory_layout_and_read_only_pictures_are_taken():
    image = render(0).image
    image.flags.writeable = False
    expected = darken(np.ascontiguousarray(image[::-1, ::-1]), 5)
    assert np.array_equal(darken(image[::-1, ::-1], 5), expected)
    assert np.array_equal(darken(np.asfortranarray(image), 5), darken(image, 5))


def test_memory_is_bounded_on_a_large_picture():
    image = flat(90, 3000, 4000)
    darken(flat(90), 0)  # the noise bank, once a process
    tracemalloc.start()
    try:
        result = darken(image, 0)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    extra = (peak - result.nbytes) / 2**20
    print(f"\n{result.nbytes / 2**20:.0f} MB picture: {extra:.0f} MB beside the result")
    assert extra < 60


@pytest.mark.parametrize(("height", "width"), [(1, 1), (1, 4000), (4000, 1), (2, 2), (129, 3)])
def test_extreme_shapes(height, width):
    assert darken(flat(255, height, width), 1).shape == (height, width, 3)


def test_illumination_stays_within_its_bounds():
    for seed in range(30):
        field = low_light.draw_illumination(flat(200, 30, 200), np.random.default_rng(seed))
        assert field.dtype == np.float32
        assert max(field.shape[:2]) <= 48
        assert 0.01 <= field.min() < field.max() <= 0.8


def test_the_srgb_table_is_the_standards():
    assert np.allclose(low_light._DECODE, linear(np.arange(256)), atol=1e-6)
    straight = low_light._tone_curve(0.0)
    levels = np.rint(linear(np.arange(256)) * (low_light._CURVE_STEPS - 1)).astype(int)
    assert np.abs(straight[levels].astype(int) - np.arange(256)).max() <= 1, "encoding undoes decoding"
    assert (np.diff(low_light._tone_curve(0.3).astype(int)) >= 0).all(), "brighter never gets darker"
    assert low_light._tone_curve(0.3)[200] < straight[200], "the toe deepens shadows"


@pytest.mark.parametrize(
    ("image", "seed", "error", "says"),
    [
        (np.zeros((4, 4, 3), np.float32), 0, TypeError, "uint8"),
        (np.zeros((4, 4, 3), np.uint16), 0, TypeError, "uint8"),
        (np.zeros((4, 4), np.uint8), 0, ValueError, r"\(H, W, 3\)"),
        (np.zeros((4, 4, 4), np.uint8), 0, ValueError, r"\(H, W, 3\)"),
        (np.zeros((0, 4, 3), np.uint8), 0, ValueError, r"\(H, W, 3\)"),
        (np.zeros((4, 4, 3), np.uint8), -1, ValueError, "non-negative"),
    ],
)
def test_what_cannot_be_darkened_is_refused_in_words(image, seed, error, says):
    with pytest.raises(error, match=says):
        darken(image, seed)
