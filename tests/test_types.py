"""What editors and type checkers know: every quantity, its arguments, its options and the names of its results."""

import ast
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.dynamics import ALL_QUANTITIES, CONSTRAINT_QUANTITIES
from dalembert.dynamics.catalogue import CONTACT_QUANTITIES
from dalembert.dynamics.results import RESULTS
from dalembert.errors import ArgumentError

ROOT = Path(__file__).parents[1]
SCRIPT = """\
import numpy as np
import dalembert as da

arm = da.load("demo_arm")
dyn = da.Dynamics(arm, include=["damping"])
q, v, a = arm.random_state(np.random.default_rng(0), 8)
tau = dyn.inverse_dynamics(q, v, a)
reveal_type(dyn.inverse_dynamics)  # shown: InverseDynamics
reveal_type(tau)  # shown: ndarray
found = dyn.sensitivities(q, v, a, threads=1)
reveal_type(found.D)  # shown: ndarray
tool = dyn.pose(q, frame="tool")
print(tool.position, dyn.mass_matrix({"shoulder": 0.3}), dyn.mass_matrix([0.0] * 6), dyn.mass_matrix(q[0], out=None))
bound = dyn.forward_dynamics.bind(q, v, tau)
print(dyn.inverse_dinamics(q, v, a))  # slip: misspelt
print(dyn.mass_matrix(q, frame="tool"))  # slip: no such option
print(dyn.pose(q))  # slip: no frame
print(dyn.jacobian(q, frame="tool", axes="tool"))  # slip: no such axes
print(dyn.bias(q))  # slip: no velocities
print(found.DD)  # slip: no such result
print(dyn.mass_matrix("q"))  # slip: a text
print(dyn.forward_dynamics(q, v, tau, include=["damping"]))  # slip: a setting
motion = da.simulate(arm, q[0], t=0.1)
print(motion.kinetic_energy, motion["shoulder"].q)
print(motion.kinetic_enregy)  # slip: misspelt
da.simulate(arm, duration=3.0)  # slip: no such argument
equations = da.derive(arm, "kane")
print(equations.dynamics().position_rate(q, v))
print(equations.masss_matrix)  # slip: misspelt
"""
MARKED = {
    kind: {k for k, line in enumerate(SCRIPT.splitlines(), 1) if f"# {kind}:" in line} for kind in ("slip", "shown")
}


def _lines(output: str, what: str, separator: str = ":") -> set[int]:
    return {int(line.split(separator)[1]) for line in output.splitlines() if what in line and "user.py:" in line}


@pytest.mark.slow(reason="a type checker reads the whole library and NumPy first; the next test reads the same file")
def test_mypy_finds_every_slip_in_a_users_script_and_nothing_else(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "user.py").write_text(SCRIPT)
    silent = "[mypy]\nstrict = true\n[mypy-dalembert.*]\nfollow_imports = silent\nignore_errors = true\n"
    (tmp_path / "mypy.ini").write_text(silent)
    command = [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "--no-color-output", "user.py"]
    environment = {**os.environ, "MYPYPATH": str(Path(da.__file__).parents[1]), "MYPY_CACHE_DIR": str(tmp_path / "c")}
    output = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment).stdout
    assert _lines(output, "error:") == MARKED["slip"], output
    shown = [line for line in output.splitlines() if "Revealed type" in line]
    for k in MARKED["shown"]:
        wanted = SCRIPT.splitlines()[k - 1].rpartition("shown: ")[2]
        assert any(f"user.py:{k}:" in line and wanted in line for line in shown), output


@pytest.mark.slow(reason="a type checker reads the whole library and NumPy first")
@pytest.mark.skipif(not shutil.which("pyright"), reason="pyright is not installed")
def test_pyright_finds_them_too(tmp_path):
    (tmp_path / "user.py").write_text(SCRIPT)
    paths = f'{{"extraPaths": ["{Path(da.__file__).parents[1].as_posix()}"]}}'
    (tmp_path / "pyrightconfig.json").write_text(paths)
    command = ["pyright", "--pythonpath", sys.executable, "-p", str(tmp_path)]
    output = subprocess.run(command, capture_output=True, text=True).stdout
    assert _lines(output.replace(str(tmp_path) + os.sep, ""), " - error:") == MARKED["slip"], output


