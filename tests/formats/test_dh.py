"""Denavit-Hartenberg tables against products of elementary displacements and published numbers."""

import math

import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from dalembert.algebra.transform import Transform
from dalembert.algorithms.inertia_matrix import mass_matrix
from dalembert.errors import FormatError, ModelWarning
from dalembert.formats import from_dh
from dalembert.kinematics import jacobian, poses
from dalembert.model import Inertia, Limits

numbers = st.floats(-2, 2)
rows = st.lists(st.tuples(numbers, numbers, numbers, numbers, st.sampled_from("RP")), min_size=1, max_size=6)


@given(rows, st.sampled_from(["modified", "standard"]), st.integers(0, 99))
def test_dh_frames_are_products_of_dh_matrices(table, convention, seed):
    mechanism = from_dh(table, convention, tool=Transform.from_rpy_xyz([0.1, 0.2, 0.3], [1, 2, 3]))
    q = np.random.default_rng(seed).normal(size=len(table))
    found = poses(mechanism, q)
    at = Transform.identity()
    for k, (alpha, a, theta, d, joint) in enumerate(table):
        theta, d = (theta + q[k], d) if joint == "R" else (theta, d + q[k])
        if convention == "modified":
            at = at @ Transform.modified_dh(alpha, a, theta, d)
        else:
            at = at @ Transform.standard_dh(theta, d, a, alpha)
        name = f"link{k + 1}" + ("_dh" if convention == "standard" else "")
        assert np.allclose(found[name].homogeneous(), at.homogeneous(), rtol=0, atol=1e-13)
    tool = at @ Transform.from_rpy_xyz([0.1, 0.2, 0.3], [1, 2, 3])
    assert np.allclose(found["tool"].homogeneous(), tool.homogeneous(), rtol=0, atol=1e-13)


@given(st.integers(0, 2**32 - 1))
def test_the_same_arm_in_both_conventions_has_the_same_inertia_matrix(seed):
    """Standard row i is (alpha, a) of modified row i+1; the inertias move with the frames."""
    rng = np.random.default_rng(seed)
    n = 4
    alpha, a, theta, d = rng.normal(size=(4, n))
    matter = [Inertia.box(rng.uniform(1, 2), rng.uniform(0.1, 0.5, 3), rng.normal(size=3)) for _ in range(n)]
    modified, standard = [], []
    for i in range(n):
        this = {"theta": theta[i], "d": d[i], "joint": "RP"[i % 2]}
        modified.append({**this, "alpha": alpha[i], "a": a[i], **_inertial(matter[i])})
        onward = (alpha[i + 1], a[i + 1]) if i + 1 < n else (0.0, 0.0)
        distal = Transform.standard_dh(0, 0, onward[1], onward[0]).inverse()
        moved = matter[i].moved(distal.rotation, distal.translation)
        standard.append({**this, "alpha": onward[0], "a": onward[1], **_inertial(moved)})
    base = Transform.standard_dh(0, 0, a[0], alpha[0])
    q = rng.normal(size=n)
    M = mass_matrix(from_dh(modified), q)
    assert np.allclose(
        mass_matrix(from_dh(standard, "standard", base=base), q), M, rtol=0, atol=1e-12 * np.abs(M).max()
    )


def _inertial(inertia):
    return {"mass": inertia.mass, "center": inertia.center, "inertia": inertia.tensor}


def test_symbols_pass_through_exactly():
    a, d, m, I = sp.symbols("a d m I", real=True)
    table = [{"alpha": sp.pi / 2, "a": a, "mass": m, "center": [a, 0, 0], "inertia": [I, I, I]}, (sp.pi / 2, 0, 0, d)]
    mechanism = from_dh(table, strict=False)
    assert mechanism.joint("joint1").placement.rotation.tolist() == [[1, 0, 0], [0, 0, -1], [0, 1, 0]]
    assert mechanism.joint("joint2").placement.translation.tolist() == [0, -d, 0]
    assert {s.name for s in mechanism.symbols} == {"a", "d", "m", "I"}
    JR, _ = jacobian(mechanism, sp.symbols("q1 q2", real=True), "link2")
    assert sp.simplify(sp.Matrix(JR)[:, 0] - sp.Matrix([0, -1, 0])) == sp.zeros(3, 1)


