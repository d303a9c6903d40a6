"""Single contact problems of the robots of contact.py: forces, convergence, derivatives. Called by contact.py.

*Forces*: the problem of one step - Delassus matrix, velocities, friction - of robots that trot and stand, solved in a
batch and by Pinocchio's ADMM one after the other, by its own clock, at tolerances of 1e-9. Compared are the impulses
where they are unique, and J^T p, which always is. *Convergence*: the residual after so many sweeps from nothing.
*Derivatives*: state matrices of a step, ours beside the complex step through the sweeps, which is exact inside a mode,
and timed beside mjd_transitionFD with centred differences.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import contact
import dalembert as da
from dalembert.algebra import arrays
from dalembert.contact.cones import ConeProblem
from dalembert.contact.rigid import bound
from dalembert.kinematics.manifold import displaced, tangent_rates
from dalembert.native.kernel import traced_kernel
from dalembert.tracing.evaluate import evaluate
from dalembert.tracing.program import Port

COUNT = 256
"""States of a robot."""


class Problems:
    """Problems of one step of a robot in the middle of its motion, normals first of every three rows.

    Args:
        scene: the robot.
    """

    def __init__(self, scene: contact.Scene):
        dynamics = da.Dynamics(scene.mechanism, include=("armature",))
        self.dynamics = dynamics
        found = da.rollout(
            dynamics, scene.start(COUNT), None, contact.SETTLE, contact.STEP, control=scene.control, sweeps=30,
            record=False, lift=True,
        )  # fmt: skip
        self.q, self.v = found.final_q, found.final_v
        end = contact.SETTLE * contact.STEP
        self.tau = np.array([[float(x) for x in scene.control(end, q, v)] for q, v in zip(self.q, self.v)])
        self.impulses = found.contacts.final[0]
        terms = dynamics.contact_terms(self.q, self.v, self.tau, 0.0)
        self.J = terms.J
        self.A = terms.J @ np.linalg.solve(terms.M, np.swapaxes(terms.J, -1, -2))
        self.A = (self.A + np.swapaxes(self.A, -1, -2)) / 2
        before = np.einsum("kij,kj->ki", terms.J, self.v)
        self.w = before + contact.STEP * np.einsum("kij,kj->ki", terms.J, terms.a)
        self.points = len(dynamics.contacts.points)
        for i in range(self.points):
            for k in range(COUNT):
                gap = float(terms.distances[k, 3 * i, 0])
                self.w[k, 3 * i] -= bound(gap, before[k, 3 * i], self.w[k, 3 * i], 0, contact.STEP)[1]

    def problem(self, A: Any, w: Any) -> ConeProblem:
        normals = range(0, 3 * self.points, 3)
        disks = [(k, (k + 1, k + 2), contact.FRICTION) for k in normals]
        return ConeProblem(A, w, dict.fromkeys(normals, 0.0), disks)

    def kernel(self, sweeps: int, solver: str) -> Any:
        """Impulses and residual of many problems."""
        n = 3 * self.points

        def solve(given: dict[str, Any]) -> tuple[Any, Any]:
            problem = self.problem(given["A"].tolist(), given["w"].tolist())
            p = problem.solved(given["start"], sweeps, solver)
            return arrays.asarray(p), problem.residuals(p, problem.velocities(p))[0]

        inputs = [Port("A", (n, n)), Port("w", (n,)), Port("start", (n,))]
        return traced_kernel("contact_problem", inputs, [Port("p", (n,)), Port("residual", ())], solve)


def theirs(problems: Problems) -> tuple[np.ndarray, np.ndarray, bool]:
    """Impulses by Pinocchio's ADMM, nanoseconds of each, and whether all converged."""
    import pinocchio as pin

    n = problems.points
    model = pin.buildSampleModelManipulator()  # solvers ask constraints for their cone only
    models, datas = pin.StdVec_ConstraintModel(), pin.StdVec_ConstraintData()
    for _ in range(n):
        item = pin.PointContactConstraintModel(model, 1)
        item.setFriction(contact.FRICTION)
        models.append(pin.ConstraintModel(item))
        datas.append(pin.ConstraintData(item.createData()))
    order = [3 * i + j for i in range(n) for j in (1, 2, 0)]
    settings = pin.ADMMSolverSettings()
    settings.max_iterations, settings.measure_timings, settings.solve_ncp = 2000, True, True
    for kind in ("feasibility", "complementarity"):
        setattr(settings, f"absolute_{kind}_tol", 1e-9)
        setattr(settings, f"relative_{kind}_tol", 1e-14)
    found, times, good = np.empty((COUNT, 3 * n)), np.empty(COUNT), True
    for k in range(COUNT):
        best = np.inf
        A, w = problems.A[k][np.ix_(order, order)], problems.w[k][order]
        for _ in range(3):
            solver, result = pin.ADMMConstraintSolver(3 * n), pin.ADMMSolverResult()
            good &= solver.solve(pin.DelassusOperatorDense(A), w, models, datas, settings, result)
            best = min(best, solver.getElapsedTime())
        found[k, order] = np.asarray(result.retrieveConstraintImpulses())
        times[k] = best * 1e3
    return found, times, bool(good)


