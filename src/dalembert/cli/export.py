"""Write a quantity of a mechanism as source code: C, CUDA, Python, JavaScript, LaTeX, or LLVM's language; or all of it
as a functional mock-up unit (FMI).

The code has the numbers of the mechanism folded in, needs no library, allocates nothing, and computes exactly what the
compiled kernel does.

examples:
  dalembert export panda.urdf inverse_dynamics --to build/            build/inverse_dynamics.c and .h
  dalembert export panda.urdf forward_dynamics --to fd.cu             CUDA, by the suffix
  dalembert export panda.urdf jacobian --frame panda_hand --name panda_jacobian --to .
  dalembert export double_pendulum mass_matrix --language latex       on the screen; symbols are parameters
  dalembert export panda.urdf mass_matrix --single --to .             float instead of double
  dalembert export talos.urdf inverse_dynamics --single --max-code 16k --to .     for a microcontroller: loops
  dalembert export panda.urdf inverse_dynamics --parameter panda_hand.mass --wrench panda_hand    stay inputs
  dalembert export four_bar forward_dynamics                          under the constraints of the model
  dalembert export four_bar --fmu 3 --q 1,-0.7,1.6 --output energy    a unit of FMI 3, four_bar.fmu
"""

from __future__ import annotations

import argparse
import re
import warnings
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalembert.cli.options import add_common, add_frame, add_model, chosen_quantities, open_model
from dalembert.cli.state import TERMS, acting, add_state, vector
from dalembert.cli.terminal import Terminal
from dalembert.errors import ArgumentError, ModelWarning
from dalembert.export import LANGUAGES
from dalembert.printing.names import identifier
from dalembert.text.suggest import hint

if TYPE_CHECKING:
    from dalembert.dynamics import Dynamics
    from dalembert.model import Mechanism

SUMMARY = "write a quantity as C, CUDA, Python, LaTeX, ..."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument(
        "quantity",
        metavar="QUANTITY",
        nargs="?",
        help="inverse_dynamics, mass_matrix, ...; `dalembert cost MODEL --quantity all` lists all",
    )
    parser.add_argument(
        "--language",
        metavar="NAME",
        help=f"{', '.join(LANGUAGES)}; by default the language of the suffix of --to, else c",
    )
    parser.add_argument("--to", metavar="PATH", help="file, or folder/, to write; by default the source is printed")
    parser.add_argument("--name", help="of the function; by default that of the quantity")
    add_frame(parser)
    parser.add_argument(
        "--parameter",
        metavar="ADDRESS",
        action="append",
        default=[],
        dest="parameters",
        help="a number of the model that stays an input, such as link7.mass; may be repeated",
    )
    parser.add_argument(
        "--wrench",
        metavar="FRAME",
        action="append",
        default=[],
        dest="wrenches",
        help="a body or frame on which an external wrench [force; moment] acts, an input; may be repeated",
    )
    parser.add_argument(
        "--fmu",
        metavar="VERSION",
        choices=("2", "3"),
        help="write a functional mock-up unit of FMI 2 or 3, by default to MODEL.fmu, which starts at --q",
    )
    parser.add_argument(
        "--output",
        metavar="QUANTITY[:FRAME]",
        action="append",
        default=[],
        dest="outputs",
        help="with --fmu, a quantity that the unit computes besides its states; may be repeated",
    )
    parser.add_argument("--no-binary", action="store_true", help="with --fmu, the sources alone")
    parser.add_argument("--single", action="store_true", help="single precision: float instead of double")
    parser.add_argument(
        "--max-code",
        metavar="BYTES",
        help="for C, the most code and constants on a small processor, such as 16000 or 16k: loops if they are needed",
    )
    parser.add_argument("--numeric", action="store_true", help="fold in the default values of symbols")
    add_state(parser, velocity=False)
    add_common(parser, json=False)


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    if options.fmu:
        return _write_unit(options, terminal)
    if options.outputs or options.no_binary:
        raise ArgumentError("--output and --no-binary belong to --fmu; give --fmu 3, or leave them out")
    if options.quantity is None:
        raise ArgumentError("which quantity? Name one, such as inverse_dynamics, or give --fmu 3")
    language = _language(options)
    _check_name(options.name, language)
    if options.single and not LANGUAGES[language].precisions:
        raise ArgumentError(f"--single: {language} has numbers of one precision only; leave it out")
    mechanism = open_model(options, numeric=options.numeric)
    if mechanism.symbols and mechanism.constraints and acting(options.constraints):
        mechanism = open_model(options, numeric=True)  # their values decide which rows are independent
    text, parameters = _exported(mechanism, options, language)
    if options.to is None:
        terminal.say(text.rstrip("\n"))
    else:
        terminal.say(f"{mechanism.name}: {options.quantity} written to {options.to} ({len(text.splitlines())} lines)")
    if parameters and language != "latex":  # there they have their names
        names = ", ".join(parameters)
        (terminal.warn if options.to is None else terminal.say)(f"the input parameters holds {names}, in this order")
    return 0


def _write_unit(options: argparse.Namespace, terminal: Terminal) -> int:
    """A functional mock-up unit of the whole mechanism."""
    for given, name in (
        (options.max_code, "--max-code"),
        (options.quantity, "QUANTITY"),
        (options.language, "--language"),
        (options.single, "--single"),
        (options.frame, "--frame"),
    ):
        if given:
            raise ArgumentError(f"{name} does not belong to --fmu, which writes the whole system; leave it out")
    mechanism = open_model(options, numeric=True)
    dynamics = _dynamics(mechanism, options)
    path = Path(options.to or f"{identifier(options.name or mechanism.name)}.fmu")
    if path.is_dir() or str(options.to or "").endswith("/"):
        path.mkdir(exist_ok=True)
        path /= f"{identifier(options.name or mechanism.name)}.fmu"
    outputs: list[Any] = []
    for text in options.outputs:
        quantity, _, frame = text.partition(":")
        outputs.append((quantity, {"frame": frame}) if frame else quantity)
    dynamics.fmu(
        path, options.fmu, name=options.name, outputs=outputs, binary=False if options.no_binary else None,
    )  # fmt: skip
    states = mechanism.nq + mechanism.nv
    terminal.say(f"{mechanism.name}: FMI {options.fmu} written to {path} ({states} states)")
    return 0


