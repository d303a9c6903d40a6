"""What a user of Dynamics relies on besides the numbers: consistency, honest refusals, pickles."""

import pickle

import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.dynamics import ALL_QUANTITIES
from dalembert.errors import ArgumentError, ModelWarning, UnsupportedError

ARM = da.load("demo_arm")
Z, V = np.zeros(6), np.ones(6)


def test_rotors_have_kinetic_energy_when_armature_is_included():
    heavy = da.symbolise(ARM, {"bend.armature": 0.5})
    for include in ((), ("armature",)):
        dyn = da.Dynamics(heavy, include=include)
        assert dyn.kinetic_energy(Z, V) == pytest.approx(V @ dyn.mass_matrix(Z) @ V / 2, rel=1e-13)


def test_names_of_quantities_may_come_out_of_arrays():
    (name,) = np.array(["gravity"])
    np.testing.assert_array_equal(da.Dynamics(ARM).kernel(name)(Z), da.Dynamics(ARM).gravity(Z))


def test_no_code_is_executed_from_values(tmp_path):
    target = tmp_path / "pwned"
    symbolic = da.symbolise(ARM, {"flange.mass": "m"})
    with pytest.raises(ArgumentError, match="real number"):
        da.substitute(symbolic, {"m": f'__import__("pathlib").Path({str(target)!r}).write_text("x")'})
    assert not target.exists()


@pytest.mark.parametrize(("what", "doing"), [("constraints", "hold"), ("elements", "act")])
def test_none_is_no_name_and_the_message_says_what_is(what, doing):
    mechanism = da.load("four_bar")
    with pytest.raises(ArgumentError, match=rf"'none'; it has \w+; none of them {doing} with {what}=\(\)"):
        da.Dynamics(
            mechanism.replace(forces=[da.Force("push", "wrench", "coupler", components=[1.0] * 6)]), **{what: "none"}
        )


def test_everything_in_the_mechanism_acts_unless_others_are_named():
    four_bar = da.load("four_bar", parameters="default")
    closed, open_tree = da.Dynamics(four_bar), da.Dynamics(four_bar, constraints=(), elements=())
    assert closed.rows and not closed.is_tree
    assert not open_tree.rows and open_tree.is_tree
    assert [port.name for port in closed.forward_dynamics.inputs] == ["q", "v", "tau", "t"]
    assert [port.name for port in open_tree.forward_dynamics.inputs] == ["q", "v", "tau"]
    with pytest.raises(ArgumentError, match="has no constraint 'belt'"):
        da.Dynamics(four_bar, constraints=["belt"])
    with pytest.raises(ArgumentError, match="has no force element 'belt'"):
        da.Dynamics(four_bar, elements=["belt"])


def test_nothing_that_moves_gives_empty_results():
    with pytest.warns(ModelWarning):
        rock = da.load('<robot name="rock"><link name="a"/></robot>')
    dyn, none = da.Dynamics(rock), np.zeros(0)
    A, B = dyn.linearize(none, none, none)
    assert A.shape == B.shape == (0, 0)
    assert [x.shape for x in dyn.forward_dynamics_derivatives(none, none, none)] == [(0, 0)] * 3


def test_quantities_of_frames_pickle_and_refuse_strange_options():
    dyn = da.Dynamics(ARM)
    copy = pickle.loads(pickle.dumps(dyn.pose))
    assert np.array_equal(copy(Z, frame="flange")[1], dyn.pose(Z, frame="flange")[1])
    with pytest.raises(ArgumentError, match="no option 'axes'"):
        dyn.pose(Z, frame="flange", axes="world")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parameters": ["flang.mass"]}, "did you mean"),
        ({"parameters": "flange.mass"}, "list of names"),
        ({"wrenches": "flange"}, "list of names"),
        ({"include": "damping"}, "list of names"),
        ({"parameters": ["flange.mass", "flange.mass"]}, "twice"),
        ({"wrenches": ["flange", "forearm", "flange"]}, "wrenches has 'flange' twice"),
        ({"device": "tpu"}, "cuda"),
        ({"parameters": {"flange.mass", "flange.com.x"}}, "a set has no order"),
        ({"wrenches": frozenset({"flange"})}, "a set has no order"),
        ({"dtype": "foo"}, "float32"),
    ],
)
def test_wrong_names_are_refused_at_once(options, message):
    with pytest.raises(ArgumentError, match=message):
        da.Dynamics(ARM, **options)


