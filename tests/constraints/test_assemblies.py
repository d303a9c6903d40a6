"""Many loops closed at once: as one by one, with a status for every state and design."""

import numpy as np
import pytest

import dalembert as da
from dalembert.constraints.assemblies import newton
from dalembert.constraints.closure import newton as newton_of_one
from dalembert.errors import ArgumentError, SingularityError

REFERENCE = [1.0, -0.7, 1.6]
LENGTHS = {"l0": 1.0, "l1": 0.4, "l2": 0.9, "l3": 0.7, "g": 9.81, "m1": 0.4, "m2": 0.9, "m3": 0.7}


@pytest.fixture(scope="module")
def linkage():
    return da.Dynamics(da.load("four_bar"), parameters=LENGTHS, reference=REFERENCE)


def test_designs_are_assembled_as_each_would_be_alone_and_nothing_is_compiled_for_them(linkage, monkeypatch):
    l2, crank = np.linspace(0.7, 1.0, 7), np.linspace(0.0, 2.0, 5)[:, None]
    q = {"drive": crank}
    linkage.assemble(REFERENCE)  # its kernel
    alone = np.empty((5, 7, 3))
    for j in range(7):
        one = linkage.with_parameters([l2[j] if name == "l2" else LENGTHS[name] for name in linkage.parameter_names])
        for i in range(5):
            alone[i, j] = one.assemble([crank[i, 0], *REFERENCE[1:]], keep=["drive"])
    monkeypatch.setattr(da.Dynamics, "replace", lambda *a, **k: pytest.fail("another Dynamics was made"))
    found = linkage.assemblies(q, keep=["drive"], parameters={"l2": l2})
    assert found.assembled.all() and found.q.shape == (5, 7, 3) and str(found) == "35 states: 35 assembled"
    np.testing.assert_allclose(found.q, alone, atol=1e-14)  # the same steps but for the order of sums
    at = linkage.residual(found.q, parameters={"l2": l2})["pin"]
    assert np.abs(at).max() < 1e-14
    np.testing.assert_array_equal(linkage.assemble(q, keep=["drive"], parameters={"l2": l2}), found.q)


def test_lengths_that_do_not_fit_are_apart_and_the_rest_is_assembled(linkage):
    """Without the crank's angle held, a four-bar closes if its longest bar is shorter than the others together."""
    l2 = np.array([0.2, 0.9, 1.9, 2.2, 5.0])
    found = linkage.assemblies(REFERENCE, parameters={"l2": l2})
    assert found.assembled.tolist() == (l2 < 1.0 + 0.4 + 0.7).tolist()
    assert found.status.tolist() == ["assembled"] * 3 + ["apart"] * 2
    gap = np.abs(found.residual[3:] * (l2 + 1.0 + 0.4 + 0.7)[3:])  # residuals are parts of the length of the loop
    assert (gap >= (l2 - 2.1)[3:] / np.sqrt(2)).all()  # the larger of two components of what is missing at least
    with pytest.raises(SingularityError, match=r"2 of 5 states; state \[3\] of the batch is apart"):
        linkage.assemble(REFERENCE, parameters={"l2": l2})


def test_each_start_decides_how_it_is_assembled_and_one_way_can_be_followed_round(linkage):
    angles = np.linspace(0, 2 * np.pi, 13)
    apart = linkage.assemblies({"drive": angles}, keep=["drive"])
    assert apart.assembled.all() and np.abs(np.diff(apart.q[:, 1])).max() > 3  # another way, and no status says so
    q = [apart.q[0]]
    for angle in angles[1:]:
        q.append(linkage.assemble([angle, *q[-1][1:]], keep=["drive"]))
    assert np.abs(np.diff(q, axis=0)).max() < 1  # a turn goes once round the pin at the ground, backwards at the knee
    np.testing.assert_allclose(q[-1] - q[0], [2 * np.pi, -2 * np.pi, 0], atol=1e-10)
    modes = linkage.assembly_modes([angles[8], *q[8][1:]], keep=["drive"])
    assert len(modes) == 2 and min(np.abs(np.exp(1j * mode) - np.exp(1j * q[8])).max() for mode in modes) < 1e-8


def test_states_that_are_no_numbers_stay_so_and_harm_nobody(linkage):
    starts = np.array([REFERENCE, [np.nan, 0, 0], REFERENCE])
    found = linkage.assemblies(starts)
    assert found.status.tolist() == ["assembled", "undefined", "assembled"]
    np.testing.assert_array_equal(found.q[0], found.q[2])


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_designs_of_other_sizes_than_the_nominal_one_are_measured_by_their_own(linkage, size):
    scaled = {name: size * LENGTHS[name] for name in ("l0", "l1", "l2", "l3")}
    nominal = linkage.assemble(REFERENCE, keep=["drive"])
    found = linkage.assemblies(np.tile(REFERENCE, (2, 1)), keep=["drive"], parameters=scaled)
    assert found.assembled.all()
    np.testing.assert_allclose(found.q, np.tile(nominal, (2, 1)), atol=1e-13)  # angles do not know of sizes


def test_a_mechanism_whose_symbols_have_no_values_takes_them_with_the_call():
    bare = da.Dynamics(da.load("four_bar"))
    found = bare.assemblies(REFERENCE, parameters={name: np.array([x, 1.01 * x]) for name, x in LENGTHS.items()})
    assert found.assembled.all()
    with pytest.raises(ArgumentError, match="no value for l3"):
        bare.assemblies(REFERENCE, parameters={name: x for name, x in LENGTHS.items() if name != "l3"})


