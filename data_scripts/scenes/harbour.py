"""Scene kind ``harbour``: a town across the water, its lamps drawn out in the ripples, boats."""

import random

import cv2
import numpy as np

from data_scripts.scenes import textures
from data_scripts.scenes.boats import boat
from data_scripts.scenes.colors import Color, dim, hsv, mix
from data_scripts.scenes.landscape import ridge
from data_scripts.scenes.paint import Picture, crop, tint
from data_scripts.scenes.sky import HOURS, Hour, haze, paint_sky

TIMES = ("dusk", "night", "sunset", "dusk", "golden", "morning")


def scene(dice: random.Random, width: int, height: int) -> np.ndarray:
    """Paint one; uint8 (height, width, 3), RGB."""
    hour = HOURS[dice.choice(TIMES)]
    ambient = tuple(1.15 * a + 0.22 * (1 - hour.lamps) for a in hour.ambient)
    picture = Picture(width, height, ambient)
    water = height * dice.uniform(0.5, 0.64)
    side = dice.uniform(0.15, 0.85)
    paint_sky(picture, dice, hour, water, side)
    picture.backlight(int(water) + 1, 0.62 if hour.lamps > 0.5 else 0.54)
    if hour.name == "night" and dice.random() < 0.6:
        _moon(picture, dice, water)
    _hills(picture, dice, hour, water)
    _town(picture, dice, hour, water)
    for _ in range(dice.randint(2, 5)):
        across, far = dice.uniform(0.02, 0.98), dice.uniform(0.03, 0.13)
        boat(picture, dice, across * width, water + far * 0.18 * height, height * (0.16 + 1.6 * far), hour)
    _water(picture, dice, hour, water)
    for depth in sorted(dice.uniform(0.12, 0.75) for _ in range(dice.randint(1, 3))):
        foot, size = water + (height - water) * depth, height * (0.2 + 0.42 * depth)
        _moored(picture, dice, dice.uniform(0.05, 0.95) * width, foot, size, hour)
    if dice.random() < 0.6:
        _quay(picture, dice, hour, water)
    exposure = {"night": 1.9, "dusk": 1.7, "sunset": 1.3}.get(hour.name, 1.05)
    return picture.develop(dice, exposure=exposure, grain=2.6, bloom=0.45)


def _moon(picture: Picture, dice: random.Random, water: float) -> None:
    x, y, size = (
        picture.width * dice.uniform(0.15, 0.85),
        water * dice.uniform(0.12, 0.4),
        picture.height * 0.028,
    )
    picture.oval(x, y, size, size, (120, 120, 110), (235, 232, 214))
    picture.oval(x - size * 0.25, y - size * 0.1, size * 0.3, size * 0.25, (90, 90, 84), (196, 194, 182))


def _hills(picture: Picture, dice: random.Random, hour: Hour, water: float) -> None:
    for index in range(2):
        line = ridge(dice, picture.width, water, water * dice.uniform(0.14, 0.4) * (1 - 0.45 * index), 4.2)
        color = mix(mix((52, 66, 54), (60, 56, 70), dice.random()), hour.haze, 0.55 - 0.25 * index)
        x = np.arange(picture.width, dtype=np.float32)
        outline = np.vstack([np.stack([x, line], 1), [(picture.width, water + 1), (0, water + 1)]])
        top = int(line.min())
        patch = tint(crop(textures.stone(), dice, picture.width, int(water) + 2 - top, 0.8), color)
        picture.texture(outline, cv2.addWeighted(patch, 0.6, patch, 0, 0.4 * sum(color) / 3))
        haze(picture, hour, top, water, 0.22)


