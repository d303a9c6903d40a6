"""Show a mechanism in the browser, or write the page that shows it."""

from __future__ import annotations

import re
import tempfile
import warnings
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.constraints.dynamics import ConstrainedDynamics
from dalembert.errors import ArgumentError, DalembertError, ModelWarning, UnsupportedError
from dalembert.formats.loading import load
from dalembert.formulations.equations import Equations
from dalembert.model import Mechanism
from dalembert.model.parameters import substitute
from dalembert.report.pose import LENGTHS, typical_posture
from dalembert.report.skeleton import view_of
from dalembert.simulation import Trajectory
from dalembert.simulation.state import as_position
from dalembert.typesetting.escape import printable
from dalembert.viewer.formulas import formulas
from dalembert.viewer.meshes import Meshes
from dalembert.viewer.motion import as_trajectory, incomplete, motion
from dalembert.viewer.page import page
from dalembert.viewer.programs import programs, script
from dalembert.viewer.scene import scene

if TYPE_CHECKING:
    from dalembert.formulations.equations import Equations


def view(
    mechanism: Mechanism | Trajectory | str | Path,
    trajectory: Any = None,
    *,
    to: str | Path | None = None,
    q: Any = None,
    equations: Mechanism | Equations | bool = True,
    folder: str | Path | None = None,
) -> Path:
    """Show a mechanism, and its motion if one is given; return the page, one HTML file that needs nothing else.

    The page has sliders for the joints, frames, centres of mass, inertia ellipsoids, the motion with its forces and
    energies, and the equations. It computes by itself, with programs made for this mechanism, and can be mailed.

    Args:
        mechanism: what to show; a file or the name of a robot is loaded; a trajectory brings its own mechanism.
        trajectory: a :class:`~dalembert.simulation.Trajectory`, a file written by its ``to_npz``, ``to_csv`` or
            ``to_parquet``, or a pair (times, positions).
        to: the file to write, ``.html``; without it the page lies in a temporary folder and the browser opens it.
        q: positions to begin with, an array or by joint name; a typical position by default.
        equations: what the panel of equations shows: those of the mechanism, of another mechanism (the same with
            symbols), equations that have been derived, or none (False).
        folder: where relative addresses of meshes start, and around which packages lie; that of the file by default.
    """
    if isinstance(mechanism, Trajectory):
        if trajectory is not None:
            raise ArgumentError("the first argument is a trajectory already; give the mechanism, or no second one")
        mechanism, trajectory = mechanism.mechanism, mechanism
    place = None if folder is None else Path(folder)
    if isinstance(mechanism, (str, Path)):
        file = path_of(mechanism)
        place = place or (file.parent if file is not None else None)
        mechanism, symbolic = _loaded(mechanism)
        equations = symbolic if equations is True else equations
    if not isinstance(mechanism, Mechanism):
        raise ArgumentError(f"view takes a Mechanism, a trajectory or a file, got {type(mechanism).__name__}")
    if to is not None and Path(to).suffix.lower() not in (".html", ".htm"):
        raise ArgumentError(f"cannot write {str(to)!r}: the suffix must be .html")

    text = make(mechanism, trajectory, q, equations, place)
    if to is not None:
        return _written(Path(to), text)
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", mechanism.name)[:60] or "mechanism"
    target = _written(Path(tempfile.mkdtemp(prefix="dalembert-")) / f"{name}.html", text)
    if not _opened(target):
        raise UnsupportedError(
            f"no browser was found; the page is {target}",
            argument="to",
            remedy="give {setting} to choose where it is written",
        )
    return target


def path_of(source: str | Path) -> Path | None:
    """The file of a model that is loaded by path or by name; None if it comes from elsewhere.

    Args:
        source: what :func:`dalembert.load` takes.
    """
    from dalembert.formats.catalogue import example_robot_data, packaged

    file = {**example_robot_data(), **packaged()}.get(str(source), Path(source))
    try:
        return file if file.is_file() else None
    except (OSError, ValueError):  # a description given as text
        return None


