"""Robots that can be loaded by name: packaged here, or found in ``example-robot-data`` and ``robot_descriptions``."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from dalembert.errors import FormatError
from dalembert.formats.registry import SUFFIXES

PACKAGED = Path(__file__).parent / "robots"


def packaged() -> dict[str, Path]:
    """The robots that come with dalembert, by name."""
    return {path.stem: path for path in sorted(PACKAGED.iterdir()) if path.suffix in SUFFIXES}


def example_robot_data() -> dict[str, Path]:
    """The URDF files of the ``example-robot-data`` package, by name, if it is installed.

    A robot is named by its file, ``panda``; where several files have the same name, by folder and file,
    ``anymal_b_simple/anymal``. The long form is known for all of them.
    """
    by_stem: dict[str, list[Path]] = {}
    found: dict[str, Path] = {}
    for folder in _example_folders():
        for path in sorted(folder.glob("*/*/*.urdf")):
            description = path.parent.parent.name.removesuffix("_description")
            found.setdefault(f"{description}/{path.stem}", path)
            by_stem.setdefault(path.stem, []).append(path)
        break  # the first folder that exists
    found.update({stem: paths[0] for stem, paths in by_stem.items() if len(paths) == 1})
    return found


def _example_folders() -> list[Path]:
    from importlib import metadata

    inside = Path("share") / "example-robot-data" / "robots"
    candidates = [Path(sys.prefix) / inside]
    try:
        located = metadata.distribution("example-robot-data").locate_file("")
        candidates.insert(0, Path(str(located)) / "cmeel.prefix" / inside)
    except metadata.PackageNotFoundError:
        pass
    return [folder for folder in candidates if folder.is_dir()]


def robot_descriptions() -> tuple[str, ...]:
    """Names in the ``robot_descriptions`` package, if it is installed."""
    try:
        listing = importlib.import_module("robot_descriptions._descriptions")
    except ImportError:
        return ()
    return tuple(getattr(listing, "DESCRIPTIONS", ()))


def robot_descriptions_path(name: str) -> Path:
    """The file of a robot of ``robot_descriptions``; the first time this downloads it, and expands what is xacro.

    Args:
        name: one of :func:`robot_descriptions`.
    """
    try:  # the import downloads a repository, and macros are expanded: both can fail in many ways
        module = importlib.import_module(f"robot_descriptions.{name}")
        if hasattr(module, "XACRO_PATH") and not hasattr(module, "URDF_PATH"):
            return Path(importlib.import_module("robot_descriptions._xacro").get_urdf_path(module))
    except Exception as error:
        raise FormatError(f"robot_descriptions cannot provide {name!r}: {error}") from error
    for attribute in ("URDF_PATH", "MJCF_PATH"):
        if hasattr(module, attribute):
            return Path(getattr(module, attribute))
    raise FormatError(f"robot_descriptions has neither a URDF nor an MJCF file for {name!r}")
