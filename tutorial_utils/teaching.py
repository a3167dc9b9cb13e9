"""How a lesson shows code and lets code fail; used by every lesson from 00 on."""

import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from IPython.display import Markdown


def show_source(*helpers: Callable | type) -> Markdown:
    """Show the source of helper functions, methods or classes, so that a lesson hides nothing.

    Args:
        helpers: what to show, in this order; anything :func:`inspect.getsource` understands.

    Returns:
        A highlighted block for the last line of a cell.
    """
    sources = [textwrap.dedent(inspect.getsource(helper)) for helper in helpers]
    return Markdown("```python\n" + "\n".join(sources) + "```")


@contextmanager
def expect_error(kind: type[BaseException], message: str) -> Iterator[None]:
    """Run a trap live: the block must fail with exactly this kind of error and this message.

    A lesson that claims "this fails" would otherwise keep claiming it long after a new
    version of the library has mended it.

    Args:
        kind: the exact exception class; a subclass does not count.
        message: text that must occur in the error's message (white space is compared loosely).

    Raises:
        AssertionError: the block did not fail, or failed in another way (which is then the cause).
    """
    try:
        yield
    except BaseException as error:
        found = " ".join(str(error).split())
        if type(error) is not kind or " ".join(message.split()) not in found:
            raise AssertionError(f"expected {kind.__name__} with {message!r}, but got {error!r}") from error
        print(f"Failed as predicted.\n{type(error).__name__}: {_shortened(str(error))}")
    else:
        raise AssertionError(f"expected {kind.__name__} with {message!r}, but nothing failed")


def _shortened(message: str, lines: int = 12) -> str:
    """Cut what a library adds below its message, such as a C++ stack trace."""
    kept = re.split(r"\n\s*Stacktrace", message, maxsplit=1)[0].strip().splitlines()
    return "\n".join(kept[:lines] + ["..."] * (len(kept) > lines))
