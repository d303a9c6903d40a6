"""Chains and trees from Denavit-Hartenberg tables, modified (proximal, Craig, the THESIS) or standard (distal).

Both conventions describe link i by ``alpha, a`` along and about an x axis and ``theta, d`` about and along the joint
axis z. Of a revolute joint the angle is ``theta + q``, of a prismatic one the offset is ``d + q``.

*Modified*: ``T_i = Rot(x,alpha) Trans(x,a) Rot(z,theta) Trans(z,d)`` (2.3.1). Frame i sits on joint i, so it is the
body frame of link i.

*Standard*: ``T_i = Rot(z,theta) Trans(z,d) Trans(x,a) Rot(x,alpha)``. Frame i sits at the far end of link i, away from
its joint; but a body frame of :class:`~dalembert.model.Joint` lies on the joint that carries it. So the body frame of
link i is the DH frame i before ``Trans(x,a) Rot(x,alpha)``; inertias, which are given in the DH frame, are moved into
it; and the DH frame itself is there as the extra frame ``<link>_dh``, so that published results in it can be compared.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.algebra import scalar
from dalembert.algebra.arguments import unrolled
from dalembert.algebra.arrays import Array
from dalembert.algebra.transform import Transform
from dalembert.errors import DalembertError, FormatError, ModelWarning
from dalembert.model.body import WORLD, Body, Frame
from dalembert.model.checks import expect, expect_items, shown
from dalembert.model.inertia import Inertia
from dalembert.model.joint import Joint, Limits
from dalembert.model.mechanism import Mechanism
from dalembert.model.record import check_scalar, exact_number
from dalembert.text.suggest import check_keys

JOINTS = {
    "R": "revolute",
    "P": "prismatic",
    "revolute": "revolute",
    "prismatic": "prismatic",
    "continuous": "continuous",
}
GEOMETRY = ("alpha", "a", "theta", "d")
KEYS = (
    *GEOMETRY, "joint", "offset", "name", "joint_name", "mass", "center", "inertia", "limits", "damping", "friction",
    "armature", "parent", "gamma", "b",
)  # fmt: skip


def from_dh(
    table: Sequence[Any],
    convention: str = "modified",
    *,
    name: str = "chain",
    base: Transform | None = None,
    tool: Transform | None = None,
    gravity: Any = (0, 0, -9.81),
    notes: Sequence[str] = (),
    strict: bool = True,
) -> Mechanism:
    """A chain or tree from a Denavit-Hartenberg table; every number may be a SymPy expression.

    A row is a sequence ``(alpha, a, theta, d)`` or ``(alpha, a, theta, d, "R" or "P")``, in this order for both
    conventions, or a mapping with any of the keys

    - ``alpha``, ``a``, ``theta``, ``d``: radians and metres, default 0; the one that the joint varies is its value at
      q = 0, which may also be called ``offset``;
    - ``joint``: ``"R"`` (default) or ``"P"``;
    - ``name`` of the link (``link1``, ...) and ``joint_name`` (``joint1``, ...);
    - ``mass``, ``center`` (centre of mass in the DH frame of the link) and ``inertia`` (tensor about the centre of mass
      in DH axes; 3 x 3, or xx, yy, zz, or xx, yy, zz, xy, xz, yz), default 0;
    - ``limits`` (a :class:`~dalembert.model.Limits`), ``damping``, ``friction``, ``armature``: data of the joint;
    - ``parent``: name of the link, of an earlier row, that carries this one, or ``"world"``; by default that of the row
      before. A link that carries several joints has its x axis along the common normal to one of them; the others are
      reached by ``gamma``, ``b`` (Khalil and Kleinfinger 1986): ``Rot(z,gamma) Trans(z,b)`` before the row itself.

    In the modified convention the frame of body i is DH frame i. In the standard convention a body's frame lies on its
    joint axis, before ``Trans(x, a) Rot(x, alpha)``; DH frame i itself is the extra frame named after the link with
    ``_dh`` behind it, ``link1_dh``: ask for that one to get published poses and Jacobians.

    Args:
        table: the rows, from the base outwards; an array or a SymPy matrix will do.
        convention: ``"modified"`` or ``"standard"``.
        name: of the mechanism.
        base: DH frame 0 in the world; default identity.
        tool: tool frame in the DH frame of the last row; becomes the frame ``tool``.
        gravity: acceleration of free fall in world axes, m/s^2.
        notes: printed with the mechanism.
        strict: refuse inertias that no real body can have.
    """
    if not isinstance(convention, str) or convention not in ("modified", "standard"):
        raise FormatError(f"the DH convention is 'modified' or 'standard', not {shown(convention)}")
    if hasattr(table, "tolist"):  # an array or a SymPy matrix
        table = table.tolist()
    if isinstance(table, (str, bytes, Mapping)) or not isinstance(table, Iterable):
        raise FormatError(f"a DH table is a sequence of rows, got {shown(table)}")
    for what, pose in (("base", base), ("tool", tool)):
        if pose is not None:
            expect(pose, Transform, f"from_dh, {what}")
    bodies, joints, frames = [], [], []
    carrier, last = WORLD, base or Transform.identity()  # DH frame i-1 in the body that carries it
    ends = {WORLD: last}  # the DH frame of every link in its body
    for index, entry in enumerate(table, start=1):
        row = _row(entry, index)
        where = f"row {index} of the DH table"
        try:
            alpha, a, theta, d = (check_scalar(exact_number(row.get(key, 0)), key) for key in GEOMETRY)
            _doubt_degrees(where, alpha=alpha, theta=theta)
            body = str(row.get("name", f"link{index}"))
            if "parent" in row:
                if row["parent"] not in ends:
                    known = ", ".join(ends)
                    raise FormatError(f"parent = {shown(row['parent'])} is none of the links before: {known}")
                carrier, last = row["parent"], ends[row["parent"]]
            gamma, b = (check_scalar(exact_number(row.get(key, 0)), key) for key in ("gamma", "b"))
            _doubt_degrees(where, gamma=gamma)
            if not (scalar.is_zero(gamma) and scalar.is_zero(b)):
                last = last @ Transform.standard_dh(gamma, b, 0, 0)
            matter = Inertia(
                row.get("mass", 0), row.get("center", np.zeros(3)), symmetric_tensor(row.get("inertia", 0))
            )
            if convention == "modified":
                placement, distal = Transform.modified_dh(alpha, a, theta, d), Transform.identity()
            else:
                placement, distal = Transform.standard_dh(theta, d, 0, 0), Transform.standard_dh(0, 0, a, alpha)
                matter = matter.moved(distal.rotation, distal.translation)
                frames.append(Frame(f"{body}_dh", body, tidy(distal)))
            data = {key: row[key] for key in ("damping", "friction", "armature") if key in row}
            joint = Joint(
                str(row.get("joint_name", f"joint{index}")), row["joint"], carrier, body,
                placement=tidy(last @ placement), limits=row.get("limits", Limits()), **data,
            )  # fmt: skip
        except DalembertError as error:
            raise FormatError(f"{where}: {error}") from error
        bodies.append(Body(body, matter))
        joints.append(joint)
        carrier, last = body, distal
        ends[body] = distal
    if tool is not None:
        frames.append(Frame("tool", carrier, tidy(last @ tool)))
    return Mechanism(
        name,
        tuple(bodies),
        tuple(joints),
        tuple(frames),
        gravity=gravity,
        notes=expect_items(notes, str, "from_dh, notes"),
        strict=strict,
    )


def _doubt_degrees(where: str, **angles: Any) -> None:
    for name, angle in angles.items():
        if scalar.is_number(angle) and abs(angle) > 2 * math.pi:
            warnings.warn(
                f"{where}: {name} = {angle:g} is more than a turn; angles are in radians, math.radians({angle:g}) "
                "converts degrees",
                ModelWarning,
                stacklevel=4,
            )


def _row(entry: Any, index: int) -> dict[str, Any]:
    """A row as a mapping, with the joint's kind spelled out and the offset merged in."""
    where = f"row {index} of the DH table"
    if isinstance(entry, Mapping):
        row = dict(entry)
        check_keys(row, KEYS, where)
    elif isinstance(entry, (Sequence, np.ndarray)) and not isinstance(entry, (str, bytes)) and len(entry) in (4, 5):
        row = dict(zip((*GEOMETRY, "joint"), entry))
    else:
        raise FormatError(f"{where}: expected alpha, a, theta, d and perhaps 'R' or 'P', or a table; got {entry!r}")
    kind = row.get("joint", "R")
    if not isinstance(kind, str) or kind not in JOINTS:
        raise FormatError(f"{where}: the joint is 'R' (revolute) or 'P' (prismatic), not {kind!r}")
    row["joint"] = JOINTS[kind]
    varied = "d" if row["joint"] == "prismatic" else "theta"
    if "offset" in row:
        if not scalar.is_zero(row.get(varied, 0)):
            raise FormatError(f"{where}: {varied} and offset both give the position at q = 0; keep one of them")
        row[varied] = row.pop("offset")
    return row


