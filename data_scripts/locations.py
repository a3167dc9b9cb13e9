"""Where the data lives when nobody names a folder.

The rule stands here alone, because the scripts that make the data and the
package that reads it must agree on it.
"""

import os
from pathlib import Path

import platformdirs

PARENT_VARIABLE = "TUTORIAL_DATA"


def default_root(scale: str = "smoke") -> Path:
    """Name the folder of the pairs of one scale; used from lesson 00 on.

    Args:
        scale: ``smoke``, ``workshop`` or ``article``.

    Returns:
        The folder ``pairs-SCALE`` in :func:`default_folder`'s place; it need not exist yet.
    """
    return default_folder(f"pairs-{scale}")


def default_folder(name: str) -> Path:
    """Find the place of a data folder without making it.

    Args:
        name: the last part of the path, such as ``pairs-smoke`` or ``photos``.

    Returns:
        ``$TUTORIAL_DATA/NAME`` if that variable is set; else ``data/NAME`` in the checkout this
        package runs from, if that exists already or can be made there; else ``NAME`` in the
        user's cache folder, where an installed package may write.
    """
    parent = os.environ.get(PARENT_VARIABLE)
    if parent:
        return Path(parent).expanduser().absolute() / name
    checkout = Path(__file__).resolve().parent.parent
    in_checkout = checkout / "data" / name
    if (checkout / "pyproject.toml").is_file() and (in_checkout.is_dir() or os.access(checkout, os.W_OK)):
        return in_checkout
    return platformdirs.user_cache_path("dali-tutorials") / name
