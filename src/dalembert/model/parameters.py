"""The numbers of a mechanism by name: list them, turn some into symbols, put numbers back.

A parameter is addressed by the name of its owner and what it is: ``link7.mass``, ``link7.com.x``, ``link7.inertia.xy``
(about the centre of mass), ``joint3.damping``, ``joint3.placement.z``, ``joint3.placement.roll`` (URDF angles),
``tool.placement.x``, ``spring.stiffness``, ``closure.placement_b.x``, ``push.component.2``,
``foot.friction``, ``foot.shape_a.size.0`` (of a contact), ``gravity.z``. If two
owners of different kinds share a name and an attribute, the address says which is meant: ``joint:tool.placement.x``,
``frame:tool.placement.x``.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from dalembert.algebra import scalar
from dalembert.algebra.rotations import HALF_PI, rotation_from_rpy, rpy_from_rotation
from dalembert.algebra.scalar import Scalar, is_sympy
from dalembert.algebra.transform import Transform
from dalembert.errors import ArgumentError, ModelWarning
from dalembert.labels import as_mapping
from dalembert.model.checks import expect
from dalembert.model.formula import Formula
from dalembert.model.ground import Ground
from dalembert.model.joint import SIZES, plane_axes
from dalembert.model.mechanism import Mechanism
from dalembert.model.names import formula_names
from dalembert.model.record import Record, floats, is_finite
from dalembert.text.suggest import hint


def parameters(mechanism: Mechanism) -> dict[str, Scalar]:
    """Every addressable parameter with its value, in the order of the mechanism; SI units.

    The angles of a placement are listed only while its rotation is numeric.
    """
    expect(mechanism, Mechanism, "parameters")
    return {address: _read(_owner(mechanism, *place[:2]), place[2]) for address, place in addresses(mechanism).items()}


def symbolise(mechanism: Mechanism, symbols: Mapping[str, Any]) -> Mechanism:
    """Turn chosen numbers into symbols (or any expressions, or other numbers).

    Args:
        mechanism: the mechanism.
        symbols: by address (see :func:`parameters`), a SymPy symbol or expression, a number, or a name, for which a
            symbol of the mechanism with that name, or else a new one, is taken.
    """
    expect(mechanism, Mechanism, "symbolise")
    expect(symbols, Mapping, "symbolise, symbols by address")
    places = addresses(mechanism)
    changes: dict[tuple[str, str], dict[Path, Scalar]] = {}
    for address, value in symbols.items():
        if address not in places:
            raise ArgumentError(f"{mechanism.name!r} has no parameter {address!r}{hint(address, places, 'it has')}")
        kind, name, path = places[address]
        changes.setdefault((kind, name), {})[path] = _symbol(mechanism, value) if isinstance(value, str) else value
    fields: dict[str, Any] = {}
    for kind, collection in COLLECTIONS.items():
        items = getattr(mechanism, collection)
        if any(owner == kind for owner, _ in changes):
            fields[collection] = [_written(item, changes.get((kind, item.name), {})) for item in items]
    gravity = changes.get(("gravity", ""))
    return with_current_notes(_written(mechanism, gravity or {}).replace(**fields), mechanism)


def substitute(mechanism: Mechanism, values: Mapping[Any, Any]) -> Mechanism:
    """Put numbers, or other expressions, in the place of symbols.

    Exact values such as pi/3 stay exact beside symbols; when no symbol is left, every number of the result is a float.
    A planar joint whose normal loses its symbols may take other directions in its plane for x and y, which a warning
    and a note report.

    Args:
        mechanism: the mechanism.
        values: by symbol, or name of a symbol, its value.
    """
    import sympy

    expect(mechanism, Mechanism, "substitute")
    values = expect(as_mapping(values), Mapping, "substitute, values by symbol or name")
    by_name: dict[str, list[Any]] = {}
    for symbol in mechanism.symbols:
        by_name.setdefault(symbol.name, []).append(symbol)
    mapping: dict[Any, Any] = {}
    rounded: set[Any] = set()
    for key, value in values.items():
        matches = by_name.get(key, []) if isinstance(key, str) else [s for s in mechanism.symbols if s == key]
        if not matches and str(key) in by_name:
            raise ArgumentError(
                f"{mechanism.name!r} has another symbol {str(key)!r}: its own assumes "
                f"{_assumed(by_name[str(key)][0])}, "
                f"the one given assumes {_assumed(key)}, and SymPy takes them for two; give the value by name, "
                f"{{{str(key)!r}: ...}}, or use the symbol in mechanism.symbols"
            )
        if not matches:
            raise ArgumentError(f"{mechanism.name!r} has no symbol {key!r}{hint(str(key), by_name, 'it has')}")
        if any(symbol in mapping for symbol in matches):
            raise ArgumentError(f"substitute: {str(key)!r} is given twice, by name and as a symbol; keep one")
        mapping |= dict.fromkeys(matches, _exact_quarter_turn(value, sympy))
        if isinstance(value, (float, np.floating)):
            rounded.update(matches)
    final = set(mechanism.symbols) <= set(mapping) and not any(v.free_symbols for v in mapping.values())

    q_names, v_names = formula_names(mechanism.joints)
    values = {s.name: value for s, value in mapping.items() if s.name not in (*q_names, *v_names, "t")}

    def replaced(x: Scalar) -> Scalar:
        if isinstance(x, Formula):  # of constraints and forces: coordinates stay in it
            return x.substituted(values)
        if not scalar.is_sympy(x):
            return x
        touched = bool(x.free_symbols & mapping.keys())
        result = x.subs(mapping, simultaneous=True) if touched else x
        if not (final or (touched and not result.free_symbols)):
            return result
        value = scalar.constant(result)
        if isinstance(value, complex) or value != value:  # NaN is the number that differs from itself
            places = [address for address, old in parameters(mechanism).items() if old == x]
            given = ", ".join(f"{symbol} = {mapping[symbol]}" for symbol in mapping if symbol in x.free_symbols)
            raise ArgumentError(
                f"{', '.join(places) or 'an expression'} of {mechanism.name!r}: {x} is not a real number at {given}"
            )
        return float(result) if final or result.has(sympy.Float) or x.free_symbols & rounded else result

    result = with_current_notes(map_scalars(mechanism, replaced), mechanism)
    notes = list(turned_planes(mechanism, result, mapping))
    for note in notes:
        warnings.warn(f"substitute: {note}", ModelWarning, stacklevel=2)
    return result.replace(notes=(*result.notes, *notes)) if notes else result


def _assumed(symbol: Any) -> str:
    """The assumptions that a symbol was made with: which distinguish it from others of its name."""
    given = getattr(symbol, "assumptions0", {})
    made = getattr(symbol, "_assumptions_orig", given)
    return ", ".join(f"{name}={value}" for name, value in sorted(made.items())) or "nothing"


def _symbol(mechanism: Mechanism, name: str) -> Any:
    import sympy

    if not name.isidentifier():
        raise ArgumentError(f"{name!r} is not a name for a symbol; pass a SymPy expression instead of its text")
    return next((symbol for symbol in mechanism.symbols if symbol.name == name), sympy.Symbol(name, real=True))


# ---------------------------------------------------------------------------------------------------- reading, writing


def _owner(mechanism: Mechanism, kind: str, name: str) -> Any:
    if kind == "gravity":
        return mechanism
    return next(item for item in getattr(mechanism, COLLECTIONS[kind]) if item.name == name)


def _read(item: Any, path: Path) -> Scalar:
    for step in path:
        if step == "rpy":
            item = rpy_from_rotation(item.rotation)
        else:
            item = getattr(item, step) if isinstance(step, str) else item[step]
    return item.item() if isinstance(item, np.generic) else item


def _written(item: Any, changes: Mapping[Path, Scalar]) -> Any:
    """A copy of a record, array, tuple or placement with the entries at the given paths changed."""
    if not changes:
        return item
    if isinstance(item, Transform):
        return _placed(item, changes)
    if isinstance(item, Record):
        inner: dict[str, dict[Path, Scalar]] = {}
        for (step, *rest), value in changes.items():
            inner.setdefault(step, {})[tuple(rest)] = value
        return item.replace(
            **{
                step: next(iter(below.values())) if () in below else _written(getattr(item, step), below)
                for step, below in inner.items()
            }
        )
    if isinstance(item, tuple):
        return tuple(changes.get((k,), x) for k, x in enumerate(item))
    entries = np.array(item, dtype=object)
    for (index,), value in changes.items():
        entries[index] = value
        if isinstance(index, tuple):
            entries[index[::-1]] = value  # an inertia tensor stays symmetric
    return entries


def _placed(placement: Transform, changes: Mapping[Path, Scalar]) -> Transform:
    shifts, turns = ({path[1:]: x for path, x in changes.items() if path[0] == part} for part in ("translation", "rpy"))
    translation, rotation = _written(placement.translation, shifts), placement.rotation
    if turns:
        rotation = rotation_from_rpy(*_written(rpy_from_rotation(rotation), turns))
    return Transform(_numeric(rotation), _numeric(translation))


def _numeric(entries: Any) -> Any:
    """An array of objects that are all numbers as floats."""
    return entries.astype(float) if all(scalar.is_number(x) for x in entries.flat) else entries


def map_scalars(item: Any, function: Callable[[Scalar], Scalar]) -> Any:
    """A copy of a nested record with a function applied to every scalar in it.

    Args:
        item: a record, a transform, an array, a tuple of such, or a scalar.
        function: takes a scalar and gives its replacement.
    """
    if isinstance(item, Transform):
        return Transform(map_scalars(item.rotation, function), map_scalars(item.translation, function))
    if isinstance(item, Record):
        fields = [field.name for field in dataclasses.fields(item)]  # type: ignore[arg-type]
        return item.replace(**{name: map_scalars(getattr(item, name), function) for name in fields})
    if isinstance(item, tuple):
        return tuple(map_scalars(x, function) for x in item)
    if isinstance(item, np.ndarray):
        if item.dtype != object:
            return item
        entries = np.empty(item.shape, dtype=object)
        for index, x in np.ndenumerate(item):
            entries[index] = function(x)
        return _numeric(entries)
    return function(item)


def _exact_quarter_turn(value: Any, sympy: Any) -> Any:
    """A number as SymPy sees it; the floats nearest to multiples of pi/2 become those multiples.

    So the zeros of a right angle come out as zeros, as they do in a mechanism built from numbers; anywhere else the
    multiple is the same float again.
    """
    if isinstance(value, (float, np.floating)) and value != 0 and math.isfinite(value):
        quarters = round(value / HALF_PI)
        if value == quarters * HALF_PI:
            return quarters * sympy.pi / 2
    if not (scalar.is_sympy(value) or (scalar.is_number(value) and not isinstance(value, complex))):
        raise ArgumentError(f"the value of a symbol is {value!r}; it must be a real number or a SymPy expression")
    return sympy.sympify(value, strict=True)


# ------------------------------------------------------------------------------------------------------------ addresses


COLLECTIONS = {
    "body": "bodies", "joint": "joints", "frame": "frames", "constraint": "constraints", "force": "forces",
    "contact": "contacts",
}  # fmt: skip
AXES = ("x", "y", "z")
ANGLES = ("roll", "pitch", "yaw")
MOMENTS = {"xx": (0, 0), "xy": (0, 1), "xz": (0, 2), "yy": (1, 1), "yz": (1, 2), "zz": (2, 2)}

Path = tuple[Any, ...]
"""Where a parameter lies in its owner: attribute names, then an index into an array."""


def addresses(mechanism: Mechanism) -> dict[str, tuple[str, str, Path]]:
    """For every address the kind and name of the owner and the path inside it."""
    found = [
        (f"{name}.{attribute}" if name else attribute, kind, name, path)
        for kind, name, attribute, path in _slots(mechanism)
    ]
    count = Counter(address for address, *_ in found)
    return {
        (address if count[address] == 1 else f"{kind}:{address}"): (kind, name, path)
        for address, kind, name, path in found
    }


def _slots(mechanism: Mechanism) -> Iterator[tuple[str, str, str, Path]]:
    for k, axis in enumerate(AXES):
        yield "gravity", "", f"gravity.{axis}", ("gravity", k)
    for body in mechanism.bodies:
        yield "body", body.name, "mass", ("inertia", "mass")
        for k, axis in enumerate(AXES):
            yield "body", body.name, f"com.{axis}", ("inertia", "center", k)
        for entry, index in MOMENTS.items():
            yield "body", body.name, f"inertia.{entry}", ("inertia", "tensor", index)
    for joint in mechanism.joints:
        yield from _placement_slots("joint", joint.name, joint.placement)
        if SIZES[joint.kind][1]:
            for attribute in ("damping", "friction", "armature"):
                yield "joint", joint.name, attribute, (attribute,)
        if joint.kind == "helical":
            yield "joint", joint.name, "pitch", ("pitch",)
        if joint.mimic:
            yield "joint", joint.name, "mimic.multiplier", ("mimic", "multiplier")
            yield "joint", joint.name, "mimic.offset", ("mimic", "offset")
    for frame in mechanism.frames:
        yield from _placement_slots("frame", frame.name, frame.placement)
    for constraint in mechanism.constraints:
        for attribute in constraint.numbers:
            yield "constraint", constraint.name, attribute, (attribute,)
        for k in range(len(constraint.coefficients)):
            yield "constraint", constraint.name, f"coefficient.{k}", ("coefficients", k)
        for end in constraint.placements:
            yield from _placement_slots("constraint", constraint.name, getattr(constraint, end), end)
    for force in mechanism.forces:
        for attribute in force.numbers:
            yield "force", force.name, attribute, (attribute,)
        for k in range(len(force.components)):
            yield "force", force.name, f"component.{k}", ("components", k)
        for end in force.placements:
            yield from _placement_slots("force", force.name, getattr(force, end), end)
    for contact in mechanism.contacts:
        for attribute in contact.numbers:
            yield "contact", contact.name, attribute, (attribute,)
        for end in ("shape_a", "shape_b"):
            shape = getattr(contact, end)
            numbers, names = ("coefficients", shape.names) if isinstance(shape, Ground) else ("size", None)
            for k in range(len(getattr(shape, numbers))):
                yield "contact", contact.name, f"{end}.{names[k] if names else f'size.{k}'}", (end, numbers, k)
            yield from _placement_slots("contact", contact.name, shape.placement, f"{end}.placement")


def _placement_slots(
    kind: str, name: str, placement: Transform, attribute: str = "placement"
) -> Iterator[tuple[str, str, str, Path]]:
    path = tuple(attribute.split("."))
    for k, axis in enumerate(AXES):
        yield kind, name, f"{attribute}.{axis}", (*path, "translation", k)
    if placement.rotation.dtype != object:
        for k, angle in enumerate(ANGLES):
            yield kind, name, f"{attribute}.{angle}", (*path, "rpy", k)


# -------------------------------------------------------------------------------------------- default values of symbols


DEFAULT_VALUES = "default values of the symbols: "
"""How a note begins that lists symbols, ``name = value``, with commas between them."""


def listed(values: Mapping[str, float]) -> str:
    """``name = value``, with commas between them, with all digits."""
    return ", ".join(f"{name} = {value!r}" for name, value in values.items())


def is_default_note(note: str) -> bool:
    """True for a note that lists default values, be it of a mechanism that was attached."""
    return DEFAULT_VALUES in note


def default_values(mechanism: Mechanism) -> dict[str, float]:
    """The default values that the notes of a mechanism list, by name; a name with two different ones has none."""
    found: dict[str, set[float]] = {}
    for note in filter(is_default_note, mechanism.notes):
        for item in note.partition(DEFAULT_VALUES)[2].split(", "):
            name, _, value = item.partition(" = ")
            with contextlib.suppress(ValueError):  # a note that somebody wrote by hand
                found.setdefault(name, set()).add(float(value))
    return {name: min(values) for name, values in found.items() if len(values) == 1}


def with_current_notes(mechanism: Mechanism, before: Mechanism) -> Mechanism:
    """A mechanism without the default values of symbols that have gone."""
    gone = {symbol.name for symbol in before.symbols} - {symbol.name for symbol in mechanism.symbols}
    notes = []
    for note in mechanism.notes:
        head, mark, items = note.partition(DEFAULT_VALUES)
        kept = [item for item in items.split(", ") if item.partition(" = ")[0] not in gone]
        if kept:
            notes.append(head + mark + ", ".join(kept))
    return mechanism if tuple(notes) == mechanism.notes else mechanism.replace(notes=tuple(notes))


# --------------------------------------------------------------------------------------------------------------- planes


def turned_planes(before: Mechanism, after: Mechanism, values: Mapping[Any, Any]) -> Iterator[str]:
    """A sentence for every planar joint whose x and y changed their directions when its normal became numbers."""
    for old, new in zip(before.joints, after.joints):
        if old.kind != "planar" or floats(old.axis) is not None or (normal := floats(new.axis)) is None:
            continue
        now = plane_axes(normal)
        was = [[x.subs(values) if is_sympy(x) else x for x in axis] for axis in plane_axes(old.axis)]
        if all(map(is_finite, (*was[0], *was[1]))) and np.allclose(np.array(was, dtype=float), now, atol=1e-9):
            continue
        x, y = (f"[{', '.join(f'{entry:.4g}' for entry in axis + 0.0)}]" for axis in now)
        yield (
            f"joint {new.name!r}: x and y of its plane are now along {x} and {y}; while its normal had symbols they "
            "were the axes x and y turned with z by the shortest rotation, so its coordinates have another meaning"
        )
