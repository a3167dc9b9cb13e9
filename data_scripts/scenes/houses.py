"""Gabled houses in the country, lit from within when it is dark enough."""

import random

import numpy as np

from data_scripts.scenes.colors import dim, hsv, mix
from data_scripts.scenes.paint import Picture
from data_scripts.scenes.sky import Hour


def house(
    picture: Picture,
    dice: random.Random,
    x: float,
    foot: float,
    size: float,
    hour: Hour,
    fade: float,
    side: float,
) -> None:
    """Build a gabled house: two walls, roof, chimney, windows that are lit when it is dark enough."""
    wall = mix(
        hsv(dice.uniform(0.02, 0.14), dice.uniform(0.05, 0.4), dice.uniform(0.75, 0.95)), hour.haze, fade
    )
    roof = mix(dice.choice(((150, 70, 50), (96, 66, 60), (84, 88, 98), (130, 92, 60))), hour.haze, fade)
    front, flank, high = size * 0.62, size * dice.uniform(0.7, 1.2), size * 0.55
    away = 1 if x / picture.width > side else -1
    lean = dice.choice((-1, 1))
    gable, rise = (x, foot - high * 1.95), size * 0.03
    lit, dark = (1.0, 0.66) if lean == away else (0.72, 1.0)
    near, far = x - lean * front / 2, x + lean * front / 2
    end = far + lean * flank
    picture.shadow(
        (
            (near, foot),
            (end, foot),
            (end + away * size * 0.8, foot + size * 0.14),
            (near + away * size * 0.8, foot + size * 0.16),
        ),
        0.5,
        2,
    )
    picture.fill(
        ((far, foot), (end, foot - rise), (end, foot - high - rise), (far, foot - high)), dim(wall, dark)
    )
    picture.fill(((near, foot), (far, foot), (far, foot - high), gable, (near, foot - high)), dim(wall, lit))
    over = size * 0.06
    ridge_end = (gable[0] + lean * flank, gable[1] - rise)
    slope = [
        gable,
        ridge_end,
        (end + lean * over, foot - high - rise + over),
        (far + lean * over, foot - high + over),
    ]
    picture.fill(slope, dim(roof, dark * 1.05))
    for step in range(1, 7):
        t = step / 7
        ends = [
            tuple(np.add(np.multiply(a, 1 - t), np.multiply(b, t)))
            for a, b in ((gable, slope[3]), (ridge_end, slope[2]))
        ]
        picture.stroke(ends, dim(roof, dark * dice.uniform(0.75, 0.9)), 1)
    picture.stroke(
        ((near - lean * over, foot - high + over), gable, slope[3]),
        dim(roof, lit * 0.8),
        max(1, round(size / 40)),
    )
    stack = gable[0] + lean * flank * 0.6
    picture.box(
        min(stack, stack + size * 0.08),
        gable[1] - size * 0.16,
        max(stack, stack + size * 0.08),
        gable[1] + size * 0.1,
        dim(roof, 0.8),
    )
    _openings(picture, dice, (near, far, end), foot, high, size, hour)


def _openings(
    picture: Picture,
    dice: random.Random,
    xs: tuple[float, float, float],
    foot: float,
    high: float,
    size: float,
    hour: Hour,
) -> None:
    near, far, end = xs
    spots = [(near + (far - near) * t, 0.62, 0.09) for t in (0.25, 0.75)] + [
        (near + (far - near) * 0.5, 1.25, 0.08)
    ]
    spots += [(far + (end - far) * t, 0.62, 0.07) for t in (0.25, 0.55, 0.85)]
    for x, level, half in spots:
        shining = dice.random() < hour.lamps * 0.8
        color, glow = ((250, 214, 140), (255, 190, 100)) if shining else ((66, 78, 96), (0, 0, 0))
        rx, top = half * size, foot - high * level
        picture.box(x - rx * 1.25, top - size * 0.12, x + rx * 1.25, top + size * 0.11, (236, 232, 224))
        picture.box(x - rx, top - size * 0.1, x + rx, top + size * 0.09, color, glow)
        picture.stroke(((x, top - size * 0.1), (x, top + size * 0.09)), (236, 232, 224), 1)
        if shining:
            picture.shine(x, top, size * 0.4, size * 0.4, (255, 190, 110), 0.25)
    door = near + (far - near) * 0.5
    picture.box(door - size * 0.06, foot - high * 0.5, door + size * 0.06, foot, (92, 58, 44))
