"""Write a quantity of a mechanism as source code: C, CUDA, Python, JavaScript, LaTeX, or LLVM's language.

The code has the numbers of the mechanism folded in, needs no library, allocates nothing, and computes exactly what the
compiled kernel does.

examples:
  dalembert export panda.urdf inverse_dynamics --to build/            build/inverse_dynamics.c and .h
  dalembert export panda.urdf forward_dynamics --language cuda --to fd.cu
  dalembert export panda.urdf jacobian --frame panda_hand --name panda_jacobian --to .
  dalembert export double_pendulum mass_matrix --language latex       on the screen; symbols are parameters
  dalembert export panda.urdf mass_matrix --single --to .             float instead of double
"""

from __future__ import annotations

import argparse

from dalembert.cli.model import open_model
from dalembert.cli.options import add_common, add_frame, add_model, chosen_quantities
from dalembert.cli.terminal import Terminal
from dalembert.errors import ArgumentError

SUMMARY = "write a quantity as C, CUDA, Python, LaTeX, ..."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument(
        "quantity",
        metavar="QUANTITY",
        help="inverse_dynamics, mass_matrix, ...; `dalembert cost MODEL --quantity all` lists all",
    )
    parser.add_argument(
        "--language", default="c", help="c, c-simd, cuda, python, javascript, latex or llvm (default c)"
    )
    parser.add_argument("--to", metavar="PATH", help="file, or folder/, to write; by default the source is printed")
    parser.add_argument("--name", help="of the function; by default that of the quantity")
    add_frame(parser)
    parser.add_argument("--single", action="store_true", help="single precision: float instead of double")
    parser.add_argument("--numeric", action="store_true", help="fold in the default values of symbols")
    add_common(parser, json=False)


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    from dalembert.compiler.export import LANGUAGES, export
    from dalembert.dynamics import Dynamics

    if options.language not in LANGUAGES:
        raise ArgumentError(f"there is no language {options.language!r}; choose one of {', '.join(LANGUAGES)}")
    mechanism = open_model(options, numeric=options.numeric)
    dynamics = Dynamics(mechanism, dtype="float32" if options.single else None)
    options.quantities = [options.quantity]
    ((quantity, frame),) = chosen_quantities(options, (), mechanism).items()
    text = export(dynamics.kernel(quantity, **frame), options.language, options.to, options.name)
    if options.to is None:
        terminal.say(text.rstrip("\n"))
    else:
        terminal.say(f"{mechanism.name}: {quantity} written to {options.to} ({len(text.splitlines())} lines)")
    if dynamics.parameter_names:
        names = ", ".join(dynamics.parameter_names)
        (terminal.warn if options.to is None else terminal.say)(f"the input parameters holds {names}, in this order")
    return 0
