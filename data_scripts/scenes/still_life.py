"""Scene kind ``still_life``: fruit, pottery, glass and a candle on a table before a wall."""

import random

import cv2
import numpy as np

from data_scripts.scenes import textures
from data_scripts.scenes.colors import Color, dim, hsv, mix
from data_scripts.scenes.paint import Picture, crop, tint
from data_scripts.scenes.solids import FRUIT, Finish, Light, fruit, glaze, set_down, turned

VESSELS = ("vase", "amphora", "bottle", "jar", "cup", "jug", "bowl")


def scene(dice: random.Random, width: int, height: int) -> np.ndarray:
    """Paint one; uint8 (height, width, 3), RGB."""
    side = dice.choice((-1, 1))
    warm = dice.random()
    light = Light(
        side * dice.uniform(0.45, 0.7), -0.5, 0.6, 0.95, 0.26, (1.0, 0.9 + 0.08 * warm, 0.72 + 0.25 * warm)
    )
    picture = Picture(width, height)
    edge = height * dice.uniform(0.42, 0.58)
    _wall(picture, dice, edge, side)
    _table(picture, dice, edge)
    _light(picture, dice, edge, side, light)
    unit = min(width * 0.85, height) * dice.uniform(1.15, 1.5)
    for depth in range(3):
        _row(picture, dice, depth, edge, unit, light)
    return picture.develop(dice, exposure=dice.uniform(0.95, 1.2), grain=2.6)


def _wall(picture: Picture, dice: random.Random, edge: float, side: int) -> None:
    color = hsv(dice.random(), dice.uniform(0.05, 0.4), dice.uniform(0.35, 0.72))
    kind, high = dice.choice(("plaster", "plaster", "bricks", "cloth", "stone")), int(edge) + 2
    if kind == "bricks":
        color = mix(color, (176, 98, 72), 0.7)
    tile = crop(getattr(textures, kind)(), dice, picture.width, high, 1.0 if kind == "bricks" else 1.4)
    if kind in ("stone", "cloth"):
        tile = cv2.addWeighted(tile, 0.45, tile, 0, 70)
    picture.paint[:high] = tint(tile, color)


def _table(picture: Picture, dice: random.Random, edge: float) -> None:
    w, h = picture.width, picture.height
    color = dice.choice(((150, 98, 60), (120, 78, 50), (178, 132, 88), (98, 66, 48), (168, 150, 130)))
    tile = tint(textures.planks() if dice.random() < 0.6 else textures.wood(), color)
    tile = cv2.rotate(tile, dice.choice((cv2.ROTATE_90_CLOCKWISE, cv2.ROTATE_180)))
    spread = dice.uniform(0.15, 0.45) * w
    picture.project(tile, ((-0.05 * w, edge), (1.05 * w, edge), (w + spread, h * 1.02), (-spread, h * 1.02)))
    picture.stroke(((0, edge), (w, edge)), dim(color, 0.45), 2)
    if dice.random() < 0.45:
        _cloth(picture, dice, edge)


