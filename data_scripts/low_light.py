"""The low-light twin of a picture, by a physical model of the light and of the camera.

Low light is more than less brightness. What a camera delivers in the dark follows from this chain,
computed in linear light:

1. sRGB is decoded to light intensity.
2. The even light of the picture is replaced by a dim, uneven one: a weak ambient light with a
   gradient, a few soft pools (some of them around what is bright already: lamps, windows), the
   lens's vignetting. Bright and dark areas lie side by side, and each pool has its own colour.
3. The sensor counts photons: shot noise, whose variance grows with the signal, and read noise, which
   does not; the colour channels differ in sensitivity, so the white balance amplifies their noise
   differently. Demosaicing makes the noise spread to neighbours, most of all in colour, and reading
   out row by row adds faint stripes.
4. The white balance is a little off: a colour cast.
5. A tone curve with a toe, then sRGB encoding.

Used by ``data_scripts.make_pairs`` for generated scenes and for anyone's photographs (lessons 00 and 01).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import cv2
import numpy as np

from data_scripts.opencv import in_this_thread

_GRID = 48  # samples of the illumination along the picture's longer side
_STRIP = 64  # rows processed at once: what bounds the memory on large pictures; divides _NOISE_ROWS
_NOISE_ROWS, _NOISE_COLUMNS = 640, 1024
_CURVE_STEPS = 16_384


@dataclass(frozen=True)
class Camera:
    """What a camera does to the light, drawn anew for each picture.

    Attributes:
        shot: variance of the shot noise for each unit of signal (signal 1 is white in the bright twin).
        read: standard deviation of the read noise.
        rows: standard deviation of the offset of each row.
        gains: white-balance gains of red, green and blue; they amplify each channel's noise.
        cast: how far off the white balance is: factors on red, green and blue around 1.
        toe: strength of the tone curve's toe, 0 for none.
    """

    shot: float
    read: float
    rows: float
    gains: tuple[float, float, float]
    cast: tuple[float, float, float]
    toe: float


def darken(image: np.ndarray, seed: int | tuple[int, ...]) -> np.ndarray:
    """Photograph a picture in low light; every ``low`` image of lessons 00 and 01.

    The result is darker on average wherever the picture is not black already, and depends on
    nothing but the arguments: not on threads, not on what was darkened before.

    Args:
        image: uint8, shape (H, W, 3), RGB; any H and W from 1.
        seed: non-negative int, or a tuple of them such as (set's seed, index).

    Returns:
        uint8, shape (H, W, 3), RGB; a new array. Beside it, memory stays within some tens of MB.

    Raises:
        TypeError: the image is not uint8.
        ValueError: the shape is not (H, W, 3) with H and W from 1, or a seed is negative.
    """
    if image.dtype != np.uint8:
        raise TypeError(f"darken wants uint8 pixels, got {image.dtype}; scale to 0..255 and convert first")
    if image.ndim != 3 or image.shape[2] != 3 or 0 in image.shape:
        raise ValueError(f"darken wants an RGB image of shape (H, W, 3), got {image.shape}")
    parts = seed if isinstance(seed, tuple) else (seed,)
    # The length goes first: numpy takes (1, 0) for the same seed as 1.
    rng = np.random.default_rng((len(parts), *parts))
    image = np.ascontiguousarray(image)
    with in_this_thread():
        return _photograph(image, draw_illumination(image, rng), draw_camera(rng), rng)


def _photograph(image: np.ndarray, light: np.ndarray, camera: Camera, rng: np.random.Generator) -> np.ndarray:
    """Take the picture under ``light`` with ``camera``, strip by strip of its rows."""
    height, width = image.shape[:2]
    # Columns first, once; rows then need only two of these lines each. From here on a row of
    # pixels is one line of 3 * W values: numpy is several times slower on an axis of length 3.
    lines = cv2.resize(light, (width, light.shape[0]), interpolation=cv2.INTER_LINEAR).reshape(
        light.shape[0], -1
    )
    curve = _tone_curve(round(camera.toe, 2))
    result = np.empty_like(image)
    start = (0, 0)
    for top in range(0, height, _STRIP):
        if top % _NOISE_ROWS == 0:
            start = int(rng.integers(_NOISE_ROWS // _STRIP)) * _STRIP, int(rng.integers(_NOISE_COLUMNS))
        linear = cv2.LUT(image[top : top + _STRIP], _DECODE).reshape(-1, width * 3)
        linear *= _rows_between(lines, top, linear.shape[0], height)
        _expose(linear, camera, (start[0] + top, start[1]), rng)
        linear *= _CURVE_STEPS - 1
        np.clip(linear, 0, _CURVE_STEPS - 1, out=linear)
        curve.take(linear.astype(np.intp), out=result[top : top + _STRIP].reshape(linear.shape), mode="clip")
    return result


def draw_camera(rng: np.random.Generator) -> Camera:
    """Choose a camera and its state: sensitivity, noise, white balance, tone curve."""
    gain = rng.uniform(0.4, 1.0)
    cast = np.exp(rng.normal(0, (0.11, 0.04, 0.13)))
    return Camera(
        shot=float(1.6e-3 * gain),
        read=float(rng.uniform(0.0012, 0.0045) * gain),
        rows=float(rng.uniform(0.0, 0.0008)),
        gains=(float(rng.uniform(1.5, 2.2)), 1.0, float(rng.uniform(1.4, 2.4))),
        cast=tuple((cast / cast.max()).tolist()),
        toe=float(rng.uniform(0.0, 0.35)),
    )


def draw_illumination(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Choose the light of the dark scene, as a factor on the picture's linear light.

    Args:
        image: uint8, (H, W, 3), RGB; where it is bright, a pool of light is likelier.
        rng: source of the choices.

    Returns:
        float32, (rows, columns, 3), every value within 0.01 and 0.8; at most 48 samples a side.
    """
    height, width = image.shape[:2]
    longer = max(height, width)
    rows, columns = max(2, round(_GRID * height / longer)), max(2, round(_GRID * width / longer))
    y = (np.arange(rows, dtype=np.float32)[:, None] + 0.5) / rows * (height / longer)
    x = (np.arange(columns, dtype=np.float32)[None, :] + 0.5) / columns * (width / longer)
    ambient = float(np.exp(rng.uniform(np.log(0.035), np.log(0.11))))
    angle, slope = rng.uniform(0, 2 * np.pi), rng.uniform(0.2, 0.8)
    field = np.empty((rows, columns, 3), np.float32)
    tilt = ambient * (1 + slope * (np.cos(angle) * (x - x.mean()) + np.sin(angle) * (y - y.mean())) * 2).clip(
        0.25, 2
    )
    field[:] = tilt[..., None] * np.array(_temperature(rng.uniform(-1, 0.4)), np.float32)
    for py, px in _pool_places(image, rng, rows, columns):
        reach, stretch, turn = rng.uniform(0.1, 0.34), rng.uniform(0.6, 1.7), rng.uniform(0, np.pi)
        dy, dx = y - y[py, 0], x - x[0, px]
        u, v = dx * np.cos(turn) + dy * np.sin(turn), dy * np.cos(turn) - dx * np.sin(turn)
        # Falls off like a lamp at some height over a surface: a core, and a long faint skirt.
        pool = 1 / (1 + (u * u * stretch + v * v / stretch) / (reach * reach)) ** 2
        power = float(rng.uniform(0.14, 0.5))
        field += (power * pool)[..., None] * np.array(_temperature(rng.uniform(-0.2, 1)), np.float32)
    radius = ((x - x.mean()) ** 2 + (y - y.mean()) ** 2) / max(float(x.max() - x.min()) ** 2 / 4, 1e-3)
    field *= (1 / (1 + rng.uniform(0.05, 0.3) * radius) ** 2)[..., None]
    return field.clip(0.01, 0.8).astype(np.float32)


def _pool_places(
    image: np.ndarray, rng: np.random.Generator, rows: int, columns: int
) -> list[tuple[int, int]]:
    """Choose the middles of the pools on the grid, some at bright places, some anywhere."""
    # Every k-th pixel is enough to find what is bright, and as quick on a large picture as on a small one.
    step = max(1, min(image.shape[:2]) // 256)
    small = cv2.resize(
        np.ascontiguousarray(image[::step, ::step]), (columns, rows), interpolation=cv2.INTER_AREA
    )
    bright = small.max(axis=2).astype(np.float64).ravel() ** 4 + 1.0
    share = np.cumsum(bright / bright.sum())
    places = []
    for _ in range(int(rng.integers(1, 5))):
        if rng.random() < 0.6:
            at = min(int(np.searchsorted(share, rng.random())), rows * columns - 1)
            places.append(divmod(at, columns))
        else:
            places.append((int(rng.integers(rows)), int(rng.integers(columns))))
    return places


def _temperature(warmth: float) -> tuple[float, float, float]:
    """Colour of a light from -1 (moonlight, blue) over 0 (neutral) to 1 (candle, orange), none above 1."""
    if warmth >= 0:
        return 1.0, 1 - 0.28 * warmth, 1 - 0.62 * warmth
    return 1 + 0.38 * warmth, 1 + 0.16 * warmth, 1.0


def _rows_between(lines: np.ndarray, top: int, count: int, height: int) -> np.ndarray:
    """Interpolate the illumination for ``count`` rows from ``top``: float32 (count, W * 3)."""
    last = lines.shape[0] - 1
    at = ((np.arange(top, top + count) + 0.5) * (lines.shape[0] / height) - 0.5).clip(0, last)
    first = np.minimum(at.astype(np.intp), last - 1)
    result, step = lines.take(first, axis=0), lines.take(first + 1, axis=0)
    step -= result
    step *= (at - first).astype(np.float32)[:, None]
    result += step
    return result


def _expose(linear: np.ndarray, camera: Camera, start: tuple[int, int], rng: np.random.Generator) -> None:
    """Add the sensor's noise, read from the bank at ``start``, to a strip of rows in place, and the cast."""
    rows, pixels = linear.shape[0], linear.shape[1] // 3

    def each_pixel(values: list[float]) -> np.ndarray:
        return np.tile(np.array(values, np.float32), pixels)

    sigma = linear * each_pixel([camera.shot * gain for gain in camera.gains])
    sigma += each_pixel([(camera.read * gain) ** 2 for gain in camera.gains])
    cv2.sqrt(sigma, dst=sigma)
    for left, right, noise in _noise(start, rows, pixels):
        sigma[:, left * 3 : right * 3] *= noise
    linear += sigma
    linear += rng.normal(0, camera.rows, (rows, 1)).astype(np.float32)
    linear *= each_pixel(list(camera.cast))


def _noise(start: tuple[int, int], rows: int, pixels: int) -> Iterator[tuple[int, int, np.ndarray]]:
    """Cover a strip with pieces of the noise bank: from column, to column, float32 (rows, columns * 3).

    The bank is walked like a torus, so nothing comes twice in a picture up to its size. Every further
    width of it takes other rows and begins elsewhere.
    """
    bank, left = _noise_bank(), 0
    while left < pixels:
        width, within = divmod(left, _NOISE_COLUMNS)
        y = (start[0] + 2 * _STRIP * width) % _NOISE_ROWS
        x = (start[1] + 389 * width + within) % _NOISE_COLUMNS
        right = min(left + _NOISE_COLUMNS - max(x, within), pixels)
        yield left, right, bank[y : y + rows, x * 3 : (x + right - left) * 3]
        left = right


@cache
def _noise_bank() -> np.ndarray:
    """Sensor noise after demosaicing, float32 (640, 1024 * 3), rows of RGB, unit variance in each channel.

    Drawn once from a fixed seed and read from a random place on: forty times as fast as fresh
    numbers. Part of the noise is blotches some pixels wide, more of it in red and blue (three
    quarters of a colour sensor's red and blue values are interpolated) than in green, which is
    sampled twice as densely.
    """
    rng = np.random.default_rng(20_190_401)
    fine = rng.standard_normal((_NOISE_ROWS, _NOISE_COLUMNS, 3), dtype=np.float32)
    mixed = np.empty_like(fine)
    for channel, (blur, share) in enumerate(((0.75, 0.5), (0.5, 0.25), (0.75, 0.55))):
        sharp = cv2.GaussianBlur(fine[..., channel], (0, 0), blur)
        blotch = cv2.GaussianBlur(rng.standard_normal(sharp.shape, dtype=np.float32), (0, 0), 2.4)
        mixed[..., channel] = sharp / sharp.std() * (1 - share * share) ** 0.5 + blotch / blotch.std() * share
    return (mixed / mixed.std(axis=(0, 1))).reshape(_NOISE_ROWS, -1)


def _decode_table() -> np.ndarray:
    """Linear light for each sRGB level (IEC 61966-2-1), float32 (256,)."""
    v = np.arange(256) / 255
    return np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4).astype(np.float32)


_DECODE = _decode_table()


@cache
def _tone_curve(toe: float) -> np.ndarray:
    """Level for each of 16,384 steps of linear light: a toe that deepens the shadows, then sRGB; uint8."""
    x = np.arange(_CURVE_STEPS) / (_CURVE_STEPS - 1)
    y = x * (x + 0.02) / (x + 0.02 + 0.02 * toe * 4)
    v = np.where(y <= 0.0031308, y * 12.92, 1.055 * y ** (1 / 2.4) - 0.055)
    return np.rint(v * 255).clip(0, 255).astype(np.uint8)
