"""What bodies stand on, as data: a plane, several half-spaces, a grid of heights, a formula z = f(x, y)."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.algebra import scalar
from dalembert.algebra.arrays import Array
from dalembert.algebra.scalar import Scalar
from dalembert.algebra.transform import Transform
from dalembert.errors import ModelError
from dalembert.model.checks import expect, expect_choice, expect_items, shown
from dalembert.model.expression import evaluate_exact
from dalembert.model.formula import Formula
from dalembert.model.record import Record, check_scalar, floats, frozen_array

GROUND_KINDS = {
    "half-spaces": "the free side of one plane, or of several at once: a floor, a corner, a channel",
    "height-field": "heights over a grid, linear along x and along y between its points; level beyond its border",
    "formula": "the surface z = f(x, y)",
}
"""Every kind of ground with its meaning."""

LARGEST_GRID = 64 * 64
"""Points of a height field: its heights are constants of the compiled program."""


@dataclass(frozen=True, eq=False)
class Ground(Record):
    """A surface with a free side, fixed to the world or to a body. :meth:`plane`, :meth:`half_spaces`,
    :meth:`height_field` and :meth:`formula` make one.

    Args:
        kind: one of :data:`GROUND_KINDS`.
        placement: frame of the ground in the frame that it is fixed to; what follows is in its axes.
        points: a point of each plane, m, (n, 3).
        normals: the unit normal of each plane, towards the free side, (n, 3).
        heights: of a height field at (x_i, y_j), m, (nx, ny).
        corner: (x_0, y_0) of a height field, m.
        spacing: (dx, dy) of a height field, m.
        function: the height as SymPy expression of x, y and of ``names``.
        names: the symbols of a formula besides x and y.
        coefficients: what stands for each of ``names``, a number or a symbol.
    """

    kind: str
    placement: Transform = field(default_factory=Transform.identity)
    points: Any = ()
    normals: Any = ()
    heights: Any = ()
    corner: tuple[float, float] = (0.0, 0.0)
    spacing: tuple[float, float] = (1.0, 1.0)
    function: Any = None
    names: tuple[str, ...] = ()
    coefficients: tuple[Scalar, ...] = ()

    def __post_init__(self) -> None:
        expect_choice(self.kind, GROUND_KINDS, "ground: unknown kind", ModelError)
        expect(self.placement, Transform, "ground, placement", ModelError)
        count = len(self.points) if self.kind == "half-spaces" else 0
        for name in ("points", "normals"):
            object.__setattr__(self, name, frozen_array(_rows(getattr(self, name)), (count, 3), f"ground, {name}"))
        object.__setattr__(self, "heights", _grid(self.heights, self.kind))
        object.__setattr__(self, "coefficients", expect_items(self.coefficients, object, "ground, coefficients"))
        for value in self.coefficients:
            check_scalar(value, "ground, coefficient")
        getattr(self, f"_check_{self.kind.replace('-', '_')}")()

    # ------------------------------------------------------------------------------------------------------- makers

    @classmethod
    def plane(cls, point: Any = (0, 0, 0), normal: Any = (0, 0, 1)) -> Ground:
        """One plane.

        Args:
            point: any point of it, m.
            normal: towards the free side; made a unit vector if it is numeric.
        """
        return cls.half_spaces([(point, normal)])

    @classmethod
    def half_spaces(cls, planes: Any) -> Ground:
        """What lies on the free side of every one of several planes.

        Args:
            planes: pairs (point, normal), as of :meth:`plane`.
        """
        pairs = expect_items(planes, object, "Ground.half_spaces, planes", ModelError)
        points, normals = [], []
        for k, pair in enumerate(pairs):
            try:
                point, normal = pair
            except (TypeError, ValueError):
                raise ModelError(
                    f"Ground.half_spaces, plane {k}: expected (point, normal), got {shown(pair)}"
                ) from None
            points.append(frozen_array(point, (3,), f"ground, point of plane {k}"))
            normals.append(_unit(frozen_array(normal, (3,), f"ground, normal of plane {k}"), k))
        return cls("half-spaces", points=points, normals=normals)

    @classmethod
    def height_field(cls, heights: Any, spacing: Any = (1.0, 1.0), corner: Any = None) -> Ground:
        """Heights over a grid.

        Args:
            heights: m, (nx, ny), at least 2 x 2.
            spacing: distance of grid points along x and y, m; one number for both.
            corner: position (x, y) of ``heights[0, 0]``, m; by default the middle of the grid is at the origin.
        """
        grid = _grid(heights, "height-field")
        dx, dy = _pair(spacing if np.ndim(spacing) else (spacing, spacing), "spacing")
        if corner is None:
            corner = (-(grid.shape[0] - 1) * dx / 2, -(grid.shape[1] - 1) * dy / 2)
        return cls("height-field", heights=grid, corner=_pair(corner, "corner"), spacing=(dx, dy))

    @classmethod
    def formula(cls, height: Any) -> Ground:
        """The surface z = f(x, y).

        Args:
            height: a SymPy expression of symbols called x and y, and of any others, which are parameters; text of
                one, such as ``"0.1*sin(x)"``; or a function of (x, y) over any scalar.
        """
        import sympy

        x, y = sympy.symbols("x y", real=True)
        if callable(height) and not scalar.is_sympy(height):
            try:
                inspect.signature(height).bind(x, y)
            except TypeError:
                raise ModelError("Ground.formula: the function must take x and y") from None
            height = height(x, y)
        if isinstance(height, str):
            height = evaluate_exact(height)
        if not (scalar.is_sympy(height) or scalar.is_number(height)):
            raise ModelError(f"Ground.formula: expected an expression of x and y, got {shown(height)}")
        height = sympy.sympify(height, strict=True)
        height = height.subs({s: {"x": x, "y": y}[s.name] for s in height.free_symbols if s.name in ("x", "y")})
        others = sorted((s for s in height.free_symbols if s.name not in ("x", "y")), key=lambda s: s.name)
        names = tuple(s.name for s in others)
        return cls("formula", function=Formula(height), names=names, coefficients=tuple(others))

    # ------------------------------------------------------------------------------------------------------- checks

    def _check_half_spaces(self) -> None:
        if not len(self.points):
            raise ModelError("ground: give at least one plane, (point, normal)")
        for k, normal in enumerate(self.normals):
            values = floats(normal)
            if values is not None and abs(float(np.linalg.norm(values)) - 1) > 1e-9:
                raise ModelError(f"ground: the normal of plane {k}, {values.tolist()}, is not of length 1")

    def _check_height_field(self) -> None:
        if not all(isinstance(d, float) and 0 < d < math.inf for d in self.spacing):
            raise ModelError(f"ground: the spacing of a height field is positive, got {self.spacing}")
        if not all(map(math.isfinite, self.corner)):
            raise ModelError(f"ground: the corner of a height field is a point (x, y), got {self.corner}")

    def _check_formula(self) -> None:
        if not isinstance(self.function, Formula) or len(self.function.expressions) != 1:
            raise ModelError("ground: give the height as one SymPy expression of x and y; see Ground.formula")
        if len(self.names) != len(self.coefficients):
            raise ModelError(f"ground: {len(self.names)} names of parameters but {len(self.coefficients)} values")

    # ------------------------------------------------------------------------------------------------------ display

    @property
    def surfaces(self) -> int:
        """How many surfaces a body may touch at once: the number of planes, else one."""
        return len(self.points) if self.kind == "half-spaces" else 1

    def __str__(self) -> str:
        if self.kind == "half-spaces" and self.surfaces == 1:
            return "plane"
        if self.kind == "half-spaces":
            return f"{self.surfaces} half-spaces"
        if self.kind == "height-field":
            nx, ny = self.heights.shape
            return f"height field of {nx} x {ny} points"
        return f"z = {self.function.expressions[0]}"


def _rows(value: Any) -> Any:
    return np.zeros((0, 3)) if len(value) == 0 else value


def _unit(normal: Array, k: int) -> Array:
    values = floats(normal)
    if values is None:
        return normal
    length = float(np.linalg.norm(values))
    if length < 1e-9:
        raise ModelError(f"ground: the normal of plane {k}, {values.tolist()}, gives no direction")
    return values / length


def _pair(given: Any, name: str) -> tuple[float, float]:
    pair = frozen_array(given, (2,), f"Ground.height_field, {name}")
    if pair.dtype == object:
        raise ModelError(f"Ground.height_field, {name}: expected two numbers, got {shown(given)}")
    return float(pair[0]), float(pair[1])


def _grid(heights: Any, kind: str) -> Array:
    if kind != "height-field":
        return frozen_array(np.zeros((0, 0)), (0, 0), "ground, heights")
    try:
        grid = np.array(heights, dtype=float)
    except (TypeError, ValueError):
        raise ModelError(f"ground: heights are numbers on a grid (nx, ny), got {shown(heights)}") from None
    if grid.ndim != 2 or min(grid.shape) < 2:
        raise ModelError(f"ground: heights need a grid of at least 2 x 2 points, got shape {grid.shape}")
    if grid.size > LARGEST_GRID:
        raise ModelError(
            f"ground: a height field of {grid.shape[0]} x {grid.shape[1]} points; at most {LARGEST_GRID} are allowed, "
            "because they become constants of the program; give a coarser grid or a formula"
        )
    holes = np.argwhere(~np.isfinite(grid))
    if len(holes):
        raise ModelError(
            f"ground: the height field has {len(holes)} hole{'s' if len(holes) > 1 else ''}, the first at grid point "
            f"{tuple(holes[0].tolist())}; fill them, for example with the heights of their neighbours"
        )
    return frozen_array(grid, grid.shape, "ground, heights")
