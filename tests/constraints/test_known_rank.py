"""Systems of known rank: where rows agree the shortest solution, and no jump to it from beside."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as da
from dalembert.constraints.classical import four_bar
from dalembert.constraints.known_rank import solve_of_rank
from dalembert.simulation.stabiliser import stabilised
from dalembert.simulation.stepping import recurrence
from dalembert.tracing.cost import cost


def found(S, b, rank):
    return np.array(solve_of_rank(S.tolist(), list(b), rank, np.diag(S).tolist()), dtype=float)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(0, 4))
def test_it_is_the_weighted_pseudoinverse(seed, rank, surplus):
    """Condition of random factors below 1e4 but rarely."""
    rng = np.random.default_rng(seed)
    J = rng.normal(size=(rank + surplus, rank)) @ np.linalg.qr(rng.normal(size=(8, rank)))[0].T
    S, b = J @ J.T, J @ rng.normal(size=8)
    root = 1 / np.sqrt(np.diag(S))
    expected = root * (np.linalg.pinv(root[:, None] * S * root, rcond=1e-10) @ (root * b))
    x = found(S, b, rank)
    doubt = np.linalg.cond(J @ J.T if not surplus else np.linalg.svd(J)[1][:rank] * np.eye(rank)) ** 2
    assert np.abs(S @ x - b).max() < 1e-11 * doubt * np.abs(b).max()
    if surplus:
        assert np.abs((x - expected) / root).max() < 1e-11 * doubt * np.abs(expected / root).max()


@pytest.mark.parametrize("distance", [1e-2, 1e-4, 1e-6])
def test_beside_the_rank_the_solution_differs_by_the_distance(distance):
    """A row that is new by as little as the rows contradict each other by: solved for, x would jump."""
    rng = np.random.default_rng(3)
    J = rng.normal(size=(5, 4)) @ rng.normal(size=(4, 9))
    a, off, wrong = rng.normal(size=9), rng.normal(size=(5, 9)), rng.normal(size=5)
    near, there = J + distance * off, found(J @ J.T, J @ a, 4)
    x = found(near @ near.T, J @ a + distance * wrong, 4)
    assert np.abs(near.T @ x - J.T @ there).max() < 10 * distance
    plain = near.T @ found(near @ near.T, J @ a + distance * wrong, 5)
    assert np.abs(plain - J.T @ there).max() > 0.05


def bennett(length=1.0, mass=1.0, name=""):
    """Four skew hinges (Bennett 1903): sides a, b with twists of which the sines are as a to b; five rows of rank two.

    The first and the last row vanish where the linkage is stretched, at the angles pi, 0.2, -pi about.
    """
    twists, tilt = (0.6, 1.1, 0.6), da.Transform.from_rpy_xyz([0.4, 0.7, 0.2], [0, 0, 0])
    sides = length * np.sin(twists) / np.sin(0.6)
    bodies, joints, place = [], [], tilt
    for k, (side, twist) in enumerate(zip(sides, twists)):
        tensor = mass * side**2 * np.diag([0.02, 0.1, 0.1])
        bodies.append(da.Body(f"{name}rod{k}", da.Inertia(mass, [side / 2, side / 10, 0], tensor)))
        joints.append(
            da.Joint(f"{name}hinge{k}", "revolute", f"{name}rod{k - 1}" if k else "world", bodies[-1].name, place)
        )
        place = da.Transform.from_rpy_xyz([twist, 0, 0], [side, 0, 0])
    back = tilt @ da.Transform.from_rpy_xyz([1.1, 0, 0], [sides[1], 0, 0]).inverse()
    return bodies, joints, [da.Constraint(f"{name}last", "revolute", bodies[-1].name, "world", place, back)]


def joined(*parts):
    bodies, joints, constraints = ([x for part in lists for x in part] for lists in zip(*parts))
    return da.Mechanism("Bennett", bodies, joints, constraints=constraints)


CLOSED = [1.571, -3.778, -1.571]


@pytest.mark.parametrize("before", [0.3, 1e-2, 1e-3, 1e-4, 1e-6, 0.0])
def test_rows_that_pass_through_zero_do_not_count_there(before):
    """Beside the constraints accelerations of some m/s^2 differ by the distance times some tens, also there."""
    system = da.Dynamics(joined(bennett()), reference=CLOSED)
    assert system.pivots.rank == 2 and len(system.pivots.together) == 5
    q = system.assemble([np.pi - before, 0.2, before - np.pi], keep=["hinge0"])
    v = system.project_velocity(q, [1, 0, 0], keep=["hinge0"])
    off = np.random.default_rng(0).normal(size=(50, 3))
    for distance in (1e-3, 1e-5):
        a = system.forward_dynamics(q + distance * off, np.tile(v, (50, 1)), np.zeros((50, 3)))
        assert np.abs(a - system.solve(q, v, np.zeros(3)).a).max() < 100 * distance


@pytest.mark.parametrize("drift", [{}, {"drift": "ggl", "stabilisation": 20.0}, {"stabilisation": 20.0}])
def test_turning_over_stretched_positions_keeps_the_energy(drift):
    """Steps of a hundredth of a second, 0.12 rad, of fourth order: 1e-4 of 87 J in 5 s; ten times that is allowed.

    The last row is violated by up to 1e-5 where drift decays slowly; that is no contradiction between rows.
    """
    mechanism = joined(bennett())
    system = da.Dynamics(mechanism, reference=CLOSED)
    q = system.assemble(CLOSED)
    v = system.project_velocity(q, [12, 0, 0], keep=["hinge0"])
    with warnings.catch_warnings():
        warnings.simplefilter("error", da.errors.SimulationWarning)
        motion = da.simulate(mechanism, q, v, t=5.0, method="rk4", step=0.01, **drift)
    assert motion.q[-1, 0] > 40 and np.ptp(motion.energy) < 0.05


def test_watches_and_cranes_are_compared_in_units_of_their_own():
    """A gram on a millimetre beside a ton on a kilometre: lengths L move as one of 1 m does in the time sqrt(L)."""
    lengths = np.array([1e-3, 1e3])
    both = joined(bennett(1e-3, 1e-3, "small "), bennett(1e3, 1e3, "large "))
    one, two = (da.Dynamics(m, reference=x) for m, x in ((joined(bennett()), CLOSED), (both, 2 * CLOSED)))
    q = one.assemble([np.pi - 1e-3, 0.2, 1e-3 - np.pi], keep=["hinge0"])
    v = one.project_velocity(q, [1, 0, 0], keep=["hinge0"])
    a = one.solve(q, v, np.zeros(3)).a
    there, speed = np.tile(q, 2), np.concatenate([v / np.sqrt(length) for length in lengths])
    for distance, limit in ((0.0, 1e-10), (1e-5, 1e-3)):
        off = distance * np.random.default_rng(1).normal(size=6)
        found = two.forward_dynamics(there + off, speed, np.zeros(6)).reshape(2, 3) * lengths[:, None]
        assert np.abs(found - a).max() < limit


def test_loops_that_share_nothing_are_solved_apart():
    """Operations of the whole are those of its parts, be they redundant or not; so are the accelerations."""
    closed = four_bar()
    plain = (list(closed.bodies), list(closed.joints), list(closed.constraints))
    start = [1.0, -0.5, 1.7]
    parts = [(bennett(name="a "), CLOSED), (bennett(2.0, name="b "), CLOSED), (plain, start)]
    systems = [da.Dynamics(joined(part), reference=q) for part, q in parts]
    whole = da.Dynamics(joined(*(part for part, _ in parts)), reference=np.concatenate([q for _, q in parts]))
    counts = [system.cost("multipliers") for system in (*systems, whole)]
    for name in ("multiplications", "additions", "divisions", "comparisons"):
        each = [getattr(count, name) for count in counts]
        assert each[-1] == sum(each[:-1])
    q = [system.assemble() for system in systems]
    a, forces = zip(*(system.kernel("multipliers")(x, [0] * 3, [1, 2, 3], 0.0) for system, x in zip(systems, q)))
    together = whole.kernel("multipliers")(np.concatenate(q), [0] * 9, 3 * [1, 2, 3], 0.0)
    assert np.abs(together[0] - np.concatenate(a)).max() < 1e-12 * np.abs(together[0]).max()
    assert np.abs(together[1] - np.concatenate(forces)).max() < 1e-12 * np.abs(together[1]).max()


@pytest.mark.parametrize("drift", [{}, {"drift": "ggl", "stabilisation": 20.0}])
def test_steps_of_loops_that_share_nothing_are_solved_apart(drift):
    """A step of both has the operations of either, but for a few: factors that are one in the units of one of them."""
    parts = [bennett(name="a "), bennett(2.0, name="b ")]
    counts = []
    for some in (parts[:1], parts[1:], parts):
        closed = da.Dynamics(joined(*some), reference=CLOSED * len(some))
        counts.append(cost(recurrence(stabilised(closed, **drift), "rk4", None, None, 0, False, {}).program))
    for name in ("multiplications", "additions", "divisions", "comparisons"):
        one, other, both = (getattr(count, name) for count in counts)
        assert abs(one + other - both) < 0.01 * both


def test_numbers_that_happen_to_be_zero_do_not_separate_rows():
    """A row that was independent vanishes here, and the one that repeats it elsewhere takes its place."""
    S = [[0.0, 0, 0], [0, 2.0, 0], [0, 0, 3.0]]
    x = solve_of_rank(S, [0, 4, 3], 2, [1.0, 1.0, 1.0], independent=[0, 2])
    assert np.array_equal(np.array(x, dtype=float), [0, 2, 1])
