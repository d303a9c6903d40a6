"""Nothing in a mechanism is ignored in silence: every cell of the table of consumers, and who belongs into it."""

from __future__ import annotations

import importlib
import inspect
import re
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert import control, formulations, identification, planning
from dalembert.dynamics import AttitudeCoordinates
from dalembert.dynamics.catalogue import ALL_QUANTITIES
from dalembert.errors import ArgumentError, ModelWarning, UnsupportedError
from dalembert.model.consumers import ACTIONS, CONSUMERS, PARTS, READERS, TERMS, heed

Q, V, TAU = np.array([0.3, -0.2]), np.array([0.6, -0.4]), np.array([0.5, 0.2])
WRENCH = np.array([[3.0, 0, 4, 0, 5, 0]])

# ------------------------------------------------------------------------------- a mechanism with one part, and probes


def arm(part: str = "") -> da.Mechanism:
    """Two links whose tip hangs 5 mm above the floor, and one part beside bodies, joints and gravity."""
    ends = da.Limits(-0.3, 0.32, effort=50.0, velocity=5.0)
    terms = {part: 0.7} if part in TERMS else {}
    bar = da.Inertia.box(1.0, (0.1, 0.1, 1), (0, 0, -0.5))
    bodies = [da.Body("upper", bar), da.Body("lower", bar)]
    places = da.Transform.from_translation((0, 0, 1.976)), da.Transform.from_translation((0, 0, -1))
    joints = [
        da.Joint(name, "revolute", a, b, place, axis=(0, 1, 0), limits=ends, **terms)
        for name, a, b, place in zip(("shoulder", "elbow"), ("world", "upper"), ("upper", "lower"), places)
    ]
    tip = da.Frame("tip", "lower", places[1])
    parts: dict[str, Any] = {
        "contacts": [da.Contact("touch", "lower", shape_a=da.Shape.sphere(0.02, (0, 0, -1)), friction=0.8)],
        "constraints": [da.Constraint("gear", "coupling", "shoulder", "elbow", coefficients=(0, -2 / 3))],
        "forces": [da.Force("spring", "joint-spring", "elbow", stiffness=30.0, rest=0.5)],
    }
    return da.Mechanism("arm", bodies, joints, frames=[tip], **({part: parts[part]} if part in parts else {}))


def case(part: str) -> tuple[da.Mechanism, dict[str, Any]]:
    """A mechanism with a part, and what a Dynamics is told for it to act."""
    if part == "parameters":
        return arm(), {"parameters": {"upper.mass": 2.0, "elbow.placement.z": -1.1}}
    if part == "wrenches":
        return arm(), {"wrenches": ("tip",)}
    return arm(part), {"include": (part,)} if part in TERMS else {"limits": "all"} if part == "limits" else {}


def called(kernel: Any, d: da.Dynamics) -> np.ndarray:
    rng = np.random.default_rng(0)
    known = {"q": Q, "v": V, "tau": TAU, "t": 0.0, "wrenches": WRENCH, "parameters": d.parameter_values}
    found = kernel(*(known.get(port.name, rng.normal(size=port.shape)) for port in kernel.inputs))
    return np.concatenate([np.ravel(x) for x in (found if isinstance(found, tuple) else (found,))])


def loads(d: da.Dynamics) -> dict[str, Any]:
    return {"wrenches": WRENCH} if d.wrenches else {}


def pushed(d: da.Dynamics) -> dict[str, Any]:
    return {"wrenches": {"tip": WRENCH[0]}} if d.wrenches else {}


def quantity(name: str) -> Callable[..., Any]:
    return lambda d: called(getattr(d, name), d)


def law(name: str) -> Callable[..., Any]:
    return lambda d: called(getattr(control, name)(d), d)


def differentiable(framework: str, rollout: bool) -> Callable[..., Any]:
    def probe(d: da.Dynamics) -> Any:
        if framework == "torch":
            array: Any = pytest.importorskip("torch").as_tensor
        else:
            jax = pytest.importorskip("jax")
            jax.config.update("jax_enable_x64", True)
            array = jax.numpy.asarray
        wrapper = importlib.import_module(f"dalembert.autodiff.{framework}")
        own = getattr(wrapper, "TorchDynamics" if framework == "torch" else "JaxDynamics")(d)
        given = {name: array(x) for name, x in loads(d).items()}
        if rollout:
            return np.asarray(own.rollout(array(Q), array(V), steps=100, **given)[0][-1])
        return np.asarray(own.forward_dynamics(array(Q), array(V), array(TAU), **given))

    return probe


