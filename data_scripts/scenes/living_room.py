"""Scene kind ``living_room``: a furnished room in one-point perspective, by daylight or lamplight."""

import random
from typing import NamedTuple

import cv2
import numpy as np

from data_scripts.scenes import textures
from data_scripts.scenes.bookshelf import foliage
from data_scripts.scenes.colors import Color, dim, hsv, mix, muted
from data_scripts.scenes.furniture import armchair, cabinet, floor_lamp, low_table, sofa
from data_scripts.scenes.hangings import curtain, painting
from data_scripts.scenes.paint import Picture, crop, tint
from data_scripts.scenes.sky import HOURS, Hour, paint_sky
from data_scripts.scenes.solids import Finish, Light, turned


class Room(NamedTuple):
    """The back wall's rectangle in the picture, and the picture's size."""

    left: float
    top: float
    right: float
    bottom: float
    width: int
    height: int

    def floor(self, across: float, near: float) -> tuple[float, float]:
        """Find a place on the floor: ``across`` 0 to 1, ``near`` 0 at the wall and 1 at the lower edge."""
        spread = 1 + near * ((self.width + 2 * self.left) / (self.right - self.left) - 1) * 0.9
        middle = (self.left + self.right) / 2
        x = middle + (across - 0.5) * (self.right - self.left) * spread
        return x, self.bottom + (self.height - self.bottom) * near

    @property
    def unit(self) -> float:
        """The back wall's height in pixels: about 2.6 m."""
        return self.bottom - self.top


def scene(dice: random.Random, width: int, height: int) -> np.ndarray:
    """Paint one; uint8 (height, width, 3), RGB."""
    hour = HOURS[dice.choice(("noon", "morning", "golden", "dusk", "night", "sunset", "overcast"))]
    evening = hour.lamps > 0.4
    base = 0.16 if evening else 0.42
    picture = Picture(
        width, height, (base, base * 0.95, base * 0.92) if evening else (base * 0.96, base, base * 1.02)
    )
    margin = dice.uniform(0.08, 0.16)
    room = Room(
        width * margin,
        height * dice.uniform(0.07, 0.14),
        width * (1 - margin),
        height * dice.uniform(0.64, 0.72),
        width,
        height,
    )
    wall = hsv(
        dice.choice((0.08, 0.1, 0.12, 0.3, 0.45, 0.55, 0.6, 0.02)),
        dice.uniform(0.05, 0.42),
        dice.uniform(0.55, 0.9),
    )
    _shell(picture, dice, room, wall)
    window = (
        room.left + (room.right - room.left) * dice.choice((0.25, 0.5, 0.75))
        if width > height * 0.9
        else width * dice.choice((0.36, 0.64))
    )
    _window(picture, dice, room, window, hour)
    _daylight(picture, room, window, hour, wall)
    _furnish(picture, dice, room, window, evening)
    return picture.develop(dice, exposure=1.55 if evening else 1.05, grain=2.3, bloom=0.35)


def _shell(picture: Picture, dice: random.Random, room: Room, wall: Color) -> None:
    """Walls, ceiling, floor, skirting."""
    w, h = room.width, room.height
    x0, t, x1, b = room.left, room.top, room.right, room.bottom
    outer = (-(x0 * 0.15), -(t * 0.4)), (w + x0 * 0.15, -(t * 0.4)), (w + x0 * 1.6, h), (-x0 * 1.6, h)
    kind = dice.choice(("plaster", "plaster", "cloth", "small_bricks", "paper"))
    back = (
        _paper(dice, wall)
        if kind == "paper"
        else tint(
            getattr(textures, kind)(), mix(wall, (190, 110, 84), 0.6) if kind == "small_bricks" else wall
        )
    )
    side = tint(textures.plaster(), wall)
    picture.fill(((0, 0), (w, 0), (w, h), (0, h)), dim(wall, 0.9))
    picture.project(tint(textures.plaster(), (232, 230, 224)), (outer[0], outer[1], (x1, t), (x0, t)))
    picture.project(side, (outer[0], (x0, t), (x0, b), outer[3]))
    picture.project(side, ((x1, t), outer[1], outer[2], (x1, b)))
    scale = max(x1 - x0, b - t) / 512
    picture.texture(
        ((x0, t), (x1, t), (x1, b), (x0, b)),
        crop(back, dice, int(x1 - x0) + 2, int(b - t) + 2, max(scale, 0.6)),
    )
    boards = tint(
        textures.planks(),
        dice.choice(((168, 116, 72), (128, 86, 56), (196, 160, 120), (150, 138, 124), (104, 72, 54))),
    )
    picture.project(cv2.flip(boards, dice.choice((0, 1, -1))), ((x0, b), (x1, b), outer[2], outer[3]))
    skirt, deep = (236, 234, 228), room.unit * 0.035
    picture.fill(((x0, b - deep), (x1, b - deep), (x1, b), (x0, b)), dim(skirt, 0.9))
    for near, far in ((outer[3], (x0, b)), (outer[2], (x1, b))):
        picture.fill((far, (far[0], far[1] - deep), (near[0], near[1] - deep * 2.2), near), dim(skirt, 0.82))
    for corner in ((x0, t), (x1, t), (x0, b), (x1, b)):
        picture.shade(*corner, room.unit * 0.35, room.unit * 0.35, 0.22)
    picture.shade((x0 + x1) / 2, b, w, room.unit * 0.06, 0.3)


