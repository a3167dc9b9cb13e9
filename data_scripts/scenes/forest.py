"""Scene kind ``forest``: trunks in depth and mist, sunbeams, ferns and leaf litter."""

import random

import cv2
import numpy as np

from data_scripts.scenes import botany, textures
from data_scripts.scenes.colors import Color, dim, hsv, mix
from data_scripts.scenes.paint import FIELD, Picture, crop, fixed, tint

MISTS = ((206, 220, 214), (236, 222, 190), (190, 206, 226), (244, 206, 160), (170, 196, 180))


def scene(dice: random.Random, width: int, height: int) -> np.ndarray:
    """Paint one; uint8 (height, width, 3), RGB."""
    picture = Picture(width, height, (0.5, 0.52, 0.52))
    mist: Color = dice.choice(MISTS)
    autumn = dice.random() < 0.3
    green = (
        hsv(dice.uniform(0.05, 0.12), 0.65, 0.75)
        if autumn
        else hsv(dice.uniform(0.2, 0.3), dice.uniform(0.4, 0.6), dice.uniform(0.45, 0.62))
    )
    horizon, sun = height * dice.uniform(0.55, 0.68), dice.uniform(0.15, 0.85)
    _backdrop(picture, dice, mist, green, horizon, sun)
    _floor(picture, dice, mist, green, horizon)
    birch = dice.random() < 0.25
    for depth in range(5):
        _stand(picture, dice, depth, mist, green, horizon, birch)
    _canopy(picture, dice, green, mist)
    _light(picture, dice, mist, sun, horizon)
    return picture.develop(dice, exposure=dice.uniform(1.0, 1.25), grain=1.3, soft=0.5, bloom=0.5)


def _backdrop(
    picture: Picture, dice: random.Random, mist: Color, green: Color, horizon: float, sun: float
) -> None:
    """Far foliage dissolving in light."""
    w, h = picture.width, picture.height
    high = int(horizon) + 2
    far = crop(textures.clouds(), dice, w, high, 0.6)
    tones = np.multiply.outer(np.linspace(0.6, 1.0, 256), mix(mist, green, 0.25)).astype(np.uint8)
    picture.paint[:high] = cv2.LUT(cv2.cvtColor(far, cv2.COLOR_GRAY2RGB), tones[:, None])
    for index in range(16):
        near = index / 16
        size = h * dice.uniform(0.2, 0.4) * (0.7 + near * 0.6)
        sprite = botany.sized(botany.crown, dice, size, size * 0.9).tinted(
            mix(mist, dim(green, 0.7), 0.2 + 0.35 * near)
        )
        picture.stamp(
            sprite,
            dice.uniform(-0.1, 0.95) * w,
            horizon - size * dice.uniform(0.3, 1.1) - (1 - near) * h * 0.2,
        )


