"""What can be told about arrays for a CUDA device without one."""

import pickle
import sys
import warnings
from contextlib import contextmanager
from types import SimpleNamespace
from unittest.mock import MagicMock, Mock

import numpy as np
import pytest

import dalembert as da
from dalembert.cuda import arrays
from dalembert.cuda.kernel import CudaKernel
from dalembert.errors import ArgumentError, DeviceError, MissingExtraError
from dalembert.tracing.program import Port


class Devices:
    """A CuPy with as many devices as one likes, which tells what is current."""

    def __init__(self):
        self.ndarray, self.current, self.entered = Array, 0, []
        runtime = SimpleNamespace(getDevice=lambda: self.current)
        self.waited = Mock()
        self.cuda = SimpleNamespace(
            Device=self.device,
            runtime=runtime,
            Stream=MagicMock(),
            get_current_stream=lambda: SimpleNamespace(synchronize=self.waited),
        )

    def broadcast_to(self, x, shape):
        return x

    def ascontiguousarray(self, x, dtype):
        return x

    @contextmanager
    def device(self, index=None):
        before = self.current
        self.current = before if index is None else index
        self.entered.append(("device", self.current))
        yield
        self.current = before

    @contextmanager
    def stream_at(self, address):
        self.entered.append(("stream", address, self.current))
        yield


class Array:
    """An array on one of them."""

    dtype, shape, ndim, nbytes = np.dtype(float), (2, 3), 2, 48
    flags, _c_contiguous = SimpleNamespace(c_contiguous=True), True

    def __init__(self, devices, index):
        self._devices, self._index = devices, index
        self.data = SimpleNamespace(ptr=1000 * id(self), device_id=index)

    @property
    def device(self):
        found = self._devices.device(self._index)
        found.id = self._index
        return found

    def __dlpack_device__(self):
        return 2, self._index

    def __len__(self):
        return self.shape[0]


@pytest.fixture
def devices(monkeypatch):
    found = Devices()
    monkeypatch.setattr(arrays, "cupy", lambda: found)
    monkeypatch.setattr(arrays, "stream_at", found.stream_at)
    return found


def test_tensors_of_the_host_are_told_to_move(devices):
    """Also by a PyTorch without CUDA, which has no streams to ask for."""
    torch = pytest.importorskip("torch")
    tensor = torch.zeros(3)
    with arrays.stream("torch", (tensor,)):
        assert devices.entered == [("device", 0)]
    with pytest.raises(ArgumentError, match=r"q is a PyTorch tensor on cpu; move it with \.cuda\(\)"):
        arrays.take(tensor, "q")
    with pytest.raises(ArgumentError, match=r"records derivatives.*TorchDynamics, or q\.detach\(\)"):
        arrays.take(tensor.requires_grad_(), "q")


def test_streams_are_entered_on_the_device_of_the_arrays(devices, monkeypatch):
    """CuPy has a current stream for each device: one that is entered elsewhere is not used."""
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: SimpleNamespace(cuda_stream=70 + device))
    with arrays.stream("torch", (np.zeros(3), Array(devices, 1))):
        assert devices.entered == [("device", 1), ("stream", 71, 1)]
    assert devices.current == 0
    for kind in ("cupy", "jax", "other"):
        with arrays.stream(kind, ([0.0], Array(devices, 2))):
            assert devices.current == 2


def test_a_stream_is_entered_unless_it_is_the_current_one(monkeypatch):
    made = MagicMock()
    current = SimpleNamespace(Stream=made, get_current_stream=lambda: SimpleNamespace(ptr=7))
    monkeypatch.setattr(arrays, "cupy", lambda: SimpleNamespace(cuda=current))
    with arrays.stream_at(7):
        made.from_external.assert_not_called()
    with arrays.stream_at(0):
        made.from_external.return_value.__enter__.assert_called_once()


def test_overlap_is_found_among_all_that_is_written(devices):
    x, y, z = (Array(devices, 0) for _ in range(3))
    x.data.ptr, y.data.ptr, z.data.ptr = 0, 48, 96
    assert not arrays.overlap([x, x], [y, z])
    z.data.ptr = 95
    assert arrays.overlap([x], [y, z])
    assert arrays.overlap([z], [x, y])
    assert not arrays.overlap([y, z], [x])


def test_work_on_arrays_of_jax_is_done_when_it_gets_them_back(devices):
    """It works on streams of its own: results are to be complete, and arguments read, into whose memory it may write.

    Also where results go to an array of another library.
    """
    arguments = Mock()
    with arrays.stream("jax", (arguments,)):
        arguments.block_until_ready.assert_called_once()
        devices.waited.assert_not_called()
    devices.waited.assert_called_once()
    with arrays.stream("cupy", (Array(devices, 0),)):
        pass
    devices.waited.assert_called_once()


