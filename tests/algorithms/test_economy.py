"""Economical frames and regrouped masses change what dynamics costs, never what it says.

Tolerance: 1e-10 of the largest entry. Frames snap entries below 1e-14 to zero, origins are at most twenty link lengths
away and regrouping multiplies moments by at most twenty, so two or three digits go, not ten.
"""

from __future__ import annotations

import numpy as np
import pytest
from algorithm_cases import MIXES, difference, drawn, seeds
from hypothesis import given

from dalembert import Dynamics, load
from dalembert.algebra.transform import Transform
from dalembert.algorithms import inverse_dynamics
from dalembert.algorithms.economy import economical, frames, reframe, regroup
from dalembert.algorithms.economy.cheapest import operations
from dalembert.algorithms.energy import kinetic_energy
from dalembert.algorithms.loads import loads_on_links
from dalembert.algorithms.sensitivity import sensitivity
from dalembert.formats.catalogue import example_robot_data
from dalembert.formats.urdf import read_urdf
from dalembert.kinematics import link_poses, poses
from dalembert.model import Body, Inertia, Joint, Mechanism, Tree
from dalembert.tracing.evaluate import evaluate
from quick import some
from random_mechanisms import random_inertia, random_mechanism, random_rotation

WAYS = {"reframe": reframe, "regroup": regroup, "economical": economical}
ROBOTS = sorted(set(example_robot_data().values()))


def same_dynamics(mechanism: Mechanism, tree: Tree, state, wrenches=None) -> float:
    """Worst relative difference of tau, D, V, P between the mechanism's own tree and another one.

    Velocities and accelerations are of order one, so entries that are small against the inertia matrix are differences
    of larger ones.
    """
    expected = sensitivity(mechanism.tree, *state, loads_on_links(mechanism, wrenches))
    found = sensitivity(tree, *state, loads_on_links(mechanism, wrenches, tree))
    scale = np.abs(expected.D).max(initial=0)
    return max(difference(getattr(found, k), getattr(expected, k), scale) for k in ("tau", "D", "V", "P"))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("mix", MIXES)
@given(seed=seeds)
def test_dynamics_is_unchanged(mix, way, seed):
    mechanism, *state = drawn(mix, seed)
    wrenches = {"tool": np.arange(1.0, 7.0), mechanism.bodies[0].name: np.ones(6)}
    assert same_dynamics(mechanism, WAYS[way](mechanism.tree), state, wrenches) < 1e-10


@given(seed=seeds)
def test_nearly_parallel_axes_and_tiny_angles(seed):
    """Files write pi with five digits: axes almost parallel or almost at right angles, common normals far away."""
    rng = np.random.default_rng(seed)
    bodies, joints = [], []
    for k in range(8):
        tiny = 10 ** rng.uniform(-14, -1) * rng.choice([-1, 1])
        alpha, theta = rng.choice([0, np.pi / 2, np.pi]) + tiny, rng.choice([0, 1, np.pi / 2, tiny])
        a, d = rng.uniform(0.1, 0.5, size=2) * rng.choice([0, 1], size=2)
        kind = str(rng.choice(["revolute", "revolute", "prismatic", "helical"]))
        place = Transform.modified_dh(alpha, a, theta, d)
        bodies.append(Body(f"b{k}", random_inertia(rng)))
        joints.append(
            Joint(f"j{k}", kind, f"b{k - 1}" if k else "world", f"b{k}", place, pitch=0.3 if kind == "helical" else 0)
        )
    mechanism = Mechanism("almost", bodies, joints)
    assert same_dynamics(mechanism, economical(mechanism.tree), mechanism.random_state(rng)) < 1e-10


@pytest.mark.skipif(not ROBOTS, reason="example-robot-data is not installed")
@pytest.mark.filterwarnings("ignore::dalembert.errors.ModelWarning")
@pytest.mark.parametrize("base", ["fixed", "free"])
def test_every_robot(base):
    worst = {}
    for path in (robots := some(ROBOTS, 12)):
        try:
            mechanism = read_urdf(path, base=base)
        except ValueError:
            continue  # not a file that makes a mechanism
        state = mechanism.random_state(np.random.default_rng(0))
        worst[path.stem] = same_dynamics(mechanism, economical(mechanism.tree), state)
    assert len(worst) >= len({path.stem for path in robots}) - 2  # one or two files are broken
    assert {name: error for name, error in worst.items() if error > 1e-10} == {}


