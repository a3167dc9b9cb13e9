"""``pairs.json``: what a folder holds, so that two different sets never mix."""

import json
from pathlib import Path
from typing import Any

from data_scripts.pair_folder import PairFolder, write_whole

NAME = "pairs.json"
FORMAT = 1
_VARIABLE = ("pairs", "complete")  # what may differ between two runs over one set


class OtherSetError(ValueError):
    """The folder holds something else than what is asked for."""


def read(root: Path) -> dict[str, Any] | None:
    """Read the manifest of a set.

    Returns:
        ``format``, ``source`` (``generated`` or ``photos``), the settings the set was made with,
        ``pairs`` (how many) and ``complete``; None where there is no manifest.

    Raises:
        OtherSetError: the file is there but no manifest of ours.
    """
    try:
        content = json.loads((root / NAME).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise OtherSetError(f"{root / NAME} is no JSON ({error}). {_way_out(root)}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise OtherSetError(
            f"{root / NAME} is no manifest of a set of pairs, format {FORMAT}. {_way_out(root)}"
        )
    return content


def write(root: Path, settings: dict[str, Any], pairs: int, *, complete: bool) -> None:
    """Write the manifest of a set, whole or not at all."""
    content = {"format": FORMAT, **settings, "pairs": pairs, "complete": complete}
    write_whole(root / NAME, json.dumps(content, indent=2) + "\n")


def check(root: Path, settings: dict[str, Any]) -> dict[str, Any] | None:
    """Make sure that a folder is empty or holds a set made with the same settings.

    Args:
        root: the folder of the set.
        settings: everything that decides what the images are.

    Returns:
        The manifest that is there, None in a new folder.

    Raises:
        OtherSetError: another set, or images without a manifest; it names both and the way out.
    """
    found = read(root)
    if found is None:
        if any(any(folder.glob("*")) for folder in (root / "low", root / "high")):
            raise OtherSetError(f"{root} holds images in low/ or high/, but no {NAME}. {_way_out(root)}")
        return None
    there = {key: value for key, value in found.items() if key not in ("format", *_VARIABLE)}
    if there != settings:
        raise OtherSetError(
            f"{root} holds another set of pairs: {_differences(there, settings)}. {_way_out(root)}"
        )
    return found


def is_complete(root: Path, settings: dict[str, Any], pairs: int) -> bool:
    """Tell whether a set is there and whole, by its manifest and by counting names only."""
    found = check(root, settings)
    if found is None or not found["complete"] or found["pairs"] != pairs:
        return False
    return PairFolder(root).holds(pairs)


def _differences(there: dict[str, Any], asked: dict[str, Any]) -> str:
    keys = [key for key in {**there, **asked} if there.get(key) != asked.get(key)]
    if "source" in keys:
        keys = ["source"]
    return "; ".join(f"{key} is {there.get(key)!r} there, {asked.get(key)!r} was asked for" for key in keys)


def _way_out(root: Path) -> str:
    return f"Choose another folder with --out, or remove this one (rm -r {root}) to make it anew."
