"""Scene kind ``bookshelf``: rows of books with pottery, plants and framed pictures among them."""

import random
from functools import cache

import cv2
import numpy as np

from data_scripts.scenes import botany, textures
from data_scripts.scenes.colors import Color, dim, hsv, mix
from data_scripts.scenes.paint import Picture, crop, cut_out, tint
from data_scripts.scenes.solids import Finish, Light, glaze, turned


def scene(dice: random.Random, width: int, height: int) -> np.ndarray:
    """Paint one; uint8 (height, width, 3), RGB."""
    picture = Picture(width, height, (0.3, 0.3, 0.3))
    wood = dice.choice(((128, 84, 54), (160, 120, 80), (92, 62, 44), (206, 200, 190), (70, 66, 66)))
    back = tint(crop(cv2.rotate(textures.wood(), cv2.ROTATE_180), dice, width, height), dim(wood, 0.42))
    picture.paint[:] = back
    light = Light(dice.choice((-0.6, 0.6)), -0.5, 0.62, 0.9, 0.35, (1.0, 0.95, 0.86))
    shelves = max(2, round(height / dice.uniform(104, 160)))
    pitch, start = height / shelves, -dice.uniform(0.0, 0.5)
    _lamps(picture, dice, light)
    bays = [0.0, *(width * (k + 1) / dice.choice((1, 1, 2)) for k in range(2))]
    for index in range(shelves + 1):
        floor = (start + index + 1) * pitch
        _shelf(picture, dice, floor, pitch, wood, light)
    for x in (b for b in bays[1:] if b < width * 0.95):
        _board(picture, dice, x - 6, 0, x + 6, height, wood)
    return picture.develop(dice, exposure=dice.uniform(1.0, 1.25), grain=2.2, soft=0.42)


def _lamps(picture: Picture, dice: random.Random, light: Light) -> None:
    w, h = picture.width, picture.height
    tone: Color = tuple(255 * c for c in light.color)
    for _ in range(dice.randint(1, 2)):
        picture.shine(
            w * dice.uniform(0.1, 0.9),
            h * dice.uniform(0.0, 0.7),
            w * dice.uniform(0.35, 0.7),
            h * dice.uniform(0.4, 0.8),
            tone,
            dice.uniform(0.5, 0.9),
        )


def _board(
    picture: Picture, dice: random.Random, left: float, top: float, right: float, bottom: float, wood: Color
) -> None:
    wide, high = round(right - left), round(bottom - top)
    tile = textures.wood() if high > wide else cv2.rotate(textures.wood(), cv2.ROTATE_90_CLOCKWISE)
    picture.texture(
        ((left, top), (right, top), (right, bottom), (left, bottom)),
        tint(crop(tile, dice, wide + 1, high + 1), wood),
    )
    picture.stroke(((left, top), (right, top)), dim(wood, 1.35), 1)


def _shelf(
    picture: Picture, dice: random.Random, floor: float, pitch: float, wood: Color, light: Light
) -> None:
    """Fill one shelf from left to right, then put its board below."""
    w = picture.width
    picture.shade(w / 2, floor - pitch + 8, w * 4, pitch * 0.22, 0.55)
    x = -dice.uniform(0, 20)
    while x < w:
        what = dice.random()
        if what < 0.66:
            x = _run(picture, dice, x, floor, pitch)
        elif what < 0.74:
            x = _stack(picture, dice, x, floor, pitch)
        elif what < 0.88:
            x = _pottery(picture, dice, x, floor, pitch, light)
        elif what < 0.95:
            x = _plant(picture, dice, x, floor, pitch, light)
        else:
            x = _frame(picture, dice, x, floor, pitch)
    deep = max(6, round(pitch * 0.075))
    _board(picture, dice, 0, floor, w, floor + deep, wood)
    picture.shade(w / 2, floor + deep + 3, w * 4, 5, 0.6)


@cache
def _round_off(wide: int) -> np.ndarray:
    """How light falls off across a rounded back, float32 (wide,)."""
    return 0.55 + 0.55 * np.sin(np.linspace(0.25, np.pi * 0.86, wide, dtype=np.float32))


@cache
def _lettering(variant: int) -> np.ndarray:
    """Write a title along a back: marks with word gaps, uint8 (96, 12, 3), 255 where there is ink."""
    dice, mask, y = random.Random(f"title {variant}"), np.zeros((96, 12, 3), np.uint8), 3.0
    while y < 90:
        if dice.random() < 0.2:
            y += 4
            continue
        left, right = dice.choice(((2, 9), (2, 9), (3, 9), (2, 10)))
        cv2.line(mask, (left, int(y)), (right, int(y)), (255, 255, 255), 1)
        if dice.random() < 0.5:
            side = dice.choice((left, right))
            cv2.line(mask, (side, int(y)), (side, int(y) + 2), (255, 255, 255), 1)
        y += dice.uniform(2.4, 4.4)
    return mask


