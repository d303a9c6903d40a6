"""Linearise a mechanism around a state: eigenvalues, modes that no motor moves, the matrices A and B.

The state is x = (deviations of the positions, of the velocities); inputs are the generalised forces. With --trim the
nearest equilibrium is found first. Closed loops are reduced to independent coordinates.

examples:
  dalembert linearize cart_pole --actuated rail
  dalembert linearize double_pendulum --plot poles.png
  dalembert linearize demo_arm --q=0,-0.5,0.8,0,0.3,0 --matrices
  dalembert linearize four_bar --trim --q=1,-0.7,1.6
  dalembert linearize panda.urdf --include damping --json
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dalembert.cli.options import add_common, add_model, open_model, plot
from dalembert.cli.state import add_state, dynamics_of, start, tidy, vector
from dalembert.cli.terminal import Cell, Terminal
from dalembert.errors import ArgumentError
from dalembert.files import write_whole

if TYPE_CHECKING:
    import numpy as np

SUMMARY = "linearise around a state: eigenvalues, A and B"

PRINTED_SIZE = 8
"""Matrices up to this size are printed without being asked for."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    add_state(parser)
    group = parser.add_argument_group("the linear model")
    group.add_argument("--trim", action="store_true", help="begin at the nearest equilibrium, that of t = 0")
    group.add_argument(
        "--keep", metavar="JOINT", action="append", default=[], help="with --trim: a joint whose position is kept"
    )
    group.add_argument(
        "--actuated",
        metavar="NAME",
        action="append",
        help="a velocity or joint with a motor; may be repeated; all by default",
    )
    group.add_argument("--matrices", action="store_true", help="print A and B, however large")
    group.add_argument("--plot", metavar="FILE", type=plot, help="draw the eigenvalues: .png, .svg or .pdf")
    add_common(parser)


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    import numpy as np

    from dalembert.control import equilibrium, linearize

    if options.keep and not options.trim:
        raise ArgumentError("--keep says what must not move while --trim looks for an equilibrium; give --trim, too")
    mechanism = open_model(options, numeric=True)
    if not mechanism.nv:
        raise ArgumentError(f"{mechanism.name!r} has no degree of freedom: every joint is fixed or locked")
    terminal.progress(f"linearising {mechanism.name} ...")
    system = dynamics_of(mechanism, options.include, options.constraints, options.elements)
    q, v, remarks = start(system, vector(options.q, "--q", mechanism), vector(options.v, "--v", mechanism))
    tau: np.ndarray | None = None
    if options.trim:
        found = equilibrium(system, q, v, actuated=options.actuated or (), keep=options.keep)
        q, tau = found.q, found.tau
        remarks.append("this is an equilibrium, the nearest to what was given")
    model = linearize(system, q, v, tau, actuated=options.actuated)
    if tau is None and system.is_tree:
        tau = system.bias(q, v)
        remarks.append("forces are those without acceleration")
    elif tau is None:
        a = np.abs(system.solve(q, v, np.zeros(mechanism.nv)).a).max()
        steady = a < 1e-9 * (1 + np.abs(v).max())
        advice = "; --trim finds an equilibrium" if len(model.A) else ""
        remarks.append(
            "forces are zero, and nothing accelerates"
            if steady
            else f"forces are zero, and it accelerates here, by up to {a:.3g}{advice}"
        )
    if v.any() and len(model.A):
        remarks.append("it moves: eigenvalues show what grows only where A stays the same along the motion")
    force = np.zeros(mechanism.nv) if tau is None else tau
    lost = model.uncontrollable()
    if options.plot is not None:
        from dalembert.pictures import draw_poles

        write_whole(options.plot, draw_poles(model.poles, mechanism.name).savefig)
        remarks.append(f"drawn: {options.plot}")
    if options.json:
        terminal.json(
            {
                "model": mechanism.name,
                "q": q,
                "v": v,
                "tau": force,
                "states": model.states,
                "inputs": model.inputs,
                "A": model.A,
                "B": model.B,
                "eigenvalues": [{"real": s.real, "imaginary": s.imag} for s in model.poles],
                "uncontrollable": [{"real": s.real, "imaginary": s.imag} for s in lost],
                "remarks": remarks,
            }
        )
        return 0
    _say_state(terminal, mechanism.name, system, (q, v, force))
    if not len(model.A):
        terminal.say()
        terminal.say("Nothing is left to move: the constraints determine the whole motion, A and B are empty.")
        _say_remarks(terminal, remarks)
        return 0
    terminal.title("eigenvalues:")
    terminal.table(("1/s", "", "time constant (s)", "period (s)", "damping"), mode_rows(model.poles, lost), left=2)
    if options.matrices or len(model.A) <= PRINTED_SIZE:
        for name, matrix, titles in (("A", model.A, model.states), ("B", model.B, model.inputs)):
            terminal.title(f"{name}:")
            columns = [tidy(column.tolist()) for column in matrix.T]
            rows = [(state, *cells) for state, *cells in zip(model.states, *columns)]
            terminal.table(("", *titles), rows)
    elif not options.json:
        remarks.append("--matrices prints A and B")
    _say_remarks(terminal, remarks)
    return 0


def _say_remarks(terminal: Terminal, remarks: Sequence[str]) -> None:
    terminal.say()
    for remark in remarks:
        terminal.say(f"  {remark}", "dim")


def mode_rows(poles: np.ndarray, lost: np.ndarray) -> list[Sequence[str | Cell]]:
    """One line for every real eigenvalue and every pair."""
    size = max((abs(s) for s in poles), default=1.0) or 1.0
    rows: list[Sequence[str | Cell]] = []
    for s in poles:
        if s.imag < -1e-12 * size:
            continue
        oscillates = s.imag > 1e-12 * size
        real, imaginary = (0.0 if abs(x) < 1e-12 * size else x for x in (s.real, s.imag))
        value = f"{real:.5g} ± {imaginary:.5g} i" if oscillates else f"{real:.5g}"
        growing = s.real > 1e-8 * size
        words = "grows" if growing else "decays" if s.real < -1e-8 * size else "neither grows nor decays"
        if any(abs(s - other) < 1e-9 * size for other in lost):
            alone = sum(abs(s - other) < 1e-9 * size for other in poles) == 1  # of several alike, inputs may move some
            words += ", no input moves it" if alone else ", inputs do not move all of these"
        rows.append(
            (
                value,
                Cell(words, "bad" if growing else "good"),
                f"{1 / abs(s.real):.4g}" if abs(s.real) > 1e-8 * size else "",
                f"{2 * math.pi / s.imag:.4g}" if oscillates else "",
                f"{-real / abs(s) + 0.0:.3f}" if oscillates else "",
            )
        )
    return rows


def _say_state(terminal: Terminal, name: str, system: object, state: tuple[np.ndarray, ...]) -> None:
    from dalembert.model.names import position_names, velocity_names

    mechanism = system.mechanism  # type: ignore[attr-defined]
    terminal.say(f"{name}, linearised at", "bold")
    names = velocity_names(mechanism)
    if mechanism.nq == mechanism.nv:
        terminal.table(("", "q", "v", "tau"), list(zip(names, *(tidy(x.tolist()) for x in state))))
        return
    terminal.table(("", "q"), [(n, f"{x:.5g}") for n, x in zip(position_names(mechanism), state[0])])
    terminal.say()
    terminal.table(("", "v", "tau"), list(zip(names, *(tidy(x.tolist()) for x in state[1:]))))
