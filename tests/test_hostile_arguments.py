"""Mistakes people make with arguments are answered by a result or an error of dalembert that says what is wrong.

A TypeError is left to Python for wrong names or numbers of arguments only, and for operators between unrelated types.
"""

import math
import warnings

import numpy as np
import pytest
import sympy as sp
from sympy.physics import mechanics

import dalembert as da
from dalembert.errors import DalembertError

ARM = da.load("demo_arm")
CART = da.load("cart_pole")
LINKAGE, CLOSED = da.load("four_bar", parameters="default"), (1.0, -0.5857, 1.5136)
ANGLE = mechanics.dynamicsymbols("theta")
FINISHED = mechanics.LagrangesMethod(ANGLE.diff() ** 2 + sp.cos(ANGLE), [ANGLE])
FINISHED.form_lagranges_equations()
MISTAKES = {
    "None": None,
    "a name": "x",
    "strings for numbers": ["a", "b"],
    "nothing": [],
    "wrong length": [1.0],
    "wrong shape": np.zeros((2, 3, 4)),
    "wrong name": {"nobody": 1.0},
    "NaN": math.nan,
    "negative": -1,
    "an integer": 1,
}
"""What people give by mistake."""

BODY, JOINT = da.Body("b", da.Inertia.box(1, (1, 1, 1))), da.Joint("j", "revolute", "world", "b")
CALLS = {
    "Body": {"name": "b", "inertia": da.Inertia(), "shapes": ()},
    "Constraint": {
        "name": "c", "kind": "weld", "a": "x", "b": "world", "placement_a": da.Transform.identity(),
        "placement_b": da.Transform.identity(), "value": 0, "coefficients": (), "function": None,
    },
    "Force": {
        "name": "f", "kind": "spring", "a": "x", "b": "world", "placement_a": da.Transform.identity(), "stiffness": 1,
        "damping": 0, "rest": 0, "components": (), "function": None,
    },
    "Frame": {"name": "f", "body": "b", "placement": da.Transform.identity()},
    "Inertia": {"mass": 1, "center": (0, 0, 0), "tensor": np.eye(3)},
    "Inertia.box": {"mass": 1, "size": (1, 1, 1), "center": (0, 0, 0)},
    "Inertia.sphere": {"mass": 1, "radius": 1},
    "Inertia.cylinder": {"mass": 1, "radius": 1, "length": 1},
    "Inertia.point": {"mass": 1, "center": (0, 0, 0)},
    "Inertia.about_origin": {"mass": 1, "first_moment": (0, 0, 0), "tensor": np.eye(3)},
    "Inertia.from_parameters": {"parameters": [1, *[0] * 9]},
    "Joint": {
        "name": "j", "kind": "revolute", "parent": "world", "child": "b", "placement": da.Transform.identity(),
        "axis": (0, 0, 1), "axis2": (1, 0, 0), "pitch": 0, "limits": da.Limits(), "damping": 0, "friction": 0,
        "armature": 0, "mimic": None,
    },
    "Limits": {"lower": -1, "upper": 1, "velocity": 1, "effort": 1},
    "Mimic": {"joint": "j", "multiplier": 1, "offset": 0},
    "Shape": {"kind": "box", "size": (1, 1, 1), "placement": da.Transform.identity()},
    "Transform": {"rotation": np.eye(3), "translation": np.zeros(3)},
    "Transform.from_translation": {"translation": np.zeros(3)},
    "Transform.from_homogeneous": {"matrix": np.eye(4)},
    "Mechanism": {
        "name": "m", "bodies": (BODY,), "joints": (JOINT,), "frames": (), "constraints": (), "forces": (),
        "gravity": (0, 0, -9.81), "notes": (), "strict": True,
    },
    "load": {"source": "demo_arm"},
    "read_urdf": {"source": "<robot name='r'><link name='a'/></robot>", "base": "fixed", "strict": False},
    "read_toml": {"source": "body = []\n", "parameters": None, "strict": None},
    "write_urdf": {"mechanism": ARM, "path": None},
    "write_toml": {"mechanism": CART, "path": None, "parameters": None},
    "from_dh": {
        "table": [(0, 0, 0, 0)], "convention": "modified", "name": "x", "base": None, "tool": None,
        "gravity": (0, 0, -9.81), "notes": (), "strict": False,
    },
    "lock": {"mechanism": ARM, "positions": {"turn": 0.1}},
    "with_gravity": {"mechanism": ARM, "gravity": (0, 0, -1)},
    "with_base": {"mechanism": ARM, "base": "free", "body": None},
    "merge_fixed": {"mechanism": ARM},
    "attach": {"mechanism": ARM, "other": ARM, "to": "flange", "joint": None, "prefix": "o"},
    "add_payload": {"mechanism": ARM, "frame": "flange", "inertia": da.Inertia.point(1), "name": "p"},
    "subtree": {"mechanism": ARM, "body": "forearm"},
    "reroot": {"mechanism": ARM, "body": "shoulder"},
    "parameters": {"mechanism": ARM},
    "symbolise": {"mechanism": ARM, "symbols": {"flange.mass": "m"}},
    "substitute": {"mechanism": CART, "values": {"m": 1}},
    "Dynamics": {
        "mechanism": LINKAGE, "constraints": "all", "elements": "all", "wrenches": (), "include": (), "parameters": (),
        "method": "multipliers", "independent": None, "reference": CLOSED, "regularisation": 0.0,
        "stabilisation": 0.0, "dtype": None, "device": "cpu", "optimise": 1,
    },
    "derive": {
        "mechanism": CART, "method": "lagrange", "coordinates": None, "elements": "all", "include": (), "field": None,
        "wrenches": (), "actuated": None,
    },
    "verify": {
        "mechanism": CART, "states": 1, "tolerance": 1e-10, "seed": 0, "methods": ["newton-euler"], "elements": "all",
        "include": None,
    },
    "from_lagrangian": {
        "lagrangian": sp.Symbol("xdot") ** 2, "q": [sp.Symbol("x")], "qdot": [sp.Symbol("xdot")], "forces": None,
        "t": None, "dissipation": 0, "name": "s",
    },
    "from_sympy": {"model": FINISHED, "name": "s"},
    "rigid_body": {
        "inertia": da.Inertia.box(1, (1, 2, 3)), "attitude": None, "form": "mixed", "gravity": (0, 0, 0), "name": "r",
    },
    "coordinate_symbols": {"mechanism": ARM},
}  # fmt: skip
"""Public functions with good arguments; each argument in turn is replaced by every mistake."""

