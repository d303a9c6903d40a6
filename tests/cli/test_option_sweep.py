"""Any options together: a command does what it is asked, or says in one message what does not go together."""

from __future__ import annotations

import random

import pytest
from cli_helpers import run

MODELS = ("double_pendulum", "cart_pole", "four_bar", "free_body", "demo_arm", "rp_arm")
SHARED = ("--base fixed", "--base free", "--set g=9.8", "--set nothing=1")
STATE = (
    "--q=0.1,0.2",
    "--q shoulder=30deg",
    "--v hinge=0.1",
    "--include damping",
    "--include armature",
    "--elements all",
)
OPTIONS = {
    "show": ("--frames", "--tree"),
    "linearize": (*STATE, "--trim", "--keep shoulder", "--actuated rail", "--matrices"),
    "simulate": (
        *STATE, "--time 0.05", "--control hold", "--control gravity", "--force rail=1", "--stiffness 50", "--rtol 1e-6",
        "--method rk4", "--method Radau", "--step 0.01", "--samples 3", "--ground", "--friction 0.5", "--law rigid",
    ),
    "cost": ("--quantity gravity", "--quantity jacobian", "--frame tip", "--coordinates ZYX", "--keep-symbols"),
    "reach": (
        "--q=0.1,0.2", "--q shoulder=30deg", "--position=0.2,0.1,0.1", "--euler=0,90deg,0", "--quaternion=0,0,0,1",
        "--keep shoulder", "--no-limits", "--starts 3", "--seed 5", "--tolerance 1e-6", "--frame rod2",
    ),
    "compare": ("demo_arm", "--with pinocchio", "--include friction", "--joint a=b", "--states 1", "--tolerance 1e-3"),
}  # fmt: skip


@pytest.mark.parametrize("seed", range(30))
def test_options_together_are_obeyed_or_refused(capsys, seed):
    choose = random.Random(seed)
    command = choose.choice(list(OPTIONS))
    chosen = [option for option in (*SHARED, *OPTIONS[command]) if choose.random() < 0.25]
    words = [command, choose.choice(MODELS), *(word for option in chosen for word in option.split())]
    outcome = run(capsys, *words, "--json")
    told = outcome.json
    assert outcome.code in ((0, 1, 2) if command in ("compare", "reach") else (0, 2)), words
    if outcome.code == 2:
        assert set(told) == {"error", "exit_code"} and told["error"] and "error: " in outcome.err, words
    else:
        plain = run(capsys, *words)
        assert plain.code == outcome.code and plain.out, words