def symmetric_tensor(value: Any) -> Any:
    """A 3 x 3 tensor from itself, from its diagonal, or from xx, yy, zz, xy, xz, yz (tensor entries); 0 means zero."""
    if scalar.is_number(value) and value == 0:
        return np.zeros((3, 3))
    if hasattr(value, "tolist"):  # an array or a SymPy matrix
        value = unrolled(value)
        value = value if isinstance(value, list) else value.tolist()
    entries = list(value) if isinstance(value, Sequence) and not isinstance(value, str) else []
    if len(entries) == 3 and all(isinstance(x, (Sequence, np.ndarray)) and not isinstance(x, str) for x in entries):
        return value
    if len(entries) not in (3, 6):
        raise FormatError(f"an inertia is a 3 x 3 matrix, or xx, yy, zz, or xx, yy, zz, xy, xz, yz; got {value!r}")
    xx, yy, zz, xy, xz, yz = (*entries, 0, 0, 0)[:6]
    return [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]


def tidy(pose: Transform) -> Transform:
    """The same pose, with float arrays where all entries are numbers, however they were written.

    Args:
        pose: a pose; exact integers such as SymPy's count as numbers.
    """
    return Transform(_numeric(pose.rotation), _numeric(pose.translation))


def _numeric(a: Array) -> Array:
    if a.dtype != object:
        return a
    entries = [exact_number(x) for x in a.flat]
    if all(scalar.is_number(x) for x in entries):
        return np.array(entries, dtype=float).reshape(a.shape)
    out = np.empty(len(entries), dtype=object)
    out[:] = entries
    return out.reshape(a.shape)
