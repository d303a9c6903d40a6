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
        system = da.ConstrainedDynamics(mechanism, reference=q, **choice)
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
    system = da.ConstrainedDynamics(plane(lambda q, t: q[0] * q[1], 2), reference=[x, 0.0])
    assert (
        np.abs(system.forward_dynamics([x, 0], [0, 0], [2, 3]) - [2, 0]).max() < 1e-13
    )  # rows of 0.01 against forces of 3


def test_every_row_counts_that_counts_at_the_reference():
    for x in np.linspace(0.05, 3.1, 12):
        for reference in ([x, np.pi, np.pi, 0, 0], [x, -x, x, -x, x], [0, x, x, 0, 0]):
            system = da.ConstrainedDynamics(parallel_four_bars(2), reference=reference)
            q = system.samples[0][0]
            found = system.analyse(q)
            assert found.kernel_rank == system.pivots.rank == found.usual_rank
            assert "kernels work with" not in str(found)


def test_branches_of_another_mobility_than_the_reference_are_told():
    """x y = x z = 0: a plane, x = 0, which its normal y = z = 0 goes through."""
    mechanism = plane(lambda q, t: [q[0] * q[1], q[0] * q[2]], 3)
    in_plane, on_normal = (da.ConstrainedDynamics(mechanism, reference=q) for q in ([0, 1, 1], [1, 0, 0]))
    assert in_plane.pivots.rank == 1 and on_normal.pivots.rank == 2
    assert "kernels work with rank 1" in str(in_plane.analyse([1, 0, 0]))
    assert "kernels work with rank 2" in str(on_normal.analyse([0, 1, 1]))
    assert "kernels work" not in str(on_normal.analyse([1, 0, 0]))
    assert np.abs(on_normal.forward_dynamics([1, 0, 0], np.zeros(3), [1, 2, 3]) - [1, 0, 0]).max() < 1e-14


def test_analysis_needs_no_kernels():
    """Independent speeds that are none are refused when kernels are made, not when the mechanism is looked at."""
    system = da.ConstrainedDynamics(four_bar(), reference=[1, -0.5, 1.7], method="projection", independent=())
    found = system.analyse(da.ConstrainedDynamics(four_bar(), reference=[1, -0.5, 1.7]).assemble())
    assert found.kernel_rank is None and found.rank == 2 and "kernels" not in str(found)
    with pytest.raises(da.errors.ArgumentError, match="cannot be the independent speeds"):
        system.kernel("forward_dynamics").program  # noqa: B018
