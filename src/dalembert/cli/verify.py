"""Verify a mechanism's dynamics: independent routes to the same numbers, compared at random states.

Equations derived by Newton-Euler, Lagrange, Kane and in Kronecker form; every algorithm of inverse dynamics, inertia
matrix and forward dynamics; laws such as the balance of power; the compiled kernels; and Pinocchio where it is
installed. If joints have armature, damping or friction, derivations and kernels are compared with these terms too;
algorithms and Pinocchio, whose model gets none here, are compared without them. The exit code is 1 if anything differs
by more than the tolerance, or constraints cannot be assembled.

examples:
  dalembert verify panda.urdf
  dalembert verify panda.urdf --quick              algorithms as machine code and in Pinocchio, no derivations
  dalembert verify talos.urdf --base free --states 2
  dalembert verify stacker --set m3=20
  dalembert verify go2 --base free --ground        with the laws of contact, at states that touch
  dalembert verify four_bar --q drive=1            constrained motion around these positions
  dalembert verify stacker --plot agreement.png    every comparison as a dot
  dalembert verify panda.urdf --json               for a test of your own
  dalembert verify panda.urdf --exact              proved for every robot of this topology, at every state
  dalembert verify panda.urdf --exact --to panda.json         and a certificate of it
  dalembert verify rp_arm --symbolic               all algorithms of a small mechanism are one formula, by SymPy
  dalembert verify --certificate panda.json        proved again from the file alone, for every robot of its topology
  dalembert verify other.urdf --certificate panda.json        and for this robot, if it is one of them
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dalembert.cli.contacts import add_contacts, opened
from dalembert.cli.options import add_common, add_model, integer, plot, real, source_of
from dalembert.cli.state import acting, add_elements, numbers, tree_of, vector
from dalembert.cli.terminal import Cell, Terminal
from dalembert.errors import ArgumentError
from dalembert.files import write_whole

if TYPE_CHECKING:
    from dalembert.comparison.pinocchio import PinocchioPeer
    from dalembert.dynamics import Dynamics
    from dalembert.formulations.agreement import AgreementRow
    from dalembert.model import Mechanism

SUMMARY = "compare every derivation and algorithm with every other, and with Pinocchio"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser, optional=True)
    parser.add_argument("--states", type=integer(1, 1000), default=4, help="how many random states (default 4)")
    parser.add_argument("--seed", type=integer(0, 2**32 - 1), default=0, help="of the random states (default 0)")
    parser.add_argument(
        "--tolerance",
        type=real(0.0, 1.0),
        default=1e-10,
        help="largest relative difference (default 1e-10); for constrained motion a thousand times it, for forward "
        "dynamics times the condition of the inertia matrix",
    )
    parser.add_argument(
        "--q",
        type=numbers,
        action="append",
        default=[],
        metavar="...",
        help="positions around which loops are closed: JOINT=VALUE or all numbers with commas (default: random ones)",
    )
    add_elements(parser)
    add_contacts(parser)
    parser.add_argument("--quick", action="store_true", help="only what is compiled, no derivations")
    parser.add_argument("--exact", action="store_true", help="prove over a prime field instead of comparing numbers")
    parser.add_argument("--symbolic", action="store_true", help="prove in SymPy, for up to three joints")
    parser.add_argument("--to", metavar="FILE", help="with --exact: write a certificate, a JSON file")
    parser.add_argument("--certificate", metavar="FILE", help="prove again what a certificate states")
    parser.add_argument("--plot", metavar="FILE", type=plot, help="draw comparisons as dots: .png, .svg or .pdf")
    add_common(parser)


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    from dalembert.cli.agreement import find_peer
    from dalembert.dynamics import Dynamics

    if options.exact or options.certificate or options.symbolic:
        return _proved(options, terminal)
    if options.to:
        raise ArgumentError("--to writes the certificate of a proof; add --exact")
    if options.model is None:
        raise ArgumentError("name a MODEL; only --certificate FILE can do without one")
    if options.q and options.quick:
        raise ArgumentError("--q says where derivations close loops; leave out --quick")
    mechanism, _ = opened(options, numeric=True)
    peer, remark = find_peer(mechanism, source_of(options.model), options.base)
    terminal.progress("comparing ..." if options.quick else "deriving and comparing ...")
    derive = not options.quick  # which compares constraints and force elements, too
    dynamics = Dynamics(mechanism, constraints=(), elements=()) if derive else tree_of(mechanism)
    rows, left_out = verified(
        mechanism,
        dynamics,
        peer,
        options.states,
        options.tolerance,
        options.seed,
        derive=derive,
        q=vector(options.q, "--q", mechanism),
        elements=acting(options.elements),
        include=options.include or None,
    )
    if remark:
        left_out.append(remark)
    if options.plot is not None:
        from dalembert.formulations.agreement import Agreement
        from dalembert.pictures import draw_agreement

        write_whole(options.plot, draw_agreement(Agreement(mechanism.name, options.states, tuple(rows))).savefig)
    failed = [row for row in rows if not row.ok]
    if options.json:
        terminal.json(
            {
                "model": mechanism.name,
                "states": options.states,
                "agrees": not failed,
                "comparisons": [vars(row) | {"ok": row.ok} for row in rows],
                "left_out": left_out,
            }
        )
        return 1 if failed else 0
    terminal.say(f"{mechanism.name}: worst relative difference over {options.states} random states", "bold")
    terminal.table(
        ("quantity or law", "by", "differs most from", "error"), [_line(row, options.tolerance) for row in rows], left=3
    )
    if left_out:
        terminal.title("left out:")
        for reason in left_out:
            terminal.say(f"  {reason}", "dim")
    terminal.say()
    if failed:
        terminal.say(f"{len(failed)} of {len(rows)} comparisons fail.", "bad")
        return 1
    terminal.say(f"All {len(rows)} comparisons hold.", "good")
    return 0


def _proved(options: argparse.Namespace, terminal: Terminal) -> int:
    """Prove the identities of the mechanism's topology, or those of a certificate."""
    from dalembert.proof import check, prove

    for name, usual in (
        ("q", []),
        ("quick", False),
        ("plot", None),
        ("states", 4),
        ("tolerance", 1e-10),
        ("elements", None),
        ("include", []),
    ):
        if getattr(options, name) != usual:
            raise ArgumentError(
                f"--{name} belongs to the comparison of numbers; leave out --exact, --symbolic and --certificate"
            )
    if options.model is None and not options.certificate:
        raise ArgumentError("name a MODEL; only --certificate FILE can do without one")
    if options.symbolic and (options.exact or options.certificate or options.to):
        raise ArgumentError("--symbolic has neither primes nor certificates; leave out --exact, --to and --certificate")
    mechanism = None if options.model is None else opened(options)[0]
    terminal.progress("proving ...")
    if options.symbolic:
        return _by_symbols(options, terminal, mechanism)
    if options.certificate:
        proof = check(options.certificate, mechanism)
    else:
        assert mechanism is not None
        proof = prove(mechanism, seed=options.seed)
    if options.to:
        proof.write(options.to)
    if options.json:
        rows = [vars(row) for row in proof.rows]
        left_out = [f"{omission.what}: {omission.why}" for omission in proof.omitted]
        terminal.json(proof.certificate() | {"holds": proof.ok, "identities": rows, "left_out": left_out})
        return 0 if proof.ok else 1
    title, _, *table = str(proof).splitlines()
    terminal.say(title, "good" if proof.ok else "bad")
    terminal.say()
    for line in table:
        terminal.say(line)
    if options.to:
        terminal.say()
        terminal.say(f"certificate: {options.to}")
    return 0 if proof.ok else 1


