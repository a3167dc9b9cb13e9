"""Furniture for rooms: sofa, armchair, tables, lamp, cabinet, pictures, curtains."""

import random

import cv2
import numpy as np

from data_scripts.scenes import textures
from data_scripts.scenes.colors import Color, dim, hsv, mix, muted
from data_scripts.scenes.paint import Picture, Points, crop, tint
from data_scripts.scenes.solids import FRUIT, Finish, Light, fruit, glaze, turned


def _soft(
    picture: Picture,
    dice: random.Random,
    left: float,
    top: float,
    right: float,
    bottom: float,
    color: Color,
    bulge: float,
) -> None:
    """Paint an upholstered block: rounded, lit from above, darker below, of woven cloth."""
    wide, high = max(4, round(right - left)), max(4, round(bottom - top))
    fall = np.interp(np.linspace(0, 1, high), (0, 0.12, 0.5, 1), (1.1, 1.22, 0.98, 0.62)).astype(np.float32)
    turn = np.interp(np.linspace(0, 1, wide), (0, 0.08, 0.5, 0.92, 1), (0.72, 1.0, 1.04, 0.98, 0.66)).astype(
        np.float32
    )
    shade = cv2.merge([np.multiply.outer(fall, turn) * c for c in color])
    cloth = crop(textures.cloth(), dice, wide, high)
    patch = cv2.multiply(np.minimum(shade, 255).astype(np.uint8), cloth, scale=1 / 128)
    r = min(bulge, wide / 2, high / 2)
    corners = []
    for cx, cy, start in (
        (right - r, top + r, -90),
        (right - r, bottom - r, 0),
        (left + r, bottom - r, 90),
        (left + r, top + r, 180),
    ):
        for step in range(5):
            angle = np.radians(start + step * 22.5)
            corners.append((cx + r * np.cos(angle), cy + r * np.sin(angle)))
    picture.texture(corners, patch)
    picture.shade((left + right) / 2, bottom, wide * 0.6, max(4, high * 0.1), 0.3)


def sofa(picture: Picture, dice: random.Random, x: float, foot: float, wide: float, color: Color) -> None:
    """Paint a sofa seen from the front, ``wide`` pixels, with cushions."""
    high, half = wide * 0.36, wide / 2
    picture.shade(x, foot, half * 1.1, wide * 0.07, 0.7)
    for side in (-1, 1):
        leg = x + side * half * 0.84
        picture.box(leg - wide * 0.012, foot - wide * 0.05, leg + wide * 0.012, foot, (70, 46, 32))
    seats = dice.choice((2, 3))
    _soft(
        picture,
        dice,
        x - half * 0.92,
        foot - high,
        x + half * 0.92,
        foot - high * 0.3,
        dim(color, 0.92),
        wide * 0.05,
    )
    for seat in range(seats):
        left = x - half * 0.84 + seat * half * 1.68 / seats
        _soft(
            picture,
            dice,
            left + 1,
            foot - high * 0.94,
            left + half * 1.68 / seats - 1,
            foot - high * 0.45,
            color,
            wide * 0.04,
        )
        _soft(
            picture,
            dice,
            left,
            foot - high * 0.52,
            left + half * 1.68 / seats,
            foot - high * 0.28,
            dim(color, 1.08),
            wide * 0.03,
        )
    _soft(
        picture,
        dice,
        x - half * 0.9,
        foot - high * 0.32,
        x + half * 0.9,
        foot - wide * 0.04,
        dim(color, 0.85),
        wide * 0.02,
    )
    for side in (-1, 1):
        arm = x + side * half * 0.9
        _soft(
            picture,
            dice,
            arm - half * 0.1,
            foot - high * 0.7,
            arm + half * 0.1,
            foot - wide * 0.03,
            dim(color, 0.98),
            wide * 0.045,
        )
    for _ in range(dice.randint(1, 4)):
        at, size = x + dice.uniform(-0.66, 0.66) * half, wide * dice.uniform(0.13, 0.17)
        tone = mix(muted(dice, 0.4, 0.95), color, 0.15)
        _soft(
            picture,
            dice,
            at - size / 2,
            foot - high * 0.52 - size * 0.72,
            at + size / 2,
            foot - high * 0.46,
            tone,
            size * 0.24,
        )