def test_results_need_their_own_memory_and_threads_are_counted():
    dyn = da.Dynamics(ARM)
    out = np.zeros((6, 6))
    with pytest.raises(ArgumentError, match="share memory"):
        dyn.inverse_dynamics_derivatives(Z, V, V, out=(out, out))
    for threads in (0, -1, 1.5, "2"):
        with pytest.raises(ArgumentError, match="threads"):
            dyn.inverse_dynamics(Z, V, V, threads=threads)


def test_quantities_of_frames_are_bound_as_they_are_called():
    dyn, q = da.Dynamics(ARM, parameters=["flange.com.x", "bend.placement.z"]), Z.copy()
    numbers, J = dyn.parameter_values, np.zeros((6, 6))
    options = {"frame": "flange", "point": [0.1, 0, 0], "axes": "body"}
    bound = dyn.jacobian.bind(q, parameters=numbers, out=J, **options)
    pose = dyn.pose.bind(q, numbers, frame="flange")
    for angle in (0.3, -1.2):
        q[:] = angle
        bound()
        pose()
        np.testing.assert_array_equal(J, dyn.jacobian(q, numbers, **options))
        for found, wanted in zip(pose.outputs, dyn.pose(q, numbers, frame="flange")):
            np.testing.assert_array_equal(found, wanted)
    with pytest.raises(ArgumentError, match="needs the option 'frame'"):
        dyn.jacobian.bind(q, numbers)


def test_quantities_of_frames_remember_kernels_and_what_is_refused_stays_so():
    """Options that are words lead straight to the kernel; of others each is looked at, for True and 1 are equal."""
    dyn, q = da.Dynamics(ARM), V / 3
    for options in (
        {"frame": "flange"},
        {"axes": "body", "frame": "flange"},
        {"frame": "flange", "point": [0, 0, 1.0]},
    ):
        exact = dyn.kernel("jacobian", **options)(q)
        for _ in range(3):
            assert np.array_equal(dyn.jacobian(q, **options), exact)
            assert np.array_equal(dyn.jacobian(q=q, **options), exact)
    assert not np.array_equal(dyn.jacobian(q, frame="flange"), dyn.jacobian(q, frame="flange", axes="body"))
    dyn.cartesian_dynamics(q, V, frame="flange", damping=1)
    for wrong in ({"frame": "flange", "damping": True}, {"frame": "flange", "axes": "flange"}, {"frame": "hand"}):
        for _ in range(2):
            with pytest.raises(da.errors.DalembertError) as told:
                dyn.cartesian_dynamics(q, V, **wrong)
            assert told.value.__context__ is None  # nothing of how kernels are remembered


def test_what_kernels_are_made_from_is_fixed():
    dyn = da.Dynamics(ARM)
    for name, value in {
        "mechanism": ARM,
        "wrenches": ("flange",),
        "parameters": ["flange.mass"],
        "dtype": "f4",
    }.items():
        with pytest.raises(AttributeError, match=f"{name} of <Dynamics of 'demo_arm'.*make another"):
            setattr(dyn, name, value)
    assert dyn.inverse_dynamics(Z, V, V).dtype == np.float64


def test_quantities_cannot_be_set_before_or_after_their_first_use():
    dyn = da.Dynamics(ARM)
    held = dyn.gravity(Z)
    for name in ALL_QUANTITIES:
        with pytest.raises(AttributeError, match=f"{name} of <Dynamics of 'demo_arm'.*make another"):
            setattr(dyn, name, (0.0, 0.0, -1.62))
    with pytest.raises(AttributeError, match="with_gravity"):
        dyn.gravity = (0.0, 0.0, -1.62)
    np.testing.assert_array_equal(dyn.gravity(Z), held)


@pytest.mark.parametrize("base", ["revolute", "free"])
@pytest.mark.parametrize("kind", ["revolute", "prismatic", "spherical", "free"])
@pytest.mark.parametrize("quantity", ["forward_dynamics", "mass_matrix_inverse", "forward_dynamics_derivatives"])
def test_a_joint_that_moves_nothing_has_accelerations_beyond_all_bounds_and_no_warnings(
    base, kind, quantity, monkeypatch
):
    monkeypatch.setenv("DALEMBERT_CACHE", "off")  # a program found there would not be traced
    bodies = [da.Body("a", da.Inertia.sphere(1.0, 0.1)), da.Body("nothing")]
    joints = [da.Joint("i", base, "world", "a"), da.Joint("j", kind, "a", "nothing")]
    m = da.Mechanism("m", bodies, joints, strict=False)
    state = m.random_state(np.random.default_rng(0))
    kernel = da.Dynamics(m).kernel(quantity)
    with np.errstate(all="raise"):
        answers = kernel(*state[: len(kernel.inputs)])
    for answer in answers if isinstance(answers, tuple) else (answers,):
        assert not np.isfinite(answer).all()