def _dynamics(mechanism: Mechanism, options: argparse.Namespace) -> Dynamics:
    """The dynamics that the options describe."""
    from dalembert.dynamics import Dynamics
    from dalembert.simulation.state import as_position

    return Dynamics(
        mechanism,
        constraints=acting(options.constraints),
        elements=acting(options.elements),
        parameters=options.parameters,
        wrenches=options.wrenches,
        include=options.include,
        reference=as_position(mechanism, vector(options.q, "--q", mechanism)),
        dtype="float32" if options.single else None,
    )


def _exported(mechanism: Mechanism, options: argparse.Namespace, language: str) -> tuple[str, tuple[str, ...]]:
    """Source of a quantity, and what its input ``parameters`` holds."""
    from dalembert.dynamics import CONSTRAINT_QUANTITIES

    for option, items in (("constraints", mechanism.constraints), ("elements", mechanism.forces)):
        if getattr(options, option) and not items:
            raise ArgumentError(f"{mechanism.name!r} has none: leave out --{option}")
    if options.q and not mechanism.constraints:
        raise ArgumentError("--q says where loops close; there are no constraints, leave it out")
    dynamics = _dynamics(mechanism, options)
    if options.quantity in CONSTRAINT_QUANTITIES:
        quantity: str = options.quantity
        frame: dict[str, str] = {}
    else:
        options.quantities = [options.quantity]
        asked = chosen_quantities(options, (), mechanism)
        if len(asked) != 1:
            raise ArgumentError(f"export writes one quantity at a time; choose one of {', '.join(asked)}")
        ((quantity, frame),) = asked.items()
    kernel = dynamics.kernel(quantity, **frame)
    if options.wrenches and not any(port.name == "wrenches" for port in kernel.inputs):
        raise ArgumentError(f"--wrench does not matter for {quantity}; leave it out")
    _tell_idle(dynamics, quantity, frame, options.parameters)
    text = dynamics.export(quantity, language, options.to, options.name, max_code=_bytes(options.max_code), **frame)
    return text, dynamics.parameter_names


def _bytes(text: str | None) -> int | None:
    """A number of bytes as it is typed: 16000, 16k or 2.5k."""
    if text is None:
        return None
    number = re.fullmatch(r"(\d{1,12}(?:\.\d{1,12})?)(k|kB)?", text.strip(), re.IGNORECASE)
    size = Decimal(number[1]) * (1000 if number[2] else 1) if number else Decimal("0.5")
    if size != int(size):
        raise ArgumentError(f"--max-code {text}: no number of bytes; give one such as 16000, 16k or 2.5k")
    return int(size)


def _tell_idle(dynamics: Dynamics, quantity: str, frame: dict[str, str], addresses: Sequence[str]) -> None:
    """Warn of numbers that stay inputs and change nothing; another quantity with the same inputs may need them."""
    program = dynamics.kernel(quantity, **frame).program
    used = {(program.inputs[port].name, element) for port, element in program.elements_read}
    for address in addresses:
        if ("parameters", dynamics.parameter_names.index(address)) in used:
            continue
        term = address.rpartition(".")[2]
        left_out = term in TERMS and term not in dynamics.include
        hint = f"; without --include {term} it enters nothing" if left_out else ""
        warnings.warn(f"--parameter {address} does not matter for {quantity}{hint}", ModelWarning, stacklevel=2)


def _language(options: argparse.Namespace) -> str:
    """The language that is asked for, by name or by the suffix of the file; an error if the two contradict."""
    folder = options.to is None or options.to.endswith("/") or Path(options.to).is_dir()
    suffix = "" if folder else Path(options.to).suffix.lower()
    usual = {name: language.suffix for name, language in LANGUAGES.items()}
    fitting = [name for name, own in usual.items() if own == suffix or (own, suffix) == (".mjs", ".js")]
    if options.language is None:
        if not fitting and not folder:
            suffixes = ", ".join(dict.fromkeys(usual.values()))
            raise ArgumentError(
                f"--to {options.to} names no language; end it in {suffixes}, or in / for a folder, or give --language"
            )
        return fitting[0] if fitting else "c"
    if options.language not in LANGUAGES:
        meant = hint(options.language, LANGUAGES, "choose one of")
        raise ArgumentError(f"there is no language {options.language!r}{meant}")
    if not folder and not suffix:
        raise ArgumentError(
            f"--to {options.to} could be a folder or a file: end it in / for a folder, or in {usual[options.language]}"
        )
    if fitting and options.language not in fitting:
        raise ArgumentError(
            f"--to {options.to} is a file of {fitting[0]}, not of {options.language}; end it in "
            f"{usual[options.language]}"
        )
    return options.language


def _check_name(name: str | None, language: str) -> None:
    """Refuse the name of a function that the language keeps for itself, for the printer would choose another."""
    if name is None:
        return
    if name in LANGUAGES[language].reserved_words:
        raise ArgumentError(f"--name {name}: this word means something else in {language}; choose another, my_{name}")
    if name.isidentifier() and identifier(name) != name:
        rule = "letters from a to z, digits and between them _, at most 60"
        raise ArgumentError(f"--name {name}: only {rule}; {identifier(name)}, for example")