@given(seed=seeds)
def test_bodies_stay_where_they_are(seed):
    """The carriers of new frames put every body where the old ones do, and kinetic energy is that of new frames too."""
    mechanism, q, v, _ = drawn("all", seed)
    tree = reframe(mechanism.tree)
    links, expected = link_poses(tree, q), poses(mechanism, q)
    for body, (carrier, at) in tree.carriers.items():
        found = links[carrier] @ at if carrier >= 0 else at
        np.testing.assert_allclose(found.homogeneous(), expected[body].homogeneous(), atol=1e-10)
    T = kinetic_energy(mechanism.tree, q, v)
    for other in (tree, economical(mechanism.tree)):
        assert abs(kinetic_energy(other, q, v) - T) <= 1e-10 * max(T, 1)


@pytest.mark.parametrize("outer", ["prismatic", "revolute"])
@pytest.mark.parametrize("inner", ["prismatic", "revolute", "helical"])
@given(seed=seeds)
def test_two_axes_that_are_nearly_parallel(inner, outer, seed):
    """What lies across both is short and inexact; frames are orthogonal all the same, but for entries that snap."""
    rng = np.random.default_rng(seed)
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    other = axis + 10 ** rng.uniform(-13, -3) * rng.normal(size=3)
    place = Transform(np.eye(3), rng.normal(size=3))
    first = Joint("a", inner, "world", "a", place, axis=axis, pitch=0.1 * (inner == "helical"))
    second = Joint("b", outer, "a", "b", place, axis=other / np.linalg.norm(other))
    bodies = [Body(name, random_inertia(rng)) for name in "ab"]
    mechanism = Mechanism("pair", bodies, [first, second])
    tree = reframe(mechanism.tree)
    for link in tree.links:
        R = link.placement.rotation
        assert np.abs(R @ R.T - np.eye(3)).max() < 5e-12
    assert same_dynamics(mechanism, tree, mechanism.random_state(rng)) < 1e-10


@given(seed=seeds)
def test_small_angles_between_axes_do_not_stretch_frames(seed):
    """Files write pi/2 with six digits. A cosine that is one but for 1e-13 stays so beside a sine that is not zero."""
    rng = np.random.default_rng(seed)
    angles = 10 ** rng.uniform(-11, -4, size=6) + rng.choice([0, np.pi / 2, np.pi], size=6)
    places = [Transform.modified_dh(angle, 0.4, 0, 0.1) for angle in angles]
    bodies = [Body(f"b{k}", random_inertia(rng)) for k in range(6)]
    joints = [Joint(f"j{k}", "revolute", f"b{k - 1}" if k else "world", f"b{k}", p) for k, p in enumerate(places)]
    mechanism = Mechanism("six digits", bodies, joints)
    for link in economical(mechanism.tree).links:
        R = link.placement.rotation
        assert np.abs(R @ R.T - np.eye(3)).max() < 1e-15  # a few roundings of numbers up to one


@given(seed=seeds)
def test_slides_on_the_ground_lie_along_z(seed):
    """Wherever they point: crossing them then concerns one component of force and acceleration."""
    mechanism, *_ = drawn("revolute-prismatic", seed)
    for link in reframe(mechanism.tree).links:
        if link.kind == "prismatic" and link.parent < 0:
            np.testing.assert_array_equal(link.axis, [0, 0, 1])


@pytest.mark.parametrize("seed", range(6))
def test_screws_may_have_symbols_for_pitches(seed):
    """An angle that is offset in economical frames then leaves the symbol in a translation."""
    mechanism = random_mechanism(seed, 3, kinds=["helical", "revolute"], branching=0.3)
    pitches = [f"{joint.name}.pitch" for joint in mechanism.joints if joint.kind == "helical"]
    dyn = Dynamics(mechanism, parameters=pitches)
    q, v, a = mechanism.random_state(np.random.default_rng(seed))
    arguments = {"q": q, "v": v, "a": a, "parameters": np.asarray(dyn.parameter_values)}
    (found,) = evaluate(dyn.program("inverse_dynamics"), {k: x for k, x in arguments.items() if len(x)}).values()
    assert difference(found, inverse_dynamics(mechanism, q, v, a), 1e-3) < 1e-10


