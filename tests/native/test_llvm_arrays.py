"""Arrays of any layout are read and written correctly, and nothing beside them is touched."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.native.kernel import Kernel
from dalembert.native.llvm.target import Target
from llvm_programs import Builder, copy_program

HOST = Target.host()
TARGETS = [dataclasses.replace(HOST, bits=bits) for bits in (0, 128, 256, 512) if bits <= max(HOST.bits, 128)]


@pytest.fixture(autouse=True, scope="module")
def _no_disk(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DALEMBERT_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


_kernels: dict = {}


def copy_kernel(shape, target=HOST):
    """The identity on arrays of a shape, plus the last input added to the first element, to have two inputs."""
    if (shape, target) not in _kernels:
        b = Builder()
        x, (t,) = b.inputs(shape, ())
        program = b.program((shape, x), ((), [t]), ((2,), [x[-1], x[0]]))
        _kernels[shape, target] = Kernel("copy", program.inputs, program.outputs, program, target=target)
    return _kernels[shape, target]


def check(run, x, t, **out):
    y, s, ends = run.ufunc(x, t, **out)
    rank = len(run.inputs[0].shape)
    batch = np.broadcast_shapes(x.shape[: x.ndim - rank], t.shape)
    whole = np.broadcast_to(x, (*batch, *run.inputs[0].shape))
    np.testing.assert_array_equal(y, whole)
    np.testing.assert_array_equal(s, np.broadcast_to(t, batch))
    flat = whole.reshape(*batch, run.inputs[0].size)
    np.testing.assert_array_equal(ends, flat[..., [-1, 0]])


@st.composite
def strided(draw, core):
    """An array of random batch shape whose memory is transposed, reversed, thinned or repeated along any axis."""
    batch = draw(st.lists(st.integers(0, 19), max_size=2))
    shape = (*batch, *core)
    steps = [draw(st.sampled_from([1, 1, 1, -1, 2, -3])) for _ in shape]
    order = draw(st.permutations(range(len(shape))))
    base = np.empty(tuple(shape[k] * abs(steps[k]) for k in order), draw(st.sampled_from([np.float64, np.float32])))
    base.reshape(-1)[:] = np.arange(base.size)
    array = base.transpose(np.argsort(order))[tuple(slice(None, None, s) for s in steps)]
    if batch and draw(st.booleans()):
        k = draw(st.integers(0, len(batch) - 1))
        array = array[(*(slice(None),) * k, slice(0, 1))]
        array = np.broadcast_to(array, shape) if shape[k] else array
    return array


@pytest.mark.parametrize("core", [(1,), (2,), (3,), (7,), (8,), (13,), (2, 3), (3, 1, 4), ()])
@given(st.data())
@settings(max_examples=25, deadline=None)
def test_any_strides(core, data):
    run = copy_kernel(core, data.draw(st.sampled_from(TARGETS)))
    x = data.draw(strided(core))
    t = np.arange(x.shape[-len(core) - 1] if x.ndim > len(core) else 1, dtype=x.dtype)
    check(run, x, t)


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_outputs_of_any_strides(data):
    run = copy_kernel((5,), data.draw(st.sampled_from(TARGETS)))
    out = data.draw(strided((5,)).filter(lambda a: 0 not in a.strides))
    x = np.random.default_rng(0).normal(size=out.shape).astype(out.dtype)
    everything = out
    while isinstance(everything.base, np.ndarray):
        everything = everything.base
    everything = everything.reshape(-1)
    inside = np.zeros(everything.size, bool)
    inside[out.astype(np.int64).reshape(-1)] = True
    before = everything.copy()
    check(run, x, x[..., 0], out=(out, None, None))
    np.testing.assert_array_equal(out, x)
    np.testing.assert_array_equal(everything[~inside], before[~inside])  # gaps are left alone


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: str(t.bits))
def test_broadcasting_of_each_argument(target):
    run = copy_kernel((4,), target)
    rng = np.random.default_rng(1)
    for a, b in [((), (21,)), ((21,), ()), ((3, 1), (1, 9)), ((9,), (5, 9)), ((5, 9), (9,)), ((1,), (17,))]:
        check(run, rng.normal(size=(*a, 4)), rng.normal(size=b))


def test_unaligned_read_only_and_foreign_byte_order():
    run = copy_kernel((3,))
    raw = bytes(np.arange(1 + 30 * 24, dtype=np.uint8) % 50)
    unaligned = np.frombuffer(raw, np.float64, 90, 1).reshape(30, 3)
    assert not unaligned.flags.aligned
    assert not unaligned.flags.writeable
    check(run, unaligned, np.zeros(30))
    check(run, np.arange(30.0).reshape(10, 3).astype(">f8"), np.arange(10.0).astype(">f8"))


def test_output_may_be_the_input():
    run = copy_kernel((7,))
    b = Builder()
    (x,) = b.inputs((7,))
    program = b.program(((7,), x[::-1]))
    reverse = Kernel("reverse", program.inputs, program.outputs, program)
    for count in (1, 5, 8, 100):
        x = np.random.default_rng(count).normal(size=(count, 7))
        expected = x[:, ::-1].copy()
        reverse(x, out=x)
        np.testing.assert_array_equal(x, expected)
        reverse(x, out=x[::-1])  # overlapping, but not the same
        np.testing.assert_array_equal(x[::-1], expected[:, ::-1])
    del run


@pytest.mark.parametrize("shift", [0, 1, 3, 7])
@pytest.mark.parametrize("size", [1, 2, 7, 8, 49])
def test_large_outputs_written_past_the_caches(shift, size, monkeypatch):
    monkeypatch.setattr("dalembert.native.kernel.STREAM", 0)
    monkeypatch.setattr("dalembert.native.kernel.WIDE", 0)
    for dtype in (np.float64, np.float32):
        program = copy_program((size,))
        run = Kernel("copy", program.inputs, program.outputs, program)
        for count in (1, 8, 9, 100, 131):
            x = np.random.default_rng(0).normal(size=(count, size)).astype(dtype)
            memory = np.full(count * size + 100, 7, dtype)
            out = memory[shift : shift + count * size].reshape(count, size)
            run(x, out=out, dtype=dtype)  # a named option takes the general way
            np.testing.assert_array_equal(out, x)
            assert (memory[:shift] == 7).all()
            assert (memory[shift + count * size :] == 7).all()


GUARDED = """
import ctypes, dataclasses, mmap, sys
import numpy as np
sys.path.insert(0, sys.argv[1])
from llvm_programs import copy_program
from dalembert.native.kernel import Kernel
from dalembert.native.llvm.target import Target

