"""MuJoCo's numbers for kinds of things, and the model that its compiler would make, as far as they are read here.

The names are MuJoCo's, so that the reader takes either: this module with a model :class:`CompiledMjcf`, or the
``mujoco`` package with an ``MjModel``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np


class mjtGeom(IntEnum):
    """Kinds of geoms."""

    mjGEOM_PLANE = 0
    mjGEOM_HFIELD = 1
    mjGEOM_SPHERE = 2
    mjGEOM_CAPSULE = 3
    mjGEOM_ELLIPSOID = 4
    mjGEOM_CYLINDER = 5
    mjGEOM_BOX = 6
    mjGEOM_MESH = 7


class mjtEq(IntEnum):
    """Kinds of equality constraints."""

    mjEQ_CONNECT = 0
    mjEQ_WELD = 1
    mjEQ_JOINT = 2
    mjEQ_TENDON = 3


class mjtObj(IntEnum):
    """Kinds of things that have names."""

    mjOBJ_BODY = 1
    mjOBJ_JOINT = 3
    mjOBJ_GEOM = 5
    mjOBJ_SITE = 6
    mjOBJ_MESH = 9
    mjOBJ_PAIR = 15
    mjOBJ_EQUALITY = 17


class mjtWrap(IntEnum):
    """What a tendon goes by."""

    mjWRAP_JOINT = 1
    mjWRAP_SITE = 3


class mjtBias(IntEnum):
    """Whether an actuator acts by itself."""

    mjBIAS_NONE = 0
    mjBIAS_AFFINE = 1


class mjtDisableBit(IntEnum):
    """What a file can switch off."""

    mjDSBL_CONSTRAINT = 1
    mjDSBL_EQUALITY = 2
    mjDSBL_FRICTIONLOSS = 4
    mjDSBL_LIMIT = 8
    mjDSBL_CONTACT = 16
    mjDSBL_SPRING = 32
    mjDSBL_DAMPER = 64
    mjDSBL_GRAVITY = 128
    mjDSBL_FILTERPARENT = 256


@dataclass
class CompiledOptions:
    """``mjOption``, as far as it is read."""

    gravity: Any = (0.0, 0.0, -9.81)
    wind: Any = (0.0, 0.0, 0.0)
    density: float = 0.0
    viscosity: float = 0.0
    disableflags: int = 0


@dataclass
class CompiledMjcf:
    """A model with MuJoCo's fields, as many as the reader looks at.

    Args:
        names: of the things of each kind, in order; empty for those without one.
        fields: arrays by MuJoCo's names, and counts.
    """

    opt: CompiledOptions
    names: dict[int, list[str]]
    fields: dict[str, Any] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["fields"][name]
        except KeyError:
            raise AttributeError(name) from None


def mj_id2name(model: CompiledMjcf, kind: int, number: int) -> str:
    """The name of a thing, or nothing.

    Args:
        kind: of :class:`mjtObj`.
        number: among the things of its kind.
    """
    return model.names[kind][number]


WIDTHS = {
    "body_pos": 3, "body_quat": 4, "body_ipos": 3, "body_iquat": 4, "body_inertia": 3, "jnt_pos": 3, "jnt_axis": 3,
    "jnt_range": 2, "jnt_actfrcrange": 2, "jnt_stiffnesspoly": 2, "dof_dampingpoly": 2, "geom_size": 3, "geom_pos": 3,
    "geom_quat": 4, "geom_friction": 3, "geom_solref": 2, "geom_solimp": 5, "geom_rgba": 4, "site_pos": 3,
    "site_quat": 4, "pair_friction": 5, "pair_solref": 2, "pair_solimp": 5, "eq_data": 11, "mesh_vert": 3,
    "hfield_size": 4,
}  # fmt: skip
"""Columns of the tables; everything else is a list of numbers."""

WHOLE = ("id", "adr", "num", "type", "nrow", "ncol", "contype", "conaffinity", "condim", "priority", "limited", "obj",
         "signature", "geom1", "geom2", "dim")  # fmt: skip
"""How names of fields with whole numbers end."""


def table(name: str, rows: list[Any]) -> np.ndarray:
    """Rows as the array that MuJoCo would have.

    Args:
        name: MuJoCo's, which decides on columns and kind of number.
    """
    kind = int if name.endswith(WHOLE) else float
    width = WIDTHS.get(name)
    return np.array(rows, dtype=kind).reshape((len(rows), width) if width else len(rows))