def spine(dice: random.Random, wide: int, tall: int, color: Color) -> np.ndarray:
    """Make the back of a book, rounded, with title, bands and wear; uint8 (tall, wide, 3)."""
    shaded = np.multiply.outer(_round_off(wide), np.asarray(color, np.float32)).clip(0, 255).astype(np.uint8)
    book = np.repeat(shaded[None], tall, axis=0)
    ink = mix(color, dice.choice(((250, 240, 210), (214, 180, 90), (20, 20, 24), (250, 250, 250))), 0.85)
    style = dice.random()
    if style < 0.4:
        for at in (0.08, 0.2, 0.8, 0.92):
            cv2.rectangle(
                book, (0, int(tall * at)), (wide, int(tall * at) + max(1, tall // 60)), dim(ink, 0.8), -1
            )
    elif style < 0.65:
        top, bottom = sorted((dice.uniform(0.1, 0.5), dice.uniform(0.3, 0.9)))
        label = _binding(dice)
        book[int(tall * top) : int(tall * bottom)] = np.multiply.outer(_round_off(wide), label).clip(0, 255)
        ink = (245, 240, 225) if sum(label) < 380 else (30, 26, 24)
    if wide > 8:
        top, bottom = int(tall * dice.uniform(0.22, 0.32)), int(tall * dice.uniform(0.55, 0.85))
        slim = max(5, round(wide * dice.uniform(0.35, 0.6)))
        mask = cv2.resize(_lettering(dice.randrange(24)), (slim, bottom - top), interpolation=cv2.INTER_AREA)
        part = book[top:bottom, (wide - slim) // 2 : (wide - slim) // 2 + slim]
        part[:] = cv2.add(
            cv2.multiply(part, cv2.bitwise_not(mask), scale=1 / 255),
            cv2.multiply(mask, (*ink, 0), scale=1 / 255),
        )
    book = cv2.multiply(book, crop(_worn(dice.random() < 0.6), dice, wide, tall), scale=1 / 128)
    book[:2] = cv2.convertScaleAbs(book[:2], alpha=1.35)
    book[:, -1] //= 3
    return book


@cache
def _worn(woven: bool) -> np.ndarray:
    """Cloth or leather, with less contrast than the material itself."""
    tile = textures.cloth() if woven else textures.stone()
    return cv2.addWeighted(tile, 0.5, tile, 0, 64)


def _run(picture: Picture, dice: random.Random, x: float, floor: float, pitch: float) -> float:
    """Put up some books side by side; a set shares its binding, and the last may lean."""
    count, series = dice.randint(4, 14), dice.random() < 0.25
    color, size = _binding(dice), (dice.uniform(0.10, 0.18), dice.uniform(0.6, 0.82))
    for index in range(count):
        if not series:
            color, size = _binding(dice), (dice.uniform(0.07, 0.24), dice.uniform(0.52, 0.86))
        wide, tall = max(6, round(size[0] * pitch)), round(size[1] * pitch)
        book = spine(dice, wide, tall, color)
        if index == count - 1 and dice.random() < 0.5:
            return _leaning(picture, dice, book, x, floor)
        top, left = round(floor) - tall, round(x)
        picture.lay(book, left, top)
        x += wide
        if x > picture.width:
            break
    return x + dice.choice((0, 0, pitch * 0.1))


def _binding(dice: random.Random) -> Color:
    if dice.random() < 0.25:
        return hsv(dice.uniform(0.05, 0.14), dice.uniform(0.05, 0.3), dice.uniform(0.7, 0.95))
    hue = dice.choice((0.0, 0.01, 0.03, 0.06, 0.09, 0.12, 0.3, 0.4, 0.5, 0.58, 0.6, 0.63, 0.95))
    return hsv(hue + dice.uniform(-0.02, 0.02), dice.uniform(0.25, 0.72), dice.uniform(0.2, 0.68))


def _leaning(picture: Picture, dice: random.Random, book: np.ndarray, x: float, floor: float) -> float:
    tall, wide = book.shape[:2]
    tilt = np.float32(np.radians(dice.uniform(6, 16)))
    lean, rise = tall * np.sin(tilt), wide * np.sin(tilt)
    size = int(lean + wide * np.cos(tilt)) + 3, int(tall * np.cos(tilt) + rise) + 3
    # Its upper left corner touches the book before it, its lower right corner the shelf.
    corners = np.array([(0, rise), (wide * np.cos(tilt), 0), (lean, size[1] - rise)], np.float32)
    foot = np.array([(0, 0), (wide, 0), (0, tall)], np.float32)
    corners[1] = corners[0] + (wide * np.cos(tilt), -rise)
    corners[2] = corners[0] + (lean, tall * np.cos(tilt))
    matrix = cv2.getAffineTransform(foot, corners)
    color = cv2.warpAffine(book, matrix, size)
    mask = cv2.warpAffine(np.full((tall, wide), 255, np.uint8), matrix, size)
    picture.stamp(cut_out(color, mask), x, floor - size[1] + 3)
    return x + size[0]


def _stack(picture: Picture, dice: random.Random, x: float, floor: float, pitch: float) -> float:
    """Books lying on one another."""
    y, long = floor, pitch * dice.uniform(0.6, 0.85)
    for _ in range(dice.randint(2, 5)):
        tall, wide = round(long * dice.uniform(0.85, 1.0)), max(6, round(pitch * dice.uniform(0.07, 0.14)))
        book = cv2.rotate(spine(dice, wide, tall, _binding(dice)), cv2.ROTATE_90_COUNTERCLOCKWISE)
        picture.lay(book, x + dice.uniform(0, long * 0.1), y - wide)
        y -= wide
    return x + long * 1.1


def _pottery(
    picture: Picture, dice: random.Random, x: float, floor: float, pitch: float, light: Light
) -> float:
    name, slim = dice.choice(
        (("vase", 0.6), ("amphora", 0.6), ("jar", 0.85), ("jug", 0.75), ("ball", 1.0), ("cup", 1.05))
    )
    tall = pitch * (dice.uniform(0.3, 0.45) if name in ("ball", "cup", "jar") else dice.uniform(0.5, 0.78))
    sprite = turned(name, tall * slim, tall, glaze(dice), light, dice)
    wide = sprite.color.shape[1]
    picture.shade(x + wide * 0.6, floor - tall * 0.35, wide * 0.75, tall * 0.6, 0.35)
    picture.stamp(sprite, x + wide * 0.12, floor - sprite.color.shape[0])
    return x + wide * 1.25


def _plant(
    picture: Picture, dice: random.Random, x: float, floor: float, pitch: float, light: Light
) -> float:
    tall = pitch * 0.3
    clay = mix((196, 104, 70), (220, 214, 204), dice.choice((0, 0, 1)))
    pot = turned("pot", tall, tall, Finish(clay, 0.2, (), "plaster", 1.0), light, dice)
    middle, wide = x + pitch * 0.28, pot.color.shape[1]
    picture.shade(middle, floor - tall, pitch * 0.3, pitch * 0.4, 0.3)
    picture.stamp(pot, middle - wide / 2, floor - tall)
    foliage(picture, dice, middle, floor - tall * 0.9, pitch * 0.52)
    return x + pitch * 0.58


def foliage(picture: Picture, dice: random.Random, x: float, y: float, reach: float) -> None:
    """Leaves on stems that spread from (x, y) up to ``reach`` pixels, the rear ones darker."""
    color, variant = (
        hsv(dice.uniform(0.2, 0.34), dice.uniform(0.4, 0.65), dice.uniform(0.4, 0.65)),
        dice.randrange(4),
    )
    for index in range(18):
        turn = dice.randint(-4, 4)
        angle, far, size = (
            -turn * np.pi / 8 + dice.uniform(-0.15, 0.15),
            reach * dice.uniform(0.35, 0.78),
            reach * dice.uniform(0.42, 0.62),
        )
        tip = x + np.sin(angle) * far * 0.8, y - np.cos(angle * 0.8) * far
        tone = dim(color, 0.5 + 0.035 * index)
        picture.stroke(
            ((x, y), (x + np.sin(angle) * far * 0.25, y - far * 0.5), tip),
            dim(tone, 0.8),
            max(1, round(reach / 50)),
        )
        sprite = botany.leaf(variant, turn % 16).resized(size, size).tinted(tone)
        picture.stamp(sprite, tip[0] - size / 2, tip[1] - size / 2)


def _frame(picture: Picture, dice: random.Random, x: float, floor: float, pitch: float) -> float:
    tall = pitch * dice.uniform(0.45, 0.7)
    wide, edge = tall * dice.choice((0.75, 1.3)), max(3.0, tall * 0.07)
    border = dice.choice(((40, 34, 30), (196, 160, 96), (230, 226, 216)))
    picture.shade(x + wide * 0.6, floor - tall * 0.4, wide * 0.7, tall * 0.7, 0.3)
    picture.box(x, floor - tall, x + wide, floor, border)
    picture.box(x + edge, floor - tall + edge, x + wide - edge, floor - edge, (226, 222, 212))
    left, top, high, across = (
        x + edge * 2,
        floor - tall + edge * 2,
        int(tall - edge * 4),
        int(wide - edge * 4),
    )
    if high > 4 and across > 4:
        picture.lay(_print(dice, across, high), left, top)
    return x + wide * 1.1


def _print(dice: random.Random, wide: int, high: int) -> np.ndarray:
    """Paint a small painted landscape."""
    image = np.empty((high, wide, 3), np.uint8)
    sky, land = hsv(dice.uniform(0.5, 0.7), 0.4, 0.85), hsv(dice.uniform(0.05, 0.35), 0.5, 0.5)
    image[:] = sky
    for layer in range(3):
        line = high * (0.4 + 0.2 * layer) + crop(textures.noise(3.2, 401), dice, wide, 1)[0] * high * 0.06
        image[np.arange(high)[:, None] > line[None, :]] = mix(sky, land, 0.4 + 0.3 * layer)
    return image