def test_random_states_respect_one_sided_limits():
    body = da.Body("b", da.Inertia.sphere(1.0, 0.1))
    for limits, inside in ((da.Limits(lower=0.5), lambda q: q >= 0.5), (da.Limits(upper=-1), lambda q: q <= -1)):
        m = da.Mechanism("m", [body], [da.Joint("j", "prismatic", "world", "b", limits=limits)])
        assert inside(m.random_state(np.random.default_rng(0), 1000)[0]).all()


def test_who_forgets_the_values_of_symbols_is_told_all_ways_to_give_them():
    dyn = da.Dynamics(da.load("cart_pole"))
    for call in (lambda: dyn.mass_matrix([0, 0]), lambda: dyn.pose([0, 0], frame="pole")):
        with pytest.raises(ArgumentError, match=r"the values of I, M, g, l, m in this order.*substitute.*'default'"):
            call()
    dyn = da.Dynamics(da.load("demo_arm"), parameters=["flange.mass"], wrenches=["flange"])
    with pytest.raises(ArgumentError, match=r"one row \[force; moment\] for each of flange"):
        dyn.bias(np.zeros(6), np.zeros(6))


def test_names_may_come_from_any_iterable():
    dyn = da.Dynamics(ARM, parameters=(name for name in ["flange.mass"]), wrenches=iter(["flange"]))
    assert dyn.parameter_names == ("flange.mass",) and dyn.wrenches == ("flange",)
    assert [port.name for port in dyn.inverse_dynamics.inputs] == ["q", "v", "a", "wrenches", "parameters"]
    both = {"damping", "armature"}
    assert da.Dynamics(ARM, include=both).include == da.Dynamics(ARM, include=sorted(both)).include


@pytest.mark.parametrize("name", ["parameter 0", "parameter_0", "parameter x", "flange.com.x"])
def test_symbols_of_any_name_stay_apart_from_named_parameters(name):
    symbolic = da.symbolise(ARM, {"flange.mass": sympy.Symbol(name)})
    dyn = da.Dynamics(symbolic, parameters=["flange.com.x"])
    plain = da.symbolise(ARM, {"flange.mass": 0.7, "flange.com.x": 0.04})
    q = V / 3
    np.testing.assert_allclose(dyn.gravity(q, [0.7, 0.04]), da.Dynamics(plain).gravity(q), atol=1e-13)
    again = pickle.loads(pickle.dumps(dyn))
    np.testing.assert_array_equal(again.gravity(q, [0.7, 0.04]), dyn.gravity(q, [0.7, 0.04]))


def test_every_number_may_be_a_parameter():
    """Also the placements of bodies that are fixed to others, which decide about the sums of inertias."""
    hand = da.Joint("mount", "fixed", "flange", "hand", placement=da.Transform(np.eye(3), [0.1, 0, 0.02]))
    inertia = da.Inertia(0.4, [0.01, 0.02, 0.03], np.diag([0.01, 0.02, 0.025]))
    arm = ARM.replace(bodies=(*ARM.bodies, da.Body("hand", inertia)), joints=(*ARM.joints, hand))
    dyn = da.Dynamics(arm, parameters=list(da.parameters(arm)))
    q, v, a = arm.random_state(np.random.default_rng(0))
    expected = da.Dynamics(arm).inverse_dynamics(q, v, a)
    np.testing.assert_allclose(dyn.inverse_dynamics(q, v, a, dyn.parameter_values), expected, atol=1e-12)
    longer = da.symbolise(arm, {"mount.placement.x": 0.5})
    changed = [0.5 if name == "mount.placement.x" else x for name, x in zip(dyn.parameter_names, dyn.parameter_values)]
    expected = da.Dynamics(longer).inverse_dynamics(q, v, a)
    np.testing.assert_allclose(dyn.inverse_dynamics(q, v, a, changed), expected, atol=1e-12)


def test_values_of_parameters_that_are_symbolic_are_not_known():
    symbolic = da.symbolise(ARM, {"flange.mass": sympy.Symbol("m") + 1})
    values = da.Dynamics(symbolic, parameters=["flange.com.x", "flange.mass"]).parameter_values
    np.testing.assert_array_equal(values, [0.02, np.nan])
    with pytest.raises(da.errors.ArgumentError, match="'m' is a symbol of 'demo_arm', and symbols are inputs already"):
        da.Dynamics(symbolic, parameters=["flange.com.x", "m"])


