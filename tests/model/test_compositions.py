"""Operations in any order: whatever was done to a mechanism, its poses, energies and forces stay what they were.

Each step takes a mechanism with a state and the forces that belong to it, and returns the three for the mechanism that
an operation makes. Forces are those of a computation before the step, carried over by the law of that operation; only
rounding may tell them from what the new mechanism says. Where re-rooting differentiates a matrix by differences, four
digits are left.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from operation_helpers import by_name, same_pose

from dalembert.algorithms import inverse_dynamics, kinetic_energy, poses, potential_energy
from dalembert.formats import read_toml, write_toml
from dalembert.kinematics import position_rate
from dalembert.model import WORLD, Body, Inertia, Joint, Mechanism
from dalembert.model.operations import add_payload, attach, lock, merge_fixed, subtree, with_gravity
from dalembert.model.parameters import parameters, substitute, symbolise
from dalembert.model.reroot import reroot, rerooted_state
from random_mechanisms import mechanisms


def some_body(m, rng):
    return str(rng.choice([body.name for body in m.bodies]))


def locked(m, state, tau, rng):
    """A joint held where it is: the forces of the others are those with that joint at rest."""
    leaders = {joint.mimic.joint for joint in m.joints if joint.mimic}
    free = [joint.name for joint in m.joints if joint.nv and joint.name not in leaders]
    if len(free) < 2:
        return m, state, tau
    name = str(rng.choice(free))
    q, v, a = (x.copy() for x in state)
    v[m.v_slice(name)] = a[m.v_slice(name)] = 0
    new = lock(m, {name: q[m.q_slice(name)]})
    return new, by_name(m, new, q, v, a), np.delete(inverse_dynamics(m, q, v, a), m.v_slice(name))


def hung_up_elsewhere(m, state, tau, rng):
    """v' = J v, tau = J^T tau'; a' = J a + J' v by central differences."""
    if [joint.kind for joint in m.joints if joint.parent == WORLD] != ["free"]:
        return m, state, tau
    new, (q, v, a), h = reroot(m, some_body(m, rng)), state, 1e-5

    def J(q):
        return np.array([rerooted_state(m, new, q, unit)[1] for unit in np.eye(m.nv)]).T

    rate = position_rate(m.tree, q, v)
    change = (J(m.normalise(q + h * rate)) - J(m.normalise(q - h * rate))) @ v / (2 * h)
    q2, v2 = rerooted_state(m, new, q, v)
    state2 = (q2, v2, J(q) @ a + change)
    tau2 = inverse_dynamics(new, *state2)
    np.testing.assert_allclose(J(q).T @ tau2, tau, rtol=1e-4, atol=1e-4 * (1 + np.abs(tau).max()))
    return new, state2, tau2


def renamed_numbers(m, rng):
    chosen = [str(x) for x in rng.choice(list(parameters(m)), 2, replace=False)]
    values = {f"s{k}": parameters(m)[address] for k, address in enumerate(chosen)}
    return substitute(symbolise(m, dict(zip(chosen, values))), values)


def from_file(m, rng):
    read = read_toml(write_toml(m))
    assert read == m and read.digest == m.digest and read.notes == m.notes
    return read


def with_a_dot(m, rng):
    dot = Mechanism("dot", (Body("dot"),), (Joint("weld", "fixed", WORLD, "dot"),), gravity=m.gravity)
    return attach(m, dot, to=some_body(m, rng), prefix=f"{len(m.bodies) + len(m.frames)}")


def its_only_tree(m, rng):
    roots = [joint.child for joint in m.joints if joint.parent == WORLD]
    return subtree(m, roots[0]) if len(roots) == 1 else m


SAME_FORCES = {
    "merge": lambda m, rng: merge_fixed(m),
    "payload": lambda m, rng: add_payload(m, some_body(m, rng), Inertia(), f"p{len(m.bodies) + len(m.frames)}"),
    "gravity": lambda m, rng: with_gravity(with_gravity(m, (1, 2, 3)), m.gravity),
    "symbols": renamed_numbers,
    "file": from_file,
    "attach": with_a_dot,
    "subtree": its_only_tree,
}
OTHER_FORCES = {"lock": locked, "reroot": hung_up_elsewhere}


@pytest.mark.filterwarnings("ignore::dalembert.errors.ModelWarning")
@settings(max_examples=60)
@given(
    st.booleans().flatmap(lambda floating: mechanisms(2, 5, floating=floating, massless=0, mimic=0.3)),
    st.lists(st.sampled_from([*SAME_FORCES, *OTHER_FORCES]), min_size=2, max_size=5),
    st.integers(0, 2**32 - 1),
)
def test_operations_in_any_order_keep_poses_energies_and_forces(mechanism, steps, seed):
    rng = np.random.default_rng(seed)
    state = mechanism.random_state(rng)
    tau = inverse_dynamics(mechanism, *state)
    for step in steps:
        places = poses(mechanism, state[0])
        if step in SAME_FORCES:
            energies = kinetic_energy(mechanism, *state[:2]), potential_energy(mechanism, state[0])
            mechanism = SAME_FORCES[step](mechanism, rng)
            found = kinetic_energy(mechanism, *state[:2]), potential_energy(mechanism, state[0])
            np.testing.assert_allclose(found, energies, rtol=1e-9, atol=1e-9 * (1 + energies[0]), err_msg=step)
        else:
            mechanism, state, tau = OTHER_FORCES[step](mechanism, state, tau, rng)
        found = inverse_dynamics(mechanism, *state)
        np.testing.assert_allclose(found, tau, rtol=1e-9, atol=1e-9 * (1 + np.abs(tau).max(initial=0)), err_msg=step)
        now = poses(mechanism, state[0])
        for name, place in places.items():  # every name survives, and stays where it was
            same_pose(now[name], place)
        assert str(mechanism)
