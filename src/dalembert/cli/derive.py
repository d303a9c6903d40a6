"""Derive the equations of motion of a mechanism and print them as mathematics.

Best with a model that has symbols; with plain numbers, or many joints, the expressions get long.

examples:
  dalembert derive double_pendulum
  dalembert derive stacker --method kronecker
  dalembert derive cart_pole --method kane --steps            the derivation, step by step
  dalembert derive cart_pole --include damping                friction of the joints enters when asked for
  dalembert derive double_pendulum --set l1=1 --latex         for a document
"""

from __future__ import annotations

import argparse

from dalembert.cli.model import open_model
from dalembert.cli.options import add_common, add_model
from dalembert.cli.terminal import Terminal

SUMMARY = "derive the equations of motion, as mathematics"

METHODS = ("lagrange", "kane", "kronecker", "newton-euler")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument("--method", choices=METHODS, default="lagrange", help="the route (default lagrange)")
    parser.add_argument(
        "--include",
        metavar="NAME",
        action="append",
        default=[],
        help="armature, damping, friction, a force element, or forces for all of them; may be repeated",
    )
    parser.add_argument("--steps", action="store_true", help="print the derivation, not only the result")
    parser.add_argument("--latex", action="store_true", help="print LaTeX")
    add_common(parser)


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    from dalembert.formulations.derive import derive

    mechanism = open_model(options)
    terminal.progress("deriving ...")
    equations = derive(mechanism, options.method, include=options.include)
    if options.json:
        parts = {name: part.sympy() for name, part in equations.quantities().items()}
        terminal.json(
            {
                "model": equations.name,
                "method": equations.method,
                "coordinates": equations.coordinates,
                "velocities": equations.velocities,
                "parameters": equations.parameters,
                "parts": parts,
                "latex": equations.latex(),
                "sources": equations.cite(),
            }
        )
        return 0
    if options.steps and not options.latex:
        for number, step in enumerate(equations.steps(), 1):
            terminal.title(f"{number}. {step.title}")
            terminal.say(str(step).partition("\n")[2])
        terminal.say()
    terminal.say(equations.latex() if options.latex else str(equations))
    return 0
