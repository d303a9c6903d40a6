"""From a mechanism and its motion to one HTML page. Names come from anybody's files: they reach the page as data only.

Data are JSON in elements that no browser executes, with every ``<`` written as an escape; the page puts names into it
as text. The content security policy names the scripts by their digests, so that nothing else can run, and forbids all
addresses.
"""

from __future__ import annotations

import base64
import hashlib
import json
import warnings
import zlib
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

import dalembert
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError, DalembertError, ModelWarning
from dalembert.formulations.equations import Equations
from dalembert.model import Mechanism
from dalembert.model.parameters import substitute
from dalembert.report.pose import LENGTHS, typical_posture
from dalembert.report.skeleton import view_of
from dalembert.simulation import Trajectory
from dalembert.simulation.state import as_position, tell_of_ranges
from dalembert.text.layout import printable
from dalembert.typesetting.escape import html_text
from dalembert.viewer.formulas import formulas
from dalembert.viewer.meshes import Meshes
from dalembert.viewer.motion import as_trajectory, incomplete, motion
from dalembert.viewer.programs import programs, script
from dalembert.viewer.scene import scene

POLICY = "default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

SCRIPTS = ("three.min.js", "geometry.js", "figure.js", "stage.js", "machine.js", "panel.js", "viewer.js")
"""In this order; each may use what comes before it."""


def page(title: str, data: dict[str, Any], block: bytes, programs: str, equations: str) -> str:
    """The whole page.

    Args:
        data: scene, motion and notes.
        block: meshes and samples, referred to by places in it.
        programs: JavaScript of :func:`dalembert.viewer.programs.script`.
        equations: HTML of :func:`dalembert.viewer.formulas.formulas`.
    """
    scripts = [
        f"/*\n{_asset('THREE-LICENSE.txt')}*/\n{_asset(SCRIPTS[0])}",
        "\n".join(['"use strict";', programs, *(_asset(name) for name in SCRIPTS[1:])]),
    ]
    policy = POLICY.format(scripts=" ".join(f"'sha256-{_digest(text)}'" for text in scripts))
    packed = base64.b64encode(zlib.compress(block, 9)).decode()
    body = _asset("body.html").replace("{{equations}}", equations)
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta name="generator" content="dalembert {html_text(dalembert.__version__)}">',
            f"<title>{html_text(title)}</title>",
            f"<style>\n{_asset('style.css')}</style></head>",
            body,
            f'<script type="application/json" id="data">{as_json(data)}</script>',
            f'<script type="text/plain" id="block">{packed}</script>',
            *(f"<script>{text}</script>" for text in scripts),
            "</body></html>\n",
        ]
    )


