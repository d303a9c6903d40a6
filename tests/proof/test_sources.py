"""The pages on the source documents name files and theorems that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dalembert.proof import THEOREMS

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted((ROOT / "docs" / "sources").glob("*.md"))


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
