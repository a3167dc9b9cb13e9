"""The painter's table: a picture of three layers, and the few strokes from which every scene is made.

A scene paints display-referred colours (0 to 255) on ``paint``, what shines by itself on ``glow``,
and soft light and shade on the small ``light`` field. ``develop`` multiplies and adds them in linear
light, lets bright things bloom, and applies a film curve and grain, as a camera would.
"""

import random
from collections.abc import Sequence
from typing import NamedTuple

import cv2
import numpy as np

from data_scripts.scenes import textures
from data_scripts.scenes.colors import Color

Points = Sequence[tuple[float, float]] | np.ndarray
BLACK: Color = (0, 0, 0)
FIELD = 4  # pixels of the picture a pixel of the light field
_SHINE = 2.2  # light of a full glow, where the light on white paint is 1
_STRIP = 64  # rows developed at once
_SHIFT = 4  # bits of a pixel's fraction in OpenCV's drawing calls


class Sprite(NamedTuple):
    """A cut-out: ``color`` is premultiplied RGB, ``clear`` is 255 minus its opacity; both uint8 (H, W, 3)."""

    color: np.ndarray
    clear: np.ndarray

    def resized(self, width: float, height: float) -> "Sprite":
        """Scale to whole pixels, at least 1x1."""
        size = max(1, round(width)), max(1, round(height))
        # Area averaging costs several times as much and shows only where more than two pixels become one.
        way = cv2.INTER_AREA if 2 * size[0] < self.color.shape[1] else cv2.INTER_LINEAR
        return Sprite(
            cv2.resize(self.color, size, interpolation=way), cv2.resize(self.clear, size, interpolation=way)
        )

    def tinted(self, color: Color) -> "Sprite":
        """Multiply by a colour; 128 leaves a channel as it is."""
        return Sprite(cv2.multiply(self.color, (*color, 0), scale=1 / 128), self.clear)

    def flipped(self) -> "Sprite":
        """Mirror left and right."""
        return Sprite(cv2.flip(self.color, 1), cv2.flip(self.clear, 1))

    def blurred(self, sigma: float) -> "Sprite":
        """Put out of focus, inside its own frame."""
        return Sprite(
            cv2.GaussianBlur(self.color, (0, 0), sigma), cv2.GaussianBlur(self.clear, (0, 0), sigma)
        )


def cut_out(color: np.ndarray, opacity: np.ndarray) -> Sprite:
    """Make a sprite from uint8 colours (H, W, 3) and uint8 opacity (H, W)."""
    mask = cv2.cvtColor(opacity, cv2.COLOR_GRAY2RGB)
    return Sprite(cv2.multiply(color, mask, scale=1 / 255), cv2.bitwise_not(mask))


def fixed(points: Points) -> np.ndarray:
    """Round points to the fixed-point form that OpenCV draws with."""
    return np.rint(np.asarray(points, np.float32) * (1 << _SHIFT)).astype(np.int32)


def ramp(colors: Sequence[Color], stops: Sequence[float], height: int, width: int) -> np.ndarray:
    """Make a vertical gradient, uint8 (height, width, 3); stops run from 0 (top) to 1 (bottom)."""
    at = np.linspace(0, 1, max(height, 1), dtype=np.float32)
    column = np.stack([np.interp(at, stops, [c[i] for c in colors]) for i in range(3)], axis=-1)
    return np.repeat(column.astype(np.uint8)[:, None], max(width, 1), axis=1)


def crop(tile: np.ndarray, dice: random.Random, width: int, height: int, scale: float = 1.0) -> np.ndarray:
    """Cut a random piece of a tileable texture, ``scale`` pixels of the result for each of the tile."""
    rows, columns = max(1, round(height / scale)), max(1, round(width / scale))
    y, x = dice.randrange(tile.shape[0]), dice.randrange(tile.shape[1])
    if y + rows > tile.shape[0] or x + columns > tile.shape[1]:
        take_y, take_x = np.arange(y, y + rows) % tile.shape[0], np.arange(x, x + columns) % tile.shape[1]
        piece = tile.take(take_y, axis=0).take(take_x, axis=1)
    else:
        piece = tile[y : y + rows, x : x + columns]
    if (columns, rows) == (width, height):
        return piece
    way = cv2.INTER_AREA if scale < 0.55 else cv2.INTER_LINEAR
    return cv2.resize(piece, (max(1, width), max(1, height)), interpolation=way)


