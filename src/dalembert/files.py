"""Files that are written whole or not at all.

A full disk, a kill or an error half-way leaves the file that was there before, and nothing beside it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path


def write_whole(path: str | Path, write: Callable[[str], object]) -> None:
    """Write to a temporary file beside it, then rename: readers see all or nothing, also after a crash.

    A link is followed, so that it stays one; what is no regular file (a pipe, ``/dev/stdout``) is written as it is.

    Args:
        path: where the file shall be.
        write: writes a file of the name it is given.
    """
    target = Path(os.path.realpath(path))
    mode = target.stat().st_mode if target.exists() else None
    if mode is not None and not stat.S_ISREG(mode):
        write(str(path))  # a folder fails here, with the system's own words
        return
    if mode is not None and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "the file is write-protected", str(path))
    name = str(target.parent / f"_new-{os.urandom(8).hex()}{target.suffix}")
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
    handle = os.open(name, flags, 0o666)  # less the user's mask, as any new file
    try:
        write(name)
        os.fsync(handle)
        if mode is not None:
            os.chmod(name, stat.S_IMODE(mode))
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    finally:
        os.close(handle)


def write_text(path: str | Path, text: str, newline: str | None = None) -> None:
    """Write a text in UTF-8, whole or not at all.

    Args:
        path: where the file shall be.
        newline: how lines end; as the system has it by default.
    """

    def write(name: str) -> None:
        with open(name, "w", encoding="utf-8", newline=newline) as file:
            file.write(text)

    write_whole(path, write)
