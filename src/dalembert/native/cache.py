"""A disk cache of machine code, shared by all processes of one user.

Entries are named by a digest of everything that determines their content, so they are never out of date, only no longer
asked for. They are written to a temporary file and renamed, so that readers and concurrent writers see whole entries
only; a checksum finds those that a full disk or a crash has damaged nevertheless, and they are made anew. When the
entries exceed a limit, those unused for longest are removed.

Files that do not begin with the mark of an entry are never removed, and a folder that holds other things gets a
sub-folder of ours. The code that makes entries is part of their names as it was when this process imported it; once its
files have changed, entries are still read but no longer kept.

The cache is loaded as code, so it is kept to oneself: the folder is created for its owner only, and entries that belong
to somebody else, or that others may write, are not loaded.

The environment variable ``DALEMBERT_CACHE`` says where it lies: a folder, or ``off`` for no cache at
all. By default it lies where the system keeps caches (``~/.cache/dalembert`` on Linux).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import sys
import time
import warnings
import zlib
from functools import cache
from pathlib import Path

from dalembert.errors import ArgumentError

MAGIC = b"dalembert machine code 2\n"
TAG = "CACHEDIR.TAG"
SIGNATURE = b"Signature: 8a477f597d28d172789f06886806bc55\n# This folder is a cache of dalembert's machine code.\n"
"""A file that says whose folder it is; backups know it by its first line."""

CACHE_BYTES = 512 << 20
"""Bytes of entries above which the oldest are removed."""

NOTED_SECONDS = 3600.0
"""Seconds within which a use of an entry is not noted again."""

ENTRIES_PER_TIDYING = 16
"""One new entry in so many makes the cache look through all of them; in a full one that takes as long as compiling."""


_READ = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
"""How entries are opened: neither through links nor, should one be a pipe, waiting for a writer."""


def digest(*parts: object) -> str:
    """A name for what is determined by ``parts``, each of which must have a faithful ``repr``."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()


class Cache:
    """Entries in one folder.

    Args:
        folder: where; created when first written to. None is the cache that never has anything.
        limit: bytes above which the oldest entries are removed.
    """

    def __init__(self, folder: Path | None, limit: int = CACHE_BYTES):
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
        if time.time() - status.st_mtime > NOTED_SECONDS:
            with contextlib.suppress(OSError):
                os.utime(path)
        return content[start:]

    def put(self, key: str, content: bytes) -> None:
        """Keep an entry. If that is impossible one warning says so, and work goes on without."""
        if self.folder is None:
            return
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _is_own(self.folder.stat()):
                raise PermissionError(f"{self.folder} belongs to another user or may be written by others")
            self._write(key, MAGIC + _checksum(key, content) + content)
            if not (self.folder / TAG).exists():
                self._write(TAG, SIGNATURE)
            if zlib.crc32(key.encode()) % ENTRIES_PER_TIDYING == 0:
                self.tidy()
        except OSError as error:
            self._warn(
                f"machine code cannot be kept for the next start: {error}. Set DALEMBERT_CACHE to a folder of your own,"
                " or to 'off'."
            )

    def _write(self, name: str, content: bytes) -> None:
        import tempfile

        assert self.folder is not None
        handle, new = tempfile.mkstemp(prefix="new-", dir=self.folder)
        try:
            with open(handle, "wb") as file:
                file.write(content)
            os.replace(new, self.folder / name)
        except BaseException:
            os.unlink(new)
            raise

    def tidy(self) -> None:
        """Remove what writers that died have left and, above the limit, the entries unused for longest."""
        if self.folder is None:
            return
        entries = []
        for entry in os.scandir(self.folder):
            with contextlib.suppress(OSError):  # somebody else may have removed it
                status = entry.stat(follow_symlinks=False)
                if not stat.S_ISREG(status.st_mode) or not _is_marked(entry.path):
                    continue
                if entry.name.startswith("new-") and time.time() - status.st_mtime > NOTED_SECONDS:
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


def _is_marked(path: str) -> bool:
    """Whether a file is an entry, whole or not."""
    with open(path, "rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def _is_own(status: os.stat_result) -> bool:
    if not hasattr(os, "getuid"):  # Windows: the profile folder is private by its access lists
        return True
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def default_cache() -> Cache:
    """The cache named by ``DALEMBERT_CACHE``, or else the user's own."""
    return _cache_of(os.environ.get("DALEMBERT_CACHE"))


@cache
def _cache_of(setting: str | None) -> Cache:
    if setting and setting.lower() in ("off", "0", "no", "none", "false"):
        return Cache(None)
    if not setting:
        return Cache(_default_folder())
    try:
        folder = Path(setting).expanduser()
    except RuntimeError:
        raise ArgumentError(
            f"the environment variable DALEMBERT_CACHE is {setting!r}, in the home of a user who has none"
        ) from None
    return Cache(folder / "dalembert" if _is_foreign(folder) else folder)


def _is_foreign(folder: Path) -> bool:
    """Whether a folder holds something and is no cache of ours."""
    try:
        with open(folder / TAG, "rb") as file:
            return file.read(len(SIGNATURE)) != SIGNATURE
    except OSError:
        try:
            return any(re.fullmatch("[0-9a-f]{64}|new-.*", name) is None for name in os.listdir(folder))
        except OSError:  # it is not there yet, or no folder
            return False


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