def armchair(picture: Picture, dice: random.Random, x: float, foot: float, wide: float, color: Color) -> None:
    """Paint an armchair seen from behind its corner, plainer than the sofa."""
    half, high = wide / 2, wide * 0.95
    picture.shade(x, foot, half * 1.1, wide * 0.12, 0.7)
    for side in (-1, 1):
        picture.box(
            x + side * half * 0.75 - wide * 0.02,
            foot - wide * 0.08,
            x + side * half * 0.75 + wide * 0.02,
            foot,
            (66, 44, 30),
        )
    _soft(picture, dice, x - half * 0.8, foot - high, x + half * 0.8, foot - high * 0.25, color, wide * 0.16)
    _soft(
        picture,
        dice,
        x - half * 0.72,
        foot - high * 0.55,
        x + half * 0.72,
        foot - high * 0.32,
        dim(color, 1.08),
        wide * 0.08,
    )
    _soft(
        picture,
        dice,
        x - half * 0.8,
        foot - high * 0.36,
        x + half * 0.8,
        foot - wide * 0.06,
        dim(color, 0.88),
        wide * 0.04,
    )
    for side in (-1, 1):
        arm = x + side * half * 0.85
        _soft(
            picture,
            dice,
            arm - half * 0.2,
            foot - high * 0.6,
            arm + half * 0.2,
            foot - wide * 0.05,
            dim(color, 0.97),
            wide * 0.09,
        )


def low_table(
    picture: Picture, dice: random.Random, x: float, foot: float, wide: float, light: Light
) -> None:
    """Paint a coffee table of wood with things on it."""
    half, tall, deep = wide / 2, wide * 0.3, wide * 0.2
    color = dice.choice(((150, 98, 60), (104, 70, 48), (196, 156, 112), (60, 52, 48)))
    top = foot - tall
    picture.shade(x, foot - deep * 0.2, half * 1.1, deep * 0.6, 0.6)
    for across, up in ((-0.8, deep * 0.7), (0.8, deep * 0.7), (-0.94, 0), (0.94, 0)):
        leg = x + across * half
        picture.box(
            leg - wide * 0.014, top - up + 2, leg + wide * 0.014, foot - up, dim(color, 0.55 if up else 0.75)
        )
    board: Points = (
        (x - half * 0.84, top - deep),
        (x + half * 0.84, top - deep),
        (x + half, top),
        (x - half, top),
    )
    grain = cv2.rotate(textures.wood(), cv2.ROTATE_90_CLOCKWISE)[:256]
    picture.project(tint(grain, dim(color, 1.15)), board)
    picture.box(x - half, top, x + half, top + wide * 0.035, dim(color, 0.7))
    spots = [(-0.55, 0.45), (-0.1, 0.6), (0.3, 0.35), (0.62, 0.6)]
    for across, back in dice.sample(spots, dice.randint(2, 4)):
        at, level, size = x + across * half * 0.95, top - deep * back, wide * dice.uniform(0.13, 0.2)
        picture.shade(at, level, size * 0.6, max(3.0, size * 0.15), 0.5)
        what = dice.random()
        if what < 0.55:
            name, slim = dice.choice(
                (("vase", 0.6), ("cup", 1.0), ("jug", 0.7), ("bottle", 0.3), ("bowl", 2.0))
            )
            high = size * {"vase": 1.5, "cup": 0.6, "jug": 1.2, "bottle": 1.9, "bowl": 0.6}[name]
            item = turned(name, high * slim, high, glaze(dice), light, dice)
        elif what < 0.8:
            item = fruit(dice.choice(tuple(FRUIT)), size * 0.6, light, dice)
        else:
            _books(picture, dice, at, level, size)
            continue
        picture.stamp(item, at - item.color.shape[1] / 2, level - item.color.shape[0])


