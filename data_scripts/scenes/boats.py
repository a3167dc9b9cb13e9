"""Sailing boats."""

import random

from data_scripts.scenes.colors import dim
from data_scripts.scenes.paint import Picture
from data_scripts.scenes.sky import Hour


def boat(picture: Picture, dice: random.Random, x: float, foot: float, size: float, hour: Hour) -> None:
    """Paint a sailing boat at anchor: hull, cabin, mast and stays, and sometimes its sails."""
    hull = dice.choice(((240, 238, 230), (238, 236, 228), (40, 60, 96), (150, 46, 40), (50, 92, 88)))
    long, lean = size * 0.5, dice.choice((-1, 1))
    deck = foot - size * 0.1
    mast, top = x - lean * long * 0.05, deck - size * 0.95
    if dice.random() < 0.4:
        sail = dice.choice(((244, 240, 230), (236, 226, 206), (190, 70, 56)))
        picture.fill(
            (
                (mast - lean * 2, top + size * 0.05),
                (mast - lean * 2, deck - size * 0.1),
                (x - lean * long * 0.85, deck - size * 0.08),
            ),
            dim(sail, 0.92),
        )
        picture.fill(
            (
                (mast + lean * 2, top + size * 0.15),
                (mast + lean * 2, deck - size * 0.06),
                (x + lean * long * 0.9, deck - size * 0.02),
            ),
            sail,
        )
    bow, stern = x + lean * long, x - lean * long * 0.8
    side = (
        (stern, deck),
        (bow, deck - size * 0.05),
        (x + lean * long * 0.72, foot),
        (x - lean * long * 0.7, foot),
    )
    picture.fill(side, dim(hull, 0.85))
    picture.fill(
        (side[0], side[1], (bow - lean * long * 0.06, deck + size * 0.01), (stern, deck + size * 0.035)),
        dim(hull, 1.05),
    )
    picture.stroke(((x + lean * long * 0.74, foot - 1), (x - lean * long * 0.7, foot - 1)), (110, 40, 36), 2)
    cabin = (
        (x - lean * long * 0.35, deck),
        (x - lean * long * 0.3, deck - size * 0.075),
        (x + lean * long * 0.25, deck - size * 0.07),
        (x + lean * long * 0.4, deck - 1),
    )
    picture.fill(cabin, (226, 222, 212))
    lit = dice.random() < hour.lamps * 0.8
    for at in (-0.2, 0.0, 0.18):
        cx = x + lean * long * at
        picture.box(
            cx - size * 0.025,
            deck - size * 0.052,
            cx + size * 0.025,
            deck - size * 0.022,
            (255, 214, 140) if lit else (46, 56, 70),
            (255, 190, 110) if lit else (0, 0, 0),
        )
    picture.stroke(((mast, deck), (mast, top)), (196, 188, 172), max(1, round(size / 90)))
    for end in (bow, stern):
        picture.stroke(((mast, top), (end, deck - size * 0.03)), (120, 118, 116), 1)
    picture.stroke(
        ((mast, deck - size * 0.12), (x - lean * long * 0.7, deck - size * 0.1)),
        (206, 200, 190),
        max(2, round(size / 45)),
    )
