"""Every block of the README works as printed: Python runs and prints what is shown, commands exist."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import tomllib
from pathlib import Path

import pytest

from dalembert.cli.application import COMMANDS, build_parser

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
"""Language and content of every block, in order."""


def test_every_block_is_of_a_kind_that_is_tested():
    assert {language for language, _ in BLOCKS} == {"python", "text", "sh"}


def test_python_blocks_run_and_print_what_is_shown():
    names: dict[str, object] = {}
    shown = iter([*BLOCKS, ("", "")])
    following = iter([*BLOCKS[1:], ("", "")])
    compared = 0
    for (language, source), (next_language, expected) in zip(shown, following):
        if language != "python":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(source, "README.md", "exec"), names)  # the README is our own text
        if next_language == "text":
            assert printed.getvalue() == expected
            compared += 1
    assert compared == [language for language, _ in BLOCKS].count("text")


def commands() -> list[str]:
    """Command lines of the blocks, and those quoted in the text."""
    lines = [line for language, source in BLOCKS if language == "sh" for line in source.splitlines()]
    return [*lines, *re.findall(r"`(make \w+|dalembert [^`]+)`", README)]


def test_there_are_exactly_two_commands_to_begin_with():
    first = next(source for language, source in BLOCKS if language == "sh")
    assert first.split("\n") == ["make demo", "make test", ""]


@pytest.mark.parametrize("line", commands())
def test_commands_exist(line):
    program, *arguments = shlex.split(line, comments=True)
    if program == "make":
        targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert set(arguments) <= set(targets)
    else:
        assert program == "dalembert"
        assert build_parser().parse_args(arguments).command in arguments


def test_the_command_line_section_does_not_forget_what_users_need():
    named = {shlex.split(line, comments=True)[1] for line in commands() if line.startswith("dalembert")}
    every = {module.__name__.rpartition(".")[2] for module in COMMANDS}
    assert every - named <= {"robots", "completion"}


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert target.startswith("https://") or (ROOT / target).exists()


def test_times_are_those_of_the_benchmark():
    measured = (ROOT / "docs" / "benchmarks" / "cpu.txt").read_text(encoding="utf-8")
    cells = re.findall(r"^\| ([^|]+) \| `(\w+)` \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", README, re.MULTILINE)
    assert len(cells) == 4
    for robot, quantity, *numbers in cells:
        assert re.search(rf"^{robot} +{quantity} +10000 +{' +'.join(map(re.escape, numbers))} ", measured, re.MULTILINE)
    ours, theirs = re.search(r"takes ([\d.]+) µs beside ([\d.]+) µs", README).groups()
    assert re.search(rf"kernel\(q, v, a\) +{ours}\n.*\n  pinocchio.rnea +{theirs}\n", measured)
    assert f"Pinocchio {re.search('Pinocchio ([0-9.]+) ', README)[1]}," in measured


def test_versions_and_licence_agree():
    import dalembert

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"version: {dalembert.__version__}\n" in citation
    assert f"license: {project['license']}\n" in citation
    assert dalembert.__version__.partition(".dev")[0] in (ROOT / "CHANGELOG.md").read_text()


def test_contributing_fits_one_screen():
    assert len((ROOT / "CONTRIBUTING.md").read_text().splitlines()) <= 45


def test_figures_of_contact_are_those_of_default_settings_as_measured():
    """The README quotes ten sweeps, the default of ``rollout``, with the residual that they leave."""
    from dalembert.simulation.contacting import SWEEPS

    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    quoted = re.search(
        r"takes ([\d.]+) µs, a (\d+)th of MuJoCo.* by (\S+) m/s \((\S+) at worst\).* ([\d.]+) billion", text
    )
    assert quoted is not None
    figures = ROOT / "docs" / "benchmarks"
    own = (figures / "contact.txt").read_text(encoding="utf-8").partition("talos:")[0]
    step = re.search(rf"dalembert, {SWEEPS} sweeps +([\d.]+) us a step, (\d+) times", own)
    left = re.search(rf"dalembert, {SWEEPS} sweeps .*residual (\S+) \(worst (\S+)\)", own)
    card = (figures / "contact_gpu.txt").read_text(encoding="utf-8").partition(f"go2, float32, {SWEEPS} sweeps")[2]
    rate = re.search(r" 65536 worlds: +([\d.]+) million", card)
    assert quoted.groups()[:2] == step.groups()
    assert [float(x) for x in quoted.groups()[2:4]] == [float(x) for x in left.groups()]
    assert float(quoted[5]) == round(float(rate[1]) / 1000, 2)