def _floor(picture: Picture, dice: random.Random, mist: Color, green: Color, horizon: float) -> None:
    w, h = picture.width, picture.height
    litter = mix((130, 96, 66), green, dice.uniform(0.1, 0.7))
    tile = tint(textures.grass(), dim(litter, 1.1))
    far = cv2.copyMakeBorder(tile, 256, 0, 256, 0, cv2.BORDER_WRAP)
    picture.project(far, ((-0.05 * w, horizon), (1.05 * w, horizon), (1.9 * w, h + 10), (-0.9 * w, h + 10)))
    deep = max(2, (h - int(horizon)) // 2)
    part = picture.paint[int(horizon) : int(horizon) + deep]
    weight = np.linspace(0.75, 0, part.shape[0], dtype=np.float32)[:, None, None]
    part[:] = (part * (1 - weight) + weight * np.array(mix(mist, green, 0.3), np.float32)).astype(np.uint8)


def _stand(
    picture: Picture, dice: random.Random, depth: int, mist: Color, green: Color, horizon: float, birch: bool
) -> None:
    """One rank of trunks with undergrowth at their feet; rank 0 is the farthest."""
    w, h = picture.width, picture.height
    near = depth / 4
    fade = 0.82 * (1 - near) ** 1.3
    foot = horizon + (h - horizon) * (0.02 + 0.75 * near**1.7)
    base = (206, 202, 192) if birch else dice.choice(((96, 78, 62), (86, 76, 68), (110, 88, 66)))
    count = (9, 8, 6, 4, dice.choice((1, 2)))[depth]
    for _ in range(count):
        x, thick = (
            dice.uniform(-0.03, 1.03) * w,
            min(w, h) * (0.018 + 0.10 * near**1.4) * dice.uniform(0.7, 1.3),
        )
        if depth == 4:
            x = dice.choice((dice.uniform(-0.02, 0.25), dice.uniform(0.75, 1.02))) * w
        _trunk(picture, dice, x, foot + dice.uniform(-0.02, 0.04) * h, thick, mix(base, mist, fade), birch)
    undergrowth = mix(dim(green, 0.55 + 0.45 * near), mist, fade)
    for _ in range((10, 12, 10, 8, 7)[depth]):
        size = h * (0.05 + 0.16 * near) * dice.uniform(0.7, 1.3)
        x = dice.uniform(-0.05, 1.0) * w
        if dice.random() < 0.5:
            sprite = botany.sized(botany.tuft, dice, size * 1.2, size)
        else:
            sprite = botany.sized(botany.fern, dice, size * 1.5, size)
        picture.stamp(
            sprite.tinted(mix(undergrowth, (120, 130, 70), dice.uniform(0, 0.3))),
            x,
            foot + dice.uniform(-0.3, 0.5) * size - size * 0.6,
        )


def _trunk(
    picture: Picture, dice: random.Random, x: float, foot: float, thick: float, color: Color, birch: bool
) -> None:
    """Paint a trunk leaving the picture at its top, round by shading, with bark."""
    wide, high = max(3, round(thick)), round(foot) + 4
    if high < 8:
        return
    lean = dice.uniform(-0.05, 0.05) * high
    across = np.linspace(-1, 1, wide, dtype=np.float32)
    roll = 0.42 + 0.75 * np.sqrt(np.maximum(1 - (across + 0.35) ** 2 / 1.9, 0))
    column = np.multiply.outer(roll, np.asarray(color, np.float32)).clip(0, 255).astype(np.uint8)
    strip = np.repeat(column[None], high, axis=0)
    bark = crop(textures.bark() if not birch else textures.stone(), dice, wide, high, 1.0)
    strip = cv2.multiply(strip, bark, scale=1 / 128)
    if birch:
        for _ in range(high // 9):
            y, left = dice.randrange(high), dice.randrange(wide)
            cv2.line(
                strip,
                (left, y),
                (left + max(1, int(wide * dice.uniform(0.1, 0.5))), y),
                (52, 48, 46),
                1 + wide // 20,
            )
    corners = (
        (x - wide * 0.38 + lean, 0),
        (x + wide * 0.38 + lean, 0),
        (x + wide * 0.5, foot),
        (x - wide * 0.5, foot),
    )
    if thick < 10:
        picture.lay(strip, x - wide / 2, 0)
    else:
        picture.project(strip, corners)
        flare = (
            (x - wide * 0.48, foot - wide * 0.9),
            (x + wide * 0.48, foot - wide * 0.9),
            (x + wide * 0.62, foot - wide * 0.2),
            (x + wide * 0.85, foot + wide * 0.08),
            (x - wide * 0.85, foot + wide * 0.08),
            (x - wide * 0.62, foot - wide * 0.2),
        )
        root = cv2.resize(strip[-max(4, wide) :], (round(wide * 1.7) + 2, round(wide) + 2))
        picture.texture(flare, root)
    picture.shade(x, foot, thick * 1.1, max(4.0, thick * 0.25), 0.45)


def _canopy(picture: Picture, dice: random.Random, green: Color, mist: Color) -> None:
    """Leaves hanging into the picture from above."""
    w, h = picture.width, picture.height
    for index in range(dice.randint(6, 12)):
        size = h * dice.uniform(0.25, 0.5)
        sprite = botany.sized(botany.crown, dice, size * 1.2, size * 0.8)
        tone = mix(dim(green, 0.6 + 0.05 * index), mist, max(0.0, 0.4 - 0.05 * index))
        picture.stamp(sprite.tinted(tone), dice.uniform(-0.2, 0.95) * w, -size * dice.uniform(0.3, 0.62))


def _light(picture: Picture, dice: random.Random, mist: Color, sun: float, horizon: float) -> None:
    """Sunlight through gaps: beams in the mist, patches on the ground."""
    w, h = picture.width, picture.height
    gaps = crop(textures.clouds(), dice, picture.light.shape[1], picture.light.shape[0], 0.35).astype(
        np.float32
    )
    picture.light *= (0.55 + 0.75 * gaps * (1 / 255))[..., None]
    picture.shine(sun * w, h * 0.25, w * 0.26, h * 0.4, mist, 1.5)
    picture.shine(sun * w, horizon + 0.1 * h, w * 0.4, h * 0.15, mist, 0.5)
    rows, columns = picture.light.shape[:2]
    beams = np.zeros((rows, columns), np.uint8)
    source = (sun * w, -h * 0.35)
    for _ in range(dice.randint(4, 9)):
        at, half = sun * w + dice.uniform(-0.7, 0.7) * w, w * dice.uniform(0.015, 0.06)
        shape = np.array([source, (at - half, h * 0.95), (at + half, h * 0.95)], np.float32) / FIELD
        beam = np.zeros_like(beams)
        cv2.fillPoly(beam, [fixed(shape)], dice.uniform(20, 60), cv2.LINE_AA, 4)
        cv2.add(beams, beam, dst=beams)
    soft = cv2.GaussianBlur(beams, (0, 0), 3)
    fall = np.linspace(1, 0.15, rows, dtype=np.float32)[:, None]
    veil = cv2.resize((soft * fall).astype(np.uint8), (w, h))
    shine = cv2.multiply(cv2.cvtColor(veil, cv2.COLOR_GRAY2RGB), (*dim(mist, 0.9), 0), scale=1 / 105)
    picture.glow[:] = cv2.add(picture.glow, shine)
    picture.lit = True
