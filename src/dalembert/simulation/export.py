"""Trajectories to and from files and tables."""

from __future__ import annotations

import csv
import json
import math
import warnings
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.dynamics.naming import COMPONENTS
from dalembert.errors import ArgumentError, FormatError, MissingExtraError, ModelWarning
from dalembert.files import write_whole
from dalembert.model import Mechanism
from dalembert.model.checks import expect_path
from dalembert.model.names import position_names, velocity_names
from dalembert.simulation.events import Occurrence
from dalembert.simulation.stabiliser import Moving, stabilised

if TYPE_CHECKING:
    from dalembert.simulation.trajectory import Trajectory

ARRAYS = ("t", "q", "v", "tau", "wrenches")
OPTIONAL = ("parameters", "worked")
REQUIRED = ("mechanism", "digest", "positions", "status", "include", "wrench_frames", "elements")
"""Arrays and description that an archive must have to be read."""

HOLD = ("hold", "held_from")
"""What the ``info`` of a motion says about the zero-order hold of its control, and an archive keeps."""


def columns(trajectory: Trajectory) -> dict[str, np.ndarray]:
    """Every column of the table by name: ``t``, ``q.elbow``, ``v.elbow``, ``tau.elbow``, ``wrench.flange.force x``."""
    m = trajectory.mechanism
    table = {"t": trajectory.t}
    for kind, names in (("q", position_names(m)), ("v", velocity_names(m)),
                        ("tau", trajectory.dynamics.input_names)):  # fmt: skip
        table |= {f"{kind}.{name}": getattr(trajectory, kind)[:, k] for k, name in enumerate(names)}
    for i, frame in enumerate(trajectory.dynamics.wrenches):
        table |= {f"wrench.{frame}.{name}": trajectory.wrenches[:, i, k] for k, name in enumerate(COMPONENTS)}
    return table


def write_file(path: Any, write: Callable[[str], object]) -> None:
    """Write a file, whole or not at all; a sentence says what goes wrong with it.

    Args:
        path: what the caller gave.
        write: writes a file of the name it is given.
    """
    place = expect_path(path, "the file of a trajectory")
    try:
        write_whole(place, write)
    except OSError as error:
        raise ArgumentError(f"cannot write {place}: {error}") from error
    except ValueError as error:
        raise ArgumentError(f"{str(place)!r} is no name of a file: {error}") from error


