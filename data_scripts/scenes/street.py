"""Scene kind ``street``: a street in perspective with houses, cars, lamps and lit windows, dry or wet."""

import random
from functools import cache
from typing import NamedTuple

import cv2
import numpy as np

from data_scripts.scenes import botany, textures
from data_scripts.scenes.colors import Color, dim, hsv, mix
from data_scripts.scenes.facades import facade
from data_scripts.scenes.paint import Picture, crop, tint
from data_scripts.scenes.sky import HOURS, Hour, paint_sky
from data_scripts.scenes.vehicles import car

TIMES = ("dusk", "dusk", "sunset", "night", "overcast", "golden", "noon")
KERB, WALL = 1.0, 1.55  # distance of kerb and house front from the middle of the road, in half road widths


class View(NamedTuple):
    """A camera over the middle of a street: ``at`` maps (across, up, far) to a place in the picture."""

    x: float
    y: float
    scale: float

    def at(self, across: float, up: float, far: float) -> tuple[float, float]:
        """Project: ``across`` and ``up`` in half road widths from the middle of the road, ``far`` from 1."""
        return self.x + across * self.scale / far, self.y + (0.42 - up) * self.scale / far


def scene(dice: random.Random, width: int, height: int) -> np.ndarray:
    """Paint one; uint8 (height, width, 3), RGB."""
    hour = HOURS[dice.choice(TIMES)]
    picture = Picture(width, height, tuple(1.25 * a for a in hour.ambient))
    horizon = height * dice.uniform(0.45, 0.6)
    scale = max((height - horizon) / 0.42, width * 0.62) * dice.uniform(1.0, 1.15)
    view = View(width * dice.uniform(0.36, 0.64), horizon, scale)
    paint_sky(picture, dice, hour, horizon + 2, view.x / width)
    picture.backlight(int(horizon) + 2, 0.62)
    _end(picture, dice, view, hour)
    _ground(picture, dice, view)
    for side in (-1, 1):
        _houses(picture, dice, view, side, hour)
    if dice.random() < 0.5:
        _puddles(picture, dice, view)
    _sun(picture, dice, hour, view)
    _furniture(picture, dice, view, hour)
    picture.shade(view.x, horizon + scale * 0.02, scale * 0.5, scale * 0.04, 0.2)
    return picture.develop(
        dice, exposure={"night": 2.1, "dusk": 1.7, "sunset": 1.3}.get(hour.name, 1.0), grain=2.2, bloom=0.4
    )


def _end(picture: Picture, dice: random.Random, view: View, hour: Hour) -> None:
    """Close the street with far houses and trees in the haze."""
    for across in np.linspace(-1.5, 1.5, 9):
        x, foot = view.at(across, 0, 13)
        tall = view.scale / 13 * dice.uniform(0.8, 1.9)
        color = mix(hsv(dice.random(), 0.2, 0.4), hour.haze, 0.72)
        picture.box(x - view.scale / 60, foot - tall, x + view.scale / 40, foot, color)


@cache
def _road(paved: bool, crossing: bool) -> np.ndarray:
    """Make the carriageway seen from above, uint8 (1024, 512, 3), its near end below."""
    tile = np.tile(textures.cobbles() if paved else textures.asphalt(), (2, 1, 1))
    if paved:
        tile = np.tile(cv2.resize(tile, (256, 512), interpolation=cv2.INTER_AREA), (2, 2, 1))
    road = tint(tile, (112, 110, 108))
    if not paved:
        for top in range(64, 1024, 128):
            cv2.rectangle(road, (250, top), (261, top + 50), (206, 204, 196), -1)
        cv2.line(road, (22, 0), (22, 1024), (190, 186, 170), 6)
        cv2.line(road, (490, 0), (490, 1024), (190, 186, 170), 6)
    if crossing:
        for stripe in range(8):
            cv2.rectangle(road, (44 + stripe * 56, 850), (72 + stripe * 56, 905), (214, 212, 206), -1)
    return road


@cache
def _paving(kind: str) -> np.ndarray:
    """Pavement slabs, uint8 (512, 512, 3)."""
    slabs = tint(getattr(textures, kind)(), (160, 154, 146))
    if kind != "cobbles":
        for line in range(0, 512, 64):
            slabs[line : line + 3] //= 2
            slabs[:, line : line + 2] //= 2
    return slabs


