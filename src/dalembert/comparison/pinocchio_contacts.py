"""Contact forces as Pinocchio finds them: its kinematics, its inertia matrix, its ADMM with the exact cone.

Pinocchio has no step and no shapes of its own here: it gets the points, normals and coefficients that touch, and solves
the same problem of velocities, 0 <= u_n, p_n and Coulomb, by another algorithm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.comparison.contact_forces import AnswerStage, ContactAnswer, Pair, TouchingState
from dalembert.model import WORLD

if TYPE_CHECKING:
    from dalembert.comparison.pinocchio import PinocchioPeer

TOLERANCE, ITERATIONS = 1e-13, 100_000
"""Of the solver."""


def answer(peer: PinocchioPeer, problem: TouchingState) -> ContactAnswer:
    """What Pinocchio says of the contacts of a problem.

    Args:
        peer: the same mechanism in Pinocchio.
        problem: the contacts here.
    """
    pin, model, data = peer.library, peer.model, peer.data
    c, h = peer.convention, problem.h
    q, v = c.q(problem.q), c.v(problem.q, problem.v)
    free = v + h * pin.aba(model, data, q, v, np.zeros(model.nv))
    J, mu = _rows(peer, problem, q)
    M = np.triu(pin.crba(model, data, q))
    M = M + np.triu(M, 1).T
    delassus = J @ np.linalg.solve(M, J.T)
    p = _solved(pin, model, delassus, J @ free, mu)
    axes = problem.dynamics.contact_points(problem.q)[2]
    found: dict[Pair, np.ndarray] = {}
    for i, k in enumerate(problem.active):
        along = np.stack([axes[k, 1], axes[k, 2], axes[k, 0]])
        force = along.T @ p[3 * i : 3 * i + 3] / h
        found[problem.pair(k)] = found.get(problem.pair(k), np.zeros(3)) + force
    pressing = int((p[2::3] > 1e-12 * max(1e-300, np.abs(p).max(initial=0))).sum())
    remarks = []
    if any(float(x) for item in problem.mechanism.contacts for x in (item.torsional, item.rolling)):
        remarks.append("torsional and rolling friction are not in Pinocchio's points of contact")
    if problem.mechanism.constraints:
        remarks.append("loop closures take no part in Pinocchio's contact forces here")
    return ContactAnswer((AnswerStage("", "", found, pressing),), remarks=tuple(remarks))


def _rows(peer: PinocchioPeer, problem: TouchingState, q: Any) -> tuple[np.ndarray, list[float]]:
    """Tangent 1, tangent 2 and normal of every point that touches, on Pinocchio's velocities; friction."""
    pin, model, data = peer.library, peer.model, peer.data
    pin.computeJointJacobians(model, data, q)
    _, places, axes = problem.dynamics.contact_points(problem.q)
    rows, mu = [], []
    for k in problem.active:
        item = problem.mechanism.contact(problem.dynamics.contacts.points[k].contact)
        total = np.zeros((3, model.nv))
        for name, sign in zip(problem.pair(k), (1, -1)):
            if name == WORLD:
                continue
            J = pin.getJointJacobian(model, data, peer.numbers[name], pin.ReferenceFrame.WORLD).reshape(6, model.nv)
            total += sign * (J[:3] + np.cross(J[3:].T, places[k]).T)  # of the point of the body that is there
        rows.append(np.stack([axes[k, 1], axes[k, 2], axes[k, 0]]) @ total)
        mu.append(float(item.friction))
    return np.concatenate(rows), mu


def _solved(pin: Any, model: Any, delassus: np.ndarray, free: np.ndarray, mu: list[float]) -> np.ndarray:
    """Impulses by ADMM with the correction of De Saxce, so that friction is Coulomb's."""
    models, datas = pin.StdVec_ConstraintModel(), pin.StdVec_ConstraintData()
    for x in mu:
        one = pin.PointContactConstraintModel(model)
        one.setFriction(x)
        models.append(pin.ConstraintModel(one))
        datas.append(models[-1].createData())
    settings = pin.ADMMSolverSettings()
    settings.max_iterations = ITERATIONS
    settings.absolute_feasibility_tol = settings.absolute_complementarity_tol = TOLERANCE
    settings.relative_feasibility_tol = settings.relative_complementarity_tol = 0.0
    settings.solve_ncp = True
    result = pin.ADMMSolverResult()
    pin.ADMMConstraintSolver().solve(pin.DelassusOperatorDense(delassus), free, models, datas, settings, result)
    return np.array(result.retrieveConstraintImpulses())
