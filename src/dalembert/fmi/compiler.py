"""The C compiler of this machine, and what FMI calls the machine."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from dalembert.errors import CompilerError

FLAGS = ("-O2", "-std=c99", "-shared", "-fvisibility=hidden")
SUFFIXES = {"Linux": ".so", "Darwin": ".dylib", "Windows": ".dll"}
REMEDY = "install gcc or clang, or pip install ziglang, or name a compiler in the environment variable CC"


def find_compiler() -> list[str] | None:
    """The command of a C compiler: that of ``CC``, else cc, gcc or clang, else the one of the package ziglang."""
    if given := os.environ.get("CC"):
        command = shlex.split(given)
        if command and shutil.which(command[0]):
            return command
    for name in ("cc", "gcc", "clang"):
        if found := shutil.which(name):
            return [found]
    return [sys.executable, "-m", "ziglang", "cc"] if find_spec("ziglang") is not None else None


def platform_folder(version: int) -> tuple[str, str]:
    """The folder of binaries of this machine, as a version of FMI calls it, and the suffix of shared libraries.

    Args:
        version: of FMI, 2 or 3.
    """
    system, machine = platform.system(), platform.machine().lower()
    if system not in SUFFIXES:
        raise CompilerError(f"FMI has no name for binaries of {system}; make the unit with binary=False")
    if version == 2:
        bits = "64" if sys.maxsize > 2**32 else "32"
        return {"Linux": "linux", "Darwin": "darwin", "Windows": "win"}[system] + bits, SUFFIXES[system]
    processor = {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)
    return f"{processor}-{ {'Linux': 'linux', 'Darwin': 'darwin', 'Windows': 'windows'}[system] }", SUFFIXES[system]


def shared_library(command: Sequence[str], folder: Path, sources: Sequence[str], target: Path) -> None:
    """Compile C files to a shared library.

    Args:
        command: of the compiler, see :func:`find_compiler`.
        folder: where the files lie.
        sources: their names.
        target: the library to make.
    """
    system = platform.system()
    extra = ["-lm"] if system != "Windows" else []
    if system == "Linux":
        extra.append("-s")
    position = ["-fPIC"] if system != "Windows" else []
    call = [*command, *FLAGS, *position, *sources, "-o", str(target), *extra]
    try:
        done = subprocess.run(call, cwd=folder, capture_output=True, text=True, errors="replace")
    except OSError as error:
        raise CompilerError(f"the C compiler cannot be started: {error}", remedy=REMEDY) from error
    if done.returncode:
        first = next((line for line in done.stderr.splitlines() if "error" in line.lower()), done.stderr.strip()[:300])
        raise CompilerError(
            f"the C compiler {command[0]} failed: {first}",
            remedy="binary=False writes the unit with its sources alone",
        )
