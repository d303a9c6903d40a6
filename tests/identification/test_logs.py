"""Logs: the same motion from every kind of file, in any unit, under any names; what is odd is reported."""

import contextlib
import json

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ArgumentError, FormatError, IdentificationWarning
from dalembert.identification import choose_friction, identify, read_log
from dalembert.simulation.export import load_trajectory

ARM = da.load("double_pendulum", parameters="default")
NAMES = ("shoulder", "elbow")
T = np.arange(0, 4, 0.002)
Q = np.stack([np.sin(2 * T) + 0.4 * np.sin(5 * T), 0.7 * np.cos(3 * T) - 0.2 * np.sin(7 * T)], axis=1)
V = np.stack([2 * np.cos(2 * T) + 2 * np.cos(5 * T), -2.1 * np.sin(3 * T) - 1.4 * np.cos(7 * T)], axis=1)
A = np.stack([-4 * np.sin(2 * T) - 10 * np.sin(5 * T), -6.3 * np.cos(3 * T) + 9.8 * np.sin(7 * T)], axis=1)
TAU = da.Dynamics(ARM).inverse_dynamics(Q, V, A)


def write(path, titles, columns, separator=",", above=(), number=repr):
    rows = [separator.join(number(float(x)) for x in row) for row in zip(*columns)]
    path.write_text("\n".join([*above, separator.join(titles), *rows]) + "\n", encoding="utf-8")
    return path


def same(log, slack=1e-12):
    np.testing.assert_allclose(log.t, T, atol=slack)
    np.testing.assert_allclose(log.q, Q, atol=slack)
    np.testing.assert_allclose(log.tau, TAU, atol=100 * slack)


def test_usual_names_are_found_and_si_units_assumed_aloud(tmp_path):
    titles = ["time", *(f"q_{n}" for n in NAMES), *(f"tau_{n}" for n in NAMES)]
    log = read_log(write(tmp_path / "a.csv", titles, [T, *Q.T, *TAU.T]), ARM)
    same(log)
    assert log.v is None and log.rate == pytest.approx(500)
    assert "nothing says in which unit q is; SI units are assumed: units={'q': ...}" in log.notes
    assert "sampled at 500 Hz, evenly" in str(log) and "q_shoulder, q_elbow" in str(log)


@pytest.mark.parametrize("separator", [",", ";", "\t", " "])
@pytest.mark.parametrize("scheme", ["joint", "number", "index"])
def test_columns_of_any_name_by_a_pattern_a_list_or_a_dict(tmp_path, separator, scheme):
    marks = {"joint": NAMES, "number": (1, 2), "index": (0, 1)}[scheme]
    titles = ["clock", *(f"enc{m}" for m in marks), *(f"amp{m}" for m in marks)]
    path = write(tmp_path / "a.csv", titles, [1000 * T, *np.degrees(Q).T, *(1000 * TAU).T], separator)
    units = {"t": "ms", "q": "deg", "tau": "N mm"}
    pattern = {"t": "clock", "q": f"enc{{{scheme}}}", "tau": f"amp{{{scheme}}}"}
    listed = {"t": "clock", "q": titles[1:3], "tau": titles[3:]}
    named = {"t": "clock", "q": dict(zip(NAMES, titles[1:3])), "tau": dict(zip(NAMES, titles[3:]))}
    for columns in (pattern, listed, named):
        same(read_log(path, ARM, columns=columns, units=units), 1e-11)


