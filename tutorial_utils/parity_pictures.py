"""Pictures of the parity laboratory (lesson 03): differences made visible, on one scale for all of them."""

import textwrap
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib import colormaps
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure

BANDS = (0, 1, 2, 4, 8, 16, 32, 64, 128)  # the least difference of each band, in levels of 255
INFERNO = colormaps["inferno"](np.linspace(0.25, 1, len(BANDS) - 1))[:, :3]
BAND_COLOURS = (np.concatenate([np.zeros((1, 3)), INFERNO]) * 255).round().astype(np.uint8)
EMPTY_COLOUR = "#EEEEEE"
PANEL_PIXELS = 240  # about the width of a small panel on the screen


def amplify(levels: np.ndarray) -> np.ndarray:
    """Make differences visible: black where equal, a brighter colour in each band of ``BANDS``.

    The bands double in width, so that 1 level can be seen and 100 can be told from 10.

    Args:
        levels: absolute differences in levels of 255, integers (H, W, 3). A pixel takes the colour
            of that of its three values which differs most.

    Returns:
        uint8 (H, W, 3), RGB.
    """
    return BAND_COLOURS[np.searchsorted(BANDS, levels.max(axis=2), side="right") - 1]


def draw_pair(pictures: Mapping[str, np.ndarray], levels: np.ndarray, caption: str) -> Figure:
    """Draw two pictures and their amplified difference large, with the scale below.

    Args:
        pictures: title and uint8 (H, W, 3) of both.
        levels: their absolute differences, integers (H, W, 3).
        caption: title of the difference.
    """
    height, width = levels.shape[:2]
    figure = _figure(1.2 + 3.3 * height / width)
    axes = figure.subplots(1, 3)
    for axis, (title, picture) in zip(axes, {**pictures, caption: amplify(levels)}.items(), strict=True):
        axis.imshow(picture, interpolation="nearest")
        axis.set_title(title, fontsize=9)
        axis.axis("off")
    _add_scale(figure, axes)
    return figure


def draw_sheet(panels: Sequence[tuple[str, np.ndarray | str]]) -> Figure:
    """Draw many amplified differences side by side, up to four in a line.

    Args:
        panels: title and differences, integers (H, W, 3), of each; or a text that says why there
            are none.
    """
    columns = min(4, len(panels))
    lines = -(-len(panels) // columns)
    aspects = [content.shape[0] / content.shape[1] for _, content in panels if not isinstance(content, str)]
    aspect = max(aspects, default=0.75)
    figure = _figure(0.9 + lines * (0.6 + 9.6 / columns * aspect))
    axes = figure.subplots(lines, columns, squeeze=False)
    for axis in axes.ravel():
        axis.axis("off")
        axis.set_anchor("N")
    for axis, (title, content) in zip(axes.ravel(), panels, strict=False):
        axis.set_title(title, fontsize=8)
        if isinstance(content, str):
            _write(axis, content, aspect)
        else:
            axis.imshow(amplify(_shrunk(content)), interpolation="nearest")
    _add_scale(figure, axes)
    return figure


def _figure(height: float) -> Figure:
    figure = plt.figure(figsize=(10, height), layout="constrained")
    plt.close(figure)  # shown once, as the value of the cell
    return figure


def _write(axis: Axes, text: str, aspect: float) -> None:
    axis.set(xlim=(0, 1), ylim=(0, aspect), aspect="equal")
    axis.add_patch(plt.Rectangle((0, 0), 1, aspect, color=EMPTY_COLOUR))
    axis.text(0.5, aspect / 2, textwrap.fill(text, 26), ha="center", va="center", fontsize=8)


def _shrunk(levels: np.ndarray) -> np.ndarray:
    """Shrink to the size of a panel, the largest difference of each block kept, so that none vanishes."""
    factor = -(-levels.shape[1] // PANEL_PIXELS)
    rows, columns = (np.arange(0, side, factor) for side in levels.shape[:2])
    return np.maximum.reduceat(np.maximum.reduceat(levels, rows, axis=0), columns, axis=1)


def _add_scale(figure: Figure, axes: np.ndarray) -> None:
    ends = [*(end - 1 for end in BANDS[1:]), 255]
    names = [f"{low}" if low == high else f"{low}-{high}" for low, high in zip(BANDS, ends, strict=True)]
    scale = ScalarMappable(Normalize(-0.5, len(BANDS) - 0.5), ListedColormap(BAND_COLOURS / 255))
    bar = figure.colorbar(
        scale, ax=axes, location="bottom", aspect=60, fraction=0.05, pad=0.02, panchor=False
    )
    bar.set_ticks(range(len(BANDS)), labels=names, fontsize=8)
    bar.set_label("difference in levels of 255", fontsize=8)
    bar.ax.tick_params(length=0)