@given(seed=seeds)
def test_frames_are_cheap(seed):
    """Beyond a rotating joint z lies on the axis, and the placement is a turn about z, if need be, and one about x."""
    mechanism, _, _, _ = drawn("revolute", seed)
    for link in reframe(mechanism.tree).links:
        R = link.placement.rotation
        np.testing.assert_array_equal(link.axis, [0, 0, 1])
        assert R[2, 0] == 0  # Rz(gamma) Rx(alpha)
        np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-12)


@pytest.mark.parametrize("kinds", [["revolute"], ["prismatic"], ["revolute", "prismatic"]], ids=" ".join)
@given(seed=seeds)
def test_the_cost_does_not_depend_on_how_frames_are_drawn(kinds, seed):
    """Frames of a file may be turned, slid along the axes of joints, and on slides lie anywhere: the same arm takes the
    same operations.

    Its axes are parallel or at right angles, its last body has no moment across its axis and, in half of the cases, is
    round: all that must be seen through the rounding of files in general axes.
    """
    rng = np.random.default_rng(seed)
    twists = rng.choice([0, np.pi / 2, -np.pi / 2, np.pi], size=5)
    chain = [kinds[k] for k in rng.integers(len(kinds), size=5)]
    inertias = [random_inertia(rng) for _ in twists]
    moments = [0.02, 0.02 + 0.01 * rng.integers(2), 0.03]
    inertias[-1] = Inertia(1.5, [0, 0, 0.1], np.diag(moments))
    placements = [Transform.modified_dh(alpha, *rng.uniform([0.1, 0, -0.5], [0.5, 0, 0.5])) for alpha in twists]
    z = np.array([0.0, 0.0, 1.0])
    free = [np.ones(3) if kind == "prismatic" else z for kind in chain]
    drawings = [Transform(random_rotation(rng), rng.uniform(-0.5, 0.5, 3) * where) for where in free]

    def cost(frames):
        inner = [Transform.identity(), *frames]
        bodies, joints = [], []
        for k, (kind, frame, inertia) in enumerate(zip(chain, frames, inertias)):
            place, R = inner[k].inverse() @ placements[k] @ frame, frame.rotation
            parent = f"b{k - 1}" if k else "world"
            center = frame.inverse().apply(inertia.center)
            bodies.append(Body(f"b{k}", Inertia(inertia.mass, center, R.T @ inertia.tensor @ R)))
            joints.append(Joint(f"j{k}", kind, parent, f"b{k}", place, axis=R.T @ z))
        return operations(economical(Mechanism("arm", bodies, joints).tree))

    assert cost(drawings) == cost([Transform.identity()] * len(twists))


@given(seed=seeds)
def test_the_cost_of_a_fork_does_not_depend_on_how_it_is_told(seed):
    """A link with two branches takes the same operations whichever branch comes first and however frames are turned.

    Axes are parallel, one line or at right angles, so files in frames of their own may be cheaper than any others by
    an operation or two.
    """
    rng = np.random.default_rng(seed)
    parents = [-1, 0, 0, 1, 2]
    twists = rng.choice([0, np.pi / 2, -np.pi / 2, np.pi], size=5)
    sizes = rng.uniform(-0.5, 0.5, size=(5, 3)) * rng.choice([0, 1], size=(5, 3))
    placements = [Transform.modified_dh(alpha, *size) for alpha, size in zip(twists, sizes)]
    inertias, turns = [random_inertia(rng) for _ in parents], [random_rotation(rng) for _ in parents]

    def cost(order, turns):
        frames = [Transform(R, np.zeros(3)) for R in turns]
        bodies, joints = [], []
        for k in order:
            inner, R, inertia = Transform.identity() if k == 0 else frames[parents[k]], turns[k], inertias[k]
            bodies.append(Body(f"b{k}", Inertia(inertia.mass, R.T @ inertia.center, R.T @ inertia.tensor @ R)))
            parent = f"b{parents[k]}" if k else "world"
            joints.append(
                Joint(f"j{k}", "revolute", parent, f"b{k}", inner.inverse() @ placements[k] @ frames[k], R[2])
            )
        return operations(economical(Mechanism("fork", bodies, joints).tree))["augmented-links"]

    ways = [cost(order, R) for order in (range(5), [0, 2, 1, 4, 3]) for R in ([np.eye(3)] * 5, turns)]
    assert max(ways) <= min(ways) + 2


