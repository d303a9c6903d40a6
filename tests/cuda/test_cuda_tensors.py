"""Tensors of PyTorch by their addresses, with memory of the host in place of that of a device."""

import ctypes
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from dalembert.cuda import kernel as kernels
from dalembert.cuda import tensors
from dalembert.cuda.kernel import CudaKernel
from dalembert.tracing.program import Port

torch = pytest.importorskip("torch")

SIZE = 3


class Pretended:
    """What is launched on a device: x + 2 y, of which 2 y is handed on in an array between."""

    between = ((SIZE,),)

    def __init__(self, dtype):
        self.dtype = dtype

    def _at(self, address, rows):
        kind = ctypes.c_double if self.dtype == np.float64 else ctypes.c_float
        return np.ctypeslib.as_array(ctypes.cast(int(address), ctypes.POINTER(kind)), (rows, SIZE))

    def __call__(self, arrays, shared, count, scratch):
        (between,) = scratch
        x, y = (self._at(p, 1 if shared >> k & 1 else count) for k, p in enumerate(arrays[:2]))
        self._at(between, count)[:] = 2 * y
        self._at(arrays[2], count)[:] = x + self._at(between, count)


@pytest.fixture
def kernel(monkeypatch):
    """A kernel whose device is the host; CuPy has no memory to give."""
    monkeypatch.setattr(tensors, "DEVICE", "cpu")
    monkeypatch.setattr(tensors, "stream_at", lambda address: nullcontext())
    monkeypatch.setattr(torch.cuda, "current_device", lambda: None)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: SimpleNamespace(cuda_stream=0))
    runtime = SimpleNamespace(getDevice=lambda: 0)
    monkeypatch.setattr(kernels.arrays, "cupy", lambda: SimpleNamespace(cuda=SimpleNamespace(runtime=runtime)))
    made = CudaKernel("sum", (Port("x", (SIZE,)), Port("y", (SIZE,))), (Port("z", (SIZE,)),), lambda: None)
    made._compiled = {(0, np.dtype(t)): Pretended(np.dtype(t)) for t in ("float64", "float32")}
    return made


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize(
    ("x", "y"),
    [((5,), (5,)), ((5,), ()), ((), (5,)), ((1,), (4,)), ((4, 1), (5,)), ((2, 1, 3), (4, 1)), ((), ()), ((0,), ())],
)
def test_everything_happens_in_memory_of_pytorch(kernel, dtype, x, y):
    """Which alone knows what a recorded graph needs: results, copies, and what kernels hand on to each other."""
    given = [torch.randn((*shape, SIZE), dtype=dtype) for shape in (x, y)]
    assert torch.equal(tensors.quick(kernel, tuple(given), None), given[0] + 2 * given[1])
    turned = [g.movedim(-1, 0).contiguous().movedim(0, -1) for g in given]
    out = torch.empty_like(given[0] + given[1])
    assert tensors.quick(kernel, tuple(turned), out) is out
    assert torch.equal(out, given[0] + 2 * given[1])


def test_what_does_not_fit_is_left_to_be_told(kernel):
    x = torch.randn(5, SIZE)
    cases = [(x, x[:, :2]), (x, x[:4]), (x, x.double()), (x.half(), x.half()), (x, x.numpy()), (x,), (x, x[0, 0])]
    for given in cases:
        assert tensors.quick(kernel, given, None) is None
    recording = x.clone().requires_grad_()
    assert tensors.quick(kernel, (x, recording), None) is None
    with torch.no_grad():
        assert torch.equal(tensors.quick(kernel, (x, recording), None), 3 * x)
    negated = torch.conj(torch.complex(x, x)).imag
    assert tensors.quick(kernel, (x, negated), None) is None
    for out in (negated, x, recording, x.double(), x.clone()[:4], x.T.contiguous().T, (x.clone(), x.clone())):
        assert tensors.quick(kernel, (x, x.clone()), out) is None
