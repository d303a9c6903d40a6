"""The exact verification: what it proves, that it finds planted errors, its certificates, and that its bound is one."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.algorithms.forward_dynamics import FORWARD_DYNAMICS
from dalembert.algorithms.inertia_matrix import INERTIA_MATRIX
from dalembert.algorithms.inverse_dynamics import INVERSE_DYNAMICS
from dalembert.errors import ArgumentError
from dalembert.model import Body, Inertia, Joint, Mechanism, Mimic
from dalembert.proof import check, prove
from dalembert.proof.degree import Degrees
from dalembert.proof.field import Dual, Field, along, slopes
from dalembert.proof.generic import generic_mechanism, representative, topology, topology_digest


def tree(*joints: tuple[str, int], mimic: str = "", mass: float = 1.0) -> Mechanism:
    """A mechanism of joints (kind, number of the body it hangs on); the last one follows another if ``mimic`` says."""
    names = ["world", *(f"b{k}" for k in range(1, len(joints) + 1))]
    made = [
        Joint(f"j{k}", kind, names[at], names[k], pitch=0.1 if kind == "helical" else 0.0)
        for k, (kind, at) in enumerate(joints, 1)
    ]
    if mimic:
        made[-1] = made[-1].replace(mimic=Mimic(mimic, 2.0, 0.5))
    return Mechanism("zoo", tuple(Body(name, Inertia.box(mass, (1, 1, 1))) for name in names[1:]), tuple(made))


ZOO = (("revolute", 0), ("prismatic", 1), ("helical", 2), ("spherical", 1), ("universal", 2), ("revolute", 3))

PAIR = (("revolute", 0), ("prismatic", 1))


# ---------------------------------------------------------------------------------------------------- what is proved


def test_all_algorithms_and_derivations_of_the_double_pendulum():
    proof = prove(da.load("double_pendulum"))
    assert proof
    assert proof.error < 1e-15
    assert {row.who for row in proof.rows} >= {"uicker-kahn", "operator-factors", "derived: kane", "derived: kronecker"}
    assert not proof.omitted


def test_a_tree_with_every_elementary_joint_a_branch_and_a_mimic():
    proof = prove(tree(*ZOO, mimic="j1"), derived=False)
    assert proof.ok, str(proof)
    others = {"uicker-kahn", "operator-factors", "articulated-body", "Algorithms 7.1 and 7.2"}
    assert {omission.what for omission in proof.omitted} == others


def test_the_same_tree_without_the_mimic_leaves_less_out():
    proof = prove(tree(*ZOO), derived=False)
    assert proof.ok, str(proof)
    assert {omission.what for omission in proof.omitted} == {"uicker-kahn", "Algorithms 7.1 and 7.2"}


def test_the_table_says_for_what_it_holds():
    text = str(prove(tree(*PAIR), derived=False))
    assert "identical for all parameters and states" in text
    assert "error probability" in text


def test_a_smaller_error_takes_a_larger_prime():
    loose, strict = (prove(tree(*PAIR), derived=False, error=error) for error in (1e-9, 1e-100))
    assert loose.exponent < strict.exponent
    assert strict.error < 1e-98


def test_nothing_to_prove_is_said():
    with pytest.raises(ArgumentError, match="no degree of freedom"):
        prove(tree(("fixed", 0)))
    with pytest.raises(ArgumentError, match="takes a Mechanism"):
        prove("double_pendulum")  # type: ignore[arg-type]


# ----------------------------------------------------------------------------------------------------- planted errors


@pytest.mark.parametrize(
    "table, name, quantity",
    [
        (INVERSE_DYNAMICS, "augmented-links", "inverse dynamics"),
        (INVERSE_DYNAMICS, "hollerbach-3x3", "inverse dynamics"),
        (INERTIA_MATRIX, "generalized-links", "inertia matrix"),
        (FORWARD_DYNAMICS, "articulated-body", "forward dynamics"),
    ],
)
def test_a_planted_sign_is_found_with_fractions(monkeypatch, table, name, quantity):
    honest = table[name]

    def wrong(*arguments):
        found = honest(*arguments)
        last = (-1,) * found.ndim
        found = found.copy()
        found[last] = -found[last]
        return found

    monkeypatch.setitem(table, name, wrong)
    proof = prove(tree(*PAIR), derived=False)
    assert not proof
    bad = {(row.quantity, row.who): row for row in proof.rows if not row.holds}
    assert (quantity, name) in bad
    shown = bad[quantity, name].counterexample
    assert "against" in shown and "rational point" in shown
    assert f"{quantity} by {name}" in str(proof)


@pytest.mark.parametrize(
    ("module", "name", "quantity"),
    [
        ("kinematics.frame_derivatives", "cross", "derivatives of frames"),
        ("algorithms.variation", "_varied_tensor", "variations"),
        ("algorithms.link_moments", "cross_moments", "generalized links"),
        ("algorithms.inertia_matrix.closed_form", "dyad", "inertia matrix"),
        ("algorithms.cartesian", "sensitivity", "Cartesian linearisation"),
    ],
)
def test_an_error_below_a_derived_quantity_is_found(monkeypatch, module, name, quantity):
    home = import_module(f"dalembert.{module}")
    true = getattr(home, name)

    def wrong(*arguments):
        found = true(*arguments)
        return replace(found, P=-found.P) if hasattr(found, "P") else -found

    monkeypatch.setattr(home, name, wrong)
    spherical = tree(("spherical", 0), ("revolute", 1), ("spherical", 2))
    proof = prove(spherical, derived=False)
    assert quantity in {row.quantity for row in proof.rows if not row.holds}


def test_a_sign_inside_an_algorithm_is_found(monkeypatch):
    module = sys.modules[INVERSE_DYNAMICS["augmented-links"].__module__]
    honest = module.torque_from_tensor
    monkeypatch.setattr(module, "torque_from_tensor", lambda Om, K, w=None: -honest(Om, K, w))
    bad = {row.who for row in prove(tree(*PAIR), derived=False).rows if not row.holds}
    assert "augmented-links" in bad
    assert "hollerbach-4x4" not in bad


# -------------------------------------------------------------------------------------------------------- certificates


def test_a_certificate_is_written_and_checked_again(tmp_path):
    proof = prove(tree(*PAIR), derived=False)
    path = proof.write(tmp_path / "pair.json")
    given = json.loads(path.read_text(encoding="utf-8"))
    assert given["topology"] == topology_digest(tree(*PAIR))
    assert len(given["identities"]) == len(proof.rows)
    assert check(path, tree(*PAIR)).ok
    assert check(path, tree(*PAIR, mass=7.0)).ok, "another robot of the same topology"
    alone = check(path)
    assert alone.ok and alone.digest != proof.digest, "the file alone names the topology"
    assert {(row.quantity, row.who, row.degree) for row in alone.rows} == {
        (row.quantity, row.who, row.degree) for row in proof.rows
    }


def test_a_certificate_holds_for_robots_with_other_names_and_fixed_bodies(tmp_path):
    path = prove(da.load("demo_arm"), derived=False).write(tmp_path / "arm.json")
    assert check(path, da.load("puma560")).ok
    assert check(path).ok


@pytest.mark.parametrize("name", ["four_bar", "zoo"])
def test_the_topology_in_a_certificate_is_a_mechanism(name):
    """Constraints, mimic joints with their factors, and every kind of joint come back."""
    mechanism = da.load("four_bar") if name == "four_bar" else tree(*ZOO, mimic="j1")
    found = json.loads(json.dumps(topology(mechanism)))
    again = representative(found, "again")
    assert topology(again) == topology(mechanism)
    assert topology_digest(again) == topology_digest(mechanism)


def test_a_changed_tree_in_a_certificate_is_noticed(tmp_path):
    path = prove(tree(*PAIR), derived=False).write(tmp_path / "pair.json")
    given = json.loads(path.read_text(encoding="utf-8"))
    given["tree"]["joints"][1][1] = "revolute"
    path.write_text(json.dumps(given), encoding="utf-8")
    with pytest.raises(ArgumentError, match="do not belong together"):
        check(path)


def test_what_a_proof_leaves_out_is_named():
    """Contacts, armature, damping and friction, force elements."""
    pair = tree(*PAIR)
    pair = pair.replace(joints=(pair.joints[0].replace(armature=0.1, damping=0.2), *pair.joints[1:]))
    ball = da.Contact("touch", "b2", shape_a=da.Shape.sphere(0.1), friction=0.5)
    proof = prove(pair.replace(contacts=(ball,)), derived=False)
    assert proof.ok
    assert {omission.what for omission in proof.omitted} == {"contact 'touch'", "armature and damping"}


def test_a_certificate_is_refused_for_another_topology(tmp_path):
    path = prove(tree(*PAIR), derived=False).write(tmp_path / "pair.json")
    with pytest.raises(ArgumentError, match="another topology"):
        check(path, tree(("revolute", 0), ("revolute", 1)))


@pytest.mark.parametrize("text", ["", "{}", "not json", '{"seeds": [0], "prime": 3, "topology": "", "identities": []}'])
def test_a_damaged_certificate_is_a_clear_error(tmp_path, text):
    path = tmp_path / "damaged.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ArgumentError, match="not a certificate of dalembert"):
        check(path, tree(*PAIR))


def test_a_missing_certificate_and_an_unknown_prime_are_clear_errors(tmp_path):
    with pytest.raises(ArgumentError, match="cannot be read"):
        check(tmp_path / "none.json", tree(*PAIR))
    path = prove(tree(*PAIR), derived=False).write(tmp_path / "pair.json")
    path.write_text(path.read_text(encoding="utf-8").replace("2^127 - 1", "2^7 - 1").replace("2^61 - 1", "2^7 - 1"))
    with pytest.raises(ArgumentError, match="not one of the primes"):
        check(path, tree(*PAIR))


def test_a_failed_proof_has_no_certificate(monkeypatch, tmp_path):
    honest = INERTIA_MATRIX["walker-orin"]
    monkeypatch.setitem(INERTIA_MATRIX, "walker-orin", lambda *x: -honest(*x))
    with pytest.raises(ArgumentError, match="nothing to certify"):
        prove(tree(*PAIR), derived=False).write(tmp_path / "none.json")


# -------------------------------------------------------------------------------------------------- field and degrees


@pytest.mark.parametrize("prime", [None, (1 << 61) - 1])
def test_angles_are_points_of_a_circle_and_add_up(prime):
    field = Field(prime, seed=2)
    p, q = field.angle(), field.angle()
    for x in (p, q, p + q, p - 2 * q):
        assert x.sin() ** 2 + x.cos() ** 2 == 1
    assert (p + q).sin() == p.sin() * q.cos() + p.cos() * q.sin()
    assert (p + np.pi / 2).sin() == p.cos()
    (moved,) = along([p], [1])
    assert slopes(moved.sin() * moved.sin()) == 2 * p.sin() * p.cos()
    assert isinstance(moved, Dual)


POLYNOMIALS = [
    lambda x, y, z: x * y + z,
    lambda x, y, z: (x + y) ** 3 * z - x * x,
    lambda x, y, z: x / y + y / z,
    lambda x, y, z: (x / y + 1) / (z + x / y) - z,
    lambda x, y, z: 1 / (1 / x + 1 / y + 1 / z),
    lambda x, y, z: (x - y) * (x + y) / (x * x - y * y),
    lambda x, y, z: ((x + 1) / y) ** 2 / (x / (y + z)) ** 2,
]


@pytest.mark.parametrize("number", range(len(POLYNOMIALS)))
def test_the_bound_bounds_the_degree_that_sympy_finds(number):
    """Numerator of the reduced fraction; nothing here lies on a circle, so the bound is twice the degree at least."""
    f = POLYNOMIALS[number]
    world = Degrees()
    bound = world.bound(f(*(world.element() for _ in range(3))))
    x, y, z = symbols = sympy.symbols("x y z")
    numerator, _ = sympy.fraction(sympy.cancel(f(x, y, z)))
    assert bound >= sympy.Poly(numerator, *symbols).total_degree()


def test_the_bound_counts_circles():
    """cos^2 and sin^2 of one angle, with t = tan(q/2) as the parameter: degree 4 over (1 + t^2)^2."""
    world = Degrees()
    q = world.angle()
    bound = world.bound(q.cos() * q.cos() - 3 * q.sin())
    t = sympy.Symbol("t")
    c, s = (1 - t**2) / (1 + t**2), 2 * t / (1 + t**2)
    numerator, _ = sympy.fraction(sympy.cancel(c * c - 3 * s))
    assert bound >= sympy.Poly(numerator, t).degree() == 4


def test_the_bound_bounds_an_algorithm():
    """The true degree of a torque of the pair, with a symbol for every number, against the bound of the same code."""

    class Symbols:
        """Parameters are symbols, unit vectors what stereographic projection makes of them."""

        def __init__(self) -> None:
            self.made: list[sympy.Symbol] = []

        def element(self) -> sympy.Symbol:
            self.made.append(sympy.Symbol(f"x{len(self.made)}"))
            return self.made[-1]

        def unit(self, size: int) -> np.ndarray:
            t = [self.element() for _ in range(size - 1)]
            scale = 1 / (1 + sum(x * x for x in t))
            return np.array([*(2 * x * scale for x in t), (2 - 1 / scale) * scale], dtype=object)

    one, run = tree(("prismatic", 0)), INVERSE_DYNAMICS["newton-euler"]

    def torque(field, q):
        made = generic_mechanism(one, field)
        v, a = (np.array([field.element()], dtype=object) for _ in range(2))
        return run(made.tree, np.array([q], dtype=object), v, a, None)[0]

    world, symbols = Degrees(), Symbols()
    bound = world.bound(torque(world, world.element()))
    exact = torque(symbols, symbols.element())
    # The degree along a generic line is the degree: one variable keeps SymPy quick.
    line = sympy.Symbol("s")
    values = {x: (k % 7 + 2) * line + (k % 5 + 1) for k, x in enumerate(symbols.made)}
    numerator, _ = sympy.fraction(sympy.cancel(sympy.together(exact.xreplace(values))))
    assert bound >= sympy.Poly(numerator, line).degree() > 1


def test_constraints_are_proved_too():
    """Rows are derivatives of what they demand; multipliers, projection and Udwadia-Kalaba give one motion."""
    proof = prove(da.load("four_bar"), derived=False)
    own = {(row.quantity, row.who) for row in proof.rows if row.quantity.startswith("constr")}
    assert proof.ok and ("constrained motion", "Udwadia and Kalaba") in own
    assert ("constraint rows", "constraint 1: gamma") in own


def test_force_elements_that_are_left_out_are_named():
    arm = da.load("double_pendulum", parameters="default")
    spring = da.Force("spring", "joint-spring", arm.joints[0].name, stiffness=5.0)
    proof = prove(arm.replace(forces=(spring,)), derived=False)
    assert proof.ok and "left out: force element 'spring'" in str(proof)
