"""Scene kind ``flowers``: foliage and blossoms close up, sharp in front of a garden out of focus."""

import math
import random
from functools import cache

import cv2
import numpy as np

from data_scripts.scenes import blossoms, botany
from data_scripts.scenes.colors import Color, dim, hsv, mix
from data_scripts.scenes.paint import Picture, Sprite, cut_out

BLOSSOMS = (
    ("daisy", (248, 246, 240), (240, 196, 50)),
    ("daisy", (250, 214, 70), (110, 70, 30)),
    ("wild", (236, 130, 170), (250, 220, 110)),
    ("wild", (126, 120, 226), (250, 240, 190)),
    ("wild", (250, 250, 250), (236, 206, 90)),
    ("poppy", (226, 48, 36), (40, 34, 36)),
    ("poppy", (246, 150, 60), (90, 80, 30)),
    ("rose", (224, 84, 110), (170, 40, 70)),
    ("rose", (250, 220, 180), (236, 170, 120)),
    ("daisy", (190, 120, 214), (240, 206, 80)),
)


def scene(dice: random.Random, width: int, height: int) -> np.ndarray:
    """Paint one; uint8 (height, width, 3), RGB."""
    picture = Picture(width, height, (0.42, 0.46, 0.48))
    autumn = dice.random() < 0.22
    green = (
        hsv(dice.uniform(0.04, 0.12), 0.65, 0.7)
        if autumn
        else hsv(dice.uniform(0.2, 0.32), dice.uniform(0.4, 0.65), dice.uniform(0.42, 0.62))
    )
    species = dice.randrange(len(BLOSSOMS))
    backdrop = mix(green, hsv(dice.uniform(0.1, 0.5), 0.4, 0.6), dice.uniform(0.1, 0.6))
    _background(picture, dice, backdrop, BLOSSOMS[species][1])
    _leaves(picture, dice, green)
    stem = hsv(dice.uniform(0.2, 0.3), 0.5, 0.55)
    _blossoms(picture, dice, species, stem)
    side = dice.uniform(0.1, 0.9)
    sun: Color = dice.choice(((255, 236, 200), (255, 214, 160), (236, 240, 255)))
    picture.shine(width * side, height * 0.1, width * 0.5, height * 0.7, sun, dice.uniform(0.6, 1.0))
    picture.shine(width * 0.5, height * 0.5, width * 0.45, height * 0.45, sun, 0.45)
    for _ in range(3):
        picture.shade(
            width * dice.random(),
            height * dice.uniform(0.4, 1),
            width * 0.2,
            height * 0.2,
            dice.uniform(0.1, 0.4),
        )
    return picture.develop(dice, exposure=dice.uniform(0.95, 1.2), grain=1.6, soft=0.5)


@cache
def _thicket(variant: int) -> np.ndarray:
    """Make a tile of many leaves, uint8 (640, 640, 3), neutral grey: the garden behind."""
    dice = random.Random(f"thicket {variant}")
    picture = Picture(640, 640)
    picture.paint[:] = 26
    for index in range(420):
        size = dice.uniform(50, 110)
        sprite = botany.leaf(dice.randrange(4), dice.randrange(16)).resized(size, size)
        tone = 128 * (0.3 + 0.75 * (index / 420) ** 1.4) * dice.uniform(0.75, 1.1)
        picture.stamp(sprite.tinted((tone, tone, tone)), dice.uniform(-60, 640), dice.uniform(-60, 640))
    return picture.paint


@cache
def _soft_thicket(variant: int, sigma: int) -> np.ndarray:
    return cv2.GaussianBlur(_thicket(variant), (0, 0), sigma)


def _background(picture: Picture, dice: random.Random, green: Color, color: Color) -> None:
    w, h = picture.width, picture.height
    tile = _soft_thicket(dice.randrange(2), dice.choice((2, 5, 9)))
    zoom = max(w, h) / 640 * dice.uniform(1.02, 1.5)
    matrix = cv2.getRotationMatrix2D((320, 320), dice.choice((0, 90, 180, 270)), zoom)
    matrix[:, 2] += (w / 2 - 320, h / 2 - 320)
    picture.paint[:] = cv2.warpAffine(tile, matrix, (w, h), borderMode=cv2.BORDER_REFLECT)
    cv2.multiply(picture.paint, (*dim(green, dice.uniform(0.8, 1.3)), 0), dst=picture.paint, scale=1 / 128)
    for _ in range(dice.randint(4, 16)):
        _bokeh(
            picture,
            dice,
            mix(color if dice.random() < 0.6 else (250, 240, 200), green, dice.uniform(0.1, 0.5)),
        )