def gradient_rollout(d: da.Dynamics) -> Any:
    from dalembert.autodiff.rollout import DifferentiableRollout

    return DifferentiableRollout(d, 100)(Q, V, **loads(d))[0][-1]


def unit(d: da.Dynamics) -> str:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "arm.fmu"
        d.fmu(path, binary=False)
        with zipfile.ZipFile(path) as archive:
            return "".join(archive.read(name).decode() for name in sorted(archive.namelist()) if name.endswith(".c"))


def drives(d: da.Dynamics) -> list[str]:
    return ["elbow"] if d.rows else ["shoulder", "elbow"]


def line(samples: int = 11) -> tuple[np.ndarray, ...]:
    s = np.linspace(0, 1, samples)[:, None]
    return Q * s**2, 2 * Q * s, 2 * Q * np.ones_like(s)


def record() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(4, 50, 2))


def words(**settings: Any) -> dict[str, Any]:
    """Of what ``Dynamics`` is told, what functions of a mechanism are told as well."""
    return {name: settings[name] for name in ("include", "wrenches") if name in settings}


def symbolic(m: da.Mechanism, settings: dict[str, Any]) -> da.Mechanism:
    return da.symbolise(m, {"upper.mass": "m"}) if "parameters" in settings else m


def compared(m: da.Mechanism, settings: dict[str, Any]) -> str:
    """With Pinocchio, which gets the same without the part."""
    pytest.importorskip("pinocchio")
    with TemporaryDirectory() as folder:
        file = Path(folder) / "arm.urdf"
        da.write_urdf(arm(), file)
        return str(da.compare(symbolic(m, settings), file, library="pinocchio", include=settings.get("include", ())))


OF_DYNAMICS: dict[str, Callable[..., Any]] = {
    "simulate": lambda d: da.simulate(d, Q, V, 0.05, **pushed(d)).q[-1],
    "rollout": lambda d: da.rollout(d, Q, V, 50, 1e-3, **pushed(d)).final_q,
    "RolloutTask": lambda d: da.RolloutTask(d, 50, 1e-3, **pushed(d))({"q0": Q[None], "v0": V[None]})["q"],
    "autodiff.rollout.DifferentiableRollout": gradient_rollout,
    "autodiff.torch.TorchDynamics.rollout": differentiable("torch", True),
    "autodiff.jax.JaxDynamics.rollout": differentiable("jax", True),
    "autodiff.torch.TorchDynamics.forward_dynamics": differentiable("torch", False),
    "autodiff.jax.JaxDynamics.forward_dynamics": differentiable("jax", False),
    **{f"Dynamics.{name}": quantity(name) for name in (
        "forward_dynamics", "forward_dynamics_derivatives", "forward_dynamics_variation", "linearize",
        "inverse_dynamics",
    )},
    "Dynamics.multipliers": lambda d: called(d.multipliers, d),
    "Dynamics.solve": lambda d: d.solve(Q, V, TAU, **loads(d)).a,
    "Dynamics.drive_forces": lambda d: d.drive_forces(Q, V, V, actuated=drives(d)).tau,
    "Dynamics.reactions": lambda d: np.concatenate([(x.force, x.moment) for x in d.reactions(Q, V, TAU).values()]),
    "Dynamics.linear_model": lambda d: d.linear_model(Q, V, TAU).A,
    "Dynamics.fmu": unit,
    "dynamics.AttitudeCoordinates.redundant_equations": lambda d: np.concatenate([
        np.ravel(x) for x in AttitudeCoordinates(d.mechanism, {}).redundant_equations(d, Q, V, TAU)
    ]),
    "control.linearize": lambda d: control.linearize(d, Q, V, TAU).A,
    "control.equilibrium": lambda d: control.equilibrium(d, Q, V, actuated=drives(d), keep=("elbow",)).tau,
    "control.operational_space": lambda d: called(control.operational_space(d, "tip", task="position", damping=0.1), d),
    **{f"control.{name}": law(name) for name in (
        "computed_torque", "gravity_compensation", "pd_with_gravity", "adaptive_control",
    )},
    "identification.identify": lambda d: str(identification.identify(d, *record())),
    "identification.choose_friction": lambda d: str(identification.choose_friction(d, *record())),
    "identification.LinearTorques": lambda d: identification.LinearTorques(d).matrix(*record()[:3])[1],
    "planning.inverse_kinematics": lambda d: planning.inverse_kinematics(
        d, da.Goal("tip", position=(-0.4, 0, 0.1)), limits=False
    ).q,
    "planning.manipulability": lambda d: planning.manipulability(d, Q, "tip", dynamic=True).radii,
    "planning.minimum_time": lambda d: planning.minimum_time(d, [[0, 0], [0.2, -0.1]], points=21).t,
    "planning.time_scaling": lambda d: planning.time_scaling(d, *line(), efforts=[40, 20]).intervals,
    "planning.limit_use": lambda d: planning.limit_use(d, *line()).effort,
}  # fmt: skip
"""What is given a Dynamics, for which something can be asked for."""

