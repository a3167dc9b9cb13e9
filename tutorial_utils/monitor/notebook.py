"""Where the pictures go: below the running cell, or, outside a notebook, a line of text.

A cell's outputs are told apart by the request that started the cell. The drawing thread therefore
takes the context of the thread that opened the monitor with it (ipykernel keeps the request there);
the ``display_id`` then replaces the same picture, never adds one.
"""

import base64
import os
import sys
import uuid
from typing import Any, Protocol

LIVE_VARIABLE = "TUTORIAL_LIVE"


class Stage(Protocol):
    """Where a monitor shows what it has to show.

    Attributes:
        live: whether frames are wanted while the block runs.
        draws: whether pictures can be shown at all.
    """

    live: bool
    draws: bool

    def show_live(self, svg: str, words: str) -> None:
        """Put a frame in place of the one before."""

    def show_final(self, png: bytes, width: int, words: str) -> None:
        """Put the picture that stays in place of the live one; ``words`` where pictures cannot be shown."""

    def show_words(self, words: str) -> None:
        """Say in one line what happened, where there is no picture."""


class Terminal:
    """Plain Python: no pictures, one line when it is over."""

    live = False
    draws = False

    def show_live(self, svg: str, words: str) -> None:
        """Show nothing."""

    def show_final(self, png: bytes, width: int, words: str) -> None:
        """Show nothing."""

    def show_words(self, words: str) -> None:
        """Print the line."""
        print(words, flush=True)


class Cell:
    """The outputs of the cell that is running.

    Args:
        live: whether someone is looking, so that a live picture makes sense.
    """

    draws = True

    def __init__(self, live: bool):
        self.live = live
        self._id = f"tutorial-monitor-{uuid.uuid4().hex}"
        self._shown = False

    def show_live(self, svg: str, words: str) -> None:
        """Put a frame in place of the one before."""
        self._put({"text/html": svg, "text/plain": words})

    def show_final(self, png: bytes, width: int, words: str) -> None:
        """Put the picture that stays in place of the live one; ``words`` where pictures cannot be shown."""
        data = {"image/png": base64.b64encode(png).decode(), "text/plain": words}
        self._put(data, {"image/png": {"width": width}})

    def show_words(self, words: str) -> None:
        """Put one line in place of the picture."""
        self._put({"text/plain": words})

    def _put(self, data: dict[str, str], metadata: dict[str, Any] | None = None) -> None:
        from IPython.display import publish_display_data

        update, self._shown = self._shown, True
        publish_display_data(data, metadata, transient={"display_id": self._id}, update=update)


def stage() -> Stage:
    """Find out where this code runs, and whether someone is looking.

    In a notebook someone is looking if the client that runs the cell can answer ``input()``:
    JupyterLab, Notebook and VS Code can; nbclient, which nbmake, nbconvert and papermill are built
    on, cannot. ``TUTORIAL_LIVE`` set to 1 or 0 decides otherwise.

    Returns:
        A :class:`Cell` under a Jupyter kernel, else :class:`Terminal`.
    """
    ipython = sys.modules.get("IPython")  # who runs in a notebook has loaded it; nobody else needs it
    shell = ipython.get_ipython() if ipython else None
    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return Terminal()
    wish = os.environ.get(LIVE_VARIABLE, "")
    return Cell(live=wish == "1" if wish else _someone_looks(kernel))


def _someone_looks(kernel: Any) -> bool:
    try:
        return bool(kernel.get_parent()["content"].get("allow_stdin", False))
    except (AttributeError, KeyError, TypeError):
        return False