def _ground(picture: Picture, dice: random.Random, view: View) -> None:
    slabs = _paving(dice.choice(("cobbles", "plaster", "asphalt")))
    road = tint(
        _road(dice.random() < 0.25, dice.random() < 0.35), dim((128, 128, 128), dice.uniform(0.8, 1.15))
    )
    near, far = 0.55, 13.0
    for side in (-1, 1):
        edge = [
            view.at(side * across, 0, at)
            for across, at in ((KERB, far), (WALL * 1.6, far), (WALL * 1.6, near), (KERB, near))
        ]
        picture.project(slabs, edge if side > 0 else [edge[1], edge[0], edge[3], edge[2]])
    picture.project(
        road, [view.at(-KERB, 0, far), view.at(KERB, 0, far), view.at(KERB, 0, near), view.at(-KERB, 0, near)]
    )
    for side in (-1, 1):
        kerb = [view.at(side * KERB, up, at) for up, at in ((0, far), (0.035, far), (0.035, near), (0, near))]
        picture.fill(kerb, (128, 124, 118))


def _houses(picture: Picture, dice: random.Random, view: View, side: int, hour: Hour) -> None:
    """Line one side with houses from far to near: a front in perspective, and the end wall beside it."""
    ends = [0.62]
    while ends[-1] < 12:
        ends.append(ends[-1] * dice.uniform(1.45, 2.1))
    tall = dice.uniform(1.3, 2.4)
    for near, far in zip(reversed(ends[:-1]), reversed(ends[1:]), strict=True):
        if not 0 <= view.at(side * WALL, 0, far)[0] <= picture.width:
            break  # this house and the nearer ones stand beside the picture
        high = tall * dice.uniform(0.75, 1.3)
        floors = max(2, round(high * 2.6))
        # Far houses need no more pixels than they will show.
        detail = 1.0 if near < 1.8 else 0.6 if near < 4 else 0.35
        wall, shining = facade(dice, floors, max(2, round((far - near) * 2.2)), hour, detail)
        fade = min(0.6, 0.055 * near)
        wall = cv2.add(cv2.convertScaleAbs(wall, alpha=1 - fade), (*dim(hour.haze, fade), 0))
        corners = [
            view.at(side * WALL, high, far),
            view.at(side * WALL, high, near),
            view.at(side * WALL, 0.03, near),
            view.at(side * WALL, 0.03, far),
        ]
        # A patch's left edge is the far end on the left side of the street, the near end on the right.
        order = corners if side > 0 else [corners[1], corners[0], corners[3], corners[2]]
        # The end wall, towards the viewer, where the next house is lower.
        a, b = view.at(side * WALL, high, near), view.at(side * (WALL + 2), high, near)
        c, d = view.at(side * (WALL + 2), 0, near), view.at(side * WALL, 0, near)
        picture.fill((a, b, c, d), dim(mix(tuple(wall[2, 2].tolist()), hour.haze, 0.1), 0.55))
        picture.project(wall, order, glow=shining)
        picture.stroke((corners[0], corners[1]), dim(hour.haze, 0.4), 2)


def _sun(picture: Picture, dice: random.Random, hour: Hour, view: View) -> None:
    """Light one side of the street more than the other, and the sky evenly."""
    w, h = picture.width, picture.height
    strength = {"noon": 0.9, "golden": 0.8, "sunset": 0.45, "overcast": 0.3}.get(hour.name, 0.05)
    side = dice.choice((0.0, 1.0))
    picture.shine(w * side, h * 0.3, w * 0.55, h * 0.9, hour.sun, strength)
    picture.shine(view.x, h * 0.85, w * 0.4, h * 0.4, hour.sun, strength * 0.6)


def _furniture(picture: Picture, dice: random.Random, view: View, hour: Hour) -> None:
    """Lamps, trees, people and cars, from far to near."""
    things = [(far, side, "lamp") for side in (-1, 1) for far in (6.5, 4.2, 2.7, 1.75, 1.15)]
    if dice.random() < 0.6:
        things += [
            (far * 1.1, side, "tree")
            for side in (-1, 1)
            for far in (7.5, 5, 3.4, 2.2, 1.45)
            if dice.random() < 0.7
        ]
    things += [
        (dice.uniform(1.4, 6), dice.choice((-1, 1)) * dice.uniform(1.1, 1.45), "walker")
        for _ in range(dice.randint(3, 9))
    ]
    things += [
        (far * dice.uniform(0.9, 1.1), lane, "car")
        for lane in (-0.78, -0.36, 0.36, 0.78)
        for far in (6, 4, 2.8, 1.9, 1.35)
        if dice.random() < 0.4
    ]
    color = botany.season(dice)
    for far, across, kind in sorted(things, reverse=True):
        if kind == "lamp":
            _lamp(picture, view, across, far, hour)
        elif kind == "tree":
            _tree(picture, dice, view, across, far, mix(color, hour.haze, min(0.5, far * 0.05)))
        elif kind == "walker":
            _walker(picture, dice, view, across, far)
        else:
            x, foot = view.at(across, 0, far)
            car(picture, dice, x, foot, view.scale / far * 0.2, across < 0, hour.lamps)


