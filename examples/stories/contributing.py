"""Contributing: a new quantity and a new file format, from the first line to the tests, before lunch.

Somebody misses the power of the weight, and has robots in a format of their own. A quantity is a function over any
scalar and one line of the catalogue; a format is a reader and one line of the registry. Batches, operation counts,
source in C, and every command that takes a file follow from these lines. Laws that know nothing of the code test it.
"""

import sys
from pathlib import Path
from tempfile import mkdtemp
from unittest.mock import patch

import numpy as np
from matplotlib.figure import Figure

import dalembert as da
from dalembert.cli import main
from dalembert.dynamics import ALL_QUANTITIES, Quantity
from dalembert.dynamics.tree import gravity
from dalembert.errors import FormatError
from dalembert.formats import registry


# ---- the quantity, as it would stand in src/dalembert/dynamics/derived.py: power that the weight delivers, W
def weight_power(s, q, v):
    return -sum(force * speed for force, speed in zip(gravity(s, q), v))


line = Quantity(("q", "v"), {"P": ()}, weight_power, "Power of the weight, W: what falls gains it.")


# ---- the format, as it would stand in src/dalembert/formats/planar_arm.py: slender bars, one a line
def read_planar_arm(source, strict=True):
    bodies, joints, parent, reach = [], [], "world", 0.0
    for number, text in enumerate(Path(source).read_text().splitlines(), 1):
        try:
            name, length, mass = text.split()
            length, mass = float(length), float(mass)
        except ValueError:
            raise FormatError(f"line {number}: expected name, length and mass, got {text!r}", source) from None
        about = mass * length**2 / 12
        bodies.append(da.Body(name, da.Inertia(mass, [length / 2, 0, 0], [0, about, about])))
        place = da.Transform.from_translation([reach, 0, 0])
        joints.append(da.Joint(f"{name}_joint", "revolute", parent, name, place, axis="y"))
        parent, reach = name, length
    return da.Mechanism(Path(source).stem, bodies, joints, strict=strict)


def law_of_the_quantity(robot, dyn):
    """The weight delivers what the potential energy loses, along a short motion and for whole batches."""
    q, v, _ = robot.random_state(np.random.default_rng(0), batch=(50,))
    h = 1e-6
    lost = dyn.potential_energy(robot.integrate(q, -h * v)) - dyn.potential_energy(robot.integrate(q, h * v))
    np.testing.assert_allclose(dyn.weight_power(q, v), lost / (2 * h), rtol=1e-6, atol=1e-6)


def law_of_the_format(arm):
    """The mass matrix of two bars is the one of the textbook."""
    l1, m1, l2, m2 = 1.0, 2.0, 0.5, 1.0
    last = m2 * l2**2 / 3
    across = last + m2 * l1 * l2 / 2 * np.cos(0.8)
    first = m1 * l1**2 / 3 + m2 * l1**2 + 2 * across - last
    np.testing.assert_allclose(da.Dynamics(arm).mass_matrix([0.3, 0.8]), [[first, across], [across, last]], rtol=1e-12)


folder = Path(mkdtemp())
file = folder / "two_bars.links"
file.write_text("upper 1.0 2.0\nlower 0.5 1.0\n")
format_line = registry.Format("planar arm", (".links",), f"{__name__}:read_planar_arm")
sys.modules.setdefault(__name__, sys.modules["__main__"])
with (
    patch.dict(ALL_QUANTITIES, weight_power=line),
    patch.object(registry, "FORMATS", (*registry.FORMATS, format_line)),
):
    arm = da.load(file)
    law_of_the_format(arm)
    for robot in (arm, da.load("demo_arm"), da.with_base(da.load("demo_arm"), "free")):
        law_of_the_quantity(robot, da.Dynamics(robot))
    print("both laws hold")

    dyn = da.Dynamics(da.load("demo_arm"))
    cost = dyn.cost("weight_power")
    print(f"compiled: {cost.multiplications} multiplications, {cost.additions} additions")
    source = dyn.export("weight_power", "c", folder / "weight_power.c")
    print(next(text for text in source.splitlines() if "weight_power_state(" in text))
    assert main(["show", str(file)]) == 0  # the command line reads the format, too
    file.write_text("upper 1.0\n")
    try:
        da.load(file)
    except FormatError as error:
        print(error)
        assert "line 1" in str(error)

    motion = da.simulate(arm, [0.2, 0.4], None, np.linspace(0, 2, 401))
    power = motion.quantity("weight_power")
    work = np.concatenate([[0], np.cumsum((power[1:] + power[:-1]) / 2 * np.diff(motion.t))])
    gained = da.Dynamics(arm).kinetic_energy(motion.q, motion.v)
    assert np.abs(work - gained).max() < 1e-3 * gained.max()

figure = Figure(figsize=(8, 3.6), layout="constrained")
axes = figure.subplots()
axes.plot(motion.t, gained, label="kinetic energy")
axes.plot(motion.t, work, "--", label="work of the weight, from the new quantity")
axes.set(xlabel="t (s)", ylabel="J")
axes.legend()
Path("out").mkdir(exist_ok=True)
figure.savefig("out/contributing.png", dpi=120)
print("picture: out/contributing.png")