def write_csv(trajectory: Trajectory, path: str | Path) -> None:
    """Write a table; numbers with all their digits."""
    table = columns(trajectory)

    def write(name: str) -> None:
        with open(name, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(table)
            writer.writerows([repr(float(x)) for x in row] for row in zip(*table.values()))

    write_file(path, write)


def write_npz(trajectory: Trajectory, path: str | Path) -> None:
    """Write an archive of arrays."""
    m = trajectory.mechanism
    about = {
        "mechanism": m.name, "digest": trajectory.dynamics.identity,
        "positions": position_names(m), "velocities": velocity_names(m),
        "status": trajectory.status, "include": trajectory.dynamics.include,
        "wrench_frames": trajectory.dynamics.wrenches, "parameters": trajectory.dynamics.parameter_names,
        "elements": trajectory.dynamics.elements.names, "constraints": tuple(trajectory.dynamics.constraints.info),
        "events": [event.name for event in trajectory.events],
        **{name: trajectory.info.get(name) for name in HOLD},
    }  # fmt: skip
    arrays = {name: getattr(trajectory, name) for name in ARRAYS}
    for name, states in (("events", trajectory.events), ("jumps", trajectory.discontinuities)):
        arrays |= {f"{name}_{part}": np.array([getattr(state, part) for state in states]) for part in "tqv"}
    arrays |= {name: x for name in OPTIONAL if (x := getattr(trajectory, name)) is not None}

    def write(name: str) -> None:
        with open(name, "wb") as file:
            np.savez(file, **arrays, about=np.array(json.dumps(about)))  # type: ignore[arg-type]

    write_file(path, write)


def load_trajectory(path: str | Path, mechanism: Moving) -> Trajectory:
    """Read what :meth:`Trajectory.to_npz` wrote. Between samples it is interpolated by cubic polynomials.

    Args:
        path: file to read.
        mechanism: the mechanism that moved, or its dynamics; the names of its coordinates must be those of the file. A
            warning says if it is not the one that moved: quantities along the motion are those of the one given.
    """
    from dalembert.simulation.interpolation import Hermite
    from dalembert.simulation.trajectory import Sample, Trajectory

    path = expect_path(path, "load_trajectory, path")
    if path.is_dir():
        raise FormatError("this is a folder; name the file in it", path)
    if path.is_file() and path.suffix.lower() in (".csv", ".tsv", ".txt", ".parquet", ".mcap"):
        raise FormatError(
            "this is a table, and load_trajectory reads what to_npz wrote, with all that moved; a table that to_csv or "
            "to_parquet wrote can be shown by view(mechanism, file), and any other log of a robot is read by "
            "identification.read_log(file, mechanism, columns={'q': ...}), which says what it took for what",
            path,
        )
    if path.is_file() and not zipfile.is_zipfile(path):  # which NumPy would take for an array or for pickled objects
        raise FormatError("this is no trajectory written by to_npz, or only the beginning of one", path)
    try:
        _check_sizes(path)
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in (*ARRAYS, *OPTIONAL) if name in file.files}
            about = json.loads(str(file["about"])) if "about" in file.files else {}
            happened, reset = (
                [file[f"{name}_{part}"] for part in "tqv" if f"{name}_{part}" in file.files]
                for name in ("events", "jumps")
            )
            missing = [name for name in ARRAYS if name not in arrays]
            missing += [name for name in REQUIRED if not isinstance(about, dict) or name not in about]
    except FileNotFoundError as error:
        raise FormatError("there is no such file", path) from error
    except FormatError:
        raise
    except (OSError, ValueError, KeyError, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error) as error:
        raise FormatError(f"this is no trajectory written by to_npz, or only part of one: {error}", path) from error
    if missing:
        raise FormatError(f"this is no trajectory written by to_npz: it lacks {', '.join(missing)}", path)
    given = isinstance(mechanism, Mechanism)
    acting = (about.get("constraints", "all"), about["elements"]) if given else ("all", "all")
    system = stabilised(mechanism, about["include"] if given else (), about["wrench_frames"], *acting)
    model = system.mechanism
    names = list(position_names(model))
    if names != about["positions"]:
        raise FormatError(
            f"it belongs to the mechanism {about['mechanism']!r} with the coordinates {about['positions']}, not to "
            f"{model.name!r} with {names}",
            path,
        )
    inputs = len(system.dynamics.input_names)
    if arrays["tau"].ndim == 2 and arrays["tau"].shape[1] != inputs:
        raise FormatError(
            f"what moved had {arrays['tau'].shape[1]} inputs, and {model.name!r} as it is given has {inputs}; give "
            "what moved: for a motion of equations these equations",
            path,
        )
    disagreement = _disagreement(
        arrays, happened, reset, about.get("events", []), (model.nq, model.nv, len(system.dynamics.input_names))
    )
    if disagreement:
        raise FormatError(f"this trajectory was damaged or edited: {disagreement}", path)
    arrays = {name: array.astype(float) for name, array in arrays.items()}  # whole numbers would not take parts
    needed = list(system.dynamics.parameter_names)
    if needed != about.get("parameters", needed) or len(needed) != len(arrays.get("parameters", ())):
        raise FormatError(
            f"it was computed with the parameters {about.get('parameters', [])}, but {model.name!r} as it is given has "
            f"{needed}; give Dynamics(mechanism, parameters=[...]) with the same addresses, or the same symbols",
            path,
        )
    if about["digest"] != system.dynamics.identity:
        message = (
            f"{path}: the mechanism {about['mechanism']!r} that moved is not {model.name!r} as it is given: names "
        )
        message += "of coordinates agree, other data do not. Energies, accelerations and forces are those of the latter"
        warnings.warn(message, ModelWarning, stacklevel=2)
    events = tuple(Occurrence(name, float(t), q, v) for name, t, q, v in zip(about.get("events", ()), *happened))
    made = Trajectory(system.with_parameters(arrays.get("parameters")), **arrays, events=events, status=about["status"])
    made.discontinuities = tuple(Sample(float(t), q, v) for t, q, v in zip(*reset))
    made.info = {name: about[name] for name in HOLD if about.get(name) is not None}
    made.interpolant = Hermite(made)
    return made


MOST_BYTES = 256 << 20
"""Bytes that an archive may always take in memory; a larger one no more than its file, several times over."""


