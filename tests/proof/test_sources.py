"""The pages on the source documents name files and theorems that exist."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from dalembert.cli.application import COMMANDS
from dalembert.dynamics import ALL_QUANTITIES
from dalembert.formulations.equations import CITATIONS
from dalembert.proof import THEOREMS

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted((ROOT / "docs" / "sources").glob("*.md"))


def test_the_manual_says_on_every_page_what_the_codes_stand_for():
    lines = (ROOT / "docs" / "hooks" / "codes.md").read_text(encoding="utf-8").splitlines()
    codes = ("THESIS", "PARSA", "FORBES", "NGUYEN", "KHATIB")
    assert lines == [f"*[{code}]: {CITATIONS[code]}" for code in codes]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_named_exists(page):
    named = set(re.findall(r"`([\w/]+\.py)`", page.read_text(encoding="utf-8")))
    missing = {name for name in named if not (ROOT / name).exists() and not (ROOT / "src/dalembert" / name).exists()}
    assert missing == set(), "after files have moved: python docs/hooks/equation_map.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_theorem_named_exists(page):
    text = page.read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:THESIS|PARSA|FORBES|NGUYEN) [^`]+)`", text))
    assert named <= set(THEOREMS)


def test_every_erratum_named_is_tried():
    page = (ROOT / "docs" / "sources" / "errata.md").read_text(encoding="utf-8")
    tests = (ROOT / "tests" / "proof" / "test_errata.py").read_text(encoding="utf-8")
    tried = set(re.findall(r"^def ((?:thesis|parsa|forbes|nguyen)_\w+)", tests, re.MULTILINE))
    assert set(re.findall(r"`tests/proof/test_errata.py` (\w+)", page)) == tried


AUDIT = (ROOT / "docs" / "sources" / "audit.md").read_text(encoding="utf-8")


def test_every_call_of_the_audit_exists():
    named = set(re.findall(r"`(dalembert(?:\.\w+)+)`", AUDIT))
    assert len(named) > 30
    assert [name for name in sorted(named) if not exists(name)] == []


def exists(name: str) -> bool:
    """Whether a dotted name is an attribute of the longest module that it begins with."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            value: object = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            value = getattr(value, part, None)
        return value is not None
    return False


def test_every_quantity_and_command_of_the_audit_exists():
    for words in re.findall(r"quantity `(\w+)`", AUDIT):
        assert words in ALL_QUANTITIES
    commands = {command.__name__.rpartition(".")[2] for command in COMMANDS}
    assert set(re.findall(r"`dalembert (\w+)`", AUDIT)) <= commands


def test_every_link_of_the_audit_leads_somewhere():
    for target in re.findall(r"\]\(([\w./-]+\.md)\)", AUDIT):
        assert (ROOT / "docs" / "sources" / target).exists(), target


def test_the_audit_has_all_rows_and_the_map_no_dashes():
    numbers = [int(number) for number in re.findall(r"^\| (\d+) \|", AUDIT, re.MULTILINE)]
    assert len(numbers) == len(set(numbers)) == 29 + 22
    table = (ROOT / "docs" / "sources" / "map.md").read_text(encoding="utf-8")
    assert not re.search(r"^\| [^|]+ \| -? *\|", table, re.MULTILINE)