def test_units_of_the_file_behind_names_and_in_a_second_line(tmp_path):
    titles = ["time_ms", *(f"{n}.position [deg]" for n in NAMES), *(f"{n} torque (mNm)" for n in NAMES)]
    columns = [1000 * T, *np.degrees(Q).T, *(1000 * TAU).T]
    tau = {"tau": [f"{n} torque" for n in NAMES]}
    log = read_log(write(tmp_path / "a.csv", titles, columns), ARM, columns=tau)
    same(log, 1e-11)
    assert log.sources["q"][1] == "deg" and log.sources["t"][1] == "ms"
    titles = ["time_ms", *(f"{n}_pos_deg" for n in NAMES), *(f"{n}_torque_mNm" for n in NAMES)]
    same(read_log(write(tmp_path / "c.csv", titles, columns), ARM), 1e-11)
    bare = ["t", "q1", "q2", "tau1", "tau2"]
    lines = write(tmp_path / "b.csv", bare, columns).read_text().splitlines()
    (tmp_path / "b.csv").write_text("\n".join([lines[0], "ms,deg,deg,mNm,mNm", *lines[1:]]))
    same(read_log(tmp_path / "b.csv", ARM), 1e-11)


def test_remarks_decimal_commas_and_names_in_a_remark(tmp_path):
    comma = write(
        tmp_path / "a.csv", ["t", "q1", "q2", "tau1", "tau2"], [T, *Q.T, *TAU.T], ";", ["# arm 3, Monday"],
        lambda x: f"{x:.15f}".replace(".", ","),
    )  # fmt: skip
    same(read_log(comma, ARM), 1e-11)
    rows = [" ".join(map(repr, map(float, row))) for row in zip(T, *Q.T, *TAU.T)]
    (tmp_path / "b.txt").write_text("% t q1 q2 tau1 tau2\n" + "\n".join(rows))
    log = read_log(tmp_path / "b.txt", ARM)
    same(log)
    assert any("last remark" in note for note in log.notes)
    (tmp_path / "c.txt").write_text("\n".join(rows))
    same(read_log(tmp_path / "c.txt", ARM, columns={"t": "0", "q": ["1", "2"], "tau": ["3", "4"]}))


def test_rates_have_units_too(tmp_path):
    titles = ["t", *(f"q{k} [deg]" for k in (1, 2)), *(f"v{k} [rpm]" for k in (1, 2)), "a1 [deg/s^2]", "a2 [deg/s^2]"]
    path = write(tmp_path / "a.csv", titles, [T, *np.degrees(Q).T, *(V * 30 / np.pi).T, *np.degrees(A).T])
    log = read_log(path, ARM)
    np.testing.assert_allclose(log.v, V, atol=1e-12)
    np.testing.assert_allclose(log.a, A, atol=1e-11)
    with pytest.raises(ArgumentError, match=r"unit 'furlong' of 'q1' is unknown; known are rad, mrad, deg"):
        read_log(path, ARM, units={"q": "furlong"})


def test_gaps_jitter_repeated_and_incomplete_rows_are_reported(tmp_path):
    keep = np.ones(len(T), dtype=bool)
    keep[700:800] = False
    t = (T + np.where(np.arange(len(T)) % 2, 3e-4, 0))[keep]
    q, tau = Q[keep].copy(), TAU[keep]
    q[5, 0] = np.nan
    t[11] = t[10]
    path = write(tmp_path / "a.csv", ["t", "q1", "q2", "tau1", "tau2"], [t, *q.T, *tau.T])
    with path.open("a") as file:
        file.write("4.0,1.0")  # the recorder was stopped
    with pytest.warns(IdentificationWarning, match=r"a\.csv: gap of 0\.2"):
        log = read_log(path, ARM)
    text = str(log)
    for words in ("1 rows with missing numbers", "1 rows with the time of the row before", "unevenly", "incomplete"):
        assert words in text, words
    assert len(log.t) == keep.sum() - 2 and (np.diff(log.t) > 0).all()


def test_degrees_taken_for_radians_and_other_columns_are_noticed(tmp_path):
    arm = da.load("demo_arm")
    q = np.tile(np.linspace(-1, 1, 50)[:, None], (1, 6))
    titles = ["t", *(f"q{k}" for k in range(1, 7)), *(f"v{k}" for k in range(1, 7))]
    t = np.linspace(0, 1, 50)
    path = write(tmp_path / "a.csv", titles, [t, *np.degrees(q).T, *np.full((6, 50), 2.0)])
    with pytest.warns(IdentificationWarning) as caught:
        read_log(path, arm)
    words = " ".join(str(w.message) for w in caught)
    assert "are these degrees" in words and "times as fast as its velocities say" in words


