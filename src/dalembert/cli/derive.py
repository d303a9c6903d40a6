"""Derive the equations of motion of a mechanism and print them as mathematics.

Best with a model that has symbols; with plain numbers, or many joints, the expressions get long.

examples:
  dalembert derive double_pendulum
  dalembert derive stacker --method kronecker
  dalembert derive cart_pole --method kane --steps            the derivation, step by step
  dalembert derive four_bar --method kane --q drive=1         loops closed as around these positions
  dalembert derive four_bar --method kane --independent pivot   the velocity that is kept
  dalembert derive my_arm.urdf --include damping              damping of the joints enters when asked for
  dalembert derive double_pendulum --set l1=1 --latex         for a document of your own
  dalembert derive stacker --method kane --to report.html     a whole document: .html, .tex or .md
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from dalembert.cli.options import add_common, add_model, open_model, output, with_extra
from dalembert.cli.state import acting, add_elements, numbers, vector
from dalembert.cli.terminal import Terminal
from dalembert.errors import ArgumentError, UnsupportedError

if TYPE_CHECKING:
    from dalembert.formulations.quantity import DerivedQuantity
    from dalembert.model import Mechanism

SUMMARY = "derive the equations of motion, as mathematics"

DOCUMENT = with_extra(
    output(".html", ".tex", ".md", makes_folders=True), "latex2mathml", "report", "a report in HTML", (".html",)
)
"""The name of a document to write."""

METHODS = ("lagrange", "kane", "kronecker", "newton-euler")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument("--method", choices=METHODS, default="lagrange", help="the route (default lagrange)")
    add_elements(parser)
    parser.add_argument(
        "--q",
        type=numbers,
        action="append",
        default=[],
        metavar="...",
        help="for kane, positions around which loops are closed, where they close in ways of different mobility: "
        "JOINT=VALUE or all numbers with commas (default: neutral)",
    )
    parser.add_argument(
        "--independent",
        metavar="NAME",
        action="append",
        default=[],
        help="for kane, a velocity or joint that is kept where constraints are solved for the others; may be repeated",
    )
    parser.add_argument("--steps", action="store_true", help="print the derivation, not only the result")
    parser.add_argument("--latex", action="store_true", help="print LaTeX")
    parser.add_argument(
        "--to", metavar="FILE", type=DOCUMENT,
        help="write a document with figure, every step, agreement and costs: .html, .tex or .md",
    )  # fmt: skip
    add_common(parser)


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    from dalembert.formulations.derive import derive

    if options.latex and (options.steps or options.to is not None):
        raise ArgumentError("--latex prints the result alone; a derivation in LaTeX is a document, --to derivation.tex")
    mechanism = open_model(options)
    if options.to is not None:
        return _write_report(options, terminal, mechanism)
    terminal.progress("deriving ...")
    equations = derive(
        mechanism, options.method, elements=acting(options.elements), include=options.include, **_of_kane(options)
    )
    if options.json:
        parts = {name: _written(part) for name, part in equations.quantities().items()}
        terminal.json(
            {
                "model": equations.name,
                "method": equations.method,
                "coordinates": equations.coordinates,
                "velocities": equations.velocities,
                "parameters": equations.parameters,
                "parts": parts,
                "left_out": equations.omitted,
                "latex": equations.latex(),
                "sources": equations.cite(),
            }
            | ({"steps": [str(step) for step in equations.steps()]} if options.steps else {})
        )
        return 0
    if options.steps:
        for number, step in enumerate(equations.steps(), 1):
            terminal.title(f"{number}. {step.title}")
            terminal.say(str(step).partition("\n")[2])
        terminal.say()
    if options.latex and equations.omitted:  # standard output is the formula alone
        terminal.warn(f"left out: {'; '.join(equations.omitted)}")
    terminal.say(equations.latex() if options.latex else str(equations))
    return 0


def _of_kane(options: argparse.Namespace) -> dict[str, Any]:
    """What constraints are solved for, and around which positions loops are closed, if that is given."""
    for flag, given in (("--q", options.q), ("--independent", options.independent)):
        if given and options.method != "kane":
            raise ArgumentError(f"{flag} is about constraints, which only --method kane eliminates; leave it out")
    found: dict[str, Any] = {"reference": vector(options.q, "--q")} if options.q else {}
    return found | ({"independent": options.independent} if options.independent else {})


def _written(part: DerivedQuantity) -> Any:
    """Written out; or, where that would swell, definitions in their order, and the result in terms of them."""
    try:
        return part.sympy()
    except UnsupportedError:
        definitions, result = part.intermediates()
        return {"definitions": [[symbol, value] for symbol, value in definitions], "result": result}


def _write_report(options: argparse.Namespace, terminal: Terminal, mechanism: Mechanism) -> int:
    from dalembert.report import report

    terminal.progress("deriving, comparing and writing ...")
    path = report(
        mechanism,
        options.to,
        options.method,
        elements=acting(options.elements),
        include=options.include,
        **_of_kane(options),
    )
    size = path.stat().st_size
    if options.json:
        terminal.json({"model": mechanism.name, "method": options.method, "file": str(path), "bytes": size})
    else:
        terminal.say(f"{mechanism.name}: derived by {options.method}, written to {path} ({size / 1024:.0f} KB)")
    return 0