def test_closures_half_a_turn_apart_are_not_taken_for_closed():
    """A bar welded to the world by a loop satisfies the weld's sines at half a turn, too."""
    bar = da.Body("bar", da.Inertia.box(1.0, (1.0, 0.1, 0.1)))
    pin = da.Joint("pin", "revolute", "world", "bar", axis="z")
    hold = da.Constraint("hold", "weld", a="world", b="bar")
    dyn = da.Dynamics(da.Mechanism("bar", bodies=(bar,), joints=(pin,), constraints=(hold,)))
    found = dyn.assemblies(np.array([[0.3], [np.pi], [3.0]]), restarts=0)
    assert found.assembled[0] and abs(found.q[0, 0]) < 1e-12
    for k in (1, 2):
        assert not found.assembled[k] or np.cos(found.q[k, 0]) > 0
    assert dyn.assemblies(np.array([[3.0], [-2.0]])).assembled.all()


def test_spherical_joints_and_free_bases_keep_unit_quaternions():
    rng = np.random.default_rng(3)
    rod = da.Body("rod", da.Inertia.box(1.0, (1.0, 0.1, 0.1)))
    end = da.Transform(np.eye(3), [0.5, 0, 0])
    m = da.Mechanism(
        "rod", bodies=(rod,), joints=(da.Joint("base", "free", "world", "rod"),),
        constraints=(da.Constraint("ball", "spherical", a="world", b="rod", placement_b=end),),
    )  # fmt: skip
    dyn = da.Dynamics(m)
    starts = m.random(rng, 20)
    found = dyn.assemblies(starts)
    assert found.assembled.all()
    assert np.abs(np.linalg.norm(found.q[:, 3:], axis=1) - 1).max() < 1e-15
    for q, start in zip(found.q, starts):
        np.testing.assert_allclose(q, dyn.assemble(start), atol=1e-13)


def test_velocities_accelerations_and_drives_of_designs_are_those_of_each_alone(linkage):
    l2 = np.array([0.8, 0.9])
    given = {"l2": l2}
    q = linkage.assemble(REFERENCE, keep=["drive"], parameters=given)
    v = linkage.project_velocity(q, {"drive": 2.0}, keep=["drive"], parameters=given)
    a = linkage.project_acceleration(q, v, {}, keep=["drive"], parameters=given)
    drives = linkage.drive_forces(q, v, a, actuated=["drive"], parameters=given)
    free = linkage.solve(q, v, np.zeros(3), parameters=given)
    for k in range(2):
        one = linkage.with_parameters([l2[k] if name == "l2" else LENGTHS[name] for name in linkage.parameter_names])
        vk = one.project_velocity(q[k], {"drive": 2.0}, keep=["drive"])
        np.testing.assert_allclose(v[k], vk, rtol=1e-12)
        np.testing.assert_allclose(a[k], one.project_acceleration(q[k], vk, {}, keep=["drive"]), rtol=1e-10)
        np.testing.assert_allclose(drives.tau[k], one.drive_forces(q[k], vk, a[k], actuated=["drive"]).tau, rtol=1e-10)
        np.testing.assert_allclose(free.a[k], one.solve(q[k], vk, np.zeros(3)).a, rtol=1e-10)


def test_what_cannot_be_values_of_parameters_is_refused(linkage):
    with pytest.raises(ArgumentError, match="l9"):
        linkage.assemble(REFERENCE, parameters={"l9": 1.0})
    with pytest.raises(ArgumentError, match=r"shape \(3,\).* needs \(\.\.\., 8\): g, l0"):
        linkage.assemble(REFERENCE, parameters=[1, 2, 3])
    with pytest.raises(ArgumentError, match="batch dimensions"):
        linkage.assemble(np.zeros((4, 3)), parameters={"l2": np.ones(3)})
    numbers = da.Dynamics(da.load("four_bar", parameters="default"), reference=REFERENCE)
    with pytest.raises(ArgumentError, match="has no parameters"):
        numbers.project_velocity(REFERENCE, {}, parameters=[1.0])


def test_many_searches_take_the_steps_of_one():
    """The damped steps of both methods, on equations with a fold: x^2 + y^2 = 1 with y given."""
    rng = np.random.default_rng(0)
    starts = rng.normal(size=(30, 2))

    def at(x):
        phi = np.array([x[0] ** 2 + x[1] ** 2 - 1, np.sin(x[0] * x[1])])
        c = np.cos(x[0] * x[1])
        return phi, np.array([[2 * x[0], 2 * x[1]], [x[1] * c, x[0] * c]])

    def at_all(which, x):
        found = [at(one) for one in x]
        return np.array([f for f, _ in found]), np.array([g for _, g in found])

    q, left, ended = newton(at_all, lambda x, d: x + d, starts, np.full(30, 1e-12), 60)
    for k in range(30):
        alone, _ = newton_of_one(at, lambda x, d: x + d, starts[k], 1e-12, 60)
        np.testing.assert_allclose(q[k], alone, atol=1e-7)  # where roots are double, the root of rounding
    assert ended.all() and (left < 1e-12).all()
