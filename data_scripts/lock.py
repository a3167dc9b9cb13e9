"""One maker at a time in a folder."""

import errno
import fcntl
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NAME = ".lock"
# Cluster file systems mounted without locks answer one of these.
_NO_LOCKS_HERE = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK)


@contextmanager
def hold(root: Path) -> Iterator[None]:
    """Keep every other maker out of a folder, waiting for the one that is in it.

    The kernel drops the lock with the process, so a killed maker never blocks the next one; the
    lock file stays behind, since removing it would let two makers in at once.

    Args:
        root: the folder, made if absent.

    Raises:
        OSError: the folder cannot be made or written.
    """
    root.mkdir(parents=True, exist_ok=True)
    with (root / NAME).open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            owner = file.read().strip() or "unknown"
            print(
                f"Another process (number {owner}) is at work in {root}; waiting until it is done.",
                flush=True,
            )
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in _NO_LOCKS_HERE:
                raise
            warnings.warn(
                f"{root} lies on a file system without locks: run no second maker in it.", stacklevel=3
            )
        file.seek(0)
        file.truncate()
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield
