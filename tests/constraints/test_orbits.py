"""Gravity that varies in space: libration of satellites, conservation laws, and bodies made of points."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from constraint_cases import relative, simulated
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.algebra import scalar
from dalembert.algebra.quaternions import quaternion_normalise, rotation_from_quaternion
from dalembert.algebra.transform import Transform
from dalembert.constraints import generalised_forces
from dalembert.constraints.classical import EARTH, satellite
from dalembert.constraints.solve import METHODS
from dalembert.dynamics import Dynamics
from dalembert.errors import SingularityError, UnsupportedError
from dalembert.formulations import InverseSquare, derive
from dalembert.model import WORLD, Body, Constraint, Force, Inertia, Joint, Mechanism
from dalembert.model.operations import merge_fixed


def test_gravity_gradient_libration_frequencies():
    """On a circular orbit of rate n: pitch 3 n^2 (Ix - Iz) / Iy; roll and yaw the roots of
    s^4 + (1 + 3 kR + kR kY) n^2 s^2 + 4 kR kY n^4 = 0, kR = (Iy - Iz) / Ix, kY = (Iy - Ix) / Iz (Hughes, Spacecraft
    Attitude Dynamics, 1986). Orbit and attitude are coupled by I / m r^2, some 1e-14; eigenvalues of the
    orbit itself are a double zero and +-n i. Agreement to 1e-7 n, rounding of the double zero allowed for.
    """
    Ix, Iy, Iz = 80.0, 100.0, 40.0
    mechanism = satellite((Ix, Iy, Iz))
    r = 7.0e6
    n = np.sqrt(EARTH / r**3)
    system = Dynamics(mechanism, elements="all")
    q, v = np.array([0.3, r, 0, 0, 0, 1]), np.array([n, 0, 0, 0, 0])
    assert np.abs(system.forward_dynamics(q, v, np.zeros(5))[2:]).max() < 1e-12 * n
    values = system.linear_model(q, v, np.zeros(5)).poles / n
    assert np.abs(values.real).max() < 1e-6
    kR, kY = (Iy - Iz) / Ix, (Iy - Ix) / Iz
    squares = np.roots([1, 1 + 3 * kR + kR * kY, 4 * kR * kY])
    expected = [np.sqrt(3 * (Ix - Iz) / Iy), *np.sqrt(-squares), 1.0]
    for w in expected:
        assert np.abs(values.imag - w).min() < 1e-7
        assert np.abs(values.imag + w).min() < 1e-7


def test_an_attitude_that_is_unstable_is_found_unstable():
    """The long axis along the track instead of along the radius: pitch diverges at sqrt(3 (Iz - Ix) / Iy) n."""
    Ix, Iy, Iz = 40.0, 100.0, 80.0
    r = 7.0e6
    n = np.sqrt(EARTH / r**3)
    system = Dynamics(satellite((Ix, Iy, Iz)), elements="all")
    values = system.linear_model([0, r, 0, 0, 0, 1], [n, 0, 0, 0, 0], np.zeros(5)).poles / n
    assert abs(values.real.max() - np.sqrt(3 * (Iz - Ix) / Iy)) < 1e-7


def dumbbell():
    """A body a tenth of its distance across, so that the gradient matters: two masses on a rod, in units of one."""
    masses, places = np.array([3.0, 1.0, 2.0]), np.array([[0.3, 0.1, 0.0], [-0.6, 0.2, 0.1], [0.1, -0.4, 0.2]])
    center = masses @ places / masses.sum()
    arms = places - center
    tensor = sum(m * (a @ a * np.eye(3) - np.outer(a, a)) for m, a in zip(masses, arms))
    body = Body("body", Inertia(masses.sum(), [0, 0, 0], tensor))
    return masses, arms, body


@settings(max_examples=30)
@given(seed=st.integers(0, 1000))
def test_force_and_moment_tend_to_those_of_the_points_the_body_consists_of(seed):
    """What is left is of third order in size over distance: 0.6 / 60 cubed times a few."""
    rng = np.random.default_rng(seed)
    masses, arms, body = dumbbell()
    distance = 60.0
    direction = rng.normal(size=3)
    p = distance * direction / np.linalg.norm(direction)
    R = rotation_from_quaternion(eta := quaternion_normalise(rng.normal(size=4)))
    mu = 7.0

    def field(x, t):
        r2 = x[0] * x[0] + x[1] * x[1] + x[2] * x[2]
        return [-mu * c / (r2 * r2**0.5) for c in x]

    forces = (Force("point", "attraction", WORLD, value=mu), Force("field", "gravity-field", function=field))
    mechanism = Mechanism(
        "points", [body], [Joint("free", "free", WORLD, "body")], forces=forces, gravity=[0.0, 0.0, 0.0]
    )
    q = np.concatenate([p, eta])
    found = generalised_forces(mechanism, q, np.zeros(6), elements="all")
    pulls = [-mu * m * (p + R @ a) / np.linalg.norm(p + R @ a) ** 3 for m, a in zip(masses, arms)]
    exact = np.concatenate([sum(pulls), sum(np.cross(a, R.T @ f) for a, f in zip(arms, pulls))])
    error = (0.6 / distance) ** 3
    assert relative(found["point"][:3], exact[:3]) < 5 * error
    size = 3 * mu / distance**3 * np.trace(body.inertia.tensor)
    assert relative(found["point"][3:], exact[3:], size) < 5 * 0.6 / distance
    assert relative(found["field"][:3], found["point"][:3]) < 1e-12
    assert relative(found["field"][3:], found["point"][3:], size) < 1e-10


def test_energy_and_angular_momentum_about_the_attracting_point_are_kept():
    """Two hinged bodies on an eccentric orbit, close enough for the gradient to bend the orbit."""
    _, _, body = dumbbell()
    second = body.replace(name="second")
    mechanism = Mechanism(
        "pair",
        [body, second],
        [
            Joint("free", "free", WORLD, "body"),
            Joint("hinge", "revolute", "body", "second", Transform.from_rpy_xyz([0.3, 0.2, 0.1], [0.5, 0.2, -0.3])),
        ],
        forces=(Force("sun", "attraction", WORLD, value=50.0),),
        gravity=[0.0, 0.0, 0.0],
    )
    from dalembert.algorithms.energy import momentum

    system = Dynamics(mechanism, elements="all")
    q = np.array([6.0, 0, 0, 0, 0, 0, 1, 0.4])
    v = np.array([0, 2.3, 0.4, 0.3, 0.5, -0.2, 0.6])
    _, positions, speeds = simulated(system, q, v, 20.0, 1e-11)
    energies = system.kernel("energy")(positions, speeds, 0.0)
    assert np.ptp(energies) < 1e-8 * np.abs(energies[0])
    spin = [momentum(mechanism.tree, x, y)[1] for x, y in zip(positions[::20], speeds[::20])]
    assert np.abs(np.array(spin) - spin[0]).max() < 1e-7 * np.linalg.norm(spin[0])
    bare = [np.linalg.norm(x[:3]) for x in positions]
    assert max(bare) > 1.05 * min(bare)


def test_a_field_may_be_written_with_sympy_and_depend_on_time():
    """A uniform field that swings in time, and one that grows with height: force, and moment of the gradient."""
    z, t = sympy.symbols("z t", real=True)
    _, _, body = dumbbell()
    field = Force("f", "gravity-field", function=[3 * sympy.sin(t), 0, -2 * z])
    mechanism = Mechanism("m", [body], [Joint("free", "free", WORLD, "body")], forces=[field], gravity=np.zeros(3))
    found = generalised_forces(mechanism, [0.1, 0.2, 0.3, 0, 0, 0, 1], np.zeros(6), 0.5, elements="all")["f"]
    I, m = body.inertia.tensor, body.inertia.mass
    J = np.trace(I) / 2 * np.eye(3) - I
    moment = [-2 * J[2, 1], 2 * J[2, 0], 0]  # 2 vect(Gam J) with Gam_zz = -2
    assert relative(found[:3], [3 * m * np.sin(0.5), 0, -0.6 * m]) < 1e-12
    assert relative(found[3:], moment) < 1e-12


def test_an_attracting_point_that_moves_is_refused():
    mechanism = satellite().replace(forces=(Force("sun", "attraction", "body", value=1.0),))
    with pytest.raises(UnsupportedError, match="fixed to the ground"):
        generalised_forces(mechanism, mechanism.neutral + [0, 1, 0, 0, 0, 0], np.zeros(5), elements="all")


@pytest.mark.parametrize("kind", ["attraction", "gravity-field"])
def test_fields_turn_wheels_whose_mass_is_counted_elsewhere(kind):
    """A wheel with inertia and no mass, welded to the bus: the moment is that of both tensors, as if they were one."""
    bodies = (
        Body("bus", Inertia(1.0, np.zeros(3), np.diag([30, 40, 20.0]))),
        Body("wheel", Inertia(0.0, np.zeros(3), np.diag([3, 8, 5.0]))),
    )
    joints = (
        Joint("turn", "revolute", WORLD, "bus", Transform.from_translation([7.0, 0, 0])),
        Joint("weld", "fixed", "bus", "wheel"),
    )

    def field(x, t):
        return [-100.0 * c / scalar.sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]) ** 3 for c in x]

    more = {"value": 100.0} if kind == "attraction" else {"function": field}
    force = Force("earth", kind, **({"a": WORLD} if kind == "attraction" else {}), **more)
    apart = Mechanism("satellite", bodies, joints, forces=(force,), gravity=[0, 0, 0], strict=False)
    found = [
        Dynamics(mechanism, elements="all").evaluate("element_forces", np.array([0.3]), np.zeros(1), 0.0)[0]
        for mechanism in (apart, merge_fixed(apart))
    ]
    # 3 mu / r^3 (I_y - I_x) sin cos about z, with both tensors
    right = 3 * 100 / 7.0**3 * ((40 + 8) - (30 + 3)) * np.sin(0.3) * np.cos(0.3)
    np.testing.assert_allclose(np.abs(found), np.abs(right), rtol=1e-12)


def test_a_body_that_stays_at_the_attracting_point_is_named():
    """The planet itself, for instance, put into the model to carry stations."""
    orbiter = satellite()
    planet = Body("planet", Inertia.sphere(6e24, 6e6))
    both = orbiter.replace(
        bodies=(*orbiter.bodies, planet), joints=(*orbiter.joints, Joint("day", "revolute", WORLD, "planet"))
    )
    with pytest.raises(SingularityError, match="'planet' is at the attracting point"):
        Dynamics(both, elements="all").evaluate("element_forces", both.neutral, np.zeros(both.nv), 0.0)
    for method in ("kane", "lagrange", "newton-euler"):
        with pytest.raises(SingularityError, match="never leaves the attractor"):
            derive(both.replace(forces=()), method, field=InverseSquare(sympy.Symbol("mu")))


@pytest.mark.parametrize("mass", [5.0, 7e15, 6e24])
def test_a_users_field_pulls_bodies_of_any_mass_alike(mass):
    """Accelerations do not depend on the mass of a sphere in a field of constant gradient."""
    rock = Mechanism(
        "rock",
        [Body("rock", Inertia.sphere(mass, 8e3))],
        [Joint("free", "free", WORLD, "rock")],
        forces=[Force("field", "gravity-field", function=lambda p, t: [2 * p[0] + p[1], p[0], -2 * p[2]])],
        gravity=[0, 0, 0],
    )
    system = Dynamics(rock, elements="all")
    found = system.forward_dynamics([1.0, 2.0, 3.0, 0.1, 0.7, 0.1, 0.7], np.zeros(6), np.zeros(6))
    assert relative(found, [4.0, 1.0, -6.0, 0, 0, 0]) < 1e-12
    spin = rock.replace(joints=[Joint("spin", "revolute", WORLD, "rock", Transform.from_translation([1.0, 0, 0]))])
    assert abs(Dynamics(spin, elements="all").forward_dynamics([0.3], [0.0], [0.0])[0]) < 1e-12


@pytest.mark.parametrize("radius", [7e6, 4e8, 1.5e11])
def test_docked_satellites_turn_alike_however_far_they_are(radius):
    """Two bodies welded 2 m apart, each carried by the angle and the radius of its orbit: columns of the constraints
    are of the size of the radius and of 1. 1 N m about y turns both at 1 / (2 * 100 + 2 * 50 * 1^2) rad/s^2;
    the carrier stands on the ground, which adds a force 1 / radius and is not seen.
    """
    parts = [satellite(), satellite()]
    bodies = [body.replace(name=f"{body.name}{k}") for k, one in enumerate(parts) for body in one.bodies]
    joints = [
        joint.replace(
            name=f"{joint.name}{k}",
            parent=WORLD if joint.parent == WORLD else f"{joint.parent}{k}",
            child=f"{joint.child}{k}",
        )
        for k, one in enumerate(parts)
        for joint in one.joints
    ]
    ends = (Transform.from_translation([1.0, 0, 0]), Transform.from_translation([-1.0, 0, 0]))
    dock = Constraint("dock", "weld", "body0", "body1", *ends)
    pair = Mechanism("docked", tuple(bodies), tuple(joints), constraints=(dock,), gravity=np.zeros(3))
    start = np.array([0, radius, 0, 0, 0, 1, 2 / radius, radius, 0, 0, 0, 1])
    still, couple = np.zeros(10), np.eye(10)[3]
    for method in ("multipliers", "projection"):
        system = Dynamics(pair, reference=start, method=method)
        q = system.assemble(start)
        a = system.forward_dynamics(q, still, couple)
        assert a[[3, 8]] == pytest.approx([1 / 300, 1 / 300], rel=1e-6)
    assert system.analyse(q).rank == 6
    for method in METHODS:
        found = system.solve(q, still, couple, method=method)
        assert found.rank == 6 and found.a[[3, 8]] == pytest.approx([1 / 300, 1 / 300], rel=1e-6)
        assert np.abs(found.a[[2, 4, 7, 9]]).max() < 1e-9
    drives = system.drive_forces(q, still, found.a, actuated=["attitude0"])
    assert drives.tau == pytest.approx(couple, abs=1e-6)
    assert np.isfinite(system.linear_model(q, still, couple).A).all()


@pytest.mark.parametrize("radius", [1e5, 6.8e6, 4.2e7, 1e9])
@pytest.mark.parametrize("angle", [0.0, 0.3])
def test_a_radial_tether_is_as_light_as_its_ends(radius, angle):
    """Bodies of 1 kg on arms that turn about the Earth's centre, tied to each other along the radius. The arms have
    m R^2, up to 1e18 kg m^2, and coefficients in the row of the tether that are nothing but rounding. With 1 N along
    both slides there is no tension, and both move at 1 m/s^2; with 1 N at one of them, at half of that. Where the ends
    are, and so the direction of the tether, is known to the last digit of the radius.
    """
    close = {"rel": 1e-9 + radius * np.finfo(float).eps / 10.0}
    bodies = [Body(f"{name}{k}", Inertia.sphere(1.0, 0.1)) for k in (1, 2) for name in ("arm", "end")]
    out = Transform.from_translation([radius, 0, 0])
    joints = [
        joint
        for k in (1, 2)
        for joint in (
            Joint(f"orbit{k}", "revolute", WORLD, f"arm{k}"),
            Joint(f"radius{k}", "prismatic", f"arm{k}", f"end{k}", out, [1, 0, 0]),
        )
    ]
    tether = Constraint("tether", "distance", "end1", "end2", value=10.0)
    pair = Mechanism("tether", bodies, joints, constraints=[tether], gravity=np.zeros(3))
    q, still = np.array([angle, 0, angle, 10.0]), np.zeros(4)
    system = Dynamics(pair, reference=q)
    for method in METHODS:
        assert system.solve(q, still, [0, 1, 0, 1], method=method).a[[1, 3]] == pytest.approx([1, 1], **close)
        found = system.solve(q, still, [0, 0, 0, 1], method=method)
        assert found.a[[1, 3]] == pytest.approx([0.5, 0.5], **close)
        assert abs(found.multipliers[0]) == pytest.approx(0.5, **close)
    force = system.reactions(q, still, [0, 0, 0, 1])["tether"].force
    assert np.linalg.norm(force) == pytest.approx(0.5, **close)
    assert system.project_velocity(q, [0, 1, 0, 0])[[1, 3]] == pytest.approx([0.5, 0.5], **close)


def hinged_satellite(origin):
    """A body and a boom on a hinge, in the Earth's field; the frame of the body has its origin where one says."""
    hull = Inertia(100.0, np.array([0.5, 0.3, -0.2]) - origin, np.diag([30.0, 40.0, 20.0]))
    boom = Inertia(10.0, [2.0, 0.1, 0.0], np.diag([0.1, 15.0, 15.0]))
    place = Transform.from_rpy_xyz([0.3, -0.2, 0.5], np.array([0.9, 0.4, 0.1]) - origin)
    fields = (
        Force("earth", "attraction", WORLD, value=EARTH),
        Force("field", "gravity-field", function=lambda p, t: [-EARTH * x / (p @ p) ** 1.5 for x in p]),
    )
    return Mechanism(
        "hinged",
        [Body("hull", hull), Body("boom", boom)],
        [Joint("free", "free", WORLD, "hull"), Joint("hinge", "revolute", "hull", "boom", place)],
        forces=fields,
        gravity=np.zeros(3),
    )


@pytest.mark.parametrize("force", ["earth", "field"])
def test_a_satellite_turns_alike_wherever_its_frame_has_its_origin(force):
    """Turning is driven by 3 mu/r^3, about 3e-6 /s^2, beside the fall of 8 m/s^2: levers of a metre that come from
    positions of 7e6 m, known to 1e-9 m, would spoil some 8e-9 of 3e-6; the fall's own rounding is 1e-15 of 8.
    """
    origin = np.array([0.5, 0.3, -0.2])
    rng = np.random.default_rng(0)
    for _ in range(5):
        eta = quaternion_normalise(rng.normal(size=4))
        p = 7e6 * (axis := rng.normal(size=3)) / np.linalg.norm(axis)
        found = []
        for shift in (np.zeros(3), origin):
            system = Dynamics(hinged_satellite(shift), elements=[force])
            q = np.concatenate([p + rotation_from_quaternion(eta) @ shift, eta, [0.4]])
            found.append(system.forward_dynamics(q, np.zeros(7), np.zeros(7))[3:])
        assert relative(found[0], found[1], 3 * EARTH / 7e6**3) < 1e-7


def test_the_free_joint_of_a_satellite_carries_nothing():
    """Weights of 900 N with levers of a metre cancel against inertia: to 1e-12 N m, plus 1e-9 m times the 0.2 N that
    the hinge carries, instead of 1e-9 m times the weights.
    """
    system = Dynamics(hinged_satellite(np.zeros(3)), elements=["earth"])
    eta = quaternion_normalise(np.array([0.3, -0.2, 0.5, 0.4]))
    q = np.concatenate([[5e6, 3e6, 4e6], eta, [0.4]])
    found = system.reactions(q, np.array([0, 0, 0, 0, 0, 0, 0.1]), np.zeros(7))
    assert 0.01 < np.linalg.norm(found["hinge"].force) < 1
    assert np.abs(found["free"].force).max() < 1e-10 and np.abs(found["free"].moment).max() < 3e-9
