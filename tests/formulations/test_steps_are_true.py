"""What steps print in general letters is true of what they show, for joints of every kind: computed here as printed.

Derivatives are by the complex step, exact to rounding; numbers are of order 1 to 100, so that 1e-10 leaves a margin.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import dalembert as da
from dalembert.algebra.transform import Transform
from dalembert.formulations import derive
from dalembert.formulations.composite_links import COMPOSITE
from dalembert.formulations.joint_letters import ALONG_AXES, ALONG_COLUMNS, joints_of
from dalembert.formulations.kronecker import HESSIANS, HESSIANS_ALONG, STAR, STAR_ALONG
from dalembert.formulations.lagrange import EXPLICIT, PROJECTED
from dalembert.formulations.recursions import IN_FIELDS, RECURSIONS
from dalembert.model import WORLD, Body, Inertia, Joint, Mechanism
from dalembert.model.joint import Mimic
from dalembert.report.markdown import to_markdown
from dalembert.report.report import document

KINDS = ("revolute", "prismatic", "helical", "cylindrical", "universal", "planar", "spherical", "free")
QUATERNIONS = ("spherical", "free")
CLOSE = {"rtol": 1e-10, "atol": 1e-10}


def carried(kind: str) -> Mechanism:
    """A body on a joint of that kind, which stands askew on a turning body; the free one alone."""
    tensor = np.array([[0.7, 0.05, -0.1], [0.05, 0.9, 0.02], [-0.1, 0.02, 0.4]])
    bodies = (Body("base", Inertia(2.0, [0.3, 0.1, 0.2], tensor)), Body("b", Inertia(1.5, [0.2, -0.4, 0.3], tensor)))
    extra = {"helical": {"pitch": 0.3}, "universal": {"axis2": [0.6, 0, 0.8]}}.get(kind, {})
    if kind == "free":
        return Mechanism("free", bodies[1:], (Joint("j", "free", WORLD, "b"),), gravity=[1, 2, -9])
    placement = Transform(np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]]), [0.5, -0.2, 0.1])
    turn = Joint("t", "revolute", WORLD, "base", axis=[0, 0.6, 0.8])
    joint = Joint("j", kind, "base", "b", placement, axis=[0.6, 0.8, 0] if kind != "universal" else [0, 1, 0], **extra)
    return Mechanism(kind, bodies, (turn, joint), gravity=[1, 2, -9])


def slopes(function, q) -> np.ndarray:
    """Derivatives by the coordinates, along the last axis."""
    rows = []
    for k in range(len(q)):
        moved = np.array(q, dtype=complex)
        moved[k] += 1e-30j
        rows.append(np.imag(function(moved)) / 1e-30)
    return np.stack(rows, axis=-1)


class Shown:
    """The quantities that the steps of a derivation show, as functions of the coordinates; and a state."""

    def __init__(self, mechanism: Mechanism, method: str, **options):
        self.equations = derive(mechanism, method, **options)
        self.steps = {step.title: step for step in self.equations.steps()}
        self.quantities = {q.name: q for step in self.equations.steps() for q in step.quantities}
        self.q, self.v, self.vdot = mechanism.random_state(np.random.default_rng(5))

    def __call__(self, name: str, q=None) -> np.ndarray:
        return self.quantities[name].evaluate({"q": self.q if q is None else q, "v": self.v})

    def slopes(self, name: str) -> np.ndarray:
        return slopes(lambda q: self(name, q), self.q)

    def rate_matrix(self, q) -> np.ndarray:
        """M_q = S^T M S."""
        S = self("rate_inverse", q)
        return S.T @ self("mass_matrix", q) @ S


@pytest.mark.parametrize("kind", KINDS)
def test_velocity_forces_by_lagrange(kind):
    shown = Shown(carried(kind), "lagrange")
    formula, v, M = shown.steps["Centrifugal and Coriolis forces"].formula, shown.v, shown("mass_matrix")
    dM = shown.slopes("mass_matrix")
    if kind not in QUATERNIONS:
        assert formula == EXPLICIT and "Rates of the coordinates" not in shown.steps
        found = dM @ v @ v - np.einsum("j,jki,k", v, dM, v) / 2
        np.testing.assert_allclose(found, shown("coriolis"), **CLOSE)
        return
    assert formula == PROJECTED
    Gamma, dGamma = shown("velocity_map"), shown.slopes("velocity_map")
    np.testing.assert_allclose(shown("rate_inverse") @ Gamma, np.eye(len(v)), atol=1e-12)
    rates = Gamma @ v
    np.testing.assert_allclose(rates, shown.equations.kinematics.evaluate({"q": shown.q, "v": v}), **CLOSE)
    M_q, dM_q = shown.rate_matrix(shown.q), slopes(shown.rate_matrix, shown.q)
    inner = dM_q @ rates @ rates + M_q @ (dGamma @ rates) @ v - np.einsum("j,jki,k", rates, dM_q, rates) / 2
    np.testing.assert_allclose(Gamma.T @ inner, shown("coriolis"), **CLOSE)

    # The same by Boltzmann and Hamel: the plain formula lacks w x dK/dw, so that it would be false.
    plain = dM @ rates @ v - Gamma.T @ np.einsum("j,jki,k", v, dM, v) / 2
    turning = np.zeros(len(v))
    turning[-3:] = np.cross(v[-3:], (M @ v)[-3:])
    np.testing.assert_allclose(plain + turning, shown("coriolis"), **CLOSE)
    assert np.abs(turning).max() > 1e-2


@pytest.mark.parametrize("kind", KINDS)
def test_kronecker_form(kind):
    shown = Shown(carried(kind), "kronecker")
    v = shown.v
    n, hessians = len(v), shown.steps["Jacobian and Hessian matrices"].formula
    star, along = shown.steps["Velocity-free Coriolis matrix"].formula, np.eye(n)
    if kind in QUATERNIONS:
        assert (hessians, star) == (HESSIANS_ALONG, STAR_ALONG)
        along = shown("velocity_map")
    else:
        assert (hessians, star) == (HESSIANS, STAR)
    for i in range(1, len(carried(kind).bodies) + 1):
        for J, H in ((f"J_TG_{i}", f"H_TG_{i}"), (f"J_R_{i}", f"H_R_{i}")):
            expected = shown.slopes(J).reshape(3, -1) @ np.kron(np.eye(n), along)
            np.testing.assert_allclose(shown(H), expected, **CLOSE)
    C = star_of(shown.slopes("mass_matrix") @ along)
    forces = C @ np.kron(v, v)
    if kind in QUATERNIONS:
        forces[-3:] += np.cross(v[-3:], (shown("mass_matrix") @ v)[-3:])
    else:
        np.testing.assert_allclose(shown("coriolis_star"), C, **CLOSE)
    np.testing.assert_allclose(shown("coriolis_star") @ np.kron(v, v), forces, **CLOSE)
    np.testing.assert_allclose(shown("coriolis"), forces, **CLOSE)


def test_rotors_by_kane():
    """Their inertia is in the mass matrix that is shown, so it has to be in the printed sum."""
    mechanism = carried("universal")
    joints = tuple(joint.replace(armature=0.3) for joint in mechanism.joints)
    geared = Shown(mechanism.replace(joints=joints), "kane", include=["armature"])
    M = geared("rotor_matrix")
    for i, body in enumerate(mechanism.bodies, 1):
        Jw, Jv = geared(f"Jw_{i}"), geared(f"Jv_{i}")
        M = M + Jw.T @ body.inertia.tensor @ Jw + body.inertia.mass * Jv.T @ Jv
    np.testing.assert_allclose(geared("mass_matrix"), M, **CLOSE)
    title, term = "Projection on the partial velocities", r"+ \sum_r J_r s_r^T \dot{\nu}_r ="
    assert term in geared.steps[title].formula
    assert "sum_r" not in Shown(mechanism, "kane").steps[title].formula


def star_of(dM) -> np.ndarray:
    """dM/dq - 1/2 (d vec M/dq)^T; dM has the coordinate last, vec puts column under column."""
    n = len(dM)
    return dM.reshape(n, -1) - dM.transpose(1, 0, 2).reshape(-1, n).T / 2


@pytest.mark.parametrize("kind", KINDS)
def test_projection_by_kane(kind):
    mechanism = carried(kind)
    shown = Shown(mechanism, "kane")
    rates = shown.equations.kinematics.evaluate({"q": shown.q, "v": shown.v})
    forces = np.zeros(len(shown.v))
    for i, body in enumerate(mechanism.bodies, 1):
        J = np.vstack([shown(f"Jw_{i}"), shown(f"Jv_{i}")])
        dJ = np.concatenate([shown.slopes(f"Jw_{i}"), shown.slopes(f"Jv_{i}")])
        left = np.concatenate([shown(f"alpha_{i}"), shown(f"a_{i}")])
        np.testing.assert_allclose(dJ @ rates @ shown.v, left, **CLOSE)
        M_i = np.kron([[1, 0], [0, 0]], body.inertia.tensor) + np.kron([[0, 0], [0, 1]], body.inertia.mass * np.eye(3))
        momentum = M_i @ J @ shown.v
        turned = np.concatenate([np.cross((J @ shown.v)[:3], momentum[:3]), np.zeros(3)])
        forces = forces + J.T @ (M_i @ left + turned)
    np.testing.assert_allclose(forces, shown("coriolis"), **CLOSE)


def followed(equations, state) -> dict[str, np.ndarray]:
    """The values of everything that steps show, computed one after the other from the state and what came before.

    Args:
        equations: a derivation.
        state: arrays by input.
    """
    given, found = dict(state), {}
    for step in equations.steps():
        for shown in step.quantities:
            needed = {port.name for port in shown.program.inputs}
            assert needed <= set(given), f"{step.title}: {shown.name} needs {needed - set(given)}, not defined before"
            assert shown.name not in given, f"{step.title}: {shown.name} is defined twice"
            found[shown.name] = np.asarray(shown.evaluate({name: given[name] for name in needed}))
            if shown.name in equations.scope.defined:
                given[shown.name] = found[shown.name].ravel()
    return found


def forces_of(mechanism, found) -> np.ndarray:
    """The generalised forces that a recursion on paper arrives at."""
    links = mechanism.tree.links
    return found["tau"] if "tau" in found else np.array([found[f"tau_{i}"] for i in range(1, len(links) + 1)])


@pytest.mark.parametrize("algorithm", RECURSIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_recursions_on_paper(kind, algorithm):
    """Every symbol is defined before it is used, and the last ones are the forces that accelerations need."""
    mechanism = carried(kind)
    equations = derive(mechanism, "newton-euler", algorithm=algorithm, inertia="two-sided")
    q, v, vdot = mechanism.random_state(np.random.default_rng(5))
    found = followed(equations, {"q": q, "v": v, "udot": vdot})
    axes = kind in ("revolute", "prismatic", "cylindrical", "universal", "planar")
    assert joints_of(mechanism.tree) is (ALONG_AXES if axes else ALONG_COLUMNS)
    expected = as_printed(mechanism, q, v, vdot, axes)
    np.testing.assert_allclose(forces_of(mechanism, found), expected, **CLOSE)
    np.testing.assert_allclose(found["mass_matrix"] @ vdot + found["coriolis"] + found["gravity"], expected, **CLOSE)


@pytest.mark.parametrize("inertia", COMPOSITE)
@pytest.mark.parametrize("kind", KINDS)
def test_composite_links_on_paper(kind, inertia):
    mechanism = carried(kind)
    equations = derive(mechanism, "newton-euler", inertia=inertia)
    q, v, vdot = mechanism.random_state(np.random.default_rng(6))
    found = followed(equations, {"q": q, "v": v, "udot": vdot})
    (shown,) = (x.quantities[0] for x in equations.steps() if x.title == "Entries of the inertia matrix")
    needed = {port.name for port in shown.program.inputs}
    given = {"q": q, "v": v} | {name: values.ravel() for name, values in found.items()}
    on_paper = shown.evaluate({name: given[name] for name in needed})
    np.testing.assert_allclose(on_paper, da.Dynamics(mechanism).mass_matrix(q), **CLOSE)


def branched() -> Mechanism:
    """A cart with two arms, one of which follows the other; their joints are askew."""
    tensor = np.array([[0.3, 0.02, -0.01], [0.02, 0.4, 0.03], [-0.01, 0.03, 0.2]])
    askew = Transform(np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]]), [0.4, 0.3, -0.1])
    bodies = [Body(x, Inertia(k, [0.1 * k, 0.2, -0.1], tensor)) for k, x in enumerate(("cart", "a", "b", "hand"), 1)]
    joints = [
        Joint("rail", "prismatic", WORLD, "cart", axis=[0.6, 0, 0.8]),
        Joint("left", "revolute", "cart", "a", askew, axis=[0, 0.6, 0.8]),
        Joint("right", "revolute", "cart", "b", axis=[0, 1, 0], mimic=Mimic("left", 1.5, 0.2)),
        Joint("slide", "prismatic", "a", "hand", askew, axis=[0, 0, 1]),
    ]
    return Mechanism("branched", bodies, joints, gravity=[1, -2, -9])


@pytest.mark.parametrize("field", [None, da.InverseSquare(3.0, attractor=[5.0, 6.0, 7.0])])
@pytest.mark.parametrize("algorithm", IN_FIELDS)
def test_recursions_on_paper_of_trees_and_in_fields(algorithm, field):
    mechanism = branched()
    equations = derive(mechanism, "newton-euler", algorithm=algorithm, field=field)
    q, v, vdot = mechanism.random_state(np.random.default_rng(7))
    found = followed(equations, {"q": q, "v": v, "udot": vdot})
    other = derive(mechanism, "kane", field=field).evaluate(q, v)
    np.testing.assert_allclose(found["tau"], other["mass_matrix"] @ vdot + other["bias"], **CLOSE)
    np.testing.assert_allclose(found["mass_matrix"], other["mass_matrix"], **CLOSE)


def test_letters_on_paper_are_those_of_the_thesis():
    """The recursion has names for all it computes, and no x0, x1, ..."""
    text = to_markdown(document(da.load("rrr"), "newton-euler", agreement=False))
    letters = (r"\omega_{3}", r"\Omega_{2}", "u_{3}", "K_{2}", r"\mu_{1}", r"\ddot{U}_{2}", r"\eta_{1}", "E_{1}")
    missing = [x for x in letters if not re.search(re.escape(x) + r"(\\right\)_\{\d+\})?( = \S+)? &? ?= ", text)]
    assert not missing
    assert not re.search(r"x_\{?\d", text)


def as_printed(mechanism, q, v, vdot, axes) -> np.ndarray:
    """The printed recursion, link by link."""
    tree, cross = mechanism.tree, np.cross
    ground = (np.zeros(3), np.zeros(3), np.zeros(3), np.eye(3))
    motion, way, loads = [], [], []
    for link in tree.links:
        A, s = np.asarray(link.rotation(q), float), np.asarray(link.translation(q), float)
        own = slice(link.v, link.v + link.nv)
        w0, wd0, sdd0, R0 = motion[link.parent] if link.parent >= 0 else ground
        Omega0 = tilde(wd0) + tilde(w0) @ tilde(w0)
        if axes:
            sigma, z, rate, second = float(link.rotates), np.asarray(link.axis, float), v[own][0], vdot[own][0]
            w = A.T @ w0 + sigma * z * rate
            wd = A.T @ wd0 + sigma * (z * second + cross(w, z * rate))
            sdd = A.T @ (sdd0 + Omega0 @ s) + (1 - sigma) * (z * second + 2 * cross(w, z * rate))
        else:
            Zw, Zv = np.asarray(link.Zw, float), np.asarray(link.Zv, float)
            w = A.T @ w0 + Zw @ v[own]
            wd = A.T @ wd0 + Zw @ vdot[own] + cross(w, Zw @ v[own])
            sdd = A.T @ (sdd0 + Omega0 @ s) + Zv @ vdot[own] + 2 * cross(w, Zv @ v[own])
        motion.append((w, wd, sdd, R0 @ A))
        way.append((A, s))
        loads.append((np.zeros(3), np.zeros(3)))
    for body in mechanism.bodies:
        i, at = tree.carriers[body.name]
        w, wd, sdd, R = motion[i]
        m, r, I = body.inertia.mass, np.asarray(at.apply(body.inertia.center), float), body.inertia.tensor
        a = sdd + (tilde(wd) + tilde(w) @ tilde(w)) @ r
        F, N = m * (a - R.T @ mechanism.gravity), I @ wd + cross(w, I @ w)
        loads[i] = (loads[i][0] + F, loads[i][1] + N + cross(r, F))
    tau = np.zeros(len(v))
    for i in reversed(range(len(tree.links))):
        link, (f, n), (A, s) = tree.links[i], loads[i], way[i]
        if axes:
            sigma, z = float(link.rotates), np.asarray(link.axis, float)
            tau[link.v] = sigma * z @ n + (1 - sigma) * z @ f
        else:
            tau[link.v : link.v + link.nv] = np.asarray(link.Zw, float).T @ n + np.asarray(link.Zv, float).T @ f
        if link.parent >= 0:
            f0, n0 = loads[link.parent]
            loads[link.parent] = (f0 + A @ f, n0 + A @ n + cross(s, A @ f))
    return tau


def tilde(x) -> np.ndarray:
    return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])


@pytest.mark.parametrize("method", ["lagrange", "kronecker", "newton-euler"])
def test_reports_print_the_formula_that_holds(method):
    plain, general = {
        "lagrange": (EXPLICIT, PROJECTED),
        "kronecker": (STAR, STAR_ALONG),
        "newton-euler": (ALONG_AXES.turn, ALONG_COLUMNS.turn),
    }[method]
    plain, general = (formula.split(r", \quad ")[0] for formula in (plain, general))
    for kind, right, wrong in (("spherical", general, plain), ("planar", plain, general)):
        text = to_markdown(document(carried(kind), method, agreement=False))
        assert right in text and wrong not in text


def test_followers_are_told():
    plain = carried("revolute")
    assert "follows" not in derive(plain, "newton-euler").steps()[0].text
    joints = (plain.joints[0], plain.joints[1].replace(mimic=Mimic("t", 2.0)))
    assert "follows" in derive(plain.replace(joints=joints), "newton-euler").steps()[0].text
