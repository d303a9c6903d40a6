"""Where the chosen speeds do not determine the velocities, numbers are NaN, through every door; formulas stay.

At such a state the inverse divides by what rounding leaves of zero: 1e-16 of what the divisor is elsewhere.
"""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import sympy

from dalembert.algebra.transform import Transform
from dalembert.errors import SingularityError
from dalembert.formulations import derive
from dalembert.model import WORLD, Body, Constraint, Inertia, Joint, Mechanism

MATTER = Inertia(1, [0, 0, 0], np.diag([0.1, 0.1, 0.1]))
R, L = sympy.symbols("r l", positive=True)
VALUES = {"r": 0.3, "l": 0.5}


def slider_crank(r, l, matter=MATTER):
    """Crank, rod and slider along x."""
    return Mechanism(
        "slider-crank",
        tuple(Body(name, matter) for name in ("crank", "rod", "slider")),
        (
            Joint("a", "revolute", WORLD, "crank"),
            Joint("b", "revolute", "crank", "rod", Transform.from_translation([r, 0, 0])),
            Joint("x", "prismatic", WORLD, "slider", axis=[1, 0, 0]),
        ),
        constraints=(Constraint("pin", "point-on-line", "rod", "slider", Transform.from_translation([l, 0, 0])),),
    )


def positions(a, r=0.3, l=0.5):
    """Of all joints, by the angle of the crank."""
    rod = -np.arcsin(r * np.sin(a) / l)
    return np.stack([a, rod - a, r * np.cos(a) + l * np.cos(rod)], axis=-1)


@pytest.fixture(scope="module")
def symbolic():
    return derive(slider_crank(R, L), "kane", independent=["x"])


def through_every_door(equations):
    """The same equations after every passage that they can make, with the parameters that are left."""
    copy = pickle.loads(pickle.dumps(equations))
    yield equations, VALUES
    yield copy, VALUES
    yield equations.substitute(VALUES), {}
    yield copy.substitute({"r": VALUES["r"]}), {"l": VALUES["l"]}
    yield pickle.loads(pickle.dumps(equations.substitute(VALUES))), {}
    yield derive(slider_crank(*VALUES.values()), "kane", independent=["x"]), {}


def test_a_crank_at_its_dead_centres_is_not_told_by_the_slider(symbolic):
    """Beside them, at an angle of 1e-6, six digits are lost and ten are left; energy does not depend on the speeds."""
    angles = np.array([0.0, 0.7, np.pi, 1e-6, np.pi - 1e-6, -np.pi])
    dead = np.array([True, False, True, False, False, True])
    q, rates = positions(angles), np.linspace(1, 2, len(angles))
    by_crank = derive(slider_crank(*VALUES.values()), "kane", independent=["a"])
    slides = by_crank["velocities"].evaluate({"q": q, "u": rates[:, None]})[:, 2:]
    energy = by_crank["mass_matrix"].evaluate({"q": q})[:, 0, 0] * rates**2
    for equations, given in through_every_door(symbolic):
        kernel = equations.compile("mass_matrix")
        M = kernel(q, **{port.name: given[port.name] for port in kernel.inputs[1:]})
        state = {"q": q, "u": slides, **given}
        for found in (
            M,
            equations.numbers(["mass_matrix"], state)["mass_matrix"],
            equations["mass_matrix"].evaluate(state),
        ):
            assert (np.isnan(found[:, 0, 0]) == dead).all()
            assert np.abs((found[:, 0] * slides**2)[~dead, 0] / energy[~dead] - 1).max() < 1e-9
        for name in ("bias", "kinematics", "input_map", "acceleration_drift"):
            entries = equations.numbers([name], state)[name].reshape(len(angles), -1)
            assert (np.isnan(entries).all(axis=1) == dead).all()
            assert np.isfinite(entries[~dead]).all()
        assert np.isfinite(equations.numbers(["constraint_matrix"], state)["constraint_matrix"]).all()
        kernel = equations.compile("accelerations")
        drives = {"q": q, "u": slides, "tau": np.zeros((len(angles), 3)), **given}
        udot = kernel(*(drives[port.name] for port in kernel.inputs))
        assert (np.isnan(udot[:, 0]) == dead).all()


def test_formulas_know_nothing_of_bounds(symbolic):
    for form in (symbolic, pickle.loads(pickle.dumps(symbolic))):
        assert not form.sympy("mass_matrix").has(sympy.Piecewise, sympy.nan)
        assert "begin{cases}" not in form.latex()


def test_values_at_which_speeds_do_not_hold_are_refused(symbolic):
    with pytest.raises(SingularityError, match="do not determine"):
        symbolic.substitute({"a": 1e-15, "b": -1.6e-15, "x": 0.8, **VALUES})
    exactly = symbolic.substitute({"a": 0, "b": 0, "x": 0.8, **VALUES})
    assert np.isnan(exactly.mass_matrix.evaluate({}))  # it is a division by zero for everybody to see
    assert symbolic.substitute({"a": 0.7}).mass_matrix.shape == (1, 1)


