"""Colours as scenes name them: display-referred RGB, 0 to 255."""

import colorsys
import random

Color = tuple[float, float, float]


def hsv(hue: float, saturation: float, value: float) -> Color:
    """Name a colour by hue in turns (0 red, 1/3 green), saturation and value from 0 to 1."""
    r, g, b = colorsys.hsv_to_rgb(hue % 1.0, min(max(saturation, 0), 1), min(max(value, 0), 1))
    return r * 255, g * 255, b * 255


def mix(a: Color, b: Color, share: float) -> Color:
    """Blend two colours; share 0 is ``a``, 1 is ``b``."""
    return tuple(x + (y - x) * share for x, y in zip(a, b, strict=True))


def dim(color: Color, factor: float) -> Color:
    """Scale a colour's brightness."""
    return tuple(min(c * factor, 255.0) for c in color)


def muted(dice: random.Random, low: float = 0.35, high: float = 0.85) -> Color:
    """Choose a colour of cloth or paint as rooms have it: rarely loud, its value in bounds."""
    hue = dice.choice((0.01, 0.04, 0.07, 0.1, 0.13, 0.2, 0.3, 0.42, 0.5, 0.56, 0.6, 0.64, 0.92, 0.97))
    loud = dice.random() < 0.2
    return hsv(
        hue + dice.uniform(-0.02, 0.02),
        dice.uniform(0.5, 0.75) if loud else dice.uniform(0.06, 0.48),
        dice.uniform(low, high),
    )
