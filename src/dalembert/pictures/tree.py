"""The kinematic tree of a mechanism: bodies as dots as large as their mass, joints as lines, loops dashed."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from dalembert.algebra import scalar
from dalembert.errors import ArgumentError
from dalembert.model import WORLD, Mechanism
from dalembert.model.checks import expect, expect_path, write_text
from dalembert.simulation.figure import new_figure

MOVING, FIXED, LOOP = "#1f77b4", "#c4c4c4", "#d62728"
COLUMN, ROW = 150, 26
"""Pixels between generations and between leaves."""


def layout(mechanism: Mechanism) -> dict[str, tuple[int, float]]:
    """(generation, row) of the ground and of every body: leaves one below the other, parents amid their children.

    Args:
        mechanism: the mechanism.
    """
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
    told: dict[str, Any] = {
        "textcoords": "offset points",
        "path_effects": [withStroke(linewidth=2, foreground="white")],
    }
    for joint in mechanism.joints:
        (x0, y0), (x1, y1) = place[joint.parent], place[joint.child]
        fixed = joint.kind == "fixed"
        left.plot([x0, x1], [y0, y1], color=FIXED if fixed else MOVING, zorder=1)
        if not fixed:
            left.annotate(joint.name, (x1, y1), xytext=(-8, -4), fontsize=6, color="0.4", ha="right", va="top", **told)
    for _, a, b in _loops(mechanism):
        (x0, y0), (x1, y1) = place[a], place[b]
        left.plot([x0, x1], [y0, y1], "--", color=LOOP, zorder=1)
    for body, (x, y) in place.items():
        left.scatter(x, y, _radius(mechanism, body) ** 2, color="black" if body == WORLD else "tab:orange", zorder=2)
        left.annotate(body, (x, y), xytext=(5, 4), fontsize=7, **told)
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
            told = f"{escape(joint.name)} <tspan fill='#999'>{escape(joint.kind)}</tspan>"
            lines.append(f'<text x="{x1 - 8}" y="{y1 + 10:.1f}" font-size="8" text-anchor="end">{told}</text>')
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
