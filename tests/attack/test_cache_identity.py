"""Which machine code belongs to which question: upgrades, byte code only, expressions that look alike."""

from __future__ import annotations

import compileall
import itertools
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.native import cache
from dalembert.simulation.contacting import METHOD, contact_law
from dalembert.simulation.stabiliser import stabilised
from dalembert.simulation.stepping import recurrence

SOURCE = Path(da.__file__).parent
GOOD, BAD = "+ dot(w, product(I, w))) / 2", "+ dot(w, product(I, w)))"
ASK = (
    "import numpy as np, dalembert as da, dalembert.algorithms.energy\n"
    "d = da.Dynamics(da.load('double_pendulum', parameters='default'))\n{wait}"
    "print(float(d.kinetic_energy(np.ones(2), np.ones(2))), flush=True)\n"
)
WAIT = "print('imported', flush=True); input()\n"


def pendulum(mass, length=1.0):
    body = da.Body("b", da.Inertia(mass, (0, 0, -length), np.zeros((3, 3))))
    joint = da.Joint("j", "revolute", "world", "b", axis=[0, 1, 0])
    return da.Mechanism("p", [body], [joint], strict=False)


def environment(package, folder):
    path = os.pathsep.join([str(package), *(p for p in sys.path if p and Path(p) != SOURCE.parent)])
    return dict(os.environ, PYTHONPATH=path, DALEMBERT_CACHE=str(folder), PYTHONDONTWRITEBYTECODE="1")


def copied(place):
    shutil.copytree(SOURCE, place / "dalembert", ignore=shutil.ignore_patterns("__pycache__", "*.urdf", "assets"))
    return place / "dalembert" / "algorithms" / "energy.py"


def asked(package, folder):
    done = subprocess.run(
        [sys.executable, "-c", ASK.format(wait="")], env=environment(package, folder), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return float(done.stdout)


M1, M2 = sp.symbols("m1 m2", real=True)
ALIKE = {
    "sum": (sp.Symbol("m1 + m2", real=True), M1 + M2),
    "product": (sp.Symbol("2*m1", real=True), 2 * M1),
    "function": (sp.Symbol("sin(m1)", real=True), sp.sin(M1)),
    "few digits": (M1 * sp.Float(0.1, 3), M1 * sp.Float(0.10002, 3)),
    "constant": (M1 * sp.Symbol("pi", real=True), M1 * sp.pi),
}


@pytest.mark.parametrize("pair", ALIKE.values(), ids=ALIKE)
def test_expressions_that_look_alike_have_code_of_their_own(pair, tmp_path, monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path / "cache"))
    one, other = map(pendulum, pair)
    assert one.digest != other.digest
    for m in (one, other):
        dyn = da.Dynamics(m)
        values = np.arange(2.0, 2.0 + len(dyn.parameter_names))
        mass = float(m.bodies[0].inertia.mass.subs(dict(zip(m.symbols, values))))
        assert dyn.gravity([0.3], values)[0] == pytest.approx(mass * 9.80665 * np.sin(0.3), rel=1e-3)


def press():
    """A mechanism in which every setting of ``Dynamics`` changes something: a four-bar with a spring that may touch."""
    own = da.load("four_bar", parameters="default")
    tip = own.bodies[-1].name
    spring = da.Force("spring", "spring", "world", tip, da.Transform.from_translation([0, 0, 2]), stiffness=3.0)
    joints = [joint.replace(damping=0.1, friction=0.2, armature=0.3) for joint in own.joints]
    return own.replace(forces=(spring, spring.replace(name="other", stiffness=1.0)), joints=tuple(joints))


SETTINGS = {
    "include": [(), ("armature",), ("damping",), ("friction",), ("armature", "damping")],
    "elements": ["all", (), ("spring",)],
    "constraints": ["all", ()],
    "wrenches": [(), ("world",), ("coupler",)],
    "parameters": [(), ("spring.stiffness",), ("coupler.mass",)],
    "method": ["multipliers", "projection"],
    "stabilisation": [0.0, 3.0],
    "regularisation": [0.0, 1e-6],
}
"""Values of settings between which programs differ."""


@pytest.mark.parametrize("setting", SETTINGS)
def test_programs_that_differ_by_a_setting_have_keys_that_differ(setting):
    """Of every quantity without options; those that a setting does not enter may share their code."""
    quantities = ("inverse_dynamics", "bias", "mass_matrix", "forward_dynamics", "kinetic_energy", "terms",
                  "multipliers", "element_forces", "energy", "sensitivities")  # fmt: skip
    made = [da.Dynamics(press(), **{setting: value}) for value in SETTINGS[setting]]
    entered = set()
    for quantity in quantities:
        digests = [dyn.program(quantity).digest for dyn in made]
        keys = [dyn.key(quantity) for dyn in made]
        for i, j in itertools.combinations(range(len(made)), 2):
            assert (digests[i] == digests[j]) or (keys[i] != keys[j]), (quantity, SETTINGS[setting][i])
            entered |= {quantity} if digests[i] != digests[j] else set()
    assert entered, f"{setting} enters no quantity here"


TOUCH = da.Contact("touch", "b", shape_a=da.Shape.sphere(0.1), friction=0.5, stiffness=1e4, damping=1.0)
TOUCHING = {
    "friction": 0.4, "restitution": 0.9, "stiffness": 2e4, "damping": 2.0, "torsional": 0.1, "rolling": 0.1,
    "shape_a": da.Shape.sphere(0.2), "shape_b": da.Ground.formula("x / 9"), "slip_speed": 0.3,
    "solref": (0.03, 1.0), "solimp": (0.8, 0.95, 0.001, 0.5, 2.0),
}  # fmt: skip
"""Another value for every number of a contact."""


