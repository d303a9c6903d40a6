"""Tensors of PyTorch by their addresses, with memory of the host in place of that of a device."""

import ctypes
import pickle
import warnings
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from dalembert.cuda import kernel as kernels
from dalembert.cuda import tensors
from dalembert.cuda.arrays import DeviceCopyWarning
from dalembert.cuda.kernel import CudaKernel
from dalembert.errors import ArgumentError
from dalembert.native.arguments import named_tuple
from dalembert.tracing.program import Port
from dalembert.tracing.trace import trace

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


class OnDevice:
    """An array of CuPy, with an address."""

    def __init__(self, value, dtype):
        self.value = np.array(value, dtype)
        self.data = SimpleNamespace(ptr=self.value.ctypes.data)


@pytest.fixture
def kernel(monkeypatch):
    """A kernel whose device is the host; CuPy has no memory to give."""
    monkeypatch.setattr(tensors, "DEVICE", "cpu")
    monkeypatch.setattr(tensors, "stream_at", lambda address: nullcontext())
    monkeypatch.setattr(torch.cuda, "current_device", lambda: None)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: SimpleNamespace(cuda_stream=0))
    stream = SimpleNamespace(synchronize=lambda: None)
    cuda = SimpleNamespace(runtime=SimpleNamespace(getDevice=lambda: 0), get_current_stream=lambda: stream)
    monkeypatch.setattr(kernels.arrays, "cupy", lambda: SimpleNamespace(cuda=cuda, asarray=OnDevice))
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


def test_inputs_that_have_a_value_may_be_left_out_and_others_given_by_name(kernel):
    """The value is on the device already; nothing is warned of."""
    value = np.arange(1.0, SIZE + 1)
    kernel.set_defaults({"y": value})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for dtype in (torch.float64, torch.float32):
            x = torch.randn((5, SIZE), dtype=dtype)
            wanted = x + 2 * torch.tensor(value, dtype=dtype)
            assert torch.equal(kernel(x), wanted)
            assert torch.equal(kernel(x=x), wanted)
            assert torch.equal(kernel(y=x[0].clone(), x=x), x + 2 * x[0])
            out = torch.empty_like(x)
            assert kernel(x, out=out) is out and torch.equal(out, wanted)
    with pytest.raises(ArgumentError, match="missing x"):
        kernel(y=x)
    with pytest.raises(ArgumentError, match="has no input z"):
        kernel(x, z=x)
    kernel.set_defaults({"y": 3 * value})
    assert torch.equal(kernel(x), x + 6 * torch.tensor(value, dtype=x.dtype))


def test_a_pickled_kernel_keeps_the_names_of_its_results():
    program = trace(lambda x: {"double": 2 * x, "square": x * x}, {"x": (SIZE,)})
    made = CudaKernel("both", program.inputs, program.outputs, program, key="of a test")
    made.result = named_tuple("both", ("double", "square"))
    again = pickle.loads(pickle.dumps(made))
    assert again.result is made.result and again.key == made.key


def test_a_kernel_with_a_key_finds_its_source_without_its_program(tmp_path, monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path))
    program, traced = trace(lambda x: x * np.sin(x), {"x": (SIZE,)}), []

    def made():
        traced.append(1)
        return program

    def source(key, room=50_000, real="double"):
        return CudaKernel("f", program.inputs, program.outputs, made, key=key)._kept_source(real, room)

    first = source("a key")
    assert first == source("a key") and len(traced) == 1
    assert source("another") == first and source("a key", real="float") != first and len(traced) == 3
    assert source(None) == first


def test_conversions_stay_in_memory_of_pytorch_and_are_warned_of_once(kernel):
    x = torch.randn(5, SIZE)
    with pytest.warns(DeviceCopyWarning, match="sum is given x of torch.float32, which every call converts to float64"):
        found = kernel(x, x.double())
    assert found.dtype == torch.float64 and torch.equal(found, 3 * x.double())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.equal(kernel(x.half(), x.half()), 3 * x.half().double())


def test_numbers_among_tensors_do_not_decide_about_the_precision(kernel):
    class Scaled(Pretended):
        """x + y for a scalar y."""

        def __call__(self, arrays, shared, count, scratch):
            kind = ctypes.c_double if self.dtype == np.float64 else ctypes.c_float
            y = ctypes.cast(int(arrays[1]), ctypes.POINTER(kind))[0]
            self._at(arrays[2], count)[:] = self._at(arrays[0], count) + y

    made = CudaKernel("scaled", (Port("x", (SIZE,)), Port("y", ())), kernel.outputs, lambda: None)
    made._compiled = {(0, np.dtype(t)): Scaled(np.dtype(t)) for t in ("float64", "float32")}
    x = torch.randn(5, SIZE)
    found = made(x, 0.5)
    assert found.dtype == torch.float32 and torch.equal(found, x + 0.5)


def test_what_does_not_fit_is_left_to_be_told(kernel):
    x = torch.randn(5, SIZE)
    cases = [(x, x[:, :2]), (x, x[:4]), (x, x.numpy()), (x, x[0, 0]), (x, x > 0), (x, torch.complex(x, x))]
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
