"""Every input that ever failed, again; a new one needs no more than a file in the right folder."""

import os

import pytest

if os.name != "posix":
    pytest.skip("limits time and memory by means of Unix", allow_module_level=True)

import replay


@pytest.mark.parametrize("path", replay.inputs(), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_what_failed_once_does_not_fail_again(path):
    assert not replay.judged(path)


def test_the_corpus_has_every_kind_of_input():
    assert {path.suffix for path in replay.INPUTS.glob("*/*")} == set(replay.READERS)