@pytest.mark.parametrize("unit", [2.0**-14, 2.0**10])
@pytest.mark.parametrize("seed", range(3))
def test_the_cost_does_not_depend_on_the_size(unit, seed):
    """The same arm, all lengths multiplied and made of the same stuff; by powers of two, so that nothing is rounded."""
    rng = np.random.default_rng(seed)
    twists, lengths = rng.choice([0, np.pi / 2, 1], size=5), rng.uniform(0.1, 0.5, size=(5, 2))
    inertias = [random_inertia(rng) for _ in twists]

    def cost(x):
        bodies = [Body(f"b{k}", Inertia(i.mass * x**3, i.center * x, i.tensor * x**5)) for k, i in enumerate(inertias)]
        joints = [
            Joint(
                f"j{k}", "revolute", f"b{k - 1}" if k else "world", f"b{k}", Transform.modified_dh(t, a * x, 0, d * x)
            )
            for k, (t, (a, d)) in enumerate(zip(twists, lengths))
        ]
        return operations(economical(Mechanism("arm", bodies, joints).tree))

    assert cost(unit) == cost(1.0)


@pytest.mark.parametrize("seed", range(4))
def test_no_other_origin_makes_a_gripper_cheaper(seed, monkeypatch):
    """Fingers that slide are described about their centres of mass; about the origins of the file, those of their
    parents and points of them level with the centres inverse dynamics takes no fewer operations."""
    rng = np.random.default_rng(seed)
    places = [Transform.modified_dh(rng.choice([0, np.pi / 2, 1.0]), *rng.uniform(0.1, 0.5, 3)) for _ in range(2)]
    bodies = [Body(name, random_inertia(rng)) for name in ("arm", "hand", "left", "right")]
    joints = [
        Joint("shoulder", "revolute", "world", "arm", places[0]),
        Joint("wrist", "revolute", "arm", "hand", places[1]),
    ]
    for name in ("left", "right"):
        place = Transform(np.eye(3), rng.uniform(-0.1, 0.1, 3) * rng.integers(2, size=3))
        joints.append(Joint(name, "prismatic", "hand", name, place, axis=np.eye(3)[rng.integers(3)]))
    gripper = Mechanism("gripper", bodies, joints)

    def level(link, parent):
        return parent + (link.axis @ (link.moments.first / link.moments.mass - parent)) * link.axis

    def operations_with(origin):
        def frame(link, parent, is_tip):
            upon = link.placement.inverse() @ parent
            return Transform(upon.rotation, origin(link, upon.translation))

        with monkeypatch.context() as patch:
            patch.setattr(frames, "_upon_parent", frame)
            economical.cache_clear()
            return Dynamics(gripper).cost("inverse_dynamics").operations

    others = [operations_with(origin) for origin in (lambda link, _: np.zeros(3), lambda _, parent: parent, level)]
    economical.cache_clear()
    assert Dynamics(gripper).cost("inverse_dynamics").operations <= min(others)


@pytest.mark.skipif(not ROBOTS, reason="example-robot-data is not installed")
@pytest.mark.filterwarnings("ignore::dalembert.errors.ModelWarning")
@pytest.mark.parametrize(("robot", "most"), [("panda", 634), ("baxter", 1283), ("tiago_pro", 3020)])
def test_robots_with_slides_stay_cheap(robot, most):
    """Operations of inverse dynamics, sines and cosines among them, once reached."""
    assert Dynamics(load(robot), constraints=(), elements=()).cost("inverse_dynamics").operations <= most


@given(seed=seeds)
def test_tips_are_level_with_their_parents(seed):
    """Whichever way the frame of the parent suits: the vector to a last rotating link has a zero."""
    mechanism, *_ = drawn("revolute", seed)
    tree = reframe(mechanism.tree)
    for i, link in enumerate(tree.links):
        if link.parent >= 0 and not tree.children[i]:
            assert np.count_nonzero(link.placement.translation) < 3


@given(seed=seeds)
def test_regrouping_leaves_few_parameters(seed):
    """Of a chain of revolute joints every link keeps at most seven of its ten parameters, and no mass."""
    mechanism, _, _, _ = drawn("revolute", seed)
    for link in economical(mechanism.tree).links:
        upper = link.moments.second[np.triu_indices(3)]
        assert link.moments.mass == 0
        assert np.count_nonzero(link.moments.first) <= 2
        assert np.count_nonzero(upper) <= 5