def test_a_symbol_stays_an_input_while_something_depends_on_it():
    """It does not where all numbers that contain it are inputs of their own."""
    m = sympy.Symbol("m")
    alone = da.symbolise(ARM, {"flange.mass": m})
    twice = da.symbolise(ARM, {"flange.mass": m, "forearm.mass": 2 * m})
    q, plain = V / 3, da.symbolise(ARM, {"flange.mass": 0.7, "forearm.mass": 1.2})
    dyn = da.Dynamics(alone, parameters=["forearm.mass", "flange.mass"])
    assert dyn.parameter_names == ("forearm.mass", "flange.mass")
    np.testing.assert_allclose(dyn.gravity(q, [1.2, 0.7]), da.Dynamics(plain).gravity(q), atol=1e-13)
    dyn = da.Dynamics(twice, parameters=["flange.mass"])
    assert dyn.parameter_names == ("m", "flange.mass")
    np.testing.assert_allclose(dyn.gravity(q, [0.6, 0.7]), da.Dynamics(plain).gravity(q), atol=1e-13)


def test_latex_calls_parameters_by_their_names():
    text = da.Dynamics(da.load("double_pendulum")).export("mass_matrix", "latex")
    assert "m_{2}" in text and "l_{1}" in text and "mathrm{parameters}" not in text


@pytest.mark.parametrize("language", ["c", "python", "latex"])
def test_exported_source_says_of_what_it_is_and_in_which_order_inputs_come(language):
    arm = da.load("demo_arm").replace(name="arm */ /* \\")
    dyn = da.Dynamics(arm, parameters=["flange.com.x", "flange.mass"], wrenches=["flange", "forearm"])
    comments = dyn.export("inverse_dynamics", language).replace("\n * ", " ").replace("\n# ", " ").replace("\n% ", " ")
    for told in ("wrenches: flange, forearm.", "parameters: flange.com.x, flange.mass.", "Of 'arm "):
        assert told in comments
    assert "frame flange" in dyn.export("jacobian", language, frame="flange")
    assert "wrenches:" not in dyn.export("gravity", language)
    if language == "c":
        assert comments.split("#ifndef")[0].count("/*") == comments.split("#ifndef")[0].count("*/")


def test_every_attribute_is_listed_once():
    dyn = da.Dynamics(da.load("rrr"))
    assert dyn.gravity is not None  # remembered among the attributes of the object, too
    assert len(dir(dyn)) == len(set(dir(dyn)))
    assert set(da.Dynamics(da.load("rrr")).__dir__()) >= {"gravity", "inverse_dynamics", "kernel"}


def test_its_text_tells_how_it_was_made():
    assert repr(da.Dynamics(ARM)) == "<Dynamics of 'demo_arm': nq=6, nv=6>"
    told = repr(da.Dynamics(ARM, parameters=["flange.mass"], wrenches=["flange"], include=["damping"], dtype="f4"))
    assert told == (
        "<Dynamics of 'demo_arm': nq=6, nv=6, wrenches=['flange'], include=['damping'], "
        "parameters=['flange.mass'], dtype=float32>"
    )


def test_a_folder_to_export_to_is_made_if_a_slash_says_so(tmp_path):
    bars = da.load("four_bar", parameters="default")
    for k, system in enumerate((da.Dynamics(ARM), da.Dynamics(bars, elements="all"))):
        system.export("mass_matrix", "c", f"{tmp_path}/made{k}/")
        assert {path.name for path in (tmp_path / f"made{k}").iterdir()} == {"mass_matrix.c", "mass_matrix.h"}


def test_what_takes_no_wrenches_refuses_to_compute_as_if_there_were_none():
    dyn = da.Dynamics(da.load("four_bar", parameters="default"), wrenches=["coupler"])
    q, still = dyn.assemble([1.0, -0.7, 1.6], keep=["drive"]), np.zeros(3)
    calls = {
        "drive_forces": lambda: dyn.drive_forces(q, still, still, actuated=["drive"]),
        "reactions": lambda: dyn.reactions(q, still, still),
        "linear_model": lambda: dyn.linear_model(q, still, still),
    }
    for name, call in calls.items():
        with pytest.raises(UnsupportedError, match=rf"wrenches \(coupler\), which Dynamics.{name} does not take.*J\^T"):
            call()
