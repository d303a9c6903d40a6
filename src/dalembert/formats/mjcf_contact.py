"""Geoms of MJCF that touch: the surfaces that they have, and the pairs that MuJoCo would make of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.algebra.transform import Transform
from dalembert.formats.hulls import hull_of_points
from dalembert.model.body import Shape, Surface
from dalembert.model.contact import Contact
from dalembert.model.ground import LARGEST_GRID, Ground
from dalembert.model.surface import combined, numbers_of
from dalembert.text.layout import counted

Notes = list[str]

POINTED = ("sphere", "capsule", "box")
"""Kinds of shapes of two bodies that can touch each other."""


@dataclass
class Geoms:
    """The geoms of a compiled MuJoCo model as shapes.

    Args:
        pose: of position and quaternion.
    """

    mujoco: Any
    model: Any
    pose: Callable[[Any, Any], Transform]

    def of_body(self, body: int) -> list[int]:
        """The geoms of a body that can touch something."""
        model = self.model
        first = model.body_geomadr[body]
        named = {int(geom) for ends in (model.pair_geom1, model.pair_geom2) for geom in ends}
        geoms = range(first, first + model.body_geomnum[body])
        return [k for k in geoms if model.geom_contype[k] or model.geom_conaffinity[k] or k in named]

    def name(self, geom: int) -> str:
        """As the file calls it, or empty."""
        return self.mujoco.mj_id2name(self.model, self.mujoco.mjtObj.mjOBJ_GEOM, geom) or ""

    def shape(self, geom: int) -> Shape | None:
        """The shape of a geom in its body's frame, with what the file says of its surface; None for grounds."""
        model, kinds = self.model, self.mujoco.mjtGeom
        x, y, z = (float(s) for s in model.geom_size[geom])
        kind, size = {
            kinds.mjGEOM_BOX: ("box", (2 * x, 2 * y, 2 * z)),
            kinds.mjGEOM_SPHERE: ("sphere", (x,)),
            kinds.mjGEOM_CYLINDER: ("cylinder", (x, 2 * y)),
            kinds.mjGEOM_CAPSULE: ("capsule", (x, 2 * y)),
            kinds.mjGEOM_ELLIPSOID: ("ellipsoid", (x, y, z)),
            kinds.mjGEOM_MESH: ("mesh", (1.0, 1.0, 1.0)),
        }.get(kinds(model.geom_type[geom]), ("", ()))
        if not kind:
            return None
        more: dict[str, Any] = self._mesh(geom) if kind == "mesh" else {}
        at = self.pose(model.geom_pos[geom], model.geom_quat[geom])
        return Shape(kind, size, at, name=self.name(geom), surface=self.surface(geom), **more)

    def _mesh(self, geom: int) -> dict[str, Any]:
        model, mesh = self.model, int(self.model.geom_dataid[geom])
        first, count = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]
        hull = hull_of_points(np.array(model.mesh_vert[first : first + count], dtype=float))
        name = self.mujoco.mj_id2name(model, self.mujoco.mjtObj.mjOBJ_MESH, mesh) or f"mesh{mesh}"
        return {"mesh": name, "vertices": tuple(map(tuple, hull.vertices.tolist()))}

    def ground(self, geom: int) -> Ground | None:
        """The ground that a plane or a height field is, in its body's frame."""
        model, kinds = self.model, self.mujoco.mjtGeom
        at = self.pose(model.geom_pos[geom], model.geom_quat[geom])
        kind = kinds(model.geom_type[geom])
        if kind == kinds.mjGEOM_PLANE:
            return Ground.plane().replace(placement=at)
        if kind != kinds.mjGEOM_HFIELD:
            return None
        field = int(model.geom_dataid[geom])
        rows, columns = int(model.hfield_nrow[field]), int(model.hfield_ncol[field])
        if rows * columns > LARGEST_GRID or min(rows, columns) < 2:
            return None
        x, y, top, _ = (float(s) for s in model.hfield_size[field])
        first = model.hfield_adr[field]
        heights = top * np.array(model.hfield_data[first : first + rows * columns], dtype=float).reshape(rows, columns)
        spacing = (2 * x / (columns - 1), 2 * y / (rows - 1))
        return Ground.height_field(heights.T, spacing, (-x, -y)).replace(placement=at)

    def surface(self, geom: int) -> Surface:
        """What the file says of the contacts of a geom."""
        model = self.model
        slide, turn, roll = (float(x) for x in model.geom_friction[geom])
        return Surface(
            friction=slide,
            torsional=turn,
            rolling=roll,
            solref=tuple(float(x) for x in model.geom_solref[geom]),
            solimp=tuple(float(x) for x in model.geom_solimp[geom]),
            contype=int(model.geom_contype[geom]),
            conaffinity=int(model.geom_conaffinity[geom]),
            priority=int(model.geom_priority[geom]),
            mixing=float(model.geom_solmix[geom]),
            dimensions=int(model.geom_condim[geom]),
        )


def collisions(geoms: Geoms, body: int) -> tuple[Shape, ...]:
    """The shapes of a body that can touch.

    Args:
        body: its number in the model.
    """
    return tuple(shape for shape in map(geoms.shape, geoms.of_body(body)) if shape is not None)


