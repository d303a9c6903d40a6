"""What the steps say on the way from one formulation to another is true of what they show.

Derivatives are by the complex step, exact to rounding; numbers are of order 1 to 100, so that 1e-10 leaves a margin.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from classical_systems import rolling_disc, rp_arm, stacker
from test_steps_are_true import CLOSE, Shown, carried, slopes, tilde

import dalembert as da
from dalembert.algebra.attitude import EulerAngles, Quaternion
from dalembert.formulations import derive, rigid_body
from dalembert.report import document
from dalembert.report.markdown import to_markdown
from dalembert.typesetting.forms import Forms
from dalembert.typesetting.notation import Notation

KINDS = ("revolute", "prismatic", "helical", "universal")
"""Joints whose velocities are the rates of their coordinates."""


@pytest.mark.parametrize("kind", KINDS)
def test_khatibs_matrices_make_the_velocity_forces(kind):
    shown = Shown(carried(kind), "lagrange")
    v, n = shown.v, len(shown.v)
    m, b = shown("mass_matrix_slopes"), shown("christoffel")
    np.testing.assert_allclose(m, shown.slopes("mass_matrix"), **CLOSE)
    np.testing.assert_allclose(b, (m + m.transpose(0, 2, 1) - m.transpose(2, 0, 1)) / 2, **CLOSE)
    products = np.array([v[j] * v[k] for j in range(n) for k in range(j + 1, n)])
    forces = shown("centrifugal_matrix") @ v**2 + shown("coriolis_columns") @ products
    np.testing.assert_allclose(forces, shown("coriolis"), **CLOSE)


@pytest.mark.parametrize("kind", KINDS)
def test_nguyens_derivatives_make_his_matrix(kind):
    shown = Shown(carried(kind), "kronecker")
    n, M = len(shown.v), shown("mass_matrix")
    np.testing.assert_allclose(shown("stacked_mass_matrix"), M.T.ravel(), **CLOSE)
    np.testing.assert_allclose(shown("stacked_derivative"), shown.slopes("stacked_mass_matrix"), **CLOSE)
    dM = shown("mass_matrix_derivative")
    np.testing.assert_allclose(dM, shown.slopes("mass_matrix").reshape(n, -1), **CLOSE)
    np.testing.assert_allclose(shown("coriolis_star"), dM - shown("stacked_derivative").T / 2, **CLOSE)


@pytest.mark.parametrize("kind", KINDS)
def test_theorem_1_of_parsa(kind):
    """d omega / dq = Jdot + omega~ J, and what follows from it for the kinetic energy."""
    mechanism = carried(kind)
    shown = Shown(mechanism, "kane")
    v = shown.v
    slope = np.zeros(len(v))
    for i, body in enumerate(mechanism.bodies, 1):
        Jw, Jv = shown(f"Jw_{i}"), shown(f"Jv_{i}")
        dJw, dJv = (np.einsum("ijk,k->ij", shown.slopes(f"J{x}_{i}"), v) for x in "wv")
        w, I, m = Jw @ v, body.inertia.tensor, body.inertia.mass
        np.testing.assert_allclose(shown(f"omega_slope_{i}"), dJw + tilde(w) @ Jw, **CLOSE)
        slope += dJw.T @ I @ w - Jw.T @ tilde(w) @ I @ w + m * dJv.T @ Jv @ v
    energy = slopes(lambda q: v @ shown("mass_matrix", q) @ v / 2, shown.q)
    np.testing.assert_allclose(slope, energy, **CLOSE)


@pytest.mark.parametrize("kind", [*KINDS, "spherical", "free"])
def test_active_and_inertia_forces_balance(kind):
    mechanism = carried(kind)
    shown = Shown(mechanism, "kane")
    tau = da.Dynamics(mechanism).inverse_dynamics(shown.q, shown.v, shown.vdot)
    given = {"q": shown.q, "v": shown.v, "udot": shown.vdot, "tau": tau}
    active, inertia = (shown.quantities[x].evaluate(given) for x in ("active_forces", "inertia_forces"))
    np.testing.assert_allclose(active + inertia, 0, atol=1e-10)
    assert np.abs(inertia).max() > 1


def test_the_disc_is_written_without_absolute_values_and_says_for_which_leans():
    """What is printed is what is computed where the cosine of the lean is positive, as said."""
    upright = da.Transform(np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]]).T, np.zeros(3))
    ground = da.Constraint("roll", "rolling-disc", "q3_body", "world", placement_a=upright, value=sympy.Symbol("r"))
    disc = rolling_disc().replace(constraints=(ground,))
    equations = derive(disc, "kane", actuated=[])
    text = to_markdown(document(equations, mechanism=disc, agreement=False))
    assert "sign" not in text and "left|" not in text
    assert r"$\cos q_{2} > 0$" in text and "$r > 0$" in text
    from dalembert.formulations.display import forms_of

    forms = forms_of(equations, Notation())
    q, u = np.array([0.3, -0.2, 0.4, 0.7, 0.5, -1.1]), np.array([0.4, 1.2, -0.6])
    numbers = {"m": 1.3, "r": 0.4, "g": 9.81}
    values = {str(x): y for port, ys in (("q", q), ("u", u)) for x, y in zip(equations.scope.symbols[port], ys)}
    found = equations.evaluate(q, u, **numbers)
    for name in ("mass_matrix", "coriolis", "gravity", "kinematics"):
        entries = forms.closed(equations[name])
        written = [float(x.subs({s: (values | numbers)[str(s)] for s in x.free_symbols})) for x in entries]
        np.testing.assert_allclose(np.reshape(written, found[name].shape), found[name], **CLOSE)
    assert {str(x) for x in forms.assumed} <= {"r", "cos(q2)"}


@pytest.mark.parametrize("attitude", [Quaternion(), EulerAngles("321")])
def test_forbes_equation_in_vector_form(attitude):
    """M vdot = f_non + Gamma^T f, with f_non as printed; and the equation before the projection."""
    body = da.Inertia(2.0, [0.3, -0.2, 0.5], np.diag([0.4, 0.5, 0.6]))
    equations = rigid_body(body, attitude)
    titles = [step.title for step in equations.steps()]
    assert titles[:4] == ["Attitude", "Identities", "Kinematics", "Kinetic energy"] and titles[-1] == "Projection"
    q = np.array([0.1, 0.2, 0.3, *([0.1, 0.5, -0.3, np.sqrt(0.65)] if attitude.nq == 4 else [0.2, 0.4, -0.3])])
    v = np.array([0.3, -0.4, 0.5, 0.6, -0.7, 0.8])
    w, mr, J = v[3:], 2.0 * np.array([0.3, -0.2, 0.5]), np.asarray(body.tensor_about_origin, float)
    C = np.asarray(attitude.dcm(q[3:]), float)
    f_non = np.concatenate([C.T @ tilde(w) @ tilde(mr) @ w, -tilde(w) @ J @ w])
    np.testing.assert_allclose(equations.evaluate(q, v)["coriolis"], -f_non, **CLOSE)
    rates, p = attitude.Gamma(q[3:]) @ w, q[3:]
    S_rate = np.imag(np.asarray(attitude.S(p + 1e-30j * rates), complex)) / 1e-30
    turning = slopes(lambda x: np.asarray(attitude.S(x), complex) @ rates, p)
    Gamma = np.asarray(attitude.Gamma(p), float)
    np.testing.assert_allclose((S_rate - turning) @ Gamma, -tilde(w), **CLOSE)
    s = np.array([0.4, -0.9, 0.3])
    for transposed, expected in ((True, -C.T @ tilde(s)), (False, tilde(C @ s))):
        turned = slopes(lambda x, t=transposed: (lambda D: D.T if t else D)(np.asarray(attitude.dcm(x))) @ s, p)
        np.testing.assert_allclose(turned @ Gamma, expected, **CLOSE)


@pytest.mark.parametrize(("make", "method"), [(rp_arm, "lagrange"), (stacker, "kronecker")])
def test_no_step_of_the_sources_is_left_out_for_length(make, method):
    text = to_markdown(document(make(), method, agreement=False))
    assert "Too long" not in text


def test_wide_matrices_are_set_as_blocks():
    """An n x n^2 matrix that is too wide for the page is printed block by block, and so is every entry once."""
    equations = derive(stacker(), "kronecker")
    rows = Forms(Notation()).rows(equations["coriolis_star"])
    assert rows is not None
    text = " ".join(f"{left} {right}" for left, right in rows)
    assert all(f"C^*_{{{k}}}" in text for k in (1, 2, 3)) and text.count("bmatrix") >= 6
