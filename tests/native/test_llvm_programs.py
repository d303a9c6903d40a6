"""Machine code computes what the program says, at every vector width, in both precisions, for any batch."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import looped_programs
from dalembert.errors import CompilerError
from dalembert.native.kernel import Kernel
from dalembert.native.llvm.engine import assembly
from dalembert.native.llvm.module import module_source, module_text
from dalembert.native.llvm.plan import FUNCTIONS, ROLLED, Calls, Chunk, make_plan
from dalembert.native.llvm.target import Target
from dalembert.tracing.program import ARITY, UNCOUNTED
from llvm_programs import Builder, assert_correct, copy_program, random_inputs, random_program

UNIT = {np.float64: 2.0**-53, np.float32: 2.0**-24}


def kernel(program, dtype=None, target=None):
    return Kernel(program.name, program.inputs, program.outputs, program, dtype=dtype, target=target)


def outputs_of(result):
    return result if isinstance(result, tuple) else (result,)


@pytest.fixture(autouse=True, scope="module")
def _no_disk(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DALEMBERT_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def widths():
    host = Target.host()
    return [dataclasses.replace(host, bits=bits) for bits in (0, 128, 256, 512) if bits <= max(host.bits, 128)]


@given(st.integers(0, 10**6))
@settings(max_examples=12, deadline=None)
def test_random_programs_stay_within_their_rounding_errors(seed):
    program = random_program(seed)
    inputs = random_inputs(program, (37,), seed)
    assert_correct(program, inputs, outputs_of(kernel(program)(*inputs)))


@given(st.integers(0, 10**6))
@settings(max_examples=6, deadline=None)
def test_float32_programs_stay_within_their_rounding_errors(seed):
    program = random_program(seed)
    inputs = random_inputs(program, (37,), seed, np.float32)
    outputs = outputs_of(kernel(program, np.float32)(*inputs))
    assert all(y.dtype == np.float32 for y in outputs)
    assert_correct(program, inputs, outputs, UNIT[np.float32])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("seed", [1, 2])
def test_all_widths_give_the_same_bits(dtype, seed):
    program = random_program(seed, size=150)
    inputs = random_inputs(program, (41,), seed, dtype)
    inputs[0][3] = 1e9  # an angle for the C library
    answers = [outputs_of(kernel(program, dtype, target)(*inputs)) for target in widths()]
    for other in answers[1:]:
        for a, b in zip(answers[0], other):
            np.testing.assert_array_equal(a.view(f"u{a.itemsize}"), b.view(f"u{b.itemsize}"))


def test_processors_without_fused_multiply_add_are_served():
    if not Target.host().triple.startswith("x86_64"):
        pytest.skip("needs an x86 processor")
    plain = Target(Target.host().triple, "x86-64", "", 128)
    assert not plain.fused
    program = random_program(3, size=150)
    inputs = random_inputs(program, (13,), 3)
    assert_correct(program, inputs, outputs_of(kernel(program, target=plain)(*inputs)))


def test_code_for_another_architecture_can_be_printed_and_is_not_run():
    arm = Target("aarch64-unknown-none", "neoverse-n1", "", 128)
    b = Builder()
    ((x, y, z),) = b.inputs((3,))
    program = b.program(((1,), [b("add", b("mul", x, y), b("sin", z))]))
    assert "fmla" in assembly(module_text(program, target=arm), arm)
    with pytest.raises(CompilerError, match="not run"):
        kernel(program, target=arm)(np.ones(3))
    with pytest.raises(CompilerError, match="no code for 'abacus'"):
        assembly(module_text(program), Target("abacus", "", "", 0))


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 25, 33, 49, 1000])
def test_any_number_of_states_gives_what_each_state_gives_alone(count):
    program = random_program(5, size=80)
    run = kernel(program)
    inputs = random_inputs(program, (count,), 5)
    together = run(*inputs)
    for k in {0, count // 2, count - 1} & set(range(count)):
        alone = run(*(x[k] for x in inputs))
        for a, b in zip(together, alone):
            np.testing.assert_array_equal(a[k], b)
    assert together[0].shape == (count, 4)
    assert together[1].shape == (count,)


@pytest.mark.parametrize("chunk", [3, 10, 40])
def test_cutting_a_program_up_changes_nothing(chunk, monkeypatch):
    program = random_program(7, size=200)
    inputs = random_inputs(program, (19,), 7)
    whole = outputs_of(kernel(program).ufunc(*inputs))
    monkeypatch.setenv("DALEMBERT_CACHE", "off")
    monkeypatch.setattr("dalembert.native.load.module_source", lambda *args: module_source(*args, chunk=chunk))
    for a, b in zip(whole, outputs_of(kernel(program)(*inputs))):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("looped", [False, True])
@pytest.mark.parametrize("largest, level", [(1, 2), (50, 1), (1000, 0)])
def test_modules_and_levels_of_optimisation_change_nothing(largest, level, looped, monkeypatch):
    program, inputs = looped_programs.mixer(), looped_programs.mixtures((19,))
    if not looped:
        program = random_program(7, size=200)
        inputs = random_inputs(program, (19,), 7)
    whole = outputs_of(kernel(program).ufunc(*inputs))
    monkeypatch.setenv("DALEMBERT_CACHE", "off")
    monkeypatch.setattr("dalembert.native.llvm.module.MODULE_OPERATIONS", largest)
    monkeypatch.setattr("dalembert.native.llvm.module.optimization", lambda operations: level)
    source = module_source(program, np.float64, Target.host(), chunk=20)
    assert source.optimization == level and (len(list(source.texts)) > 2) == (largest < 1000)
    monkeypatch.setattr("dalembert.native.load.module_source", lambda *args: module_source(*args, chunk=20))
    for a, b in zip(whole, outputs_of(kernel(program)(*inputs)), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("window", [1, 30, 1000])
@pytest.mark.parametrize("looped", [False, True])
def test_a_table_of_operations_gives_the_bits_of_their_code(looped, window, dtype, monkeypatch):
    program, inputs = looped_programs.mixer(), looped_programs.mixtures((19,), dtype)
    if not looped:
        program = random_program(7, size=400)
        inputs = [x.astype(dtype) for x in random_inputs(program, (19,), 7)]
    whole = outputs_of(kernel(program)(*inputs))
    monkeypatch.setenv("DALEMBERT_CACHE", "off")
    monkeypatch.setattr("dalembert.native.llvm.plan.is_rolled", lambda operations, executed: True)
    monkeypatch.setattr("dalembert.native.llvm.plan.WINDOW_OPERATIONS", window)
    plan = make_plan(program)
    assert not any(isinstance(step, Chunk) for step in plan.steps)
    for a, b in zip(whole, outputs_of(kernel(program)(*inputs)), strict=True):
        assert a.dtype == dtype
        np.testing.assert_array_equal(a, b)


def test_tables_know_every_operation():
    """All that is no function, loop or leaf; with as many operands as programs, and as the lowering, give them."""
    arithmetic = set(ARITY) - UNCOUNTED - {"read", "write", "draw", *FUNCTIONS, "tan"}
    assert set(ROLLED) == arithmetic | {"muladd", "mulsub", "submul"}
    assert all(ROLLED[op][1] == ARITY[op] for op in arithmetic)


def test_long_tables_are_those_that_are_written_in_numbers(monkeypatch):
    program = random_program(7, size=200)
    inputs = random_inputs(program, (19,), 7)
    whole = outputs_of(kernel(program).ufunc(*inputs))
    monkeypatch.setenv("DALEMBERT_CACHE", "off")
    monkeypatch.setattr("dalembert.native.llvm.loop.LONG_TABLE", 0)
    for a, b in zip(whole, outputs_of(kernel(program)(*inputs)), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("group", [2, 3, 128])
def test_no_function_calls_more_steps_than_a_group_and_groups_change_nothing(group, monkeypatch):
    b = Builder()
    (x,) = b.inputs((1,))
    y = x[0]
    for _ in range(150):  # a sine waits for the one before, so that each makes steps of its own
        y = b("add", b("sin", y), x[0])
    program = b.program(((1,), [y]))
    (values,) = random_inputs(program, (11,))
    monkeypatch.setenv("DALEMBERT_CACHE", "off")
    whole = kernel(program)(values)
    monkeypatch.setattr("dalembert.native.llvm.loop.GROUP_CALLS", group)
    grouped = kernel(program)
    np.testing.assert_array_equal(grouped(values), whole)
    functions = grouped.ir.split("define ")
    steps = [len(re.findall(r"call void @(?:chunk|group|\w+_sincos)", function)) for function in functions]
    assert max(steps) <= group and sum(steps) >= 300


def test_long_programs_use_the_heap():
    b = Builder()
    (x,) = b.inputs((3,))
    wide = [b("mul", x[k % 3], b.const(float(k))) for k in range(2000)]
    program = b.program(((2000,), wide))
    inputs = random_inputs(program, (11,))
    np.testing.assert_array_equal(kernel(program)(*inputs), inputs[0][:, np.arange(2000) % 3] * np.arange(2000.0))


OPERATIONS = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "neg": np.negative, "abs": np.abs,
    "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "exp": np.exp, "log": np.log, "atan2": np.arctan2, "min": np.minimum,
    "max": np.maximum, "lt": np.less, "le": np.less_equal, "eq": np.equal, "and": np.logical_and, "or": np.logical_or,
    "not": np.logical_not, "select": np.where, "muladd": lambda a, b, c: a * b + c, "mulsub": lambda a, b, c: a * b - c,
    "submul": lambda a, b, c: c - a * b, "tan": lambda x: np.sin(x) / np.cos(x),
}  # fmt: skip


def execute(plan, inputs):
    """What the machine code does, step by step, on one state: slots of the scratch hold values or nothing."""
    scratch = dict(enumerate(np.concatenate([np.ravel(x) for x in inputs]))) | plan.fill
    for step in plan.steps:
        if isinstance(step, Chunk):
            local = dict(plan.constants)
            for i in step.values:
                op, args = plan.code[i]
                local[i] = OPERATIONS[op](*(local[a] if a in local else scratch[plan.slots[a]] for a in args))
            scratch.update({slot: local[i] for i, slot in step.keep.items()})
        else:
            assert isinstance(step, Calls)
            for row in step.slots:
                if step.kind == "sincos":
                    x = scratch[row[0]]
                    scratch[row[1]], scratch[row[2]] = np.sin(x), np.cos(x)
                else:
                    scratch[row[-1]] = OPERATIONS[step.kind](*(scratch[k] for k in row[:-1]))
    return [np.array([scratch[k] for k in slots]) for slots in plan.results]


@pytest.mark.parametrize("chunk", [1, 9, 1000])
def test_a_plan_computes_what_its_program_does(chunk):
    for seed in range(20):
        program = random_program(seed, size=120)
        inputs = random_inputs(program, (), seed)
        plan = make_plan(program, chunk)
        assert all(len(step.values) <= chunk for step in plan.steps if isinstance(step, Chunk))
        values: list = []
        for op, args, number in program.nodes:
            if op == "input":
                values.append(np.ravel(inputs[args[0]])[args[1]])
            else:
                values.append(number if op == "const" else OPERATIONS[op](*(values[a] for a in args)))
        for found, elements in zip(execute(plan, inputs), program.results):
            np.testing.assert_array_equal(found, [values[i] for i in elements])


def test_a_product_used_once_joins_its_sum():
    b = Builder()
    ((x, y, z),) = b.inputs((3,))
    once, twice = b("mul", x, y), b("mul", y, z)
    program = b.program(((3,), [b("add", z, once), b("sub", twice, x), twice]))
    ops = sorted(op for op, _ in make_plan(program).code.values())
    assert ops == ["mul", "muladd", "sub"]


def test_numbers_of_all_kinds_pass_unchanged():
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -1e-310, 1.7e308, 1 / 3])
    result = kernel(copy_program((9,)))(special)
    np.testing.assert_array_equal(result.view(np.uint64), special.view(np.uint64))


def test_min_and_max_treat_nan_as_numpy_does():
    b = Builder()
    ((x, y),) = b.inputs((2,))
    run = kernel(b.program(((2,), [b("min", x, y), b("max", x, y)])))
    for pair in [(1, 2), (2, 1), (np.nan, 1), (1, np.nan), (np.nan, np.nan), (np.inf, -np.inf), (3, 3)]:
        np.testing.assert_array_equal(run(np.array(pair, float)), [np.minimum(*pair), np.maximum(*pair)])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_stays_in_its_state(bad):
    program = random_program(11, size=100)
    run = kernel(program)
    inputs = random_inputs(program, (29,), 11)
    good = run(*inputs)
    inputs[0][13] = bad
    with np.errstate(all="raise"):  # nor does it raise a floating-point flag
        mixed = run(*inputs)
    for a, b in zip(good, mixed):
        np.testing.assert_array_equal(np.delete(a, 13, 0), np.delete(b, 13, 0))


def test_branches_not_taken_raise_no_warnings():
    b = Builder()
    (x,) = b.inputs(())
    safe = b("select", b("eq", x[0], b.const(0.0)), b.const(1.0), b("div", b("sin", x[0]), x[0]))
    run = kernel(b.program(((), [safe])))
    with np.errstate(all="raise"):
        assert run(np.zeros(5)).tolist() == [1.0] * 5


def test_what_cannot_be_compiled_is_refused():
    b = Builder()
    ((x, y),) = b.inputs((2,))
    with pytest.raises(CompilerError, match="truth value"):
        kernel(b.program(((1,), [b("lt", x, y)])))(np.zeros(2))
    b = Builder()
    ((x,),) = b.inputs((1,))
    with pytest.raises(CompilerError, match="'cosh'"):
        kernel(b.program(((1,), [b("cosh", x)])))(np.zeros(1))
