"""Which processor code is made for: this one, or what DALEMBERT_CPU asks for."""

import llvmlite.binding as llvm
import numpy as np
import pytest

from dalembert.errors import ArgumentError, CompilerError
from dalembert.native.cache import TAG
from dalembert.native.kernel import Kernel
from dalembert.native.llvm import target as targets
from dalembert.native.llvm.target import LEVELS, SCALAR, Target
from llvm_programs import assert_correct, random_inputs, random_program

FEATURES = llvm.get_host_cpu_features()
SETTINGS = ["", SCALAR, *(name for name, (needed, _) in LEVELS.items() if all(map(FEATURES.get, needed)))]


def kernel():
    program = random_program(7, size=150)
    return Kernel(program.name, program.inputs, program.outputs, program)


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_setting_computes_the_same_but_for_rounding(setting, monkeypatch, tmp_path):
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path))
    monkeypatch.setenv("DALEMBERT_CPU", setting)
    run = kernel()
    inputs = random_inputs(run.program, (19,), 7)
    assert_correct(run.program, inputs, run(*inputs))
    assert run.target == Target.host()


def test_settings_differ_in_registers_and_features(monkeypatch):
    found = {}
    for setting in SETTINGS:
        monkeypatch.setenv("DALEMBERT_CPU", setting)
        found[setting] = Target.host()
    assert len(set(found.values())) == len(SETTINGS)
    assert found[SCALAR].lanes("float64").width == 1
    for setting in set(SETTINGS) & set(LEVELS):
        assert found[setting].bits == LEVELS[setting][1] == 64 * found[setting].lanes("float64").width
        assert found[setting].fused == (setting != "x86-64-v2")


def test_code_of_one_setting_is_not_taken_for_that_of_another(monkeypatch, tmp_path):
    """All in one cache, in one process."""
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path))
    known: set[str] = set()
    for setting in SETTINGS:
        monkeypatch.setenv("DALEMBERT_CPU", setting)
        run = kernel()
        inputs = random_inputs(run.program, (19,), 7)
        first = run(*inputs)
        entries = {path.name for path in tmp_path.iterdir()}
        assert entries - known - {TAG}
        known = entries
        again = kernel()(*inputs)
        assert {path.name for path in tmp_path.iterdir()} == known
        for a, b in zip(first, again):
            np.testing.assert_array_equal(a, b)


def test_wrong_settings_are_refused(monkeypatch):
    monkeypatch.setenv("DALEMBERT_CPU", "x86-64-v9")
    with pytest.raises(ArgumentError, match="DALEMBERT_CPU is 'x86-64-v9'; it must be one of x86-64-v2"):
        Target.host()


def test_code_that_this_processor_does_not_run_is_not_made(monkeypatch):
    """It would end the process at the first instruction that is not there."""
    monkeypatch.setattr(llvm, "get_host_cpu_features", lambda: FEATURES.__class__({**FEATURES, "avx512dq": False}))
    monkeypatch.setenv("DALEMBERT_CPU", "x86-64-v4")
    targets._host.cache_clear()
    try:
        with pytest.raises(CompilerError, match=r"does not run: it has no .*avx512dq"):
            Target.host()
    finally:
        targets._host.cache_clear()