def _bokeh(picture: Picture, dice: random.Random, color: Color) -> None:
    """Paint a disc of light out of focus, brighter at its rim as a lens draws it."""
    size = round(min(picture.width, picture.height) * dice.uniform(0.03, 0.075))
    disc, side = np.zeros((2 * size + 4, 2 * size + 4), np.uint8), size + 2
    cv2.circle(disc, (side, side), size, 90, -1, cv2.LINE_AA)
    cv2.circle(disc, (side, side), size - 1, 130, 2, cv2.LINE_AA)
    patch = np.empty((*disc.shape, 3), np.uint8)
    patch[:] = color
    picture.stamp(
        cut_out(patch, cv2.blur(disc, (3, 3))),
        picture.width * dice.random() - side,
        picture.height * dice.uniform(0, 0.8) - side,
    )


def _leaves(picture: Picture, dice: random.Random, green: Color) -> None:
    """Leaves in focus, denser below, each with a soft shadow on those behind."""
    w, h = picture.width, picture.height
    unit, variant, dense = min(w, h) * dice.uniform(0.2, 0.32), dice.randrange(4), dice.random() < 0.5
    count = dice.randint(70, 100) if dense else dice.randint(34, 56)
    for index in range(count):
        size = unit * dice.uniform(0.6, 1.15)
        x = dice.uniform(-0.08, 1.02) * w
        y = (dice.random() if dense else 1.05 - 0.8 * dice.random() ** 1.3) * h
        tone = mix(green, hsv(dice.uniform(0.15, 0.3), 0.5, 0.6), dice.uniform(0, 0.35))
        bright = 0.55 + 0.6 * index / count
        sprite = botany.leaf(
            variant if dice.random() < 0.8 else dice.randrange(4), dice.randrange(16)
        ).resized(size, size)
        shadow = Sprite(np.zeros_like(sprite.color), cv2.convertScaleAbs(sprite.clear, alpha=0.5, beta=127))
        picture.stamp(shadow, x - size / 2 + size * 0.06, y - size / 2 + size * 0.08)
        picture.stamp(sprite.tinted(dim(tone, bright)), x - size / 2, y - size / 2)


def _blossoms(picture: Picture, dice: random.Random, species: int, green: Color) -> None:
    """Blossoms on stems, a few large, with their shadows."""
    w, h = picture.width, picture.height
    near = dice.random() < 0.5
    count, unit = (dice.randint(2, 5), 0.36) if near else (dice.randint(7, 16), 0.2)
    spots = sorted((dice.uniform(0.12, 0.88), dice.uniform(0.12, 0.78)) for _ in range(count))
    for x, y in sorted(spots, key=lambda spot: spot[1]):
        size = min(w, h) * unit * dice.uniform(0.75, 1.25)
        whole = _blossom(species, dice.randrange(4))
        sprite = whole.resized(size, size * dice.uniform(0.75, 1.0)).tinted(
            dim((128, 128, 128), dice.uniform(0.92, 1.03))
        )
        _stem(picture, dice, x * w, y * h, size, green)
        shadow = Sprite(np.zeros_like(sprite.color), cv2.convertScaleAbs(sprite.clear, alpha=0.5, beta=127))
        picture.stamp(shadow, x * w - size / 2 + size * 0.08, y * h - size / 2 + size * 0.12)
        picture.stamp(sprite.flipped() if dice.random() < 0.5 else sprite, x * w - size / 2, y * h - size / 2)


@cache
def _blossom(species: int, variant: int) -> Sprite:
    kind, color, heart = BLOSSOMS[species]
    return blossoms.flower(kind, color, heart, random.Random(f"blossom {species} {variant}"), 160)


def _stem(picture: Picture, dice: random.Random, x: float, y: float, size: float, green: Color) -> None:
    sway, long = size * dice.uniform(-0.5, 0.5), picture.height - y + 10
    t = np.linspace(0, 1, 10)
    curve = np.stack([x + sway * np.sin(t * math.pi / 2), y + long * t], axis=1)
    thick = max(2, round(size / 22))
    picture.stroke(curve, dim(green, 0.6), thick + 1)
    picture.stroke(curve - (thick * 0.25, 0), dim(green, 1.15), max(1, thick // 2))