def stepped(law, **numbers):
    """The loop of a rollout of a body that touches."""
    base = da.Joint("base", "free", "world", "b")
    body = da.Body("b", da.Inertia.sphere(1.0, 0.1))
    system = stabilised(da.Mechanism("m", [body], [base], contacts=[TOUCH.replace(**numbers)]), law=law)
    contact = contact_law(system.dynamics, law, None, None)
    method = "rk4" if contact is None else METHOD
    return recurrence(system, method, None, None, 0, False, {}, contact)


@pytest.mark.parametrize("law", ["rigid", "convex", "compliant"])
def test_steps_of_contacts_that_differ_have_keys_that_differ(law):
    plain, entered = stepped(law), set()
    assert plain.key == stepped(law).key
    for name, value in TOUCHING.items():
        other = stepped(law, **{name: value})
        if other.program.digest != plain.program.digest:
            entered.add(name)
            assert other.key != plain.key, name
    assert entered >= {"friction", "shape_a", "shape_b"}


def test_a_key_never_gives_code_for_other_arrays(tmp_path, monkeypatch):
    from dalembert.native.kernel import Kernel
    from llvm_programs import copy_program

    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path / "cache"))
    for size in (3, 5):
        program = copy_program((size,))
        run = Kernel("copy", program.inputs, program.outputs, program, key="one name for two programs")
        np.testing.assert_array_equal(run(np.arange(float(size))), np.arange(float(size)))


def test_a_process_older_than_an_upgrade_keeps_no_code(tmp_path):
    file = copied(tmp_path)
    text = file.read_text()
    assert GOOD in text
    file.write_text(text.replace(GOOD, BAD))
    old = subprocess.Popen(
        [sys.executable, "-c", ASK.format(wait=WAIT)],
        env=environment(tmp_path, tmp_path / "cache"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert old.stdout.readline() == "imported\n"
    file.write_text(text)
    wrong = float(old.communicate("\n")[0])
    right = asked(tmp_path, tmp_path / "cache")
    assert right == asked(SOURCE.parent, "off") != wrong


def test_versions_without_sources_do_not_share_code(tmp_path):
    found = []
    for text in (BAD, GOOD):
        place = tmp_path / f"v{len(found)}"
        file = copied(place)
        file.write_text(file.read_text().replace(GOOD, text))
        compileall.compile_dir(place, quiet=2, legacy=True)
        for path in place.rglob("*.py"):
            path.unlink()
        found.append(asked(place, tmp_path / "cache"))
    assert found[1] == asked(SOURCE.parent, "off") != found[0]


def test_tidying_removes_nothing_of_others(tmp_path, monkeypatch):
    names = ["thesis.tex", "measurements.h5", "new-results.csv"]
    for name in names:
        (tmp_path / name).write_bytes(bytes(5000))
        os.utime(tmp_path / name, (time.time() - 1e6,) * 2)
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path))
    assert cache.default_cache().folder == tmp_path / "dalembert"
    store = cache.Cache(tmp_path, limit=2000)  # even if it were told to
    for k in range(20):
        store.put(f"entry{k}", bytes(1000))
    store.tidy()
    assert all((tmp_path / name).exists() for name in names)
    assert sum(path.name.startswith("entry") for path in tmp_path.iterdir()) <= 2


def test_a_folder_of_ours_stays_the_cache(tmp_path):
    folder = tmp_path / "cache"
    cache.Cache(folder).put("a", b"code")
    (folder / "notes.txt").write_text("put here by a user")
    assert cache._cache_of.__wrapped__(str(folder)).folder == folder


@pytest.mark.parametrize("change", ["friction", "shape", "ground", "restitution", "limits"])
def test_rollouts_of_mechanisms_that_differ_in_contact_alone_have_code_of_their_own(change):
    """Steps of a rollout are kept by the key of the step with contacts, not by that of the open tree."""

    def made(radius=0.1, friction=0.5, restitution=0.0, upper=5.0, height=0.0):
        body = da.Body("ball", da.Inertia.sphere(1.0, 0.1), collisions=(da.Shape.sphere(radius),))
        joint = da.Joint("slide", "prismatic", "world", "carriage", axis=(1, 0, 0), limits=da.Limits(-5.0, upper))
        lift = da.Joint("lift", "prismatic", "carriage", "ball", axis=(0, 0, 1))
        carriage = da.Body("carriage", da.Inertia.sphere(0.1, 0.1))
        plain = da.Mechanism("sled", (carriage, body), (joint, lift))
        ground = da.Ground.plane((0, 0, height))
        return da.contacts(plain, friction=friction, restitution=restitution, ground=ground).mechanism

    other = {
        "friction": {"friction": 0.1}, "shape": {"radius": 0.15}, "ground": {"height": -0.05},
        "restitution": {"restitution": 0.7}, "limits": {"upper": 0.05},
    }[change]  # fmt: skip
    ends = [
        da.rollout(da.Dynamics(made(**given), limits="all"), [0.0, 0.16], [1.0, 0.0], 200).final_q
        for given in ({}, other, {})
    ]
    assert np.array_equal(ends[0], ends[2]) and np.abs(ends[0] - ends[1]).max() > 1e-3