def forces(name: str, worlds: int = 4096) -> list[dict[str, Any]]:
    """Impulses beside Pinocchio's, and the time of each problem."""
    problems = Problems(contact.SCENES[name]())
    theirs_p, times, good = theirs(problems)
    their_force = np.einsum("kij,ki->kj", problems.J, theirs_p)
    residual = max(_residual(problems, k, theirs_p[k]) for k in range(COUNT))
    unique = np.array([np.linalg.matrix_rank(x, rtol=1e-9) == len(x) for x in problems.A])
    print(
        f"{name}: contact problems of {3 * problems.points} rows, impulses of {unique.mean():.0%} of them unique\n"
        f"  Pinocchio, ADMM           {np.median(times) / 1e3:8.2f} us, residual {residual:.0e} m/s"
        f"{'' if good else ', not all converged'}"
    )
    cells = []
    for sweeps, solver in ((10, "gauss-seidel"), (40, "gauss-seidel"), (4, "newton"), (10, "newton")):
        kernel = problems.kernel(sweeps, solver)
        p, left = kernel(problems.A, problems.w, np.zeros_like(problems.w))
        off = np.abs(p - theirs_p)[unique].max(initial=0)
        force = np.abs(np.einsum("kij,ki->kj", problems.J, p) - their_force).max() / np.abs(their_force).max()
        many = [np.resize(x, (worlds, *x.shape[1:])) for x in (problems.A, problems.w, 0 * problems.w)]
        seconds = contact.best(lambda: kernel(*many, threads=1), time.process_time)  # noqa: B023
        ns = seconds / worlds * 1e9
        ratio = float(np.median(times)) / ns
        apart = f"impulses differ by {off:.0e} N s, " if unique.any() else ""
        print(
            f"  {solver:12s} {sweeps:2d} sweeps   {ns / 1e3:8.2f} us, residual {left.max():.0e} m/s, {apart}"
            f"J^T p by {force:.0e} of it, {ratio:.0f} times{contact.missed(ratio, 10)}",
            flush=True,
        )
        cells.append(
            {"part": "forces", "robot": name, "solver": solver, "sweeps": sweeps, "ns": ns, "residual": left.max(),
             "impulses": off, "generalised": force, "ratio": ratio}
        )  # fmt: skip
    return cells


def _residual(problems: Problems, k: int, p: np.ndarray) -> float:
    problem = problems.problem(problems.A[k].tolist(), problems.w[k].tolist())
    return float(problem.residuals(p.tolist(), problem.velocities(p.tolist()))[0])


def convergence(name: str) -> list[dict[str, Any]]:
    """Residuals after so many sweeps from nothing, the median and the largest of all states."""
    problems, cells = Problems(contact.SCENES[name]()), []

    def note(solver: str, sweeps: int, left: np.ndarray) -> None:
        print(f"  {sweeps:3d}  {np.median(left):.1e}  {left.max():.1e}", flush=True)
        cells.append(
            {"part": "convergence", "robot": name, "solver": solver, "sweeps": sweeps,
             "median": float(np.median(left)), "largest": float(left.max())}
        )  # fmt: skip

    print(f"{name}: gauss-seidel, residual after sweeps from nothing, m/s (median, largest)")
    once, p = problems.kernel(1, "gauss-seidel"), np.zeros_like(problems.w)
    for sweeps in range(1, 65):
        p, left = once(problems.A, problems.w, p)
        if sweeps & (sweeps - 1) == 0:
            note("gauss-seidel", sweeps, left)
    print(f"{name}: newton")
    for sweeps in (1, 2, 4, 10):
        note("newton", sweeps, problems.kernel(sweeps, "newton")(problems.A, problems.w, np.zeros_like(p))[1])
    return cells