WRITES = ("path",)
"""Arguments that name a file to write: a text would create it."""


def outcome(call):
    """None, or how an error that is none of dalembert's reads."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
    except DalembertError as error:
        assert str(error)
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:120]
    return None


def attacks(function, good):
    """Every mistake in the place of every argument, and what went wrong."""
    wrong = {}
    for argument in good:
        for name, value in MISTAKES.items():
            if argument in WRITES and isinstance(value, str):
                continue
            raw = outcome(lambda argument=argument, value=value: function(**{**good, argument: value}))
            if raw:
                wrong[f"{argument} = {name}"] = raw
    return wrong


@pytest.mark.parametrize("name", CALLS)
def test_every_wrong_argument_is_answered_by_a_result_or_a_clear_error(name):
    function = da
    for part in name.split("."):
        function = getattr(function, part)
    function(**CALLS[name])
    assert attacks(function, CALLS[name]) == {}


DYN = da.Dynamics(ARM)
SYSTEM = da.Dynamics(LINKAGE, reference=CLOSED)
Q = SYSTEM.assemble(keep=["drive"])
V = SYSTEM.project_velocity(Q, [1, 0, 0], keep=["drive"])
A = SYSTEM.forward_dynamics(Q, V, np.zeros(3))
STATE = {"q": Q, "v": V, "tau": np.zeros(3), "t": 0.0}
EQUATIONS = da.derive(CART)
NUMBERS = {"g": 9.81, "M": 1.0, "m": 0.2, "l": 0.5, "I": 0.02}
METHODS = {
    "assemble": (SYSTEM.assemble, {"q": Q, "t": 0.0, "keep": (), "tolerance": 1e-11, "iterations": 20}),
    "assembly_modes": (
        SYSTEM.assembly_modes,
        {"q": Q, "t": 0.0, "keep": ["drive"], "starts": 2, "spread": 1.0, "seed": 0},
    ),
    "analyse": (SYSTEM.analyse, {"q": Q, "t": 0.0}),
    "residual": (SYSTEM.residual, {"q": Q, "t": 0.0}),
    "project_velocity": (SYSTEM.project_velocity, {"q": Q, "v": V, "t": 0.0, "keep": ["drive"]}),
    "constrained forward_dynamics": (SYSTEM.forward_dynamics, STATE),
    "solve": (SYSTEM.solve, {**STATE, "method": "projection", "tolerance": 1e-9}),
    "reactions": (SYSTEM.reactions, {**STATE, "axes": "world", "point": None}),
    "constrained linear_model": (SYSTEM.linear_model, {**STATE, "positions": ["drive"], "speeds": ["drive"]}),
    "constrained drive_forces": (
        SYSTEM.drive_forces,
        {"q": Q, "v": V, "a": A, "t": 0.0, "actuated": ["drive"], "weights": None},
    ),
    "setting": (SYSTEM.setting, {"parameters": None}),
    "constrained kernel": (SYSTEM.kernel, {"quantity": "terms"}),
    "constrained export": (SYSTEM.export, {"quantity": "terms", "language": "c", "path": None}),
    "constrained evaluate": (
        lambda quantity, q, t: SYSTEM.evaluate(quantity, q, t),
        {"quantity": "positions", "q": Q, "t": 0.0},
    ),
    "derive kane": (
        lambda **k: da.derive(CART, "kane", **k),
        {"speeds": None, "pfaffian": (), "independent": None},
    ),
    "derive newton-euler": (
        lambda **k: da.derive(CART, "newton-euler", **k),
        {"algorithm": "augmented-links", "inertia": "two-sided"},
    ),
    "Equations.evaluate": (EQUATIONS.evaluate, {"q": (0, 0.1), "v": (0, 1), **NUMBERS}),
    "Equations.sympy": (EQUATIONS.sympy, {"name": "gravity"}),
    "Equations.latex": (EQUATIONS.latex, {"name": "gravity", "form": "auto"}),
    "Equations.symbol": (EQUATIONS.symbol, {"name": "q1"}),
    "Equations.substitute": (EQUATIONS.substitute, {"values": {"g": 9.81}}),
    "Equations.substitute g": (lambda g: EQUATIONS.substitute({"g": g}), {"g": 9.81}),
    "Equations.compile": (EQUATIONS.compile, {"name": "gravity"}),
    "Equations[]": (EQUATIONS.__getitem__, {"name": "gravity"}),
    "Quantity.evaluate": (lambda g: EQUATIONS["gravity"].evaluate({"q": (0, 0.1), **NUMBERS, "g": g}), {"g": 9.81}),
    "jacobian": (
        lambda **k: DYN.jacobian(**k),
        {"q": ARM.neutral, "frame": "flange", "point": (0, 0, 0), "axes": "body"},
    ),
    "pose": (lambda **k: DYN.pose(**k), {"q": ARM.neutral, "frame": "flange"}),
    "mass_matrix": (lambda **k: DYN.mass_matrix(**k), {"q": ARM.neutral, "threads": 1}),
    "kernel": (DYN.kernel, {"quantity": "gravity"}),
    "cost": (DYN.cost, {"quantity": "gravity"}),
    "export": (DYN.export, {"quantity": "gravity", "language": "c", "path": None}),
    "random_state": (ARM.random_state, {"rng": np.random.default_rng(0), "batch": ()}),
    "body": (ARM.body, {"name": "flange"}),
    "joint": (ARM.joint, {"name": "turn"}),
    "frame": (ARM.frame, {"name": "world"}),
    "q_slice": (ARM.q_slice, {"joint": "turn"}),
    "v_slice": (ARM.v_slice, {"joint": "turn"}),
    "rotate": (da.Transform.identity().rotate, {"vector": (1, 2, 3)}),
}


@pytest.mark.parametrize("name", METHODS)
def test_methods_answer_wrong_arguments_too(name):
    function, good = METHODS[name]
    function(**good)
    assert attacks(function, good) == {}


def test_no_mistake_survives_inside_a_mechanism():
    """What a part accepts, a mechanism with that part accepts or refuses in a sentence."""
    wrong = {}
    for name in ("Limits", "Mimic", "Frame", "Force", "Constraint", "Body", "Joint", "Shape"):
        for argument in CALLS[name]:
            for label, value in MISTAKES.items():
                try:
                    part = getattr(da, name)(**{**CALLS[name], argument: value})
                except DalembertError:
                    continue
                raw = outcome(lambda part=part: str(mechanism_with(part)))
                if raw:
                    wrong[f"{name}({argument} = {label})"] = raw
    assert wrong == {}


def mechanism_with(part):
    match part:
        case da.Limits():
            return mechanism_with(JOINT.replace(limits=part))
        case da.Mimic():
            return mechanism_with(JOINT.replace(name="k", child="c", mimic=part))
        case da.Frame():
            return da.Mechanism("m", (BODY,), (JOINT,), frames=(part,))
        case da.Force():
            return da.Mechanism("m", (BODY,), (JOINT,), forces=(part,))
        case da.Constraint():
            return da.Mechanism("m", (BODY,), (JOINT,), constraints=(part,))
        case da.Shape():
            return mechanism_with(BODY.replace(shapes=(part,)))
        case da.Body():
            return da.Mechanism("m", (part,), (JOINT.replace(child=part.name),))
        case _ if part.mimic:
            return da.Mechanism("m", (BODY, BODY.replace(name="c")), (JOINT, part))
    return da.Mechanism("m", (BODY,), (part,))
