"""The set of pairs that is opened when nobody names a folder: found, completed, or made on first use.

Beneath ``data``; used from lesson 00 on.
"""

import os
import warnings
from pathlib import Path

from data_scripts import manifest
from data_scripts.locations import default_root
from data_scripts.make_pairs import SCALES, make_set
from data_scripts.pair_folder import PairFolder

SCALE_VARIABLE = "TUTORIAL_SCALE"


def default_scale() -> str:
    """Name the scale of the default set: ``$TUTORIAL_SCALE``, else ``smoke``.

    Raises:
        ValueError: the variable holds anything else than a scale.
    """
    scale = os.environ.get(SCALE_VARIABLE) or "smoke"
    if scale not in SCALES:
        choices = ", ".join(f"{name} ({count:,} pairs)" for name, count in SCALES.items())
        raise ValueError(f"{SCALE_VARIABLE}={scale!r}: choose one of {choices}")
    return scale


def default_pairs() -> Path:
    """Give the folder of the default set, making or completing the set where needed; used in lesson 00.

    A set that is there already stays what it is, whatever its seed and number of pairs.

    Returns:
        The folder, with ``low``, ``high`` and ``by_class`` in it.

    Raises:
        ValueError: ``$TUTORIAL_SCALE`` is wrong, or the folder holds something that is no set of pairs.
        OSError: the set cannot be written, or the disk is too small for it.
    """
    scale = default_scale()
    root = default_root(scale)
    there = manifest.read(root)
    if there is None:
        if not _has_images(root):
            make_set(root, scale)
    elif there.get("source") != "generated":
        if not there["complete"]:
            text = f"{root} was not finished; give the `make_pairs --photos` command again to complete it."
            warnings.warn(text, stacklevel=3)
    elif not (there["complete"] and PairFolder(root).holds(there["pairs"])):
        make_set(root, pairs=there["pairs"], seed=there["seed"])
    return root


def _has_images(root: Path) -> bool:
    return all((root / folder).is_dir() and any((root / folder).iterdir()) for folder in ("low", "high"))
