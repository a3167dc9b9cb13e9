"""Flowers seen from the front."""

import math
import random

import cv2
import numpy as np

from data_scripts.scenes.colors import Color
from data_scripts.scenes.paint import Sprite, cut_out, fixed


def flower(kind: str, color: Color, heart: Color, dice: random.Random, size: int) -> Sprite:
    """Paint a blossom seen from the front: ``daisy``, ``wild`` (five petals), ``poppy`` or ``rose``.

    Args:
        kind: one of the four.
        color: of the petals.
        heart: of the middle.
        dice: for the irregularities.
        size: width and height of the sprite in pixels.
    """
    petals, rings, broad, long = {
        "daisy": (17, 1, 0.17, 1.0),
        "wild": (5, 1, 0.62, 0.95),
        "poppy": (4, 2, 0.9, 0.95),
        "rose": (6, 4, 0.66, 0.98),
    }[kind]
    shown, mask = np.zeros((size, size, 3), np.uint8), np.zeros((size, size), np.uint8)
    middle, reach = size / 2, size * 0.48
    for ring in range(rings):
        far = reach * (1 - 0.22 * ring) * long
        turn = dice.uniform(0, 2 * math.pi)
        for index in dice.sample(range(petals), petals):
            angle = turn + index * 2 * math.pi / petals + dice.uniform(-0.06, 0.06)
            _petal(
                shown,
                mask,
                (middle, middle),
                angle,
                far * dice.uniform(0.9, 1.03),
                broad * (1 - 0.1 * ring),
                color,
                1 - 0.10 * (ring % 2),
            )
    core = {"daisy": 0.17, "wild": 0.12, "poppy": 0.16, "rose": 0.07}[kind] * size
    axes = (int(core * 16), int(core * 16))
    at = (int(middle * 16), int(middle * 16))
    cv2.ellipse(shown, at, axes, 0, 0, 360, tuple(c * 0.6 for c in heart), -1, cv2.LINE_AA, 4)
    cv2.ellipse(mask, at, axes, 0, 0, 360, 255, -1, cv2.LINE_AA, 4)
    for _ in range(26):
        angle, far = dice.uniform(0, 2 * math.pi), core * math.sqrt(dice.random())
        dot = (int((middle + far * math.cos(angle)) * 16), int((middle + far * math.sin(angle)) * 16))
        tone = dice.uniform(0.7, 1.25) * (1.1 - 0.3 * math.sin(angle))
        cv2.circle(shown, dot, int(size * 0.2), tuple(min(255, c * tone) for c in heart), -1, cv2.LINE_AA, 4)
    return cut_out(shown, mask)


_PETAL = np.array(
    [
        (0.06, 0),
        (0.3, 0.34),
        (0.6, 0.5),
        (0.85, 0.42),
        (0.98, 0.16),
        (1.0, 0),
        (0.98, -0.16),
        (0.85, -0.42),
        (0.6, -0.5),
        (0.3, -0.34),
    ],
    np.float32,
)


def _petal(
    shown: np.ndarray,
    mask: np.ndarray,
    center: tuple,
    angle: float,
    far: float,
    broad: float,
    color: Color,
    dark: float,
) -> None:
    """One petal in four nested shades, darker towards its base and away from the light."""
    cos, sin = math.cos(angle), math.sin(angle)
    lit = dark * (0.86 + 0.16 * (-0.6 * cos - 0.7 * sin))
    for step, (grow, shift, tone) in enumerate(
        ((1.0, 0.0, 0.72), (0.95, 0.0, 0.93), (0.8, 0.14, 1.02), (0.55, 0.34, 1.1))
    ):
        x, y = (_PETAL[:, 0] * grow + shift * (1 - 0.1)) * far, _PETAL[:, 1] * far * broad * grow
        shape = fixed(np.stack([center[0] + x * cos - y * sin, center[1] + x * sin + y * cos], 1))
        cv2.fillPoly(shown, [shape], tuple(min(255, c * lit * tone) for c in color), cv2.LINE_AA, 4)
        if step == 0:
            cv2.fillPoly(mask, [shape], 255, cv2.LINE_AA, 4)
    for side in (-0.22, 0, 0.22):
        end = (
            center[0] + (0.8 * cos - side * broad * sin) * far,
            center[1] + (0.8 * sin + side * broad * cos) * far,
        )
        start = (center[0] + 0.2 * far * cos, center[1] + 0.2 * far * sin)
        cv2.polylines(
            shown, [fixed([start, end])], False, tuple(c * lit * 0.84 for c in color), 1, cv2.LINE_AA, 4
        )
