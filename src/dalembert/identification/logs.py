"""Logs of real robots: which column is which joint's, in which unit, how evenly sampled; and what identification needs.

log = read_log("run3.csv", arm, columns={"tau": "current_{number}"}, units={"q": "deg"})
print(log)                                        # what was taken for what, units, rate, gaps
found = identify(arm, *log.samples(cutoff=20))    # filtered, differentiated, thinned
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import ArgumentError, FormatError, IdentificationWarning, UnsupportedError
from dalembert.identification.regression import differentiate, low_pass
from dalembert.identification.tables import read_table
from dalembert.kinematics.manifold import quaternion_places
from dalembert.model import Mechanism
from dalembert.model.checks import expect, expect_items, expect_path, expect_real
from dalembert.model.names import position_names, position_parts, velocity_names, velocity_parts
from dalembert.simulation.state import as_flag, as_positive
from dalembert.text.layout import columns as table_of
from dalembert.text.layout import page_width
from dalembert.text.suggest import hint

TIMES = ("t", "time", "timestamp", "time_stamp", "stamp", "header_stamp", "log_time", "epoch", "unix_time", "")
"""What columns of times are called, the likeliest first; a unit may follow: ``time_ms``, ``stamp_us``, ``seconds``."""

PATTERNS: dict[str, tuple[str, ...]] = {
    "q": ("q.{joint}", "q_{joint}", "{joint}.q", "{joint}_q", "position.{joint}", "position_{joint}",
          "{joint}.position", "{joint}_position", "pos_{joint}", "{joint}_pos", "q[{index}]", "q{number}", "q_{number}",
          "q_{index}", "position[{index}]", "position_{index}", "pos_{number}", "pos{number}", "actual_q_{index}",
          "angle_{number}", "joint_{number}", "{joint}"),
    "v": ("v.{joint}", "v_{joint}", "{joint}.v", "{joint}_v", "velocity.{joint}", "velocity_{joint}",
          "{joint}.velocity", "{joint}_velocity", "vel_{joint}", "{joint}_vel", "qd_{joint}", "dq_{joint}",
          "v[{index}]", "qd[{index}]", "dq[{index}]", "v{number}", "qd{number}", "dq{number}", "dq_{index}",
          "velocity[{index}]", "velocity_{index}", "vel_{number}", "actual_qd_{index}"),
    "a": ("a.{joint}", "a_{joint}", "{joint}.a", "acceleration.{joint}", "acceleration_{joint}",
          "{joint}_acceleration", "acc_{joint}", "qdd_{joint}", "ddq_{joint}", "a[{index}]", "a{number}", "qdd{number}",
          "ddq{number}", "acceleration[{index}]", "acc_{number}"),
    "tau": ("tau.{joint}", "tau_{joint}", "{joint}.tau", "{joint}_tau", "effort.{joint}", "effort_{joint}",
            "{joint}_effort", "torque.{joint}", "torque_{joint}", "{joint}_torque", "tau[{index}]", "tau{number}",
            "tau_{number}", "tau_{index}", "tau_J_{index}", "effort[{index}]", "effort_{index}", "torque_{number}",
            "torque{number}", "torque_{index}"),
}  # fmt: skip
"""What columns of positions, velocities, accelerations and generalised forces are called: by name of the joint, by its
number from one, or its index from zero: from where they are counted is seen. Upper and lower case are alike."""

TURN = 2 * math.pi
UNITS: dict[str, dict[str, float]] = {
    "time": {"s": 1.0, "sec": 1.0, "secs": 1.0, "second": 1.0, "seconds": 1.0, "ms": 1e-3, "msec": 1e-3,
             "millisecond": 1e-3, "milliseconds": 1e-3, "millis": 1e-3, "us": 1e-6, "µs": 1e-6, "usec": 1e-6,
             "microsecond": 1e-6, "microseconds": 1e-6, "micros": 1e-6, "ns": 1e-9, "nsec": 1e-9, "nanos": 1e-9,
             "nanosecond": 1e-9, "nanoseconds": 1e-9, "min": 60.0},
    "angle": {"rad": 1.0, "mrad": 1e-3, "deg": TURN / 360, "°": TURN / 360, "degree": TURN / 360,
              "degrees": TURN / 360, "rev": TURN, "turn": TURN, "turns": TURN},
    "length": {"m": 1.0, "mm": 1e-3, "cm": 1e-2, "um": 1e-6, "in": 0.0254},
    "torque": {"nm": 1.0, "mnm": 1e-3, "nmm": 1e-3, "ncm": 1e-2, "knm": 1e3, "lbin": 0.1129848290276167,
               "lbft": 1.3558179483314004},
    "force": {"n": 1.0, "mn": 1e-3, "kn": 1e3, "lb": 4.4482216152605, "kgf": 9.80665},
}  # fmt: skip
"""Units and their size in SI units. Rates are written ``deg/s``, ``mm/s^2``; ``rpm`` is known, too."""

UNEVEN = 0.01
"""Steps of time that differ by more than this part are uneven: such logs are resampled before they are filtered."""

GAP = 5.0
"""So many steps without a sample are a gap, over which nobody should interpolate."""

RATES = 5.0, 1e5
"""Samples per second that robots record; with others the unit of the times must be known."""

EPOCH = 5e8, 4e9
"""Seconds since 1970 from 1985 to 2096: numbers of this size are times of day, and tell their unit."""

BEYOND = 0.1
"""Positions may be outside of the range of a joint by this part of it."""


class Samples(NamedTuple):
    """What ``identify`` takes: positions, velocities, accelerations, generalised forces, and the signs of the
    velocities, which multiply Coulomb friction, filtered as the forces are; one row each.
    """

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
    signs: np.ndarray


@dataclass(frozen=True, eq=False)
class Log:
    """A recorded motion in SI units.

    Args:
        mechanism: what moved.
        t: times from the first sample, s, (T,).
        q: positions, (T, nq).
        v: velocities, (T, nv), if the file has them.
        a: accelerations, (T, nv), if the file has them.
        tau: generalised forces, (T, nv), if the file has them.
        sources: by quantity the names of its columns, and the unit in which they were taken.
        notes: what was noticed: rate, gaps, rows left out, units assumed.
        others: names of the columns of the file that were taken for nothing.
    """

    mechanism: Mechanism
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray | None
    a: np.ndarray | None
    tau: np.ndarray | None
    sources: dict[str, tuple[tuple[str, ...], str]]
    notes: tuple[str, ...]
    others: tuple[str, ...] = ()

    @property
    def rate(self) -> float:
        """Samples per second, gaps left out."""
        return 1 / _step(self.t)

    def samples(
        self, cutoff: float, *, thin: bool = True, start: float | None = None, stop: float | None = None
    ) -> Samples:
        """Filtered positions, with velocities and accelerations from them, and torques filtered alike.

        A filter rounds the jumps of torques where Coulomb friction changes its sign. So the signs of the velocities,
        taken from every sample, pass the same filter before they are thinned.

        Both ends, where the filter has seen one side only, are left out: three periods of the cut-off.

        Args:
            cutoff: Hz; far above the motion, see :func:`~dalembert.identification.differentiate`.
            thin: keep samples half a period of the cut-off apart only: nearer ones are not independent.
            start: of what is used, s; the beginning by default.
            stop: of what is used, s; the end by default.
        """
        if self.tau is None:
            unused = f"the file has {_listed(self.others)}, too" if self.others else "the file has no more columns"
            raise ArgumentError(
                f"this log has no generalised forces, or their columns were not recognised: {unused}. Say which they "
                "are: read_log(..., columns={'tau': 'effort_{joint}'}), or --column tau=effort_{joint}, with {number} "
                "or {index} in the place of {joint} where they are numbered"
            )
        if quaternion_places(self.mechanism.tree):
            raise UnsupportedError(
                "quaternions cannot be differentiated by a filter; take q, v and a of the log itself"
            )
        cutoff, thin = as_positive("cutoff", cutoff, "Hz"), as_flag("thin", thin)
        low = -np.inf if start is None else expect_real(start, "start")
        high = np.inf if stop is None else expect_real(stop, "stop")
        inside = (self.t >= low) & (self.t <= high)
        t, q, tau = self.t[inside], self.q[inside], self.tau[inside]
        if len(t) < 30:
            raise ArgumentError(f"{len(t)} samples between start and stop are too few; at least 30 are needed")
        steps = np.diff(t)
        if np.ptp(steps) > UNEVEN * steps.mean():
            even = np.linspace(t[0], t[-1], round((t[-1] - t[0]) / _step(t)) + 1)
            q, tau, t = _resampled(t, q, even), _resampled(t, tau, even), even
        step = (t[-1] - t[0]) / (len(t) - 1)
        end = math.ceil(3 / (cutoff * step))
        every = max(1, round(1 / (2 * cutoff * step))) if thin else 1
        if 2 * end + 10 * every >= len(t):
            raise ArgumentError(
                f"three periods of {cutoff:g} Hz at either end leave nothing of {t[-1] - t[0]:.3g} s; a longer log "
                "or a higher cutoff is needed"
            )
        keep = slice(end, -end, every)
        q, v, a = differentiate(t, q, cutoff)
        parts = (q, v, a, low_pass(t, tau, cutoff), low_pass(t, np.sign(v), cutoff))
        return Samples(*(x[keep] for x in parts))

    def __str__(self) -> str:
        rows = [(name, ", ".join(names), unit) for name, (names, unit) in self.sources.items()]
        lines = [f"log of {self.mechanism.name!r}: {len(self.t)} samples, {self.t[-1]:.6g} s", ""]
        return "\n".join(
            [*lines, *table_of(("", "columns", "unit"), rows, page_width()), "", *(f"  {note}" for note in self.notes)]
        )


def read_log(
    path: str | Path,
    mechanism: Mechanism,
    *,
    columns: Mapping[str, Any] | None = None,
    units: Mapping[str, str] | None = None,
    time_unit: str | None = None,
    topic: str | None = None,
) -> Log:
    """Read a recorded motion: a table with a column of times, and columns of every joint.

    Columns are found by their names if these are usual (``q_elbow``, ``position.elbow``, ``tau1``), otherwise by
    ``columns``. Names of joints win over numbers, and numbers may begin at zero or one; positions numbered otherwise
    than the joints, such as q0 to q6 for six joints, are an error. Units stand behind their names (``pos [deg]``,
    ``pos_deg``), in a line below them, or in ``units``; they are SI units where nobody says anything, and notes say so.
    Times of day tell their unit by their size; a unit that nobody says is an error where seconds would mean fewer than
    5 or more than 100,000 samples per second. Warnings report what would spoil an identification: gaps, uneven
    sampling, positions outside of the ranges of joints.

    Args:
        path: ``.csv`` (any separator, decimal commas, remarks), ``.parquet``, or ``.mcap`` with JSON or ROS 2 messages.
        mechanism: what moved.
        columns: by quantity - ``t``, ``q``, ``v``, ``a``, ``tau`` - a pattern with ``{joint}``, ``{number}`` (from one)
            or ``{index}`` (from zero); or names in the order of the velocities; or names by joint.
        units: by quantity, such as ``{"t": "ms", "q": "deg", "tau": "N mm"}``.
        time_unit: of the times, ``"s"``, ``"ms"``, ``"us"`` or ``"ns"``; the same as ``units={"t": ...}``.
        topic: of an MCAP file with several.
    """
    place = expect_path(path, "read_log, path")
    mechanism = expect(mechanism, Mechanism, "read_log, mechanism")
    topic = None if topic is None else expect(topic, str, "read_log, topic")
    given = dict(expect({} if columns is None else columns, Mapping, "read_log, columns"))
    wanted = {
        name: expect(unit, str, f"read_log, units[{name!r}]")
        for name, unit in expect({} if units is None else units, Mapping, "read_log, units").items()
    }
    if time_unit is not None and wanted.setdefault("t", expect(time_unit, str, "read_log, time_unit")) != time_unit:
        raise ArgumentError(f"{{argument}} = {time_unit!r}, but units['t'] = {wanted['t']!r}", argument="time_unit")
    for what, table in (("columns", given), ("units", wanted)):
        for name in table:
            if name not in ("t", *PATTERNS):
                raise ArgumentError(
                    f"read_log, {what}: there is no quantity {name!r}; there are t, {', '.join(PATTERNS)}"
                )
    raw = read_table(place, topic)
    notes = list(raw.notes)
    sources: dict[str, tuple[tuple[str, ...], str]] = {}
    title = _time_column(place, raw.columns, given.get("t"))
    clock = raw.columns[title]
    known = clock[np.isfinite(clock)]
    if not len(known):
        raise FormatError(f"the column {title!r} has no times", place)
    stated = wanted.get("t") or raw.units.get(title) or _named_unit(title)[1]
    clock_unit = stated or _unit_of_epoch(known) or "s"
    if clock_unit != "s" and not stated:
        notes.append(f"times are {clock_unit} since 1970, by their size")
    sources["t"] = ((title,), clock_unit)
    scale = _scale(clock_unit, ("time",), 0, f"of {title!r}")
    found = {"t": (clock - known[0]) * scale}  # times of day in nanoseconds have no digits to lose
    for quantity, patterns in PATTERNS.items():
        names = position_names(mechanism) if quantity == "q" else velocity_names(mechanism)
        titles, unsure = _columns_of(place, raw.columns, quantity, names, given.get(quantity), patterns, mechanism)
        if unsure and quantity == "q" and titles is None:
            raise FormatError(
                f"{unsure}. Say which they are: columns={{'q': [names of columns in the order of the joints]}}, or "
                "--column q=PATTERN, with {joint}, {number} (from one) or {index} (from zero)", place
            )  # fmt: skip
        if unsure:
            notes.append(unsure)
        if titles is None:
            continue
        parts, own = [], dict[str, None]()
        for name, column in zip(names, titles):
            kinds, rates = _kind(mechanism, quantity, name)
            unit = wanted.get(quantity) or raw.units.get(column)
            if unit is None and not rates and not column.lower().endswith(f"_{name}".lower()):
                unit = _suffix_unit(column, kinds)
            own[unit or ""] = None
            parts.append(raw.columns[column] * (1.0 if unit is None else _scale(unit, kinds, rates, f"of {column!r}")))
        found[quantity] = np.stack(parts, axis=1) if parts else np.zeros((len(clock), 0))
        assumed = "" in own
        sources[quantity] = (tuple(titles), "SI, assumed" if assumed else ", ".join(own))
        if assumed:
            notes.append(f"nothing says in which unit {quantity} is; SI units are assumed: units={{{quantity!r}: ...}}")
    if "q" not in found:
        raise _nothing(place, raw.columns, mechanism)
    arrays, more = _sampled(place, found)
    rate = 1 / _step(arrays["t"])
    if not stated and not RATES[0] <= rate <= RATES[1]:
        raise _unknown_unit(place, title, clock_unit, rate)
    notes += more
    warned = [*_doubts(mechanism, arrays), *(note for note in more if note.startswith("gap"))]
    for text in warned:
        warnings.warn(f"{place.name}: {text}", IdentificationWarning, stacklevel=2)
    notes += [text for text in warned if text not in notes]
    v, a, tau = (arrays.get(name) for name in ("v", "a", "tau"))
    taken = {name for names, _ in sources.values() for name in names}
    others = tuple(name for name in raw.columns if name not in taken)
    return Log(mechanism, arrays["t"], arrays["q"], v, a, tau, sources, tuple(notes), others)


def _time_column(path: Path, table: dict[str, np.ndarray], given: Any) -> str:
    if given is not None:
        name = expect(given, str, "read_log, columns['t']")
        if name not in table:
            raise FormatError(f"there is no column {name!r}{hint(name, list(table), 'there are')}", path)
        return str(name)
    for wanted in TIMES:
        for name in table:
            stem, unit = _named_unit(name)
            if stem == wanted and (wanted or unit):
                return name
    raise FormatError(
        "no column is called as times usually are; name it by columns={'t': ...} or --column t=NAME. There are "
        f"{_listed(table)}",
        path,
    )


def _unknown_unit(path: Path, title: str, unit: str, rate: float) -> ArgumentError:
    """What to say about times that nobody records in the unit they seem to have, and which others they may have."""
    seconds = rate * UNITS["time"][unit]
    rates = {name: seconds / UNITS["time"][name] for name in ("ms", "us", "ns")}
    likely = {name: x for name, x in rates.items() if RATES[0] <= x <= RATES[1]}
    others = "".join(f", {name!r} {x:.4g}" for name, x in [*likely.items()][1:])
    made = f"makes that {next(iter(likely.values())):.4g}{others}, {unit!r}" if likely else ""
    return ArgumentError(
        f"{path.name}: nothing says in which unit the times in {title!r} are; in {unit} they are those of "
        f"{rate:.3g} samples per second",
        argument="time_unit", value=next(iter(likely), unit), remedy=f"{{setting}} {made} keeps it",
    )  # fmt: skip


def _columns_of(
    path: Path,
    table: dict[str, np.ndarray],
    quantity: str,
    names: Sequence[str],
    given: Any,
    patterns: Sequence[str],
    mechanism: Mechanism,
) -> tuple[list[str] | None, str]:
    """The names of the columns of a quantity, one for every coordinate, None if there are none and nobody asked; and
    what makes it unsure which they are.
    """
    low = {name.lower(): name for name in reversed(table)}
    unsure = ""
    if isinstance(given, str):
        if "{" not in given and len(names) > 1:
            raise ArgumentError(
                f"columns[{quantity!r}] = {given!r} is one column for {len(names)} joints; write {{joint}}, {{number}} "
                "(from one) or {index} (from zero) where they differ"
            )
        wanted = list(_filled(given, names))
        first = int("{number}" in given)
        if numbers := sorted(_numbered(table, given).keys() - set(range(first, first + len(names)))):
            unsure = f"{given!r} leaves out the columns numbered {', '.join(map(str, numbers))}"
    elif isinstance(given, Mapping):
        for name in given:
            if name not in names:
                raise ArgumentError(
                    f"columns[{quantity!r}]: {mechanism.name!r} has no {name!r}{hint(name, names, 'it has')}"
                )
        if missing := [name for name in names if name not in given]:
            raise ArgumentError(f"columns[{quantity!r}] has no column for {', '.join(missing)}")
        wanted = [str(given[name]) for name in names]
    elif given is not None:
        wanted = [str(name) for name in expect_items(given, object, f"read_log, columns[{quantity!r}]")]
        if len(wanted) != len(names):
            raise ArgumentError(
                f"columns[{quantity!r}] has {len(wanted)} names; {len(names)} are needed: {', '.join(names)}"
            )
    else:
        return _recognised(table, quantity, names, patterns)
    for name in wanted:
        if name not in table and name.lower() not in low:
            raise FormatError(f"there is no column {name!r}{hint(name, list(table), 'there are')}", path)
    return [name if name in table else low[name.lower()] for name in wanted], unsure


def _recognised(
    table: dict[str, np.ndarray], quantity: str, names: Sequence[str], patterns: Sequence[str]
) -> tuple[list[str] | None, str]:
    """Columns with usual names: those of joints before those with numbers, which must be as many as the joints."""
    low = {name.lower(): name for name in reversed(table)}
    endings = () if quantity in ("v", "a") else UNITS["angle" if quantity == "q" else "torque"]
    every = (*patterns, *(f"{pattern}_{unit}" for unit in endings for pattern in patterns))
    by_joint: set[str] = set()
    for pattern in every:
        if "{joint}" in pattern:
            found = [low.get(name.lower()) for name in _filled(pattern, names)]
            if names and all(name is not None for name in found):
                return [str(name) for name in found], ""
            by_joint.update(name for name in found if name is not None)
    unsure = ""
    for pattern in every:
        numbered = _numbered(table, pattern)
        numbers, count = sorted(numbered), len(names)
        if not names or len(numbers) < count:
            continue
        columns = list(numbered.values())
        if by_joint & {*columns}:
            unsure = unsure or f"some of {_listed(columns)} are called like joints, but not those of all {count}"
        elif numbers in (list(range(count)), list(range(1, count + 1))):
            return [numbered[k] for k in numbers], ""
        else:
            unsure = unsure or (
                f"{_listed(columns)} are not numbered from 0 to {count - 1} or from 1 to {count}, as the {count} "
                f"entries of {quantity} would be"
            )
    return None, unsure


def _numbered(table: Iterable[str], pattern: str) -> dict[int, str]:
    """Columns of a pattern with ``{number}`` or ``{index}``, by their number."""
    parts = re.split(r"\{(?:number|index)\}", pattern)
    if len(parts) != 2:
        return {}
    before, after = parts
    shape = re.compile(rf"{re.escape(before)}(\d+){re.escape(after)}", re.IGNORECASE)
    return {int(match[1]): name for name in table if (match := shape.fullmatch(name))}


def _filled(pattern: str, names: Sequence[str]) -> Iterator[str]:
    for k, name in enumerate(names):
        yield pattern.replace("{joint}", name).replace("{number}", str(k + 1)).replace("{index}", str(k))


def _nothing(path: Path, table: dict[str, np.ndarray], mechanism: Mechanism) -> FormatError:
    names = ", ".join(position_names(mechanism)[:6])
    return FormatError(
        f"no columns of positions are found for {mechanism.name!r} (joints {names}, ...). The file has "
        f"{_listed(table)}. Say which they are: columns={{'q': 'position_{{joint}}'}}, or --column "
        "q=position_{joint}, with {number} or {index} in the place of {joint} where they are numbered; columns takes "
        "a dict from joints to columns, too",
        path,
    )


def _listed(table: Iterable[str]) -> str:
    names = list(map(repr, table))
    return ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")


# ---------------------------------------------------------------------------------------------------------------- units


def _kind(mechanism: Mechanism, quantity: str, name: str) -> tuple[tuple[str, ...], int]:
    """What a coordinate is measured in, and which rate of it."""
    parts = position_parts if quantity == "q" else velocity_parts
    unit = next(unit for joint in mechanism.joints for part, unit in parts(joint) if part == name)
    if quantity == "tau":
        return (("torque",) if unit == "rad" else ("force",)), 0
    return (("length",) if unit == "m" else ("angle",)), {"q": 0, "v": 1, "a": 2}[quantity]


def _scale(unit: str, kinds: Sequence[str], rates: int, where: str) -> float:
    """What one of a unit is in SI units."""
    text = re.sub(r"[\s·*\-_.]", "", unit.strip()).lower()
    if rates == 1 and "angle" in kinds and text in ("rpm", "1/min"):
        return TURN / 60
    if rates:
        for ending in {1: ("/s", "s^1", "s1"), 2: ("/s^2", "/s2", "/s²", "/s/s")}[rates]:
            if text.endswith(ending):
                text = text.removesuffix(ending)
                break
    for kind in kinds:
        if text in UNITS[kind]:
            return UNITS[kind][text]
    known = ", ".join(f"{x}{'/s' * (rates == 1)}{'/s^2' * (rates == 2)}" for kind in kinds for x in UNITS[kind])
    raise ArgumentError(f"the unit {unit!r} {where} is unknown; known are {known}", argument="units")


def _named_unit(title: str) -> tuple[str, str | None]:
    """A title of times without its unit, and the unit: ``time``, ``ms`` of ``time_ms``, ``Time.ms`` or ``timeMs``."""
    words = re.split(r"[\s_.\-/]+|(?<=[a-z])(?=[A-Z])", title.strip())
    last = words[-1].lower()
    unit = last if last in UNITS["time"] and last != "min" and words != ["s"] else None  # min may be the least one
    return "_".join(words[:-1] if unit else words).lower(), unit


def _unit_of_epoch(clock: np.ndarray) -> str | None:
    """The unit of times of day, by the size of their numbers."""
    middle = float(np.median(clock))
    return next((x for x in ("s", "ms", "us", "ns") if EPOCH[0] < middle * UNITS["time"][x] < EPOCH[1]), None)


def _suffix_unit(title: str, kinds: Sequence[str]) -> str | None:
    """``ms`` of ``time_ms``, ``deg`` of ``elbow_position_deg``."""
    before, _, ending = title.lower().rpartition("_")
    return ending if before and any(ending in UNITS[kind] for kind in kinds) else None


# ------------------------------------------------------------------------------------------------------------- sampling


def _sampled(path: Path, found: dict[str, np.ndarray]) -> tuple[dict[str, np.ndarray], list[str]]:
    """Rows in the order of time, without those that are incomplete or repeated; and what was noticed."""
    notes = []
    whole = np.isfinite(found["t"])
    for name in ("q", "v", "a", "tau"):
        if name in found:
            whole &= np.isfinite(found[name]).all(axis=1)
    if not whole.any():
        raise FormatError("no row has numbers in all the columns that are needed", path)
    if lost := int((~whole).sum()):
        notes.append(f"{lost} rows with missing numbers are left out")
    rows = {name: x[whole] for name, x in found.items()}
    order = np.argsort(rows["t"], kind="stable")
    if (order != np.arange(len(order))).any():
        notes.append("rows are not in the order of their times; they were sorted")
    rows = {name: x[order] for name, x in rows.items()}
    fresh = np.concatenate([[True], np.diff(rows["t"]) > 0])
    if twice := int((~fresh).sum()):
        if 2 * twice > len(fresh):
            raise FormatError(
                f"{twice} of {len(fresh)} rows have the time of the row before: is there a column with more digits?",
                path,
            )
        notes.append(f"{twice} rows with the time of the row before are left out")
    rows = {name: x[fresh] for name, x in rows.items()}
    rows["t"] = rows["t"] - rows["t"][0]
    if len(rows["t"]) < 2:
        raise FormatError("there is a single sample; a motion needs more", path)
    steps = np.diff(rows["t"])
    if not (np.isfinite(steps) & (steps > 0)).all():
        raise FormatError(
            f"times reach over {rows['t'][-1]:.3g} s, too far for their steps to be seen: one of them is wrong", path
        )
    usual = _step(rows["t"])
    even = np.ptp(steps) <= UNEVEN * usual
    jitter = "evenly" if even else f"unevenly, steps {steps.min():.3g} to {steps.max():.3g} s"
    notes.append(f"sampled at {1 / usual:.6g} Hz, {jitter}")
    gaps = np.flatnonzero(steps > GAP * usual)
    if len(gaps):
        longest = int(gaps[np.argmax(steps[gaps])])
        notes.append(
            f"gap of {steps[longest]:.3g} s at {rows['t'][longest]:.6g} s, the longest of {len(gaps)}; use the part "
            "between them: samples(cutoff, start=..., stop=...)"
        )
    return rows, notes


def _step(t: np.ndarray) -> float:
    """The mean step between samples, gaps left out, s."""
    steps = np.diff(t)
    return float(steps[steps <= GAP * np.median(steps)].mean())


def _resampled(t: np.ndarray, x: np.ndarray, even: np.ndarray) -> np.ndarray:
    from scipy.interpolate import PchipInterpolator

    return np.asarray(PchipInterpolator(t, x, axis=0)(even))  # which does not overshoot where steps are uneven


def _doubts(mechanism: Mechanism, rows: dict[str, np.ndarray]) -> Iterator[str]:
    """What makes units or joints look confused."""
    q = rows["q"]
    for joint in mechanism.joints:
        limits = joint.limits
        if joint.nq != 1 or joint.mimic is not None or limits is None:
            continue
        low, high = (float(x) for x in (limits.lower, limits.upper))
        if not math.isfinite(high - low):
            continue
        own = q[:, mechanism.q_slice(joint.name).start]
        least, most, slack = float(own.min()), float(own.max()), BEYOND * (high - low)
        if least < low - slack or most > high + slack:
            yield (
                f"{joint.name!r} goes from {least:.4g} to {most:.4g}, but its range is {low:.4g} to {high:.4g}: are "
                "these degrees, or is it another joint's column?"
            )
    if "v" in rows and len(q) > 10 and mechanism.nq == mechanism.nv:
        slope = np.gradient(q, rows["t"], axis=0)
        given, size = rows["v"], np.sqrt((slope**2).mean(axis=0))
        for k, name in enumerate(velocity_names(mechanism)):
            ratio = float(slope[:, k] @ given[:, k]) / max(float(given[:, k] @ given[:, k]), 1e-300)
            if size[k] > 1e-6 and not 0.5 < ratio < 2:
                yield (
                    f"positions of {name!r} change {ratio:.3g} times as fast as its velocities say: units or columns "
                    "differ"
                )
