"""Momentum, energy, complementarity and the residual of contact, restated here, on every route alike: ``simulate``,
``rollout``, ``contact_step``, its exported code and motions from event to event."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest

import dalembert as da
from contact.scenes import ball, block
from dalembert import Dynamics
from dalembert.contact.cones import ConeProblem
from dalembert.model import Mechanism

H, STEPS = 1e-3, 60
DEEP = 5e-4
SCENES = {
    "ball": (ball(friction=0.3, restitution=0.4), [0, 0, 0.1 - DEEP, 0, 0, 0, 1], [1, 0.5, -0.2, 0, 0, 0]),
    "plate": (block(height=0.002, friction=0.4), [0, 0, 0.001 - DEEP, 0, 0, 0, 1], [0.05, 0.1, 0, 0, 0, 1]),
}
TAU = np.array([0.5, -0.3, 0, 0, 0, 0.01])


class Step(NamedTuple):
    """One step, and what a route says of it."""

    q: np.ndarray
    v: np.ndarray
    after: np.ndarray
    p: np.ndarray
    residual: float
    losses: np.ndarray


def of_motion(motion: Any) -> list[Step]:
    c = motion.contacts
    sums = np.stack([c.friction_loss, c.impact_loss, -c.push_work], axis=-1)
    return [
        Step(motion.q[k], motion.v[k], motion.v[k + 1], c.impulses[k + 1], c.residual[k + 1], sums[k + 1] - sums[k])
        for k in range(STEPS)
    ]


def of_steps(step: Callable[..., Any], rows: int, q: Any, v: Any) -> list[Step]:
    found, q, v, p = [], np.array(q, dtype=float), np.array(v, dtype=float), np.zeros(rows)
    for _ in range(STEPS):
        made = [np.asarray(x) for x in step(q, v, TAU, p, H, 0.0)]
        found.append(Step(q, v, made[1], made[2], float(made[3]), made[8]))
        q, v, p = made[:3]
    return found


def exported(dynamics: Dynamics, sweeps: int, folder: Any) -> Callable[..., Any]:
    path = folder / "stepped.py"
    dynamics.export("contact_step", "python", path, sweeps=sweeps)
    spec = importlib.util.spec_from_file_location("stepped", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.contact_step


def followed(route: str, dynamics: Dynamics, q: Any, v: Any, sweeps: int, folder: Any) -> list[Step]:
    rows = dynamics.contacts.count
    if route == "simulate":
        return of_motion(da.simulate(dynamics, q, v, STEPS * H, step=H, control=TAU, sweeps=sweeps))
    if route == "rollout":
        return of_motion(da.rollout(dynamics, q, v, STEPS, H, control=TAU, sweeps=sweeps, every=1).trajectory())
    if route == "contact_step":
        return of_steps(dynamics.kernel("contact_step", sweeps=sweeps), rows, q, v)
    return of_steps(exported(dynamics, sweeps, folder), rows, q, v)


@cache
def untouched(model: Mechanism) -> Dynamics:
    """Without contacts."""
    return Dynamics(model.replace(contacts=()))


class Law:
    """The law of one step, after the head of ``contact/rigid.py``, in NumPy; no other code knows these lines."""

    def __init__(self, dynamics: Dynamics, q: np.ndarray, v: np.ndarray):
        model = dynamics.mechanism
        contact = model.contacts[0]
        self.mu, self.M, self.J = contact.friction, dynamics.mass_matrix(q), dynamics.kernel("contact_rows")(q)
        free = v + H * untouched(model).forward_dynamics(q, v, TAU)
        self.A, self.u, self.w = self.J @ np.linalg.solve(self.M, self.J.T), self.J @ v, self.J @ free
        self.free, self.points = free, [(p.normal, list(p.disks[0][0])) for p in dynamics.contacts.points]
        self.b, self.push = {}, {}
        for (n, _), gap in zip(self.points, dynamics.kernel("contact_points")(q)[0]):
            u, w, depth = self.u[n], self.w[n], max(-gap, 0.0)
            rebound = (w - u - contact.restitution * (u + w)) / 2 if contact.restitution else -np.inf
            push = max(min(0.2 * depth / H, max(u - w, 0)), depth * min(0.2 / H, 10))
            self.push[n] = 0.0 if rebound > 0 else push
            self.b[n] = max(push, rebound) if gap <= 0 else -np.inf if rebound > 0 else -gap / H

    def residuals(self, p: np.ndarray, after: np.ndarray) -> tuple[float, float]:
        """Of normals and of friction, m/s."""
        normal = friction = 0.0
        for n, t in self.points:
            a, size = self.A[n, n], np.linalg.eigvalsh(self.A[np.ix_(t, t)])[-1]
            normal = max(normal, abs(p[n] - max(p[n] - (after[n] - self.b[n]) / a, 0)) * a)
            aim = p[t] - after[t] / size
            length, radius = np.linalg.norm(aim), self.mu * p[n]
            friction = max(friction, np.linalg.norm(p[t] - aim * min(1, radius / max(length, 1e-300))) * size)
        return normal, friction

    def losses(self, p: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Of friction, of impacts, and of taking away depths, which are negative, J."""
        mean = (self.u + after) / 2
        rubbed = -sum(p[t] @ mean[t] for _, t in self.points)
        pushed = sum(p[n] * self.push[n] / 2 for n, _ in self.points)
        hit = pushed - sum(p[n] * mean[n] for n, _ in self.points)
        return np.array([max(rubbed, 0), hit + min(rubbed, 0), -pushed])


