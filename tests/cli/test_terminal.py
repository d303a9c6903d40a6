"""Text, tables, colour and JSON."""

from __future__ import annotations

import io
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalembert.cli.terminal import Cell, Terminal, duration
from dalembert.text.layout import printable, text_width


class Screen(io.StringIO):
    """A terminal to look at."""

    def isatty(self) -> bool:
        return True


def terminal(monkeypatch, screen: bool) -> Terminal:
    made = Screen if screen else io.StringIO
    monkeypatch.setattr("sys.stdout", made())
    monkeypatch.setattr("sys.stderr", made())
    return Terminal()


def test_colour_is_for_terminals_only(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for screen in (True, False):
        t = terminal(monkeypatch, screen)
        t.say("hello", "good")
        t.table(("a",), [(Cell("b", "bad"),)])
        assert ("\x1b[32mhello" in t.out.getvalue()) is screen
        assert ("\x1b[1;31mb" in t.out.getvalue()) is screen


@pytest.mark.parametrize("variable", [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colour_can_be_refused(monkeypatch, variable):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv(*variable)
    t = terminal(monkeypatch, True)
    t.say("hello", "good")
    assert t.out.getvalue() == "hello\n"


def test_progress_is_for_terminals_only_and_leaves_nothing_behind(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    t = terminal(monkeypatch, False)
    t.progress("working")
    assert t.err.getvalue() == ""
    t = terminal(monkeypatch, True)
    t.progress("working")
    t.say("done")
    assert t.err.getvalue().endswith("\r\x1b[K")


@given(st.lists(st.tuples(st.text(max_size=9), st.integers(-999, 999)), min_size=1))
def test_columns_are_aligned(rows):
    t = Terminal()
    t.out = io.StringIO()
    t.table(("name", "number"), [(name, str(number)) for name, number in rows])
    lines = t.out.getvalue().split("\n")[:-1]
    assert len(lines) == len(rows) + 1
    if any(name for name, _ in rows):
        assert len({text_width(line) for line in lines}) == 1  # numbers end in the same column


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_columns_are_aligned_in_every_encoding_and_signs_of_our_own_are_not_escaped(encoding):
    t = Terminal()
    t.out = io.TextIOWrapper(io.BytesIO(), encoding)
    t.table(("value", "period"), [("0 ± 4.79 i", "1.3"), ("-3", "1"), ("Größe", "2")])
    t.say("├─ hand\n│  └─ finger…")
    t.flush()
    *table, first, second = t.out.buffer.getvalue().decode(encoding).splitlines()
    assert len({len(line) for line in table}) == 1
    assert ("0 ± 4.79 i" in table[1]) is (encoding != "ascii") and ("Größe" in table[3]) is (encoding != "ascii")
    assert ("0 +/- 4.79 i" in table[1]) is (encoding == "ascii")
    assert ((first, second) == ("|- hand", "|  `- finger~")) is (encoding != "utf-8")


def test_empty_columns_and_titles_are_left_out(monkeypatch):
    t = terminal(monkeypatch, False)
    t.table(("a", "b", "c"), [("1", "", "3")])
    t.table(("", ""), [("x", "y")], left=2)
    assert t.out.getvalue() == "  a  c\n  1  3\n  x  y\n"


@given(st.text())
def test_printable_text_has_no_control_characters(text):
    shown = printable(text, keep="\n")
    assert shown.replace("\n", "").isprintable() or shown == ""
    if text.replace("\n", "").isprintable():
        assert shown == text


@given(st.floats(1e-12, 1e5))
def test_durations_read_back(seconds):
    number, unit = duration(seconds).split()
    size = {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[unit]
    assert math.isclose(float(number) * size, seconds, rel_tol=6e-3)  # three digits


def test_json_holds_arrays_infinities_and_symbols(monkeypatch):
    import sympy

    t = terminal(monkeypatch, False)
    t.json({"a": np.array([1.5, np.inf]), "b": (1, True, None), "c": sympy.Symbol("m") * 2, "d": np.float64(2), 3: "é"})
    assert json.loads(t.out.getvalue()) == {"a": [1.5, None], "b": [1, True, None], "c": "2*m", "d": 2.0, "3": "é"}


def test_streams_that_were_closed_before_the_start_take_nothing_and_do_no_harm(monkeypatch):
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(f"sys.{name}", None)
    terminal = Terminal()
    terminal.say("nobody reads this", "bold")
    terminal.warn("nor this")
    terminal.progress("nor this")
    terminal.flush()