def _town(picture: Picture, dice: random.Random, hour: Hour, water: float) -> None:
    """Rows of houses up the slope, the rear ones first, a tower among them, lamps along the shore."""
    w, h = picture.width, picture.height
    style = dice.choice(("gables", "gables", "blocks"))
    for row in range(3):
        x, fade, foot = -0.02 * w, 0.3 - 0.13 * row, water - (2 - row) * h * 0.035
        while x < w:
            wide = h * dice.uniform(0.035, 0.085)
            tall = h * (
                dice.uniform(0.06, 0.12)
                if style == "gables"
                else dice.uniform(0.08, 0.24) * (1.2 - 0.3 * row)
            )
            if dice.random() < 0.85:
                _house(picture, dice, (x, foot, wide, tall), fade, hour, style == "gables")
            x += wide * dice.uniform(0.92, 1.15)
    tower = w * dice.uniform(0.15, 0.85)
    wall = mix((150, 140, 128), hour.haze, 0.15)
    picture.box(tower - h * 0.02, water - h * 0.3, tower + h * 0.02, water - h * 0.03, dim(wall, 0.8))
    picture.box(tower - h * 0.02, water - h * 0.3, tower - h * 0.004, water - h * 0.03, wall)
    picture.fill(
        (
            (tower - h * 0.026, water - h * 0.3),
            (tower, water - h * 0.42),
            (tower + h * 0.026, water - h * 0.3),
        ),
        mix((70, 92, 84), hour.haze, 0.15),
    )
    picture.box(0, water - h * 0.014, w, water + 1, mix((82, 78, 74), hour.haze, 0.1))
    if hour.lamps > 0.2:
        for index in range(dice.randint(7, 14)):
            x, tone = (
                w * (index + dice.uniform(0.2, 0.8)) / 13,
                dice.choice(((255, 196, 110), (255, 214, 150), (230, 236, 255), (255, 170, 80))),
            )
            picture.stroke(((x, water), (x, water - h * 0.045)), (30, 30, 34), 1)
            picture.oval(x, water - h * 0.048, h * 0.006, h * 0.006, tone, tone)
            picture.shine(x, water - h * 0.03, h * 0.05, h * 0.06, tone, 0.8 * hour.lamps)


def _house(
    picture: Picture,
    dice: random.Random,
    place: tuple[float, float, float, float],
    fade: float,
    hour: Hour,
    gable: bool,
) -> None:
    x, foot, wide, tall = place
    wall = mix(
        hsv(
            dice.uniform(0.0, 0.14) if dice.random() < 0.8 else dice.random(),
            dice.uniform(0.15, 0.6),
            dice.uniform(0.5, 0.95),
        ),
        hour.haze,
        fade,
    )
    roof = mix(dice.choice(((140, 66, 48), (92, 72, 70), (80, 84, 96))), hour.haze, fade)
    top = foot - tall
    picture.box(x, top, x + wide, foot, wall)
    picture.box(x + wide * 0.86, top, x + wide, foot, dim(wall, 0.72))
    if gable and dice.random() < 0.5:
        picture.fill(((x - 1, top), (x + wide / 2, top - wide * 0.5), (x + wide + 1, top)), dim(wall, 0.95))
        picture.stroke(((x - 1, top), (x + wide / 2, top - wide * 0.5), (x + wide + 1, top)), roof, 2)
    elif gable:
        picture.fill(
            (
                (x - 1, top),
                (x + wide * 0.15, top - wide * 0.35),
                (x + wide * 0.85, top - wide * 0.35),
                (x + wide + 1, top),
            ),
            roof,
        )
    else:
        picture.box(x, top - 1.5, x + wide, top, dim(wall, 0.6))
    columns, rows = max(2, round(wide / 8)), max(2, round(tall / 11))
    for column in range(columns):
        for row in range(rows):
            left, up = x + wide * (column + 0.28) / columns, top + tall * (row + 0.25) / rows
            lit = dice.random() < 0.5 * hour.lamps
            tone = (
                dice.choice(((255, 200, 110), (255, 220, 160), (255, 180, 90)))
                if lit
                else dim(mix((40, 44, 56), hour.haze, fade), dice.uniform(0.7, 1.3))
            )
            picture.box(
                left,
                up,
                left + wide * 0.45 / columns,
                up + tall * 0.5 / rows,
                tone,
                dim(tone, dice.uniform(0.4, 0.9)) if lit else (0, 0, 0),
            )


def _moored(picture: Picture, dice: random.Random, x: float, foot: float, size: float, hour: Hour) -> None:
    """Paint a boat in the foreground with a dark, broken mirror image below it."""
    w, h = picture.width, picture.height
    boat(picture, dice, x, foot, size, hour)
    top, deep = int(foot), int(min(h - foot, size * 0.55))
    left, right = max(0, int(x - size * 0.55)), min(w, int(x + size * 0.55))
    if deep < 4 or right - left < 8 or top - deep < 0:
        return
    ripple = crop(textures.ripples(), dice, right - left, deep, 0.8)
    columns = np.arange(right - left, dtype=np.float32)[None] + ripple * 3.0
    rows = (deep - 1 - np.arange(deep, dtype=np.float32))[:, None] + ripple * 3.0
    veil = np.linspace(0.75, 0.0, deep, dtype=np.float32)[:, None] * np.exp(
        -(((np.arange(left, right) - x) / (size * 0.36)) ** 4)
    ).astype(np.float32)
    veil *= np.clip(0.8 + 0.5 * ripple, 0, 1)
    mask = cv2.cvtColor((veil * 255).astype(np.uint8), cv2.COLOR_GRAY2RGB)
    for layer, share in ((picture.paint, 0.7), (picture.glow, 0.6)):
        mirror = cv2.remap(
            np.ascontiguousarray(layer[top - deep : top, left:right]),
            columns,
            rows,
            cv2.INTER_LINEAR,
            borderMode=cv2.BORDER_REPLICATE,
        )
        part = layer[top : top + deep, left:right]
        part[:] = cv2.add(
            cv2.multiply(part, cv2.bitwise_not(mask), scale=1 / 255),
            cv2.multiply(mirror, mask, scale=share / 255),
        )


