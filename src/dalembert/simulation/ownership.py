"""Who owns a folder of results: one sweep, which several processes may compute together.

The manifest is created exclusively, by whoever comes first, and holds what the results depend on. While a process is at
work it has a shared lock of the operating system on the manifest, which ends with the process however that ends. So
who gets the exclusive lock is alone; only then is a manifest without results changed, and what a killed process left
cleared away. Nobody removes a manifest. Where there are no such locks, a claimed folder stays claimed.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from dalembert.errors import ArgumentError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

NAME = "_sweep.json"
"""Readers of a folder of tables leave out names that begin like this."""

UNRECOGNISED = "a function of the user"
"""Begins the name of a task that cannot be recognised when it comes again."""

DECISIVE = ("points", "task", "piece", "format")
"""Entries of a manifest that results depend on; the others explain."""


@contextlib.contextmanager
def owned(folder: Path, content: Mapping[str, Any], has_results: Callable[[], bool]) -> Iterator[bool]:
    """Hold a folder while results are added. Gives whether this process is alone.

    Args:
        folder: where the results are; exists.
        content: the manifest: those of :data:`DECISIVE`, and ``about``, texts by name that explain them.
        has_results: whether there are any.
    """
    path = folder / NAME
    text = json.dumps(content, indent=1)
    with _usable(folder):
        _create(path, text)
        handle = _open(path)
    try:
        alone = _lock(handle, "EX")
        if alone:
            for left in folder.glob("_new-*"):  # of a process that was killed while it wrote
                with contextlib.suppress(OSError):
                    left.unlink(missing_ok=True)
            if _different(_read(handle), content) and not has_results():
                with _usable(folder):
                    os.ftruncate(handle, 0)
                    os.pwrite(handle, text.encode(), 0)
                    os.fsync(handle)
        _lock(handle, "SH")
        known = _read(handle)  # between the two locks it may have become that of another sweep
        if different := _different(known, content):
            _refuse(folder, different, known, content)
        yield alone
    finally:
        os.close(handle)  # and with it goes the lock


@contextlib.contextmanager
def _usable(folder: Path) -> Iterator[None]:
    """Errors of the system, such as a full disk, are errors of ours."""
    try:
        yield
    except OSError as refused:
        raise ArgumentError(f"{folder} cannot be made a folder for results: {refused}") from refused


def _create(path: Path, text: str) -> None:
    """Write a manifest, whole, unless there is one."""
    if path.exists():
        return
    new = path.with_name(f"_new-{os.urandom(8).hex()}")
    try:
        with open(new, "x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(new, path)
        except FileExistsError:  # another process came first
            pass
        except OSError:  # a file system without links
            with contextlib.suppress(FileExistsError), open(path, "x", encoding="utf-8") as file:
                file.write(text)
    finally:
        with contextlib.suppress(OSError):
            new.unlink(missing_ok=True)


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))
    except PermissionError:  # results that can only be read
        return os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))


def _lock(handle: int, kind: str) -> bool:
    """Take a lock: the shared one as soon as it can be had, the exclusive one now or not at all."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH if kind == "SH" else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _read(handle: int) -> dict[str, Any]:
    os.lseek(handle, 0, os.SEEK_SET)
    with open(os.dup(handle), "rb") as file:
        try:
            found = json.loads(file.read())
        except ValueError:
            return {}
    return found if isinstance(found, dict) else {}


def _different(known: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    return [name for name in DECISIVE if known.get(name) != wanted[name]]


def _refuse(folder: Path, different: list[str], known: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    if not known:
        raise ArgumentError(f"{folder / NAME} is not readable as the manifest of a sweep", remedy="remove the folder")
    if different == ["task"] and any(str(x.get("task")).startswith(UNRECOGNISED) for x in (known, wanted)):
        raise ArgumentError(
            f"{folder} holds results of a function, and whether they are those of this one is not known",
            argument="version",
            remedy="choose another folder, or give every call of the sweep {argument}=, a text that you change "
            "whenever the results of the function change: then it can be resumed",
        )
    before, now = known.get("about", {}), wanted["about"]
    names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    changes = [f"\n  {name}: {before.get(name, 'not used')} -> {now.get(name, 'not used')}" for name in names[:20]]
    if len(names) > len(changes):
        changes.append(f"\n  and {len(names) - len(changes)} more")
    same = f"; if the results are the same nevertheless, give version={known.get('task')!r}"
    raise ArgumentError(
        f"{folder} holds another sweep: {', '.join(different)} differ{'s' if len(different) == 1 else ''}"
        f"{''.join(changes)}\n",
        argument="version",
        remedy=f"choose another folder, or remove this one{same if different == ['task'] else ''}",
    )
