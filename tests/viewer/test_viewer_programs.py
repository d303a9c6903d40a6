"""What the page computes: JavaScript, run by Node, against the library on the same states."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import dalembert as da
from dalembert.algorithms.energy import potential_energy
from dalembert.algorithms.inertia_matrix.walker_orin import walker_orin
from dalembert.algorithms.inverse_dynamics.newton_euler import newton_euler
from dalembert.algorithms.joint_forces import joint_forces
from dalembert.constraints.classical import four_bar
from dalembert.kinematics import center_of_mass, link_poses
from dalembert.printing.javascript import to_javascript
from dalembert.tracing.evaluate import evaluate
from dalembert.tracing.trace import trace
from dalembert.viewer.programs import programs, script
from random_mechanisms import mechanisms

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="needs Node to run JavaScript")


def computed(source: str, calls: dict[str, tuple[list, list[int]]]) -> dict[str, list[np.ndarray]]:
    """What functions of printed JavaScript put into their outputs: name -> arguments and sizes of outputs."""
    lines = ['"use strict";', source, "const found = {};"]
    for name, (arguments, sizes) in calls.items():
        given_ = ", ".join(json.dumps(np.asarray(a).ravel().tolist()) for a in arguments)
        made = ", ".join(f"new Float64Array({size})" for size in sizes)
        lines.append(f"{{ const made = [{made}]; {name}({given_}, ...made); found[{name!r}] = made; }}")
    lines.append("console.log(JSON.stringify(found, (_, x) => x instanceof Float64Array ? Array.from(x) : x));")
    outcome = subprocess.run(
        [NODE, "-"], input="\n".join(lines), capture_output=True, text=True, timeout=60, check=True
    )
    return {name: [np.array(row, dtype=float) for row in rows] for name, rows in json.loads(outcome.stdout).items()}


def page_results(found, **arguments) -> dict[str, list[np.ndarray]]:
    """What the programs of a page say, each given its arguments."""
    calls = {
        f"programs.{name}": ([*given_], [port.size for port in found[name].outputs])
        for name, given_ in arguments.items()
        if name in found
    }
    results = computed(script(found), calls)
    return {name.removeprefix("programs."): rows for name, rows in results.items()}


@needs_node
def test_every_operation_is_printed_as_it_is_meant():
    def everything(x, y):
        larger = x < y
        return {
            "arithmetic": [x + y, x - y, x * y, x / y, -x, -(x - y), x - (y - x), x / (y / x), -2.5 * x - 1e-300],
            "functions": [x.sin(), x.cos(), x.tan(), x.exp(), (x * x).sqrt(), (x * x).log(), x.atan2(y), abs(x)],
            "choices": [x.minimum(y), x.maximum(y), larger.select(x, y), (larger & (x <= 0)).select(1, 2),
                        (larger | (y <= 0)).select(1, 2), (~larger).select(1, 2)],
        }  # fmt: skip

    program = trace(everything, {"x": (), "class": ()}, "function")
    source = to_javascript(program)
    for x, y in [(0.3, -1.7), (-2.0, 0.5), (1.0, 1.0), (5e-5, 3e8)]:
        wanted = evaluate(program, [x, y])
        name = source.split("(")[0].split()[1]
        found = computed(source, {name: ([[x], [y]], [port.size for port in program.outputs])})
        for port, row in zip(program.outputs, found[name]):
            # Engines may differ by a few units in the last place in sin, exp and the like.
            np.testing.assert_allclose(row, wanted[port.name], rtol=1e-14)


def test_names_are_made_safe():
    program = trace(lambda q, p: q + p, {"</script>": (), "eval": ()}, "x;alert(1)", "a b")
    source = to_javascript(program)
    assert "<" not in source and ";alert" not in source and "function x_alert_1(" in source


@needs_node
@settings(max_examples=12)
@given(mechanisms(min_bodies=1, max_bodies=5), st.integers(0, 2**31))
def test_the_page_computes_what_the_library_computes(mechanism, seed):
    assume(mechanism.nv)
    q, v, _ = mechanism.random_state(np.random.default_rng(seed))
    found = programs(mechanism, q)
    page = page_results(found, place=[q], hold=[q], fall=[q, v, [0.0]], inertia=[q])
    poses = link_poses(mechanism.tree, q)
    wanted = np.array([[*pose.rotation.ravel(), *pose.translation] for pose in poses]).ravel()
    placed = page["place"]
    np.testing.assert_allclose(placed[0], wanted, atol=1e-12)
    np.testing.assert_allclose(placed[1], center_of_mass(mechanism, q), atol=1e-12)
    tree, still = mechanism.tree, np.zeros(mechanism.nv)
    weight, energy = page["hold"]
    np.testing.assert_allclose(weight, newton_euler(tree, q, still, still), atol=1e-9)
    np.testing.assert_allclose(energy[0], potential_energy(tree, q), atol=1e-9)
    M = walker_orin(tree, q)
    a, kinetic, stored = page["fall"]
    resistance = joint_forces(mechanism, ("armature", "damping"))
    left = M @ a + resistance.of(v, a) + newton_euler(tree, q, v, still)  # nothing drives it
    np.testing.assert_allclose(left, 0, atol=1e-8 * max(1.0, np.abs(M @ a).max()))
    rotors = 0 if resistance.armature is None else resistance.armature @ v**2 / 2
    np.testing.assert_allclose(kinetic[0], v @ M @ v / 2 + rotors, rtol=1e-9)
    assert stored[0] == 0
    if "inertia" in page:
        np.testing.assert_allclose(page["inertia"][0].reshape(M.shape), M, atol=1e-10)


def test_what_is_let_go_feels_its_springs_and_rotors_and_keeps_its_energy():
    q, v = np.array([0.3, 0.7]), np.array([1.2, -0.4])
    pendulum = da.load("double_pendulum", parameters="default")
    joints = tuple(joint.replace(armature=0.2) for joint in pendulum.joints)
    springs = [
        da.Force("soft", "joint-spring", "elbow", stiffness=3.0, rest=0.1),
        da.Force("line", "spring", "world", "lower", stiffness=20.0, rest=0.3),
        da.Force("pull", "joint-force", "shoulder", value=0.5),
    ]
    for forces, linked in ((springs, ()), (springs[:1], four_bar().constraints)):
        mechanism = (four_bar() if linked else pendulum.replace(joints=joints)).replace(
            forces=tuple(f if not linked else f.replace(a=four_bar().joints[0].name) for f in forces)
        )
        start = q if not linked else da.Dynamics(mechanism, elements=()).assemble(np.full(mechanism.nq, 0.4))
        rate = v if not linked else np.zeros(mechanism.nv)
        found = programs(mechanism, start)
        made = evaluate(found["fall"], {"q": start, "v": rate, "t": 0.0})
        system = da.Dynamics(mechanism, reference=start, include=("armature", "damping"), elements="all")
        wanted = system.forward_dynamics(start, rate, np.zeros(mechanism.nv))
        np.testing.assert_allclose(made["a"], wanted, rtol=1e-9, atol=1e-9)
        conservative = [f.name for f in mechanism.forces if f.kind != "joint-force"]
        keeping = da.Dynamics(mechanism, reference=start, include=("armature",), elements=conservative)
        together = made["energy"] + made["stored"] + evaluate(found["hold"], {"q": start})["energy"]
        np.testing.assert_allclose(together, keeping.evaluate("energy", start, rate, 0.0), rtol=1e-9)


@needs_node
def test_closures_are_those_of_the_constraints():
    mechanism = four_bar()
    system = da.Dynamics(mechanism)
    q = system.assemble(np.full(mechanism.nq, 0.4))
    found = programs(mechanism, q)
    phi, _ = page_results(found, close=[q, [0.0]])["close"]
    np.testing.assert_allclose(phi, 0, atol=1e-9)
    phi, G = page_results(found, close=[q + 0.1, [0.0]])["close"]
    assert np.abs(phi).max() > 1e-3
    wanted_phi, wanted_G = system.evaluate("positions", q + 0.1, 0.0)
    np.testing.assert_allclose(phi, wanted_phi[system.constraints.holonomic], atol=1e-12)
    np.testing.assert_allclose(G, wanted_G[system.constraints.holonomic].ravel(), atol=1e-12)


def test_what_makes_no_sense_is_left_out():
    bare = da.Mechanism("bare", (da.Body("a"),), (da.Joint("j", "revolute", "world", "a"),))
    assert set(programs(bare, bare.neutral)) == {"place", "hold", "inertia"}
    assert [port.name for port in programs(bare, bare.neutral)["place"].outputs] == ["poses"]
    still = da.Mechanism("still", (da.Body("a"),), (da.Joint("j", "fixed", "world", "a"),))
    assert set(programs(still, still.neutral)) == {"place", "hold"}


@needs_node
def test_positions_and_equations_of_the_page_are_those_of_the_library(tmp_path):
    """Displacements along tangent vectors, quaternions turned by exp; linear equations with a zero pivot."""
    assets = Path(da.__file__).parent / "viewer" / "assets" / "machine.js"
    arithmetic = assets.read_text(encoding="utf-8").split("the mechanism\n")[0]
    joints = [
        da.Joint("f", "free", "world", "a"),
        da.Joint("s", "spherical", "a", "b"),
        da.Joint("p", "prismatic", "b", "c"),
    ]
    m = da.Mechanism("m", [da.Body(name, da.Inertia.sphere(1, 0.1)) for name in "abc"], joints)
    rng = np.random.default_rng(0)
    q, step = m.random_state(rng)[:2]
    steps = [{"kind": link.kind, "q": link.q, "v": link.v} for link in m.tree.links]
    A = np.array([[0, 2.0, 1], [1, 0, 3], [2, 1, 0]])
    b = rng.normal(size=3)
    given_ = ", ".join(map(json.dumps, (steps, q.tolist(), step.tolist())))
    equations = f"{json.dumps(A.tolist())}, {json.dumps(b.tolist())}"
    found = f"[Array.from(displaced({given_})), Array.from(solve({equations})),"
    found += "rotationVector(quaternionExp([0.3, -0.2, 0.5]), 0)]"
    script_ = f"{arithmetic}\nconsole.log(JSON.stringify({found}));"
    done = subprocess.run([NODE, "-"], input=script_, capture_output=True, text=True, timeout=60, check=True)
    moved, solved, turn = json.loads(done.stdout)
    np.testing.assert_allclose(moved, m.integrate(q, step), atol=1e-13)
    np.testing.assert_allclose(A @ solved, b, atol=1e-13)
    np.testing.assert_allclose(turn, [0.3, -0.2, 0.5], atol=1e-13)
