"""Long compilations give a sign of life; short ones are silent."""

import io
import logging
import sys
import time

import pytest

from dalembert.native import patience
from dalembert.native.deferred import Deferred
from dalembert.tracing import trace


class Terminal(io.StringIO):
    def isatty(self):
        return True


def make():
    time.sleep(0.15)
    return trace(lambda x: x + 1, {"x": ()}, "add")


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(patience, "PATIENCE", 0.05)


def test_long_work_is_announced_on_a_terminal(monkeypatch, impatient):
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with patience.announced("kernel add"):
        Deferred("kernel add", make).get()  # within the other
    first, last = terminal.getvalue().splitlines()
    assert first == "dalembert: compiling kernel add ..."
    assert last.startswith("dalembert: compiled kernel add in 0.")


def test_elsewhere_it_is_logged(monkeypatch, impatient, caplog):
    monkeypatch.setattr(sys, "stderr", stream := io.StringIO())
    with caplog.at_level(logging.INFO, logger="dalembert.compilation"):
        Deferred("kernel add", make).get()
    assert stream.getvalue() == ""
    assert [record.getMessage()[:24] for record in caplog.records] == [
        "dalembert: compiling ker",
        "dalembert: compiled kern",
    ]


def test_short_work_is_silent_and_errors_pass(monkeypatch, caplog):
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with caplog.at_level(logging.INFO), pytest.raises(ZeroDivisionError), patience.announced("kernel add"):
        raise ZeroDivisionError
    with patience.announced("kernel add"):
        pass
    assert terminal.getvalue() == "" and not caplog.records
