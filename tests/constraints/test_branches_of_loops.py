"""Where branches of a mechanism's motions cross, kernels are for the branch of the reference."""

import numpy as np
import pytest

import dalembert as da
from dalembert.constraints.classical import four_bar, parallel_four_bars

G = 9.81


@pytest.mark.parametrize("kind", ["planar", "revolute"])
@pytest.mark.parametrize("angle", [0.01, 0.15, 1.0, 3.0])
def test_a_folded_rhombus_is_a_pendulum_however_close_to_the_crossing_it_is(angle, kind):
    """Crank and coupler, each 1 kg on 1 m, turn as one bar, the rocker rests: -3/2 g cos(angle).

    The rows lose their rank with the angle, 1e-2, so that 1e-12 of their terms are left.
    """
    options = {} if kind == "planar" else {"kind": kind}
    mechanism = four_bar((1.0, 1.0, 1.0), 1.0, **options)
    q = np.array([angle, np.pi, np.pi])
    for choice in ({}, {"method": "projection"}, {"method": "projection", "independent": ["crank"]}):
        system = da.Dynamics(mechanism, reference=q, **choice)
        a = system.forward_dynamics(q, np.zeros(3), np.zeros(3))
        assert np.abs(a - [-1.5 * G * np.cos(angle), 0, 0]).max() < 1e-11


def plane(formula, dimension):
    """A point of 1 kg on slides along the axes, with a law between its coordinates."""
    names = "xyz"[:dimension]
    bodies = [da.Body(n, da.Inertia.point(1.0 if n == names[-1] else 0.0, [0, 0, 0])) for n in names]
    joints = [
        da.Joint(n, "prismatic", names[k - 1] if k else "world", n, axis=np.eye(3)[k].tolist())
        for k, n in enumerate(names)
    ]
    law = da.Constraint("law", "position", function=formula)
    return da.Mechanism("point", bodies, joints, gravity=[0, 0, 0], constraints=[law])


@pytest.mark.parametrize("x", [0.01, 0.1, 0.5])
def test_a_point_stays_on_the_axis_it_is_on(x):
    system = da.Dynamics(plane(lambda q, t: q[0] * q[1], 2), reference=[x, 0.0])
    assert (
        np.abs(system.forward_dynamics([x, 0], [0, 0], [2, 3]) - [2, 0]).max() < 1e-13
    )  # rows of 0.01 against forces of 3


def test_every_row_counts_that_counts_at_the_reference():
    for x in np.linspace(0.05, 3.1, 12):
        for reference in ([x, np.pi, np.pi, 0, 0], [x, -x, x, -x, x], [0, x, x, 0, 0]):
            system = da.Dynamics(parallel_four_bars(2), reference=reference)
            q = system.samples[0][0]
            found = system.analyse(q)
            assert found.kernel_rank == system.pivots.rank == found.usual_rank
            assert "kernels work with" not in str(found)


def test_branches_of_another_mobility_than_the_reference_are_told():
    """x y = x z = 0: a plane, x = 0, which its normal y = z = 0 goes through."""
    mechanism = plane(lambda q, t: [q[0] * q[1], q[0] * q[2]], 3)
    in_plane, on_normal = (da.Dynamics(mechanism, reference=q) for q in ([0, 1, 1], [1, 0, 0]))
    assert in_plane.pivots.rank == 1 and on_normal.pivots.rank == 2
    assert "kernels work with rank 1" in str(in_plane.analyse([1, 0, 0]))
    assert "kernels work with rank 2" in str(on_normal.analyse([0, 1, 1]))
    assert "kernels work" not in str(on_normal.analyse([1, 0, 0]))
    assert np.abs(on_normal.forward_dynamics([1, 0, 0], np.zeros(3), [1, 2, 3]) - [1, 0, 0]).max() < 1e-14


def test_analysis_needs_no_kernels():
    """Independent speeds that are none are refused when kernels are made, not when the mechanism is looked at."""
    system = da.Dynamics(four_bar(), reference=[1, -0.5, 1.7], method="projection", independent=())
    found = system.analyse(da.Dynamics(four_bar(), reference=[1, -0.5, 1.7]).assemble())
    assert found.kernel_rank is None and found.rank == 2 and "kernels" not in str(found)
    with pytest.raises(da.errors.ArgumentError, match="cannot be the independent speeds"):
        system.kernel("forward_dynamics").program  # noqa: B018


@pytest.mark.parametrize("length", [0.1, 0.25, 1.0, 2.0])
def test_where_branches_of_different_mobility_meet_kernels_are_for_the_least(length):
    """Arms and links of equal length of a governor: folded, either arm turns alone and the sleeve rests; working, both
    lift it. Both ways meet in the neutral position, and nine starts of ten lead to the former."""

    def side(name, axis, end):
        joints = [
            da.Joint(f"{name} arm", "revolute", "world", f"{name} arm", axis=axis),
            da.Joint(f"{name} link", "revolute", f"{name} arm", f"{name} link", end, axis),
        ]
        pin = da.Constraint(name, "point-on-line", f"{name} link", "sleeve", end.inverse() @ across)
        masses = (da.Body(f"{name} arm", da.Inertia.point(1.0, end.translation)), da.Body(f"{name} link"))
        return masses, joints, pin

    across = da.Transform.from_rpy_xyz([np.pi / 2, 0, 0], [0, 0, 0])
    sides = [
        side(*x, da.Transform.from_translation([x[1][1] * length, 0, 0])) for x in (("a", [0, 1, 0]), ("b", [0, -1, 0]))
    ]
    bodies = [*sides[0][0], *sides[1][0], da.Body("sleeve", da.Inertia.point(2.0, [0, 0, 0]))]
    joints = [*sides[0][1], *sides[1][1], da.Joint("lift", "prismatic", "world", "sleeve", axis=[0, 0, 1])]
    mechanism = da.Mechanism("governor", bodies, joints, constraints=[x[2] for x in sides], strict=False)
    system = da.Dynamics(mechanism)
    assert system.analyse(mechanism.neutral).usual_rank == system.pivots.rank == 4
    q = np.array([0.9, -1.8, 0.9, -1.8, -2 * length * np.sin(0.9)])
    assert max(np.abs(x).max() for x in system.residual(q).values()) < 1e-12
    a = system.forward_dynamics(q, np.zeros(5), np.zeros(5))
    # 2 m l^2 a + M (2 l cos)^2 a = 2 g l (m + M) cos, of the angle from the horizontal
    expected = (2 + 4) * G * np.cos(0.9) / (length * (2 + 8 * np.cos(0.9) ** 2))
    assert abs(a[0] / expected - 1) < 1e-11
    assert np.abs(a - system.solve(q, np.zeros(5), np.zeros(5)).a).max() < 1e-11 * np.abs(a).max()
    folded = da.Dynamics(mechanism, reference=[1.0, 0, 0.3, 0, 0])
    assert folded.pivots.rank == 3