page = mmap.PAGESIZE
libc = ctypes.CDLL(None)

def fenced(bytes_, at_end):
    '''Memory that ends, or begins, where access is forbidden.'''
    pages = -(-bytes_ // page) + 2
    area = mmap.mmap(-1, pages * page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(area))
    for forbidden in (start, start + (pages - 1) * page):
        assert libc.mprotect(ctypes.c_void_p(forbidden), page, 0) == 0
    first = (pages - 1) * page - bytes_ if at_end else page
    return np.frombuffer(area, np.uint8, bytes_, first)

host = Target.host()
for bits in (0, 128, 256, 512):
    if bits > max(host.bits, 128):
        continue
    for size in (1, 2, 3, 5, 7, 8, 9, 16, 17):
        program = copy_program((size,))
        run = Kernel("copy", program.inputs, program.outputs, program, target=dataclasses.replace(host, bits=bits))
        for dtype in (np.float64, np.float32):
            for count in (1, 2, 3, 7, 8, 9, 16, 17, 31, 33):
                for at_end in (False, True):
                    nbytes = count * size * np.dtype(dtype).itemsize
                    x, y = (fenced(nbytes, at_end).view(dtype) for _ in range(2))
                    x[:] = np.arange(count * size)
                    for transposed in (False, True):
                        if transposed:
                            a, b = x.reshape(size, count).T, y.reshape(size, count).T
                        else:
                            a, b = x.reshape(count, size), y.reshape(count, size)
                        for streamed in (0, 1):
                            b[:] = -1
                            run.compiled.ufunc(None, bool(streamed))(a, out=b)
                            assert (a == b).all(), (bits, size, dtype, count, at_end, transposed, streamed, a, b)
print("fine")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs mprotect")
def test_nothing_outside_an_array_is_touched(tmp_path):
    """Arrays that end or begin at a forbidden page; a touch outside would kill the process."""
    from pathlib import Path

    command = [sys.executable, "-c", GUARDED, str(Path(__file__).parent.parent)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout.strip()) == (0, "fine"), done.stderr


def test_no_state_at_all():
    run = copy_kernel((3,))
    for batch in [(0,), (4, 0), (0, 4)]:
        y, s, ends = run(np.zeros((*batch, 3)), np.zeros(batch))
        assert (y.shape, s.shape, ends.shape) == ((*batch, 3), batch, (*batch, 2))