def error_of_derivatives(problems: Problems, sweeps: int = 200, count: int = 8) -> np.ndarray:
    """Of the state matrices of some states, beside the complex step, relative to the largest entry."""
    dynamics, n, h = problems.dynamics, problems.dynamics.mechanism.nv, contact.STEP
    tree, program = dynamics.mechanism.tree, dynamics.program("contact_step", sweeps=sweeps)
    errors = np.empty(count)
    for k in range(count):
        q, v, tau, p = (x[k] for x in (problems.q, problems.v, problems.tau, problems.impulses))
        A, B = dynamics.contact_step_derivatives(q, v, tau, p, h, sweeps=sweeps)
        d = 1e-30j * np.eye(3 * n)
        moved = np.array([displaced(tree, q.astype(complex), x) for x in d[:, :n]])
        given = {"q": moved, "v": v + d[:, n : 2 * n], "tau": tau + d[:, 2 * n :], "impulses": p, "h": h, "t": 0.0}
        found = evaluate(program, given)
        dq = tangent_rates(tree, found["q_next"][0].real, found["q_next"].imag.T / 1e-30)
        exact = np.concatenate([dq, found["v_next"].imag.T / 1e-30])
        errors[k] = np.abs(np.concatenate([A, B], axis=1) - exact).max() / np.abs(exact).max()
    return errors


def derivatives(name: str) -> list[dict[str, Any]]:
    """State matrices of a step, ours in a batch and in single calls, theirs in single calls."""
    import mujoco

    scene = contact.SCENES[name]()
    problems = Problems(scene)
    dynamics, given = problems.dynamics, (problems.q, problems.v, problems.tau, problems.impulses, contact.STEP, 0.0)
    errors = error_of_derivatives(problems)
    kernel = dynamics.kernel("contact_step_derivatives", sweeps=30)
    kernel(*given)
    batch = contact.best(lambda: kernel(*given, threads=1), time.process_time) / COUNT
    single = [x[0] if np.ndim(x) else x for x in given]
    alone = contact.best(lambda: [kernel(*single) for _ in range(50)], time.process_time) / 50
    model = contact.mujoco_model(scene, "elliptic")
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = problems.q[0], problems.v[0]
    data.qpos[3:7] = np.roll(problems.q[0][3:7], 1)
    data.ctrl[:] = scene.pose
    mujoco.mj_forward(model, data)
    A, B = np.zeros((2 * model.nv, 2 * model.nv)), np.zeros((2 * model.nv, model.nu))
    theirs = contact.best(
        lambda: [mujoco.mjd_transitionFD(model, data, 1e-6, True, A, B, None, None) for _ in range(10)],
        time.process_time,
    ) / 10  # fmt: skip
    print(
        f"{name}: state matrices of a step, beside the complex step of {len(errors)} states {np.median(errors):.0e} "
        f"(median) and {errors.max():.0e} (largest) of the largest entry\n"
        f"  mjd_transitionFD, centred {theirs * 1e6:8.1f} us\n"
        f"  dalembert, single calls   {alone * 1e6:8.1f} us, {theirs / alone:.0f} times"
        f"{contact.missed(theirs / alone, 10)}\n"
        f"  dalembert, in a batch     {batch * 1e6:8.1f} us, {theirs / batch:.0f} times"
        f"{contact.missed(theirs / batch, 10)}",
        flush=True,
    )
    return [{"part": "derivatives", "robot": name, "theirs": theirs, "single": alone, "batch": batch,
             "error": float(errors.max())}]  # fmt: skip


PARTS = {"forces": forces, "convergence": convergence, "derivatives": derivatives}