def _cloth(picture: Picture, dice: random.Random, edge: float) -> None:
    w, h = picture.width, picture.height
    a, b = hsv(dice.random(), dice.uniform(0.1, 0.7), dice.uniform(0.5, 0.95)), (235, 230, 220)
    pattern = np.empty((256, 256, 3), np.uint8)
    pattern[:] = b
    step = dice.choice((16, 32, 64))
    pattern[(np.arange(256) // step) % 2 == 0] = mix(a, b, 0.5)
    stripe = (np.arange(256) // step) % 2 == 0
    pattern[:, stripe] = cv2.addWeighted(pattern[:, stripe], 0.5, np.full_like(pattern[:, stripe], a), 0.5, 0)
    pattern = cv2.multiply(pattern, crop(textures.cloth(), dice, 256, 256), scale=1 / 128)
    middle, top = w * dice.uniform(0.35, 0.65), edge + (h - edge) * dice.uniform(0.1, 0.3)
    reach = w * dice.uniform(0.25, 0.4)
    corners = (
        (middle - reach, top),
        (middle + reach, top + 4),
        (middle + reach * 1.5, h * 1.05),
        (middle - reach * 1.5, h * 1.03),
    )
    picture.shadow(corners, 0.35, 5)
    picture.project(pattern, corners)


def _light(picture: Picture, dice: random.Random, edge: float, side: int, light: Light) -> None:
    w, h = picture.width, picture.height
    picture.light[:] = dice.uniform(0.14, 0.24)
    tone: Color = tuple(255 * c for c in light.color)
    picture.shine(
        w * (0.5 + side * 0.38), h * dice.uniform(0.1, 0.4), w * 0.5, h * 0.55, tone, dice.uniform(0.8, 1.2)
    )
    picture.shine(w * (0.5 + side * 0.12), h * 0.75, w * 0.5, h * 0.4, tone, 0.75)
    picture.shade(w * 0.5, edge, w * 2, 9, 0.35)


def _row(picture: Picture, dice: random.Random, depth: int, edge: float, unit: float, light: Light) -> None:
    """Set down one row of things, the rear one first and tallest."""
    w, h = picture.width, picture.height
    foot = edge + (h - edge) * (0.22, 0.5, 0.82)[depth]
    scale = (0.85, 1.0, 1.12)[depth] * unit
    x = w * dice.uniform(0.02, (0.12, 0.2, 0.35)[depth])
    while x < w * 0.92:
        level = foot + (h - edge) * dice.uniform(-0.05, 0.07)
        if dice.random() < (0.75, 0.4, 0.12)[depth]:
            wide = _vessel(picture, dice, x, level, scale, light, depth)
        else:
            wide = _heap(picture, dice, x, level, scale, light)
        x += wide * dice.uniform(0.85, 1.3) + w * dice.uniform(0, (0.05, 0.2, 0.5)[depth])


def _vessel(
    picture: Picture, dice: random.Random, x: float, foot: float, scale: float, light: Light, depth: int
) -> float:
    if dice.random() < 0.14:
        return _candle(picture, dice, x, foot, scale)
    name = dice.choice(VESSELS)
    tall = (
        scale
        * {"vase": 0.36, "amphora": 0.42, "bottle": 0.44, "jar": 0.2, "cup": 0.13, "jug": 0.26, "bowl": 0.12}[
            name
        ]
    )
    tall *= dice.uniform(0.8, 1.1)
    wide = (
        tall
        * {"vase": 0.6, "amphora": 0.6, "bottle": 0.28, "jar": 0.8, "cup": 1.0, "jug": 0.75, "bowl": 2.1}[
            name
        ]
    )
    finish = glaze(dice)
    if name == "bottle":
        color = dice.choice(((40, 78, 48), (70, 44, 26), (150, 170, 170), (36, 60, 92)))
        label = (0.6, 0.85, (225, 215, 190))
        finish = Finish(color, 1.0, (label,) if dice.random() < 0.6 else (), None, 1, 0.25)
    sprite = turned(name, wide, tall, finish, light, dice)
    center = x + wide / 2
    if name == "bowl":
        for _ in range(dice.randint(3, 6)):
            piece = fruit(dice.choice(tuple(FRUIT)), tall * 0.8, light, dice)
            picture.stamp(
                piece, center + wide * dice.uniform(-0.4, 0.15), foot - tall * dice.uniform(1.2, 1.55)
            )
    set_down(picture, sprite, center, foot, light)
    return wide


def _candle(picture: Picture, dice: random.Random, x: float, foot: float, scale: float) -> float:
    tall, wide = scale * dice.uniform(0.2, 0.34), scale * 0.06
    here = Light(0, -0.8, 0.5, 0.7, 0.5)
    set_down(
        picture,
        turned("candle", wide, tall, Finish((232, 222, 196), 0.3), here, dice),
        x + wide / 2,
        foot,
        here,
    )
    top, middle = foot - tall, x + wide / 2
    picture.stroke(((middle, top + 2), (middle, top - wide * 0.4)), (40, 30, 25), 2)
    flame = wide * 0.36
    picture.oval(middle, top - wide * 0.75, flame, wide * 0.8, (255, 190, 90), (255, 170, 70))
    picture.oval(middle, top - wide * 0.65, flame * 0.55, wide * 0.5, (255, 240, 190), (255, 235, 180))
    picture.shine(middle, top, scale * 0.4, scale * 0.4, (255, 180, 100), 0.8)
    return wide


def _heap(picture: Picture, dice: random.Random, x: float, foot: float, scale: float, light: Light) -> float:
    kind, size = dice.choice(tuple(FRUIT)), scale * dice.uniform(0.10, 0.14)
    count = dice.randint(1, 3)
    for place in range(count):
        sprite = fruit(kind, size * dice.uniform(0.9, 1.08), light, dice)
        set_down(
            picture, sprite, x + size * (place * 0.85 + 0.5), foot + size * dice.uniform(-0.1, 0.2), light
        )
    return size * count
