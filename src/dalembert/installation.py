"""Which code this process runs: the files of the package as they were when it was imported.

An upgrade may exchange the files under a running process, whose modules stay as they were, or come in part from either
version. So the files are stamped when the package is imported; as long as their stamps are the same, what they contain
is what runs. Installations without sources count by their byte code; where the package lies in an archive, nothing is
known of it.
"""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent

Stamps = dict[str, tuple[int, int, int]]


def stamps(folder: str | Path) -> Stamps:
    """Size, time and number of every file of code below a folder, by path."""
    found: Stamps = {}
    waiting = [os.fspath(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.name.endswith((".py", ".pyc")):
                        status = entry.stat()
                        found[entry.path] = status.st_size, status.st_mtime_ns, status.st_ino
                    elif entry.name != "__pycache__" and entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except OSError:  # an archive, or files that are being exchanged
            return {}
    return found


_AT_IMPORT = stamps(PACKAGE)


def is_as_imported() -> bool:
    """Whether the files of the package are known, and still those of which this process has its modules."""
    return bool(_AT_IMPORT) and stamps(PACKAGE) == _AT_IMPORT


@cache
def code_digest(folder: Path = PACKAGE) -> str:
    """A digest of the code below a folder of the package; one that nobody else has if that code is not known."""
    found = files_digest(folder)
    return found if is_as_imported() else f"unknown {os.urandom(16).hex()}"


def files_digest(folder: Path) -> str:
    """A digest of all files of code below a folder."""
    h = hashlib.sha256()
    for name in sorted(stamps(folder)):
        path = Path(name)
        try:
            content = path.read_bytes()
        except OSError:  # exchanged since; the stamps will say so
            content = b""
        h.update(f"{path.relative_to(folder).as_posix()} {len(content)}\n".encode())
        h.update(content)
    return h.hexdigest()
