"""MJCF as MuJoCo's compiler makes a model of it, for what robots are made of, without the ``mujoco`` package.

Classes, frames, angles in degrees, orientations in five ways, masses from densities, limits that are implied by their
ranges, anchors of constraints that hold where the file places the bodies. What it does not know it refuses by
:class:`~dalembert.formats.mjcf_source.Beyond`: it never guesses.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.algebra.transform import Transform
from dalembert.formats.mesh_files import read_mesh
from dalembert.formats.mjcf_geoms import (
    geom_inertia,
    mesh_inertia,
    moved_together,
    orientation,
    placed,
    scalar_first,
    sizes,
)
from dalembert.formats.mjcf_known import check
from dalembert.formats.mjcf_numbers import CompiledMjcf, CompiledOptions, mjtBias, mjtEq, mjtObj, mjtWrap, table
from dalembert.formats.mjcf_numbers import mjtDisableBit as Bits
from dalembert.formats.mjcf_source import Beyond, Defaults, Described, floats, inside
from dalembert.formats.xml import Element
from dalembert.text.suggest import hint

SOLREF, SOLIMP = (0.02, 1.0), (0.9, 0.95, 0.001, 0.5, 2.0)
"""Softness of contacts of which the file says nothing."""

TINY = 1e-15
"""Masses from here on are none (``mjMINVAL``)."""

LARGEST = 1e100
"""Moments of inertia beyond this are a mistake of the file, kg m^2."""

Waiting = tuple[Element, int, str, Transform]
"""A body to be read: the number of its parent, the class of what names none, the frame that it is placed in."""

JOINTS = ("free", "ball", "slide", "hinge")
GEOMS = ("plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh")

COLUMNS = {
    "body": "parentid pos quat ipos iquat mass inertia weldid jntadr jntnum geomadr geomnum gravcomp",
    "jnt": "type bodyid pos axis limited range stiffness qposadr dofadr actfrclimited actfrcrange springyield "
    "stiffnesspoly",
    "dof": "damping frictionloss armature dampingpoly",
    "geom": "type bodyid size pos quat friction contype conaffinity condim priority solref solimp solmix margin gap "
    "rgba dataid",
    "site": "bodyid pos quat",
    "pair": "geom1 geom2 dim friction solref solimp margin gap",
    "eq": "type objtype obj1id obj2id data active0",
    "tendon": "adr num length0 stiffness damping",
    "wrap": "type objid prm",
    "mesh": "vertadr vertnum",
    "hfield": "nrow ncol size adr",
}

KINDS = {"body": "body", "jnt": "joint", "geom": "geom", "site": "site", "pair": "pair", "eq": "equality",
         "mesh": "mesh"}  # fmt: skip
"""Tables whose rows have names, and what MuJoCo calls these."""


def compile_mjcf(root: Element, folder: Path | None) -> CompiledMjcf:
    """The model of a file.

    Args:
        root: the element ``<mujoco>``, with its includes in place.
        folder: of the file; None for a text.
    """
    check(root)
    return _Compiler(root, folder).model()


class _Compiler:
    def __init__(self, root: Element, folder: Path | None):
        self.root, self.folder = root, folder
        self.settings = Described([*root.all("compiler"), Element("compiler", {}, root.line, root.file)])
        self.defaults = Defaults(root)
        self.rows: dict[str, list[dict[str, Any]]] = {name: [] for name in COLUMNS}
        self.names: dict[str, list[str]] = {name: [] for name in (*COLUMNS, "tendon")}
        self.degrees = self.settings.choice("angle", ("degree", "radian"), "degree") == "degree"
        self.sequence = self.settings.text("eulerseq", "xyz")
        self.autolimits = self.settings.flag("autolimits", True)
        self.from_geoms = self.settings.choice("inertiafromgeom", ("true", "false", "auto"), "auto")
        self.groups = self.settings.vector("inertiagrouprange", (0.0, 5.0))
        self.qpos0: list[float] = []
        self.qpos_spring: list[float] = []
        self.world: list[Transform] = []
        self.meshes: dict[str, Described] = {}
        self.vertices: list[np.ndarray] = []
        self.elevations: list[np.ndarray] = []
        self.mocaps = 0
        pairs = [pair for pair in inside(root, "contact") if pair.tag == "pair"]
        self.paired = {pair.attributes.get(end) for pair in pairs for end in ("geom1", "geom2")} - {None, ""}
        if len(self.sequence) != 3 or not set(self.sequence.lower()) <= set("xyz"):
            raise self.settings.error(f"eulerseq={self.sequence!r} must be three of x, y, z, X, Y, Z")
        if self.settings.text("coordinate", "local") != "local":
            raise self.settings.where("coordinate").error(
                "coordinate='global' is a thing of the past; MuJoCo dropped it"
            )
        if self.settings.flag("alignfree"):
            raise Beyond(self.settings.where("alignfree"), "alignfree=")

    def model(self) -> CompiledMjcf:
        """Everything, in the order in which the parts need each other."""
        self._assets()
        self._bodies()
        self._masses()
        self._tendons()
        self._equalities()
        self._contact()
        return self._compiled()

    # ----------------------------------------------------------------------------------------------------- bookkeeping

    def _add(self, kind: str, name: str, asking: Element, **values: Any) -> int:
        if name and name in self.names[kind]:
            raise asking.error(f"there are two things called {name!r} among the {KINDS.get(kind, kind)}s")
        self.names[kind].append(name)
        self.rows[kind].append(values)
        return len(self.rows[kind]) - 1

    def _find(self, kind: str, name: str, asking: Element) -> int:
        if name not in self.names[kind] or not name:
            what = {"jnt": "joint", "eq": "equality"}.get(kind, kind)
            raise asking.error(f"there is no {what} {name!r}{hint(name, [n for n in self.names[kind] if n])}")
        return self.names[kind].index(name)

    def _angle(self, value: float) -> float:
        return math.radians(value) if self.degrees else value

    def _turn(self, part: Described) -> np.ndarray:
        return orientation(part, self.degrees, self.sequence)

    # ---------------------------------------------------------------------------------------------------------- assets

    def _assets(self) -> None:
        for element in inside(self.root, "asset"):
            part = self.defaults.part(element, "main")
            if element.tag == "mesh":
                name = part.name or Path(part.text("file")).stem
                file = part.text("file")
                if file and Path(file).suffix.lower() not in (".stl", ".obj", ".msh"):
                    raise part.error(f"{file!r} is no mesh: files of meshes are .stl, .obj or .msh")
                if not name or name in self.meshes:
                    raise part.error("a mesh needs a name of its own")
                self.meshes[name] = part
            elif element.tag == "hfield":
                self._field(part)

    def _field(self, part: Described) -> None:
        rows, columns = part.whole("nrow", 0), part.whole("ncol", 0)
        if "elevation" not in part.element.attributes:
            raise Beyond(part.element, "<hfield> without elevation=")
        heights = np.array(floats(part.element, "elevation"))
        if rows < 1 or columns < 1 or len(heights) != rows * columns:
            raise part.error(f"elevation needs nrow * ncol = {rows * columns} numbers, not {len(heights)}")
        heights = heights.reshape(rows, columns)[::-1].ravel()  # the first row of the file is the farthest one
        span = heights.max() - heights.min()
        heights = (heights - heights.min()) / (span if span > 0 else 1.0)
        start = sum(map(len, self.elevations))
        self.elevations.append(heights)
        size = part.vector("size", (0.0, 0.0, 0.0, 0.0))
        self._add("hfield", part.name, part.element, nrow=rows, ncol=columns, size=size, adr=start)

    def _mesh(self, part: Described) -> int:
        """The number of the mesh of a geom that touches; its points are those of the model."""
        mesh = self._mesh_of(part)
        name = part.text("mesh")
        if name in self.names["mesh"]:
            return self.names["mesh"].index(name)
        points = self._triangles(mesh)[0]
        start = sum(map(len, self.vertices))
        self.vertices.append(points)
        return self._add("mesh", name, mesh.element, vertadr=start, vertnum=len(points))

    def _mesh_of(self, part: Described) -> Described:
        name = part.text("mesh")
        if name not in self.meshes:
            raise part.error(f"there is no mesh {name!r}{hint(name, self.meshes)}")
        return self.meshes[name]

    def _triangles(self, mesh: Described) -> tuple[np.ndarray, np.ndarray]:
        """Points of a mesh in the frame of its geoms, and triangles of them."""
        if mesh.text("file"):
            points, triangles = self._mesh_file(mesh)
        else:
            given = floats(mesh.element, "vertex") if "vertex" in mesh.element.attributes else []
            if len(given) < 12 or len(given) % 3:
                raise mesh.error("a mesh needs a file, or at least four vertices of three coordinates")
            points = np.array(given).reshape(-1, 3)
            faces = floats(mesh.element, "face") if "face" in mesh.element.attributes else []
            triangles = np.array(faces, dtype=int).reshape(-1, 3) if len(faces) % 3 == 0 else np.zeros((0, 3), int)
            if len(faces) % 3 or (faces and not 0 <= triangles.min() <= triangles.max() < len(points)):
                raise mesh.error("face needs three numbers of vertices for each triangle")
        turn = np.array(mesh.vector("refquat", (1.0, 0.0, 0.0, 0.0)))
        points = (points - mesh.vector("refpos")) @ placed(np.zeros(3), turn).rotation
        points = points * mesh.vector("scale", (1.0, 1.0, 1.0))
        return points, triangles if len(triangles) else self._hull(mesh, points)

    @staticmethod
    def _hull(mesh: Described, points: np.ndarray) -> np.ndarray:
        """The triangles of the convex hull, all seen from outside in the same turn."""
        from scipy.spatial import ConvexHull, QhullError

        try:
            hull = ConvexHull(points)
        except QhullError as error:
            raise mesh.error("the points lie in one plane; a hull needs four that do not") from error
        corners = points[hull.simplices]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        inward = np.einsum("ij,ij->i", normals, hull.equations[:, :3]) < 0
        return np.where(inward[:, None], hull.simplices[:, ::-1], hull.simplices)

    def _mesh_file(self, mesh: Described) -> tuple[np.ndarray, np.ndarray]:
        file = mesh.text("file")
        if file.lower().endswith(".msh"):
            raise Beyond(mesh.element, f"the mesh {file!r}")
        if self.folder is None:
            raise mesh.error(f"the mesh {file!r}: a text has no folder to look in; read the model by its path")
        if self.settings.flag("strippath"):
            file = Path(file).name
        folder = self.settings.text("meshdir") or self.settings.text("assetdir")
        path = self.folder / folder / file
        if not path.is_file():
            raise mesh.error(f"the mesh {file!r} has to be read, for it touches or has mass, and there is no {path}")
        points, triangles, count = [], [], 0
        for piece in read_mesh(path):
            used, numbers = np.unique(piece.triangles, return_inverse=True)
            points.append(piece.vertices[used])
            triangles.append(numbers.reshape(-1, 3) + count)
            count += len(used)
        return np.concatenate(points), np.concatenate(triangles)

    def _mesh_mass(self, part: Described) -> tuple[float, np.ndarray, np.ndarray]:
        """Volume, centre of mass and tensor per density of the mesh of a geom."""
        mesh = self._mesh_of(part)
        mode = mesh.choice("inertia", ("legacy", "exact", "convex", "shell"), "legacy")
        if mode == "shell":
            raise Beyond(mesh.element, "inertia='shell' of <mesh>")
        points, triangles = self._triangles(mesh)
        if mode == "convex":
            triangles = self._hull(mesh, points)
        volume, centre, tensor = mesh_inertia(points, triangles, mode)
        if not volume > TINY:
            raise mesh.error("the mesh encloses no volume, so that no mass follows from it; give an <inertial>")
        return volume, centre, tensor

    # ---------------------------------------------------------------------------------------------------------- bodies

    def _bodies(self) -> None:
        """The world and all bodies, parents first, in the order of the file."""
        whole = Element("worldbody", {}, self.root.line, self.root.file, list(inside(self.root, "worldbody")))
        waiting = [(whole, -1, "main", placed(np.zeros(3)))]
        while waiting:
            waiting += reversed(self._body(*waiting.pop()))

    def _body(self, element: Element, parent: int, childclass: str, frame: Transform) -> list[Waiting]:
        """A body and what it has; returns the bodies inside.

        Args:
            parent: its number, -1 for none.
            frame: in which the body is placed, in the parent.
        """
        part = Described([element])
        place = frame @ placed(np.array(part.vector("pos")), self._turn(part))
        name = "world" if parent < 0 else part.name
        body = self._add(
            "body", name, element, parentid=max(parent, 0), pos=place.translation, quat=scalar_first(place.rotation),
            gravcomp=part.number("gravcomp"), jntadr=-1, jntnum=0, geomadr=-1, geomnum=0, element=element, found=[],
        )  # fmt: skip
        self.mocaps += part.flag("mocap")
        self.world.append(place if parent < 0 else self.world[parent] @ place)
        below = self._inside(body, element, part.text("childclass") or childclass)
        row = self.rows["body"][body]
        moves = row["jntnum"] or part.flag("mocap")
        row["weldid"] = body if moves or parent < 0 else self.rows["body"][parent]["weldid"]
        return below

    def _inside(self, body: int, element: Element, childclass: str) -> list[Waiting]:
        """The elements of a body, through its frames; returns the bodies among them."""
        below: list[Waiting] = []
        waiting = [(child, childclass, placed(np.zeros(3))) for child in reversed(element.children)]
        while waiting:
            child, its_class, frame = waiting.pop()
            part = (
                self.defaults.part(child, its_class) if child.tag in ("joint", "geom", "site") else Described([child])
            )
            match child.tag:
                case "body":
                    below.append((child, body, its_class, frame))
                case "frame":
                    inner = frame @ placed(np.array(part.vector("pos")), self._turn(part))
                    its_class = part.text("childclass") or its_class
                    waiting += [(one, its_class, inner) for one in reversed(child.children)]
                case "joint":
                    self._joint(body, part, part.choice("type", JOINTS, "hinge"))
                case "freejoint":
                    if part.text("align", "auto") == "true":
                        raise Beyond(child, "align=")
                    self._joint(body, part, "free")
                case "geom":
                    self._geom(body, part, frame)
                case "site":
                    place = frame @ placed(*self._place(part))
                    at, turn = place.translation, scalar_first(place.rotation)
                    self._add("site", part.name, child, bodyid=body, pos=at, quat=turn)
                case "inertial":
                    self._inertial(body, part)
        return below

    def _place(self, part: Described) -> tuple[np.ndarray, np.ndarray]:
        """Position and orientation of a geom or a site, perhaps from its two ends."""
        if "fromto" in part:
            ends = np.array(part.vector("fromto", (0.0,) * 6)).reshape(2, 3)
            along = ends[0] - ends[1]
            if np.linalg.norm(along) < 1e-14:
                raise part.error("fromto: the two ends are the same point")
            return ends.mean(axis=0), orientation(part, self.degrees, self.sequence, along)
        return np.array(part.vector("pos")), self._turn(part)

    def _joint(self, body: int, part: Described, kind: str) -> None:
        row, count = self.rows["body"][body], len(self.rows["jnt"])
        if body == 0:
            raise part.error("the world has no joints; put the joint into a body")
        if kind == "free" and row["parentid"]:
            raise part.error("a free joint is allowed only in a body of <worldbody>")
        if row["jntadr"] < 0:
            row["jntadr"] = count
        row["jntnum"] += 1
        turning = self._angle if kind in ("hinge", "ball") else float
        limits = tuple(turning(x) for x in part.vector("range", (0.0, 0.0)))
        forces = part.vector("actuatorfrcrange", (0.0, 0.0))
        stiffness, damping = (part.numbers(name, (0.0, 0.0, 0.0)) for name in ("stiffness", "damping"))
        axis = np.array(part.vector("axis", (0.0, 0.0, 1.0)))
        if kind in ("slide", "hinge") and np.linalg.norm(axis) < TINY:
            raise part.error("axis has no direction")
        hinged = kind in ("slide", "hinge")
        reference, rest = (turning(part.number(name)) if hinged else 0.0 for name in ("ref", "springref"))
        if hinged:
            begin = [reference]
        else:
            begin = [*row["pos"], *row["quat"]] if kind == "free" else [1.0, 0.0, 0.0, 0.0]
        size = {"free": 6, "ball": 3}.get(kind, 1)
        self._add(
            "jnt", part.name, part.element, type=JOINTS.index(kind), bodyid=body, pos=part.vector("pos"), axis=axis,
            limited=self._limited(part, "limited", "range", limits) and kind != "free", range=limits,
            stiffness=stiffness[0], stiffnesspoly=stiffness[1:], qposadr=len(self.qpos0), dofadr=len(self.rows["dof"]),
            actfrclimited=self._limited(part, "actuatorfrclimited", "actuatorfrcrange", forces), actfrcrange=forces,
            springyield=part.number("springyield"),
        )  # fmt: skip
        for _ in range(size):
            self._add(
                "dof", "", part.element, damping=damping[0], dampingpoly=damping[1:],
                frictionloss=part.number("frictionloss", 0.0, 0.0), armature=part.number("armature", 0.0, 0.0),
            )  # fmt: skip
        self.qpos0 += begin
        self.qpos_spring += [rest] if hinged else begin

    def _limited(self, part: Described, flag: str, name: str, limits: tuple[float, ...]) -> bool:
        word = part.choice(flag, ("true", "false", "auto"), "auto")
        if word == "auto" and not self.autolimits:
            if name in part:
                raise part.where(name).error(f"{name} without {flag}, and the file has autolimits='false'; say which")
            return False
        if word == "true" or (word == "auto" and limits[0] < limits[1]):
            turns = part.text("type") in ("ball", "free") or part.element.tag == "freejoint"
            if limits[0] >= limits[1] and not turns:
                raise part.error(f"{name}: {limits[0]:g} is not less than {limits[1]:g}")
            return True
        return False

    def _geom(self, body: int, part: Described, frame: Any) -> None:
        kind = part.choice("type", GEOMS + ("sdf",), "sphere")
        if kind == "sdf" or ("mesh" in part and kind != "mesh"):
            raise Beyond(part.element, f"a {kind} in the place of a mesh")
        touches = bool(part.whole("contype", 1) or part.whole("conaffinity", 1) or part.name in self.paired)
        data = -1
        if kind == "mesh" and touches:
            data = self._mesh(part)
        elif kind == "mesh":
            self._mesh_of(part)
        elif kind == "hfield":
            data = self._find("hfield", part.text("hfield"), part.element)
        size = sizes(part, kind)
        place = frame @ placed(*self._place(part))
        row = self.rows["body"][body]
        if row["geomadr"] < 0:
            row["geomadr"] = len(self.rows["geom"])
        row["geomnum"] += 1
        number = self._add(
            "geom", part.name, part.element, type=GEOMS.index(kind), bodyid=body, size=size, pos=place.translation,
            quat=scalar_first(place.rotation), friction=part.numbers("friction", (1.0, 0.005, 0.0001)),
            contype=part.whole("contype", 1), conaffinity=part.whole("conaffinity", 1), condim=part.whole("condim", 3),
            priority=part.whole("priority", 0, -(2**31)), solref=part.numbers("solref", SOLREF),
            solimp=part.numbers("solimp", SOLIMP), solmix=part.number("solmix", 1.0),
            margin=part.number("margin"), gap=part.number("gap"), rgba=part.numbers("rgba", (0.5, 0.5, 0.5, 1.0)),
            dataid=data,
        )  # fmt: skip
        row["found"].append((number, part, kind, size, place))

    # ---------------------------------------------------------------------------------------------------------- masses

    def _inertial(self, body: int, part: Described) -> None:
        for name in ("pos", "mass"):
            if name not in part:
                raise part.error(f"{name} is missing")
        mass, place = part.number("mass", 0.0, 0.0), placed(np.array(part.vector("pos")), self._turn(part))
        if "fullinertia" in part:
            xx, yy, zz, xy, xz, yz = part.vector("fullinertia", (0.0,) * 6)
            tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            if {"quat", "euler", "axisangle", "xyaxes", "zaxis"} & part.element.attributes.keys():
                raise part.error("fullinertia says the axes too; drop the orientation")
        else:
            tensor = np.diag(part.vector("diaginertia"))
        if body:
            self.rows["body"][body]["inertial"] = (mass, place.translation, place.rotation @ tensor @ place.rotation.T)

    def _masses(self) -> None:
        least = self.settings.number("boundmass"), self.settings.number("boundinertia")
        for body, row in enumerate(self.rows["body"]):
            mass, centre, tensor = (0.0, np.zeros(3), np.zeros((3, 3))) if body == 0 else self._mass(row)
            if not np.isfinite(tensor).all() or np.abs(tensor).max() > LARGEST:
                raise row["element"].error("mass or inertia of this body is too large for a computation")
            moments, axes = np.linalg.eigh(tensor)
            if np.linalg.det(axes) < 0:
                axes[:, 0] *= -1
            if body:
                mass, moments = max(mass, least[0]), np.maximum(moments, least[1])
                if self.settings.flag("balanceinertia") and moments.max() > moments.sum() - moments.max():
                    moments = np.full(3, moments.mean())
            row.update(mass=mass, ipos=centre, inertia=moments)
            row["iquat"] = scalar_first(axes)
        total = self.settings.number("settotalmass", -1.0)
        if total > 0:
            factor = total / sum(row["mass"] for row in self.rows["body"])
            for row in self.rows["body"]:
                row.update(mass=row["mass"] * factor, inertia=row["inertia"] * factor)
        heavy = {row["weldid"] for row in self.rows["body"] if row["mass"] > TINY}
        for body, row in enumerate(self.rows["body"]):
            if row["jntnum"] and body not in heavy:
                name = self.names["body"][body] or f"body{body}"
                raise row["element"].error(
                    f"the body {name!r} moves and has no mass; give it an <inertial>, or a geom with mass or density"
                )

    def _mass(self, row: dict[str, Any]) -> tuple[float, np.ndarray, np.ndarray]:
        """Mass, centre of mass and tensor about it of one body, from its own words or its geoms."""
        given = row.get("inertial")
        if self.from_geoms == "false" or (self.from_geoms == "auto" and given is not None):
            return given or (0.0, np.zeros(3), np.zeros((3, 3)))
        parts = []
        for _, part, kind, size, place in row["found"]:
            if not self.groups[0] <= part.whole("group", 0) <= self.groups[1]:
                continue
            mass = part.number("mass", -1.0, 0.0) if "mass" in part else None
            if mass == 0 or (mass is None and part.number("density", 1000.0, 0.0) == 0) or kind in ("plane", "hfield"):
                continue
            density = part.number("density", 1000.0)
            if kind == "mesh":
                volume, centre, tensor = self._mesh_mass(part)
                density = density if mass is None else mass / volume
                own, centre, tensor = density * volume, place.apply(centre), density * tensor
            else:
                own, tensor = geom_inertia(kind, size, mass, density)
                centre = place.translation
            parts.append((own, centre, place.rotation @ tensor @ place.rotation.T))
        return moved_together(parts) if parts else given or (0.0, np.zeros(3), np.zeros((3, 3)))

    # ----------------------------------------------------------------------------------- tendons, constraints, contacts

    def _tendons(self) -> None:
        for element in inside(self.root, "tendon"):
            part = self.defaults.part(element, "main", "tendon")
            start, length = len(self.rows["wrap"]), 0.0
            for end in element.children:
                if element.tag == "spatial":
                    self._add("wrap", "", end, type=mjtWrap.mjWRAP_SITE, objid=-1, prm=0.0)
                    continue
                joint = self._find("jnt", end.attribute("joint"), end)
                weight = Described([end]).number("coef", 1.0)
                length += weight * self.qpos0[self.rows["jnt"][joint]["qposadr"]]
                self._add("wrap", "", end, type=mjtWrap.mjWRAP_JOINT, objid=joint, prm=weight)
            count = len(self.rows["wrap"]) - start
            if not count:
                raise part.error("a tendon needs joints or sites")
            self._add("tendon", part.name, element, adr=start, num=count, length0=length,
                      stiffness=part.numbers("stiffness", (0.0,) * 3)[0],
                      damping=part.numbers("damping", (0.0,) * 3)[0])  # fmt: skip

    def _equalities(self) -> None:
        for element in inside(self.root, "equality"):
            part = self.defaults.part(element, "main", "equality")
            data, kind = np.zeros(11), mjtEq[f"mjEQ_{element.tag.upper()}"]
            what = mjtObj.mjOBJ_BODY
            if kind in (mjtEq.mjEQ_JOINT, mjtEq.mjEQ_TENDON):
                table_of = "jnt" if kind == mjtEq.mjEQ_JOINT else "tendon"
                names = [part.text(f"{element.tag}{k}") for k in (1, 2)]
                objects = [self._find(table_of, name, element) if name or not k else -1 for k, name in enumerate(names)]
                data[:5] = part.numbers("polycoef", (0.0, 1.0, 0.0, 0.0, 0.0))
                if any(self.rows["jnt"][k]["type"] < 2 for k in objects if k >= 0 and table_of == "jnt"):
                    raise part.error("only hinges and slides can be coupled")
            elif "site1" in part:
                what = mjtObj.mjOBJ_SITE
                objects = [self._find("site", part.text(name), element) for name in ("site1", "site2")]
                data[10] = part.number("torquescale", 1.0)
            else:
                objects = [self._find("body", part.text(name, "world"), element) for name in ("body1", "body2")]
                first, second = (self.world[body] for body in objects)
                anchor = np.array(part.vector("anchor"))
                if kind == mjtEq.mjEQ_CONNECT:
                    if "anchor" not in part:
                        raise part.error("anchor is missing")
                    data[:3], data[3:6] = anchor, second.inverse().apply(first.apply(anchor))
                else:
                    pose = part.vector("relpose", (0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0))
                    data[:3], data[3:10], data[10] = anchor, pose, part.number("torquescale", 1.0)
                    if not any(pose[3:]):
                        data[3:6] = first.inverse().apply(second.apply(anchor))
                        data[6:10] = scalar_first((first.inverse() @ second).rotation)
            self._add("eq", part.name, element, type=kind, objtype=what, obj1id=objects[0], obj2id=objects[1],
                      data=data, active0=part.flag("active", True))  # fmt: skip

    def _contact(self) -> None:
        self.excluded: list[int] = []
        for element in inside(self.root, "contact"):
            if element.tag == "exclude":
                one, two = sorted(self._find("body", element.attribute(name), element) for name in ("body1", "body2"))
                self.excluded.append((one << 16) + two)
                continue
            part = self.defaults.part(element, "main")
            ends = [self._find("geom", part.text(name), element) for name in ("geom1", "geom2")]
            self._add(
                "pair", part.name, element, geom1=min(ends), geom2=max(ends), dim=part.whole("condim", 3),
                friction=part.numbers("friction", (1.0, 1.0, 0.005, 0.0001, 0.0001)),
                solref=part.numbers("solref", SOLREF), solimp=part.numbers("solimp", SOLIMP),
                margin=part.number("margin"), gap=part.number("gap"),
            )  # fmt: skip

    # ------------------------------------------------------------------------------------------------------- the model

    def _compiled(self) -> CompiledMjcf:
        fields: dict[str, Any] = {
            f"{kind}_{column}": table(f"{kind}_{column}", [row[column] for row in self.rows[kind]])
            for kind, columns in COLUMNS.items()
            for column in columns.split()
        }
        fields |= {f"n{kind}": len(self.rows[kind]) for kind in COLUMNS} | {"nq": len(self.qpos0)}
        fields |= {"nv": fields["ndof"], "njnt": fields["njnt"], "qpos0": np.array(self.qpos0)}
        fields |= {"qpos_spring": np.array(self.qpos_spring), "exclude_signature": np.array(self.excluded, dtype=int)}
        fields["mesh_vert"] = np.concatenate([np.zeros((0, 3)), *self.vertices])
        fields["hfield_data"] = np.concatenate([np.zeros(0), *self.elevations])
        actuators = list(inside(self.root, "actuator"))
        fields["actuator_biastype"] = np.array([self._bias(element) for element in actuators], dtype=int)
        counted: dict[str, Callable[[], int]] = {
            "nu": lambda: len(actuators),
            "nsensor": lambda: self._count("sensor"),
            "nkey": lambda: self._count("keyframe"),
            "nskin": lambda: self._count("deformable") + sum(e.tag == "skin" for e in inside(self.root, "asset")),
            "ncam": lambda: sum(e.tag == "camera" for w in self.root.all("worldbody") for e in w.walk()),
        }
        fields |= {name: count() for name, count in counted.items()}
        fields |= {"nflex": 0, "nplugin": 0, "nmocap": self.mocaps}
        names = {mjtObj[f"mjOBJ_{what.upper()}"]: self.names[kind] for kind, what in KINDS.items()}
        return CompiledMjcf(self._options(), {int(kind): list(those) for kind, those in names.items()}, fields)

    def _count(self, section: str) -> int:
        return sum(1 for _ in inside(self.root, section))

    def _bias(self, element: Element) -> int:
        """Whether an actuator acts by itself."""
        part = self.defaults.part(element, "main")
        if element.tag == "general":
            acts = part.text("biastype", "none") != "none"
        else:
            acts = element.tag not in ("motor", "adhesion")
        return mjtBias.mjBIAS_AFFINE if acts else mjtBias.mjBIAS_NONE

    def _options(self) -> CompiledOptions:
        found = list(self.root.all("option"))
        part = Described([*found, Element("option", {}, self.root.line, self.root.file)])
        flags = [flag for option in found for flag in option.all("flag")]
        off = 0
        for flag in flags:
            for name, word in flag.attributes.items():
                bit = f"mjDSBL_{name.upper()}"
                if word not in ("enable", "disable"):
                    raise flag.error(f"<flag>: {name}={word!r} must be enable or disable")
                if bit in Bits.__members__:
                    off = off | Bits[bit] if word == "disable" else off & ~Bits[bit]
        return CompiledOptions(
            np.array(part.vector("gravity", (0.0, 0.0, -9.81))), np.array(part.vector("wind")),
            part.number("density"), part.number("viscosity"), off,
        )  # fmt: skip
