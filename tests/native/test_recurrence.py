"""Compiled recurrences against the same program called again and again."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.algebra import scalar
from dalembert.errors import ArgumentError
from dalembert.native.recurrence import Recurrence
from dalembert.tracing.evaluate import evaluate
from dalembert.tracing.program import Port
from dalembert.tracing.trace import trace


def step(x, n, h, u):
    """A swinging state, swapped components, a counter; every result needs the others' old values."""
    a, b, c = x
    return [b, a + h * scalar.sin(b) * u[0], c + h * u[1] - a / 10], n + 1


PORTS = {"x": (3,), "n": (), "h": (), "u": (2,)}


def made(dtype=np.float64):
    program = trace(step, PORTS, "step", outputs=("x", "n"))
    x, n, h, u = (Port(name, shape) for name, shape in PORTS.items())
    return program, Recurrence("step", [x, n], [h], [u], program, dtype=dtype)


def expected(program, x, n, h, u, steps, every, hold):
    records = []
    for s in range(steps):
        found = evaluate(program, {"x": x, "n": n, "h": h, "u": u[:, s // hold]})
        x, n = found["x"], found["n"]
        if (s + 1) % every == 0:
            records.append(x)
    return x, n, np.stack(records, axis=1) if records else np.empty((len(x), 0, 3))


@settings(max_examples=40)
@given(
    count=st.integers(1, 27), steps=st.integers(0, 12), every=st.integers(1, 5), hold=st.integers(1, 4),
    shared=st.booleans(), seed=st.integers(0, 1000),
)  # fmt: skip
def test_loop_equals_repeated_calls(count, steps, every, hold, shared, seed):
    """Any number of trajectories, also incomplete blocks; any rhythm of records and rows; shared or own inputs."""
    program, recurrence = made()
    rng = np.random.default_rng(seed)
    x, n = rng.normal(size=(count, 3)), np.zeros(count)
    h = np.array([0.1]) if shared else rng.uniform(0.05, 0.2, size=count)
    u = rng.normal(size=(1 if shared else count, max(1, -(-steps // hold)), 2))
    records = np.full((count, steps // every, 3), np.nan)
    final = np.empty_like(x), np.empty_like(n)
    recurrence.run([x, n], [h], [u], final, [records, None], steps, every, hold)
    want = expected(
        program, x, n, np.broadcast_to(h, count), np.broadcast_to(u, (count, *u.shape[1:])), steps, every, hold
    )
    # fused multiply-adds round once where the reference rounds twice; a few steps keep that near rounding
    assert np.abs(final[0] - want[0]).max() < 1e-13
    assert (final[1] == steps).all()
    assert np.abs(records - want[2]).max(initial=0) < 1e-13


def test_state_may_be_overwritten_and_runs_continue():
    _, recurrence = made()
    rng = np.random.default_rng(1)
    x, n, h, u = rng.normal(size=(11, 3)), np.zeros(11), np.array([0.1]), rng.normal(size=(11, 20, 2))
    whole = np.empty_like(x), np.empty_like(n)
    recurrence.run([x, n], [h], [u], whole, [None, None], 20)
    recurrence.run([x, n], [h], [u], [x, n], [None, None], 8)
    recurrence.run([x, n], [h], [u[:, 8:]], [x, n], [None, None], 12)
    assert np.array_equal(x, whole[0])
    assert (n == 20).all()


def test_nan_stays_in_its_trajectory():
    _, recurrence = made()
    x, n, h, u = np.ones((9, 3)), np.zeros(9), np.array([0.1]), np.ones((1, 5, 2))
    x[4, 1] = np.nan
    recurrence.run([x, n], [h], [u], [x, n], [None, None], 5)
    assert np.isnan(x[4]).any()
    assert np.isfinite(np.delete(x, 4, axis=0)).all()


def test_single_precision():
    program, recurrence = made(np.float32)
    rng = np.random.default_rng(2)
    x, u = rng.normal(size=(19, 3)).astype(np.float32), rng.normal(size=(19, 6, 2)).astype(np.float32)
    n, h = np.zeros(19, np.float32), np.full(1, 0.1, np.float32)
    want, _, _ = expected(program, x.astype(float), n, np.full(19, 0.1), u.astype(float), 6, 1, 1)
    recurrence.run([x, n], [h], [u], [x, n], [None, None], 6)
    assert np.abs(x - want).max() < 1e-5


def test_arrays_that_do_not_fit_are_refused():
    _, recurrence = made()
    x, n, h, u = np.ones((4, 3)), np.zeros(4), np.array([0.1]), np.ones((4, 5, 2))
    good = [[x, n], [h], [u], [x, n], [None, None]]
    for place, part, bad in (
        (0, 0, x[:, :2].copy()), (0, 0, x.astype(np.float32)), (0, 0, np.asfortranarray(x)), (2, 0, u[:, :3]),
        (2, 0, u[:2]), (3, 0, x[:1]), (4, 0, np.empty((4, 2, 3))),
    ):  # fmt: skip
        given = [list(group) for group in good]
        given[place][part] = bad
        with pytest.raises(ArgumentError, match=r"[xu] has shape"):
            recurrence.run(*given, 5)
    with pytest.raises(ArgumentError, match="out of range"):
        recurrence.run(*good, -1)


def test_program_must_map_a_state_to_a_state():
    program = trace(lambda x: x[:2], {"x": (3,)}, "wrong")
    with pytest.raises(ArgumentError, match="does not map its state"):
        Recurrence("wrong", [Port("x", (3,))], [], [], program).code  # noqa: B018


def test_code_is_found_in_the_cache_by_another_process(tmp_path):
    script = (
        "import numpy as np\n"
        "from dalembert.tracing.program import Port\n"
        "from dalembert.native.recurrence import Recurrence\n"
        "from dalembert.tracing.trace import trace\n"
        "def program():\n"
        "    print('traced')\n"
        "    return trace(lambda x: x + 1, {'x': (2,)}, 'count')\n"
        "r = Recurrence('count', [Port('x', (2,))], [], [], program, key='a test of counting')\n"
        "x = np.zeros((3, 2))\n"
        "r.run([x], [], [], [x], [None], 7)\n"
        "print(x.tolist())\n"
    )
    environment = {**os.environ, "DALEMBERT_CACHE": str(tmp_path)}
    runs = [
        subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    answer = f"{[[7.0, 7.0]] * 3}\n"
    assert runs[0].stdout == "traced\n" + answer
    assert runs[1].stdout == answer


def test_arrays_that_do_not_fit_are_named():
    """Lists, numbers and too few arrays: whatever cannot be used as it lies in memory, by the name of its port."""
    _, recurrence = made()
    x, n, h, u = np.zeros((2, 3)), np.zeros(2), np.zeros(2), np.zeros((2, 4, 2))
    good = {"state": [x, n], "held": [h], "driven": [u], "final": [x.copy(), n.copy()], "records": [None, None]}
    recurrence.run(**good, steps=4)
    for group, bad, told in (
        ("state", [x.tolist(), n], "x is a list"),
        ("state", [x], "state are 1 arrays; needed are 2"),
        ("state", [np.float64(0), n], "x is a float64"),
        ("held", [0.1], "h is a float"),
        ("held", [np.array(0.1)], "h has shape ()"),
        ("driven", [], "driven are 0 arrays; needed are 1"),
        ("final", [x.tolist(), n], "x is a list"),
        ("records", [None], "records are 1 arrays"),
    ):
        with pytest.raises(ArgumentError, match=re.escape(told)):
            recurrence.run(**{**good, group: bad}, steps=4)
