"""Tileable materials, made once a process from fixed seeds and then only cropped, tinted and warped.

Every tile is a pure function of constants, so what a worker process has cached never changes a pixel.
Tiles that are to be tinted have a mean near 128: multiplied with a colour and divided by 128 they keep it.
"""

from functools import cache

import cv2
import numpy as np

SIZE = 512


@cache
def noise(slope: float, seed: int, size: int = SIZE) -> np.ndarray:
    """Make tileable noise whose power falls as 1/f**slope, as it does in photographs for a slope near 2.

    Returns:
        float32, shape (size, size), mean 0, standard deviation 1.
    """
    spectrum = np.fft.rfft2(np.random.default_rng(seed).standard_normal((size, size), dtype=np.float32))
    fy, fx = np.fft.fftfreq(size)[:, None], np.fft.rfftfreq(size)[None, :]
    radius = np.hypot(fy, fx)
    radius[0, 0] = 1.0
    spectrum *= radius ** (-slope / 2)
    spectrum[0, 0] = 0
    field = np.fft.irfft2(spectrum, s=(size, size)).astype(np.float32)
    return field / field.std()


def stretched(slope: float, seed: int, along: int) -> np.ndarray:
    """Noise drawn out vertically ``along`` times: fibres of wood, streaks of bark and of cloth."""
    return _unit(cv2.resize(noise(slope, seed)[: SIZE // along], (SIZE, SIZE), interpolation=cv2.INTER_CUBIC))


def _unit(field: np.ndarray) -> np.ndarray:
    return (field - field.mean()) / field.std()


def _grey(field: np.ndarray, contrast: float) -> np.ndarray:
    levels = np.clip(128 + contrast * field, 0, 255).astype(np.uint8)
    return cv2.cvtColor(levels, cv2.COLOR_GRAY2RGB)


@cache
def plaster() -> np.ndarray:
    """Wall paint over plaster: broad stains, fine trowel marks."""
    return _grey(noise(2.6, 11) * 0.6 + noise(1.0, 12) * 0.55 + noise(0, 13) * 0.25, 9)


@cache
def asphalt() -> np.ndarray:
    """Road surface: grit with dark patches."""
    grit = cv2.GaussianBlur(noise(0, 21), (0, 0), 0.8)
    return _grey(_unit(grit) * 0.8 + noise(2.2, 22) * 0.9, 15)


@cache
def stone() -> np.ndarray:
    """Rock and cliff: rough at every scale."""
    return _grey(noise(1.9, 31), 30)


@cache
def cloth() -> np.ndarray:
    """Woven cloth: threads in both directions over soft folds."""
    y, x = np.mgrid[:SIZE, :SIZE].astype(np.float32)
    weave = np.sin(x * (2 * np.pi / 4)) * np.sin(y * (2 * np.pi / 4))
    return _grey(weave * 0.5 + noise(0.6, 41) * 0.7 + noise(2.8, 42) * 0.8, 12)


@cache
def wood() -> np.ndarray:
    """Sawn wood, fibres vertical, in browns around (128, 128, 128) so that any tint keeps its hue."""
    x = np.arange(SIZE, dtype=np.float32)[None, :]
    bend = stretched(3.2, 51, 4) * 26 + noise(3.0, 52) * 5
    rings = np.sin((x * (2 * np.pi * 14 / SIZE)) + bend * 0.16) + 0.5 * np.sin(
        x * (2 * np.pi * 37 / SIZE) + bend * 0.3
    )
    fibre = stretched(0.8, 53, 16)
    value = rings * 0.55 + fibre * 0.75 + stretched(2.4, 54, 4) * 0.6
    tile = _grey(value, 15).astype(np.float32)
    tile[..., 2] -= (value * 4).clip(-12, 12)  # dark rings are redder than the light wood between them
    return np.clip(tile, 0, 255).astype(np.uint8)


@cache
def planks() -> np.ndarray:
    """Floor boards along the vertical, eight a tile, staggered joints."""
    rng, board, tile = np.random.default_rng(61), SIZE // 8, np.empty((SIZE, SIZE, 3), np.uint8)
    for column in range(8):
        left = int(rng.integers(0, SIZE - board))
        strip = np.roll(wood()[:, left : left + board], int(rng.integers(SIZE)), axis=0)
        joint = int(rng.integers(SIZE))
        parts = [(0, joint), (joint, SIZE)]
        for top, bottom in parts:
            shade = rng.uniform(0.78, 1.2)
            tile[top:bottom, column * board : (column + 1) * board] = np.clip(
                strip[top:bottom] * shade, 0, 255
            )
        tile[:, column * board : column * board + 2] //= 2
        tile[joint : joint + 2, column * board : (column + 1) * board] //= 2
    return tile


@cache
def bricks() -> np.ndarray:
    """Running-bond masonry, sixteen courses a tile, each brick with its own burn."""
    rng, tall, wide = np.random.default_rng(71), SIZE // 16, SIZE // 8
    tile = np.full((SIZE, SIZE, 3), 168, np.uint8)
    for course in range(16):
        for column in range(9):
            left = column * wide - (course % 2) * wide // 2
            tone = np.clip(rng.normal(120, 17) + rng.normal(0, 6, 3), 60, 190)
            corner = (left + 2, course * tall + 2), (left + wide - 3, course * tall + tall - 3)
            cv2.rectangle(tile, *corner, tone.tolist(), -1)
            cv2.line(tile, (corner[0][0], corner[1][1]), corner[1], (tone * 0.7).tolist(), 1)
    return cv2.multiply(tile, _grey(noise(1.2, 72), 16), scale=1 / 128)


@cache
def small_bricks() -> np.ndarray:
    """Masonry from across the street: ``bricks`` at 0.375 of their size, uint8 (384, 384, 3)."""
    small = cv2.resize(bricks(), (SIZE * 3 // 8, SIZE * 3 // 8), interpolation=cv2.INTER_AREA)
    return np.tile(small, (2, 2, 1))


@cache
def cobbles() -> np.ndarray:
    """Paving stones: rounded cells with dark joints."""
    rng, step = np.random.default_rng(81), 32
    seeds = np.full((SIZE, SIZE), 255, np.uint8)
    for row in range(SIZE // step):
        for column in range(SIZE // step):
            x = int((column + 0.5 * (row % 2) + 0.5) * step + rng.uniform(-5, 5)) % SIZE
            seeds[int((row + 0.5) * step + rng.uniform(-4, 4)) % SIZE, x] = 0
    wrapped = cv2.copyMakeBorder(seeds, step, step, step, step, cv2.BORDER_WRAP)
    reach, label = cv2.distanceTransformWithLabels(wrapped, cv2.DIST_L2, 5, labelType=cv2.DIST_LABEL_PIXEL)
    inner = slice(step, step + SIZE)
    tone = rng.normal(0, 12, label.max() + 1)[label][inner, inner]
    dome = 34 - np.minimum(reach[inner, inner] / (step * 0.56), 1.2) ** 4 * 62
    return cv2.multiply(_grey((dome + tone).astype(np.float32), 1), _grey(noise(1.0, 82), 14), scale=1 / 128)


@cache
def bark() -> np.ndarray:
    """Tree bark: long vertical ridges with cracks."""
    ridges = np.abs(stretched(1.6, 91, 4)) * -1.4 + stretched(1.2, 92, 8) * 0.5 + noise(1.2, 93) * 0.5
    return _grey(_unit(ridges.astype(np.float32)), 32)


@cache
def grass() -> np.ndarray:
    """Meadow seen from above its tips: thousands of blades, dark at the root and light at the tip."""
    rng = np.random.default_rng(101)
    tile = np.full((SIZE, SIZE, 3), 80, np.uint8)
    for y in np.sort(rng.uniform(0, SIZE + 12, 14000)):
        x, length, lean = rng.uniform(0, SIZE), rng.uniform(6, 16), rng.normal(0, 3)
        tone = float(np.clip(rng.normal(134, 27), 50, 235))
        warm = float(rng.normal(0, 10))
        cv2.line(
            tile,
            (int(x * 16), int(y * 16)),
            (int((x + lean) * 16), int((y - length) * 16)),
            (tone + warm, tone + 4, tone - 14 - warm),
            1,
            cv2.LINE_AA,
            4,
        )
    return tile


@cache
def clouds() -> np.ndarray:
    """Cloud density, uint8 of shape (1024, 1024), spread evenly over 0..255."""
    field = noise(3.5, 111, 1024) - 0.22 * np.abs(noise(2.9, 112, 1024))
    return cv2.equalizeHist(np.clip(128 + 38 * field, 0, 255).astype(np.uint8))


@cache
def ripples() -> np.ndarray:
    """Height differences of small waves, float32 of shape (512, 512), standard deviation 1."""
    flat = cv2.resize(noise(2.6, 121)[:, :128], (SIZE, SIZE), interpolation=cv2.INTER_CUBIC)
    return _unit(flat + 0.35 * cv2.resize(noise(1.6, 122)[:, :256], (SIZE, SIZE)))


@cache
def grain() -> np.ndarray:
    """Film grain, float32 of shape (768, 1024, 3), standard deviation about 1, mostly in brightness."""
    rng = np.random.default_rng(131)
    shared = rng.standard_normal((768, 1024, 1), dtype=np.float32)
    own = rng.standard_normal((768, 1024, 3), dtype=np.float32)
    soft = cv2.GaussianBlur(shared + 0.45 * own, (0, 0), 0.6)
    return soft / soft.std()
