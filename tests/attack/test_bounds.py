"""Descriptions that ask for too much are refused soon, and what is dropped of them is said."""

from __future__ import annotations

import contextlib
import time
import warnings

import numpy as np
import pytest

import dalembert as da
from dalembert.cli.application import main
from dalembert.errors import DalembertError, FormatError, ModelWarning
from dalembert.model.expression import evaluate_exact

SLOW = {
    "one": "sqrt(cosh(asin(c)**64))",
    "ten": "+".join(f"sqrt(cosh(asin(c{i})**64))" for i in range(10)),
    "ten allowed": "+".join(f"sqrt(cosh(asin(c{i})**8))" for i in range(10)),
    "power of an integer": "exp((c - log(1e-3))*(3 - 9**16))",
    "deep": "exp(" * 49 + "a" + ")" * 49,
}


@pytest.mark.parametrize("text", SLOW.values(), ids=SLOW)
def test_expressions_are_bounded_by_work(text):
    evaluate_exact("sqrt(cosh(a))")  # SymPy is loaded
    start = time.process_time()
    with contextlib.suppress(FormatError):
        evaluate_exact(text)
    assert time.process_time() - start < 5


def test_ordinary_expressions_are_read():
    for text in (
        "sin(a)**2 + cos(a)**2",
        "(a + b)**64",
        "sqrt(a**2 + b**2)",
        "atan2(sqrt(a**2 + 1), cos(b))",
        "exp(a)**8",
    ):
        assert evaluate_exact(text).free_symbols


BODY = '<worldbody><body name="a"><joint name="j"/><geom size=".1" mass="1"/></body></worldbody>'
BOMBS = {
    "nkey": f'<size nkey="1000000000"/>{BODY}',
    "nuser": f'<size nuser_body="1000000000"/>{BODY}',
    "replicate": "<worldbody><replicate count='10000000' offset='1 0 0'><body><joint/><geom size='.1'/></body>"
    "</replicate></worldbody>",
    "nested": "<worldbody>" + "<replicate count='100'>" * 4 + "<geom size='.1'/>" + "</replicate>" * 4 + "</worldbody>",
    "hfield": f'<asset><hfield name="h" nrow="100000" ncol="100000" size="1 1 1 1"/></asset>{BODY}',
    "flexcomp": "<worldbody><flexcomp name='f' type='grid' count='300 300 300' spacing='.1 .1 .1' dim='3' mass='1'/>"
    "</worldbody>",
}


@pytest.mark.parametrize("text", BOMBS.values(), ids=BOMBS)
def test_models_that_would_fill_memory_are_refused_before_mujoco_sees_them(text):
    pytest.importorskip("mujoco")
    with pytest.raises(FormatError, match="items"):
        da.read_mjcf(f"<mujoco>{text}</mujoco>")


FORCES = {
    "gravity compensation": BODY.replace('name="a"', 'name="a" gravcomp="1"'),
    "fluid": f'<option density="1000"/>{BODY}',
    "dampers of tendons": f'{BODY}<tendon><fixed stiffness="5"><joint joint="j" coef="1"/></fixed></tendon>',
    "servos": f'{BODY}<actuator><position joint="j" kp="10"/></actuator>',
}


@pytest.mark.parametrize("what", FORCES)
def test_dropped_forces_are_a_warning(what):
    pytest.importorskip("mujoco")
    with pytest.warns(ModelWarning, match=what):
        da.read_mjcf(f"<mujoco>{FORCES[what]}</mujoco>")
    with warnings.catch_warnings():
        warnings.simplefilter("error", ModelWarning)
        da.read_mjcf(f'<mujoco>{BODY}<actuator><motor joint="j"/></actuator></mujoco>')


@pytest.mark.parametrize(
    "words", [["export", "cart_pole", "all"], ["show", "cart_pole", "--set=--"], ["show", "cart_pole", "--graph=--"]]
)
def test_odd_words_on_the_command_line_are_answered(words, capsys):
    assert main(words) == 2
    assert "bug" not in capsys.readouterr().err


def test_arrays_as_options_are_answered():
    for options in ({"notes": np.array(1.0)}, {"strict": np.array([1.0, 2.0])}):
        with pytest.raises(DalembertError):
            da.from_dh([(0, 0.1, 0, 0)] * 2, **options)
