"""Turned things with real shading: vases, bottles, cups, fruit, lampshades, candles.

A solid of revolution is its outline: how wide it is at each height. Its surface normals follow from
that, and light, gloss and a reflected window from the normals.
"""

import math
import random
from functools import cache
from typing import NamedTuple

import cv2
import numpy as np

from data_scripts.scenes import textures
from data_scripts.scenes.colors import Color, hsv
from data_scripts.scenes.paint import Picture, Sprite, crop, cut_out

# Half width against height, both as shares of the widest place and of the height; top first.
OUTLINES: dict[str, tuple[tuple[float, float], ...]] = {
    "vase": (
        (0, 0.5),
        (0.04, 0.46),
        (0.12, 0.34),
        (0.25, 0.42),
        (0.45, 0.92),
        (0.6, 1),
        (0.8, 0.8),
        (1, 0.45),
    ),
    "amphora": (
        (0, 0.42),
        (0.03, 0.42),
        (0.07, 0.3),
        (0.2, 0.32),
        (0.35, 0.8),
        (0.48, 1),
        (0.75, 0.7),
        (1, 0.36),
    ),
    "bottle": (
        (0, 0.3),
        (0.04, 0.31),
        (0.06, 0.25),
        (0.3, 0.26),
        (0.4, 0.55),
        (0.48, 0.95),
        (0.55, 1),
        (1, 0.97),
    ),
    "jar": ((0, 0.72), (0.12, 0.74), (0.14, 0.68), (0.2, 0.72), (0.3, 1), (0.9, 1), (1, 0.92)),
    "cup": ((0, 1), (0.3, 0.98), (0.7, 0.9), (0.92, 0.75), (1, 0.6)),
    "bowl": ((0, 1), (0.3, 0.93), (0.6, 0.75), (0.85, 0.48), (0.92, 0.4), (1, 0.42)),
    "can": ((0, 0.95), (0.03, 1), (0.97, 1), (1, 0.95)),
    "candle": ((0, 0.98), (0.05, 1), (1, 1)),
    "jug": ((0, 0.55), (0.05, 0.5), (0.2, 0.48), (0.4, 0.75), (0.65, 1), (0.85, 0.95), (1, 0.7)),
    "pot": ((0, 1), (0.16, 1), (0.17, 0.9), (1, 0.66)),
    "shade": ((0, 0.55), (1, 1)),
    "ball": tuple(
        (0.5 - 0.5 * math.cos(a), math.sin(a)) for a in np.linspace(0.05, math.pi - 0.12, 16).tolist()
    ),
    "pear": (
        (0, 0.12),
        (0.05, 0.3),
        (0.2, 0.42),
        (0.4, 0.6),
        (0.62, 0.95),
        (0.75, 1),
        (0.9, 0.82),
        (1, 0.35),
    ),
    "lemon": (
        (0, 0.12),
        (0.05, 0.2),
        (0.1, 0.42),
        (0.18, 0.66),
        (0.3, 0.88),
        (0.5, 1),
        (0.7, 0.88),
        (0.85, 0.6),
        (1, 0.2),
    ),
}


class Light(NamedTuple):
    """Where the main light stands (x right, y down, z to the viewer) and how strong it is beside the rest."""

    x: float = -0.55
    y: float = -0.55
    z: float = 0.63
    key: float = 0.85
    fill: float = 0.28
    color: tuple[float, float, float] = (1.0, 0.96, 0.88)


class Finish(NamedTuple):
    """A surface: its colour, how it reflects, and what is on it."""

    color: Color
    gloss: float = 0.5
    bands: tuple[tuple[float, float, Color], ...] = ()
    texture: str | None = None
    strength: float = 1.0
    clear: float = 0.0