OF_MECHANISM: dict[str, Callable[..., Any]] = {
    "derive": lambda m, s: str(da.derive(symbolic(m, s), **words(**s))),
    "formulations.verify": lambda m, s: str(formulations.verify(symbolic(m, s), 1)),
    "prove": lambda m, s: str(da.prove(symbolic(m, s), derived=False)),
    "compare": compared,
    "report.document": lambda m, s: str(da.report.document(symbolic(m, s), agreement=False, **words(**s))),
}
"""What takes a mechanism only."""


def outcome(consumer: str, part: str) -> tuple[Any, str, str]:
    """The answer, what was said of the part on the way, and in which words it was refused."""
    mechanism, settings = case(part)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            if consumer in OF_MECHANISM:
                found = OF_MECHANISM[consumer](mechanism, settings)
            else:
                found = OF_DYNAMICS[consumer](da.Dynamics(mechanism, **settings))
        except UnsupportedError as error:
            return None, "", str(error)
    told = [str(w.message) for w in said if issubclass(w.category, ModelWarning)]
    assert len({text for text in told if "which" in text}) <= 1, told
    return found, "".join(told), ""


def differs(found: Any, plain: Any) -> bool:
    if isinstance(found, str):
        return found != plain
    if np.shape(found) != np.shape(plain):
        return True
    return not np.allclose(found, plain, rtol=1e-9, atol=1e-12)


# --------------------------------------------------------------------------------------------------- cells of the table


DERIVING = ("prove", "report.document", "formulations.verify")
"""Consumers that take long."""


def test_the_table_is_whole():
    assert {*OF_DYNAMICS, *OF_MECHANISM} == {*CONSUMERS}
    for row in CONSUMERS.values():
        assert list(row) == list(PARTS)
        for action, reason, remedy in row.values():
            assert action in ACTIONS
            assert bool(reason) == (action != "takes") and bool(remedy) == (action in ("refuses", "warns", "lists"))


@pytest.mark.parametrize("consumer", [name for name in CONSUMERS if name not in DERIVING])
def test_every_part_is_treated_as_the_table_says(consumer):
    walk(consumer)


@pytest.mark.parametrize("consumer", DERIVING)
def test_every_part_is_treated_so_in_derivations_and_proofs(consumer):
    walk(consumer)


def walk(consumer: str) -> None:
    """All cells of one row."""
    plain, told, refused = outcome(consumer, "")
    assert not refused and "which" not in told
    wrong = []
    for part, (action, reason, remedy) in CONSUMERS[consumer].items():
        found, told, refused = outcome(consumer, part)
        said = f"'arm' has {part}" in refused + told
        if action == "refuses":
            fine = said and remedy in refused
        elif refused:
            fine = False
        elif action == "warns":
            fine = said and reason in told and remedy in told and not differs(found, plain)
        elif action == "lists":
            fine = not said and part.removesuffix("s") in found and found != plain
        else:
            fine = not said and differs(found, plain) == (action == "takes")
        if not fine:
            wrong.append((part, action, told or refused, "" if found is None else differs(found, plain)))
    assert not wrong


