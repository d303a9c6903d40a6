"""Writer for the TOML description; see :mod:`dalembert.formats.toml` for the format."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.algebra import scalar
from dalembert.algebra.rotations import rpy_from_rotation
from dalembert.algebra.scalar import same
from dalembert.algebra.transform import Transform
from dalembert.errors import ArgumentError, FormatError, UnsupportedError
from dalembert.model.body import Body, Frame, Shape, Surface
from dalembert.model.checks import expect, shown, write_text
from dalembert.model.constraint import Constraint
from dalembert.model.contact import SOLIMP, SOLREF, Contact
from dalembert.model.expression import LARGEST, evaluate_exact, names, written
from dalembert.model.force import Force
from dalembert.model.formula import Formula
from dalembert.model.ground import Ground
from dalembert.model.joint import Joint, Limits
from dalembert.model.mechanism import Mechanism
from dalembert.model.parameters import default_values, is_default_note
from dalembert.model.record import exact_number
from dalembert.text.suggest import hint

Pairs = list[tuple[str, str]]
"""Keys and values, both as TOML."""


def write_toml(
    mechanism: Mechanism, path: str | Path | None = None, parameters: Mapping[str, float] | None = None
) -> str:
    """Write a mechanism as TOML and return the text.

    :func:`~dalembert.formats.read_toml` reads the same mechanism back, with the same digest. Positive symbols stay
    positive; all others become real symbols, whatever else was assumed of them. Some things come back with the same
    value in another form, and so with another digest: the number in ``0.1*x`` is then the fraction 1/10, one before a
    sum is multiplied out, and where there are no symbols, exact constants such as pi/3 are floats.

    Args:
        mechanism: any mechanism; its expressions may use what :mod:`dalembert.model.expression` lists.
        path: the file to write; nothing is written if it is None.
        parameters: default values of all symbols, written as the ``[parameters]`` table. None takes those that the
            file had from which the mechanism was read; if a symbol has none, the others stay a note.
    """
    expect(mechanism, Mechanism, "write_toml")
    notes = mechanism.notes
    if parameters is None:
        parameters = _known_defaults(mechanism)
    if parameters is not None:
        notes = tuple(note for note in notes if not is_default_note(note))  # the table makes that note again
    top: Pairs = [("name", _text(mechanism.name)), ("gravity", _vector(mechanism.gravity, "gravity"))]
    if notes:
        top.append(("notes", "[\n" + "".join(f"    {_text(note)},\n" for note in notes) + "]"))
    if not mechanism.strict:
        top.append(("strict", "false"))
    if positive := [symbol.name for symbol in mechanism.symbols if symbol.is_positive]:
        top.append(("positive", "[" + ", ".join(map(_text, positive)) + "]"))
    if not mechanism.bodies:
        top.append(("body", "[]"))
    blocks = [_lines(top)]
    if parameters is not None:
        blocks.append("[parameters]\n" + _lines(_parameters(mechanism, parameters)))
    blocks += (f"[[body]]\n{_lines(_body(body))}" for body in mechanism.bodies)
    blocks += (f"[[joint]]\n{_lines(_joint(joint))}" for joint in mechanism.joints)
    blocks += (f"[[frame]]\n{_lines(_frame(frame))}" for frame in mechanism.frames)
    blocks += (f"[[constraint]]\n{_lines(_between(item))}" for item in mechanism.constraints)
    blocks += (f"[[force]]\n{_lines(_between(item))}" for item in mechanism.forces)
    blocks += (f"[[contact]]\n{_lines(_contact(item))}" for item in mechanism.contacts)
    text = "\n".join(blocks)
    if path is not None:
        write_text(path, text, "write_toml, path")
    return text


def _lines(pairs: Pairs) -> str:
    return "".join(f"{key} = {value}\n" for key, value in pairs)


def _inline(pairs: Pairs) -> str:
    return "{ " + ", ".join(f"{key} = {value}" for key, value in pairs) + " }"


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _known_defaults(mechanism: Mechanism) -> dict[str, float] | None:
    known = default_values(mechanism)
    names = {symbol.name for symbol in mechanism.symbols}
    return {name: value for name, value in known.items() if name in names} if names and names <= set(known) else None


def _parameters(mechanism: Mechanism, parameters: Mapping[str, float]) -> Pairs:
    names = {symbol.name for symbol in mechanism.symbols}
    expect(parameters, Mapping, "write_toml, parameters")
    for name, value in parameters.items():
        expect(name, str, "write_toml, name of a parameter")
        if not isinstance(value, (int, float, np.integer, np.floating)):
            raise ArgumentError(f"write_toml, parameter {name!r}: expected a number, got {shown(value)}")
    for name in sorted(names - set(parameters)):
        raise ArgumentError(f"the symbol {name!r} of {mechanism.name!r} has no value among the parameters")
    for name in sorted(set(parameters) - names):
        raise ArgumentError(f"{mechanism.name!r} has no symbol {name!r}{hint(name, sorted(names))}")
    keys = {name: name if name.isascii() else _text(name) for name in parameters}  # TOML quotes the Greek ones
    return [(keys[name], _scalar(float(value), f"parameter {name}")) for name, value in parameters.items()]


# --------------------------------------------------------------------------------------------------------- numbers


def _scalar(x: Any, where: str) -> str:
    x = exact_number(x)
    if not scalar.is_sympy(x):
        if math.isinf(x):
            return "inf" if x > 0 else "-inf"
        if abs(float(x)) > LARGEST:
            raise UnsupportedError(f"{where}: {x:g} cannot be written: numbers in files go up to {LARGEST:g}")
        return str(int(x)) if isinstance(x, (int, np.integer)) else repr(float(x))
    import sympy

    # Floats keep all their digits as fractions of powers of ten
    exact = x.xreplace({f: sympy.Rational(repr(float(f))) for f in x.atoms(sympy.Float)})
    symbols = {symbol.name for symbol in exact.free_symbols}
    positive = {symbol.name for symbol in exact.free_symbols if symbol.is_positive}
    text = written(exact)
    try:
        unlike = symbols ^ names(text)  # pi, a name such as "2*a", a constant that only SymPy knows
        for _ in range(20):  # until it stays as it is: reading multiplies 2*(a + b) out, which may change an order
            before, text = text, written(evaluate_exact(text, positive))
            if text == before:
                break
    except FormatError as error:
        raise UnsupportedError(
            f"{where}: this expression cannot be written: {error.message}. If a name is at fault, change it, or give "
            "the symbol a number with da.substitute; what files have no words for stays in Python"
        ) from error
    for name in sorted(unlike):
        raise UnsupportedError(f"{where}: {name!r} is no symbol to the reader of expressions; call it something else")
    return _text(text)


def _vector(values: Iterable[Any], where: str) -> str:
    return "[" + ", ".join(_scalar(x, where) for x in values) + "]"


def _matrix(rows: Any, where: str) -> str:
    return "[" + ", ".join(_vector(row, where) for row in rows) + "]"


def _zero(values: Any) -> bool:
    return all(scalar.is_zero(x) for x in np.asarray(values, dtype=object).flat)


def _pose(placement: Transform, where: str) -> Pairs:
    """``xyz`` and ``rpy``, or ``rotation`` where roll, pitch and yaw would not give every bit back."""
    pairs: Pairs = []
    if not _zero(placement.translation):
        pairs.append(("xyz", _vector(placement.translation, where)))
    rotation = placement.rotation
    if rotation.dtype != object:
        angles = rpy_from_rotation(rotation)
        if np.array_equal(rotation, np.eye(3)):
            return pairs
        if np.array_equal(Transform.from_rpy_xyz(angles, np.zeros(3)).rotation, rotation):
            return [*pairs, ("rpy", _vector(angles, where))]
    return [*pairs, ("rotation", _matrix(rotation, where))]


# ------------------------------------------------------------------------------------------------------------- parts


def _body(body: Body) -> Pairs:
    where = f"body {body.name!r}"
    pairs: Pairs = [("name", _text(body.name))]
    inertia = body.inertia
    if not scalar.is_zero(inertia.mass):
        pairs.append(("mass", _scalar(inertia.mass, where)))
    if not _zero(inertia.center):
        pairs.append(("center", _vector(inertia.center, where)))
    t = inertia.tensor
    if not _zero(t):
        six = [t[0, 0], t[1, 1], t[2, 2], t[0, 1], t[0, 2], t[1, 2]]
        symmetric = all(t[i, j] == t[j, i] for i, j in ((0, 1), (0, 2), (1, 2)))
        pairs.append(
            ("inertia", _vector(six[:3] if _zero(six[3:]) else six, where) if symmetric else _matrix(t, where))
        )
    for key, write in (("shapes", _shape), ("collisions", _collision)):
        if shapes := getattr(body, key):
            pairs.append((key, "[\n" + "".join(f"    {_inline(write(shape, where))},\n" for shape in shapes) + "]"))
    return pairs


def _shape(shape: Shape, where: str) -> Pairs:
    pairs: Pairs = [("kind", _text(shape.kind))]
    if shape.size:
        pairs.append(("size", _vector(shape.size, where)))
    if shape.mesh:
        pairs.append(("mesh", _text(shape.mesh)))
    return [*pairs, *_pose(shape.placement, where), ("colour", _vector(shape.colour, where))]


def _collision(shape: Shape, where: str) -> Pairs:
    pairs = _shape(shape, where)[:-1]  # what touches has no colour
    if shape.name:
        pairs.insert(0, ("name", _text(shape.name)))
    if shape.vertices:
        pairs.append(("vertices", _matrix(shape.vertices, where)))
    default = Surface()
    for key in (f.name for f in fields(Surface)) if shape.surface else ():
        value = getattr(shape.surface, key)
        if isinstance(value, tuple):
            pairs.append((key, _vector(value, where)))
        elif value is not None and not same(value, getattr(default, key)):
            pairs.append((key, _scalar(value, where)))
    if shape.surface == default:
        pairs.append(("priority", "0"))  # a surface of which nothing is said is one all the same
    return pairs


def _ground(ground: Ground, where: str) -> Pairs:
    pairs: Pairs = [("kind", _text(ground.kind))]
    if ground.kind == "half-spaces":
        planes = (
            _inline([("point", _vector(p, where)), ("normal", _vector(n, where))])
            for p, n in zip(ground.points, ground.normals)
        )
        pairs.append(("planes", "[" + ", ".join(planes) + "]"))
    elif ground.kind == "height-field":
        pairs += [(key, _vector(getattr(ground, key), where)) for key in ("corner", "spacing")]
        pairs.append(("heights", _matrix(ground.heights, where)))
    else:
        pairs.append(("height", _scalar(ground.function.expressions[0], where)))
        values = [(name, _scalar(x, where)) for name, x in zip(ground.names, ground.coefficients) if str(x) != name]
        if values:
            pairs.append(("coefficients", _inline(values)))
    return [*pairs, *_pose(ground.placement, where)]


def _contact(item: Contact) -> Pairs:
    where = f"contact {item.name!r}"
    pairs: Pairs = [(key, _text(getattr(item, key))) for key in ("name", "a", "b")]
    pairs.append(("shape_a", _inline(_collision(item.shape_a, where))))
    if isinstance(item.shape_b, Shape):
        pairs.append(("shape_b", _inline(_collision(item.shape_b, where))))
    elif item.shape_b != Ground.plane():
        pairs.append(("ground", _inline(_ground(item.shape_b, where))))
    pairs += [(key, _scalar(getattr(item, key), where)) for key in item.numbers]
    for key, default in (("solref", SOLREF), ("solimp", SOLIMP)):
        if getattr(item, key) != default:
            pairs.append((key, _vector(getattr(item, key), where)))
    return pairs


def _joint(joint: Joint) -> Pairs:
    where = f"joint {joint.name!r}"
    pairs: Pairs = [(key, _text(getattr(joint, key))) for key in ("name", "kind", "parent", "child")]
    pairs += _pose(joint.placement, where)
    default = Joint("", "fixed", "", "")
    for key in ("axis", "axis2"):
        axis = getattr(joint, key)
        if axis.dtype == object or not np.array_equal(axis, getattr(default, key)):
            pairs.append((key, _vector(axis, where)))
    if joint.limits != Limits():
        bounds = [(f.name, getattr(joint.limits, f.name)) for f in fields(Limits)]
        pairs.append(
            ("limits", _inline([(key, _scalar(x, where)) for key, x in bounds if x != getattr(Limits(), key)]))
        )
    for key in ("pitch", "damping", "friction", "armature"):
        if not scalar.is_zero(getattr(joint, key)):
            pairs.append((key, _scalar(getattr(joint, key), where)))
    if joint.mimic:
        ratio = [(key, _scalar(getattr(joint.mimic, key), where)) for key in ("multiplier", "offset")]
        pairs.append(("mimic", _inline([("joint", _text(joint.mimic.joint)), *ratio])))
    return pairs


def _frame(frame: Frame) -> Pairs:
    where = f"frame {frame.name!r}"
    return [("name", _text(frame.name)), ("body", _text(frame.body)), *_pose(frame.placement, where)]


def _between(item: Constraint | Force) -> Pairs:
    where = f"{type(item).__name__.lower()} {item.name!r}"
    pairs: Pairs = [(key, _text(getattr(item, key))) for key in ("name", "kind", "a", "b")]
    if isinstance(item, Force) and not item.b:
        pairs.pop()  # of a wrench in its own axes
    for key in ("placement_a", "placement_b"):
        pose = _pose(getattr(item, key), where)
        if pose:
            pairs.append((key, _inline(pose)))
    if isinstance(item.function, Formula):
        formulas = [_scalar(x, where) for x in item.function.expressions]
        pairs.append(("function", formulas[0] if len(formulas) == 1 else "[" + ", ".join(formulas) + "]"))
    elif item.function is not None:
        raise UnsupportedError(f"{where} is a Python function; TOML holds numbers and expressions, write it with SymPy")
    for key in item.numbers:
        value = getattr(item, key)
        if not scalar.is_zero(value) and not (scalar.is_number(value) and math.isinf(value)):
            pairs.append((key, _scalar(value, where)))
    for key in ("coefficients", "components"):
        if getattr(item, key, ()):
            pairs.append((key, _vector(getattr(item, key), where)))
    return pairs
