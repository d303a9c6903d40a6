"""Bodies given by formulas, against Lagrange's equations written out with SymPy alone."""

from __future__ import annotations

import pytest
import sympy
from sympy import Matrix, cos, sin, symbols
from sympy.physics.mechanics import dynamicsymbols

from dalembert.errors import ArgumentError
from dalembert.formulations import MovingBodies, MovingBodyFormula, derive

m, M, k, g, l, L, J, I = symbols("m M k g l L J I")
r, theta, phi, alpha, beta, x, z = symbols("r theta phi alpha beta x z")


def elastic_pendulum() -> MovingBodies:
    bob = MovingBodyFormula("bob", m, [r * sin(theta), 0, -r * cos(theta)])
    return MovingBodies("elastic pendulum", [r, theta], [bob], gravity=[0, 0, -g], potential=k * (r - l) ** 2 / 2)


def furuta_pendulum() -> MovingBodies:
    arm = sympy.rot_ccw_axis3(alpha)
    rod = arm * sympy.rot_ccw_axis1(beta)
    center = arm * Matrix([L, 0, 0]) + rod * Matrix([0, 0, -l])
    bodies = [
        MovingBodyFormula("arm", 0, [0, 0, 0], arm, sympy.diag(0, 0, J)),
        MovingBodyFormula("rod", m, list(center), rod, sympy.diag(I, I, 0)),
    ]
    return MovingBodies("Furuta pendulum", [alpha, beta], bodies, gravity=[0, 0, -g])


def double_spherical_pendulum() -> MovingBodies:
    first = l * Matrix([sin(theta) * cos(phi), sin(theta) * sin(phi), -cos(theta)])
    second = first + L * Matrix([sin(alpha) * cos(beta), sin(alpha) * sin(beta), -cos(alpha)])
    bodies = [MovingBodyFormula("first", m, list(first)), MovingBodyFormula("second", M, list(second))]
    return MovingBodies("double spherical pendulum", [theta, phi, alpha, beta], bodies, gravity=[0, 0, -g])


def drone_with_load() -> MovingBodies:
    bodies = [
        MovingBodyFormula("drone", M, [x, 0, z], sympy.rot_ccw_axis2(theta), sympy.diag(0, I, 0)),
        MovingBodyFormula("load", m, [x + l * sin(phi), 0, z - l * cos(phi)]),
    ]
    return MovingBodies("drone with a load", [x, z, theta, phi], bodies, gravity=[0, 0, -g])


def bob_of_two_angles() -> MovingBodies:
    """The velocity per theta is (l cos theta, 0, -l sin(theta + phi)): almost a rod that turns in a plane."""
    bob = MovingBodyFormula("bob", m, [l * sin(theta), 0, l * cos(theta + phi)])
    return MovingBodies("bob of two angles", [theta, phi], [bob], gravity=[0, 0, -g])


def written_out(bodies: MovingBodies, rates: Matrix) -> tuple[Matrix, Matrix]:
    """M and c + g by d/dt(dT/dqdot) - dT/dq + dU/dq."""
    q = Matrix(bodies.coordinates)
    T, U = sympy.Integer(0), bodies.potential
    for body in bodies.bodies:
        place = Matrix(body.position)
        v = place.jacobian(q) * rates
        T += body.mass * v.dot(v) / 2
        U -= body.mass * Matrix(bodies.gravity).dot(place)
        if body.rotation is not None:
            turning = body.rotation.T * sum((body.rotation.diff(x) * y for x, y in zip(q, rates)), sympy.zeros(3, 3))
            w = Matrix([turning[2, 1], turning[0, 2], turning[1, 0]])
            T += w.dot(body.inertia * w) / 2
    momenta = Matrix([T]).jacobian(rates).T
    return momenta.jacobian(rates), momenta.jacobian(q) * rates - Matrix([T - U]).jacobian(q).T


def assert_vanishes(matrix: Matrix) -> None:
    """At two states, to forty digits; what is zero there by chance is not worth the time of a proof."""
    matrix = Matrix(matrix)
    for start in (3, 11):
        values = {x: sympy.Rational(start + 2 * n, 7 + n) for n, x in enumerate(sorted(matrix.free_symbols, key=str))}
        assert all(abs(entry.subs(values).evalf(40)) < 1e-30 for entry in matrix)


@pytest.mark.parametrize("method", ["lagrange", "kane", "kronecker"])
@pytest.mark.parametrize(
    "make", [elastic_pendulum, furuta_pendulum, double_spherical_pendulum, drone_with_load, bob_of_two_angles]
)
def test_textbook_systems_are_what_lagranges_equations_say(make, method):
    bodies = make()
    equations = derive(bodies, method)
    mass, forces = written_out(bodies, Matrix([equations.symbol(name) for name in equations.velocities]))
    found = equations.sympy("bias")
    if equations.passive is not None:
        found -= equations.sympy("passive")
    assert_vanishes(equations.sympy("mass_matrix") - mass)
    assert_vanishes(found - forces)


