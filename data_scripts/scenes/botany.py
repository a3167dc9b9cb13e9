"""Trees, bushes, leaves and flowers as sprites, grown once a process from fixed seeds.

Crowns and leaves are near grey, so that a scene's tint makes them spring, summer, autumn or blossom.
All are lit from the upper left; a scene flips them where its sun stands on the right.
"""

import math
import random
from collections.abc import Callable
from functools import cache

import cv2
import numpy as np

from data_scripts.scenes.colors import Color, hsv
from data_scripts.scenes.paint import Sprite, cut_out, fixed

VARIANTS = 6


@cache
def _smaller(maker: Callable[[int], Sprite], variant: int, halvings: int) -> Sprite:
    if halvings == 0:
        return maker(variant)
    whole = _smaller(maker, variant, halvings - 1)
    return whole.resized(whole.color.shape[1] / 2, whole.color.shape[0] / 2)


def sized(maker: Callable[[int], Sprite], dice: random.Random, width: float, height: float) -> Sprite:
    """Take a random variant of a cached sprite at this size, from its halved copies: quick, no aliasing."""
    variant = dice.randrange(VARIANTS)
    sprite, halvings = maker(variant), 0
    while sprite.color.shape[1] > 2 * width and sprite.color.shape[1] > 8:
        halvings += 1
        sprite = _smaller(maker, variant, halvings)
    size = max(1, round(width)), max(1, round(height))
    return Sprite(*(cv2.resize(layer, size, interpolation=cv2.INTER_LINEAR) for layer in sprite))


