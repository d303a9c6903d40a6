"""The page as a browser shows it: opened in headless Chromium, wide and on a phone, it is not blank."""

from __future__ import annotations

import re
import struct
import subprocess
import zlib
from pathlib import Path

import pytest
import report_cases as cases

import dalembert as da
from dalembert.report import report

pytestmark = pytest.mark.skipif(cases.CHROMIUM is None, reason="needs Chromium")


def screenshot(page: Path, width: int, height: int) -> Path:
    """A picture of a page, as high as the window."""
    target = page.with_suffix(f".{width}.png")
    command = [
        str(cases.CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
        f"--user-data-dir={page.parent / 'profile'}", f"--window-size={width},{height}", f"--screenshot={target}",
        page.as_uri(),
    ]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return target


def marked_rows(picture: Path) -> int:
    """Rows of pixels of a PNG that differ from the row above: none on a blank page."""
    data = picture.read_bytes()
    assert data.startswith(b"\x89PNG")
    width, height, depth, colour = struct.unpack(">IIBB", data[16:26])
    size = {2: 3, 6: 4}[colour] * depth // 8 * width + 1
    packed, at = b"", 8
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        if data[at + 4 : at + 8] == b"IDAT":
            packed += data[at + 8 : at + 8 + length]
        at += 12 + length
    raw = zlib.decompress(packed)
    lines = [raw[k * size : (k + 1) * size] for k in range(height)]
    return sum(len(set(line[1:])) > 4 for line in lines)


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    return report(da.load("stacker"), tmp_path_factory.mktemp("browser") / "stacker.html", "kane")


@pytest.mark.parametrize(("width", "height"), [(900, 3000), (500, 2000)])
def test_the_page_is_full_of_content(page, width, height):
    assert marked_rows(screenshot(page, width, height)) > 0.3 * height


def test_a_blank_page_would_be_noticed(tmp_path):
    blank = tmp_path / "blank.html"
    blank.write_text("<!DOCTYPE html><title>nothing</title>")
    assert marked_rows(screenshot(blank, 500, 300)) == 0


def test_formulas_are_drawn(page):
    """A page of nothing but the displayed formulas is full of ink too."""
    formulas = re.findall(
        r'<math (?:display="block"|style="[^"]*")>.*?</math>', page.read_text(encoding="utf-8"), re.DOTALL
    )
    assert len(formulas) > 10
    only = page.with_name("formulas.html")
    only.write_text(f'<!DOCTYPE html><meta charset="utf-8">{"".join(formulas)}', encoding="utf-8")
    assert marked_rows(screenshot(only, 900, 1000)) > 400