def as_json(data: Any) -> str:
    """JSON that can stand in a script element: it has no character that could end the element.

    Args:
        data: of the types of JSON; numbers must be finite.
    """
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _asset(name: str) -> str:
    return resources.files("dalembert.viewer").joinpath("assets", name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


# ----------------------------------------------------------------------------------------------- all parts put together


FEW = 7
"""Coordinates up to which a skeleton begins with its joints away from zero; more of them bent would be a tangle."""


def make(
    mechanism: Mechanism,
    trajectory: Any,
    q: Any,
    equations: Mechanism | Equations | bool,
    folder: Path | None,
    consent: bool,
) -> str:
    """The page; see :func:`dalembert.viewer.view.view`."""
    moved = None if trajectory is None else as_trajectory(trajectory, mechanism)
    shown, notes = numeric(mechanism, moved)
    start, facing = beginning(shown, moved, q)
    meshes = Meshes(folder, consent)
    data: dict[str, Any] = {"scene": scene(shown, start, meshes), "facing": facing}
    data["meshes"], block = meshes.packed()
    if moved is not None:
        notes += incomplete(moved)
        block += bytes(-len(block) % 4)
        data["motion"], samples = motion(moved)
        data["motion"]["base"] = len(block)
        block += samples
    found = programs(shown, start)
    data["programs"] = {name: {port.name: port.size for port in program.outputs} for name, program in found.items()}
    data["notes"] = [printable(note) for note in (*notes, *meshes.notes)]
    subject = mechanism if equations is True else equations
    panel = "" if subject is False or isinstance(subject, bool) else formulas(subject)
    return page(f"{printable(mechanism.name)} · dalembert", data, block, script(found), panel)


def numeric(mechanism: Mechanism, trajectory: Trajectory | None) -> tuple[Mechanism, list[str]]:
    """The mechanism with numbers for its symbols: those of the trajectory, or some of the order of one, and a note.

    Args:
        mechanism: with symbols or without.
        trajectory: its motion, if there is one.
    """
    if not mechanism.symbols:
        return mechanism, []
    names = [symbol.name for symbol in mechanism.symbols]
    loose = mechanism.replace(strict=False)
    if trajectory is not None:
        if not trajectory.mechanism.symbols:
            return trajectory.mechanism, []
        if trajectory.parameters is None:
            raise ArgumentError(
                f"the trajectory does not say which values {', '.join(names)} of {mechanism.name!r} have",
                argument="parameters",
                value="default",
                remedy="give the mechanism with numbers, for example by load(..., {setting})",
            )
        found = dict(zip(trajectory.dynamics.parameter_names, map(float, trajectory.parameters)))
        return substitute(loose, {name: found[name] for name in names}), []
    values = {name: LENGTHS[k % len(LENGTHS)] for k, name in enumerate(names)}
    listed = ", ".join(f"{name} = {value:g}" for name, value in values.items())
    return substitute(loose, values), [f"Shown with {listed}, because no values were given."]


def beginning(mechanism: Mechanism, trajectory: Trajectory | None, q: Any) -> tuple[np.ndarray, list[float] | None]:
    """The position to begin with, loops closed if possible; and from where to look, if the mechanism is planar.

    Args:
        trajectory: its motion, if there is one.
        q: positions that the user gives.
    """
    typical = typical_posture(mechanism)
    view = view_of(typical)
    planar = bool(np.isclose(np.abs(view[2]).max(), 1.0))
    facing = [float(x) for x in view[2]] if planar else None
    if trajectory is not None:
        if q is not None:
            raise ArgumentError(
                "{argument} is where a mechanism stands that does not move", argument="q", remedy="leave it out"
            )
        return np.array(trajectory.q[0], dtype=float), facing
    if q is not None:
        wanted = as_position(mechanism, q, name="q")
        tell_of_ranges(mechanism, wanted, "q")
        return _closed(mechanism, wanted, q), facing
    drawn = any(body.shapes for body in mechanism.bodies)
    if not drawn and mechanism.nq <= FEW:
        return _at_home(mechanism, typical.q), facing
    start = mechanism.neutral
    for joint in mechanism.joints:
        if joint.nq == 1 and joint.kind != "continuous":
            k = mechanism.q_slice(joint.name).start
            low, high = joint.limits.lower, joint.limits.upper
            if low <= high and not low <= 0 <= high:
                start[k] = (low + high) / 2 if np.isfinite([low, high]).all() else np.clip(0.0, low, high)
    return _closed(mechanism, start, None), facing


def _at_home(mechanism: Mechanism, q: np.ndarray) -> np.ndarray:
    """Positions with floating bases where they are at zero: away from it there is nothing more to see."""
    if mechanism.constraints:
        return q
    home = np.array(q, dtype=float)
    for joint in mechanism.joints:
        if joint.kind == "free":
            home[mechanism.q_slice(joint.name)] = mechanism.neutral[mechanism.q_slice(joint.name)]
    return home


def _closed(mechanism: Mechanism, q: np.ndarray, given: Any) -> np.ndarray:
    """Positions with loops closed; as they are, with a warning, if that is not possible from here."""
    if not mechanism.constraints:
        return q
    keep = list(given) if isinstance(given, dict) else []
    try:
        return Dynamics(mechanism, reference=q, elements=()).assemble(q, keep=keep)  # forces close nothing
    except DalembertError as error:
        warnings.warn(f"loops are shown open: {error}", ModelWarning, stacklevel=4)
        return q
