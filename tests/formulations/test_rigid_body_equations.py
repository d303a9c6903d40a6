"""One free body: FORBES' equations for every attitude parameterisation, multipliers projected away, both forms."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from classical_systems import diagonal

from dalembert.algebra.attitude import DirectionCosines, EulerAngles, ModifiedRodrigues, Quaternion
from dalembert.algebra.quaternions import quaternion_normalise, rotation_from_quaternion
from dalembert.algebra.vectors import dual
from dalembert.algorithms.inverse_dynamics import INVERSE_DYNAMICS
from dalembert.errors import ArgumentError, ModelError
from dalembert.formulations import InverseSquare, derive, rigid_body
from dalembert.model import WORLD, Body, Force, Inertia, Joint, Mechanism
from random_mechanisms import random_mechanism

PARAMETERS = [Quaternion(), DirectionCosines(), EulerAngles("321"), EulerAngles("ZXZ"), ModifiedRodrigues()]
RNG = np.random.default_rng(11)
SPREAD = RNG.normal(size=(3, 3)) * 0.3
BODY = Inertia(2.5, [0.1, -0.2, 0.3], np.trace(SPREAD @ SPREAD.T) * np.eye(3) - SPREAD @ SPREAD.T)


def state(attitude):
    """Admissible parameters of a random rotation, a random position and velocity."""
    R = rotation_from_quaternion(quaternion_normalise(RNG.normal(size=4)))
    return R, np.concatenate([RNG.normal(size=3), attitude.from_rotation(R)]), RNG.normal(size=6)


@pytest.mark.parametrize("attitude", PARAMETERS, ids=lambda a: type(a).__name__ + getattr(a, "sequence", ""))
class TestForbes:
    def test_mixed_form(self, attitude):
        R, q, v = state(attitude)
        C, c, J, w = R.T, BODY.first_moment, BODY.tensor_about_origin, v[3:]
        found = rigid_body(BODY, attitude).evaluate(q, v)
        M = np.block([[2.5 * np.eye(3), -C.T @ dual(c)], [dual(c) @ C, J]])
        np.testing.assert_allclose(found["mass_matrix"], M, atol=1e-13)
        f_non = np.concatenate([C.T @ dual(w) @ dual(c) @ w, -dual(w) @ J @ w])
        np.testing.assert_allclose(found["coriolis"], -f_non, atol=1e-12)

    def test_lagrange_with_multipliers_projected_by_gamma_is_the_same(self, attitude):
        """Gamma^T (d/dt dT/dqdot - dT/dq) = inertia forces, for admissible parameters, redundant ones included."""
        _, q, v = state(attitude)
        equations = rigid_body(BODY, attitude)
        projected = equations["projected_bias"].evaluate({"q": q, "v": v})
        np.testing.assert_allclose(projected, equations.coriolis.evaluate({"q": q, "v": v}), atol=1e-12)

    def test_multipliers_vanish_under_gamma(self, attitude):
        _, q, _ = state(attitude)
        equations = rigid_body(BODY, attitude)
        if "parameter_constraints" not in equations.extras:
            assert attitude.nq == 3
            return
        Xi = equations["parameter_constraints"].evaluate({"q": q})
        Gamma = equations["velocity_map"].evaluate({"q": q})
        np.testing.assert_allclose(Xi @ Gamma[3:, 3:], 0, atol=1e-13)

    @pytest.mark.parametrize("form", ["mixed", "body"])
    def test_the_steps_say_what_the_parameters_are_and_how_they_move(self, attitude, form):
        """C and Gamma_a of the steps give the rates; multipliers are spoken of where there are some."""
        R, q, v = state(attitude)
        equations = rigid_body(BODY, attitude, form=form)
        first, *_, before, _ = equations.steps()
        C, Gamma, S, *Xi = (part.evaluate({"q": q}) for part in first.quantities)
        np.testing.assert_allclose(S @ Gamma, np.eye(3), atol=1e-13)
        assert all(np.abs(x @ Gamma).max() < 1e-13 for x in Xi)
        np.testing.assert_allclose(C, R.T, atol=1e-13)
        rates = np.concatenate([v[:3] if form == "mixed" else C.T @ v[:3], Gamma @ v[3:]])
        np.testing.assert_allclose(equations.evaluate(q, v)["kinematics"], rates, atol=1e-12)
        redundant = attitude.nq > 3
        assert [r"\Xi" in first.formula, r"\lambda" in before.formula] == [redundant, redundant]

    def test_body_form_is_the_mixed_form_in_body_axes(self, attitude):
        """C vdot_a = vdot_b + w x v_b, and moments are the same."""
        R, q, v = state(attitude)
        mixed = rigid_body(BODY, attitude, gravity=(0.3, -9.0, 2.0)).evaluate(q, v)
        C, w = R.T, v[3:]
        v_b = np.concatenate([C @ v[:3], w])
        body = rigid_body(BODY, attitude, form="body", gravity=(0.3, -9.0, 2.0)).evaluate(q, v_b)
        a_b = RNG.normal(size=6)
        a_a = np.concatenate([C.T @ (a_b[:3] + np.cross(w, v_b[:3])), a_b[3:]])
        turn = np.block([[C, np.zeros((3, 3))], [np.zeros((3, 3)), np.eye(3)]])
        wrench_b = body["mass_matrix"] @ a_b + body["bias"]
        wrench_a = mixed["mass_matrix"] @ a_a + mixed["bias"]
        np.testing.assert_allclose(wrench_b, turn @ wrench_a, atol=1e-12)

    def test_parameters_turn_with_the_body(self, attitude):
        """The rate of the direction cosines along qdot is Cdot = -w~ C."""
        R, q, v = state(attitude)
        qdot = rigid_body(BODY, attitude).evaluate(q, v)["kinematics"]
        rate = np.asarray(attitude.dcm(q[3:] + 1e-30j * qdot[3:]), dtype=complex).imag / 1e-30
        np.testing.assert_allclose(rate, -dual(v[3:]) @ R.T, atol=1e-12)


class TestSymbols:
    """The free body in direction cosines, quaternions and Euler angles, symbol for symbol.

    FORBES, mixed form, with c the first moment and J the inertia about the origin in body axes, C inertial to body:
    [m, -C^T c~; c~ C, J] (vdot, wdot) + (-C^T w~ c~ w, w~ J w) = (f, n).
    """

    m, g = sympy.symbols("m g")
    center = sympy.symbols("x_c y_c z_c")
    moments = sympy.symbols("I_x I_y I_z")
    w = sympy.Matrix(sympy.symbols("omega_x omega_y omega_z"))

    def body(self) -> Inertia:
        return Inertia(self.m, list(self.center), diagonal(*self.moments))

    def skew(self, v) -> sympy.Matrix:
        x, y, z = v
        return sympy.Matrix([[0, -z, y], [z, 0, -x], [-y, x, 0]])

    def cosines(self, attitude, p) -> sympy.Matrix:
        """C from textbooks: as it stands; of a quaternion (vector, scalar); of three rotations 3-2-1."""
        if attitude.nq == 9:
            return sympy.Matrix(3, 3, p)
        if attitude.nq == 4:
            e, eta = sympy.Matrix(p[:3]), p[3]
            return (eta**2 - (e.T * e)[0]) * sympy.eye(3) + 2 * e * e.T - 2 * eta * self.skew(e)
        turns = [sympy.rot_axis3(p[0]), sympy.rot_axis2(p[1]), sympy.rot_axis1(p[2])]  # SymPy turns the axes
        return turns[2] * turns[1] * turns[0]

    def equal(self, found, expected, attitude, p) -> None:
        """Equality, for quaternions of unit length."""
        difference = (sympy.Matrix(found) - sympy.Matrix(expected)).applyfunc(sympy.expand)
        if attitude.nq == 4:
            unit = sum(x**2 for x in p) - 1
            difference = difference.applyfunc(lambda x: sympy.rem(x, unit, p[3]))
        assert difference.applyfunc(sympy.simplify).is_zero_matrix

    @pytest.mark.parametrize("attitude", [DirectionCosines(), Quaternion(), EulerAngles("321")], ids=["C", "q", "321"])
    def test_mixed_form(self, attitude):
        equations = rigid_body(self.body(), attitude, gravity=(0, 0, -self.g))
        p = [equations.symbol(name) for name in equations.coordinates[3:]]
        C, m, w = self.cosines(attitude, p), self.m, self.w
        c = m * sympy.Matrix(self.center)
        J = sympy.diag(*self.moments) - m * self.skew(self.center) ** 2
        M = sympy.Matrix(sympy.BlockMatrix([[m * sympy.eye(3), -C.T * self.skew(c)], [self.skew(c) * C, J]]))
        inertia = [*(C.T * self.skew(w) * self.skew(w) * c), *(self.skew(w) * J * w)]
        weight = m * sympy.Matrix([0, 0, -self.g])
        self.equal(equations.sympy("mass_matrix"), M, attitude, p)
        self.equal(equations.sympy("coriolis"), inertia, attitude, p)
        self.equal(equations.sympy("gravity"), [*(-weight), *(-self.skew(c) * C * weight / m)], attitude, p)

    @pytest.mark.parametrize("attitude", [DirectionCosines(), Quaternion()], ids=["C", "q"])
    def test_rates_of_the_parameters(self, attitude):
        """Cdot = -w~ C; the rates of a quaternion are half of (eta w + e x w, -e.w)."""
        equations = rigid_body(self.body(), attitude)
        p, w = [equations.symbol(name) for name in equations.coordinates[3:]], self.w
        if attitude.nq == 9:
            expected = list(-self.skew(w) * sympy.Matrix(3, 3, p))
        else:
            e = sympy.Matrix(p[:3])
            expected = [x / 2 for x in [*(p[3] * w + e.cross(w)), -e.dot(w)]]
        assert (equations.sympy("kinematics")[3:, :] - sympy.Matrix(expected)).expand().is_zero_matrix


@pytest.mark.parametrize("attitude", [Quaternion(), EulerAngles("321")], ids=["q", "321"])
@pytest.mark.parametrize("form", ["mixed", "body"])
def test_symbols_of_the_user_are_not_taken_for_coordinates(form, attitude):
    """Mass, place and field called like coordinates and velocities: the same equations as with other names."""
    names = ("u", "x", "psi", "omega_x", "eta", "v_y")
    odd = sympy.symbols(names)

    def derived(mass, a, b, inertia, mu, c):
        body = Inertia(mass, [a, b, 0], diagonal(inertia, inertia, inertia))
        return rigid_body(body, attitude, form=form, gravity=InverseSquare(mu, (c, 0, 0)))

    plain, mine = derived(*sympy.symbols("p1:7")), derived(*odd)
    assert {str(s) for s in mine.parameters} == set(names)
    assert not {*mine.coordinates, *mine.velocities} & set(names)
    q = np.concatenate([[1.5, -0.7, 0.4], attitude.from_rotation(rotation_from_quaternion(np.full(4, 0.5)))])
    v, values = np.linspace(-1, 1, 6), (1.3, 0.2, -0.4, 0.6, 2.1, 0.3)
    theirs = plain.evaluate(q, v, **{f"p{k}": x for k, x in enumerate(values, 1)})
    for part, value in mine.numbers(tuple(theirs), {"q": q, "v": v, **dict(zip(odd, values))}).items():
        np.testing.assert_array_equal(value, theirs[part])


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), sympy.nan])
def test_fields_are_finite(wrong):
    for gravity in ((0, wrong, 0), [0, 0, wrong * sympy.Symbol("k")]):
        with pytest.raises(ArgumentError, match="expected finite"):
            rigid_body(BODY, gravity=gravity)
    for arguments in ((wrong,), (1, (wrong, 0, 0))):
        with pytest.raises(ArgumentError, match="InverseSquare: expected finite"):
            InverseSquare(*arguments)


def test_free_joint_of_a_mechanism_gives_the_same_equations():
    free = Mechanism("brick", (Body("brick", BODY),), (Joint("free", "free", WORLD, "brick"),))
    _, q, v = state(Quaternion())
    one = rigid_body(BODY, gravity=(0, 0, -9.81)).evaluate(q, v)
    for method in ("newton-euler", "lagrange", "kane"):
        other = derive(free, method).evaluate(q, v)
        for part in ("mass_matrix", "coriolis", "gravity", "kinematics"):
            np.testing.assert_allclose(other[part], one[part], atol=1e-12)


@pytest.mark.parametrize("method", ["lagrange", "kane", "kronecker", "newton-euler"])
def test_eulers_equations_by_every_route(method):
    """No route leaves the length of the quaternion in its equations."""
    moments = sympy.symbols("I_x I_y I_z")
    body = Body("brick", Inertia(sympy.Symbol("m"), [0, 0, 0], diagonal(*moments)))
    free = Mechanism("brick", (body,), (Joint("free", "free", WORLD, "brick"),))
    p, q, r = sympy.symbols("omega_x omega_y omega_z")
    x, y, z = moments
    expected = sympy.Matrix([0, 0, 0, (z - y) * q * r, (x - z) * p * r, (y - x) * p * q])
    found = derive(free, method).sympy("coriolis")
    assert (found - expected).expand().is_zero_matrix and sympy.count_ops(found) <= 15


@pytest.mark.parametrize("method", ["lagrange", "kane", "kronecker", "newton-euler"])
def test_a_heavy_top_is_short_by_every_route(method):
    """Of quaternions nothing is left in w x I w once their unit length is used."""
    m, l, A, B, C = sympy.symbols("m l A B C", positive=True)
    body = Body("top", Inertia(m, [0, 0, l], diagonal(A, B, C)))
    equations = derive(Mechanism("top", [body], [Joint("j", "spherical", WORLD, "top")]), method)
    w = sympy.Matrix(equations.scope.symbols["v"])
    I = sympy.diag(A + m * l**2, B + m * l**2, C)
    assert (equations.sympy("coriolis") - w.cross(I * w)).expand().is_zero_matrix
    if method == "kronecker":
        star = equations.sympy("coriolis_star")
        assert star.free_symbols <= {m, l, A, B, C}
        assert (star * sympy.kronecker_product(w, w) - w.cross(I * w)).expand().is_zero_matrix


def test_newton_euler_of_aircraft_in_closed_form():
    """About the centre of mass, body form, 3-2-1 angles: the six equations of any book on flight dynamics."""
    m, g, I1, I2, I3 = sympy.symbols("m g I_x I_y I_z")
    equations = rigid_body(
        Inertia(m, [0, 0, 0], diagonal(I1, I2, I3)), EulerAngles("321"), form="body", gravity=(0, 0, g)
    )
    u, v, w, p, q, r, phi, theta = sympy.symbols("u v w omega_x omega_y omega_z phi theta")
    expected = sympy.Matrix(
        [
            m * (q * w - r * v),
            m * (r * u - p * w),
            m * (p * v - q * u),
            (I3 - I2) * q * r,
            (I1 - I3) * p * r,
            (I2 - I1) * p * q,
        ]
    )
    assert (equations.sympy("coriolis") - expected).expand() == sympy.zeros(6, 1)
    s, c = sympy.sin, sympy.cos
    weight = -m * g * sympy.Matrix([-s(theta), s(phi) * c(theta), c(phi) * c(theta), 0, 0, 0])
    assert (equations.sympy("gravity") - weight).expand() == sympy.zeros(6, 1)
    turning = equations.sympy("kinematics")[3:, :]
    rates = sympy.Matrix(
        [
            (q * s(phi) + r * c(phi)) / c(theta),
            q * c(phi) - r * s(phi),
            p + (q * s(phi) + r * c(phi)) * s(theta) / c(theta),
        ]
    )
    assert (turning - rates).applyfunc(sympy.simplify) == sympy.zeros(3, 1)


class TestInverseSquareField:
    mu = 3.7

    def points(self, size: float, rng) -> tuple[np.ndarray, np.ndarray]:
        return rng.uniform(0.5, 1.0, 20), rng.normal(size=(20, 3)) * size

    def body_of(self, masses, points) -> Inertia:
        center = masses @ points / masses.sum()
        r = points - center
        tensor = sum(m * (x @ x * np.eye(3) - np.outer(x, x)) for m, x in zip(masses, r))
        return Inertia(masses.sum(), center, tensor)

    def test_force_and_moment_against_point_masses(self):
        """Twenty point masses attracted one by one; the error falls with the third power of size over distance."""
        rng = np.random.default_rng(3)
        errors = []
        for size in (0.02, 0.01):
            masses, points = self.points(size, np.random.default_rng(5))
            body = self.body_of(masses, points)
            q = np.array([1.0, 2.0, -0.5, *quaternion_normalise([0.1, -0.4, 0.3, 0.8])])
            R = rotation_from_quaternion(q[3:])
            world = q[:3] + points @ R.T
            pulls = -self.mu * masses[:, None] * world / np.linalg.norm(world, axis=1)[:, None] ** 3
            force, moment = pulls.sum(axis=0), np.cross(points, pulls @ R).sum(axis=0)
            found = -rigid_body(body, gravity=InverseSquare(self.mu)).evaluate(q, rng.normal(size=6))["gravity"]
            central = moment - np.cross(body.center, R.T @ force)
            found_central = found[3:] - np.cross(body.center, R.T @ found[:3])
            errors.append(np.linalg.norm(found_central - central) / np.linalg.norm(central))
            assert np.linalg.norm(found[:3] - force) / np.linalg.norm(force) < 40 * (size / 2.3) ** 3
        assert errors[1] < 0.6 * errors[0] and errors[1] < 0.05

    def test_it_is_the_gradient_of_its_energy_for_mechanisms_too(self):
        """Power of gravity along any motion is minus the rate of the potential energy."""
        body = Body("satellite", BODY)
        free = Mechanism("satellite", (body,), (Joint("free", "free", WORLD, "satellite"),))
        field = InverseSquare(sympy.Symbol("mu"), (0.1, 0, -0.2))
        _, q, v = state(Quaternion())
        q[:3] += [5, 0, 0]
        by_lagrange = derive(free, "lagrange", field=field)
        force = by_lagrange.gravity.evaluate({"q": q, "mu": self.mu})
        qdot = by_lagrange.kinematics.evaluate({"q": q, "v": v})
        energy = by_lagrange["potential_energy"].evaluate({"q": q + 1e-30j * qdot, "mu": self.mu}).imag / 1e-30
        assert force @ v == pytest.approx(energy, rel=1e-12)
        np.testing.assert_allclose(derive(free, "kane", field=field).gravity.evaluate({"q": q, "mu": self.mu}), force)
        alone = rigid_body(BODY, gravity=field).gravity.evaluate({"q": q, "mu": self.mu})
        np.testing.assert_allclose(alone, force, rtol=1e-12)

    def test_it_is_the_attraction_element_of_the_model(self):
        """The same field as a force element of the mechanism: minus the gravity forces."""
        attraction = Force("earth", "attraction", value=self.mu)
        free = Mechanism("satellite", (Body("satellite", BODY),), (Joint("free", "free", WORLD, "satellite"),))
        free = free.replace(forces=(attraction,), gravity=np.zeros(3))
        _, q, v = state(Quaternion())
        q[:3] += [3, 1, 0]
        element = derive(free, "newton-euler", elements=["earth"]).passive.evaluate({"q": q, "v": v})
        field = derive(free, "kane", field=InverseSquare(self.mu)).gravity.evaluate({"q": q})
        np.testing.assert_allclose(element, -field, rtol=1e-12)

    @pytest.mark.parametrize("seed", range(4))
    def test_every_route_carries_it_along_the_links(self, seed):
        """Force and moment of the field on each link, loaded on it by Newton-Euler, projected by all the others."""
        mechanism = random_mechanism(seed, 4, floating=bool(seed % 2))
        q, v, _ = mechanism.random_state(np.random.default_rng(seed))
        field = InverseSquare(self.mu, (4.0, -3.0, 5.0))
        parts = [
            derive(mechanism, method, field=field).numbers(("gravity", "bias"), {"q": q, "v": v})
            for method in ("kane", "newton-euler", "lagrange", "kronecker")
        ]
        for part in ("gravity", "bias"):
            scale = np.abs(parts[0][part]).max()
            for other in parts[1:]:
                np.testing.assert_allclose(other[part], parts[0][part], rtol=1e-10, atol=1e-11 * scale)

    def test_mistakes_are_named(self):
        with pytest.raises(ModelError, match="mu"):
            InverseSquare("mu")
        with pytest.raises(ArgumentError, match="three numbers"):
            InverseSquare(1.0, (1, 2))
        with pytest.raises(ArgumentError, match="gravity-field"):
            derive(random_mechanism(0, 2), field=sympy.Symbol("mu"))
        with pytest.raises(ArgumentError, match="got str"):
            derive("panda.urdf")
        with pytest.raises(ArgumentError, match=r"EulerAngles\('321'\)"):
            rigid_body(Inertia(1.0), "euler")
        with pytest.raises(ArgumentError, match="got int"):
            rigid_body(3)

    @pytest.mark.parametrize("algorithm", INVERSE_DYNAMICS)
    def test_every_algorithm_carries_it(self, algorithm):
        mechanism = random_mechanism(3, 3, kinds=("revolute", "prismatic"))
        q = mechanism.random_state(np.random.default_rng(3))[0]
        field = InverseSquare(self.mu, (4.0, -3.0, 5.0))
        found = derive(mechanism, "newton-euler", field=field, algorithm=algorithm).gravity.evaluate({"q": q})
        expected = derive(mechanism, "kane", field=field).gravity.evaluate({"q": q})
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12 * np.abs(expected).max())

    def test_particles_feel_no_moment(self):
        force = rigid_body(Inertia(1.0), gravity=InverseSquare(2.0, extended=False)).gravity.evaluate(
            {"q": np.array([2.0, 0, 0, 0, 0, 0, 1])}
        )
        np.testing.assert_allclose(force, [0.5, 0, 0, 0, 0, 0], atol=1e-15)


@pytest.mark.parametrize("form", ["mixed", "body"])
def test_what_is_shorter_in_intermediates_is_shown_so(form):
    """A closed form of pages, where a dozen named values say the same, is written only if asked for."""
    inertia = Inertia(sympy.Symbol("m"), tensor=sympy.diag(*sympy.symbols("A B C")))
    equations = rigid_body(inertia, form=form, gravity=InverseSquare(sympy.Symbol("mu")))
    assert len(str(equations)) < 6000 and len(equations.latex()) < 6000
    for part in equations.quantities().values():
        assert part.latex() == part.latex("closed" if part.is_short else "intermediates")
        if not part.is_simplified:
            assert not part.is_short
    assert equations.mass_matrix.is_short and not equations.gravity.is_short


def test_wrong_form_is_refused():
    with pytest.raises(ArgumentError, match="'mixed' or 'body'"):
        rigid_body(BODY, form="spatial")


@pytest.mark.parametrize("form", ["mixed", "body"])
@pytest.mark.parametrize("attitude", [Quaternion(), DirectionCosines(), EulerAngles("313")])
def test_forces_at_points_do_the_work_of_their_points(attitude, form):
    """FORBES, step 3: the power of the inputs is that of the forces at the velocities of their points."""
    points = [[0.3, -0.2, 0.5], [-0.1, 0.4, 0.2]]
    body = rigid_body(Inertia(2.0, (0.1, 0.2, 0.3), np.diag([0.3, 0.4, 0.5])), attitude, form=form, points=points)
    _, q, v = state(attitude)
    forces = np.random.default_rng(4).normal(size=(2, 3))
    tau = np.concatenate([np.zeros(6), *forces])
    D = np.asarray(body.input_map.evaluate({"q": q, "v": v}), dtype=float)
    C = np.asarray(attitude.dcm(q[3:]), dtype=float)
    origin = v[:3] if form == "mixed" else C.T @ v[:3]
    moving = [origin + C.T @ np.cross(v[3:], r) for r in points]
    assert v @ D @ tau == pytest.approx(sum(f @ u for f, u in zip(forces, moving)), rel=1e-12)
    with pytest.raises(ModelError):
        rigid_body(Inertia(1.0), points=[[1, 2]])
