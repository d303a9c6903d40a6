"""Pictures by matplotlib (the extra ``plot``): energies, eigenvalues, agreement, costs, kinematic trees.

Every function gives a ``matplotlib.figure.Figure``, to be saved (``figure.savefig("a.svg")``) or, as the last line of
a cell, shown by a notebook.
No window is opened and no global state of matplotlib is touched. Motions draw themselves, by ``Trajectory.plot``.
:func:`write_tree` needs no matplotlib.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.algebra import scalar
from dalembert.errors import ArgumentError
from dalembert.model import WORLD, Mechanism
from dalembert.model.checks import expect, expect_path, real_array, shown, write_text
from dalembert.simulation.plot import new_figure

if TYPE_CHECKING:
    from dalembert.formulations.agreement import Agreement
    from dalembert.simulation import Trajectory
    from dalembert.tracing.cost import Cost


__all__ = [
    "draw_agreement", "draw_counts", "draw_energies", "draw_locus", "draw_poles", "draw_tree",
    "write_tree",
]  # fmt: skip

# ------------------------------------------------------------------------------------------------------------- energies


def draw_energies(trajectory: Trajectory) -> Any:
    """Kinetic, potential and whole energy over time; below, what the balance of energy leaves unexplained.

    The balance is energy(t) - energy(0) - work of the motors + what damping and friction of the joints took: zero but
    for errors of integration, and for what else does work: external wrenches, dampers, drives that prescribe a motion.
    """
    from dalembert.simulation import Trajectory

    expect(trajectory, Trajectory, "draw_energies")
    figure = new_figure("a picture of energies", 8, 6)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    t, energy = trajectory.t, trajectory.energy
    upper.plot(t, trajectory.kinetic_energy, label="kinetic")
    upper.plot(t, trajectory.potential_energy, label="potential")
    upper.plot(t, energy, label="together", color="black")
    upper.set(ylabel="energy (J)", title=trajectory.mechanism.name)
    upper.legend(fontsize="small")
    lower.plot(t, energy - energy[0] - trajectory.work + trajectory.lost, color="tab:red")
    lower.set(xlabel="t (s)", ylabel="balance (J)")
    return figure


# ---------------------------------------------------------------------------------------------------------- eigenvalues


EIGENVALUE_ROUNDING = 1e-8
"""Parts of eigenvalues that are smaller, measured by the largest of them, are rounding."""


def draw_poles(poles: Any, title: str = "") -> Any:
    """Eigenvalues in the complex plane; those that grow are red.

    Args:
        poles: complex numbers, 1/s, such as ``da.control.linearize(...).poles``.
    """
    values = _complex(poles, "draw_poles, poles").ravel()
    figure = new_figure("a picture of eigenvalues", 6, 5)
    axis = figure.subplots()
    size = float(np.abs(values).max(initial=1e-12))
    grows = values.real > EIGENVALUE_ROUNDING * size
    for chosen, colour, label in ((~grows, "tab:blue", "decays or stays"), (grows, "tab:red", "grows")):
        if chosen.any():
            axis.plot(values[chosen].real, values[chosen].imag, "x", color=colour, label=label)
    axis.axvline(0, color="black", linewidth=0.6)
    axis.axhline(0, color="black", linewidth=0.3)
    axis.set(xlabel="real part (1/s)", ylabel="imaginary part (rad/s)", title=title)
    for part, limit in ((values.real, axis.set_xlim), (values.imag, axis.set_ylim)):
        low, high = part.min(initial=-0.1 * size), part.max(initial=0.1 * size)  # rounding is not magnified
        limit(low - 0.15 * (high - low), high + 0.15 * (high - low))
    if values.size:
        axis.legend(fontsize="small")
    return figure


def draw_locus(values: Sequence[float], poles: Callable[[float], Any] | Any, name: str = "parameter") -> Any:
    """Eigenvalues over a parameter: real and imaginary parts; shaded where all real parts are negative.

    A real part below 1e-8 of the largest eigenvalue there is rounding: what swings for ever is not shaded.
    Neighbours are joined by the assignment with the shortest way, so that lines follow modes.

    Args:
        values: of the parameter, increasing.
        poles: a function of the parameter that gives the eigenvalues, or an array (len(values), n) of them.
        name: of the parameter, with its unit.
    """
    parameter = real_array(values, "draw_locus, values")
    if parameter.ndim != 1 or not parameter.size:
        raise ArgumentError(f"draw_locus, values: a row of numbers is needed, got the shape {parameter.shape}")
    if (np.diff(parameter) <= 0).any():
        raise ArgumentError("draw_locus, values: each must be larger than the one before; sort them")
    given = [poles(x) for x in parameter] if callable(poles) else poles
    found = np.array(_complex(given, "draw_locus, poles"))
    if found.ndim != 2 or len(found) != len(parameter):
        raise ArgumentError(f"eigenvalues have shape {found.shape}; expected ({len(parameter)}, n)")
    for k, (before, after) in enumerate(pairwise(found)):
        found[k + 1] = after[_nearest(before, after)]
    rounding = EIGENVALUE_ROUNDING * np.abs(found).max(axis=1, initial=0.0)
    figure = new_figure("a picture of eigenvalues over a parameter", 8, 5)
    axis = figure.subplots()
    for k in range(found.shape[1]):
        axis.plot(parameter, found[:, k].real, color="tab:blue", label="real part" if k == 0 else None)
        moving = np.where(found[:, k].imag > rounding, found[:, k].imag, np.nan)
        axis.plot(parameter, moving, "--", color="0.6", label="imaginary part" if k == 0 else None)
    stable = found.real.max(axis=1, initial=-np.inf) < -rounding
    axis.fill_between(
        parameter, 0, 1, where=stable, transform=axis.get_xaxis_transform(), alpha=0.15, color="tab:green",
        label="stable" if stable.any() else None,
    )  # fmt: skip
    axis.axhline(0, color="black", linewidth=0.6)
    axis.set(xlabel=name, ylabel="eigenvalues (1/s)")
    axis.legend(fontsize="small")
    return figure


def _complex(poles: Any, what: str) -> np.ndarray:
    """Eigenvalues as an array of complex numbers, all finite."""
    try:
        found = np.asarray(poles, dtype=complex)
    except (TypeError, ValueError):
        raise ArgumentError(f"{what}: complex numbers are needed, as many of each; got {shown(poles)}") from None
    if not np.isfinite(found).all():
        raise ArgumentError(f"{what}: some are not finite, or no numbers at all: {shown(poles)}")
    return found


def _nearest(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    from scipy.optimize import linear_sum_assignment

    return linear_sum_assignment(np.abs(before[:, None] - after[None, :]))[1]


# ------------------------------------------------------------------------------------------------------------ agreement


LEAST = 1e-18
"""Differences of nothing are drawn here."""


def draw_agreement(agreement: Agreement) -> Any:
    """One line per quantity, one dot per comparison, over its relative difference; red where it is too large.

    Args:
        agreement: what :func:`dalembert.verify` gave.
    """
    from dalembert.formulations.agreement import Agreement

    expect(agreement, Agreement, "draw_agreement")
    by_quantity: dict[str, list[Any]] = {}
    for row in agreement.rows:
        by_quantity.setdefault(row.quantity, []).append(row)
    figure = new_figure("a picture of an agreement", 9, 1.5 + 0.35 * len(by_quantity))
    axis = figure.subplots()
    largest = max([1e-9, *(10 * row.error for row in agreement.rows if np.isfinite(row.error))])
    for k, rows in enumerate(reversed(by_quantity.values())):
        places = [min(max(row.error, LEAST), largest) if np.isfinite(row.error) else largest for row in rows]
        colours = ["tab:green" if row.ok else "tab:red" for row in rows]
        axis.scatter(places, [k] * len(rows), c=colours, alpha=0.6, edgecolors="none")
    axis.set_yticks(range(len(by_quantity)), list(reversed(by_quantity)))
    axis.axvline(float(np.finfo(float).eps), color="0.6", linewidth=0.8, linestyle=":")
    axis.set(xscale="log", xlim=(LEAST / 3, 2 * largest), xlabel="relative difference; dotted: rounding of one number")
    verdict = "all agree" if agreement.ok else "some disagree"
    axis.set_title(f"{agreement.subject}: {len(agreement.rows)} comparisons, {verdict}")
    return figure


# ---------------------------------------------------------------------------------------------------------------- costs


PARTS = {
    "multiplications": ("multiplications",),
    "additions": ("additions",),
    "divisions, roots": ("divisions", "square_roots"),
    "sines, cosines, others": ("sines", "cosines", "other_functions", "comparisons"),
}
"""What is distinguished -> fields of a cost."""


def draw_counts(counts: Mapping[str, Cost], title: str = "") -> Any:
    """One bar per name, made of multiplications, additions, divisions and roots, sines, cosines and others.

    Args:
        counts: name of a quantity or algorithm -> its cost.
    """
    from dalembert.tracing.cost import Cost

    for name, cost in expect(counts, Mapping, "draw_counts, counts").items():
        expect(cost, Cost, f"draw_counts, {name!r}")
    figure = new_figure("a picture of operation counts", 9, 1.5 + 0.35 * len(counts))
    axis = figure.subplots()
    names = list(counts)[::-1]
    begin = [0] * len(names)
    for part, fields in PARTS.items():
        sizes = [sum(getattr(counts[name], field) for field in fields) for name in names]
        axis.barh(names, sizes, left=begin, label=part)
        begin = [a + b for a, b in zip(begin, sizes)]
    for k, total in enumerate(begin):
        axis.text(total, k, f" {total}", va="center", fontsize="small")
    axis.set(xlabel="operations per state", title=title)
    axis.margins(x=0.1)
    axis.legend(loc="best", fontsize="small")
    return figure


# ------------------------------------------------------------------------------------------------------ kinematic trees


MOVING, FIXED, LOOP = "#1f77b4", "#c4c4c4", "#d62728"
COLUMN, ROW = 150, 26
"""Pixels between generations and between leaves."""


def layout(mechanism: Mechanism) -> dict[str, tuple[int, float]]:
    """(generation, row) of the ground and of every body: leaves one below the other, parents amid their children."""
    children: dict[str, list[str]] = {}
    for joint in mechanism.joints:
        children.setdefault(joint.parent, []).append(joint.child)
    place: dict[str, tuple[int, float]] = {}
    order = [(WORLD, 0)]
    for body, depth in order:  # grows while it is read: all bodies, parents first
        order += [(child, depth + 1) for child in children.get(body, ())]
    leaves = iter(range(len(order)))

    rows: dict[str, float] = {}
    stack = [WORLD]
    while stack:  # leaves in depth-first order
        body = stack.pop()
        if not children.get(body):
            rows[body] = float(next(leaves))
        stack += reversed(children.get(body, ()))
    for body, depth in reversed(order):
        inner = children.get(body, ())
        if inner:
            rows[body] = sum(rows[child] for child in inner) / len(inner)
        place[body] = (depth, rows[body])
    return place


def _radius(mechanism: Mechanism, body: str) -> float:
    """In pixels: the ground and massless bodies are small; 10 for the heaviest."""
    masses = [float(b.inertia.mass) for b in mechanism.bodies if scalar.is_number(b.inertia.mass)]
    own = 0.0 if body == WORLD else mechanism.body(body).inertia.mass
    if not scalar.is_number(own):
        return 6.0
    return 3.0 + 7.0 * (float(own) / max(masses)) ** (1 / 3) if masses and max(masses) > 0 else 3.0


def _loops(mechanism: Mechanism) -> list[tuple[str, str, str]]:
    """Constraints between two bodies: name and both ends."""
    found = []
    carriers = {frame.name: frame.body for frame in mechanism.frames}
    known = {WORLD, *(body.name for body in mechanism.bodies)}
    for item in mechanism.constraints:
        ends = [carriers.get(end, end) for end in (item.a, item.b)]
        if all(end in known for end in ends) and ends[0] != ends[1]:
            found.append((item.name, ends[0], ends[1]))
    return found


def draw_tree(mechanism: Mechanism) -> Any:
    """The tree as a figure of matplotlib, the pattern of the inertia matrix beside it.

    Args:
        mechanism: the mechanism; symbols are welcome.
    """
    place = layout(expect(mechanism, Mechanism, "draw_tree"))
    figure = new_figure("a picture of a kinematic tree")
    from matplotlib.patheffects import withStroke
    from matplotlib.ticker import MaxNLocator

    deep, rows = max(x for x, _ in place.values()), max(y for _, y in place.values())
    figure.set_size_inches(min(20, 6 + 1.2 * deep), min(20, max(3, 1.5 + 0.3 * rows)))
    left, right = figure.subplots(1, 2, width_ratios=(3, 1))
    near: dict[str, Any] = {
        "textcoords": "offset points",
        "path_effects": [withStroke(linewidth=2, foreground="white")],
    }
    for joint in mechanism.joints:
        (x0, y0), (x1, y1) = place[joint.parent], place[joint.child]
        fixed = joint.kind == "fixed"
        left.plot([x0, x1], [y0, y1], color=FIXED if fixed else MOVING, zorder=1)
        if not fixed:
            left.annotate(joint.name, (x1, y1), xytext=(-8, -4), fontsize=6, color="0.4", ha="right", va="top", **near)
    for _, a, b in _loops(mechanism):
        (x0, y0), (x1, y1) = place[a], place[b]
        left.plot([x0, x1], [y0, y1], "--", color=LOOP, zorder=1)
    for body, (x, y) in place.items():
        left.scatter(x, y, _radius(mechanism, body) ** 2, color="black" if body == WORLD else "tab:orange", zorder=2)
        left.annotate(body, (x, y), xytext=(5, 4), fontsize=7, **near)
    left.invert_yaxis()
    left.set_axis_off()
    left.margins(0.12)
    left.set_title(f"{mechanism.name}: grey joints are fixed" + (", red: loops" if _loops(mechanism) else ""))
    if mechanism.nv:
        right.imshow(mechanism.tree.support, cmap="Blues", vmin=0, vmax=1)
        for axis in (right.xaxis, right.yaxis):
            axis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))  # a matrix has no half rows
    else:
        right.set_axis_off()
    right.set_title("inertia matrix,\nwhite: zero" if mechanism.nv else "nothing moves")
    return figure


def write_tree(mechanism: Mechanism, path: str | Path) -> Path:
    """The tree as a drawing of its own, ``.svg``, without matplotlib.

    Args:
        mechanism: the mechanism; symbols are welcome.
        path: the file to write, which ends in ``.svg``.
    """
    place = layout(expect(mechanism, Mechanism, "write_tree"))
    target = expect_path(path, "write_tree, path")
    if target.suffix.lower() != ".svg":
        raise ArgumentError(
            f"write_tree, path: {str(path)!r} does not end in .svg; others: draw_tree(...).savefig(...)"
        )

    def at(body: str) -> tuple[float, float]:
        depth, row = place[body]
        return 20 + COLUMN * depth, 40 + ROW * row

    width = 20 + COLUMN * (1 + max(depth for depth, _ in place.values()))
    height = 60 + ROW * max(row for _, row in place.values())
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height:.0f}" '
        f'viewBox="0 0 {width} {height:.0f}" font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height:.0f}" fill="white"/>',
        f'<text x="14" y="18" font-size="13" font-weight="bold">{escape(mechanism.name)}</text>',
    ]
    for joint in mechanism.joints:
        (x0, y0), (x1, y1) = at(joint.parent), at(joint.child)
        bend = (x0 + x1) / 2
        colour = FIXED if joint.kind == "fixed" else MOVING
        lines.append(f'<path d="M{x0} {y0} C{bend} {y0} {bend} {y1} {x1} {y1}" fill="none" stroke="{colour}"/>')
        if joint.kind != "fixed":
            label = f"{escape(joint.name)} <tspan fill='#999'>{escape(joint.kind)}</tspan>"
            lines.append(f'<text x="{x1 - 8}" y="{y1 + 10:.1f}" font-size="8" text-anchor="end">{label}</text>')
    for name, a, b in _loops(mechanism):
        (x0, y0), (x1, y1) = at(a), at(b)
        lines.append(f'<line x1="{x0}" y1="{y0}" x2="{x1}" y2="{y1}" stroke="{LOOP}" stroke-dasharray="4 3"/>')
        lines.append(f'<text x="{(x0 + x1) / 2}" y="{(y0 + y1) / 2}" font-size="8" fill="{LOOP}">{escape(name)}</text>')
    for body in place:
        x, y = at(body)
        colour = "black" if body == WORLD else "#ff7f0e"
        lines.append(f'<circle cx="{x}" cy="{y}" r="{_radius(mechanism, body) / 2 + 1:.1f}" fill="{colour}"/>')
        lines.append(f'<text x="{x + 8}" y="{y - 4:.1f}">{escape(body)}</text>')
    write_text(target, "\n".join([*lines, "</svg>\n"]), "write_tree")
    return target
