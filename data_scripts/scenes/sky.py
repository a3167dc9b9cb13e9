"""Skies for every hour, and the light that comes with them."""

import random
from typing import NamedTuple

import cv2
import numpy as np

from data_scripts.scenes import textures
from data_scripts.scenes.colors import Color, mix
from data_scripts.scenes.paint import Picture, ramp


class Hour(NamedTuple):
    """A time of day: the sky's colours, the light on the ground, the haze, and how much is lit by lamps."""

    name: str
    zenith: Color
    horizon: Color
    cloud: Color
    cloud_shadow: Color
    ambient: Color
    sun: Color
    haze: Color
    lamps: float


HOURS: dict[str, Hour] = {
    hour.name: hour
    for hour in (
        Hour(
            "noon",
            (62, 118, 196),
            (178, 208, 232),
            (250, 250, 250),
            (150, 165, 186),
            (0.55, 0.6, 0.68),
            (255, 244, 220),
            (186, 206, 226),
            0.0,
        ),
        Hour(
            "morning",
            (98, 142, 196),
            (246, 220, 190),
            (255, 240, 222),
            (160, 156, 176),
            (0.5, 0.52, 0.6),
            (255, 226, 180),
            (226, 214, 206),
            0.0,
        ),
        Hour(
            "golden",
            (92, 122, 176),
            (255, 200, 128),
            (255, 214, 160),
            (150, 116, 128),
            (0.44, 0.4, 0.44),
            (255, 196, 120),
            (240, 196, 150),
            0.25,
        ),
        Hour(
            "sunset",
            (62, 66, 124),
            (255, 142, 76),
            (255, 150, 104),
            (92, 66, 104),
            (0.3, 0.25, 0.33),
            (255, 150, 90),
            (206, 130, 108),
            0.7,
        ),
        Hour(
            "dusk",
            (28, 40, 88),
            (186, 128, 138),
            (150, 110, 140),
            (50, 50, 90),
            (0.16, 0.17, 0.27),
            (150, 130, 160),
            (110, 92, 126),
            1.0,
        ),
        Hour(
            "overcast",
            (140, 148, 158),
            (206, 208, 210),
            (222, 222, 224),
            (132, 138, 148),
            (0.68, 0.7, 0.72),
            (150, 150, 150),
            (196, 200, 204),
            0.05,
        ),
        Hour(
            "night",
            (8, 12, 30),
            (44, 46, 78),
            (48, 48, 66),
            (16, 18, 34),
            (0.08, 0.09, 0.15),
            (90, 100, 140),
            (36, 40, 66),
            1.0,
        ),
    )
}


def paint_sky(picture: Picture, dice: random.Random, hour: Hour, horizon: float, side: float) -> None:
    """Fill the picture down to the horizon with sky, clouds and the glow around the sun.

    Args:
        picture: painted from its top to ``horizon``.
        dice: where the clouds are, and how many.
        hour: the time of day.
        horizon: row of the horizon in pixels.
        side: where the sun stands, from 0 (left edge) to 1 (right edge).
    """
    w, h = picture.width, min(picture.height, int(horizon) + 1)
    middle = mix(hour.zenith, hour.horizon, 0.45)
    sky = ramp((hour.zenith, middle, hour.horizon), (0, 0.62, 1), h, w)
    across = np.exp(-(((np.arange(w, dtype=np.float32) / w - side) / 0.45) ** 2))
    down = np.linspace(0, 1, h, dtype=np.float32) ** 3
    halo = (np.outer(down, across) * 90).astype(np.uint8)
    sky = cv2.add(sky, cv2.multiply(cv2.cvtColor(halo, cv2.COLOR_GRAY2RGB), (*hour.sun, 0), scale=1 / 255))
    if hour.name in ("night", "dusk") and dice.random() < 0.8:
        _stars(sky, dice)
    _clouds(sky, dice, hour)
    picture.paint[:h] = sky


def _stars(sky: np.ndarray, dice: random.Random) -> None:
    for _ in range(60):
        x, y = dice.randrange(sky.shape[1]), int(dice.random() ** 1.5 * sky.shape[0] * 0.8)
        sky[y, x] = np.maximum(sky[y, x], int(dice.uniform(70, 220)))


def _clouds(sky: np.ndarray, dice: random.Random, hour: Hour) -> None:
    high, wide = sky.shape[:2]
    cover = dice.uniform(150, 250) if hour.name == "overcast" else dice.uniform(20, 165)
    tile = textures.clouds()
    # Rows near the horizon skip farther through the cloud layer: it recedes.
    depth = 1 / np.linspace(1.0, 0.28, high)
    rows = ((depth - 1) * high * 0.55 + np.arange(high) * 0.45 + dice.randrange(1024)).astype(int) % 1024
    left, step = dice.randrange(1024), dice.uniform(0.5, 1.0)
    columns = (left + np.arange(wide) * step).astype(int) % 1024
    density = tile.take(rows, axis=0).take(columns, axis=1)
    lit = np.roll(tile, (9, dice.choice((-8, 8))), (0, 1)).take(rows, axis=0).take(columns, axis=1)
    opacity = _smooth(255 - cover - 34, 255 - cover + 60).take(density)
    relief = cv2.addWeighted(density, -1.5, lit, 1.5, 150)
    relief = cv2.addWeighted(relief, 1, density, -0.28, 30)
    tone = np.linspace(0, 1, 256)[:, None] * np.subtract(hour.cloud, hour.cloud_shadow) + hour.cloud_shadow
    cloud = cv2.LUT(
        cv2.cvtColor(cv2.blur(relief, (3, 3)), cv2.COLOR_GRAY2RGB), tone.astype(np.uint8)[:, None]
    )
    mask = cv2.cvtColor(opacity, cv2.COLOR_GRAY2RGB)
    kept = cv2.multiply(sky, cv2.bitwise_not(mask), scale=1 / 255)
    sky[:] = cv2.add(kept, cv2.multiply(cloud, mask, scale=1 / 255))


def _smooth(low: float, high: float) -> np.ndarray:
    t = np.clip((np.arange(256) - low) / (high - low), 0, 1)
    return (255 * 0.96 * t * t * (3 - 2 * t)).astype(np.uint8)


def haze(picture: Picture, hour: Hour, top: float, bottom: float, strength: float) -> None:
    """Veil the rows between ``top`` and ``bottom`` with the hour's haze, thickest at ``bottom``."""
    y0, y1 = max(0, int(top)), min(picture.height, int(bottom))
    if y1 <= y0:
        return
    part = picture.paint[y0:y1]
    weight = (np.linspace(0, 1, y1 - y0, dtype=np.float32) ** 2 * strength)[:, None, None]
    veil = np.repeat(
        np.concatenate([weight * hour.haze[i] for i in range(3)], axis=2).astype(np.uint8), picture.width, 1
    )
    keep = np.repeat(np.repeat(((1 - weight) * 255).astype(np.uint8), 3, 2), picture.width, 1)
    part[:] = cv2.add(cv2.multiply(part, keep, scale=1 / 255), veil)
    if picture.lit:
        picture.glow[y0:y1] = cv2.multiply(picture.glow[y0:y1], keep, scale=1 / 255)