def _books(picture: Picture, dice: random.Random, x: float, y: float, size: float) -> None:
    for _ in range(dice.randint(1, 3)):
        color, thick = hsv(dice.random(), 0.5, 0.55), size * 0.16
        picture.box(x - size * 0.6, y - thick, x + size * 0.6, y, color)
        picture.box(x - size * 0.6, y - thick * 1.5, x + size * 0.55, y - thick, dim(color, 1.4))
        y -= thick * 1.1


def floor_lamp(
    picture: Picture, dice: random.Random, x: float, foot: float, tall: float, on: bool, power: float
) -> None:
    """Paint a standing lamp with a cloth shade; when on, it lights wall, ceiling and floor."""
    picture.shade(x, foot, tall * 0.13, tall * 0.03, 0.6)
    picture.oval(x, foot - tall * 0.01, tall * 0.1, tall * 0.022, (60, 54, 48))
    picture.stroke(((x, foot - tall * 0.01), (x, foot - tall * 0.75)), (96, 84, 66), max(2, round(tall / 60)))
    color = dice.choice(((240, 226, 196), (236, 206, 160), (220, 170, 130), (230, 232, 226)))
    shade = turned(
        "shade",
        tall * 0.34,
        tall * 0.26,
        Finish(color, 0.05, (), "cloth", 0.8),
        Light(0, 0, 1, 0.5, 0.5),
        dice,
    )
    picture.stamp(shade, x - shade.color.shape[1] / 2, foot - tall, lit=0.75 if on else 0.0)
    if on:
        glow: Color = (255, 196, 124)
        picture.shine(x, foot - tall * 0.98, tall * 0.55, tall * 0.4, glow, 1.15 * power)
        picture.shine(x, foot - tall * 0.55, tall * 0.6, tall * 0.5, glow, 0.8 * power)
        picture.shine(x, foot, tall * 0.7, tall * 0.25, glow, 0.7 * power)


def cabinet(picture: Picture, dice: random.Random, x: float, foot: float, unit: float, light: Light) -> None:
    """Paint a chest of drawers against the wall with a vase or two on it."""
    half, high = unit * dice.uniform(0.2, 0.3), unit * dice.uniform(0.26, 0.36)
    color = dice.choice(((140, 92, 58), (196, 160, 118), (220, 216, 206), (84, 100, 104)))
    picture.shade(x, foot, half * 1.2, unit * 0.05, 0.6)
    left, right, top = x - half, x + half, foot - high
    wide, tall = int(2 * half) + 2, int(high) + 2
    picture.texture(
        ((left, top), (right, top), (right, foot), (left, foot)),
        tint(crop(textures.wood(), dice, wide, tall), color),
    )
    picture.box(left - 3, top - unit * 0.02, right + 3, top, dim(color, 1.15))
    for row in range(3):
        y0, y1 = top + high * (0.05 + 0.31 * row), top + high * (0.33 + 0.31 * row)
        for a, b in ((left + 3, x - 2), (x + 2, right - 3)):
            picture.stroke(((a, y0), (b, y0), (b, y1), (a, y1)), dim(color, 0.5), 1, closed=True)
            picture.stroke(((a, y1 - 1), (b, y1 - 1)), dim(color, 1.3), 1)
            picture.oval((a + b) / 2, (y0 + y1) / 2, 2.2, 2.2, (210, 190, 140))
    for at in (-0.6, 0.0, 0.55):
        if dice.random() < 0.7:
            name, slim = dice.choice((("vase", 0.6), ("amphora", 0.6), ("jar", 0.85), ("ball", 1.0)))
            size = unit * dice.uniform(0.1, 0.2)
            item = turned(name, size * slim, size, glaze(dice), light, dice)
            picture.stamp(item, x + at * half - item.color.shape[1] / 2, top - unit * 0.015 - size)
