"""Where the mesh files lie that models name: paths, ``file://`` and ``package://`` addresses."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from dalembert.errors import FormatError
from dalembert.formats.catalogue import example_robot_data


def search_path(folder: Path | None) -> tuple[Path, ...]:
    """Folders in which the packages of ``package://`` addresses are looked for.

    The folder of the model and those around it, the folders that ROS names in its environment, the example robots.

    Args:
        folder: of the model, if it came from a file.
    """
    found: list[Path] = []
    if folder is not None:
        found += [folder.resolve(), *folder.resolve().parents]
    found += ros_folders()
    if known := example_robot_data():
        found += next(iter(known.values())).parents
    return tuple(dict.fromkeys(found))


def is_of_model(file: Path, address: str, folder: Path | None) -> bool:
    """Whether a mesh belongs to its model, so that whoever has the one may have the other.

    It does if it lies below the folder of the model, in the same package, or in the package that its address names.
    A package has a ``package.xml``, or lies where ROS or the example robots have theirs.

    Args:
        file: what :func:`locate` found.
        folder: of the model, if it came from a file.
    """
    owners: list[Path] = []
    if folder is not None:
        owners.append(folder.resolve())
        owners += [place for place in owners[0].parents if (place / "package.xml").is_file()][:1]
    owners += [place for known in example_robot_data().values() for place in known.parents if place.name in OWN_NAMES]
    if address.startswith(("package://", "model://")):
        name = address.partition("://")[2].lstrip("/").partition("/")[0]
        for place in file.absolute().parents:
            if place.name == name != ".." and ((place / "package.xml").is_file() or place.parent in ros_folders()):
                owners.append(place)
    real = file.resolve()
    return any(real.is_relative_to(owner.resolve()) for owner in owners)


OWN_NAMES = ("example-robot-data", "example_robot_data")
"""Folders of the example robots."""


def ros_folders() -> list[Path]:
    """The folders of packages that ROS names in its environment."""
    found: list[Path] = []
    for variable, inside in (("ROS_PACKAGE_PATH", ""), ("AMENT_PREFIX_PATH", "share")):
        found += [Path(entry) / inside for entry in os.environ.get(variable, "").split(os.pathsep) if entry]
    return found


def locate(address: str, folder: Path | None, path: Sequence[Path]) -> Path:
    """The file behind the address of a mesh; FormatError if there is none on this machine.

    Args:
        address: ``package://name/...``, ``file://...`` or a path, relative to the folder.
        folder: of the model, if it came from a file.
        path: of :func:`search_path`.
    """
    scheme, mark, rest = address.partition("://")
    if not mark:
        candidates = [Path(address)] if folder is None else [folder / address]
    elif scheme == "file":
        candidates = [Path(unquote(rest))]
    elif scheme in ("package", "model"):
        rest = rest.lstrip("/")  # some files have one stroke too many
        name, _, inside = rest.partition("/")
        candidates = [place / rest for place in path] + [place / inside for place in path if place.name == name]
    else:
        raise FormatError(f"only files on this machine are read, not {scheme}:// addresses")
    for candidate in candidates:
        try:
            if candidate.is_file():
                return candidate
        except (OSError, ValueError):  # a name no file can have
            continue
    remedy = "say where the model lies by {setting}" if folder is None else ""
    raise FormatError("there is no such file", argument="folder", remedy=remedy)
