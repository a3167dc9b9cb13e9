"""Scene kind ``landscape``: hills and mountains in haze, a meadow with trees, houses and a path."""

import random

import cv2
import numpy as np

from data_scripts.scenes import botany, textures
from data_scripts.scenes.colors import Color, dim, hsv, mix
from data_scripts.scenes.houses import house
from data_scripts.scenes.paint import Picture, crop, tint
from data_scripts.scenes.sky import HOURS, Hour, haze, paint_sky

TIMES = ("noon", "morning", "golden", "sunset", "overcast", "noon", "dusk", "golden", "noon", "morning")
SKY = {"dusk": 0.42, "sunset": 0.57, "golden": 0.63}  # how strongly the sky shines, 0.65 by day


def scene(dice: random.Random, width: int, height: int) -> np.ndarray:
    """Paint one; uint8 (height, width, 3), RGB."""
    hour = HOURS[dice.choice(TIMES)]
    picture = Picture(width, height, hour.ambient)
    horizon = height * dice.uniform(0.38, 0.58)
    side = dice.choice((dice.uniform(0, 0.35), dice.uniform(0.65, 1)))
    green = hsv(dice.uniform(0.17, 0.27), dice.uniform(0.35, 0.6), dice.uniform(0.42, 0.6))
    paint_sky(picture, dice, hour, horizon, side)
    picture.backlight(int(horizon) + 1, SKY.get(hour.name, 0.65))
    _ridges(picture, dice, hour, horizon, green)
    lake = _meadow(picture, dice, horizon, green, hour)
    _sunlight(picture, dice, hour, horizon, side)
    _trees(picture, dice, hour, horizon, side, green, lake)
    return picture.develop(dice, exposure=_exposure(hour), grain=1.4, bloom=0.15, soft=0.5)


def _exposure(hour: Hour) -> float:
    return {"dusk": 2.0, "sunset": 1.35, "golden": 1.1}.get(hour.name, 0.95)


def ridge(dice: random.Random, width: int, level: float, relief: float, slope: float) -> np.ndarray:
    """Choose the outline of a range of hills: rows at each column, float32 (width,)."""
    line = crop(textures.noise(slope, 401), dice, width, 1, 1.0)[0]
    line = cv2.GaussianBlur(line[None], (0, 0), 1.2)[0]
    line = (line - line.mean()) / max(float(line.std()), 0.3)
    return (level - relief * (0.5 + 0.3 * line)).astype(np.float32)


def _under(picture: Picture, line: np.ndarray, patch: np.ndarray, top: int) -> None:
    """Paint a patch whose first row is ``top`` over all that lies below an outline."""
    high = patch.shape[0]
    rows = np.arange(top, top + high, dtype=np.float32)[:, None]
    mask = ((rows - line[None, :]).clip(0, 1) * 255).astype(np.uint8)
    mask = cv2.cvtColor(mask, cv2.COLOR_GRAY2RGB)
    kept = cv2.bitwise_not(mask)
    for layer in (picture.paint, picture.glow):
        part = layer[top : top + high]
        cv2.multiply(part, kept, dst=part, scale=1 / 255)
    part = picture.paint[top : top + high]
    cv2.add(part, cv2.multiply(patch, mask, scale=1 / 255), dst=part)


def _ridges(picture: Picture, dice: random.Random, hour: Hour, horizon: float, green: Color) -> None:
    w = picture.width
    count, steep = dice.randint(2, 4), dice.random() < 0.5
    for index in range(count):
        near = (index + 1) / count
        level = horizon + 2 - (1 - near) * horizon * 0.10
        relief = (
            horizon
            * (dice.uniform(0.3, 0.55) if steep and index == 0 else dice.uniform(0.08, 0.24))
            * (1.2 - 0.5 * near)
        )
        line = ridge(dice, w, level, relief, 3.5 if steep and index == 0 else 4.2)
        rock = steep and index == 0
        base = mix((128, 122, 124), green, 0.2) if rock else dim(green, 0.75)
        color = mix(hour.haze, base, 0.25 + 0.6 * near)
        top = max(0, int(line.min()) - 1)
        high = min(picture.height, int(horizon) + 3) - top
        if high < 2:
            continue
        tile = textures.stone() if rock else botany.woodland()
        patch = tint(crop(tile, dice, w, high, 0.6), color)
        _under(picture, line, patch, top)
        haze(picture, hour, top, horizon + 2, 0.5 * (1 - near) + 0.12)


