"""Which stored results belong to which task: every natural edit of a task changes its identity, or is asked about."""

import functools
import json
import os
import subprocess
import sys
import threading
import types

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ArgumentError
from dalembert.model.identity import identify

# What a task may refer to, with K for what is edited; modules beside it come first. A task that cannot be recognised
# is asked about.
TASKS = {
    "constant": "def task(p): return {'y': K * p['x']}",
    "global number": "P = K\ndef task(p): return {'y': P * p['x']}",
    "global dict": "P = {'k': K}\ndef task(p): return {'y': P['k'] * p['x']}",
    "global list": "P = [K]\ndef task(p): return {'y': P[0] * p['x']}",
    "global array of objects": "P = np.array([K, None])\ndef task(p): return {'y': P[0] * p['x']}",
    "dataclass": "from dataclasses import dataclass\n@dataclass\nclass C:\n    k: float\nc = C(K)\n"
    "def task(p): return {'y': c.k * p['x']}",
    "default of a dataclass": "from dataclasses import dataclass\n@dataclass\nclass C:\n    k: float = K\n"
    "def task(p): return {'y': C().k * p['x']}",
    "class attribute": "class C:\n    k = K\ndef task(p): return {'y': C.k * p['x']}",
    "method of a class": "class C:\n    def k(self): return K\ndef task(p): return {'y': C().k() * p['x']}",
    "inherited method": "class B:\n    def k(self): return K\nclass C(B): pass\n"
    "def task(p): return {'y': C().k() * p['x']}",
    "property": "class C:\n    @property\n    def k(self): return K\ndef task(p): return {'y': C().k * p['x']}",
    "constant of a module": "import LIB\ndef task(p): return {'y': LIB.CONSTANT * p['x']}",
    "function of a module": "import LIB\ndef task(p): return {'y': LIB.f(p['x'])}",
    "function of a function of a module": "import LIB\ndef task(p): return {'y': LIB.g(p['x'])}",
    "imported function": "from LIB import f\ndef task(p): return {'y': f(p['x'])}",
    "module imported inside": "def task(p):\n    import LIB\n    return {'y': LIB.f(p['x'])}",
    "name imported inside": "def task(p):\n    from LIB import f\n    return {'y': f(p['x'])}",
    "module through getattr": "import LIB\ndef task(p): return {'y': getattr(LIB, 'f')(p['x'])}",
    "cached function": "import functools\n@functools.lru_cache\ndef f(): return K\n"
    "def task(p): return {'y': f() * p['x']}",
    "closure over a dict": "def make():\n    P = dict(k=K)\n    return lambda p: {'y': P['k'] * p['x']}\ntask = make()",
    "closure over an object": "class O:\n    def __init__(self, k): self.k = k\n"
    "def make(o):\n    return lambda p: {'y': o.k * p['x']}\ntask = make(O(K))",
    "slots": "class O:\n    __slots__ = ('k',)\n    def __init__(self, k): self.k = k\no = O(K)\n"
    "def task(p): return {'y': o.k * p['x']}",
    "partial": "import functools\ndef f(P, p): return {'y': P['k'] * p['x']}\ntask = functools.partial(f, {'k': K})",
    "method": "class T:\n    def __init__(self, k): self.k = k\n    def task(self, p): return {'y': self.k * p['x']}\n"
    "task = T(K).task",
    "callable object": "class T:\n    def __init__(self, k): self.k = k\n"
    "    def __call__(self, p): return {'y': self.k}\n"
    "task = T(K)",
    "scipy": "from scipy.interpolate import CubicSpline\nc = CubicSpline([0, 1, 2, 3], [0, K, 4, 9])\n"
    "def task(p): return {'y': c(p['x'])}",
    "random numbers": "noise = np.random.default_rng(K).normal(size=4)\ndef task(p): return {'y': noise * p['x']}",
    "generator": "rng = np.random.default_rng(K)\ndef task(p): return {'y': rng.normal(size=4)}",
    "default list": "def task(p, P=[K]): return {'y': P[0] * p['x']}",
    "keyword default": "def task(p, *, P={'k': K}): return {'y': P['k'] * p['x']}",
    "nested function": "def task(p):\n    def g(x): return K * x\n    return {'y': g(p['x'])}",
    "sets": "S = {'a', 'b', 'c', str(K)}\ndef task(p): return {'y': len(S) * p['x']}",
    "symbols": "import sympy\nE = sympy.Symbol('x') * K\ndef task(p): return {'y': E}",
    "mechanism": "m = da.with_gravity(da.load('demo_arm'), (0, 0, -K))\ndef task(p): return {'y': m.mass}",
    "dynamics": "d = da.Dynamics(da.with_gravity(da.load('demo_arm'), (0, 0, -K)))\n"
    "def task(p): return d.gravity(p['x'])",
    "included terms": "d = da.Dynamics(da.load('demo_arm'), include=['damping'] if K == 50 else [])\n"
    "def task(p): return d.gravity(p['x'])",
    "kernel": "g = da.Dynamics(da.with_gravity(da.load('demo_arm'), (0, 0, -K))).gravity\n"
    "def task(p): return g(p['x'])",
    "equations": "import sympy\nx, v = sympy.symbols('x v')\ne = da.from_lagrangian(v**2 / 2 - K * x**2, [x], [v])\n"
    "def task(p): return e.evaluate(p['x'])",
    "compiled equations": "import sympy\nx, v = sympy.symbols('x v')\n"
    "e = da.from_lagrangian(v**2 / 2 - K * x**2, [x], [v]).compile()\ndef task(p): return e['mass_matrix'](p['x'])",
    "motions of equations": "import sympy\nx, v = sympy.symbols('x v')\n"
    "task = da.RolloutTask(da.from_lagrangian(v**2 / 2 - K * x**2, [x], [v]), 5)",
    "policy": "P = {'k': K}\ndef policy(t, q, v): return [-P['k'] * x for x in q]\n"
    "task = da.RolloutTask(da.load('double_pendulum', parameters='default'), 5, control=policy)",
    "law of a force": "import LIB\nm = da.load('double_pendulum', parameters='default')\n"
    "m = m.replace(forces=(da.Force('f', 'user', function=lambda q, v, t: [LIB.CONSTANT, 0]),))\n"
    "task = da.RolloutTask(m, 5)",
}
ASKED = {
    "environment": "import os\ndef task(p): return {'y': float(os.environ['SCALE']) * p['x']}",
    "variable of the environment": "from os import getenv\ndef task(p): return {'y': float(getenv('SCALE')) * p['x']}",
    "environment as an object": "from os import environ as e\ndef task(p): return {'y': float(e['SCALE']) * p['x']}",
    "file": "def task(p):\n    with open('k') as f: return {'y': float(f.read()) * p['x']}",
    "array on disk": "def task(p): return {'y': np.load('k.npy') * p['x']}",
    "counter": "n = 0\ndef task(p):\n    global n\n    n += 1\n    return {'y': n * p['x']}",
    "inner counter": "def make():\n    n = 0\n    def task(p):\n        nonlocal n\n        n += 1\n"
    "        return {'y': n}\n"
    "    return task\ntask = make()",
    "lock": "import threading\nlock = threading.Lock()\ndef task(p):\n    with lock: return {'y': p['x']}",
    "evaluated text": "def task(p): return {'y': eval('K')}",
    "function made by NumPy": "f = np.frompyfunc(lambda x: K * x, 1, 1)\ndef task(p): return {'y': f(p['x'])}",
}
LIBRARY = "CONSTANT = K\ndef f(x): return K * x\ndef g(x): return f(x) + 1\n"
PRINT = """
import json, importlib, sys
sys.path.insert(0, sys.argv[1])
from dalembert.model.identity import identify
found = {}
for k in range(int(sys.argv[2])):
    identity = identify(importlib.import_module(f"case{k}").task)
    found[k] = identity.digest, identity.unknown
print(json.dumps(found))
"""