def _paper(dice: random.Random, wall: Color) -> np.ndarray:
    """Wallpaper with stripes or a motif, uint8 (512, 512, 3)."""
    tile = tint(textures.plaster(), wall)
    other = mix(wall, dice.choice(((250, 245, 235), (60, 60, 70), (190, 150, 90))), 0.3)
    if dice.random() < 0.5:
        for x in range(0, 512, 32):
            tile[:, x : x + 14] = cv2.multiply(
                tile[:, x : x + 14], (*(o / max(c, 1) for o, c in zip(other, wall, strict=True)), 0)
            )
        return tile
    for row in range(16):
        for column in range(16):
            at = (column * 32 + 16 * (row % 2), row * 32 + 16)
            for turn in (0, 60, 120):
                cv2.ellipse(tile, at, (9, 3), turn, 0, 360, other, -1, cv2.LINE_AA)
    return tile


def _window(picture: Picture, dice: random.Random, room: Room, x: float, hour: Hour) -> None:
    """Paint a window with the world outside, its frame, sill and curtains."""
    wide, high = room.unit * dice.uniform(0.34, 0.5), room.unit * dice.uniform(0.42, 0.52)
    top = room.top + room.unit * 0.14
    left, right, bottom = x - wide / 2, x + wide / 2, top + high
    view = Picture(max(8, round(wide)), max(8, round(high)))
    paint_sky(view, dice, hour, high * 0.8, dice.random())
    for layer in range(3):
        line = (
            high * (0.62 + 0.13 * layer)
            - crop(textures.noise(3.0, 401), dice, view.width, 1)[0] * high * 0.05
        )
        rows = np.arange(view.height)[:, None] > line[None, :]
        patch = tint(
            crop(textures.stone(), dice, view.width, view.height, 0.5),
            mix(hour.haze, (70, 96, 60), 0.35 + 0.25 * layer),
        )
        view.paint[rows] = patch[rows]
    frame, edge = (240, 238, 232), max(2.0, room.unit * 0.018)
    picture.box(left - edge * 2, top - edge * 2, right + edge * 2, bottom + edge * 2, dim(frame, 0.92))
    y0, x0 = max(0, round(top)), max(0, round(left))
    area = slice(y0, min(room.height, y0 + view.height)), slice(x0, min(room.width, x0 + view.width))
    picture.paint[area] = 0
    picture.lit = True
    bright = 1.0 if hour.lamps < 0.4 else 0.55
    picture.glow[area] = cv2.convertScaleAbs(cv2.blur(view.paint, (3, 3)), alpha=bright * 0.8)[
        : area[0].stop - y0, : area[1].stop - x0
    ]
    for at in (x, left, right):
        picture.box(at - edge / 2, top, at + edge / 2, bottom, frame)
    for at in (top + high * 0.36, top, bottom):
        picture.box(left, at - edge / 2, right, at + edge / 2, frame)
    picture.box(left - edge * 4, bottom + edge, right + edge * 4, bottom + edge * 2.6, frame)
    picture.box(left - edge * 4, bottom + edge * 2.6, right + edge * 4, bottom + edge * 3.4, dim(frame, 0.6))
    if dice.random() < 0.85:
        color = muted(dice, 0.45, 0.92)
        low = bottom + room.unit * 0.08 if dice.random() < 0.4 else room.bottom - room.unit * 0.04
        for side in (-1, 1):
            inner, outer = x + side * wide * 0.4, x + side * wide * 0.74
            curtain(picture, dice, min(inner, outer), top - edge * 3, max(inner, outer), low, color)
        picture.stroke(
            ((x - wide * 0.8, top - edge * 4), (x + wide * 0.8, top - edge * 4)),
            (70, 60, 52),
            max(2, round(edge)),
        )


