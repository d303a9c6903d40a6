"""A trajectory as the page plays it: samples close enough to be joined by straight lines, and curves to plot."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import ArgumentError, DalembertError, FormatError, MissingExtraError, UnsupportedError
from dalembert.formats.xml import read_bytes
from dalembert.kinematics.manifold import continued
from dalembert.labels import unlabelled
from dalembert.model import Mechanism
from dalembert.model.names import position_names, velocity_names
from dalembert.simulation import Trajectory
from dalembert.simulation.export import load_trajectory
from dalembert.simulation.interpolation import Slopes
from dalembert.simulation.stabiliser import stabilised
from dalembert.viewer.touching import contact_curves

if TYPE_CHECKING:
    from dalembert.formulations.equations import Equations

FRAMES_PER_SECOND, FRAMES_PER_STEP, MOST_FRAMES = 60.0, 4, 3000
"""How finely a motion is sampled at least, and the largest number of samples; a long one is sampled less finely."""


def as_trajectory(given: Any, mechanism: Mechanism) -> Trajectory:
    """The motion that a user gives: checked, of this mechanism, and known between its samples if velocities are given.

    Args:
        given: a trajectory, a file written by ``to_npz``, ``to_csv`` or ``to_parquet``, or a pair of times (T,) and
            positions (T, nq).
    """
    if isinstance(given, (str, Path)):
        made = read_trajectory(given, mechanism)
    elif isinstance(given, Trajectory):
        made = given
    elif isinstance(given, Sequence) and len(given) == 2:
        made = _plain(mechanism, _array(given[0], "t"), _array(given[1], "q"))
    else:
        raise ArgumentError(
            f"trajectory is a {type(given).__name__}; give a Trajectory, a file (.npz, .csv, .parquet), or "
            "(times, positions)"
        )
    _check(made, mechanism)
    if made.interpolant is None and np.isfinite(made.v).all():
        made = replace(made, q=continued(mechanism.tree, np.asarray(made.q)))
        made.interpolant = Slopes(made)
    return made


def of_bodies(trajectory: Trajectory) -> Trajectory:
    """A motion of equations as one of the bodies they were derived from, sampled as finely as a page shows it; any
    other motion as it is.
    """
    own = trajectory.dynamics
    if own.equations is None:
        return trajectory
    mechanism = bodies_behind(own.equations)
    fine = _sampled(trajectory)
    made = _plain(mechanism, fine.t, fine.q, None if trajectory.system.has_speeds else fine.v)
    made.status = trajectory.status
    if mechanism.symbols and trajectory.parameters is not None:
        values = dict(zip(own.parameter_names, trajectory.parameters.tolist()))
        made.parameters = np.array([values[name] for name in made.dynamics.parameter_names])
    return made


def bodies_behind(equations: Equations) -> Mechanism:
    """The mechanism that equations were derived from."""
    if equations.mechanism is None:
        raise UnsupportedError(
            f"the equations of {equations.name!r} know of no bodies that could be shown; plot() draws their motion"
        )
    return equations.mechanism


def read_trajectory(path: str | Path, mechanism: Mechanism) -> Trajectory:
    """A trajectory from the files that ``Trajectory.to_npz``, ``to_csv`` and ``to_parquet`` write.

    Args:
        path: the file; its suffix says which.
    """
    suffix = Path(path).suffix.lower()
    if Path(path).is_dir():
        raise FormatError("this is a folder; name the file in it", path)
    if suffix == ".npz":
        return load_trajectory(path, mechanism)
    if suffix == ".csv":
        return _read_csv(path, mechanism)
    if suffix == ".parquet":
        return _read_parquet(path, mechanism)
    raise FormatError(
        f"a trajectory is a .npz, .csv or .parquet file, not one {f'in {suffix}' if suffix else 'without a suffix'}",
        path,
    )


def _read_csv(path: str | Path, mechanism: Mechanism) -> Trajectory:
    text = read_bytes(path).decode("utf-8-sig", "replace")
    try:
        rows = [row for row in csv.reader(io.StringIO(text)) if row]
    except csv.Error as error:
        raise FormatError(f"this is no table of text in UTF-8 with commas between entries: {error}", path) from error
    if not rows:
        raise FormatError("the file is empty; the first line must name the columns: t, q.NAME, ...", path)
    titles = [title.strip() for title in rows[0]]
    _expect_columns(titles, mechanism, path)
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(titles):
            raise FormatError(f"there are {len(row)} entries, but {len(titles)} columns", path, number)
    try:
        table = np.array(rows[1:], dtype=float).reshape(-1, len(titles))
    except ValueError as error:
        raise FormatError(f"the table must hold numbers only: {error}", path) from error
    return _of_columns({title: table[:, k] for k, title in enumerate(titles)}, mechanism)


def _read_parquet(path: str | Path, mechanism: Mechanism) -> Trajectory:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise MissingExtraError("pyarrow", "tables", "a motion from a Parquet file") from error
    try:
        table = parquet.read_table(io.BytesIO(read_bytes(path)))
    except (ArrowException, OSError) as error:
        raise FormatError(f"this is no table in Parquet: {error}", path) from error
    _expect_columns(table.column_names, mechanism, path)
    try:
        columns = {name: np.array(table[name].to_numpy(), dtype=float) for name in table.column_names}
    except (ValueError, TypeError) as error:
        raise FormatError(f"the table must hold numbers only: {error}", path) from error
    return _of_columns(columns, mechanism)


def _expect_columns(titles: Sequence[str], mechanism: Mechanism, path: str | Path) -> None:
    missing = [name for name in ("t", *(f"q.{name}" for name in position_names(mechanism))) if name not in titles]
    if missing:
        remedy = "; put commas between entries, not semicolons" if any(";" in title for title in titles) else ""
        raise FormatError(
            f"the columns {', '.join(map(repr, missing[:6]))} of {mechanism.name!r} are not there; the file has "
            f"{', '.join(map(repr, titles[:12]))}{remedy}",
            path,
        )
    twice = [title for title, times in Counter(titles).items() if times > 1]
    if twice:
        raise FormatError(
            f"several columns have the title {', '.join(map(repr, twice[:6]))}; a title must stand once", path
        )


def _of_columns(columns: dict[str, np.ndarray], mechanism: Mechanism) -> Trajectory:
    t = columns["t"]
    unknown = np.full(len(t), np.nan)
    parts: dict[str, np.ndarray] = {}
    for kind, named in (("q", position_names), ("v", velocity_names), ("tau", velocity_names)):
        names = [f"{kind}.{name}" for name in named(mechanism)]
        parts[kind] = np.array([columns.get(name, unknown) for name in names]).reshape(len(names), len(t)).T
    return _plain(mechanism, t, **parts)


def incomplete(trajectory: Trajectory) -> list[str]:
    """What the page must say of a motion whose velocities or forces are not all known.

    Args:
        trajectory: of :func:`as_trajectory`.
    """
    names = np.array(velocity_names(trajectory.mechanism))
    unknown = {kind: ~np.isfinite(getattr(trajectory, kind)).all(axis=0) for kind in ("v", "tau")}
    notes = []
    if trajectory.interpolant is None and len(trajectory) > 1:
        which = (
            "No velocities" if unknown["v"].all() else f"Not all velocities ({', '.join(names[unknown['v']])} missing)"
        )
        notes.append(f"{which} were given: between its samples the motion is shown along straight lines.")
    if unknown["tau"].any() and not unknown["tau"].all():
        notes.append(f"Not all forces ({', '.join(names[unknown['tau']])} missing) were given: none are plotted.")
    return notes


def _plain(
    mechanism: Mechanism, t: np.ndarray, q: np.ndarray, v: np.ndarray | None = None, tau: np.ndarray | None = None
) -> Trajectory:
    """A trajectory of given samples; velocities that are not given are NaN, so that nobody takes them for zero."""
    size = (len(t), mechanism.nv)
    return Trajectory(
        stabilised(mechanism), t, q,
        np.full(size, np.nan) if v is None else v,
        np.full(size, np.nan) if tau is None else tau,
        np.zeros((len(t), 0, 6)), status="given",
    )  # fmt: skip


def _array(given: Any, name: str) -> np.ndarray:
    try:
        return np.array(unlabelled(given, f"{name} of the trajectory"), dtype=float)
    except DalembertError:
        raise
    except (ValueError, TypeError) as error:
        raise ArgumentError(f"{name} of the trajectory must be an array of numbers: {error}") from error


def _check(trajectory: Trajectory, mechanism: Mechanism) -> None:
    t, q = np.asarray(trajectory.t), np.asarray(trajectory.q)
    if t.ndim != 1 or q.shape != (len(t), mechanism.nq):
        raise ArgumentError(
            f"the trajectory has times of shape {t.shape} and positions of shape {q.shape}, but {mechanism.name!r} "
            f"needs (T,) and (T, {mechanism.nq})"
        )
    theirs, ours = position_names(trajectory.mechanism), position_names(mechanism)
    if theirs != ours:
        raise ArgumentError(
            f"the trajectory is one of {trajectory.mechanism.name!r} with the coordinates {', '.join(theirs[:8])}; "
            f"{mechanism.name!r} has {', '.join(ours[:8])}"
        )
    if not len(t):
        raise ArgumentError("the trajectory is empty: there is nothing to play")
    for name, values in (("t", t), ("q", q)):
        bad = np.argwhere(~np.isfinite(values))
        if len(bad):
            raise ArgumentError(
                f"the trajectory cannot be played: {name}{[int(k) for k in bad[0]]} is {values[tuple(bad[0])]}"
            )
    if (np.diff(t) < 0).any():
        k = int(np.argmax(np.diff(t) < 0))
        raise ArgumentError(f"times must not decrease, but t[{k}] = {t[k]} is followed by t[{k + 1}] = {t[k + 1]}")


def motion(trajectory: Trajectory) -> tuple[dict[str, Any], bytes]:
    """What the page plays and plots: a table of contents, and a block of 32-bit numbers.

    Args:
        trajectory: of :func:`as_trajectory`.
    """
    fine = _sampled(trajectory)
    curves: dict[str, np.ndarray] = {"t": fine.t - fine.t[0], "q": fine.q}
    if np.isfinite(fine.tau).all() and fine.dynamics.input_names == velocity_names(fine.mechanism):
        curves["tau"] = fine.tau
    knows_energy = all(fine.dynamics.has(name) for name in ("kinetic_energy", "potential_energy"))
    if knows_energy and np.isfinite(fine.v).all():
        curves |= {"kinetic": np.asarray(fine.kinetic_energy), "potential": np.asarray(fine.potential_energy)}
    curves |= contact_curves(trajectory, fine.t)
    table: dict[str, Any] = {"count": len(fine.t), "start": float(fine.t[0]), "status": fine.status, "places": {}}
    block = b""
    for name, values in curves.items():
        table["places"][name] = [len(block), int(np.asarray(values).size)]
        block += np.ascontiguousarray(values, dtype="<f4").tobytes()
    return table, block


def _sampled(trajectory: Trajectory) -> Trajectory:
    """The same motion at even times, if it is known between its samples; otherwise some of its samples."""
    t = np.asarray(trajectory.t)
    span = float(t[-1] - t[0])
    count = int(min(MOST_FRAMES, max(FRAMES_PER_STEP * len(t), np.ceil(span * FRAMES_PER_SECOND) + 1)))
    if trajectory.interpolant is None or span == 0:
        keep = np.unique(np.linspace(0, len(t) - 1, min(len(t), MOST_FRAMES)).round().astype(int))
        keep = keep if span > 0 else keep[-1:]
        arrays = {name: getattr(trajectory, name)[keep] for name in ("t", "q", "v", "tau", "wrenches")}
    else:
        times = np.linspace(t[0], t[-1], count)
        _, q, v = trajectory(times)
        arrays = {"t": times, "q": q, "v": v}
        for name in ("tau", "wrenches"):
            values = np.asarray(getattr(trajectory, name))
            flat = values.reshape(len(t), -1)
            columns = [np.interp(times, t, flat[:, k]) for k in range(flat.shape[1])]
            arrays[name] = (
                np.stack(columns, axis=1).reshape(count, *values.shape[1:])
                if columns
                else np.zeros((count, *values.shape[1:]))
            )
    return Trajectory(trajectory.system, **arrays, parameters=trajectory.parameters, status=trajectory.status)