def tint(patch: np.ndarray, color: Color) -> np.ndarray:
    """Multiply a texture whose neutral value is 128 by a colour."""
    return cv2.multiply(patch, (*color, 0), scale=1 / 128)


class Picture:
    """A scene in the making.

    Attributes:
        paint: uint8, (height, width, 3), display-referred RGB.
        glow: uint8, same shape: light that things give off, square-rooted.
        light: float32, (height/4, width/4, 3): what falls on each place; starts at 1.
        lit: whether anything shines yet; who writes on ``glow`` directly sets it.
    """

    def __init__(self, width: int, height: int, ambient: Color = (1, 1, 1)) -> None:
        self.width, self.height = width, height
        self.paint = np.zeros((height, width, 3), np.uint8)
        self.glow = np.zeros((height, width, 3), np.uint8)
        self.lit = False
        self.light = np.empty((-(-height // FIELD), -(-width // FIELD), 3), np.float32)
        self.light[:] = ambient
        self._y = (np.arange(self.light.shape[0], dtype=np.float32)[:, None] + 0.5) * FIELD
        self._x = (np.arange(self.light.shape[1], dtype=np.float32)[None, :] + 0.5) * FIELD

    def _glows(self, glow: Color | None) -> bool:
        """Whether the glow layer changes: a dark thing hides light only where there is some."""
        self.lit = self.lit or (glow is not None and any(glow))
        return self.lit and glow is not None

    def fill(self, points: Points, color: Color, glow: Color | None = BLACK) -> None:
        """Paint an anti-aliased polygon; ``glow`` None leaves the light behind it alone."""
        corners = [fixed(points)]
        cv2.fillPoly(self.paint, corners, color, cv2.LINE_AA, _SHIFT)
        if self._glows(glow):
            cv2.fillPoly(self.glow, corners, glow, cv2.LINE_AA, _SHIFT)

    def box(
        self, left: float, top: float, right: float, bottom: float, color: Color, glow: Color | None = BLACK
    ) -> None:
        """Paint an upright rectangle."""
        self.fill(((left, top), (right, top), (right, bottom), (left, bottom)), color, glow)

    def oval(
        self, x: float, y: float, rx: float, ry: float, color: Color, glow: Color | None = BLACK
    ) -> None:
        """Paint an upright ellipse around (x, y)."""
        center, axes = (round(x * 16), round(y * 16)), (max(1, round(rx * 16)), max(1, round(ry * 16)))
        cv2.ellipse(self.paint, center, axes, 0, 0, 360, color, -1, cv2.LINE_AA, _SHIFT)
        if self._glows(glow):
            cv2.ellipse(self.glow, center, axes, 0, 0, 360, glow, -1, cv2.LINE_AA, _SHIFT)

    def stroke(self, points: Points, color: Color, width: int = 1, closed: bool = False) -> None:
        """Paint an anti-aliased line through the points."""
        corners = [fixed(points)]
        cv2.polylines(self.paint, corners, closed, color, width, cv2.LINE_AA, _SHIFT)
        if self.lit:
            cv2.polylines(self.glow, corners, closed, BLACK, width, cv2.LINE_AA, _SHIFT)

    def stamp(self, sprite: Sprite, left: float, top: float, *, lit: float = 0.0) -> None:
        """Lay a cut-out over the picture, clipped at its edges; ``lit`` is how much of it shines."""
        x, y = round(left), round(top)
        high, wide = sprite.color.shape[:2]
        x0, y0, x1, y1 = max(x, 0), max(y, 0), min(x + wide, self.width), min(y + high, self.height)
        if x0 >= x1 or y0 >= y1:
            return
        part = slice(y0 - y, y1 - y), slice(x0 - x, x1 - x)
        color, clear = sprite.color[part], sprite.clear[part]
        self._over(self.paint[y0:y1, x0:x1], color, clear)
        if lit > 0:
            self.lit = True
            color = cv2.convertScaleAbs(color, alpha=lit)
        if self.lit:
            self._over(self.glow[y0:y1, x0:x1], color if lit > 0 else None, clear)

    @staticmethod
    def _over(under: np.ndarray, color: np.ndarray | None, clear: np.ndarray) -> None:
        cv2.multiply(under, clear, dst=under, scale=1 / 255)
        if color is not None:
            cv2.add(under, color, dst=under)

    def lay(self, patch: np.ndarray, left: float, top: float) -> None:
        """Lay an opaque patch over the picture, clipped at its edges."""
        x, y = round(left), round(top)
        x0, y0 = max(x, 0), max(y, 0)
        x1, y1 = min(x + patch.shape[1], self.width), min(y + patch.shape[0], self.height)
        if x0 < x1 and y0 < y1:
            self.paint[y0:y1, x0:x1] = patch[y0 - y : y1 - y, x0 - x : x1 - x]
            self.glow[y0:y1, x0:x1] = 0

    def texture(self, points: Points, patch: np.ndarray) -> None:
        """Fill a polygon with a patch that is as large as the polygon's bounding box (or larger)."""
        corners = np.asarray(points, np.float32)
        left, top = np.floor(corners.min(axis=0)).astype(int)
        right, bottom = np.ceil(corners.max(axis=0)).astype(int)
        wide, high = min(right - left, patch.shape[1]), min(bottom - top, patch.shape[0])
        if wide < 1 or high < 1:
            return
        mask = np.zeros((high, wide), np.uint8)
        cv2.fillPoly(mask, [fixed(corners - (left, top))], 255, cv2.LINE_AA, _SHIFT)
        self.stamp(cut_out(patch[:high, :wide], mask), left, top)

    def project(self, patch: np.ndarray, corners: Points, *, glow: np.ndarray | None = None) -> None:
        """Lay a flat patch in perspective onto its four corners, clockwise from the top left."""
        target = np.asarray(corners, np.float32)
        high, wide = patch.shape[:2]
        left, top = np.maximum(np.floor(target.min(axis=0)), 0).astype(int)
        right, bottom = np.minimum(np.ceil(target.max(axis=0)), (self.width, self.height)).astype(int)
        if right <= left or bottom <= top:
            return
        source = np.array([(0, 0), (wide, 0), (wide, high), (0, high)], np.float32)
        matrix = cv2.getPerspectiveTransform(source, target - np.array([left, top], np.float32))
        size = int(right - left), int(bottom - top)
        mask = np.zeros(size[::-1], np.uint8)
        cv2.fillPoly(mask, [fixed(target - (left, top))], 255, cv2.LINE_AA, _SHIFT)
        warp = {"dsize": size, "flags": cv2.INTER_LINEAR, "borderMode": cv2.BORDER_REPLICATE}
        self.stamp(cut_out(cv2.warpPerspective(patch, matrix, **warp), mask), left, top)
        if glow is not None:
            self.lit = True
            shining = cut_out(cv2.warpPerspective(glow, matrix, **warp), mask).color
            part = self.glow[top:bottom, left:right]
            cv2.add(part, shining, dst=part)

    def backlight(self, rows: int, strength: float) -> None:
        """Let the first rows shine, as a sky does: what is painted over them later is dark before it."""
        self.lit = True
        self.glow[:rows] = cv2.convertScaleAbs(self.paint[:rows], alpha=strength)
        self.paint[:rows] = 0

    def shine(self, x: float, y: float, rx: float, ry: float, color: Color, power: float) -> None:
        """Add a soft pool of light around (x, y); radii in pixels, colour 0 to 255."""
        part, spot = self._spot(x, y, rx, ry)
        for channel in range(3):
            self.light[*part, channel] += spot * (power * color[channel] / 255)

    def shade(self, x: float, y: float, rx: float, ry: float, depth: float) -> None:
        """Take away light softly around (x, y): contact shadows, corners; depth from 0 to 1."""
        part, spot = self._spot(x, y, rx, ry)
        self.light[part] *= (1 - depth * spot)[..., None]

    def _spot(self, x: float, y: float, rx: float, ry: float) -> tuple[tuple[slice, slice], np.ndarray]:
        """Make a bell of height 1, cut off where it has fallen below a thousandth."""
        part = tuple(
            slice(max(0, int((at - 2.7 * radius) / FIELD)), max(0, int((at + 2.7 * radius) / FIELD) + 2))
            for at, radius in ((y, ry), (x, rx))
        )
        across = np.exp(-(((self._x[:, part[1]] - x) / rx) ** 2))
        return part, np.exp(-(((self._y[part[0]] - y) / ry) ** 2)) * across

    def shadow(self, points: Points, depth: float, softness: float) -> None:
        """Cast a polygonal shadow with a penumbra of ``softness`` pixels onto the light field."""
        corners, sigma = np.asarray(points, np.float32) / FIELD, max(softness / FIELD, 0.6)
        left, top = np.maximum(np.floor(corners.min(axis=0) - 3 * sigma), 0).astype(int)
        right, bottom = np.ceil(corners.max(axis=0) + 3 * sigma + 1).astype(int)
        part = self.light[top : max(bottom, 0), left : max(right, 0)]
        if part.size == 0:
            return
        mask = np.zeros(part.shape[:2], np.uint8)
        cv2.fillPoly(mask, [fixed(corners - (left, top))], 255, cv2.LINE_AA, _SHIFT)
        part *= (1 - cv2.GaussianBlur(mask, (0, 0), sigma).astype(np.float32) * (depth / 255))[..., None]

    def develop(
        self,
        dice: random.Random,
        *,
        exposure: float = 1.0,
        grain: float = 2.2,
        bloom: float = 0.5,
        soft: float = 0.0,
    ) -> np.ndarray:
        """Expose the layers like film: uint8 (height, width, 3), RGB.

        Args:
            dice: where the grain comes from.
            exposure: factor on all light.
            grain: standard deviation of the grain in levels of 255.
            bloom: how strongly shining things spill over.
            soft: standard deviation in pixels of the lens's blur, 0 for none.
        """
        seen = cv2.GaussianBlur(self.paint, (3, 3), soft) if soft else self.paint
        light = cv2.resize(self.light, (self.width, self.height))
        halo = cv2.resize(self._halo(), (self.width, self.height)) if self.lit else None
        tile = textures.grain()
        y, x = dice.randrange(tile.shape[0] - self.height), dice.randrange(tile.shape[1] - self.width)
        result = np.empty_like(self.paint)
        # In strips that stay in the processor's cache: twice as fast as over the whole picture.
        for top in range(0, self.height, _STRIP):
            rows = slice(top, top + _STRIP)
            # A square stands in for the sRGB curve here: these are looks, not measurements.
            linear = seen[rows].astype(np.float32)
            cv2.multiply(linear, linear, dst=linear, scale=1 / 65025)
            linear *= light[rows]
            if halo is not None:
                shining = self.glow[rows].astype(np.float32)
                linear += cv2.multiply(shining, shining, scale=_SHINE / 65025)
                cv2.scaleAdd(halo[rows], bloom, linear, dst=linear)
            linear *= -1.6 * exposure
            np.exp(linear, out=linear)
            np.subtract(1.0, linear, out=linear)
            cv2.sqrt(linear, dst=linear)
            # The curve of a film print: shadows a little deeper than they were.
            linear *= linear * 0.36 + 0.68
            noise = tile[y + top : y + top + linear.shape[0], x : x + self.width]
            cv2.scaleAdd(noise, grain / 255, linear, dst=linear)
            cv2.convertScaleAbs(np.maximum(linear, 0, out=linear), dst=result[rows], alpha=255)
        return result

    def _halo(self) -> np.ndarray:
        """Blur what shines, near and far, on the scale of the light field."""
        size = self.light.shape[1::-1]
        small = cv2.resize(
            cv2.multiply(self.glow, self.glow, scale=1 / 255), size, interpolation=cv2.INTER_AREA
        )
        near = cv2.GaussianBlur(small.astype(np.float32) * (_SHINE / 255), (0, 0), 2.2)
        tiny = cv2.resize(near, None, fx=0.25, fy=0.25, interpolation=cv2.INTER_AREA)
        far = cv2.resize(cv2.GaussianBlur(tiny, (0, 0), 2.6), size)
        return cv2.scaleAdd(far, 0.6, near)
