"""Parity laboratory: how far DALI's pixels are from Pillow's and torchvision's, decoding and resizing apart.

Lesson 03 asks whether a model notices that its images now come from DALI. Three tables answer,
each with a picture of what differs::

    compare_decoding(files, placement)               # the same file, decoded by each library
    compare_resizing(pixels, (192, 192), placement)  # the same decoded pixels, resized by each
    compare_loading(file, (192, 192), placement)     # both together, beside either alone

What the figures mean, on a CPU:

- Decoding gives the same values: DALI, Pillow and torchvision share libjpeg-turbo's integer
  arithmetic. What does differ is the orientation noted in a photograph's EXIF data: DALI applies
  it, the loaders of the other two do not (``adjust_orientation=False`` makes DALI do as they do).
- DALI resizes with an antialiasing filter by default, as Pillow does and torchvision's v2 does.
  Inside of the image they differ by 1 level at most, because Pillow and torchvision round once
  more, between the two directions. At the rim they differ by more: for the taps that fall outside,
  DALI repeats the edge pixel, the others leave them out and weigh the rest more.
- ``antialias=False`` is another filter altogether, and so is torchvision's ``NEAREST``. Its
  ``NEAREST_EXACT`` is DALI's, save where a centre falls between two pixels and rounding decides.

On a GPU nvJPEG decodes, and DALI documents another interpolation of chroma for it by default
(``jpeg_fancy_upsampling``): expect small differences in JPEG files there.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from tutorial_utils.image_libraries import (
    REFERENCE_DECODERS,
    CannotDecodeError,
    Resizing,
    check_pixels,
    decode_with_dali,
)
from tutorial_utils.parity_pictures import amplify, draw_pair, draw_sheet
from tutorial_utils.placement import Placement
from tutorial_utils.sheet import Block, Heading, Note, Table, to_html, to_text

DALI_DEFAULT = Resizing("DALI")
TORCHVISION_DEFAULT = Resizing("torchvision")
RESIZINGS = (
    (DALI_DEFAULT, TORCHVISION_DEFAULT),
    (DALI_DEFAULT, Resizing("PIL")),
    (DALI_DEFAULT, Resizing("DALI", "triangular")),
    (DALI_DEFAULT, Resizing("torchvision", antialias=False)),
    (Resizing("DALI", antialias=False), Resizing("torchvision", antialias=False)),
    (Resizing("DALI", "nearest"), Resizing("torchvision", "nearest-exact")),
    (Resizing("DALI", "nearest"), Resizing("torchvision", "nearest")),
    (Resizing("DALI", "nearest"), Resizing("PIL", "nearest")),
    (Resizing("DALI", "cubic"), Resizing("torchvision", "cubic")),
    (Resizing("DALI", "cubic"), Resizing("PIL", "cubic")),
    (Resizing("DALI", "cubic", antialias=False), Resizing("torchvision", "cubic", antialias=False)),
    (Resizing("DALI", "lanczos"), Resizing("PIL", "lanczos")),
)


@dataclass(frozen=True)
class Difference:
    """Two versions of one picture, or the reason why there is nothing to compare.

    Attributes:
        subject: the file, or what DALI does; first half of the label.
        against: the library, or what it does; second half of the label.
        ours: DALI's pixels, uint8 (H, W, 3) RGB; None if it could not give any.
        theirs: the other's, alike.
        problem: why the two cannot be compared; empty if they can.
    """

    subject: str
    against: str
    ours: np.ndarray | None = None
    theirs: np.ndarray | None = None
    problem: str = ""

    def __post_init__(self) -> None:
        if not self.problem and self.ours.shape != self.theirs.shape:
            shapes = " against ".join("x".join(map(str, each.shape[:2])) for each in (self.ours, self.theirs))
            object.__setattr__(self, "problem", f"other height and width: {shapes}")

    @property
    def label(self) -> str:
        """Name of the row, such as ``photo.jpg / PIL``."""
        return f"{self.subject} / {self.against}"

    @cached_property
    def levels(self) -> np.ndarray:
        """Absolute difference of each value in levels of 255: int16 (H, W, 3).

        Raises:
            ValueError: the two cannot be compared; the message is ``problem``.
        """
        if self.problem:
            raise ValueError(f"{self.label}: {self.problem}")
        return np.abs(self.ours.astype(np.int16) - self.theirs)

    @property
    def mean(self) -> float:
        """Mean absolute difference over all values, in levels of 255."""
        return float(self.levels.mean())

    @property
    def max(self) -> int:
        """Largest absolute difference of a value, in levels of 255."""
        return int(self.levels.max())

    @property
    def share(self) -> float:
        """Share of the values that differ at all, from 0 to 1."""
        return float((self.levels > 0).mean())

    def amplified(self) -> np.ndarray:
        """Make the difference visible: uint8 (H, W, 3), black where equal and brighter the more it differs.

        Raises:
            ValueError: the two cannot be compared.
        """
        return amplify(self.levels)

    def figure(self) -> Figure:
        """Draw DALI's picture, the other's, and their amplified difference with its scale.

        Raises:
            ValueError: the two cannot be compared.
        """
        caption = f"mean {self.mean:.3f}, max {self.max}, {self.share:.1%} of the values differ"
        pictures = {self.subject: self.ours, self.against: self.theirs}
        return draw_pair(pictures, self.levels, caption)


@dataclass(frozen=True)
class Comparison:
    """Differences under one heading; shown by a notebook as a table.

    Attributes:
        title: what is compared.
        differences: in the order of the rows; ``comparison["label"]`` gives the one with this label.
    """

    title: str
    differences: tuple[Difference, ...]

    def __getitem__(self, label: str) -> Difference:
        for difference in self.differences:
            if difference.label == label:
                return difference
        raise KeyError(f"{label!r} was not compared; choose from {[each.label for each in self.differences]}")

    def _blocks(self) -> list[Block]:
        header = ("DALI", "against", "mean", "max", "values that differ")
        rows = tuple((each.subject, each.against, *_figures(each)) for each in self.differences)
        return [Heading(self.title), Table(header, rows), Note("mean and max in levels of 255")]

    def __str__(self) -> str:
        return to_text(self._blocks())

    def _repr_html_(self) -> str:
        return to_html(self._blocks())

    def figure(self) -> Figure:
        """Draw the amplified differences of all rows side by side; a row without one says why.

        ``comparison["label"].figure()`` shows one of them large, beside the two pictures.

        Returns:
            A figure for the last line of a cell.
        """
        return draw_sheet([_panel(difference) for difference in self.differences])


def compare_decoding(
    files: Iterable[Path | str], placement: Placement, *, adjust_orientation: bool = True
) -> Comparison:
    """Decode files with DALI, and each again with torchvision and Pillow.

    Args:
        files: images of any format. One that a library cannot read keeps its row, with the reason.
        placement: where DALI decodes.
        adjust_orientation: whether DALI (and DALI only, as it is by default) applies EXIF orientation.

    Returns:
        Two rows a file, labelled ``NAME / torchvision`` and ``NAME / PIL``; if two files have the
        same name, their folder is put before it.

    Raises:
        OSError: a file does not exist or may not be read.
        ValueError: there are no files, or one is given twice.
    """
    files = [Path(file) for file in files]
    if not files:
        raise ValueError("files: give at least one image to decode")
    rows = [
        _decoding(name, file, library, placement, adjust_orientation)
        for name, file in zip(_names(files), files, strict=True)
        for library in REFERENCE_DECODERS
    ]
    return Comparison("decoding the same file", tuple(rows))


def compare_resizing(pixels: np.ndarray, size: tuple[int, int], placement: Placement) -> Comparison:
    """Resize the same decoded pixels in every way of ``RESIZINGS``.

    Args:
        pixels: uint8 (H, W, 3), RGB, from whichever decoder.
        size: height and width to come out.
        placement: where DALI resizes.

    Returns:
        A row a pair, labelled such as ``DALI linear, antialias / PIL linear, antialias``.

    Raises:
        TypeError: the pixels are not uint8.
        ValueError: they are not (H, W, 3), or the size is not two positive integers.
    """
    check_pixels(pixels)
    rows = [
        Difference(str(ours), str(theirs), ours(pixels, size, placement), theirs(pixels, size, placement))
        for ours, theirs in RESIZINGS
    ]
    height, width = pixels.shape[:2]
    return Comparison(f"resizing the same pixels, {height}x{width} to {size[0]}x{size[1]}", tuple(rows))


def compare_loading(
    file: Path | str,
    size: tuple[int, int],
    placement: Placement,
    *,
    ours: Resizing = DALI_DEFAULT,
    theirs: Resizing = TORCHVISION_DEFAULT,
    adjust_orientation: bool = True,
) -> Comparison:
    """Take a loader's whole difference apart into that of its decoder and that of its resize.

    Args:
        file: an image that both libraries can read.
        size: height and width to come out.
        placement: where DALI decodes and resizes.
        ours: how DALI resizes.
        theirs: how the other library resizes; it also decodes.
        adjust_orientation: whether DALI applies EXIF orientation, as it does by default.

    Returns:
        Three rows: ``decoding only``, ``resizing only`` (of the other library's pixels) and ``both``,
        labelled such as ``both / torchvision``.

    Raises:
        OSError: the file does not exist or may not be read.
        CannotDecodeError: a library cannot decode it.
        ValueError: ``theirs`` is a way of DALI's, or the size is not two positive integers.
    """
    if theirs.library not in REFERENCE_DECODERS:
        raise ValueError(f"theirs={theirs}: DALI is compared with one of {', '.join(REFERENCE_DECODERS)}")
    decoded = decode_with_dali(file, placement, adjust_orientation=adjust_orientation)
    reference = REFERENCE_DECODERS[theirs.library](file)
    wanted = theirs(reference, size, placement)
    rows = (
        Difference("decoding only", theirs.library, decoded, reference),
        Difference("resizing only", theirs.library, ours(reference, size, placement), wanted),
        Difference("both", theirs.library, ours(decoded, size, placement), wanted),
    )
    return Comparison(f"{Path(file).name}: {ours} against {theirs}", rows)


def _names(files: list[Path]) -> list[str]:
    for names in ([file.name for file in files], ["/".join(file.parts[-2:]) for file in files]):
        if len(set(names)) == len(files):
            return names
    if len(set(files)) < len(files):
        raise ValueError("files: one of them is given twice; each needs a row of its own")
    return list(map(str, files))


def _decoding(name: str, file: Path, library: str, placement: Placement, adjust: bool) -> Difference:
    try:
        ours = decode_with_dali(file, placement, adjust_orientation=adjust)
        return Difference(name, library, ours, REFERENCE_DECODERS[library](file))
    except CannotDecodeError as error:
        return Difference(name, library, problem=f"{error.library} cannot decode it: {error.reason}")


def _figures(difference: Difference) -> tuple[str, str, str]:
    if difference.problem:
        return "-", "-", difference.problem
    return f"{difference.mean:.3f}", str(difference.max), f"{difference.share:.1%}"


def _panel(difference: Difference) -> tuple[str, np.ndarray | str]:
    title = f"{difference.subject}\n{difference.against}\n"
    if difference.problem:
        return title, difference.problem
    return f"{title}mean {difference.mean:.3f}, max {difference.max}", difference.levels
