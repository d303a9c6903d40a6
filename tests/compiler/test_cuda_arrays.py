"""What can be told about arrays for a CUDA device without one."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import dalembert as da
from dalembert.compiler.cuda import arrays
from dalembert.errors import ArgumentError, DeviceError, MissingExtraError


def test_tensors_of_the_host_are_told_to_move(monkeypatch):
    """Also by a PyTorch without CUDA, which has no streams to ask for."""
    torch = pytest.importorskip("torch")
    here = object()
    pretended = SimpleNamespace(ndarray=SimpleNamespace, cuda=SimpleNamespace(get_current_stream=lambda: here))
    monkeypatch.setattr(arrays, "cupy", lambda: pretended)
    tensor = torch.zeros(3)
    assert arrays.stream("torch", (tensor,)) is here
    with pytest.raises(ArgumentError, match=r"q is a PyTorch tensor on cpu; move it with \.cuda\(\)"):
        arrays.take(tensor, "q")


def test_a_cupy_that_cannot_be_imported_is_not_one_that_is_missing(monkeypatch, tmp_path):
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "cupy.py").write_text("import no_such_part_of_cuda\n")
    with pytest.raises(DeviceError, match=r"installed but cannot be imported.*no_such_part_of_cuda"):
        arrays.cupy()
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(MissingExtraError):
        arrays.cupy()


def test_kernels_of_the_processor_refuse_tensors_that_record_derivatives():
    torch = pytest.importorskip("torch")
    arm = da.load("demo_arm")
    q, v, a = arm.random_state(np.random.default_rng(0))
    with pytest.raises(ArgumentError, match=r"q is no array of numbers.*detach"):
        da.Dynamics(arm).inverse_dynamics(torch.tensor(q, requires_grad=True), v, a)
