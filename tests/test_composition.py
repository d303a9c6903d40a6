"""Kernels that call kernels: the same numbers and operations, and a digest without tracing what is called."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

import dalembert as da
from contact.scenes import block, four_bar
from dalembert.algebra.loops import along, for_each, repeat
from dalembert.errors import ArgumentError, ModelWarning
from dalembert.native.kernel import Kernel
from dalembert.tracing import derivatives
from dalembert.tracing.cost import operation_count
from dalembert.tracing.evaluate import evaluate
from dalembert.tracing.graph import Graph
from dalembert.tracing.program import Port
from random_mechanisms import random_mechanism


@pytest.fixture(scope="module")
def arm():
    return da.Dynamics(random_mechanism(7, 4, massless=0), wrenches=("tool",), parameters=["b3.mass"])


@pytest.fixture(scope="module")
def standing():
    """Bars that a pin closes, on their feet."""
    return da.Dynamics(four_bar())


def passing_on(called, **options):
    """The kernel of a function that only calls a kernel."""
    shapes = {port.name: port.shape for port in called.inputs}
    outputs = [port.name for port in called.outputs]
    return da.kernel(Called(called, tuple(shapes)), shapes, name=called.name, outputs=outputs, **options)


class Called:
    """Calls a kernel with everything by name."""

    def __init__(self, kernel, names):
        self.kernel, self.names = kernel, names

    def __call__(self, *arrays):
        return self.kernel(**dict(zip(self.names, arrays)))


def numbers(kernel, seed=1, batch=()):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(*batch, *port.shape)) for port in kernel.inputs]


def flat(results):
    return np.concatenate([np.ravel(y) for y in (results if isinstance(results, tuple) else (results,))])


QUANTITIES = [
    ("arm", "inverse_dynamics", {}),
    ("arm", "forward_dynamics", {}),
    ("arm", "mass_matrix", {"algorithm": "walker-orin"}),
    ("arm", "linearize", {}),
    ("arm", "pose", {"frame": "tool", "point": (0.1, 0, 0)}),
    ("arm", "jacobian", {"frame": "tool", "axes": "body"}),
    ("standing", "forward_dynamics", {}),
    ("standing", "multipliers", {}),
    ("standing", "positions", {}),
    ("standing", "contact_step", {"sweeps": 4}),
    ("standing", "contact_points", {}),
]


@pytest.mark.filterwarnings("ignore:.*has contacts:dalembert.errors.ModelWarning")
@pytest.mark.parametrize(("system", "quantity", "options"), QUANTITIES)
def test_a_kernel_in_a_kernel_takes_no_more_operations_and_gives_the_same(system, quantity, options, request):
    """Optimising the whole once more may even save some."""
    called = request.getfixturevalue(system).kernel(quantity, **options)
    composed = passing_on(called)
    assert (composed.inputs, composed.outputs) == (called.inputs, called.outputs)
    assert operation_count(composed.program) <= operation_count(called.program)
    assert operation_count(passing_on(called, optimise=0).program) <= operation_count(called.program) * 1.01
    x = numbers(called, batch=(3,))
    np.testing.assert_allclose(flat(composed(*x)), flat(called(*x)), rtol=1e-9, atol=1e-9)


def test_arguments_are_given_as_those_of_numbers(arm):
    """By position, by name, as mappings, left out."""
    m, x = arm.mechanism, np.random.default_rng(2).normal(size=(2, 4))
    joint = next(j.name for j in m.joints if j.nv == 1)
    call = arm.forward_dynamics

    def compute(q, v, s):
        wrenches = np.array([[s, 0, 0, 0, 0, 1]], dtype=object)
        return {
            "position": call(q, v, np.zeros(m.nv), wrenches),
            "name": call(v=v, q=q, tau=[0.0] * m.nv, wrenches=wrenches, parameters=[2.0]),
            "mapping": call(q, v, {joint: s}, {"tool": [s, 0, 0, 0, 0, 1]}, {"b3.mass": s * s}),
            "frame": arm.pose(q, frame="tool").position,
        }

    composed = da.kernel(compute, {"q": (m.nq,), "v": (m.nv,), "s": ()})
    rng = np.random.default_rng(3)
    q, v, s = rng.normal(size=m.nq), rng.normal(size=m.nv), 0.7
    found, wrench = composed(q, v, s), np.array([[s, 0, 0, 0, 0, 1]])
    zero = np.zeros(m.nv)
    np.testing.assert_allclose(found.position, call(q, v, zero, wrench), rtol=1e-10)
    np.testing.assert_allclose(found.name, call(q, v, zero, wrench, [2.0]), rtol=1e-10)
    np.testing.assert_allclose(found.mapping, call(q, v, {joint: s}, wrench, [s * s]), rtol=1e-10)
    np.testing.assert_allclose(found.frame, arm.pose(q, frame="tool").position, rtol=1e-10)
    assert x.shape == (2, 4)


def test_results_have_names_in_a_trace_and_after_it(arm):
    """Those of the called kernel inside, those of the outputs outside; pickling keeps them."""
    pose = arm.kernel("pose", frame="tool")
    inside = []

    def compute(q, parameters):
        inside.append(pose(q, parameters))
        return inside[-1]

    composed = da.kernel(compute, {p.name: p.shape for p in pose.inputs})
    assert inside[-1]._fields == ("rotation", "position") and inside[-1].rotation.shape == (3, 3)
    found = composed(*numbers(pose))
    assert found._fields == ("rotation", "position")
    again = pickle.loads(pickle.dumps(composed))(*numbers(pose))
    np.testing.assert_array_equal(again.position, found.position)
    assert pickle.loads(pickle.dumps(found))._fields == found._fields


def test_several_states_become_a_loop(standing):
    """A batch in the trace is a batch of numbers; what has none is the same for all rows."""
    m = standing.mechanism
    composed = da.kernel(
        lambda qs, v: standing.inverse_dynamics(qs, v, np.zeros(m.nv)), {"qs": (2, 5, m.nq), "v": (m.nv,)}
    )
    rng = np.random.default_rng(4)
    qs, v = rng.normal(size=(2, 5, m.nq)), rng.normal(size=m.nv)
    assert composed.outputs[0].shape == (2, 5, m.nv)
    np.testing.assert_allclose(composed(qs, v), standing.inverse_dynamics(qs, v, np.zeros(m.nv)), atol=1e-9)


def test_a_step_that_calls_a_kernel_is_a_loop_of_it(standing):
    """As many operations as the calls have together, written once."""
    step, m = standing.kernel("contact_step", sweeps=3), standing.mechanism
    impulses = next(port.shape for port in step.inputs if port.name == "impulses")

    def rolled(q, v, tau):
        zero = np.zeros(impulses)
        return repeat(lambda q, v: step(q, v, tau, zero, 1e-3)[:2], (q, v), 6)

    composed = da.kernel(rolled, {"q": (m.nq,), "v": (m.nv,), "tau": (m.nv,)})
    q, v = standing.assemble([0, 0.1, 0.02, 1.2, 1.2, -1.2]), np.zeros(m.nv)
    tau = np.linspace(-1, 1, m.nv)
    found = composed(q, v, tau)
    for _ in range(6):
        q, v = step(q, v, tau, np.zeros(impulses), 1e-3)[:2]
    np.testing.assert_allclose(flat(found), [*q, *v], rtol=1e-8, atol=1e-8)
    assert len(composed.program.loops) == 1
    assert composed.program.executed <= 6 * step.program.executed


def test_derivatives_pass_through_calls(arm):
    """Of the whole kernel, and of a call in the middle of a trace; a variable may itself be what a call gives."""
    m = arm.mechanism
    energy = arm.kernel("kinetic_energy")
    shapes = {"q": (m.nq,), "v": (m.nv,)}
    whole = da.kernel(lambda q, v: energy(q, v) ** 2, shapes, wrt="v")
    inner = da.kernel(lambda q, v: derivatives.jacobian(energy(q, v) ** 2, v), shapes)

    def by_result(q, v):
        e = energy(q, v)
        return derivatives.jacobian(e * e * energy(q, v), [e])

    rng = np.random.default_rng(5)
    q, v = rng.normal(size=m.nq), rng.normal(size=m.nv)
    e, momentum = arm.kinetic_energy(q, v), arm.mass_matrix(q) @ v
    np.testing.assert_allclose(whole(q, v)[1], 2 * e * momentum, rtol=1e-10)
    np.testing.assert_allclose(inner(q, v), 2 * e * momentum, rtol=1e-10)
    np.testing.assert_allclose(da.kernel(by_result, shapes)(q, v), [3 * e * e], rtol=1e-10)


def test_what_a_trace_cannot_follow_is_refused(arm):
    m = arm.mechanism
    shapes = {"q": (m.nq,), "v": (m.nv,)}
    with pytest.raises(ArgumentError, match="out="):
        da.kernel(lambda q, v: arm.kinetic_energy(q, v, out=np.zeros(())), shapes)
    with pytest.raises(ArgumentError, match=r"q has shape \(3,\)"):
        da.kernel(lambda q, v: arm.kinetic_energy(q[:3], v), shapes)
    with pytest.raises(ArgumentError, match="missing v"):
        da.kernel(lambda q, v: arm.kinetic_energy(q), shapes)


# --------------------------------------------------------------------------------------------------- without tracing it


def test_what_is_called_is_not_traced_until_its_code_is_needed(tmp_path, monkeypatch):
    """Neither by the trace, nor by the digest, nor where the cache has the code of the whole."""
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path))
    traced = []

    def made():
        inner = da.kernel(lambda x: np.sin(x) * x, {"x": ()}).program

        def program():
            traced.append(1)
            return inner

        called = Kernel("called", inner.inputs, inner.outputs, program, key="of this test")
        return da.kernel(lambda x, y: called(x) + called(y), {"x": (), "y": ()})

    first = made()
    assert not traced
    value = first(0.3, 0.4)
    assert traced == [1]
    second = made()
    assert second(0.3, 0.4) == value and second.key == first.key
    assert traced == [1]
    assert second.program.digest == first.program.digest and traced == [1, 1]


def test_the_key_is_the_same_in_another_process(standing):
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import dalembert as da; from contact.scenes import four_bar\n"
        "from test_composition import passing_on\n"
        "print(passing_on(da.Dynamics(four_bar()).kernel('contact_step', sweeps=2)).key)"
    )
    place = os.path.dirname(__file__)
    found = subprocess.run([sys.executable, "-c", code, place], capture_output=True, text=True, check=True)
    here = passing_on(standing.kernel("contact_step", sweeps=2)).key
    assert found.stdout.strip() == here
    assert passing_on(standing.kernel("contact_step", sweeps=3)).key != here


def test_other_ways_to_kernels_compose_too(standing):
    """``evaluate``, and a policy of a rollout, which is traced with its loop; a condition is 1 or 0, as on numbers."""
    m = standing.mechanism
    shapes = {"q": (m.nq,), "v": (m.nv,)}
    terms = da.kernel(lambda q, v: standing.evaluate("terms", q, v, da.less(q, v)), shapes)
    rng = np.random.default_rng(8)
    q, v = rng.normal(size=m.nq), rng.normal(size=m.nv)
    np.testing.assert_allclose(flat(terms(q, v)), flat(standing.evaluate("terms", q, v, 1.0 * (q < v))), atol=1e-10)
    dyn = da.Dynamics(random_mechanism(3, 2, kinds=("revolute",), massless=0))
    still = np.zeros(2)
    moved = da.rollout(
        dyn, still, still, 1000, 5e-3, control=lambda t, q, v: dyn.inverse_dynamics(q, v, 20 * (0.3 - q) - 9 * v)
    )
    np.testing.assert_allclose(moved.final_q, 0.3, atol=1e-3)


def test_kernels_of_a_device_compose_without_one(standing):
    """Their program is the same; so a kernel for a processor may be made of them."""
    there = da.Dynamics(four_bar(), device="cuda").kernel("contact_step", sweeps=2)
    here = standing.kernel("contact_step", sweeps=2)
    composed = passing_on(there)
    assert composed.key == passing_on(here).key and composed.inputs == here.inputs
    assert passing_on(there, device="cuda").program.digest == composed.program.digest


def test_open_contacts_warn_once_and_equations_compose():
    dyn = da.Dynamics(block())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        da.kernel(lambda q, v: dyn.forward_dynamics(q, v, np.zeros(6)), {"q": (7,), "v": (6,)})
    assert [w.category for w in caught] == [ModelWarning]


# ------------------------------------------------------------------------------------- what a step takes from around it


def test_what_a_step_captures_is_held():
    """Scalars, conditions and what is computed of both, in nested steps, without code that grows."""

    def compute(x, y, table):
        positive = x > 0
        heavy = sum(np.sin(y * k) for k in range(40))

        def inner(c):
            return (c * np.cos(y) + heavy * np.exp(-c * c) + np.arctan2(x, c).minimum(y) / (2 + c),)

        def outer(a, b):
            (c,) = repeat(inner, (a + y,), 30)
            return np.sin(c) + positive.select(a, b) * x, b + x

        a, b = repeat(outer, (x, y), 25)
        (rows,) = for_each(lambda row: (row * x + np.dot(row, row) * y,), (table,))
        (last,), made = along(lambda s, row: ((s * y + row @ row,), (row * s,)), (x,), (table,))
        return {"a": a, "b": b, "rows": rows, "last": last, "made": made[0]}

    shapes = {"x": (), "y": (), "table": (60, 3)}
    composed = da.kernel(compute, shapes)
    assert len(composed.program.nodes) < 3000
    rng = np.random.default_rng(6)
    x, y, table = 0.3, 0.8, rng.normal(size=(60, 3))

    def inner(c, heavy):
        return c * np.cos(y) + heavy * np.exp(-c * c) + min(np.arctan2(x, c), y) / (2 + c)

    heavy, a, b = sum(np.sin(y * k) for k in range(40)), x, y
    for _ in range(25):
        c = a + y
        for _ in range(30):
            c = inner(c, heavy)
        a, b = np.sin(c) + a * x, b + x
    s, made = x, []
    for row in table:
        made.append(row * s)
        s = s * y + row @ row
    found = composed(x, y, table)
    np.testing.assert_allclose(found.a, a, rtol=1e-9)
    np.testing.assert_allclose(found.b, b, rtol=1e-9)
    np.testing.assert_allclose(found.rows, table * x + (table * table).sum(1)[:, None] * y, rtol=1e-9)
    np.testing.assert_allclose(found.last, s, rtol=1e-9)
    np.testing.assert_allclose(found.made, made, rtol=1e-9)


def test_numbers_may_be_carried_beside_what_is_captured():
    """The loop is found by what the step gives, not only by what it is given."""
    long = da.kernel(lambda x: repeat(lambda s: (np.sin(s) * x + s,), (0.5,), 400)[0], {"x": ()})
    rows = da.kernel(lambda x: for_each(lambda r: (np.sin(r * x) + np.cos(r + x),), (np.arange(400.0),))[0], {"x": ()})
    assert len(long.program.loops) == 1 and len(rows.program.loops) == 1
    s = 0.5
    for _ in range(400):
        s = np.sin(s) * 0.1 + s
    np.testing.assert_allclose(long(0.1), s, rtol=1e-10)
    np.testing.assert_allclose(rows(0.3), np.sin(np.arange(400) * 0.3) + np.cos(np.arange(400) + 0.3), atol=1e-12)


def test_graphs_side_by_side_do_not_mix():
    inner, other = Graph(Graph()), Graph().input("x")
    inner.input("carried", (1,))
    with pytest.raises(ArgumentError, match="another graph"):
        inner.input("y") + other


def test_a_loop_of_two_operands_is_whole():
    """It was taken for an operation of two operands, and lost its step."""
    long = da.kernel(lambda x, y: repeat(lambda c, h: (c * h + np.sin(c),), (x,), 300, (y,))[0], {"x": (), "y": ()})
    c = 0.1
    for _ in range(300):
        c = c * 0.2 + np.sin(c)
    np.testing.assert_allclose(long(0.1, 0.2), c, rtol=1e-10)
    assert evaluate(long.program, [0.1, 0.2])["result"] == pytest.approx(c)
    assert long.outputs == (Port("result", ()),)
