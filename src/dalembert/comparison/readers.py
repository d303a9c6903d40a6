"""A file as another library reads it."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dalembert.errors import ArgumentError, DalembertError, FormatError, MissingExtraError
from dalembert.formats.registry import format_of

UNREAD = ("TOML",)
"""Formats of ours that no other library reads."""

EXTRAS = {"pinocchio": "peers", "mujoco": "mjcf", "drake": "drake"}
"""Which extra brings a library."""


def read(path: str | Path, library: str, free: bool = False) -> Any:
    """A model of a file.

    Args:
        path: a URDF or MJCF file.
        library: ``"dalembert"``, ``"pinocchio"``, ``"mujoco"`` or ``"drake"``.
        free: let the root float, where the file does not say.
    """
    readers: dict[str, Callable[[Path, bool], Any]] = {
        "dalembert": _dalembert, "pinocchio": _pinocchio, "mujoco": _mujoco, "drake": _drake,
    }  # fmt: skip
    if library not in readers:
        raise ArgumentError(f"library = {library!r}; choose one of {', '.join(readers)}")
    path = Path(path)
    if library != "dalembert" and not path.is_file():
        raise FormatError(f"there is no file {path}")
    try:
        return readers[library](path, free and not _floats(path))
    except DalembertError:
        raise
    except ImportError as error:
        raise MissingExtraError(library, EXTRAS[library], f"comparing with {library}") from error
    except (RuntimeError, ValueError) as error:  # what the libraries raise
        raise FormatError(f"{library} cannot read {path}: {error}") from None


def _floats(path: Path) -> bool:
    """Whether a URDF file has a floating joint of its own, so that its root needs no other."""
    return (
        _is(path, "URDF")
        and re.search(rb"""<joint\b[^>]*\btype\s*=\s*["']floating["']""", path.read_bytes()) is not None
    )


def _is(path: Path, name: str) -> bool:
    """Whether a file is of the format of that name."""
    format = format_of(path) if path.is_file() else None
    return format is not None and format.name == name


def _dalembert(path: Path, free: bool) -> Any:
    from dalembert.formats import load

    return load(str(path), **({"base": "free"} if free and _is(path, "URDF") else {}))


def _pinocchio(path: Path, free: bool) -> Any:
    import pinocchio

    if _is(path, "MJCF"):
        return pinocchio.buildModelFromMJCF(str(path))
    return pinocchio.buildModelFromUrdf(str(path), *([pinocchio.JointModelFreeFlyer()] if free else []))


def _mujoco(path: Path, free: bool) -> Any:
    import mujoco

    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda message: None)  # else they go to a file in the current folder
    try:
        return _compiled(mujoco.MjSpec.from_file(str(path)), free and _is(path, "URDF"))
    finally:
        mujoco.set_mju_user_warning(before)


def _compiled(spec: Any, free: bool) -> Any:
    for mesh in list(spec.meshes):  # pictures are not needed, and often not there
        for geom in list(spec.geoms):
            if geom.meshname == mesh.name:
                spec.delete(geom)
        spec.delete(mesh)
    if free:
        spec.compiler.fusestatic = False
        first = spec.worldbody.first_body()
        if first is not None and not list(first.joints):
            first.add_freejoint()
    return spec.compile()


def _drake(path: Path, free: bool) -> Any:
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant

    log = logging.getLogger("drake")  # tells of every tag it does not know; what matters is compared below
    level = log.level
    log.setLevel(logging.ERROR)

    def plant(bolted: list[str]) -> Any:
        made = MultibodyPlant(0.0)
        Parser(made).AddModels(path)
        for name in bolted:
            made.WeldFrames(made.world_frame(), made.GetBodyByName(name).body_frame())
        made.Finalize()
        return made

    try:
        floating = plant([])
        return floating if free else plant([floating.get_body(k).name() for k in floating.GetFloatingBaseBodies()])
    finally:
        log.setLevel(level)
