"""Derive the equations of motion of a mechanism and print them as mathematics.

Best with a model that has symbols; with plain numbers, or many joints, the expressions get long.

examples:
  dalembert derive double_pendulum
  dalembert derive stacker --method kronecker
  dalembert derive cart_pole --method kane --steps            the derivation, step by step
  dalembert derive four_bar --method kane --q drive=1         loops closed as around these positions
  dalembert derive four_bar --method kane --independent pivot   the velocity that is kept
  dalembert derive cart_pole --actuated rail                   only that joint has a drive
  dalembert derive double_pendulum --method kane --speed u1=qdot1 --speed u2=qdot1+qdot2
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
    parser.add_argument(
        "--speed",
        metavar="NAME=EXPRESSION",
        action="append",
        default=[],
        help="for kane, a quasi-velocity, linear in the velocities, such as 'u1=psidot*cos(theta)'; may be repeated",
    )
    parser.add_argument(
        "--actuated", metavar="JOINT", action="append", default=[], help="a joint that is driven (default: all); may "
        "be repeated, in the order of the inputs",
    )  # fmt: skip
    parser.add_argument("--steps", action="store_true", help="print the derivation, not only the result")
    parser.add_argument("--latex", action="store_true", help="print LaTeX")
    parser.add_argument(
        "--to", metavar="FILE", type=DOCUMENT,
        help="write a document with figure, every step, agreement and costs: .html, .tex or .md",
    )  # fmt: skip
    parser.add_argument("--title", metavar="TEXT", help="of the document")
    parser.add_argument("--exact", action="store_true", help="the document states an exact proof")
    add_common(parser)


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    from dalembert.formulations.derive import derive

    if options.latex and (options.steps or options.to is not None):
        raise ArgumentError("--latex prints the result alone; a derivation in LaTeX is a document, --to derivation.tex")
    for flag, given in (("--title", options.title), ("--exact", options.exact)):
        if given and options.to is None:
            raise ArgumentError(f"{flag} is about the document that --to writes; add --to FILE, or leave it out")
    mechanism = open_model(options)
    if options.to is not None:
        return _write_report(options, terminal, mechanism)
    terminal.progress("deriving ...")
    equations = derive(mechanism, options.method, **_settings(options, mechanism))
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


def _settings(options: argparse.Namespace, mechanism: Mechanism) -> dict[str, Any]:
    """What acts, what is driven, and what is Kane's alone, as arguments of `derive`."""
    found: dict[str, Any] = {"elements": acting(options.elements), "include": options.include}
    if options.actuated:
        found["actuated"] = options.actuated
    for flag, given in (("--q", options.q), ("--independent", options.independent), ("--speed", options.speed)):
        if given and options.method != "kane":
            what = "speeds, which only --method kane chooses" if flag == "--speed" else (
                "constraints, which only --method kane eliminates"
            )  # fmt: skip
            raise ArgumentError(f"{flag} is about {what}; leave it out")
    if options.q:
        found["reference"] = vector(options.q, "--q", mechanism)
    if options.independent:
        found["independent"] = options.independent
    if options.speed:
        found["speeds"] = [_speed(text) for text in options.speed]
    return found


def _speed(text: str) -> tuple[str, Any]:
    """A name and an expression in coordinates and velocities, of which the derivation checks that it is linear."""
    name, equals, expression = (part.strip() for part in text.partition("="))
    if not (name.isidentifier() and equals and expression):
        raise ArgumentError(f"--speed {text!r}: give NAME=EXPRESSION, such as u1=psidot*cos(theta)")
    from dalembert.model.expression import evaluate_exact  # needs NumPy, which `--help` does not

    return name, evaluate_exact(expression)


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
    proof = None
    if options.exact:
        from dalembert.proof import prove

        proof = prove(mechanism)
    path = report(
        mechanism, options.to, options.method, title=options.title, proof=proof, **_settings(options, mechanism)
    )
    size = path.stat().st_size
    if options.json:
        terminal.json({"model": mechanism.name, "method": options.method, "file": str(path), "bytes": size})
    else:
        terminal.say(f"{mechanism.name}: derived by {options.method}, written to {path} ({size / 1024:.0f} KB)")
    return 0