def _daylight(picture: Picture, room: Room, x: float, hour: Hour, wall: Color) -> None:
    """Light from the window: on the floor before it, on the walls, and a patch where the sun comes in."""
    power = {"noon": 0.85, "morning": 0.75, "golden": 0.6, "overcast": 0.65, "sunset": 0.22}.get(
        hour.name, 0.04
    )
    tone = mix(hour.sun, wall, 0.25)
    picture.shine(x, room.bottom + room.unit * 0.15, room.unit * 0.7, room.unit * 0.3, tone, power)
    picture.shine(x, room.top + room.unit * 0.4, room.unit * 0.9, room.unit * 0.7, tone, power * 0.35)
    picture.shine(room.width / 2, room.height, room.width * 0.7, room.unit * 0.6, tone, power * 0.4)
    if hour.name in ("noon", "morning", "golden"):
        slant = room.unit * (0.35 if x < room.width / 2 else -0.35)
        top, low, half = room.bottom + room.unit * 0.05, room.bottom + room.unit * 0.34, room.unit * 0.16
        mask = np.zeros(picture.light.shape[:2], np.uint8)
        patch = np.array(
            [
                (x + slant * 0.3 - half, top),
                (x + slant * 0.3 + half, top),
                (x + slant + half * 1.3, low),
                (x + slant - half * 1.3, low),
            ]
        )
        cv2.fillPoly(mask, [np.rint(patch / 4 * 16).astype(np.int32)], 255, cv2.LINE_AA, 4)
        picture.light += cv2.blur(mask, (3, 3)).astype(np.float32)[..., None] * (
            np.array(hour.sun, np.float32) / 255 * (0.9 / 255)
        )


def _furnish(picture: Picture, dice: random.Random, room: Room, window: float, evening: bool) -> None:
    """Put in the furniture, from the back wall to the front."""
    unit, free = room.unit, window < room.width / 2
    side = 1 if free else -1
    light = Light(-0.5 if free else 0.5, -0.55, 0.65, 0.75, 0.4)
    place = (room.left + room.right) / 2 + side * unit * dice.uniform(0.12, 0.36)
    level = room.top + unit * dice.uniform(0.27, 0.34)
    for at in (place, place + side * unit * 0.42)[: dice.choice((1, 1, 2))]:
        if abs(at - window) > unit * 0.5 and room.left + unit * 0.2 < at < room.right - unit * 0.2:
            painting(picture, dice, at, level, unit * dice.uniform(0.2, 0.27))
    if dice.random() < 0.6:
        x, foot = room.floor(0.5 - side * 0.36, 0.02)
        cabinet(picture, dice, x, foot, unit, light)
    _rug(picture, dice, room)
    lamp = room.floor(0.5 + side * dice.uniform(0.36, 0.44), 0.08)
    floor_lamp(
        picture,
        dice,
        *lamp,
        unit * dice.uniform(0.58, 0.68),
        evening or dice.random() < 0.3,
        1.0 if evening else 0.35,
    )
    fabric = muted(dice, 0.3, 0.8)
    sofa(picture, dice, *room.floor(0.5 + side * 0.08, 0.14), unit * dice.uniform(1.05, 1.3), fabric)
    if dice.random() < 0.75:
        x, foot = room.floor(0.5 - side * 0.45, 0.2)
        pot = turned(
            "pot",
            unit * 0.2,
            unit * 0.18,
            Finish(dice.choice(((196, 104, 70), (222, 216, 206), (70, 80, 90))), 0.3, (), "plaster", 1.0),
            light,
            dice,
        )
        picture.shade(x, foot, unit * 0.18, unit * 0.05, 0.6)
        picture.stamp(pot, x - pot.color.shape[1] / 2, foot - pot.color.shape[0])
        foliage(picture, dice, x, foot - unit * 0.16, unit * dice.uniform(0.42, 0.56))
    low_table(
        picture,
        dice,
        *room.floor(0.5 + side * dice.uniform(-0.05, 0.1), 0.52),
        unit * dice.uniform(0.55, 0.7),
        light,
    )
    if dice.random() < 0.6:
        armchair(
            picture, dice, *room.floor(0.5 - side * 0.33, 0.68), unit * 0.5, mix(fabric, muted(dice), 0.75)
        )


def _rug(picture: Picture, dice: random.Random, room: Room) -> None:
    """Paint a woven rug with a border and a field of figures."""
    a, b, c = (muted(dice, 0.25, 0.85) for _ in range(3))
    rug = tint(textures.cloth()[:192, :288], a)
    cv2.rectangle(rug, (8, 8), (279, 183), b, 8)
    cv2.rectangle(rug, (22, 22), (265, 169), c, 3)
    figure = dice.choice((0, 1))
    for row in range(5):
        for column in range(8):
            x, y = 44 + column * 28, 40 + row * 28
            if figure:
                cv2.fillPoly(
                    rug,
                    [np.array([(x - 9, y), (x, y - 9), (x + 9, y), (x, y + 9)], np.int32)],
                    b,
                    cv2.LINE_AA,
                )
            cv2.circle(rug, (x, y), 4, c, -1, cv2.LINE_AA)
    rug = cv2.multiply(rug, textures.cloth()[200:392, 100:388], scale=1 / 128)
    near, far, half = dice.uniform(0.75, 0.95), dice.uniform(0.1, 0.2), dice.uniform(0.26, 0.36)
    corners = [
        room.floor(0.5 - half, far),
        room.floor(0.5 + half, far),
        room.floor(0.5 + half, near),
        room.floor(0.5 - half, near),
    ]
    picture.project(rug, corners)