@pytest.mark.parametrize("size", [1e-6, 1, 30])
def test_units_do_not_count(size):
    """Micrometres put in the place of letters, and mechanisms of that size: all is well between singular states."""
    angles = np.linspace(0.1, 3, 7)
    q, dead = positions(angles), positions(np.array(np.pi))
    q[:, 2], dead[2] = size * q[:, 2], size * dead[2]
    numbers = {name: size * value for name, value in VALUES.items()}
    matter = Inertia(1, [0, 0, 0], size**2 * np.asarray(MATTER.tensor))
    for keep in "ax":
        put_in = derive(slider_crank(R, L, matter), "kane", independent=[keep]).substitute(numbers)
        built = derive(slider_crank(*numbers.values(), matter), "kane", independent=[keep])
        for equations in (put_in, built):
            assert np.isfinite(equations["mass_matrix"].evaluate({"q": q})).all()
        assert np.isnan(built["mass_matrix"].evaluate({"q": dead})).all() == (keep == "x")


def test_redundant_rows_of_a_flat_parallelogram_are_told():
    """Where both cranks lie along the frame the coupler may turn or swing; least squares give rounding there."""
    names, end = ("1", "coupler", "2"), Transform.from_translation([0.4, 0, 0])
    far = Transform.from_translation([0.5, 0, 0])
    joints = (
        Joint("a", "revolute", WORLD, "1"),
        Joint("b", "revolute", "1", "coupler", end),
        Joint("c", "revolute", WORLD, "2", far),
    )
    pins = (Constraint("pin", "revolute", "coupler", "2", far, end),)
    equations = derive(Mechanism("flat", tuple(Body(n, MATTER) for n in names), joints, constraints=pins), "kane")
    kernel = equations.compile("mass_matrix")
    for a, flat in ((0, True), (np.pi, True), (1e-4, False), (1.2, False)):
        assert np.isnan(kernel([a, -a, a])).all() == flat


def parallel_cranks(l, c):
    """A bar on three cranks, one more than it needs: at different states different rows follow from the others."""
    matter = Inertia(1, [0, 0, 0], l**2 * np.diag([1, 1, 1]))
    end, feet = Transform.from_translation([l, 0, 0]), [Transform.from_translation([k * c, 0, 0]) for k in range(3)]
    joints = [Joint(f"a{k}", "revolute", WORLD, f"crank {k}", foot) for k, foot in enumerate(feet)]
    joints.append(Joint("b", "revolute", "crank 0", "bar", end))
    pins = tuple(Constraint(f"pin {k}", "revolute", "bar", f"crank {k}", feet[k], end) for k in (1, 2))
    return Mechanism("cranks", tuple(Body(joint.child, matter) for joint in joints), tuple(joints), constraints=pins)


def platform(l, c):
    """The same on a bar that slides and turns in its plane, so that lengths stand beside angles among velocities."""
    end = Transform.from_translation([l, 0, 0])
    joints, pins = [Joint("plane", "planar", WORLD, "bar", axis=[0, 0, 1])], []
    for k, foot in enumerate(Transform.from_translation(x) for x in ([0, 0, 0], [c, c / 5, 0], [2 * c, 0, 0])):
        joints.append(Joint(f"a{k}", "revolute", WORLD, f"crank {k}", foot))
        pins.append(Constraint(f"pin {k}", "revolute", f"crank {k}", "bar", end, foot))
    bodies = tuple(Body(joint.child, Inertia(1, [0, 0, 0], l**2 * np.diag([1, 1, 1]))) for joint in joints)
    return Mechanism("platform", bodies, tuple(joints), constraints=tuple(pins))


CASES = {  # speed, power of lengths in M, positions by angle, and where the bar may turn alone or y stands still
    parallel_cranks: ("adot0", 2, lambda a, l: [a, a, a, -a], [0.0, np.pi]),
    platform: ("ydot", 0, lambda a, l: [l * np.cos(a), l * np.sin(a), 0 * a, a, a, a], [np.pi / 2, -np.pi / 2]),
}


@pytest.mark.parametrize("make", CASES)
def test_units_do_not_count_in_least_squares_either(make):
    """Their matrix goes as the square of the lengths that are put in; the mass matrix scales as its speeds tell."""
    speed, power, positions_at, singular = CASES[make]
    equations = derive(make(L, R), "kane", independent=[speed])
    assert "least squares" in next(step.text for step in equations.steps() if step.title == "Speeds")
    angles, expected = np.array([*singular, 1e-3, 0.7]), None
    for size in (1, 1e-6, 1e-3, 1e3, 1e6):
        q = np.stack(positions_at(angles, 0.4 * size), axis=-1)
        values = {"l": 0.4 * size, "r": 0.5 * size}
        again = pickle.loads(pickle.dumps(equations))
        for form, given in ((equations, values), (again, values), (again.substitute(values), {})):
            found = form["mass_matrix"].evaluate({"q": q, **given})[:, 0, 0] / size**power
            assert (np.isnan(found) == [True, True, False, False]).all(), size
            expected = found[2:] if expected is None else expected
            assert np.abs(found[2:] / expected - 1).max() < 1e-6  # a thousandth away, six digits are lost