def test_coordinates_may_be_functions_of_time():
    """Coordinates as SymPy's mechanics has them: rates are their derivatives, in constraints too."""
    a, b = dynamicsymbols("a b")
    bodies = MovingBodies("point", [a, b], [MovingBodyFormula("p", m, [a, b, 0])])
    equations = derive(bodies, "kane", pfaffian=[a.diff() - cos(b) * b.diff()], independent=["b(t)"])
    (u,) = (equations.symbol(name) for name in equations.velocities)
    assert sympy.simplify(equations.sympy("mass_matrix")[0] - m * (cos(b) ** 2 + 1)) == 0
    assert sympy.simplify(equations.sympy("coriolis")[0] + m * u**2 * sin(b) * cos(b)) == 0


def test_what_formulas_cannot_say_is_refused():
    t, w, rate = symbols("t omega thetadot")
    on_hoop = MovingBodyFormula("bead", m, [sin(theta) * cos(w * t), sin(theta) * sin(w * t), -cos(theta)])
    with pytest.raises(ArgumentError, match=r"from_lagrangian\(..., t=t\)"):
        derive(MovingBodies("hoop", [theta], [on_hoop]))
    angle = dynamicsymbols("theta")
    moved = MovingBodyFormula("bead", m, [sin(angle) * cos(w * dynamicsymbols._t), 0, 0])
    with pytest.raises(ArgumentError, match="is the symbol t time"):
        derive(MovingBodies("hoop", [angle], [moved]))
    bead = MovingBodyFormula("bead", m, [sin(theta), 0, -cos(theta)])
    with pytest.raises(ArgumentError, match="potential depends on velocities"):
        derive(MovingBodies("bead", [theta], [bead], potential=k * rate))
    with pytest.raises(ArgumentError, match="two bodies are called bead"):
        derive(MovingBodies("beads", [theta], [bead, bead]))
    with pytest.raises(ArgumentError, match="'b' has an inertia and no rotation"):
        derive(MovingBodies("bar", [theta], [MovingBodyFormula("b", m, [theta, 0, 0], inertia=sympy.eye(3))]))
    with pytest.raises(ArgumentError, match="'b': expected finite numbers and expressions, got nan"):
        derive(MovingBodies("bead", [theta], [MovingBodyFormula("b", m, [theta, 0, float("nan")])]))
    for wrong in ({"gravity": [0, 0, float("inf")]}, {"potential": sympy.oo * theta}):
        with pytest.raises(ArgumentError, match="gravity or potential is not finite"):
            derive(MovingBodies("bead", [theta], [bead], **wrong))
    with pytest.raises(ArgumentError, match="there must be a coordinate"):
        derive(MovingBodies("stone", [], [MovingBodyFormula("stone", m, [0, 0, 0])]))
    with pytest.raises(ArgumentError, match="named their coordinates already"):
        derive(MovingBodies("bead", [theta], [bead]), coordinates=["alpha"])
    with pytest.raises(ArgumentError, match="theta is given twice"):
        derive(MovingBodies("bead", [theta, theta], [bead]))
    with pytest.raises(ArgumentError, match=r"rotation has shape \(2, 2\)"):
        derive(MovingBodies("bead", [theta], [MovingBodyFormula("b", m, [theta, 0, 0], sympy.eye(2), sympy.eye(3))]))


EULER_PARAMETERS = symbols("e0:4")
COSINES = symbols("d0:9")


def by_euler_parameters() -> Matrix:
    e0, *e = EULER_PARAMETERS
    axis = Matrix(e)
    return (1 - 2 * axis.dot(axis)) * sympy.eye(3) + 2 * axis * axis.T + 2 * e0 * axis.hat()


@pytest.mark.parametrize(
    ("coordinates", "rotation"),
    [
        (EULER_PARAMETERS, by_euler_parameters()),
        (COSINES, Matrix(3, 3, COSINES)),
        ((*COSINES, alpha), Matrix(3, 3, COSINES) * sympy.rot_ccw_axis3(alpha)),
        ((alpha,), Matrix([[m, -M, 0], [M, m, 0], [0, 0, 1]]) * sympy.rot_ccw_axis1(alpha)),
    ],
    ids=["Euler parameters", "direction cosines", "relative to these", "parameters"],
)
def test_redundant_symbols_that_can_make_a_rotation_are_taken(coordinates, rotation):
    body = MovingBodyFormula("body", 1, [0, 0, 0], rotation, sympy.diag(1, 2, 3))
    assert derive(MovingBodies("turning", coordinates, [body])).mass_matrix.shape == (len(coordinates),) * 2


@pytest.mark.parametrize(
    ("rotation", "defect"),
    [
        (2 * sympy.rot_ccw_axis3(alpha), "is one nowhere"),
        (sympy.diag(1, 1, 1.01), "is one nowhere"),
        (sympy.rot_ccw_axis3(alpha) * sympy.diag(1, 1, -1), "reflection"),
        (Matrix([[cos(beta), sin(beta), 0], [sin(beta), cos(beta), 0], [0, 0, 1]]), "where beta does not move"),
        (sympy.rot_ccw_axis3(alpha) * sympy.diag(1, 1, cos(beta)), "where beta does not move"),
    ],
    ids=["twice", "number", "mirror", "sign", "double root"],
)
def test_formulas_that_are_no_rotation_are_refused(rotation, defect):
    """w~ = R^T Rdot would give some angular velocity, and a wrong one."""
    with pytest.raises(ArgumentError, match=f"body 'wheel': its rotation .*{defect}"):
        derive(MovingBodies("s", [alpha, beta], [MovingBodyFormula("wheel", m, [0, 0, 0], rotation, sympy.eye(3))]))