def _water(picture: Picture, dice: random.Random, hour: Hour, water: float) -> None:
    """Mirror all that stands above the water line, broken by waves that grow towards the viewer."""
    w, h = picture.width, picture.height
    top = int(water)
    deep = h - top
    near = np.linspace(0.02, 1, deep, dtype=np.float32)[:, None]
    # Waves in perspective: farther rows step over more of the tile.
    tile, rough = textures.ripples(), dice.uniform(0.5, 1.4)
    rows = (1500 / (near[:, 0] * 9 + 1)).astype(int) + dice.randrange(512)
    stride = (0.35 + 1.4 / (near * 6 + 0.6)).astype(np.float32)
    columns = (np.arange(w, dtype=np.float32)[None] - w / 2) * stride + dice.randrange(512) + 40 * w
    wave = tile.ravel().take((rows[:, None] % 512) * 512 + columns.astype(np.intp) % 512)
    reach = (2 + 24 * near) * rough
    x = np.arange(w, dtype=np.float32)[None] + wave * reach * 0.18
    y = (top - 1 - np.arange(deep, dtype=np.float32) * (top / max(deep, 1)) * 0.92)[:, None] + wave * reach
    np.clip(y, 0, top - 1, out=y)
    depth = mix((20, 44, 58), dim(hour.zenith, 0.6), 0.6)
    slope = np.clip(0.72 - 0.10 * wave - 0.25 * near, 0.1, 1)
    share = cv2.cvtColor((slope * 255).astype(np.uint8), cv2.COLOR_GRAY2RGB)
    ways = cv2.convertMaps(x, y, cv2.CV_16SC2)
    for layer, keep in ((picture.paint, 0.85), (picture.glow, 0.9)):
        above = cv2.blur(layer[:top], (1, 9))
        mirror = cv2.remap(above, *ways, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        layer[top:] = cv2.multiply(mirror, share, scale=keep / 255)
    body = dim(depth, 0.5)
    cv2.add(picture.paint[top:], (*body, 0), dst=picture.paint[top:])
    lights = picture.light[int(top / 4) :]
    np.maximum(lights, 0.3, out=lights)


def _quay(picture: Picture, dice: random.Random, hour: Hour, water: float) -> None:
    """Paint a stone quay in a lower corner with a lamp and bollards."""
    w, h = picture.width, picture.height
    side = dice.choice((-1, 1))
    edge = 0.0 if side < 0 else float(w)
    inner = edge - side * w * dice.uniform(0.45, 0.8)
    corners = ((edge, h * dice.uniform(0.8, 0.88)), (inner, h * 1.01), (edge, h * 1.01))
    left, wide = min(edge, inner), int(abs(edge - inner)) + 2
    color = dim((150, 140, 128), 0.9)
    picture.texture(corners, tint(crop(textures.cobbles(), dice, wide, int(h * 0.22), 0.5), color))
    picture.stroke(corners[:2], dim(color, 1.2), 3)
    x, foot = left + wide * (0.5 + 0.34 * side), h * 0.97
    _lamp(picture, x, foot, h * dice.uniform(0.45, 0.6), hour)


def _lamp(picture: Picture, x: float, foot: float, tall: float, hour: Hour) -> None:
    picture.stroke(((x, foot), (x, foot - tall)), (28, 30, 32), max(2, round(tall / 50)))
    picture.box(x - tall * 0.02, foot - tall * 0.1, x + tall * 0.02, foot, (32, 34, 36))
    head, on = foot - tall * 1.06, hour.lamps > 0.2
    tone: Color = (255, 214, 150) if on else (210, 210, 204)
    glass = (
        (x - tall * 0.045, head - tall * 0.06),
        (x + tall * 0.045, head - tall * 0.06),
        (x + tall * 0.028, head + tall * 0.06),
        (x - tall * 0.028, head + tall * 0.06),
    )
    picture.fill(glass, tone, tone if on else (0, 0, 0))
    picture.stroke(glass, (26, 28, 30), 1, closed=True)
    picture.fill(
        (
            (x - tall * 0.06, head - tall * 0.06),
            (x, head - tall * 0.12),
            (x + tall * 0.06, head - tall * 0.06),
        ),
        (26, 28, 30),
    )
    if on:
        picture.shine(x, foot, tall * 0.5, tall * 0.16, (255, 196, 120), 1.0)
