"""Which Python distributions are installed, and the command that installs others (lesson 00)."""

import importlib.metadata
import importlib.util
import sys

DALI_FAMILIES = {12: "nvidia-dali-cuda120", 13: "nvidia-dali-cuda130"}
CONSTRAINTS = {12: "constraints.txt", 13: "constraints-cuda13.txt"}


def installed(distribution: str) -> str | None:
    """Give the installed version of a distribution, or None."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def dali_families() -> list[int]:
    """List the CUDA families whose DALI is installed; there should be exactly one."""
    return [family for family, name in DALI_FAMILIES.items() if installed(name)]


def pip(arguments: str) -> str:
    """Write a pip command that works in this environment (one made by uv has no pip of its own)."""
    if importlib.util.find_spec("pip"):
        return f"{sys.executable} -m pip {arguments}"
    return f"uv pip {arguments.replace('uninstall -y', 'uninstall')} --python {sys.executable}"


def install(family: int | None = None) -> str:
    """Write the command that installs this project's tested set, to be run in its checkout.

    Args:
        family: major version of CUDA; None for that of the installed DALI, 12 without one.
    """
    if family is None:
        family = next(iter(dali_families()), 12)
    return pip(f"install -c {CONSTRAINTS[family]} -e '.[cuda{family},lab]'")