def _canvas(width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros((height, width, 3), np.uint8), np.zeros((height, width), np.uint8)


@cache
def crown(variant: int) -> Sprite:
    """Grow a broad-leaved crown of 200x200 pixels: lobes of lit and shaded leaves with gaps between them."""
    rng = np.random.default_rng((201, variant))
    color, mask = _canvas(200, 200)
    squash = rng.uniform(0.75, 1.1)
    lobes = []
    for _ in range(int(rng.integers(14, 22))):
        angle, reach = rng.uniform(0, 2 * math.pi), 0.62 * math.sqrt(rng.random())
        size = rng.uniform(0.2, 0.36) * (1.15 - reach * 0.7)
        lobes.append(
            (reach * math.cos(angle), reach * math.sin(angle) * squash, rng.uniform(-0.5, 0.5), size)
        )
    lobes.sort(key=lambda lobe: lobe[2])
    for x, y, z, size in lobes:
        _lobe(color, mask, rng, (100 + x * 92, 100 + y * 92, z), size * 92)
    return cut_out(color, mask)


def _lobe(color: np.ndarray, mask: np.ndarray, rng: np.random.Generator, center: tuple, size: float) -> None:
    """Scatter leaves over a ball, the shaded ones first."""
    count = int(size * size * 0.16) + 40
    normal = rng.normal(size=(count, 3))
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    normal[:, 2] = np.abs(normal[:, 2])
    lit = normal @ np.array([-0.5, -0.68, 0.53])
    place = np.array(center[:2]) + normal[:, :2] * size * rng.uniform(0.7, 1.15, (count, 1))
    tone = 96 + 20 * center[2] + 74 * lit + rng.normal(0, 17, count) - 18 * (center[1] - 90) / 90
    for index in np.argsort(lit):
        at = (int(place[index, 0] * 16), int(place[index, 1] * 16))
        shape = at, (int(rng.uniform(26, 56)), int(rng.uniform(16, 30))), rng.uniform(0, 180), 0, 360
        level = float(np.clip(tone[index], 22, 240))
        cv2.ellipse(color, *shape, (level, level, level * 0.94), -1, cv2.LINE_AA, 4)
        cv2.ellipse(mask, *shape, 255, -1, cv2.LINE_AA, 4)


@cache
def trunk(variant: int) -> Sprite:
    """Trunk with branches, 200 wide and 260 high, for a crown over its upper three quarters."""
    dice = random.Random(f"trunk {variant}")
    color, mask = _canvas(200, 260)

    def limb(x: float, y: float, angle: float, length: float, thick: float) -> None:
        tip = (x + length * math.sin(angle), y - length * math.cos(angle))
        side = (thick * math.cos(angle), thick * math.sin(angle))
        shape = [
            (x - side[0], y - side[1]),
            (x + side[0], y + side[1]),
            (tip[0] + side[0] * 0.6, tip[1] + side[1] * 0.6),
            (tip[0] - side[0] * 0.6, tip[1] - side[1] * 0.6),
        ]
        cv2.fillPoly(color, [fixed(shape)], (84, 66, 50), cv2.LINE_AA, 4)
        cv2.fillPoly(mask, [fixed(shape)], 255, cv2.LINE_AA, 4)
        cv2.polylines(
            color, [fixed([shape[0], shape[3]])], False, (140, 116, 92), 1 + int(thick / 3), cv2.LINE_AA, 4
        )
        if thick > 1.2:
            for _ in range(2 if thick > 3 else 3):
                limb(*tip, angle + dice.uniform(-0.7, 0.7), length * dice.uniform(0.6, 0.85), thick * 0.62)

    limb(100, 260, dice.uniform(-0.06, 0.06), 92, 7.5)
    return cut_out(color, mask)


@cache
def conifer(variant: int) -> Sprite:
    """Grow a spruce, 120x240: drooping tiers of needles, dark inside, light at the tips."""
    rng = np.random.default_rng((211, variant))
    color, mask = _canvas(120, 240)
    cv2.rectangle(color, (57, 200), (63, 239), (70, 54, 42), -1)
    cv2.rectangle(mask, (57, 200), (63, 239), 255, -1)
    bulge = rng.uniform(40, 54)
    for level in np.linspace(222, 8, 46):
        reach = bulge * ((level - 4) / 218) ** 0.85
        for _ in range(int(9 + reach * 0.6)):
            side = rng.uniform(-1, 1)
            x, y = 60 + side * reach * rng.uniform(0.2, 1), level + rng.normal(0, 3)
            droop = 4 + abs(side) * 9
            tone = float(np.clip(104 - 48 * side + rng.normal(0, 24) - 30 * (1 - abs(side)), 22, 220))
            shape = [fixed([(x, y), (x + side * 9 + rng.normal(0, 2), y + droop)])]
            cv2.polylines(color, shape, False, (tone, tone, tone * 0.96), 2, cv2.LINE_AA, 4)
            cv2.polylines(mask, shape, False, 255, 2, cv2.LINE_AA, 4)
    return cut_out(color, mask)


@cache
def tuft(variant: int) -> Sprite:
    """Grow a tuft of grass, 90x70, blades from its foot."""
    rng = np.random.default_rng((221, variant))
    color, mask = _canvas(90, 70)
    for _ in range(70):
        x, lean, long = rng.normal(45, 11), rng.normal(0, 13), rng.uniform(22, 66)
        tone = float(np.clip(rng.normal(124, 34), 40, 235))
        curve = [fixed([(x, 70), (x + lean * 0.35, 70 - long * 0.6), (x + lean, 70 - long)])]
        cv2.polylines(color, curve, False, (tone, tone, tone * 0.8), 2, cv2.LINE_AA, 4)
        cv2.polylines(mask, curve, False, 255, 1, cv2.LINE_AA, 4)
    return cut_out(color, mask)


@cache
def fern(variant: int) -> Sprite:
    """Grow a fern, 150x100: fronds in a fan, each with leaflets on both sides."""
    rng = np.random.default_rng((251, variant))
    color, mask = _canvas(150, 100)
    for angle in np.linspace(-1.25, 1.25, 9) + rng.normal(0, 0.1, 9):
        long, tone = rng.uniform(60, 92), float(rng.uniform(96, 168))
        t = np.linspace(0.12, 1, 16)
        x, y = 75 + long * t * np.sin(angle), 96 - long * (t * np.cos(angle) - 0.35 * t * t)
        for at in range(1, 16):
            reach = 15 * (1 - t[at]) ** 0.7 + 2
            for side in (-1, 1):
                tip = (
                    x[at] + reach * side * np.cos(angle) + 2 * np.sin(angle),
                    y[at] + reach * side * np.sin(angle) * 0.6 + 2,
                )
                level = tone * (1.12 if side < 0 else 0.8)
                for layer, ink in ((color, (level, level, level * 0.85)), (mask, 255)):
                    cv2.polylines(layer, [fixed([(x[at], y[at]), tip])], False, ink, 2, cv2.LINE_AA, 4)
    return cut_out(color, mask)


@cache
def leaf(variant: int, turn: int, size: int = 96) -> Sprite:
    """One leaf with midrib, veins and a lit and a shaded half, turned ``turn`` sixteenths of a circle."""
    flat, shape = _flat_leaf(variant)
    matrix = cv2.getRotationMatrix2D((128, 128), turn * 22.5, size / 256 * 1.02)
    matrix[:, 2] += size / 2 - 128
    warp = {"dsize": (size, size), "flags": cv2.INTER_AREA}
    # Two steps: a warp alone would skip pixels when it shrinks.
    half = (
        cv2.resize(flat, (256, 256), interpolation=cv2.INTER_AREA),
        cv2.resize(shape, (256, 256), interpolation=cv2.INTER_AREA),
    )
    # The lit half stays towards the upper left whichever way the leaf points.
    facing = 1 + 0.34 * math.cos(math.radians(turn * 22.5 - 45))
    color = cv2.convertScaleAbs(cv2.warpAffine(half[0], matrix, **warp), alpha=0.62 + 0.36 * facing)
    return cut_out(color, cv2.warpAffine(half[1], matrix, **warp))


@cache
def _flat_leaf(variant: int) -> tuple[np.ndarray, np.ndarray]:
    """Grow a leaf along the vertical of 512x512 pixels, four outlines."""
    rng = np.random.default_rng((231, variant))
    color, mask = _canvas(512, 512)
    t = np.linspace(0, 1, 60)
    wide = (95, 130, 70, 150)[variant % 4] * rng.uniform(0.9, 1.1)
    peak = (0.55, 0.62, 0.5, 0.66)[variant % 4]
    half = wide * np.sin(np.pi * t ** (math.log(0.5) / math.log(peak))) ** 0.9
    if variant % 2:
        half *= 1 + 0.10 * np.abs(np.sin(t * 40))
    y = 16 + t * 470
    bend = 26 * rng.uniform(-1, 1) * np.sin(np.pi * t)
    left, right = np.stack([256 + bend - half, y], 1), np.stack([256 + bend + half, y], 1)
    rib = np.stack([256 + bend, y], 1)
    cv2.fillPoly(mask, [fixed(np.vstack([left, right[::-1]]))], 255, cv2.LINE_AA, 4)
    cv2.fillPoly(color, [fixed(np.vstack([left, rib[::-1]]))], (150, 150, 138), cv2.LINE_AA, 4)
    cv2.fillPoly(color, [fixed(np.vstack([right, rib[::-1]]))], (112, 114, 108), cv2.LINE_AA, 4)
    color[:] = cv2.GaussianBlur(color, (0, 0), 9)
    for at in range(6, 56, 4):
        for edge, tone in ((left, 182), (right, 146)):
            tip = rib[at] + (edge[max(at - 7, 0)] - rib[at]) * 0.94
            vein = [fixed([rib[at], tip])]
            cv2.polylines(color, vein, False, (tone, tone, tone - 14), 3, cv2.LINE_AA, 4)
            under = [fixed(np.add([rib[at], tip], (0, 8)))]
            cv2.polylines(color, under, False, (84, 88, 84), 3, cv2.LINE_AA, 4)
    cv2.polylines(color, [fixed(rib)], False, (206, 206, 186), 6, cv2.LINE_AA, 4)
    blotch = cv2.resize(
        rng.normal(0, 1, (24, 24)).astype(np.float32), (512, 512), interpolation=cv2.INTER_CUBIC
    )
    mottle = cv2.cvtColor(np.clip(128 + 16 * blotch, 0, 255).astype(np.uint8), cv2.COLOR_GRAY2RGB)
    color = cv2.multiply(color, mottle, scale=1 / 128)
    cv2.polylines(color, [fixed(left)], False, (176, 176, 150), 4, cv2.LINE_AA, 4)
    return color, mask


def season(dice: random.Random) -> Color:
    """Choose a foliage tint: mostly greens, some autumn, some blossom."""
    pick = dice.random()
    if pick < 0.72:
        return hsv(dice.uniform(0.18, 0.3), dice.uniform(0.38, 0.62), dice.uniform(0.42, 0.66))
    if pick < 0.93:
        return hsv(dice.uniform(0.03, 0.13), dice.uniform(0.6, 0.85), dice.uniform(0.7, 0.95))
    return hsv(dice.uniform(0.9, 0.97), dice.uniform(0.15, 0.4), dice.uniform(0.9, 1))


@cache
def woodland() -> np.ndarray:
    """Grow a tile of tree tops seen from afar, uint8 (512, 512, 3), neutral around 128."""
    rng = np.random.default_rng(241)
    tile = np.full((512, 512, 3), 70, np.uint8)
    for y in np.sort(rng.uniform(-6, 518, 3400)):
        x, size = rng.uniform(-6, 518), rng.uniform(5, 11)
        tone = float(np.clip(rng.normal(122, 24), 50, 210))
        for share, bright in ((1.0, 0.62), (0.8, 1.0), (0.45, 1.35)):
            at = (int((x - size * (1 - share) * 0.5) * 16), int((y - size * (1 - share) * 0.6) * 16))
            cv2.circle(tile, at, int(size * share * 16), (min(255, tone * bright),) * 3, -1, cv2.LINE_AA, 4)
    speckle = np.clip(128 + 20 * rng.standard_normal((512, 512)), 0, 255).astype(np.uint8)
    return cv2.multiply(tile, cv2.cvtColor(speckle, cv2.COLOR_GRAY2RGB), scale=1 / 128)