@pytest.mark.parametrize("sweeps", [1, 60])
@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("route", ["simulate", "rollout", "contact_step", "python"])
@pytest.mark.filterwarnings("ignore::dalembert.errors.SimulationWarning")
def test_every_step_obeys_the_law_as_far_as_it_says(route, name, sweeps, tmp_path):
    """Kinetic energy changes by the work of all forces, to rounding: the inertia of one body in its coordinates is
    constant. Of one sweep the residual is large, and of friction in many steps."""
    model, q, v = SCENES[name]
    dynamics = Dynamics(model)
    steps = followed(route, dynamics, q, v, sweeps, tmp_path)
    rubbed = 0
    for step in steps:
        law = Law(dynamics, step.q, step.v)
        after = law.J @ step.after
        np.testing.assert_allclose(law.M @ (step.after - law.free), law.J.T @ step.p, atol=1e-12)  # momentum
        for n, t in law.points:
            assert step.p[n] >= 0 and np.linalg.norm(step.p[t]) <= law.mu * step.p[n] + 1e-15
        normal, friction = law.residuals(step.p, after)
        np.testing.assert_allclose(step.residual, max(normal, friction), atol=1e-11)
        if sweeps == 60 and name == "ball":
            assert step.residual < 1e-10
        rubbed += friction > normal and friction > 1e-6
        np.testing.assert_allclose(step.losses, law.losses(step.p, after), atol=1e-12)
        mean, change = (step.v + step.after) / 2, step.after - step.v
        work = mean @ law.M @ (law.free - step.v)  # of gravity, gyroscopic and given forces
        np.testing.assert_allclose(mean @ law.M @ change, work - step.losses.sum(), atol=1e-12)
    if sweeps == 1 and name == "plate":
        assert rubbed > 10
    assert np.abs([step.losses for step in steps]).max(axis=0).min() > 1e-7  # all three act


@pytest.mark.parametrize("name", SCENES)
def test_motions_from_event_to_event_obey_the_law(name):
    model, q, v = SCENES[name]
    dynamics = Dynamics(model)
    q = [*q[:2], q[2] + DEEP + 1e-3, *q[3:]]
    motion = da.simulate(dynamics, q, v, np.linspace(0, 0.1, 41), method="event-driven", control=TAU)
    c = motion.contacts
    assert c.worst < 1e-9
    fine = da.simulate(dynamics, q, v, 0.1, method="event-driven", control=TAU)
    spent = fine.contacts.friction_loss + fine.contacts.impact_loss
    jumps = [event for event in fine.events if event.name.startswith("impact")]
    assert jumps and spent[-1] > 1e-2 and (np.diff(spent) > -1e-12).all()
    x, w = np.polynomial.legendre.leggauss(8)
    done = 0.0
    edges = np.unique(fine.t)
    for begin, end in pairwise(edges):  # a jump lies at an edge
        half, inner = (end - begin) / 2, fine((begin + end) / 2 + (end - begin) / 2 * x)
        done += half * (w @ (inner.v @ TAU))
    np.testing.assert_allclose(fine.energy[-1] - fine.energy[0], done - spent[-1], atol=1e-9)
    for k, t in enumerate(motion.t[1:-1], 1):
        if any(abs(event.t - t) < 1e-4 for event in fine.events):
            continue
        p, law = c.impulses[k], Law(dynamics, motion.q[k], motion.v[k])  # forces here
        slope = (motion(t + 1e-5).v - motion(t - 1e-5).v) / 2e-5
        wanted = untouched(model).forward_dynamics(motion.q[k], motion.v[k], TAU) + np.linalg.solve(law.M, law.J.T @ p)
        np.testing.assert_allclose(slope, wanted, atol=1e-4)
        for (n, rows), gap in zip(law.points, c.gaps[k]):
            assert p[n] >= 0 and np.linalg.norm(p[rows]) <= law.mu * p[n] * (1 + 1e-9)
            assert abs(p[n] * gap) < 1e-7 and abs(p[n] * law.u[n]) < 1e-6


def test_a_residual_tells_of_every_wrong_impulse():
    """A problem with one solution; each impulse is moved by itself, in either direction, within its cone or out."""
    rng = np.random.default_rng(2)
    half = rng.normal(size=(8, 8))
    A = half @ half.T / 8 + np.eye(8)
    w = np.array([-1.0, 2.0, -1.0, -0.5, 0.02, 0.03, -0.8, 0.7])
    bounds, disks = {0: 0.0, 3: 0.1}, [(0, (1, 2), 0.4), (3, (4, 5), 5.0)]
    problem = ConeProblem(A.tolist(), w.tolist(), bounds, disks, {6: (0.05, 0.2)}, {7: 0.3})
    p = np.array(problem.solved([0.0] * 8, 2000))
    assert problem.residuals(p.tolist(), (w + A @ p).tolist())[0] < 1e-12
    assert np.linalg.norm(p[1:3]) > 0.4 * p[0] * (1 - 1e-9) and np.linalg.norm(p[4:6]) < 5.0 * p[3]  # slides; sticks
    for k in range(8):
        for change in (1e-3, -1e-3):
            wrong = p.copy()
            wrong[k] += change
            told = problem.residuals(wrong.tolist(), (w + A @ wrong).tolist())
            assert told[0] > 1e-4 and told[1] > 1e-4, (k, change)


def test_the_residual_of_soft_contacts_tells_of_wrong_impulses():
    """Of one step whose sweeps begin with the solution, or with a wrong impulse and have one sweep to mend it."""
    model, q, v = SCENES["plate"]
    step = Dynamics(model, law="convex").kernel("contact_step", sweeps=1)
    p = np.zeros(12)
    for _ in range(3000):
        found = step(q, v, TAU, p, H, 0.0)
        p = found[2]
    assert found[3] < 1e-12
    for k in range(12):
        wrong = p.copy()
        wrong[k] += 0.05 * np.abs(p).max()
        assert step(q, v, TAU, wrong, H, 0.0)[3] > 1e-9, k