def test_what_type_checkers_read_is_written_from_the_catalogue():
    spec = importlib.util.spec_from_file_location("quantity_types", ROOT / ".ci" / "quantity_types.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    for name, text in script.files().items():
        there = (ROOT / "src" / "dalembert" / "dynamics" / name).read_text(encoding="utf-8")
        assert ast.dump(ast.parse(there)) == ast.dump(ast.parse(text)), "run python .ci/quantity_types.py"
    typed = ast.parse((ROOT / "src" / "dalembert" / "dynamics" / "attributes.pyi").read_text(encoding="utf-8")).body
    (listed,) = (node for node in typed if isinstance(node, ast.ClassDef) and node.name == "QuantityAttributes")
    names = {item.target.id for item in listed.body if isinstance(item, ast.AnnAssign)}
    assert names == {*ALL_QUANTITIES, *CONSTRAINT_QUANTITIES, *CONTACT_QUANTITIES} - {"constraints", "reactions"}


def test_results_that_are_several_arrays_have_names():
    """Tuples as before, for one state and for many, bound or not, whichever way the call goes."""
    import pickle

    arm = da.load("rrr")
    dyn = da.Dynamics(arm, parameters={s.name: 1.0 for s in arm.symbols})
    for batch in ((), (3,), (2, 3)):
        q, v, a = arm.random_state(np.random.default_rng(1), batch)
        found = dyn.sensitivities(q, v, a)
        assert isinstance(found, RESULTS["sensitivities"]) and isinstance(found, tuple)
        tau, D, _, _ = found
        np.testing.assert_allclose(found.tau, dyn.inverse_dynamics(q, v, a), atol=1e-12)
        np.testing.assert_allclose(D, dyn.mass_matrix(q), atol=1e-12)
        np.testing.assert_array_equal(tau, pickle.loads(pickle.dumps(dyn.sensitivities))(q, v, a).tau)
        assert dyn.pose(q, frame="world").position.shape == (*batch, 3)
    assert dyn.linearize(q, v, a, threads=2).B.shape == (2, 3, 6, 3)


def test_kernels_take_states_by_joint():
    arm = da.load("double_pendulum")
    values = {s.name: 0.5 + 0.1 * k for k, s in enumerate(arm.symbols)}
    dyn, named, last = da.Dynamics(arm), da.Dynamics(arm, parameters=values), arm.bodies[-1].name
    q = np.zeros((4, 2))
    q[:, 1] = np.linspace(0, 1, 4)
    np.testing.assert_array_equal(named.mass_matrix({"elbow": q[:, 1]}), named.mass_matrix(q))
    np.testing.assert_array_equal(dyn.gravity({"elbow": q[2, 1]}, values), named.gravity(q[2]))
    np.testing.assert_array_equal(dyn.gravity(q=q[1], parameters=values), named.gravity(q[1]))
    pushed, wrench = da.Dynamics(arm, parameters=values, wrenches=[last]), np.arange(6.0)
    np.testing.assert_array_equal(pushed.bias(q[1], {}, {last: wrench}), pushed.bias(q[1], np.zeros(2), [wrench]))
    by_name = pushed.inverse_dynamics({}, {"shoulder": 2.0}, {"elbow": 1.0}, {})
    np.testing.assert_array_equal(by_name, pushed.inverse_dynamics([0.0, 0.0], [2.0, 0], [0, 1.0], np.zeros((1, 6))))
    with pytest.raises(ArgumentError, match="elbow"):
        named.bias(np.zeros(2), {"elbwo": 1.0})
    with pytest.raises(ArgumentError, match="there is no 'lenght'"):
        dyn.gravity(q[1], {"lenght": 1.0})
    with pytest.raises(ArgumentError, match="no value for"):
        dyn.gravity(q[1], {})
    body = da.load("free_body")
    values = {s.name: 1.0 for s in body.symbols}
    free, base = da.Dynamics(body, parameters=values), body.joints[0].name
    assert free.mass_matrix({base: [0, 0, 1, 0, 0, 0, 1]}).shape == (6, 6)
    np.testing.assert_array_equal(free.bias({}, {f"{base}.wz": 1.0}), free.bias(body.neutral, np.eye(6)[5]))
    with pytest.raises(ArgumentError, match="takes 7 numbers"):
        free.gravity({base: [0, 0, 1]})


def test_a_setting_given_to_a_call_says_where_it_belongs():
    dyn = da.Dynamics(da.load("demo_arm"))
    with pytest.raises(ArgumentError, match=r"Dynamics\(mechanism, include=\.\.\.\)"):
        dyn.inverse_dynamics(*dyn.mechanism.random_state(np.random.default_rng(0)), include=["damping"])
    with pytest.raises(ArgumentError, match=r"Dynamics\(mechanism, include=\.\.\.\)"):
        dyn.jacobian(dyn.mechanism.neutral, frame="world", include=["damping"])
    with pytest.raises(AttributeError, match="inverse_dynamics"):
        dyn.inverse_dinamics  # noqa: B018
