"""What the page computes: JavaScript, run by Node, against the library on the same states."""

from __future__ import annotations

import json
import shutil
import subprocess

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as da
from dalembert.algorithms.kinematics import link_poses
from dalembert.compiler.evaluate import evaluate
from dalembert.compiler.printers.javascript import to_javascript
from dalembert.compiler.trace import trace
from dalembert.constraints.classical import four_bar
from dalembert.viewer.programs import programs, script
from random_mechanisms import mechanisms

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="needs Node to run JavaScript")


def computed(source: str, call: str, arguments: list, sizes: list[int]) -> list[np.ndarray]:
    """What a function of printed JavaScript puts into its outputs."""
    given_ = ", ".join(json.dumps(np.asarray(a).ravel().tolist()) for a in arguments)
    made = ", ".join(f"new Float64Array({size})" for size in sizes)
    text = (
        f'"use strict";\n{source}\nconst given = [{given_}], made = [{made}];\n{call}(...given, ...made);\n'
        "const plain = (x) => Number.isNaN(x) ? 'nan' : Number.isFinite(x) ? x : x > 0 ? 'inf' : '-inf';\n"
        "console.log(JSON.stringify(made.map((row) => Array.from(row, plain))));"
    )
    outcome = subprocess.run([NODE, "-"], input=text, capture_output=True, text=True, timeout=60, check=True)
    return [np.array(row, dtype=float) for row in json.loads(outcome.stdout)]


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
        found = computed(source, source.split("(")[0].split()[1], [x, y], [port.size for port in program.outputs])
        for port, row in zip(program.outputs, found):
            # Engines may differ by a few units in the last place in sin, exp and the like.
            np.testing.assert_allclose(row, wanted[port.name], rtol=1e-14)


def test_names_are_made_safe():
    program = trace(lambda q, p: q + p, {"</script>": (), "eval": ()}, "x;alert(1)", "a b")
    source = to_javascript(program)
    assert "<" not in source and ";alert" not in source and "function x_alert_1(" in source


@needs_node
@settings(max_examples=8)
@given(mechanisms(min_bodies=1, max_bodies=5), st.integers(0, 2**31))
def test_the_page_computes_what_the_library_computes(mechanism, seed):
    q, v, _ = mechanism.random_state(np.random.default_rng(seed))
    found = programs(mechanism, q)
    source = script(found)

    def run(name, *arguments):
        return computed(source, f"programs.{name}", list(arguments), [port.size for port in found[name].outputs])

    poses = link_poses(mechanism.tree, q)
    wanted = np.array([[*pose.rotation.ravel(), *pose.translation] for pose in poses]).ravel()
    placed = run("place", q)
    np.testing.assert_allclose(placed[0], wanted, atol=1e-12)
    dynamics = da.Dynamics(mechanism, include=("armature", "damping"))
    np.testing.assert_allclose(placed[1], dynamics.center_of_mass(q), atol=1e-12)
    weight, energy = run("hold", q)
    np.testing.assert_allclose(weight, dynamics.gravity(q), atol=1e-9)
    np.testing.assert_allclose(energy[0], dynamics.potential_energy(q), atol=1e-9)
    a, kinetic = run("fall", q, v, 0.0)
    wanted = dynamics.forward_dynamics(q, v, np.zeros(mechanism.nv))
    np.testing.assert_allclose(a, wanted, rtol=1e-7, atol=1e-7 * np.abs(wanted).max(initial=1.0))
    np.testing.assert_allclose(kinetic[0], dynamics.kinetic_energy(q, v), rtol=1e-9)
    if "inertia" in found:
        M = run("inertia", q)[0].reshape(mechanism.nv, -1)
        np.testing.assert_allclose(M, da.Dynamics(mechanism).mass_matrix(q), atol=1e-10)


@needs_node
def test_closures_are_those_of_the_constraints():
    mechanism = four_bar()
    system = da.ConstrainedDynamics(mechanism)
    q = system.assemble(np.full(mechanism.nq, 0.4))
    found = programs(mechanism, q)
    sizes = [port.size for port in found["close"].outputs]
    phi, _ = computed(script(found), "programs.close", [q, 0.0], sizes)
    np.testing.assert_allclose(phi, 0, atol=1e-9)
    phi, G = computed(script(found), "programs.close", [q + 0.1, 0.0], sizes)
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