def identities(place, value, seed):
    place.mkdir(exist_ok=True)
    (place / "lib.py").write_text(LIBRARY.replace("K", str(value)))
    for k, text in enumerate([*TASKS.values(), *ASKED.values()]):
        text = text.replace("LIB", "lib").replace("K", str(value))
        (place / f"case{k}.py").write_text(f"import numpy as np\nimport dalembert as da\n{text}\n")
    count = str(len(TASKS) + len(ASKED))
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", PRINT, str(place), count]
    run = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    assert not run.returncode, run.stderr
    return list(json.loads(run.stdout).values())


def test_every_edit_is_seen_or_asked_about(tmp_path):
    """What A1 lists and more: edited between two processes; the same source has the same identity in each process."""
    first, again, edited = (
        identities(tmp_path / name, k, seed) for name, k, seed in (("a", 5, "1"), ("b", 5, "2"), ("c", 50, "3"))
    )
    for name, one, same, other in zip(TASKS, first, again, edited):
        assert one[1] == [], (name, one)
        assert one[0] == same[0], name
        assert one[0] != other[0], name
    for name, one in zip(ASKED, first[len(TASKS) :]):
        assert one[1], name


def test_the_refusal_shows_what_changed(tmp_path):
    table = {"stiffness": 5.0}

    def task(p):
        return {"y": table["stiffness"] * p["x"]}

    points = da.samples(x=np.arange(4.0))
    da.sweep(task, points, tmp_path, piece=2)
    table["stiffness"] = 50.0
    with pytest.raises(ArgumentError, match="task differs") as caught:
        da.sweep(task, points, tmp_path, piece=2)
    assert "{'stiffness': 5.0} -> {'stiffness': 50.0}" in str(caught.value)
    known = identify(task)
    table["stiffness"] = 5.0
    before = identify(task)
    assert known.digest != before.digest and before.digest in str(caught.value)
    table["stiffness"] = 50.0  # somebody who says that this changes nothing is believed
    found = da.sweep(task, points, tmp_path, piece=2, version=before.digest)
    assert found["y"].tolist() == [0, 5, 10, 15]