# --------------------------------------------------------------------------------------------------------------- pairs


def contacts(geoms: Geoms, bodies: list[str]) -> tuple[tuple[Contact, ...], Notes]:
    """The pairs of geoms that MuJoCo would let touch, as contacts; and notes on those that have no place here.

    Explicit pairs come first; then all others whose bits agree, but for excluded bodies, bodies that are one, and
    parents with their children (unless the parent is the world or the file says otherwise).

    Args:
        bodies: names of the mechanism's bodies, by their numbers in the model.
    """
    maker = _Maker(geoms, bodies)
    mujoco, model = geoms.mujoco, geoms.model
    if model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_CONTACT:
        return (), ["the file switches contacts off"]
    for k in range(model.npair):
        maker.explicit(k)
    for one, two in maker.dynamic():
        maker.add(one, two, combined(geoms.surface(one), geoms.surface(two)))
    return tuple(maker.found), maker.notes()


class _Maker:
    def __init__(self, geoms: Geoms, bodies: list[str]):
        self.geoms, self.bodies = geoms, bodies
        self.found: list[Contact] = []
        self.unsupported: list[str] = []
        self.margins = 0
        self.names: set[str] = set()

    def explicit(self, k: int) -> None:
        """An explicit pair, which has its own numbers."""
        model, mujoco = self.geoms.model, self.geoms.mujoco
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_PAIR, k) or ""
        slide, across, turn, roll, _ = (float(x) for x in model.pair_friction[k])
        surface = Surface(
            slide,
            turn,
            roll,
            tuple(map(float, model.pair_solref[k])),
            tuple(map(float, model.pair_solimp[k])),
            dimensions=int(model.pair_dim[k]),
        )
        self.margins += bool(model.pair_margin[k] or model.pair_gap[k])
        one, two = int(model.pair_geom1[k]), int(model.pair_geom2[k])
        if slide != across:
            self.unsupported.append(
                f"friction {across:g} across of pair {name or k}: {slide:g} holds in all directions"
            )
        self.add(one, two, surface, name)

    def dynamic(self) -> Iterator[tuple[int, int]]:
        """Pairs by the rules of bits, parents and exclusions."""
        model, mujoco = self.geoms.model, self.geoms.mujoco
        weld, parent = model.body_weldid, model.body_parentid
        filters = not model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_FILTERPARENT
        excluded = {frozenset((int(s) >> 16, int(s) & 0xFFFF)) for s in model.exclude_signature}
        named = {frozenset((int(a), int(b))) for a, b in zip(model.pair_geom1, model.pair_geom2)}
        for one in range(model.ngeom):
            for two in range(one + 1, model.ngeom):
                a, b = int(model.geom_bodyid[one]), int(model.geom_bodyid[two])
                root_a, root_b = int(weld[a]), int(weld[b])
                bits = (
                    model.geom_contype[one] & model.geom_conaffinity[two]
                    or model.geom_contype[two] & model.geom_conaffinity[one]
                )
                above = {int(weld[parent[root_a]]), int(weld[parent[root_b]])} if root_a and root_b else set()
                related = int(weld[parent[root_a]]) == root_b or int(weld[parent[root_b]]) == root_a
                if (
                    bits
                    and root_a != root_b
                    and not (filters and above and related)
                    and frozenset((a, b)) not in excluded
                    and frozenset((one, two)) not in named
                ):
                    yield one, two

    def add(self, one: int, two: int, surface: Surface, name: str = "") -> None:
        """A contact of two geoms, unless no law knows where these touch."""
        geoms, model = self.geoms, self.geoms.model
        if geoms.ground(one) is not None or model.geom_bodyid[one] == 0:
            one, two = two, one  # the moving one first
        shape, other = geoms.shape(one), geoms.ground(two) or geoms.shape(two)
        a, b = (self.bodies[model.geom_bodyid[geom]] for geom in (one, two))
        labels = [geoms.name(geom) or f"geom{geom}" for geom in (one, two)]
        if shape is None or other is None or (isinstance(other, Shape) and {shape.kind, other.kind} - {*POINTED}):
            self.unsupported.append(f"{labels[0]!r} of {a!r} with {labels[1]!r} of {b!r}")
            return
        self.margins += bool(np.any(model.geom_margin[[one, two]]) or np.any(model.geom_gap[[one, two]]))
        name = name or f"{labels[0]}/{labels[1]}"
        while name in self.names:
            name += "_"
        self.names.add(name)
        self.found.append(
            Contact(
                name,
                a,
                b,
                shape,
                other,
                **numbers_of(surface),
            )
        )

    def notes(self) -> Notes:
        """On what was left out or differs."""
        notes = []
        if self.unsupported:
            more = f" and {len(self.unsupported) - 3} more" if len(self.unsupported) > 3 else ""
            notes.append(f"contacts without a law here, left out: {', '.join(self.unsupported[:3])}{more}")
        if self.margins:
            notes.append(
                f"margin and gap of {counted(self.margins, 'contact')} not taken over: it begins at distance 0"
            )
        return notes