def test_tensors_that_are_stored_negated_are_refused(devices):
    """PyTorch keeps a sign beside them, which no other library would hear of."""
    torch = pytest.importorskip("torch")
    tensor = torch.conj(torch.ones(3, dtype=torch.complex128)).imag
    assert tensor.is_neg()
    with pytest.raises(ArgumentError, match=r"q is a PyTorch tensor of which the negative is stored; .*resolve_neg"):
        arrays.take(tensor, "q")


@pytest.fixture
def kernel(devices):
    """A compiled one, of x and y."""
    made = CudaKernel("sum", (Port("x", (3,)), Port("y", (3,))), (Port("z", (3,)),), lambda: None)
    made._compiled[0, np.dtype(float)] = Mock(between=())
    made._cupy = devices
    return made


def test_bound_kernels_take_inputs_by_name(devices, kernel):
    x, y, z = (Array(devices, 0) for _ in range(3))
    for bound in (kernel.bind(x, y, out=z), kernel.bind(x, y=y, out=z), kernel.bind(y=y, x=x, out=z)):
        assert bound.inputs == (x, y)
        assert bound.outputs == (z,)
    with pytest.raises(ArgumentError, match=r"sum\(x, y\) is missing y, and has no input z"):
        kernel.bind(x, z=y)


def test_arrays_of_several_devices_are_refused(devices, kernel):
    """Also once the kernel is compiled, and in ``out``."""
    near, far, out = Array(devices, 0), Array(devices, 1), Array(devices, 0)
    launch = kernel._compiled[0, np.dtype(float)]
    assert kernel._quick((near, Array(devices, 0)), out) is out
    assert launch.call_count == 1
    for given, result, name in (((near, far), None, "y"), ((near, near), far, r"out\[0\]"), ((far, near), None, "y")):
        assert kernel._quick(given, result) is None
        with pytest.raises(ArgumentError, match=f"{name} is on CUDA device [01], x on device [01]"):
            kernel._slow(given, result, {})
    assert kernel._quick((near, near), near) is None
    assert launch.call_count == 1


def test_a_cupy_that_cannot_be_imported_is_not_one_that_is_missing(monkeypatch, tmp_path):
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "cupy.py").write_text("import no_such_part_of_cuda\n")
    with pytest.raises(DeviceError, match=r"installed but cannot be imported.*no_such_part_of_cuda"):
        arrays.cupy()
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(MissingExtraError):
        arrays.cupy()


def test_a_missing_compiler_is_told(devices):
    """In the words of CuPy 13 and 14."""
    kinds = {
        "memory": SimpleNamespace(OutOfMemoryError=MemoryError),
        "driver": SimpleNamespace(CUDADriverError=OSError),
    }
    vars(devices.cuda).update(kinds)
    devices.cuda.runtime.CUDARuntimeError = OSError
    for told in (
        "CuPy failed to load libnvrtc.so.12: OSError",
        'Failure finding "libnvrtc.so.13"',
        "load nvrtc64_120_0.dll",
    ):
        with pytest.raises(DeviceError, match=r"no compiler.*dalembert\[cuda\]"), arrays.device_errors("x"):
            raise RuntimeError(told)
    with pytest.raises(RuntimeError, match="another"), arrays.device_errors("x"):
        raise RuntimeError("another")


def test_rollouts_of_the_processor_refuse_tensors_that_record_derivatives():
    torch = pytest.importorskip("torch")
    cart = da.Dynamics(da.load("cart_pole"))
    ones = np.ones(len(cart.parameter_names))
    plain = {"q0": [0.0, 0.1], "v0": [0.0, 0.0], "control": [0.0, 0.0], "parameters": ones}
    for name, numbers in plain.items():
        given = {**plain, name: torch.tensor(np.asarray(numbers), requires_grad=True)}
        with pytest.raises(ArgumentError, match=f"{name}.*no array of numbers.*detach"):
            da.rollout(cart, steps=2, **given)
    by_name = {**plain, "parameters": dict.fromkeys(cart.parameter_names, torch.ones((), requires_grad=True))}
    with pytest.raises(ArgumentError, match=f"{cart.parameter_names[0]}.*no array of numbers.*detach"):
        da.rollout(cart, steps=2, **by_name)


