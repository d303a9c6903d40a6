"""Verify a mechanism's dynamics: independent routes to the same numbers, compared at random states.

Every algorithm of inverse dynamics, inertia matrix and forward dynamics, the compiled kernels, and Pinocchio where it
is installed. The exit code is 1 if any of them differ by more than the tolerance.

examples:
  dalembert verify panda.urdf
  dalembert verify talos.urdf --base free --states 3
  dalembert verify stacker --set m3=20
  dalembert verify panda.urdf --json               for a test of your own
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from dalembert.cli.model import open_model, source_of
from dalembert.cli.options import add_common, add_model, integer, real
from dalembert.cli.terminal import Cell, Terminal

if TYPE_CHECKING:
    from dalembert.cli.agreement import Agreement

SUMMARY = "compare every algorithm with every other, and with Pinocchio"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument("--states", type=integer(1, 10_000), default=10, help="how many random states (default 10)")
    parser.add_argument("--seed", type=integer(0, 2**32 - 1), default=0, help="of the random states (default 0)")
    parser.add_argument(
        "--tolerance", type=real(0.0, 1.0), default=1e-9, help="largest relative difference (default 1e-9)"
    )
    add_common(parser)


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    import numpy as np

    from dalembert.cli.agreement import compare
    from dalembert.cli.peers import find_peer
    from dalembert.dynamics import Dynamics

    mechanism = open_model(options, numeric=True)
    rng = np.random.default_rng(options.seed)
    states = [mechanism.random_state(rng) for _ in range(options.states)]
    peer, remark = find_peer(mechanism, source_of(options.model), options.base)
    found: list[Agreement] = []
    terminal.progress("comparing ...")
    for agreement in compare(mechanism, Dynamics(mechanism), peer, states):
        found.append(agreement)
        terminal.progress(f"comparing {agreement.quantity}: {agreement.route} done ...")
    failed = [agreement for agreement in found if not agreement.holds(options.tolerance)]
    if options.json:
        terminal.json(
            {
                "model": mechanism.name,
                "tolerance": options.tolerance,
                "agrees": not failed,
                "remark": remark,
                "comparisons": [vars(agreement) for agreement in found],
            }
        )
        return 1 if failed else 0
    terminal.say(f"{mechanism.name}: worst relative difference over {options.states} random states", "bold")
    say_agreements(terminal, found, options.tolerance)
    if remark:
        terminal.say(f"\n{remark}", "dim")
    if mechanism.constraints:
        terminal.say("\nThe constraints of the mechanism are not part of these quantities.", "dim")
    if failed:
        terminal.say(f"\n{len(failed)} of {len(found)} routes differ by more than {options.tolerance:g}.", "bad")
        return 1
    compared = sum(agreement.worst is not None for agreement in found)
    terminal.say(f"\nAll {compared} routes agree to {options.tolerance:g}.", "good")
    return 0


def say_agreements(terminal: Terminal, found: list[Agreement], tolerance: float) -> None:
    """A table for each quantity, then the routes that do not apply.

    Args:
        terminal: where to.
        found: the comparisons.
        tolerance: what counts as agreement.
    """
    for quantity in dict.fromkeys(agreement.quantity for agreement in found):
        here = [agreement for agreement in found if agreement.quantity == quantity]
        terminal.title(f"{quantity}, against {here[0].reference}:")
        rows = []
        for agreement in here:
            if agreement.worst is not None:
                style = "good" if agreement.holds(tolerance) else "bad"
                reference = agreement.route == agreement.reference
                worst = Cell("reference") if reference else Cell(f"{agreement.worst:.1e}", style)
                rows.append((agreement.route, worst, str(agreement.states)))
        terminal.table(("route", "worst", "states"), rows)
        for agreement in here:
            if agreement.worst is None:
                terminal.say(f"  {agreement.route}: {agreement.reason}", "dim")