def _check_sizes(path: Path) -> None:
    """Raise for an archive whose arrays claim to be larger than what is there of them, before memory is asked for."""
    with zipfile.ZipFile(path) as archive:
        parts = archive.infolist()
        if sum(part.file_size for part in parts) > max(MOST_BYTES, 20 * path.stat().st_size):
            raise FormatError("this file would take more memory than any trajectory of its size", path)
        for part in parts:
            with archive.open(part) as file:
                read = {1: np.lib.format.read_array_header_1_0, 2: np.lib.format.read_array_header_2_0}
                version = np.lib.format.read_magic(file)[0]
                if version not in read:
                    raise FormatError(f"{part.filename} is an array of an unknown kind", path)
                shape, _, dtype = read[version](file)
                if dtype.hasobject or math.prod(shape) * dtype.itemsize > part.file_size:
                    raise FormatError(f"{part.filename} claims {shape} numbers and has fewer", path)


def _disagreement(
    arrays: dict[str, np.ndarray],
    happened: list[np.ndarray],
    jumped: list[np.ndarray],
    events: Any,
    sizes: tuple[int, int, int],
) -> str:
    """What parts of an archive do not fit together, or nothing; sizes are those of q, v and tau."""
    nq, nv, inputs = sizes
    for name, array in (*arrays.items(), *((f"{w}_{x}", a) for w, s in zip(("events", "jumps"), (happened, jumped))
                                           for x, a in zip("tqv", s))):  # fmt: skip
        if array.dtype.kind not in "fiu":
            return f"{name} has dtype {array.dtype}, expected real numbers"
    t, wrenches = arrays["t"], arrays["wrenches"]
    if t.ndim != 1 or not np.isfinite(t).all():
        return "t is not a sequence of finite times"
    steps = np.diff(t)
    if (steps < 0).any() and (steps > 0).any():
        return "its times go forwards and backwards"
    for name, shape in (("q", (len(t), nq)), ("v", (len(t), nv)), ("tau", (len(t), inputs))):
        if arrays[name].shape != shape:
            return f"{name} has shape {arrays[name].shape}, expected {shape}"
    if arrays.get("worked", np.empty((len(t), 2))).shape != (len(t), 2):
        return f"worked has shape {arrays['worked'].shape}, expected {(len(t), 2)}"
    states = np.hstack([arrays["q"], arrays["v"]])
    known = np.isfinite(states).all(axis=1)
    end = len(t) if known.all() else int(np.argmin(known))
    if not np.isnan(states[end:]).all():  # a motion may end before its times do; from then on all of it is unknown
        return f"q and v at t = {t[end]} have entries that are not finite, which no motion has"
    if wrenches.ndim != 3 or wrenches.shape[::2] != (len(t), 6):
        return f"wrenches has shape {wrenches.shape}, expected ({len(t)}, frames, 6)"
    if not isinstance(events, list) or not all(isinstance(name, str) for name in events):
        return "its events have no names"
    for what, found, wanted in (("events", happened, len(events)), ("jumps", jumped, None)):
        if found:
            count = (found[0].shape or (-1,))[0] if wanted is None else wanted
            shapes = [(count,), (count, nq), (count, nv)] if count else [(0,)] * 3  # no states have no coordinates
            if [part.shape for part in found] != shapes:
                return f"its {what} are incomplete"
    return ""


def as_pandas(trajectory: Trajectory) -> Any:
    """A DataFrame with the time as index."""
    try:
        import pandas
    except ImportError as error:
        raise MissingExtraError("pandas", "tables", "Trajectory.to_pandas and to_parquet") from error
    return pandas.DataFrame(columns(trajectory)).set_index("t")


def as_xarray(trajectory: Trajectory) -> Any:
    """A Dataset with dimensions t, position and velocity; and frame and component, if external wrenches act."""
    try:
        import xarray
    except ImportError as error:
        raise MissingExtraError("xarray", "tables", "Trajectory.to_xarray") from error
    m, frames = trajectory.mechanism, list(trajectory.dynamics.wrenches)
    arrays: dict[str, Any] = {
        "q": (("t", "position"), trajectory.q),
        "v": (("t", "velocity"), trajectory.v),
        "tau": (("t", "velocity"), trajectory.tau),
    }
    named = {"position": list(position_names(m)), "velocity": list(velocity_names(m))}
    if trajectory.dynamics.input_names != velocity_names(m):
        arrays["tau"] = ("t", "input"), trajectory.tau
        named["input"] = list(trajectory.dynamics.input_names)
    if frames:
        arrays["wrenches"] = ("t", "frame", "component"), trajectory.wrenches
        named |= {"frame": frames, "component": list(COMPONENTS)}
    return xarray.Dataset(
        arrays,
        coords={"t": trajectory.t, **named},
        attrs={"mechanism": m.name, "status": trajectory.status},
    )