def test_kernels_of_the_processor_refuse_tensors_that_record_derivatives():
    torch = pytest.importorskip("torch")
    arm = da.load("demo_arm")
    q, v, a = arm.random_state(np.random.default_rng(0))
    with pytest.raises(ArgumentError, match=r"q is no array of numbers.*detach.*TorchDynamics takes it"):
        da.Dynamics(arm).inverse_dynamics(torch.tensor(q, requires_grad=True), v, a)


class OnDevice:
    """An array on a device, as CuPy's: it does not become one of NumPy by itself."""

    dtype, shape, __cuda_array_interface__ = np.dtype(float), (2,), {"version": 3}

    def __array__(self, dtype=None, copy=None):
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def __array_ufunc__(self, *arguments, **options):
        return NotImplemented


def test_the_processor_says_which_arrays_are_on_a_device():
    cart = da.Dynamics(da.load("cart_pole", parameters="default"))
    with pytest.raises(ArgumentError, match=r"mass_matrix\(q\): q .*on a CUDA device.*device='cuda'"):
        cart.mass_matrix(OnDevice())
    for given in ({"q0": OnDevice(), "v0": None}, {"q0": None, "v0": OnDevice()}):
        with pytest.raises(ArgumentError, match=r"(q0|v0) is on a CUDA device; .*device='cuda'"):
            da.rollout(cart, steps=2, **given)


def test_arrays_that_jax_traces_are_for_jax_dynamics():
    jax = pytest.importorskip("jax")
    cart = da.load("cart_pole", parameters="default")
    with pytest.raises(ArgumentError, match="JaxDynamics takes it"):
        jax.jit(da.Dynamics(cart).mass_matrix)(np.zeros(2))


def test_both_devices_refuse_the_same(devices):
    """What is missing, masked, ragged or longer than float64 is told in the same words."""
    q = np.zeros((4, 2))
    for given, words in (
        ((q,), r"mass_matrix\(q, parameters\) is missing parameters; .*"),
        ((np.ma.masked_array(q, mask=np.eye(4, 2)), [1.0] * 5), "q has masked entries"),
        (([[1], [1, 2]], [1.0] * 5), "q is no array of numbers: setting an array element"),
        ((q.astype(np.longdouble), [1.0] * 5), "q has dtype .*, longer than float64; convert it with astype"),
    ):
        if np.dtype(np.longdouble) == np.float64 and "longer" in words:
            continue
        for device in ("cpu", "cuda"):
            dynamics = da.Dynamics(da.load("cart_pole"), device=device)
            with pytest.raises(ArgumentError, match=words), warnings.catch_warnings():
                warnings.simplefilter("ignore", arrays.DeviceCopyWarning)
                dynamics.mass_matrix(*given)


def test_types_that_cupy_does_not_know_are_told(monkeypatch):
    """Short floats of other libraries, say; CuPy's own words stand behind ours."""

    def refuse(x):
        raise NotImplementedError("CuPy does not support bfloat16 yet")

    given = SimpleNamespace(dtype="bfloat16", __dlpack_device__=lambda: (2, 0))
    monkeypatch.setattr(arrays, "cupy", lambda: SimpleNamespace(ndarray=Array, from_dlpack=refuse))
    with pytest.raises(ArgumentError, match=r"^q is a SimpleNamespace of bfloat16, .* convert it to float32"):
        arrays.take(given, "q")


def test_kernels_can_be_pickled_as_those_of_the_processor():
    """With their stages, and with the hints of what is missing; compiled code stays where it is."""
    dynamics = da.Dynamics(da.load("demo_arm"), device="cuda")
    for quantity in ("mass_matrix", "forward_dynamics_derivatives"):
        kernel = dynamics.kernel(quantity)
        again = pickle.loads(pickle.dumps(kernel))
        assert again.program.digest == kernel.program.digest
        assert again.source().source == kernel.source().source
        assert again.arguments.hints == kernel.arguments.hints
        assert (again.stages is None) == (kernel.stages is None)
    assert [stage.gives for stage in again.stages()] == [stage.gives for stage in kernel.stages()]


def test_bind_says_what_it_takes(devices, kernel):
    x, z = Array(devices, 0), Array(devices, 0)
    with pytest.raises(ArgumentError, match="sum: bind takes C-contiguous CuPy arrays"):
        kernel.bind(x, np.zeros((2, 3)), out=z)


def test_results_that_are_not_contiguous_are_refused_with_that_word(devices, kernel):
    x, y, z = (Array(devices, 0) for _ in range(3))
    z.flags, z._c_contiguous = SimpleNamespace(c_contiguous=False), False
    with pytest.raises(ArgumentError, match=r"out\[0\] must be .* float64 \(2, 3\), which is not contiguous"):
        kernel(x, y, out=z)
