"""Scratch memory from the stack and from the heap: every kind of loop computes the same with either."""

import numpy as np
import pytest

from dalembert.algebra import scalar
from dalembert.errors import CompilerError
from dalembert.native.kernel import Kernel
from dalembert.native.llvm import engine, loop
from dalembert.native.llvm.target import Target
from dalembert.native.recurrence import Recurrence
from dalembert.tracing.program import Port
from dalembert.tracing.trace import trace
from llvm_programs import random_program


@pytest.fixture(params=["stack", "heap"])
def memory(request, monkeypatch, tmp_path):
    """Where scratch comes from, with a cache of its own: entries are named by the program, not by its memory."""
    monkeypatch.setattr(loop, "STACK", 1 << 30 if request.param == "stack" else 0)
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path))
    return request.param


@pytest.fixture(params=[np.float64, np.float32], ids=["double", "single"])
def dtype(request):
    return request.param


def test_loops_over_states(memory, dtype):
    program = random_program(3)
    kernel = Kernel(program.name, program.inputs, program.outputs, program, dtype=dtype)
    rng = np.random.default_rng(0)
    for count in (1, 3, 40):
        given = [rng.uniform(0.5, 1, size=(count, *port.shape)).astype(dtype) for port in program.inputs]
        together = kernel(*given)
        together = together if isinstance(together, tuple) else (together,)
        for k in range(count):
            alone = kernel(*(x[k] for x in given))
            for whole, one in zip(together, alone if isinstance(alone, tuple) else (alone,)):
                assert np.array_equal(whole[k], one, equal_nan=True)


def test_loops_over_steps(memory, dtype):
    def swing(x, h, u):
        return [x[1], x[0] + h * scalar.sin(x[1]) * u[0]]

    program = trace(swing, {"x": (2,), "h": (), "u": (1,)}, "swing", outputs=("x",))
    recurrence = Recurrence("swing", [Port("x", (2,))], [Port("h", ())], [Port("u", (1,))], program, dtype=dtype)
    rng = np.random.default_rng(1)
    for count in (1, 5, 40):
        x, h = rng.normal(size=(count, 2)).astype(dtype), np.full(1, 0.1, dtype)
        u = rng.normal(size=(count, 6, 1)).astype(dtype)
        final, records = np.empty_like(x), np.empty((count, 6, 2), dtype)
        recurrence.run([x], [h], [u], [final], [records], 6)
        for s in range(6):
            x = np.stack([x[:, 1], x[:, 0] + h * np.sin(x[:, 1]) * u[:, s, 0]], axis=-1)
            assert np.abs(records[:, s] - x).max() < 100 * np.finfo(dtype).eps
        assert np.array_equal(final, records[:, -1])


def test_invalid_code_is_an_error_and_not_an_abort():
    text = """define i64 @f(i1 %x) {
entry:
  br i1 %x, label %a, label %b
a:
  br label %b
b:
  %y = phi i64 [ 0, %entry ]
  ret i64 %y
}"""
    with pytest.raises(CompilerError, match="bug in dalembert"):
        engine.object_code(text, Target.host())