def _by_symbols(options: argparse.Namespace, terminal: Terminal, mechanism: Mechanism | None) -> int:
    """Prove in SymPy."""
    from dalembert.proof import prove_symbolically

    assert mechanism is not None
    found = prove_symbolically(mechanism)
    if options.json:
        rows = [vars(row) | {"holds": row.holds} for row in found.rows]
        left_out = [f"{omission.what}: {omission.why}" for omission in found.omitted]
        terminal.json({"mechanism": found.subject, "holds": found.ok, "identities": rows, "left_out": left_out})
        return 0 if found.ok else 1
    title, *lines = str(found).splitlines()
    terminal.say(title, "good" if found.ok else "bad")
    for line in lines:
        terminal.say(line)
    return 0 if found.ok else 1


def _line(row: AgreementRow, tolerance: float) -> Sequence[str | Cell]:
    limit = f" {'<' if row.ok else '>'} {row.tolerance:.0e}" if not row.error <= tolerance else ""
    error = Cell(f"{row.error:.1e}{limit}", "good" if row.ok else "bad")
    return row.quantity, row.who, row.against, error


def verified(
    mechanism: Mechanism,
    dynamics: Dynamics,
    peer: PinocchioPeer | None,
    states: int,
    tolerance: float,
    seed: int = 0,
    derive: bool = True,
    q: Any = None,
    elements: Sequence[str] | str = "all",
    include: Sequence[str] | None = None,
) -> tuple[list[AgreementRow], list[str]]:
    """Everything that is compared, and what was left out and why.

    Args:
        mechanism: the mechanism; its symbols have values.
        dynamics: the kernels of its open tree.
        peer: the same mechanism in Pinocchio.
        states: number of random states.
        tolerance: allowed relative difference.
        derive: false to leave out formulations and laws.
        q: positions around which loops are closed, as for :func:`dalembert.verify`.
        elements: force elements that act.
        include: terms of the joints that are compared; by default all that they have.
    """
    import numpy as np

    from dalembert.cli.agreement import REFERENCES, compare
    from dalembert.dynamics import Dynamics
    from dalembert.formulations.agreement import AgreementRow
    from dalembert.formulations.load_laws import terms_of
    from dalembert.formulations.verify import JOINT_TERMS, verify

    rows: list[AgreementRow] = []
    left_out: list[str] = []
    if derive:
        with np.errstate(all="ignore"):
            agreement = verify(mechanism, states, tolerance, seed=seed, elements=elements, include=include, q=q)
        rows += agreement.rows
        left_out += agreement.skipped
    elif mechanism.contacts:
        left_out.append("the laws of contact: they are checked with the derivations, without --quick")
    comparisons = [("", found) for found in compare(dynamics, peer, seed, states)]
    if terms := tuple(term for term in terms_of(mechanism) if include is None or term in include):
        full = Dynamics(mechanism, constraints=(), elements=(), include=terms)
        comparisons += [(JOINT_TERMS, found) for found in compare(full, None, seed, states)]
    for suffix, found in comparisons:
        quantity = found.quantity.replace("_", " ") + suffix
        if found.worst is None:
            left_out.append(f"{quantity} by {found.route}: {found.reason}")
        else:
            rows.append(AgreementRow(quantity, found.route, REFERENCES[found.quantity], found.worst, tolerance))
    order = {name: k for k, name in enumerate(dict.fromkeys(row.quantity for row in rows))}
    return sorted(rows, key=lambda row: order[row.quantity]), left_out