def test_foreign_files_explain_what_is_missing(tmp_path):
    path = write(tmp_path / "a.csv", ["stampe", "alpha", "beta"], [T, *Q.T])
    with pytest.raises(FormatError, match=r"no column is called as times usually are.*'stampe', 'alpha', 'beta'"):
        read_log(path, ARM)
    with pytest.raises(FormatError, match=r"no columns of positions are found for 'double_pendulum'.*columns="):
        read_log(path, ARM, columns={"t": "stampe"})
    with pytest.raises(FormatError, match=r"there is no column 'alhpa'; did you mean 'alpha'"):
        read_log(path, ARM, columns={"t": "stampe", "q": ["alhpa", "beta"]})
    with pytest.raises(ArgumentError, match="one column for 2 joints"):
        read_log(path, ARM, columns={"t": "stampe", "q": "alpha"})
    with pytest.raises(ArgumentError, match="no column for elbow"):
        read_log(path, ARM, columns={"t": "stampe", "q": {"shoulder": "alpha"}})
    with pytest.raises(FormatError, match=r"this is a table.*read_log"):
        load_trajectory(path, ARM)
    for name, words in (("b.xyz", "logs are read from"), ("none.csv", "no such file")):
        (tmp_path / "b.xyz").write_text("")
        with pytest.raises(FormatError, match=words):
            read_log(tmp_path / name, ARM)


def test_samples_are_what_identification_takes(tmp_path):
    """Noise-free samples of uneven times give back the masses of the pendulum's rods to a thousandth."""
    jitter = np.where(np.arange(len(T)) % 2, 4e-4, 0)
    t = T + jitter
    q = np.stack([np.sin(2 * t) + 0.4 * np.sin(5 * t), 0.7 * np.cos(3 * t) - 0.2 * np.sin(7 * t)], axis=1)
    v = np.stack([2 * np.cos(2 * t) + 2 * np.cos(5 * t), -2.1 * np.sin(3 * t) - 1.4 * np.cos(7 * t)], axis=1)
    a = np.stack([-4 * np.sin(2 * t) - 10 * np.sin(5 * t), -6.3 * np.cos(3 * t) + 9.8 * np.sin(7 * t)], axis=1)
    tau = da.Dynamics(ARM).inverse_dynamics(q, v, a)
    log = read_log(write(tmp_path / "a.csv", ["t", "q1", "q2", "tau1", "tau2"], [t, *q.T, *tau.T]), ARM)
    samples = log.samples(40)
    found = identify(ARM, *samples)
    truth = found.visible.matrix @ [x for body in ARM.bodies for x in np.asarray(body.inertia.parameters, float)]
    np.testing.assert_allclose(found.values, truth, atol=2e-3 * np.abs(truth).max())
    np.testing.assert_allclose(found.predict(*samples[:3]), samples.tau, atol=1e-2 * np.abs(tau).max())
    assert len(log.samples(40, thin=False).q) > 5 * len(samples.q)
    with pytest.raises(ArgumentError, match="leave nothing"):
        log.samples(40, start=1.0, stop=1.1)


def test_a_log_without_torques_says_which_columns_it_left(tmp_path):
    extra = ["t", "q1", "q2", "j1_force", "j2_force"]
    log = read_log(write(tmp_path / "a.csv", extra, [T, *Q.T, *TAU.T]), ARM)
    assert log.others == ("j1_force", "j2_force")
    with pytest.raises(
        ArgumentError, match=r"the file has 'j1_force', 'j2_force', too.*columns=\{'tau'.*--column tau="
    ):
        log.samples(40)
    bare = read_log(write(tmp_path / "b.csv", extra[:3], [T, *Q.T]), ARM)
    with pytest.raises(ArgumentError, match="the file has no more columns"):
        bare.samples(40)


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    stamps = (1_700_000_000_000_000_000 + np.round(T * 1e9)).astype("int64").astype("datetime64[ns]")
    columns = {"timestamp": stamps, "note": ["x"] * len(T)}
    columns |= {f"position.{n}": q for n, q in zip(NAMES, Q.T)} | {f"effort.{n}": x for n, x in zip(NAMES, TAU.T)}
    parquet.write_table(pyarrow.table(columns), tmp_path / "a.parquet")
    log = read_log(tmp_path / "a.parquet", ARM)
    same(log, 1e-6)  # the stamps have the digits of nanoseconds since 1970 in a float: 256 ns
    assert "columns without numbers: note" in log.notes