def _lamp(picture: Picture, view: View, side: float, far: float, hour: Hour) -> None:
    unit = view.scale / far
    (x, foot), (_, top) = view.at(side * 1.08, 0.02, far), view.at(side * 1.08, 0.85, far)
    head, wide = x - side * unit * 0.14, max(1, round(unit * 0.014))
    picture.stroke(
        ((x, foot), (x, top), (x - side * unit * 0.03, top - unit * 0.03), (head, top - unit * 0.03)),
        (46, 48, 52),
        wide,
    )
    on = hour.lamps > 0.5
    shown, glow = ((255, 226, 170), (255, 206, 130)) if on else ((206, 206, 200), (0, 0, 0))
    picture.oval(head, top - unit * 0.02, unit * 0.035, unit * 0.016, shown, glow)
    if on:
        power = hour.lamps
        picture.shine(head, foot + unit * 0.02, unit * 0.42, unit * 0.12, (255, 190, 110), 0.75 * power)
        picture.shine(
            head + side * unit * 0.2,
            top + unit * 0.25,
            unit * 0.35,
            unit * 0.45,
            (255, 190, 110),
            0.4 * power,
        )


def _tree(picture: Picture, dice: random.Random, view: View, side: float, far: float, color: Color) -> None:
    x, foot = view.at(side * 1.14, 0.03, far)
    size = view.scale / far * dice.uniform(0.6, 0.8)
    picture.shade(x, foot, size * 0.4, size * 0.06, 0.4)
    stem = botany.sized(botany.trunk, dice, size * 0.5, size * 0.85)
    picture.stamp(stem, x - stem.color.shape[1] / 2, foot - stem.color.shape[0])
    leaves = botany.sized(botany.crown, dice, size * 0.72, size * 0.66).tinted(color)
    picture.stamp(leaves, x - leaves.color.shape[1] / 2, foot - size)


def _walker(picture: Picture, dice: random.Random, view: View, across: float, far: float) -> None:
    x, foot = view.at(across, 0.03, far)
    tall = view.scale / far * 0.27 * dice.uniform(0.9, 1.08)
    coat, legs = (
        hsv(dice.random(), dice.uniform(0.2, 0.7), dice.uniform(0.2, 0.75)),
        hsv(0.6, 0.3, dice.uniform(0.12, 0.4)),
    )
    step = tall * dice.uniform(0.03, 0.1)
    picture.shade(x, foot, tall * 0.22, max(3, tall * 0.06), 0.5)
    for lean in (-step, step):
        picture.fill(
            (
                (x - tall * 0.05, foot - tall * 0.5),
                (x + tall * 0.05, foot - tall * 0.5),
                (x + lean + tall * 0.03, foot),
                (x + lean - tall * 0.03, foot),
            ),
            legs,
        )
    body = (
        (x - tall * 0.1, foot - tall * 0.82),
        (x + tall * 0.1, foot - tall * 0.82),
        (x + tall * 0.11, foot - tall * 0.42),
        (x - tall * 0.11, foot - tall * 0.42),
    )
    picture.fill(body, coat)
    picture.fill(
        (body[0], (x, foot - tall * 0.82), (x - tall * 0.02, foot - tall * 0.42), body[3]), dim(coat, 1.25)
    )
    picture.oval(
        x,
        foot - tall * 0.91,
        tall * 0.055,
        tall * 0.075,
        dice.choice(((224, 180, 150), (150, 104, 78), (96, 66, 50))),
    )
    picture.oval(
        x,
        foot - tall * 0.94,
        tall * 0.056,
        tall * 0.05,
        dice.choice(((50, 36, 28), (30, 26, 26), (140, 110, 70))),
    )


def _puddles(picture: Picture, dice: random.Random, view: View) -> None:
    """Wet the road: it mirrors what stands above, drawn out downwards and broken by ripples."""
    w, h = picture.width, picture.height
    top = int(view.y + view.scale * 0.035)
    deep = h - top
    if deep < 8 or top < deep // 2:
        return
    wet = crop(textures.clouds(), dice, w, deep, 0.45)
    wet = cv2.convertScaleAbs(wet, alpha=0.75, beta=-10)
    mask = cv2.cvtColor(cv2.blur(wet, (5, 3)), cv2.COLOR_GRAY2RGB)
    rows = (top - np.arange(deep) * 0.85).clip(0, h - 1).astype(int)
    for layer, share in ((picture.paint, 0.62), (picture.glow, 0.75)):
        mirror = cv2.blur(layer.take(rows, axis=0), (3, 13))
        part = layer[top:]
        kept = cv2.multiply(part, cv2.bitwise_not(mask), scale=1 / 255)
        part[:] = cv2.add(kept, cv2.multiply(mirror, mask, scale=share / 255))