def _loaded(source: str | Path) -> tuple[Mechanism, Mechanism]:
    """A model with the values that its file gives to symbols, where it gives any; and with the symbols."""
    from dalembert.formats.registry import format_of

    symbolic = load(source)
    if not symbolic.symbols:
        return symbolic, symbolic
    file = path_of(source)
    format = format_of(file) if file is not None else None
    values = format.default_values(file) if file and format else {}
    return (load(source, parameters=values) if values else symbolic), symbolic


def _written(target: Path, text: str) -> Path:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8", newline="\n")  # the policy holds for these very bytes
    except OSError as error:
        raise ArgumentError(f"{target} cannot be written: {error.strerror or error}") from error
    return target


def _opened(target: Path) -> bool:
    try:
        return webbrowser.open(target.resolve().as_uri())
    except webbrowser.Error:
        return False


# ------------------------------------------------------------------------------------------------------------- the page


FEW = 7
"""Coordinates up to which a skeleton begins with its joints away from zero; more of them bent would be a tangle."""


def make(
    mechanism: Mechanism, trajectory: Any, q: Any, equations: Mechanism | Equations | bool, folder: Path | None
) -> str:
    """The page; see :func:`dalembert.viewer.view.view`.

    Args:
        mechanism: see there.
        trajectory: see there.
        q: see there.
        equations: see there.
        folder: see there.
    """
    moved = None if trajectory is None else as_trajectory(trajectory, mechanism)
    numeric, notes = _numeric(mechanism, moved)
    start, facing = _start(numeric, moved, q)
    meshes = Meshes(folder)
    data: dict[str, Any] = {"scene": scene(numeric, start, meshes), "facing": facing}
    data["meshes"], block = meshes.packed()
    if moved is not None:
        notes += incomplete(moved)
        block += bytes(-len(block) % 4)
        data["motion"], samples = motion(moved)
        data["motion"]["base"] = len(block)
        block += samples
    found = programs(numeric, start)
    data["programs"] = {name: {port.name: port.size for port in program.outputs} for name, program in found.items()}
    data["notes"] = [printable(note) for note in (*notes, *meshes.notes)]
    subject = mechanism if equations is True else equations
    panel = "" if subject is False or isinstance(subject, bool) else formulas(subject)
    return page(f"{printable(mechanism.name)} · dalembert", data, block, script(found), panel)


def _numeric(mechanism: Mechanism, trajectory: Trajectory | None) -> tuple[Mechanism, list[str]]:
    """The mechanism with numbers for its symbols: those of the trajectory, or some of the order of one, and says so."""
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


def _start(mechanism: Mechanism, trajectory: Trajectory | None, q: Any) -> tuple[np.ndarray, list[float] | None]:
    """The position to begin with, loops closed if possible; and from where to look, if the mechanism is planar."""
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
        _tell_of_limits(mechanism, wanted)
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


def _tell_of_limits(mechanism: Mechanism, q: np.ndarray) -> None:
    """Warn of joints that are asked to stand where they cannot."""
    for joint in mechanism.joints:
        if joint.nq != 1 or joint.kind == "continuous" or joint.mimic is not None:
            continue
        value = float(q[mechanism.q_slice(joint.name)][0])
        low, high = joint.limits.lower, joint.limits.upper
        if not low <= value <= high:
            told = f"joint {printable(joint.name)!r} is shown at {value:g}, beyond its limits, {low:g} to {high:g}"
            warnings.warn(told, ModelWarning, stacklevel=4)


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
        return ConstrainedDynamics(mechanism, reference=q, forces=()).assemble(q, keep=keep)  # forces close nothing
    except DalembertError as error:
        warnings.warn(f"loops are shown open: {error}", ModelWarning, stacklevel=4)
        return q
