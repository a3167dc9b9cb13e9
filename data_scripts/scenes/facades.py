"""House fronts seen straight on: walls, windows with curtains and lamps behind, shops, balconies."""

import random

import cv2
import numpy as np

from data_scripts.scenes import textures
from data_scripts.scenes.colors import Color, dim, hsv, mix
from data_scripts.scenes.paint import crop, tint
from data_scripts.scenes.sky import Hour

CELL = 44  # pixels of a window with its piece of wall, at full detail


def facade(
    dice: random.Random, floors: int, bays: int, hour: Hour, detail: float
) -> tuple[np.ndarray, np.ndarray]:
    """Build a house front.

    Args:
        dice: chooses wall, windows and what is lit.
        floors: storeys, the ground floor with its shops among them.
        bays: windows beside each other.
        hour: decides how many windows are lit and what unlit panes mirror.
        detail: scale, 1 for a near house.

    Returns:
        The painted front and its glow, both uint8 (floors * cell, bays * cell, 3).
    """
    cell = max(10, round(CELL * detail))
    high, wide = floors * cell, bays * cell
    style = dice.choice(("plaster", "plaster", "bricks", "stone"))
    color = hsv(
        dice.uniform(0.0, 0.15) if dice.random() < 0.75 else dice.random(),
        dice.uniform(0.1, 0.45),
        dice.uniform(0.5, 0.88),
    )
    if style == "bricks":
        color = mix(color, (170, 96, 74), 0.6)
    tile = crop(
        textures.small_bricks() if style == "bricks" else getattr(textures, style)(), dice, wide, high
    )
    if style == "stone":
        tile = cv2.addWeighted(tile, 0.5, tile, 0, 64)
    wall, glow = tint(tile, color), np.zeros((high, wide, 3), np.uint8)
    trim = mix(color, (240, 236, 226), 0.7)
    frame = dice.choice(((236, 232, 222), (70, 60, 54), (60, 78, 74), trim))
    slim, balconies = dice.uniform(0.26, 0.4), dice.random() < 0.35
    margin = round(cell * (0.5 - slim)) - 2 * max(1, cell // 18)
    windows = []
    for _ in range(4 if detail < 1 else 7):
        pane, shine = wall[:cell, :cell].copy(), np.zeros((cell, cell, 3), np.uint8)
        _window(pane, shine, dice, cell, slim, frame, trim, hour)
        part = slice(cell // 12, cell - cell // 14), slice(margin, cell - margin)
        windows.append((pane[part], shine[part]))
    for floor in range(floors - 1):
        top = floor * cell
        cv2.rectangle(wall, (0, top + cell - 2), (wide, top + cell - 1), dim(color, 0.72), -1)
        for bay in range(bays):
            pane, shine = dice.choice(windows)
            inner = (
                slice(top + cell // 12, top + cell - cell // 14),
                slice(bay * cell + margin, (bay + 1) * cell - margin),
            )
            wall[inner], glow[inner] = pane, shine
            if balconies and floor % 2 == 0:
                _balcony(wall, glow, bay * cell, top, cell)
    cv2.rectangle(wall, (0, 0), (wide, max(1, cell // 8)), trim, -1)
    cv2.rectangle(wall, (0, cell // 8), (wide, cell // 8 + max(1, cell // 20)), dim(color, 0.5), -1)
    _shops(wall, glow, dice, (floors - 1) * cell, cell, bays, hour)
    return wall, glow


def _window(
    wall: np.ndarray,
    glow: np.ndarray,
    dice: random.Random,
    cell: int,
    slim: float,
    frame: Color,
    trim: Color,
    hour: Hour,
) -> None:
    left, right = round(cell * (0.5 - slim)), round(cell * (0.5 + slim))
    top, bottom = round(cell * 0.18), round(cell * 0.82)
    edge = max(1, cell // 18)
    cv2.rectangle(wall, (left - edge * 2, top - edge * 2), (right + edge * 2, bottom + edge), trim, -1)
    cv2.rectangle(wall, (left - edge, top - edge), (right + edge, bottom), frame, -1)
    lit = dice.random() < 0.55 * hour.lamps
    if lit:
        tone = dice.choice(
            ((255, 206, 122), (255, 190, 100), (255, 226, 170), (226, 230, 240), (255, 170, 90))
        )
        pane, shine = dim(tone, dice.uniform(0.6, 1.0)), dim(tone, dice.uniform(0.3, 0.72))
    else:
        mirrored = mix(hour.zenith, hour.horizon, dice.uniform(0.1, 0.8))
        pane, shine = dim(mix(mirrored, (30, 36, 46), dice.uniform(0.4, 0.85)), 0.85), (0, 0, 0)
    cv2.rectangle(wall, (left, top), (right, bottom), pane, -1)
    cv2.rectangle(glow, (left, top), (right, bottom), shine, -1)
    high = bottom - top
    if lit:
        # Brighter towards the ceiling lamp, darker furniture below.
        cv2.rectangle(glow, (left, top + high * 2 // 3), (right, bottom), dim(shine, 0.7), -1)
    else:
        slope = np.array(
            [(left, top + high // 3), (left + (right - left) * 2 // 3, top), (left, top)], np.int32
        )
        cv2.fillConvexPoly(wall, slope, dim(pane, 1.35), cv2.LINE_AA)
    if dice.random() < 0.5:
        drape, part = (
            hsv(dice.random(), dice.uniform(0, 0.4), 0.85 if lit else 0.5),
            (right - left) // dice.choice((3, 4, 5)),
        )
        for a, b in ((left, left + part), (right - part, right)):
            cv2.rectangle(wall, (a, top), (b, bottom), drape, -1)
            cv2.rectangle(glow, (a, top), (b, bottom), dim(drape, 0.6) if lit else (0, 0, 0), -1)
    elif dice.random() < 0.3:
        cv2.rectangle(wall, (left, top), (right, top + high // dice.choice((2, 3))), (196, 190, 176), -1)
    middle, bar = (left + right) // 2, max(1, cell // 26)
    for a, b in (((middle, top), (middle, bottom)), ((left, top + high // 3), (right, top + high // 3))):
        cv2.line(wall, a, b, frame, bar)
        cv2.line(glow, a, b, (0, 0, 0), bar)
    cv2.rectangle(wall, (left - edge * 2, bottom), (right + edge * 2, bottom + edge), dim(trim, 1.1), -1)
    cv2.rectangle(
        wall, (left - edge * 2, bottom + edge), (right + edge * 2, bottom + edge * 2), dim(trim, 0.45), -1
    )


def _balcony(wall: np.ndarray, glow: np.ndarray, x: int, y: int, cell: int) -> None:
    top, bottom = y + round(cell * 0.6), y + round(cell * 0.9)
    for post in range(x + 3, x + cell - 2, max(2, cell // 12)):
        cv2.line(wall, (post, top), (post, bottom), (40, 40, 44), 1)
    cv2.line(wall, (x + 2, top), (x + cell - 3, top), (50, 50, 54), max(1, cell // 22))
    cv2.rectangle(wall, (x + 1, bottom), (x + cell - 2, bottom + max(1, cell // 16)), (120, 116, 110), -1)
    cv2.line(glow, (x + 2, top), (x + cell - 3, top), (0, 0, 0), max(1, cell // 22))


def _shops(
    wall: np.ndarray, glow: np.ndarray, dice: random.Random, top: int, cell: int, bays: int, hour: Hour
) -> None:
    bay = 0
    while bay < bays:
        wide = min(dice.choice((1, 2, 2, 3)), bays - bay)
        left, right = bay * cell + cell // 12, (bay + wide) * cell - cell // 12
        bay += wide
        color = hsv(dice.random(), dice.uniform(0.3, 0.8), dice.uniform(0.3, 0.75))
        cv2.rectangle(wall, (left, top + cell // 6), (right, top + cell), dim(color, 0.6), -1)
        pane = left + cell // 12, top + round(cell * 0.42), right - cell // 12, top + round(cell * 0.9)
        lit = dice.random() < 0.25 + 0.7 * hour.lamps
        inner = dim((255, 226, 180), dice.uniform(0.7, 1)) if lit else (58, 64, 72)
        shine = dim(inner, 0.7 * max(hour.lamps, 0.15)) if lit else (0, 0, 0)
        cv2.rectangle(wall, pane[:2], pane[2:], inner, -1)
        cv2.rectangle(glow, pane[:2], pane[2:], shine, -1)
        for x in range(pane[0] + 2, pane[2] - cell // 8, max(3, cell // 7)) if cell > 24 else ():
            ware, size = (
                hsv(dice.random(), 0.6, dice.uniform(0.2, 0.9)),
                round(cell * dice.uniform(0.08, 0.26)),
            )
            cv2.rectangle(wall, (x, pane[3] - size), (x + cell // 10, pane[3]), ware, -1)
            cv2.rectangle(
                glow, (x, pane[3] - size), (x + cell // 10, pane[3]), dim(ware, 0.4) if lit else (0, 0, 0), -1
            )
        if dice.random() < 0.5:
            deep = cell // 4
            for index, x in enumerate(range(left, right, max(3, cell // 8))):
                stripe = color if index % 2 else (236, 230, 220)
                cv2.rectangle(
                    wall,
                    (x, top + cell // 5),
                    (min(right, x + cell // 8), top + cell // 5 + deep),
                    stripe,
                    -1,
                )
            cv2.rectangle(
                wall, (left, top + cell // 5 + deep), (right, top + cell // 5 + deep + 2), dim(color, 0.4), -1
            )
        else:
            sign = top + round(cell * 0.2), top + round(cell * 0.34)
            cv2.rectangle(wall, (left, sign[0]), (right, sign[1]), color, -1)
            letters = mix(color, (255, 250, 230), 0.8)
            for x in range(left + cell // 6, right - cell // 5, max(3, cell // 9)) if cell > 24 else ():
                cv2.rectangle(wall, (x, sign[0] + 2), (x + cell // 16, sign[1] - 2), letters, -1)
                if hour.lamps > 0.5:
                    cv2.rectangle(
                        glow, (x, sign[0] + 2), (x + cell // 16, sign[1] - 2), dim(letters, 0.7), -1
                    )