def _meadow(
    picture: Picture, dice: random.Random, horizon: float, green: Color, hour: Hour
) -> np.ndarray | None:
    """Paint the ground and what lies on it; give back the shore of the lake, if there is one."""
    w, h = picture.width, picture.height
    tile = tint(np.roll(textures.grass(), dice.randrange(512), 1), dim(green, 1.15))
    tile = cv2.multiply(tile, crop(textures.plaster(), dice, 512, 512, 3.0), scale=1 / 128)
    spread, top = w * dice.uniform(0.25, 0.5), int(horizon)
    far = cv2.copyMakeBorder(tile, 512, 0, 512, 0, cv2.BORDER_WRAP)
    picture.project(
        far, ((-0.05 * w, top - 2), (1.05 * w, top - 2), (w + spread * 3, h + 20), (-spread * 3, h + 20))
    )
    kind, shore = dice.random(), None
    if kind < 0.3:
        shore = _lake(picture, dice, horizon, hour)
    elif kind < 0.55:
        _path(picture, dice, horizon)
    elif kind < 0.78:
        _blossoms(picture, dice, horizon)
    veil = picture.paint[top : top + (h - top) // 4]
    weight = np.linspace(0.5, 0, veil.shape[0], dtype=np.float32)[:, None, None]
    veil[:] = (veil * (1 - weight) + weight * np.array(mix(hour.haze, green, 0.5), np.float32)).astype(
        np.uint8
    )
    return shore


def _path(picture: Picture, dice: random.Random, horizon: float) -> None:
    w, h = picture.width, picture.height
    t = np.linspace(0, 1, 24) ** 1.6
    far, near = w * dice.uniform(0.3, 0.7), w * dice.uniform(0.2, 0.8)
    swing = w * dice.uniform(-0.22, 0.22)
    middle = far + (near - far) * t + swing * np.sin(t * np.pi * 1.4)
    y = horizon + (h - horizon) * t * 1.02
    half = 1.2 + t * w * dice.uniform(0.07, 0.13)
    shape = np.vstack([np.stack([middle - half, y], 1), np.stack([middle + half, y], 1)[::-1]])
    left, top = np.floor(shape.min(axis=0)).astype(int)
    right, bottom = np.ceil(shape.max(axis=0)).astype(int) + 1
    color = dice.choice(((176, 150, 116), (158, 146, 130), (150, 120, 92)))
    picture.texture(
        shape, tint(crop(textures.asphalt(), dice, int(right - left), int(bottom - top), 1.3), color)
    )


def _lake(picture: Picture, dice: random.Random, horizon: float, hour: Hour) -> np.ndarray | None:
    """Paint a lake in the meadow that mirrors hills and sky, brighter where its far shore begins."""
    w, h = picture.width, picture.height
    top = horizon + (h - horizon) * dice.uniform(0.03, 0.12)
    low = top + (h - horizon) * dice.uniform(0.25, 0.5)
    middle, half = w * dice.uniform(0.15, 0.85), w * dice.uniform(0.35, 0.8)
    turn = np.linspace(0, 2 * np.pi, 48)
    wobble = 1 + 0.06 * np.sin(3 * turn + dice.uniform(0, 6)) + 0.04 * np.sin(7 * turn + dice.uniform(0, 6))
    shore = np.stack(
        [middle + half * np.cos(turn) * wobble, (top + low) / 2 + (low - top) / 2 * np.sin(turn) * wobble], 1
    )
    shore = shore.clip((-1, horizon + 1), (w + 1, h + 1))
    left, first = np.floor(shore.min(axis=0)).astype(int)
    right, last = np.ceil(shore.max(axis=0)).astype(int) + 1
    left, right, last = max(0, int(left)), min(w, int(right)), min(h, int(last))
    deep, wide = last - int(first), right - left
    if deep < 6 or wide < 6:
        return None
    wave = crop(textures.ripples(), dice, wide, deep, 0.6)
    near = np.linspace(0.3, 1, deep, dtype=np.float32)[:, None]
    rows = (
        horizon - 1 - np.arange(deep, dtype=np.float32)[:, None] * (horizon / deep) * 0.8 + wave * near * 7
    ).clip(0, horizon - 1)
    columns = np.arange(left, right, dtype=np.float32)[None] + wave * near * 2.5
    top = int(horizon)
    above = cv2.add(picture.paint[:top], cv2.convertScaleAbs(picture.glow[:top], alpha=1.4))
    mirror = cv2.remap(
        cv2.blur(above, (1, 7)), columns, rows, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
    )
    water = cv2.add(cv2.convertScaleAbs(mirror, alpha=0.72), (*dim(hour.zenith, 0.12), 0))
    picture.texture(shore.clip((left, first), (right, last)), water)
    picture.stroke(shore, (96, 88, 66), 2, closed=True)
    return shore.astype(np.float32)


def _blossoms(picture: Picture, dice: random.Random, horizon: float) -> None:
    color = dice.choice(((236, 84, 66), (250, 226, 90), (240, 240, 244), (176, 120, 210), (250, 170, 190)))
    for t in sorted(dice.random() for _ in range(420)):
        x = dice.uniform(0, picture.width)
        y, size = horizon + 6 + (picture.height - horizon) * t**1.5, 0.7 + 3.4 * t * t
        tone = dim(color, dice.uniform(0.7, 1.05))
        picture.oval(x, y, size, size * 0.8, tone, None)


def _sunlight(picture: Picture, dice: random.Random, hour: Hour, horizon: float, side: float) -> None:
    """Light the ground in patches, as under broken clouds, and what stands above it evenly."""
    rows = picture.light.shape[0]
    first = int(horizon / 4)
    high, wide = rows - first, picture.light.shape[1]
    cover = crop(textures.clouds(), dice, wide, max(high, 1), 0.5).astype(np.float32) * (1 / 255)
    sun = np.array(hour.sun, np.float32) / 255
    strength = {"overcast": 0.25, "dusk": 0.12, "sunset": 0.55}.get(hour.name, 0.9)
    picture.light[first:] += (0.35 + 0.65 * cover)[..., None] * (sun * strength)
    picture.light[:first] += sun * (strength * 0.7)
    picture.shine(
        picture.width * side, horizon, picture.width * 0.4, picture.height * 0.25, hour.sun, strength * 0.35
    )


def _trees(
    picture: Picture,
    dice: random.Random,
    hour: Hour,
    horizon: float,
    side: float,
    green: Color,
    lake: np.ndarray | None,
) -> None:
    """Trees, bushes and houses from far to near."""
    w, h = picture.width, picture.height
    tints = [botany.season(dice) for _ in range(3)]
    conifers = dice.random() < 0.4
    things = []
    for _ in range(dice.randint(2, 5)):
        # Trees stand in groves.
        far, at, wide = dice.random() ** 2 * 0.42, dice.uniform(0, 1), dice.uniform(0.05, 0.22)
        things += [
            (max(0.01, far + dice.gauss(0, 0.04)), dice.gauss(at, wide), "tree")
            for _ in range(dice.randint(3, 8))
        ]
    things += [
        (dice.uniform(0.0, 0.015), dice.uniform(-0.02, 1.02), "tree") for _ in range(dice.randint(6, 26))
    ]
    things += [
        (dice.uniform(0.02, 0.16), dice.uniform(0.08, 0.92), "house")
        for _ in range(dice.choice((0, 1, 1, 2, 3)))
    ]
    if dice.random() < 0.7:
        things.append(
            (dice.uniform(0.5, 0.9), dice.choice((dice.uniform(0.0, 0.25), dice.uniform(0.75, 1.0))), "tree")
        )
    for depth, across, kind in sorted(things):
        foot, size = horizon + 3 + (h - horizon) * depth, (0.09 + 0.6 * depth) * h * dice.uniform(0.75, 1.3)
        fade = max(0.0, 0.4 - depth * 1.6)
        if lake is not None and any(
            cv2.pointPolygonTest(lake, (across * w + dx * size, foot), False) >= 0 for dx in (-0.5, 0, 0.5)
        ):
            continue
        if kind == "house":
            house(picture, dice, across * w, foot, size * 0.9 + h * 0.03, hour, fade, side)
        else:
            tree(
                picture,
                dice,
                across * w,
                foot,
                size,
                mix(mix(dice.choice(tints), hour.haze, fade), (90, 110, 80), 0.1),
                side,
                conifers and dice.random() < 0.8,
            )
    for _ in range(dice.randint(8, 18)):
        depth = dice.uniform(0.75, 1.08)
        sprite = botany.sized(botany.tuft, dice, h * 0.16 * depth, h * 0.13 * depth)
        picture.stamp(
            sprite.tinted(mix(green, (130, 135, 70), dice.random())),
            dice.uniform(-0.05, 0.98) * w,
            horizon + (h - horizon) * depth - h * 0.1,
        )


def tree(
    picture: Picture,
    dice: random.Random,
    x: float,
    foot: float,
    size: float,
    color: Color,
    side: float,
    conifer: bool,
) -> None:
    """Plant a tree of ``size`` pixels with its shadow on the ground, away from the sun at ``side``."""
    away = 1 if x / picture.width > side else -1
    reach = size * 0.55
    picture.shadow(
        (
            (x - size * 0.04, foot),
            (x + away * reach, foot + size * 0.01),
            (x + away * reach * 1.5, foot + size * 0.10),
            (x + away * reach * 0.4, foot + size * 0.12),
        ),
        0.5,
        1 + size * 0.02,
    )
    if conifer:
        sprite = botany.sized(botany.conifer, dice, size * 0.5, size * dice.uniform(0.95, 1.25)).tinted(
            mix(color, (60, 96, 70), 0.6)
        )
        picture.stamp(
            sprite if away > 0 else sprite.flipped(),
            x - sprite.color.shape[1] / 2,
            foot - sprite.color.shape[0],
        )
        return
    picture.shade(x, foot, size * 0.35, max(4, size * 0.06), 0.35)
    stem = botany.sized(botany.trunk, dice, size * 0.55, size * 0.8)
    picture.stamp(stem, x - stem.color.shape[1] / 2, foot - stem.color.shape[0])
    leaves = botany.sized(
        botany.crown, dice, size * dice.uniform(0.85, 1.05), size * dice.uniform(0.74, 0.86)
    ).tinted(color)
    picture.stamp(leaves if away > 0 else leaves.flipped(), x - leaves.color.shape[1] / 2, foot - size * 1.03)
