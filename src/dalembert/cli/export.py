"""Write a quantity of a mechanism as source code: C, CUDA, Python, JavaScript, LaTeX, or LLVM's language.

The code has the numbers of the mechanism folded in, needs no library, allocates nothing, and computes exactly what the
compiled kernel does.

examples:
  dalembert export panda.urdf inverse_dynamics --to build/            build/inverse_dynamics.c and .h
  dalembert export panda.urdf forward_dynamics --to fd.cu             CUDA, by the suffix
  dalembert export panda.urdf jacobian --frame panda_hand --name panda_jacobian --to .
  dalembert export double_pendulum mass_matrix --language latex       on the screen; symbols are parameters
  dalembert export panda.urdf mass_matrix --single --to .             float instead of double
"""

from __future__ import annotations

import argparse
import difflib
from pathlib import Path

from dalembert.cli.model import open_model
from dalembert.cli.options import add_common, add_frame, add_model, chosen_quantities
from dalembert.cli.terminal import Terminal
from dalembert.errors import ArgumentError

ONE_PRECISION = ("python", "javascript", "latex")
"""Languages whose numbers have one precision, so that there is nothing to choose."""

SUMMARY = "write a quantity as C, CUDA, Python, LaTeX, ..."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument(
        "quantity",
        metavar="QUANTITY",
        help="inverse_dynamics, mass_matrix, ...; `dalembert cost MODEL --quantity all` lists all",
    )
    parser.add_argument(
        "--language",
        metavar="NAME",
        help="c, c-simd, cuda, python, javascript, latex or llvm; by default what the suffix of --to says, else c",
    )
    parser.add_argument("--to", metavar="PATH", help="file, or folder/, to write; by default the source is printed")
    parser.add_argument("--name", help="of the function; by default that of the quantity")
    add_frame(parser)
    parser.add_argument("--single", action="store_true", help="single precision: float instead of double")
    parser.add_argument("--numeric", action="store_true", help="fold in the default values of symbols")
    add_common(parser, json=False)


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    from dalembert.compiler.export import export
    from dalembert.dynamics import Dynamics

    language = _language(options)
    _check_name(options.name, language)
    if options.single and language in ONE_PRECISION:
        raise ArgumentError(f"--single: {language} has numbers of one precision only; leave it out")
    mechanism = open_model(options, numeric=options.numeric)
    dynamics = Dynamics(mechanism, dtype="float32" if options.single else None)
    options.quantities = [options.quantity]
    ((quantity, frame),) = chosen_quantities(options, (), mechanism).items()
    text = export(dynamics.kernel(quantity, **frame), language, options.to, options.name)
    if options.to is None:
        terminal.say(text.rstrip("\n"))
    else:
        terminal.say(f"{mechanism.name}: {quantity} written to {options.to} ({len(text.splitlines())} lines)")
    if dynamics.parameter_names:
        names = ", ".join(dynamics.parameter_names)
        (terminal.warn if options.to is None else terminal.say)(f"the input parameters holds {names}, in this order")
    return 0


def _language(options: argparse.Namespace) -> str:
    """The language that is asked for, by name or by the suffix of the file; an error if the two contradict."""
    from dalembert.compiler.export import LANGUAGES, SUFFIXES

    folder = options.to is None or options.to.endswith("/") or Path(options.to).is_dir()
    suffix = "" if folder else Path(options.to).suffix.lower()
    fitting = [
        language for language, usual in SUFFIXES.items() if usual == suffix or (usual, suffix) == (".mjs", ".js")
    ]
    if options.language is None:
        if not fitting and not folder:
            usual = ", ".join(dict.fromkeys(SUFFIXES.values()))
            raise ArgumentError(
                f"--to {options.to} tells no language; end it in {usual}, or in / for a folder, or give --language"
            )
        return fitting[0] if fitting else "c"
    if options.language not in LANGUAGES:
        near = difflib.get_close_matches(options.language, LANGUAGES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(LANGUAGES)}"
        raise ArgumentError(f"there is no language {options.language!r}; {hint}")
    if fitting and options.language not in fitting:
        usual = SUFFIXES[options.language]
        raise ArgumentError(
            f"--to {options.to} is a file of {fitting[0]}, not of {options.language}; end it in {usual}"
        )
    return options.language


def _check_name(name: str | None, language: str) -> None:
    """Refuse the name of a function that the language keeps for itself, for the printer would choose another."""
    from dalembert.compiler.printers.javascript import JAVASCRIPT_RESERVED
    from dalembert.compiler.printers.names import C_RESERVED, PYTHON_RESERVED, identifier

    words = {"python": PYTHON_RESERVED, "javascript": JAVASCRIPT_RESERVED, "latex": frozenset[str]()}
    if name is None:
        return
    if name in words.get(language, C_RESERVED):
        raise ArgumentError(f"--name {name}: this word means something else in {language}; choose another, my_{name}")
    if name.isidentifier() and identifier(name) != name:
        raise ArgumentError(f"--name {name}: only letters from a to z, digits and _; {identifier(name)}, for example")