def test_mcap_with_json_and_with_ros_messages(tmp_path):
    writer_of = pytest.importorskip("mcap.writer").Writer
    path = tmp_path / "json.mcap"
    with path.open("wb") as file:
        writer = writer_of(file)
        writer.start()
        schema = writer.register_schema("joints", "jsonschema", b"{}")
        channel = writer.register_channel("/arm/joint_states", "json", schema)
        other = writer.register_channel("/battery", "json", schema)
        for t, q, tau in zip(T, Q, TAU):
            stamp = round(t * 1e9) + 1_700_000_000_000_000_000
            content = {"name": [*NAMES][::-1], "position": q[::-1].tolist(), "effort": tau[::-1].tolist()}
            writer.add_message(channel, stamp, json.dumps(content).encode(), stamp)
        writer.add_message(other, 0, b'{"voltage": 24}', 0)
        writer.finish()
    log = read_log(path, ARM)
    same(log, 1e-6)  # as above
    assert any("times are those at which they were logged" in note for note in log.notes)
    with pytest.raises(FormatError, match="there is no topic '/arm/joints'"):
        read_log(path, ARM, topic="/arm/joints")
    ros = pytest.importorskip("mcap_ros2.writer").Writer
    message = (
        "std_msgs/Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\nfloat64[] effort\n"
        "================================================================================\n"
        "MSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n"
        "================================================================================\n"
        "MSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n"
    )
    path = tmp_path / "ros.mcap"
    with path.open("wb") as file:
        writer = ros(file)
        schema = writer.register_msgdef("sensor_msgs/msg/JointState", message)
        for t, q, v, tau in zip(T, Q, V, TAU):
            whole = round(t * 1e9)
            stamp = {"sec": 1_700_000_000 + whole // 10**9, "nanosec": whole % 10**9}
            content = {"header": {"stamp": stamp, "frame_id": ""}, "name": [*NAMES], "position": q.tolist(),
                       "velocity": v.tolist(), "effort": tau.tolist()}  # fmt: skip
            writer.write_message("/joint_states", schema, content, log_time=whole, publish_time=whole)
        writer.finish()
    log = read_log(path, ARM)
    same(log, 1e-9)
    np.testing.assert_allclose(log.v, V, atol=1e-12)


SIX = da.load("demo_arm")
SIX_Q = np.random.default_rng(0).uniform(-1, 1, (40, 8))
SIX_T = np.arange(40) * 0.01


def six(path, titles, **options):
    return read_log(write(path / "six.csv", ["t", *titles], [SIX_T, *SIX_Q.T[: len(titles)]]), SIX, **options)


@pytest.mark.parametrize("style", ["q{}", "q_{}", "position[{}]", "joint_{}", "actual_q_{}", "Q{:02d}"])
@pytest.mark.parametrize("first", [0, 1])
def test_where_numbers_of_columns_begin_is_seen(tmp_path, style, first):
    np.testing.assert_array_equal(six(tmp_path, [style.format(first + k) for k in range(6)]).q, SIX_Q[:, :6])


@pytest.mark.parametrize("numbers", [range(7), range(8), range(1, 8), range(2, 8), range(3, 11)])
def test_numbers_that_are_not_those_of_the_joints_are_an_error_and_never_one_joint_off(tmp_path, numbers):
    titles = [f"q{k}" for k in numbers]
    with pytest.raises(FormatError, match=r"'q\d', .* are not numbered from 0 to 5 or from 1 to 6.*columns="):
        six(tmp_path, titles)
    named = six(tmp_path, titles, columns={"q": titles[:6]})
    np.testing.assert_array_equal(named.q, SIX_Q[:, :6])
    assert not named.notes or "leaves out" not in " ".join(named.notes)
    if 0 in numbers:
        log = six(tmp_path, titles, columns={"q": "q{number}"})  # whoever says so gets it, and a note
        np.testing.assert_array_equal(log.q, SIX_Q[:, 1:7])
        assert "'q{number}' leaves out the columns numbered 0" in str(log)


def test_names_of_joints_win_over_numbers(tmp_path):
    names = [joint.name for joint in SIX.joints if joint.nq]
    mixed = [2, 0, 5, 1, 4, 3]
    titles = [*(f"q{k}" for k in range(6)), *(f"q_{names[k]}" for k in mixed)]
    path = write(tmp_path / "a.csv", ["t", *titles], [SIX_T, *SIX_Q.T[:6], *(SIX_Q[:, k] + 9 for k in mixed)])
    with pytest.warns(IdentificationWarning):  # 9 rad are beyond the ranges
        np.testing.assert_allclose(read_log(path, SIX).q, SIX_Q[:, :6] + 9)


@pytest.mark.parametrize("numbers", [(1, 2), (1, 2, 3)])
def test_joints_called_like_numbers_are_not_taken_by_position(tmp_path, numbers):
    joint = (
        "<link name='b{0}'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/>"
        "</inertial></link><joint name='joint_{0}' type='continuous'><parent link='b{1}'/><child link='b{0}'/></joint>"
    )
    arm = da.load(f"<robot name='r'><link name='b1'/>{joint.format(2, 1)}{joint.format(3, 2)}</robot>")
    path = write(tmp_path / "a.csv", ["t", *(f"joint_{k}" for k in numbers)], [T, *np.stack([T, *Q.T])[: len(numbers)]])
    if numbers == (1, 2):
        with pytest.raises(FormatError, match="are called like joints, but not those of all 2"):
            read_log(path, arm)
    else:
        np.testing.assert_array_equal(read_log(path, arm).q, Q)


def test_some_torques_without_a_joint_are_left_out_and_said(tmp_path):
    titles = ["t", "q1", "q2", "tau0", "tau1", "tau2"]
    log = read_log(write(tmp_path / "a.csv", titles, [T, *Q.T, T, *TAU.T]), ARM)
    assert log.tau is None and "'tau0', 'tau1', 'tau2' are not numbered from 0 to 1 or from 1 to 2" in str(log)


CLOCKS = {
    "time_ms": 1e3, "timestamp_ms": 1e3, "Timestamp.ms": 1e3, "timeMs": 1e3, "time_us": 1e6, "t_usec": 1e6,
    "stamp_ns": 1e9, "timestamp_nsec": 1e9, "time_milliseconds": 1e3, "time (us)": 1e6, "nanoseconds": 1e9,
    "time_s": 1.0, "t_sec": 1.0, "seconds": 1.0,
}  # fmt: skip


@pytest.mark.parametrize("title", CLOCKS)
def test_units_of_times_in_their_names(tmp_path, title):
    path = write(tmp_path / "a.csv", [title, "q1", "q2", "tau1", "tau2"], [CLOCKS[title] * T, *Q.T, *TAU.T])
    same(read_log(path, ARM), 1e-11)


@pytest.mark.parametrize(("unit", "size"), [("s", 1.0), ("ms", 1e3), ("us", 1e6), ("ns", 1e9)])
@pytest.mark.parametrize("title", ["t", "time", "timestamp", "epoch"])
def test_times_of_day_tell_their_unit_by_their_size(tmp_path, unit, size, title):
    path = write(tmp_path / "a.csv", [title, "q1", "q2", "tau1", "tau2"], [(1.7e9 + T) * size, *Q.T, *TAU.T])
    log = read_log(path, ARM)
    same(log, 1e-6)
    assert log.sources["t"][1] == unit and log.rate == pytest.approx(500, rel=1e-4)


@pytest.mark.parametrize(("unit", "size"), [("ms", 1e3), ("us", 1e6), ("ns", 1e9)])
@pytest.mark.parametrize("begin", [0.0, 3.0, 1000.0])
def test_a_unit_that_nobody_says_and_an_impossible_rate_are_an_error(tmp_path, unit, size, begin):
    path = write(tmp_path / "a.csv", ["t", "q1", "q2", "tau1", "tau2"], [size * (begin + T), *Q.T, *TAU.T])
    with pytest.raises(ArgumentError, match=rf"nothing says in which unit the times in 't' are.*time_unit=.*'{unit}'"):
        read_log(path, ARM)
    same(read_log(path, ARM, time_unit=unit), 1e-6)
    same(read_log(path, ARM, units={"t": unit}), 1e-6)
    with pytest.raises(ArgumentError, match="time_unit = 's', but"):
        read_log(path, ARM, time_unit="s", units={"t": unit})
    assert read_log(path, ARM, time_unit="s").rate == pytest.approx(500 / size)  # who says so has slow samples


def test_times_of_too_few_digits_are_an_error(tmp_path):
    path = write(tmp_path / "a.csv", ["stamp_sec", "q1", "q2"], [np.floor(T), *Q.T])
    with pytest.raises(FormatError, match=r"rows have the time of the row before: is there a column with more digits"):
        read_log(path, ARM)


@pytest.mark.parametrize(
    "options",
    [
        {"units": {"q": 3}}, {"units": {"t": None}}, {"units": "deg"}, {"units": 3}, {"columns": 3}, {"columns": "q"},
        {"columns": {"q": 3}}, {"columns": {"t": 3}}, {"columns": {"t": ["t"]}}, {"columns": {"q": [3, None]}},
        {"columns": {"q": {"shoulder": 1, "elbow": 2}}}, {"topic": 3}, {"time_unit": 3}, {"time_unit": "fortnight"},
    ],
)  # fmt: skip
def test_arguments_of_other_kinds_are_errors_of_the_library(tmp_path, options):
    path = write(tmp_path / "a.csv", ["t", "q1", "q2"], [T, *Q.T])
    with pytest.raises(da.errors.DalembertError):
        read_log(path, ARM, **options)


@pytest.mark.filterwarnings("ignore::dalembert.errors.IdentificationWarning")
def test_damaged_parquet_files_are_errors_of_the_library(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path, rng = tmp_path / "a.parquet", np.random.default_rng(0)
    parquet.write_table(pyarrow.table({"t": T[:200], "q1": Q[:200, 0], "q2": Q[:200, 1], "note": ["x"] * 200}), path)
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"note", b"n\xb8te"))
    with pytest.raises(FormatError, match=r"not a valid Parquet file"):
        read_log(path, ARM)
    for trial in range(100):
        damaged = bytearray(whole if trial % 3 else whole[: rng.integers(1, len(whole))])
        for place in rng.integers(len(damaged), size=rng.integers(1, 8)):
            damaged[place] = rng.integers(256)
        path.write_bytes(damaged)
        with contextlib.suppress(da.errors.DalembertError):
            read_log(path, ARM)


@pytest.mark.parametrize(
    "options",
    [
        {"q": 3}, {"tau": None}, {"v": V[:50]}, {"unknown": 3}, {"unknown": np.zeros(2)}, {"models": 3},
        {"models": ["none"]}, {"models": np.zeros((3, 3))},
    ],
)  # fmt: skip
def test_choice_of_friction_refuses_other_kinds_of_arguments(options):
    given = {"q": Q[:100], "v": V[:100], "a": A[:100], "tau": TAU[:100]} | options
    with pytest.raises(ArgumentError):
        choose_friction(ARM, **given)


def test_thinning_is_a_switch(tmp_path):
    log = read_log(write(tmp_path / "a.csv", ["t", "q1", "q2", "tau1", "tau2"], [T, *Q.T, *TAU.T]), ARM)
    with pytest.raises(ArgumentError, match="thin"):
        log.samples(40, thin=np.zeros(2))
