"""Room on the disk: asked for before anything is written, and named when it runs out."""

import errno
import os
from pathlib import Path

BLOCK = 4096  # bytes; a file takes whole blocks, so on average half of one is lost
RESERVE = 0.05  # of the estimate, for what an estimate misses


class DiskFullError(OSError):
    """The disk cannot hold the set, found out before writing or while writing."""

    def __str__(self) -> str:
        return self.strerror  # a sentence; the number before it would tell people nothing


def is_full(error: OSError) -> bool:
    """Tell whether a failed write means that the disk, or the user's quota on it, is full."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def require_room(folder: Path, what: str, *, size: float, files: int) -> None:
    """Check, before anything is written, that something fits on the disk of a folder.

    Args:
        folder: where it will lie; it need not exist yet.
        what: its name for the message, such as ``256 pairs``.
        size: bytes of all files.
        files: how many files and links they are.

    Raises:
        DiskFullError: bytes or files (inodes) do not suffice, with both figures in the message.
    """
    needed = int(size * (1 + RESERVE)) + files * BLOCK // 2
    state = os.statvfs(_existing(folder))
    free = state.f_bavail * state.f_frsize
    if needed > free:
        raise DiskFullError(
            errno.ENOSPC,
            f"{what} need about {megabytes(needed)}, but the disk of {folder} has {megabytes(free)} free. "
            f"Free {megabytes(needed - free)} or choose another folder with --out",
        )
    # Some file systems (btrfs, network ones) count no files and report 0.
    if state.f_files and files > state.f_favail:
        raise DiskFullError(
            errno.ENOSPC,
            f"{what} need {files:,} files, but the disk of {folder} can take only {state.f_favail:,} more, "
            "however small (its inodes run out). Choose another folder with --out",
        )


def megabytes(size: float) -> str:
    """Write a number of bytes for people, in units of 10**6 (MB) or 10**9 (GB)."""
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.1f} MB"


def _existing(folder: Path) -> Path:
    """Go up to the first folder that exists, whose disk will hold the new one."""
    folder = folder.absolute()
    while not folder.exists():
        folder = folder.parent
    return folder