def test_what_cannot_be_known_is_asked_for(tmp_path):
    lock = threading.Lock()

    def task(p):
        with lock:
            return {"y": p["x"]}

    points = da.samples(x=np.arange(4.0))
    with pytest.raises(ArgumentError, match=r"lock of .*task is a _thread.lock.*give the sweep version="):
        da.sweep(task, points, tmp_path / "results")
    assert not (tmp_path / "results").exists()
    assert da.sweep(task, points, tmp_path / "results", version="1").complete
    with pytest.raises(ArgumentError, match="task differs"):
        da.sweep(task, points, tmp_path / "results", version="2")


def test_what_an_object_remembers_of_its_own_answers_makes_it_no_other():
    class Table:
        factor = 2

        @functools.cached_property
        def values(self):
            return np.arange(3) * self.factor

    table, dynamics = Table(), da.Dynamics(da.load("double_pendulum", parameters="default"))

    def task(p):
        return {"y": table.values * dynamics.gravity(p["x"])}

    before = identify(task)
    _ = table.values, dynamics.gravity([0.1, 0.2]), dynamics.mass_matrix([0.1, 0.2])
    assert identify(task) == before


def test_values_that_refer_to_themselves_and_modules_that_import_each_other():
    ring = [1]
    ring.append(ring)
    one, two = types.ModuleType("one"), types.ModuleType("two")
    exec("def f(x): return two.g(x)", one.__dict__)
    exec("def g(x): return one.f(x) if x else 1", two.__dict__)
    one.two, two.one = two, one
    sys.modules.update(one=one, two=two)
    try:
        found = identify((ring, one.f))
    finally:
        del sys.modules["one"], sys.modules["two"]
    assert len(found.digest) == 64 and not found.unknown
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    assert identify(deep).unknown == ("task is nested too deeply",)
