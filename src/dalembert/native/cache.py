"""A disk cache of machine code, shared by all processes of one user.

Entries are named by a digest of everything that determines their content, so they are never out of date, only no longer
asked for. They are written to a temporary file and renamed, so that readers and concurrent writers see whole entries
only; a checksum finds those that a full disk or a crash has damaged nevertheless, and they are made anew. When the
entries exceed a limit, those unused for longest are removed.

The cache is loaded as code, so it is kept to oneself: the folder is created for its owner only, and entries that belong
to somebody else, or that others may write, are not loaded.

Where it lies is told by the environment variable ``DALEMBERT_CACHE``: a folder, or ``off`` for no cache at
all. By default it lies where the system keeps caches (``~/.cache/dalembert`` on Linux).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
import time
import warnings
import zlib
from functools import cache
from pathlib import Path

from dalembert.errors import ArgumentError

MAGIC = b"dalembert machine code 2\n"
LIMIT = 512 << 20
"""Bytes of entries above which the oldest are removed."""

FRESH = 3600.0
"""Seconds within which a use of an entry is not noted again."""

TIDY = 16
"""One new entry in so many makes the cache look through all of them; in a full one that takes as long as compiling."""


_READ = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
"""How entries are opened: neither through links nor, should one be a pipe, waiting for somebody to fill it."""


def digest(*parts: object) -> str:
    """A name for what is determined by ``parts``, each of which must have a faithful ``repr``."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()


@cache
def source_digest(folder: Path) -> str:
    """A digest of all Python source below a folder: entries made by other versions of it are not used."""
    h = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        content = path.read_bytes()
        h.update(f"{path.relative_to(folder)} {len(content)}\n".encode())
        h.update(content)
    return h.hexdigest()


class Cache:
    """Entries in one folder.

    Args:
        folder: where; created when first written to. None is the cache that never has anything.
        limit: bytes above which the oldest entries are removed.
    """

    def __init__(self, folder: Path | None, limit: int = LIMIT):
        self.folder, self.limit = folder, limit
        self._warned = False

    def get(self, key: str) -> bytes | None:
        """The entry of that name, or None if there is none that can be trusted."""
        if self.folder is None:
            return None
        path = self.folder / key
        try:
            handle = os.open(path, _READ)
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                os.close(handle)
                return None
            with open(handle, "rb") as file:
                if not _is_own(status):
                    self._warn(f"{path} belongs to another user or may be written by others; it is not used")
                    return None
                content = file.read()
        except OSError:
            return None
        start = len(MAGIC) + 32
        if content[: len(MAGIC)] != MAGIC or _checksum(key, content[start:]) != content[len(MAGIC) : start]:
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        if time.time() - status.st_mtime > FRESH:
            with contextlib.suppress(OSError):
                os.utime(path)
        return content[start:]

    def put(self, key: str, content: bytes) -> None:
        """Keep an entry. If that is impossible one warning says so, and work goes on without."""
        if self.folder is None:
            return
        import tempfile

        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _is_own(self.folder.stat()):
                raise PermissionError(f"{self.folder} belongs to another user or may be written by others")
            handle, name = tempfile.mkstemp(prefix="new-", dir=self.folder)
            try:
                with open(handle, "wb") as file:
                    file.write(MAGIC + _checksum(key, content) + content)
                os.replace(name, self.folder / key)
            except BaseException:
                os.unlink(name)
                raise
            if zlib.crc32(key.encode()) % TIDY == 0:
                self.tidy()
        except OSError as error:
            self._warn(
                f"machine code cannot be kept for the next start: {error}. Set DALEMBERT_CACHE to a folder of your own,"
                " or to 'off'."
            )

    def tidy(self) -> None:
        """Remove what writers that died have left and, above the limit, the entries unused for longest."""
        if self.folder is None:
            return
        entries = []
        for entry in os.scandir(self.folder):
            with contextlib.suppress(OSError):  # somebody else may have removed it
                status = entry.stat(follow_symlinks=False)
                if entry.name.startswith("new-") and time.time() - status.st_mtime > FRESH:
                    os.unlink(entry.path)
                else:
                    entries.append((status.st_mtime, status.st_size, entry.path))
        total = sum(size for _, size, _ in entries)
        if total <= self.limit:
            return
        for _, size, path in sorted(entries):
            with contextlib.suppress(OSError):
                os.unlink(path)
            total -= size
            if total <= self.limit * 4 // 5:
                break

    def _warn(self, message: str) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(message, stacklevel=2)

    def __repr__(self) -> str:
        return f"Cache({str(self.folder)!r})" if self.folder else "Cache(None)"


def _checksum(key: str, content: bytes) -> bytes:
    """Of an entry under its name: whole entries under another one are as wrong as damaged ones."""
    return hashlib.sha256(key.encode() + content).digest()


def _is_own(status: os.stat_result) -> bool:
    if not hasattr(os, "getuid"):  # Windows: the profile folder is private by its access lists
        return True
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def default_cache() -> Cache:
    """The cache told by ``DALEMBERT_CACHE``, or else the user's own."""
    return _cache_of(os.environ.get("DALEMBERT_CACHE"))


@cache
def _cache_of(setting: str | None) -> Cache:
    if setting and setting.lower() in ("off", "0", "no", "none", "false"):
        return Cache(None)
    if not setting:
        return Cache(_default_folder())
    try:
        return Cache(Path(setting).expanduser())
    except RuntimeError:
        raise ArgumentError(
            f"the environment variable DALEMBERT_CACHE is {setting!r}, in the home of a user who has none"
        ) from None


def _default_folder() -> Path | None:
    try:
        home = Path.home()
    except RuntimeError:  # a user without a home
        return None
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local")) / "dalembert" / "Cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "dalembert"
    folder = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (folder if folder.is_absolute() else home / ".cache") / "dalembert"  # a relative one is invalid, says XDG