def test_what_is_left_out_is_said_once_for_each_dynamics_and_not_where_it_was_asked_for():
    dynamics = da.Dynamics(arm("contacts"))
    with pytest.warns(ModelWarning, match=r"contacts \(touch\), which Dynamics.forward_dynamics leaves out") as said:
        dynamics.forward_dynamics  # noqa: B018
        dynamics.kernel("forward_dynamics")
        dynamics.linear_model(Q, V, TAU)
    assert len(said) == 1 and said[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        called(da.Dynamics(arm("contacts"), contacts=()).forward_dynamics, dynamics)
        heed("simulate", dynamics)


ASKED = {
    "simulate": lambda m, **s: da.simulate(m, Q, V, 0.05, **s).q[-1],
    "rollout": lambda m, **s: da.rollout(m, Q, V, 50, 1e-3, **s).final_q,
    "RolloutTask": lambda m, **s: da.RolloutTask(m, 50, 1e-3, **s)({"q0": Q[None], "v0": V[None]})["q"][0],
}
"""What takes settings of a Dynamics as options of the call."""


@pytest.mark.parametrize("part", ["limits", *TERMS, "parameters", "law"])
@pytest.mark.parametrize("consumer", ASKED)
def test_what_is_asked_for_in_the_call_acts_as_if_the_dynamics_had_been_asked(consumer, part):
    mechanism, settings = case(part)
    if part == "law":
        soft = arm("contacts").contacts[0].replace(stiffness=1e5, damping=10.0)
        mechanism, settings = arm().replace(contacts=[soft]), {"law": "compliant"}
    wanted = ASKED[consumer](da.Dynamics(mechanism, **settings))
    np.testing.assert_allclose(ASKED[consumer](mechanism, **settings), wanted, rtol=1e-9)
    assert differs(wanted, ASKED[consumer](mechanism))
    if part != "parameters":
        with pytest.raises(ArgumentError, match="say it there only"):
            ASKED[consumer](da.Dynamics(mechanism), **settings)


# ------------------------------------------------------------------------------------------- who belongs into the table


def resolved(name: str) -> Any:
    """What a name of the table stands for; None for a quantity, which belongs to instances."""
    found: Any = da
    path = name.split(".")
    if path[0] == "Dynamics" and len(path) > 1 and path[1] in QUANTITIES:
        return None
    for k, part in enumerate(path):
        if not hasattr(found, part):
            found = importlib.import_module(".".join(["dalembert", *path[: k + 1]]))
        else:
            found = getattr(found, part)
    return found


QUANTITIES = {*ALL_QUANTITIES, "multipliers"}
TAKEN = re.compile(r"\b(Mechanism|Dynamics|Moving|Stabiliser|Equations)\b")
ROOMS = (
    "", "algorithms", "autodiff.jax", "autodiff.rollout", "autodiff.torch", "comparison", "constraints", "contact",
    "control", "conventions", "dynamics", "formats", "formulations", "identification", "kinematics", "kernels",
    "model", "model.operations", "model.parameters", "model.reroot", "pictures", "planning", "proof", "report",
    "simulation", "tracing", "viewer",
)  # fmt: skip


def takes_one(function: Any) -> bool:
    """Whether a function, or what makes a class, takes a mechanism or what was made of one."""
    call = function.__init__ if inspect.isclass(function) else function
    try:
        return any(TAKEN.search(str(p.annotation)) for p in inspect.signature(call).parameters.values())
    except (TypeError, ValueError):  # built in
        return False


def public() -> Iterator[tuple[str, Any, Any]]:
    """Every public function, class and method in the rooms that users reach: its name, itself, and its class."""
    for room in ROOMS:
        module = importlib.import_module("dalembert" + f".{room}" * bool(room))
        own = [n for n, x in vars(module).items() if getattr(x, "__module__", "") == module.__name__ and n[0] != "_"]
        for name in getattr(module, "__all__", own):
            found = getattr(module, name)
            address = f"{room}.{name}".lstrip(".")
            if not callable(found) or not str(getattr(found, "__module__", "")).startswith("dalembert"):
                continue
            yield address, found, found
            for method, call in vars(found).items() if inspect.isclass(found) else ():
                call = getattr(call, "__func__", call)
                if inspect.isfunction(call) and not method.startswith("_"):
                    yield f"{address}.{method}", call, found


def test_every_public_function_of_a_mechanism_is_in_the_table():
    named = [*CONSUMERS, *(name for names in READERS.values() for name in names)]
    assert len({*named}) == len(named)
    known = {name: resolved(name) for name in named}
    rooms = tuple(f"dalembert.{name}" for name, x in known.items() if inspect.ismodule(x))
    consumers = {id(known[name]) for name in CONSUMERS}
    readers = {id(x) for name, x in known.items() if name not in CONSUMERS}
    missing = [
        name
        for name, found, owner in public()
        if takes_one(found) and id(found) not in consumers and not readers & {id(found), id(owner)}
        and not found.__module__.startswith(rooms)
    ]  # fmt: skip
    assert missing == []


def test_every_quantity_is_in_the_table():
    named = {*CONSUMERS, *(name for names in READERS.values() for name in names)}
    assert [name for name in QUANTITIES if f"Dynamics.{name}" not in named] == []
