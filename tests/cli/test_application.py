"""The frame around all commands: help, exit codes, errors, warnings, pipes, interrupts, hostile arguments."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from functools import partial
from typing import Any

import pytest
from cli_helpers import process, run
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dalembert
from dalembert.cli import application, main, options, show
from dalembert.cli.application import COMMANDS, build_parser
from dalembert.errors import PYTHON as PYTHON_WORDING
from dalembert.errors import ArgumentError, DalembertError

NAMES = [module.__name__.rpartition(".")[2] for module in COMMANDS]


@pytest.mark.parametrize("name", NAMES)
def test_every_command_teaches_with_examples_that_name_it(capsys, name):
    outcome = run(capsys, name, "--help")
    assert outcome.code == 0
    assert "example" in outcome.out
    assert f"dalembert {name}" in outcome.out


@pytest.mark.parametrize("module", COMMANDS)
def test_the_examples_in_the_help_are_valid_command_lines(module, monkeypatch):
    monkeypatch.setattr(options, "find_spec", lambda package: object())  # whatever is installed here
    lines = [line.strip() for line in (module.__doc__ or "").splitlines()]
    examples = [line for line in lines if line.startswith(("dalembert ", 'eval "$(dalembert '))]
    assert examples
    for line in examples:
        words = (
            line.removeprefix('eval "$(').partition(")")[0].partition("   ")[0].partition(" | ")[0].partition(" >")[0]
        )
        found = build_parser().parse_args(shlex.split(words)[1:])
        assert found.run is module.run or found.command in NAMES


def test_help_lists_every_command(capsys):
    outcome = run(capsys, "--help")
    assert outcome.code == 0
    assert all(name in outcome.out for name in NAMES)


def test_no_command_is_an_error_that_shows_the_help(capsys):
    outcome = run(capsys)
    assert outcome.code == 2
    assert outcome.out == ""
    assert "first steps" in outcome.err


def test_version(capsys):
    assert run(capsys, "--version").out.strip() == f"dalembert {dalembert.__version__}"


def test_module_and_script_are_the_same_command():
    outcome = process("--version")
    assert (outcome.returncode, outcome.stdout.strip()) == (0, f"dalembert {dalembert.__version__}")


def test_help_does_not_load_numpy():
    code = "import sys; from dalembert.cli import main; main(['--help']); sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60).returncode == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["shwo", "demo_arm"],
        ["show"],
        ["show", "demo_arm", "--bas", "free"],
        ["show", "demo_arm", "--base", "floating"],
        ["show", "demo_arm", "--set", "m1"],
        ["show", "demo_arm", "--set", "m1=nan"],
        ["verify", "demo_arm", "--states", "0"],
        ["verify", "demo_arm", "--states", "1e99"],
        ["verify", "demo_arm", "--tolerance", "-1"],
        ["bench", "demo_arm", "--batch", "1.5"],
        ["bench", "demo_arm", "--seconds", "inf"],
    ],
)
def test_wrong_arguments_are_explained_with_exit_code_2(capsys, arguments):
    outcome = run(capsys, *arguments)
    assert outcome.code == 2
    assert outcome.out == ""
    assert "error" in outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["show", "no_such_robot"], "no robot 'no_such_robot'"),
        (["show", "demo_arn"], "did you mean 'demo_arm'"),
        (["show", "missing.urdf"], "missing.urdf"),
        (["show", "<robot name='x'"], "malformed XML"),
        (["show", "stacker", "--set", "m9=1"], "no symbol 'm9'"),
        (["cost", "demo_arm", "--quantity", "masmatrix"], "did you mean 'mass_matrix'"),
        (["cost", "demo_arm", "--quantity", "jacobian", "--frame", "flnge"], "did you mean 'flange'"),
        (["cost", "stacker", "--algorithms", "--keep-symbols"], "--keep-symbols"),
        (["export", "demo_arm", "bias", "--language", "fortran"], "no language 'fortran'"),
        (["bench", "demo_arm", "--quantity", "linearize", "--batch", "1e7"], "--batch"),
    ],
)
def test_errors_of_the_library_are_one_clean_message(capsys, arguments, words):
    outcome = run(capsys, *arguments)
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.startswith("error: ")
    assert words in outcome.err
    assert "Traceback" not in outcome.err


def test_the_traceback_comes_when_asked_for(capsys):
    outcome = run(capsys, "show", "no_such_robot", "--traceback")
    assert outcome.code == 2
    assert "Traceback" in outcome.err


def test_a_bug_is_called_a_bug_and_shows_its_traceback(capsys, monkeypatch):
    def broken(options, terminal):
        raise KeyError("oops")

    monkeypatch.setattr(show, "run", broken)
    outcome = run(capsys, "show", "demo_arm")
    assert outcome.code == 70
    assert "KeyError" in outcome.err
    assert "bug" in outcome.err


def test_an_interrupt_is_quiet(capsys, monkeypatch):
    def interrupted(options, terminal):
        raise KeyboardInterrupt

    monkeypatch.setattr(show, "run", interrupted)
    outcome = run(capsys, "show", "demo_arm")
    assert outcome.code == 130
    assert "Traceback" not in outcome.err


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_signal_ends_a_long_command_at_once():
    command = [sys.executable, "-m", "dalembert", "bench", "demo_arm", "--seconds", "60"]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # shells let what runs behind them ignore it
    with subprocess.Popen(command, preexec_fn=heard, **pipes) as child:
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(timeout=3)
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=20)
    assert child.returncode == 130
    assert "Traceback" not in err


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
@pytest.mark.parametrize("arguments", [["--help"], ["show", "demo_arm"], ["cost", "demo_arm", "--json"]])
def test_a_reader_that_goes_away_is_no_error(arguments):
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "dalembert", *arguments]
    outcome = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(writing)
    assert outcome.returncode in ((0, 141) if arguments == ["--help"] else (141,))  # argparse may swallow the error
    assert outcome.stderr == ""


MASSLESS = """<robot name="r"><link name="base"/>{links}</robot>"""
LINK = """
<link name="l{k}"><inertial>
<mass value="1"/><inertia ixx="1" iyy="1" izz="9" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j{k}" type="revolute"><parent link="{parent}"/><child link="l{k}"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
"""


def doubtful(tmp_path, links: int) -> str:
    """A URDF whose links break the triangle inequality, each of which is a warning."""
    parts = [LINK.format(k=k, parent=f"l{k - 1}" if k else "base") for k in range(links)]
    path = tmp_path / "doubtful.urdf"
    path.write_text(MASSLESS.format(links="".join(parts)))
    return str(path)


def test_warnings_are_single_lines_and_not_too_many(capsys, tmp_path):
    outcome = run(capsys, "cost", doubtful(tmp_path, 9), "--quantity", "gravity")
    lines = outcome.err.strip().splitlines()
    assert outcome.code == 0
    assert all(line.startswith("warning: ") for line in lines)
    assert 1 <= len(lines) <= application.MOST_WARNINGS + 1
    assert "doubtful.urdf" in lines[0] or "l0" in lines[0]


def test_warnings_of_numpy_about_its_arithmetic_are_not_shown(tmp_path):
    path = tmp_path / "empty.toml"
    joint = '[[joint]]\nname = "j"\nkind = "revolute"\nparent = "world"\nchild = "link"\naxis = "z"\n'
    path.write_text(f'name = "empty"\n[[body]]\nname = "link"\n{joint}')
    outcome = process("simulate", str(path))
    assert outcome.returncode == 2 and "mass matrix is singular" in outcome.stderr
    assert "divide by zero" not in outcome.stderr


def test_show_lists_what_is_doubtful_in_its_table_alone(capsys, tmp_path):
    outcome = run(capsys, "show", doubtful(tmp_path, 9))
    assert outcome.err == ""
    assert all(f"l{k}" in outcome.out for k in range(9))


def test_control_characters_of_a_file_do_not_reach_the_terminal(capsys, tmp_path):
    path = tmp_path / "evil.toml"
    path.write_text(
        'name = "a\\u001b[31mb"\n[[body]]\nname = "c\\u0007d"\nmass = 1\ninertia = [1, 1, 1]\n'
        '[[joint]]\nname = "e\\u001b]0;x"\nkind = "revolute"\nparent = "world"\nchild = "c\\u0007d"\n'
    )
    for arguments in (["show", str(path), "--frames"], ["verify", str(path), "--quick"], ["show", "\x1b[2J\x07"]):
        outcome = run(capsys, *arguments)
        assert "\x1b" not in outcome.out + outcome.err
        assert "\x07" not in outcome.out + outcome.err


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    command=st.sampled_from(
        ["show", "derive", "cost", "verify", "export", "bench", "robots", "completion", "nonsense"]
    ),
    words=st.lists(
        st.one_of(
            st.text(max_size=12),
            st.sampled_from(
                ["--base", "--set", "=", "a=b", "--", "-", "..", "/", "/dev/null", "\0", "\udcff", "--frame", "-1", "~"]
            ),
        ),
        max_size=4,
    ),
)
def test_hostile_arguments_end_in_an_exit_code(capsys, command, words):
    outcome = run(capsys, command, *words)
    assert outcome.code in (0, 2)
    if outcome.code == 2:
        assert outcome.err


def test_standard_output_in_ascii_is_served_too():
    outcome = process("show", "<robot name='é…'><link name='ü'/></robot>", environment={"PYTHONIOENCODING": "ascii"})
    assert outcome.returncode == 0
    assert outcome.stdout.isascii()


def test_filters_of_warnings_are_left_as_they_were(capsys):
    import warnings

    before = list(warnings.filters), warnings.showwarning
    run(capsys, "robots")
    assert (list(warnings.filters), warnings.showwarning) == before


def test_main_reads_the_arguments_of_the_process(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["dalembert", "--version"])
    assert main() == 0
    assert dalembert.__version__ in capsys.readouterr().out


def test_errors_that_are_not_ours_but_the_systems_are_clean_too(capsys, monkeypatch):
    def refused(options, terminal):
        raise PermissionError(13, "Permission denied", "x")

    monkeypatch.setattr(show, "run", refused)
    outcome = run(capsys, "show", "demo_arm")
    assert outcome.code == 2
    assert outcome.err == "error: x: Permission denied\n"
    assert not issubclass(PermissionError, DalembertError)


@pytest.mark.parametrize(
    "words",
    [
        ["compare", "demo_arm", "puma560", "--states", "2"],
        ["compare", "demo_arm", "--states", "2", "puma560"],
        ["compare", "--states", "2", "demo_arm", "puma560"],
        ["compare", "--states=2", "--", "demo_arm", "puma560"],
    ],
)
def test_options_may_stand_anywhere_among_the_arguments(words):
    found = build_parser().parse_args(words)
    assert (found.model, found.other, found.states) == ("demo_arm", "puma560", 2)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["shwo", "demo_arm"], "did you mean 'show'?"),
        (["panda.urdf"], "`dalembert show panda.urdf`"),
        (["fly"], "choose one of show, view"),
        (["show", "demo_arm", "--jsn"], "did you mean --json?"),
        (["simulate", "demo_arm", "--duration", "2"], "did you mean --time?"),
        (["simulate", "demo_arm", "--save", "x.csv"], "see `dalembert simulate --help`"),
        (["show", "demo_arm", "--qqqqqq"], "see `dalembert show --help`"),
        (["show", "demo_arm", "puma560"], "'puma560' is one argument too many"),
        (["simulate", "demo_arm", "--q", "-1,2"], "--q=-0.5"),
        (["help", "shwo"], "did you mean 'show'?"),
    ],
)
def test_what_is_misspelt_is_answered_with_what_may_be_meant(capsys, words, said):
    outcome = run(capsys, *words)
    assert outcome.code == 2 and outcome.out == ""
    assert said in outcome.err


def test_help_is_a_command_too(capsys):
    assert run(capsys, "help").out == run(capsys, "--help").out
    assert run(capsys, "help", "show").out == run(capsys, "show", "--help").out


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["show", "no_such_robot", "--json"], 2),
        (["show", "--json"], 2),
        (["shwo", "--json"], 2),
        (["show", "demo_arm", "--json", "--nonsense"], 2),
        (["simulate", "demo_arm", "--json", "--q", "nobody=1"], 2),
        (["show", "/", "--json"], 2),
    ],
)
def test_machines_get_json_upon_errors_too(capsys, words, code):
    outcome = run(capsys, *words)
    assert outcome.code == outcome.json["exit_code"] == code
    assert outcome.json["error"].splitlines()[0] in outcome.err


def test_bugs_and_interrupts_are_json_where_asked_for(capsys, monkeypatch):
    for raised, code in ((KeyError("oops"), 70), (KeyboardInterrupt(), 130)):

        def broken(options, terminal, raised=raised):
            raise raised

        monkeypatch.setattr(show, "run", broken)
        assert run(capsys, "show", "demo_arm", "--json").json["exit_code"] == code


PYTHON = re.compile(r"\b(da|dalembert)\.\w+\(|\b[a-z_]+=[\['{(]|\binclude = \[|\.partial\b")
"""What belongs into a message for Python, not for the command line."""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["show", "no_such_robot"], "`dalembert robots` lists"),
        (["derive", "cart_pole", "--include", "fire"], "--include: choose among"),
        (["derive", "cart_pole", "--include", "fire", "--include", "ice"], "--include"),
        (["compare", "demo_arm", "puma560"], "--joint HERE=THERE"),
        (["simulate", "double_pendulum", "--q=1,2,3"], "--q has shape"),
        (["simulate", "double_pendulum", "--v=1,2,3"], "--v has shape"),
        (["compare", "demo_arm", "nothing.urdf"], "nothing.urdf"),
        (["compare", "four_bar", "--with", "mujoco"], "no place for constraints ('pin'); give its own description"),
        (["export", "demo_arm", "analytic_jacobian", "--coordinates", "foo"], "--coordinates foo: choose"),
        (["export", "demo_arm", "jacobian", "--coordinates", "ZYX"], "--coordinates does not matter for jacobian"),
        (["export", "demo_arm", "bias", "--frame", "flange"], "--frame does not matter for bias"),
        (["simulate", "demo_arm", "--time", "1e9", "--method", "rk4", "--step", "1000"], "not finite"),
    ],
)
def test_messages_name_options_and_not_arguments_of_python(capsys, words, said):
    outcome = run(capsys, *words)
    text = " ".join((outcome.out + outcome.err).split())
    assert outcome.code in (1, 2) and said in text
    assert not PYTHON.search(text), text


def test_every_error_and_warning_of_an_argument_can_be_said_in_options():
    for name, option in options.NAMES.items():
        error = ArgumentError("{argument} is wrong", argument=name, value="x", remedy="give {setting}")
        assert option in error.said(options.OPTIONS) and "{" not in error.said(options.OPTIONS)
        assert str(error) == f"{name} is wrong; give {PYTHON_WORDING.setting(name, 'x')}"


@pytest.mark.parametrize(
    ("command", "option"), [("simulate", "--q"), ("simulate", "--v"), ("simulate", "--force"), ("view", "--at")]
)
def test_a_joint_that_follows_is_refused_by_the_option_that_names_it(capsys, tmp_path, command, option):
    arm = dalembert.load("rrr", parameters="default")
    joints = [*arm.joints[:-1], arm.joints[-1].replace(mimic=dalembert.Mimic(arm.joints[0].name))]
    dalembert.write_toml(arm.replace(joints=joints), tmp_path / "arm.toml")
    outcome = run(capsys, command, str(tmp_path / "arm.toml"), option, f"{joints[-1].name}=0.1")
    assert outcome.code == 2 and f"{option}[{joints[-1].name!r}]: that joint follows" in outcome.err


def test_where_one_may_not_write_is_told_before_the_work(capsys, tmp_path, monkeypatch):
    locked = tmp_path / "locked"
    locked.mkdir()
    monkeypatch.setattr(os, "access", lambda path, mode: "locked" not in str(path))
    outcome = run(capsys, "simulate", "demo_arm", "--to", str(locked / "motion.csv"))
    assert outcome.code == 2 and "you may not write to" in outcome.err
    for wrong, words in (("x\0.csv", "name of a file"), (".csv", "does not end in")):
        outcome = run(capsys, "simulate", "demo_arm", "--to", wrong)
        assert outcome.code == 2 and words in outcome.err
    (tmp_path / "folder.csv").mkdir()
    assert "is a folder" in run(capsys, "simulate", "demo_arm", "--to", str(tmp_path / "folder.csv")).err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs the device that is always full")
def test_a_full_disk_is_told():
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "dalembert", "show", "demo_arm"]
        outcome = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert outcome.returncode == 2
    assert "No space left" in outcome.stderr and "Errno" not in outcome.stderr and "Traceback" not in outcome.stderr


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (["simulate", "demo_arm", "--plot", "x.png"], "plot"),
        (["verify", "demo_arm", "--plot", "x.png"], "plot"),
        (["linearize", "demo_arm", "--plot", "x.png"], "plot"),
        (["simulate", "demo_arm", "--to", "x.parquet"], "tables"),
        (["derive", "demo_arm", "--to", "x.html"], "report"),
    ],
)
def test_a_missing_extra_is_told_before_the_work(capsys, monkeypatch, words, extra):
    monkeypatch.setattr(options, "find_spec", lambda package: None)
    outcome = run(capsys, *words)
    assert outcome.code == 2 and f"pip install 'dalembert[{extra}]'" in outcome.err