def test_rows_may_name_and_furnish_everything():
    row = {
        "joint": "P", "offset": 0.3, "name": "slider", "joint_name": "rail", "mass": 2,
        "inertia": [1, 2, 3, 0.1, 0.2, 0.3], "limits": Limits(0, 1), "damping": 3, "friction": 4, "armature": 5,
    }  # fmt: skip
    mechanism = from_dh([row], name="one", gravity=(0, -9.81, 0), strict=False)
    joint = mechanism.joint("rail")
    assert (joint.kind, joint.child, joint.damping, joint.friction, joint.armature) == ("prismatic", "slider", 3, 4, 5)
    assert joint.placement.translation.tolist() == [0, 0, 0.3]
    assert mechanism.body("slider").inertia.tensor.tolist() == [[1, 0.1, 0.2], [0.1, 2, 0.3], [0.2, 0.3, 3]]
    assert mechanism.gravity.tolist() == [0, -9.81, 0]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([(1, 2, 3)], "row 1 of the DH table: expected alpha, a, theta, d"),
        ([(0, 0, 0, 0), (0, 0, 0, 0, "X")], "row 2 of the DH table: the joint is 'R'"),
        ([{"alfa": 1}], "unknown key 'alfa'; did you mean 'alpha'"),
        ([{"theta": 1, "offset": 1}], "theta and offset both give the position"),
        ([{"alpha": "pi"}], "row 1 of the DH table: alpha: expected a number or a symbol"),
        ([{"mass": 1, "inertia": [1, 2]}], "row 1 of the DH table: an inertia is a 3 x 3 matrix, or xx, yy, zz"),
        ([{"mass": 1, "center": [1, 2]}], "centre of mass: expected three numbers"),
    ],
)
def test_errors_name_the_row(table, message):
    with pytest.raises(FormatError, match=message):
        from_dh(table)


def test_an_unknown_convention_is_an_error():
    with pytest.raises(FormatError, match="'modified' or 'standard', not 'craig'"):
        from_dh([(0, 0, 0, 0)], "craig")


def test_a_table_may_be_an_array():
    table = np.array([[0, 0.3, 0, 0.1], [math.pi / 2, 0, 0, 0]])
    assert from_dh(table) == from_dh([tuple(row) for row in table.tolist()])


@pytest.mark.parametrize("matrix", [sp.Matrix, sp.ImmutableMatrix])
@pytest.mark.parametrize("convention", ["modified", "standard"])
def test_a_table_and_its_mass_properties_may_be_matrices_of_sympy(matrix, convention):
    l, m = sp.symbols("l m", positive=True)
    table = [[0, l, 0, 1], [sp.pi / 2, 0, sp.Rational(1, 3), -l]]
    assert from_dh(matrix(table), convention) == from_dh(table, convention)
    tensor = [[m * l**2, 0, l], [0, 2 * m, 0], [l, 0, m * l**2]]
    for inertia in (tensor, [m, 2 * m, m * l], [m, 2 * m, m * l, l, 0, l / 2]):
        rows = [
            [{"a": l, "mass": m, "center": form([0, l, -l / 2]), "inertia": form(inertia)}] for form in (list, matrix)
        ]
        assert from_dh(rows[0], convention, strict=False) == from_dh(rows[1], convention, strict=False)


def test_angles_of_more_than_a_turn_are_doubted():
    with pytest.warns(
        ModelWarning, match=r"row 2 of the DH table: alpha = 90 is more than a turn.*math\.radians\(90\)"
    ):
        from_dh([(0, 0, 0, 0), (90, 0, 0, 0)])


def test_a_text_in_a_row_is_named_once():
    with pytest.raises(FormatError, match=r"^row 1 of the DH table: alpha: expected a number or a symbol, got 'pi/2'$"):
        from_dh([("pi/2", 0, 0, 0)])


def test_a_table_with_branches_is_a_tree():
    """Two arms on a torso (Khalil and Kleinfinger 1986): poses are products along each branch."""
    rows = [
        {"name": "torso", "d": 0.5},
        {"name": "left1", "alpha": 0.3, "a": 0.2, "mass": 1},
        {"name": "left2", "alpha": -0.7, "a": 0.4, "joint": "P"},
        {"name": "right1", "parent": "torso", "gamma": 0.8, "b": 0.1, "alpha": -0.4, "a": 0.3},
        {"name": "right2", "a": 0.2},
        {"name": "other", "parent": "world", "theta": 0.2, "d": 0.1},
    ]
    for convention in ("modified", "standard"):
        tree = from_dh(rows, convention, base=Transform.from_rpy_xyz([0.1, 0.2, 0.3], [1, 2, 3]), strict=False)
        q = np.array([0.3, -0.5, 0.2, 0.9, -1.1, 0.4])
        found = poses(tree, q)
        ends = {"world": Transform.from_rpy_xyz([0.1, 0.2, 0.3], [1, 2, 3])}
        before = "world"
        for k, row in enumerate(rows):
            at = ends[row.get("parent", before)] @ Transform.standard_dh(row.get("gamma", 0), row.get("b", 0), 0, 0)
            theta, d = row.get("theta", 0), row.get("d", 0)
            theta, d = (theta, d + q[k]) if row.get("joint") == "P" else (theta + q[k], d)
            if convention == "modified":
                ends[row["name"]] = at @ Transform.modified_dh(row.get("alpha", 0), row.get("a", 0), theta, d)
            else:
                ends[row["name"]] = at @ Transform.standard_dh(theta, d, row.get("a", 0), row.get("alpha", 0))
            before = row["name"]
            frame = row["name"] + ("_dh" if convention == "standard" else "")
            assert np.abs(found[frame].homogeneous() - ends[row["name"]].homogeneous()).max() < 1e-14
    with pytest.raises(FormatError, match="none of the links before"):
        from_dh([{"parent": "nobody"}])
