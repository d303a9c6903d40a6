"""Both solvers of contact problems: what they agree on, elimination in a loop, and how fast either converges."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest

import dalembert as da
from contact.scenes import G, block
from dalembert.algebra import arrays
from dalembert.algebra.transform import Transform
from dalembert.contact import cones
from dalembert.errors import SimulationWarning
from dalembert.model import WORLD, Body, Contact, Inertia, Joint, Mechanism, Shape
from dalembert.native.kernel import traced_kernel
from dalembert.tracing.program import Port


@pytest.mark.parametrize("count", [3, 24, 25, 27, 40])
def test_elimination_in_a_loop_is_that_of_numpy(count):
    """Rows by blocks, and what is left over."""
    rng = np.random.default_rng(count)
    K, right = rng.normal(size=(5, count, count)) + count * np.eye(count), rng.normal(size=(5, count))
    solve = traced_kernel(
        "solve", [Port("K", (count, count)), Port("r", (count,))], [Port("x", (count,))],
        lambda given: arrays.asarray(cones._eliminated(given["K"].tolist(), given["r"].tolist())),
    )  # fmt: skip
    np.testing.assert_allclose(solve(K, right), np.linalg.solve(K, right[..., None])[..., 0], rtol=1e-12, atol=1e-14)


def slab(points: int, mass: float = 50) -> Mechanism:
    """A heavy slab on a light block that stands on a grid of points: ill-conditioned, and more points than needed."""
    x = np.linspace(-0.1, 0.1, points // 4)
    corners = Shape("points", vertices=tuple((float(a), b, -0.05) for a in x for b in (-0.1, -0.03, 0.03, 0.1)))
    bodies = (Body("block", Inertia.box(0.5, (0.2, 0.2, 0.1))), Body("slab", Inertia.box(mass, (0.4, 0.4, 0.1))))
    joints = (
        Joint("base", "free", WORLD, "block"),
        Joint("mast", "revolute", "block", "slab", axis=np.array([0.0, 1.0, 0.0])),
    )
    return Mechanism("slab", bodies, joints, contacts=(Contact("feet", "block", WORLD, corners, friction=0.6),))


@pytest.mark.parametrize("points", [8, 12])
def test_newton_leaves_nothing_where_gauss_seidel_leaves_much(points):
    model, start = slab(points), [0, 0, 0.05, 0, 0, 0, 1, 0]
    force = np.array([120.0, 40, 0, 0, 0, 0, 3])  # less than friction can hold
    few = da.simulate(model, start, t=0.02, control=lambda t, q, v: force, sweeps=10).contacts
    exact = da.simulate(model, start, t=0.02, control=lambda t, q, v: force, sweeps=10, solver="newton")
    assert exact.contacts.worst < 1e-12 and few.worst > 1e3 * exact.contacts.worst
    total = exact.contacts.world_forces[-1].sum(axis=0)
    np.testing.assert_allclose(total, [-120, -40, 50.5 * G], rtol=1e-9)
    assert np.abs(exact.v[-1, :6]).max() < 1e-12  # the block; the slab turns on its mast


def test_simulate_goes_on_sweeping_until_a_step_has_converged():
    """What it takes is the steps of a rollout with as many sweeps; a number that was asked for is left alone."""
    model, start, force = slab(8), [0, 0, 0.05, 0, 0, 0, 1, 0], np.array([120.0, 40, 0, 0, 0, 0, 3])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = da.simulate(model, start, t=0.001, control=force)
    needed = found.info["most_sweeps"]
    assert found.contacts.converged and 10 < needed < 1000
    assert found.info["sweeps"] == 10
    with pytest.warns(SimulationWarning, match="give more sweeps"):
        fewer = da.rollout(model, start, None, 1, control=force, sweeps=needed - 10)
    enough = da.rollout(model, start, None, 1, control=force, sweeps=needed)
    assert fewer.contacts.worst > 1e-3 >= enough.contacts.worst
    np.testing.assert_allclose(found.contacts.forces[-1], enough.contacts.forces[-1], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.v[-1], enough.v[-1], atol=1e-13)
    with pytest.warns(SimulationWarning, match="give more sweeps"):
        asked = da.simulate(model, start, t=0.001, control=force, sweeps=10)
    assert asked.info["most_sweeps"] == 10 and not asked.contacts.converged


def test_what_sweeps_cannot_solve_is_left_to_newton():
    model, start, force = slab(8, 1e5), [0, 0, 0.05, 0, 0, 0, 1, 0], np.array([2.4e5, 8e4, 0, 0, 0, 0, 6e3])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = da.simulate(model, start, t=0.001, control=force)
    assert found.info["most_sweeps"] == 10_000 and found.info["polished"] == 1
    assert found.contacts.worst < 1e-9
    np.testing.assert_allclose(found.contacts.world_forces[-1].sum(axis=0), [-2.4e5, -8e4, 100000.5 * G], rtol=1e-8)
    asked = da.simulate(model, start, t=0.001, control=force, solver="newton", sweeps=10)
    assert asked.info["polished"] == 0


def test_a_box_that_lands_on_an_edge_needs_no_warning():
    shape = Shape("box", (0.2, 0.3, 0.1))
    contact = Contact("touch", "box", WORLD, shape, friction=1.0)
    joint = Joint("base", "free", WORLD, "box")
    turned = [*np.sin(0.3) * np.array([1, 2, 3]) / np.sqrt(14), np.cos(0.3)]
    box = Mechanism("box", (Body("box", Inertia.box(1, shape.size)),), (joint,), contacts=(contact,))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = da.simulate(box, [0, 0, 0.5, *turned], [0.5, 0, 0, 0.3, 1, 0.2], t=1.0)
    assert found.contacts.converged and found.info["most_sweeps"] > 10


def test_both_solvers_find_the_same_where_there_is_one_solution():
    """Three legs share the weight in one way; of four the shares, and so the friction of what slides and turns, are
    not determined."""
    legs = Shape("points", vertices=((0.1, 0, -0.05), (-0.1, 0.1, -0.05), (-0.1, -0.1, -0.05)))
    table = block()
    table = table.replace(contacts=(table.contacts[0].replace(shape_a=legs),))
    start, v = [0, 0, 0.05, 0, 0, 0, 1], [1, 0.4, 0, 0, 0, 3]
    by_sweeps = da.simulate(table, start, v, t=0.2, sweeps=400)
    by_newton = da.simulate(table, start, v, t=0.2, sweeps=8, solver="newton")
    np.testing.assert_allclose(by_newton.v[-1], by_sweeps.v[-1], atol=1e-9)
    np.testing.assert_allclose(by_newton.contacts.forces, by_sweeps.contacts.forces, atol=1e-6)


def column(masses: list[float]) -> Mechanism:
    """Balls on slides along z, one on top of the other, the first on the ground."""
    names, sphere, z = [f"ball {k}" for k in range(len(masses))], Shape("sphere", (0.05,)), np.array([0.0, 0.0, 1.0])
    bodies = tuple(Body(name, Inertia.sphere(mass, 0.05)) for name, mass in zip(names, masses))
    joints = tuple(
        Joint(f"slide {k}", "prismatic", WORLD, name, Transform.from_translation((0, 0, 0.05 + 0.1 * k)), axis=z)
        for k, name in enumerate(names)
    )
    ground = Contact("ground", names[0], WORLD, sphere, friction=0.5)
    between = (Contact(f"{a} on {b}", a, b, sphere, sphere, friction=0.5) for b, a in pairwise(names))
    return Mechanism("column", bodies, joints, contacts=(ground, *between))


@pytest.mark.parametrize("masses", [[1, 1e4], [1, 10, 1e2, 1e3]], ids=len)
def test_sweeps_that_end_too_early_bring_in_no_energy(masses):
    """Ten sweeps are too few for something heavy on something light; a warning says so, and nothing flies apart."""
    with pytest.warns(SimulationWarning, match="give more sweeps"):
        motion = da.rollout(column(masses), None, None, 300, every=1).trajectory()
    gain = motion.energy - motion.energy[0]
    assert not motion.contacts.converged
    assert gain.max() < 1e-9 * sum(masses)


def test_where_nothing_is_gained_nothing_is_scaled():
    """Bits of steps that lose energy, converged or not, do not change; nor do those of another island."""
    rng = np.random.default_rng(0)
    half = rng.normal(size=(4, 4))
    A = half @ half.T + np.eye(4)
    whole = np.kron(np.eye(2), A).tolist()
    w = [-1.0, 0.3, -0.2, 0.1] * 2
    problem = cones.ConeProblem(whole, w, {0: 0.0, 3: 0.1, 4: 0.0, 7: 0.1}, [(0, (1, 2), 0.5), (4, (5, 6), 0.5)])
    p = problem.solved([0.0] * 8, 50)
    wild = [*p[:4], *(10 * x for x in p[4:])]
    kept, gained = problem.without_gain(wild, (np.array(whole) @ wild).tolist())
    assert kept[:4] == p[:4] and kept[4:] != wild[4:]
    np.testing.assert_allclose(gained, np.array(whole) @ kept, atol=1e-12)
    bound = np.array([problem.bounds.get(k, 0.0) for k in range(8)])
    assert abs(np.dot(kept[4:], (np.array(w) + gained - bound)[4:])) < 1e-12
    for share in (0.0, 0.3, 1.0):
        few = [share * x for x in p]
        assert problem.without_gain(few, (np.array(whole) @ few).tolist())[0] == few


def test_newton_stays_where_rounding_does_not_decide():
    """The corners of a box that turns about its middle sank in and shall all rise: no impulses do that, and ever larger
    ones come ever nearer, until nothing but rounding is left of the velocities."""
    rows: list[list[float]] = []
    for x, y in ((-0.1, -0.1), (0.1, -0.1), (-0.1, 0.1), (0.1, 0.1)):
        moves = [np.cross(axis, [x, y, -0.1]) for axis in np.eye(3)[:2]]
        rows += [[move[k] for move in moves] for k in (2, 0, 1)]
    J, v, p = np.array(rows), np.array([0.1, -0.1]), [0.0] * 12
    A = J @ J.T / 0.004
    for _ in range(30):
        disks = [(k, (k + 1, k + 2), 0.3) for k in range(0, 12, 3)]
        problem = cones.ConeProblem(A.tolist(), (J @ v).tolist(), dict.fromkeys(range(0, 12, 3), 1e-3), disks)
        p = problem.solved(p, 5, "newton")
        v = v + J.T @ p / 0.004
    assert max(p) < 1e8
