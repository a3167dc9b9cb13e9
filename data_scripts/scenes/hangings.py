"""What hangs on the walls of rooms: pictures and curtains."""

import random

import cv2
import numpy as np

from data_scripts.scenes import textures
from data_scripts.scenes.colors import Color, dim, hsv, mix
from data_scripts.scenes.paint import Picture, crop


def painting(picture: Picture, dice: random.Random, x: float, y: float, size: float) -> None:
    """Paint a framed picture on the wall around (x, y): a small landscape or an abstract."""
    wide, high = round(size * dice.choice((0.8, 1.0, 1.4))), round(size)
    edge = max(3, round(size * 0.06))
    picture.shade(x + edge, y + edge * 2, wide * 0.62, high * 0.62, 0.25)
    border = dice.choice(((46, 38, 34), (190, 156, 96), (234, 230, 222), (110, 72, 48)))
    left, top = x - wide / 2, y - high / 2
    picture.box(left - edge, top - edge, left + wide + edge, top + high + edge, border)
    picture.stroke(
        ((left - edge, top + high + edge), (left - edge, top - edge), (left + wide + edge, top - edge)),
        dim(border, 1.4),
        1,
    )
    image = np.empty((high, wide, 3), np.uint8)
    image[:] = hsv(dice.random(), dice.uniform(0.05, 0.5), dice.uniform(0.6, 0.95))
    ground = hsv(dice.random(), 0.5, 0.5)
    if dice.random() < 0.6:
        for layer in range(4):
            line = (
                high * (0.35 + 0.17 * layer) + crop(textures.noise(3.2, 401), dice, wide, 1)[0] * high * 0.07
            )
            image[np.arange(high)[:, None] > line[None, :]] = mix(
                tuple(image[0, 0].tolist()), ground, 0.3 + 0.23 * layer
            )
    else:
        for _ in range(7):
            center = (dice.randrange(wide), dice.randrange(high))
            axes = (max(2, int(wide * dice.uniform(0.08, 0.4))), max(2, int(high * dice.uniform(0.05, 0.3))))
            cv2.ellipse(
                image,
                center,
                axes,
                dice.uniform(0, 180),
                0,
                360,
                hsv(dice.random(), 0.6, dice.uniform(0.3, 0.95)),
                -1,
                cv2.LINE_AA,
            )
    brush = crop(textures.stone(), dice, wide, high)
    image = cv2.multiply(image, cv2.addWeighted(brush, 0.5, brush, 0, 64), scale=1 / 128)
    picture.lay(image, left, top)


def curtain(
    picture: Picture, dice: random.Random, left: float, top: float, right: float, bottom: float, color: Color
) -> None:
    """Paint a hanging curtain in folds."""
    wide, high = max(4, round(right - left)), max(4, round(bottom - top))
    x = np.linspace(0, 1, wide, dtype=np.float32)
    folds = 0.82 + 0.26 * np.sin(x * dice.uniform(20, 34) + dice.uniform(0, 6)) + 0.1 * np.sin(x * 55)
    column = np.multiply.outer(folds, np.asarray(color, np.float32)).clip(0, 255).astype(np.uint8)
    cloth = cv2.multiply(
        np.repeat(column[None], high, axis=0), crop(textures.cloth(), dice, wide, high), scale=1 / 128
    )
    picture.lay(cloth, left, top)
    picture.shade((left + right) / 2, bottom, wide, 8, 0.3)