@cache
def _outline(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Sample an outline: half widths and slopes at 257 heights."""
    at, wide = np.array(OUTLINES[name], np.float32).T
    fine = np.interp(np.linspace(0, 1, 257), at, wide).astype(np.float32)
    soft = cv2.GaussianBlur(fine[:, None], (1, 25), 5.0, borderType=cv2.BORDER_REPLICATE)[:, 0]
    return soft, np.gradient(soft).astype(np.float32) * 256


def turned(
    outline: str, width: float, height: float, finish: Finish, light: Light, dice: random.Random
) -> Sprite:
    """Shade a solid of revolution seen slightly from above.

    Args:
        outline: a key of ``OUTLINES``.
        width: its widest place in pixels.
        height: its height in pixels.
        finish: its surface.
        light: what shines on it.
        dice: for the place of the texture.

    Returns:
        A sprite of about ``width`` by ``height`` pixels, its foot on the last rows.
    """
    high, wide = max(4, round(height)), max(4, round(width))
    profile, slopes = _outline(outline)
    across = (np.arange(wide, dtype=np.float32) + 0.5) * (2 / wide) - 1
    sag = 0.10 * wide / high  # the camera looks down a little: level lines curve
    drop = sag * np.sqrt(np.maximum(1 - across * across, 0))
    level = (np.arange(high, dtype=np.float32) + 0.5)[:, None] * ((1 + sag) / high) - drop[None, :]
    index = (level * 256).clip(0, 256).astype(np.uint16)
    radius = profile.take(index)
    nx = across[None, :] / np.maximum(radius, 0.02)
    opacity = (radius - np.abs(across)[None, :]) * (wide / 2) + 0.5
    opacity = np.minimum(opacity, np.minimum(level * high + 0.5, (1 - level) * high + 0.5)).clip(0, 1)
    nx = nx.clip(-1, 1)
    nz = cv2.sqrt(1.0 - nx * nx)
    ny = slopes.take(index) * (-0.5 * wide / high)
    norm = 1 / cv2.sqrt(1.0 + ny * ny)
    toward = (nx * light.x + nz * light.z + ny * light.y) * norm
    shade = np.maximum(toward, 0) * light.key + (0.72 - 0.28 * ny * norm + 0.2 * nz) * light.fill
    shade *= 0.55 + 0.45 * np.minimum((1.08 - level) * 3.5, 1)  # the table keeps light from its foot
    color = _surface(finish, level, high, wide, dice)
    gleam = np.maximum(2 * toward * nz * norm - light.z, 0)
    broad = gleam * gleam
    broad *= broad
    sharp = broad * broad
    sharp *= sharp * sharp
    gleam = (0.9 * finish.gloss) * sharp + (0.10 * finish.gloss) * broad
    if finish.gloss > 0.3:
        gleam += _window(nx, ny * norm, light) * finish.gloss * 0.55
        rim = nx * nx
        gleam += (finish.gloss * 0.16) * (rim * rim * rim)
    linear = color * cv2.merge([shade * c for c in light.color])
    linear += gleam[..., None]
    shown = np.minimum(cv2.sqrt(linear) * 255, 255).astype(np.uint8)
    if finish.clear:
        opacity = opacity * np.minimum((1 - finish.clear) + np.abs(nx) ** 3 + gleam * 1.2, 1)
    return cut_out(shown, (opacity * 255).astype(np.uint8))


def _surface(finish: Finish, level: np.ndarray, high: int, wide: int, dice: random.Random) -> np.ndarray:
    """Colour in linear light, float32 (high, wide, 3)."""
    patch = np.empty((high, wide, 3), np.float32)
    patch[:] = [(c / 255) ** 2 for c in finish.color]
    for top, bottom, color in finish.bands:
        patch[(level > top) & (level < bottom)] = [(c / 255) ** 2 for c in color]
    if finish.texture:
        tile = crop(getattr(textures, finish.texture)(), dice, wide, high, 0.7).astype(np.float32)
        patch *= np.maximum(1 + (tile - 128) * (finish.strength / 64), 0.05)
    return patch


def _window(nx: np.ndarray, ny: np.ndarray, light: Light) -> np.ndarray:
    """Place a window with its cross bar, reflected on the light's side."""
    u = (nx - 0.62 * math.copysign(1, light.x)) * (1 / 0.17)
    v = (ny + 0.18) * (1 / 0.30)
    pane = (np.abs(u) < 1) & (np.abs(v) < 1) & (np.abs(u) > 0.12) & (np.abs(v) > 0.08)
    return cv2.blur(pane.astype(np.float32), (3, 3))


def glaze(dice: random.Random) -> Finish:
    """Choose a ceramic: a muted colour, often with painted bands."""
    color = hsv(dice.random(), dice.uniform(0.05, 0.75), dice.uniform(0.35, 0.95))
    bands = []
    if dice.random() < 0.6:
        other = hsv(dice.random(), dice.uniform(0.1, 0.7), dice.uniform(0.3, 0.98))
        top = dice.uniform(0.2, 0.6)
        for _ in range(dice.randint(1, 3)):
            deep = dice.uniform(0.02, 0.12)
            bands.append((top, top + deep, other))
            top += deep + dice.uniform(0.02, 0.08)
    return Finish(
        color, dice.uniform(0.3, 1), tuple(bands), dice.choice(("plaster", "stone", "plaster")), 0.8
    )


FRUIT: dict[str, tuple[str, float, tuple[Color, ...], float]] = {
    # outline, height for width, colours, gloss
    "apple": ("ball", 0.92, ((190, 40, 35), (150, 175, 60), (200, 80, 50), (120, 25, 30)), 0.5),
    "orange": ("ball", 0.97, ((235, 140, 30), (225, 120, 20)), 0.3),
    "pear": ("pear", 1.35, ((190, 185, 80), (170, 160, 60), (195, 150, 70)), 0.35),
    "lemon": ("lemon", 1.15, ((240, 210, 60), (225, 215, 80)), 0.35),
    "plum": ("ball", 1.02, ((80, 40, 85), (60, 30, 60)), 0.45),
}


def fruit(kind: str, width: float, light: Light, dice: random.Random) -> Sprite:
    """Grow a fruit of ``FRUIT`` about ``width`` pixels wide, with its blush and its stalk."""
    outline, tall, colors, gloss = FRUIT[kind]
    finish = Finish(dice.choice(colors), gloss, (), "stone" if kind in ("apple", "pear") else "asphalt", 0.55)
    sprite = turned(outline, width, width * tall, finish, light, dice)
    if kind in ("apple", "pear") and width > 14:
        x, y = sprite.color.shape[1] // 2, max(1, round(width * 0.06))
        tip = (x + round(width * dice.uniform(-0.1, 0.1)), 0)
        for layer, tone in ((sprite.color, (58, 42, 24)), (sprite.clear, (0, 0, 0))):
            cv2.line(layer, (x, y * 2), tip, tone, max(1, round(width / 22)), cv2.LINE_AA)
    return sprite


def set_down(picture: Picture, sprite: Sprite, x: float, foot: float, light: Light) -> None:
    """Stand a sprite on a table with its contact shadow and the shadow that it casts away from the light."""
    high, wide = sprite.color.shape[:2]
    away = -light.x
    cast = [
        (x - wide * 0.42, foot - 1),
        (x + wide * 0.42, foot - 1),
        (x + wide * 0.3 + away * high * 0.95, foot - high * 0.16),
        (x - wide * 0.3 + away * high * 0.95, foot - high * 0.16),
    ]
    picture.shadow(cast, 0.55, max(2.5, high * 0.04))
    picture.shade(x + away * wide * 0.08, foot - 1, wide * 0.52, max(4.0, wide * 0.12), 0.6)
    picture.stamp(sprite, x - wide / 2, foot - high)
