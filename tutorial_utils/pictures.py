"""Pictures that the lessons show of their data; used by lessons 00 and 01."""

from collections.abc import Sequence

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike


def show_images(images: Sequence[ArrayLike], titles: Sequence[str] = (), *, columns: int = 4) -> Figure:
    """Lay images out in rows, each at its own shape.

    Args:
        images: arrays or CPU tensors (H, W, 3) or (3, H, W): uint8, or float in [0, 1].
            Values outside of [0, 1] are shown as the nearest end.
        titles: one a picture, or none at all.
        columns: pictures in a row.

    Returns:
        A figure for the last line of a cell.

    Raises:
        ValueError: there is no image, or the titles are not as many as the images.
    """
    if not len(images) or (titles and len(titles) != len(images)):
        raise ValueError(f"{len(images)} images and {len(titles)} titles; give one title an image, or none")
    columns = min(columns, len(images))
    rows = -(-len(images) // columns)
    figure = plt.figure(figsize=(3.0 * columns, 2.5 * rows), layout="constrained")
    plt.close(figure)  # shown once, as the value of the cell
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for axis in axes:
        axis.axis("off")
    for axis, image, title in zip(axes, images, titles or [""] * len(images), strict=False):
        _show(axis, np.asarray(image), title)
    return figure


def _show(axis: Axes, image: np.ndarray, title: str) -> None:
    if image.ndim == 3 and image.shape[0] == 3 and image.shape[2] != 3:
        image = image.transpose(1, 2, 0)
    axis.imshow(image if image.dtype == np.uint8 else image.clip(0, 1))
    axis.set_title(title, fontsize=9)
