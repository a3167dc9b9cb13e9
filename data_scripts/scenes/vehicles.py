"""Cars seen from behind or from the front, with the light they throw."""

import random

from data_scripts.scenes.colors import dim, hsv, mix
from data_scripts.scenes.paint import Picture

PAINTS = (
    (0.0, 0.0, 0.85),
    (0.0, 0.0, 0.18),
    (0.6, 0.08, 0.5),
    (0.0, 0.8, 0.62),
    (0.6, 0.7, 0.5),
    (0.09, 0.3, 0.6),
    (0.33, 0.4, 0.3),
    (0.12, 0.75, 0.8),
)


def car(
    picture: Picture, dice: random.Random, x: float, foot: float, half: float, coming: bool, lamps: float
) -> None:
    """Draw a car.

    Args:
        picture: painted upon.
        dice: chooses model and colour.
        x: middle of the car in pixels.
        foot: row where its tyres meet the road.
        half: half its width in pixels.
        coming: whether its front is seen.
        lamps: how far its lights are on, 0 to 1.
    """
    paint = hsv(*dice.choice(PAINTS))
    tall = dice.choice((1.0, 1.0, 1.25))
    belt, roof, low = foot - half * 0.82 * tall, foot - half * 1.42 * tall, foot - half * 0.2

    def shape(*points: tuple[float, float]) -> list[tuple[float, float]]:
        return [(x + a * half, b) for a, b in points] + [(x - a * half, b) for a, b in reversed(points)]

    picture.shade(x, foot, half * 1.25, max(3.0, half * 0.22), 0.85)
    for side in (-1, 1):
        picture.box(
            x + side * half * 0.94 - half * 0.2 * (side > 0),
            foot - half * 0.42,
            x + side * half * 0.94 + half * 0.2 * (side < 0),
            foot,
            (18, 18, 20),
        )
    picture.fill(
        shape((0.98, low), (1.0, belt + half * 0.2), (0.93, belt), (0.72, roof + half * 0.07), (0.58, roof)),
        paint,
    )
    glass = mix((36, 44, 56), (120, 140, 165), dice.uniform(0.1, 0.5))
    picture.fill(shape((0.84, belt), (0.67, roof + half * 0.12), (0.55, roof + half * 0.08)), glass)
    picture.fill(
        (
            (x - half * 0.8, belt),
            (x - half * 0.62, roof + half * 0.1),
            (x - half * 0.2, roof + half * 0.09),
            (x - half * 0.5, belt),
        ),
        dim(glass, 1.5),
    )
    if coming:
        picture.fill(shape((0.8, belt), (0.9, belt + half * 0.24)), dim(paint, 1.18))
    picture.fill(shape((0.95, belt + half * 0.02), (0.97, belt + half * 0.09)), dim(paint, 1.45))
    picture.fill(shape((0.98, belt + half * 0.42), (0.98, low)), dim(paint, 0.68))
    picture.fill(shape((0.96, low - half * 0.16), (0.94, low)), (34, 34, 38))
    picture.box(x - half * 0.27, belt + half * 0.34, x + half * 0.27, belt + half * 0.47, (226, 224, 214))
    _lights(picture, x, belt, half, coming, lamps)
    if coming:
        picture.box(x - half * 0.45, belt + half * 0.26, x + half * 0.45, belt + half * 0.33, (30, 30, 34))


def _lights(picture: Picture, x: float, belt: float, half: float, coming: bool, lamps: float) -> None:
    shown, glow = ((250, 248, 236), (255, 244, 220)) if coming else ((200, 34, 30), (255, 40, 30))
    y = belt + half * (0.26 if coming else 0.2)
    for side in (-1, 1):
        at = x + side * half * 0.76
        picture.oval(at, y, half * 0.17, half * (0.11 if coming else 0.1), shown, dim(glow, lamps))
        picture.oval(
            at - half * 0.03, y - half * 0.03, half * 0.07, half * 0.04, dim(shown, 1.3), dim(glow, lamps)
        )
        if lamps > 0.4:
            picture.shine(
                at,
                y + half * (0.9 if coming else 0.6),
                half * 0.7,
                half * 0.4,
                glow,
                0.5 * lamps if coming else 0.22 * lamps,
            )
