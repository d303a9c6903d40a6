"""The pictures of the manual: each is made by the script, and each is used."""

from __future__ import annotations

import re

import viewer_cases as cases

SCRIPT = (cases.DOCS / "pictures" / "screenshots.py").read_text(encoding="utf-8")


def test_every_picture_is_made_by_the_script_and_shown_in_the_manual():
    made = set(re.findall(r'"([\w-]+\.png)"', SCRIPT))
    there = {path.name for path in (cases.DOCS / "assets").glob("*.png")}
    text = "".join(path.read_text(encoding="utf-8") for path in cases.DOCS.rglob("*.md"))
    shown = set(re.findall(r"assets/([\w-]+\.png)", text))
    assert made <= there and made <= shown and shown <= there


def test_pictures_are_of_a_size_that_can_be_kept():
    sizes = {path.name: path.stat().st_size for path in (cases.DOCS / "assets").glob("*.png")}
    assert all(20_000 < size < 400_000 for size in sizes.values()), sizes
