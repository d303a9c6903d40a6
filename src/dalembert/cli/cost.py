"""Count operations: what each compiled quantity of a mechanism costs, exactly, per state.

A fused multiply-add counts as a product and a sum; changes of sign are free; live is the number of values held at once.

examples:
  dalembert cost panda.urdf
  dalembert cost panda.urdf --algorithms                every algorithm on this robot, beside what is compiled
  dalembert cost panda.urdf --tables                    beside the literature; every table for a generic arm
  dalembert cost --tables                               the tables alone: what is counted here and what was printed
  dalembert cost panda.urdf --quantity linearize
  dalembert cost panda.urdf --quantity jacobian --frame panda_hand
  dalembert cost panda.urdf --algorithms --plot a.png   as bars
  dalembert cost stacker --keep-symbols                 symbols stay inputs instead of taking their default values
  dalembert cost four_bar                               under the constraints of the model
  dalembert cost four_bar --constraints none            of the open tree
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from dalembert.cli.options import add_common, add_model, add_quantities, chosen_quantities, open_model, plot
from dalembert.cli.state import acting, add_acting, dynamics_of, tree_of
from dalembert.cli.terminal import Cell, Terminal
from dalembert.errors import ArgumentError, SingularityError, UnsupportedError
from dalembert.files import write_whole

if TYPE_CHECKING:
    from dalembert.dynamics import Dynamics
    from dalembert.model import Mechanism
    from dalembert.tracing.cost import Cost


SUMMARY = "count the operations of each quantity and algorithm"

USUAL = (
    "gravity",
    "bias",
    "inverse_dynamics",
    "mass_matrix",
    "forward_dynamics",
    "inverse_dynamics_derivatives",
)
"""What is counted unless something else is asked for."""

MOST_JOINTS = 8
"""Of a generic arm that is counted in a few seconds."""

TITLES = ("mult", "add", "div", "sqrt", "sin", "cos", "other", "total")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser, optional=True)
    add_quantities(parser, f"default: {' '.join(USUAL)}", every="all")
    parser.add_argument("--algorithms", action="store_true", help="count every algorithm by name, too")
    parser.add_argument("--tables", action="store_true", help="add published counts, and all tables for a generic arm")
    parser.add_argument("--all", action="store_true", help="with --algorithms: count also what takes minutes")
    parser.add_argument("--keep-symbols", action="store_true", help="leave symbols of the model as inputs")
    parser.add_argument("--plot", metavar="FILE", type=plot, help="draw the counts as bars: .png, .svg or .pdf")
    add_acting(parser.add_argument_group("what acts"))
    add_common(parser)


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    if options.keep_symbols and options.algorithms:
        raise ArgumentError("--algorithms counts on numbers; leave out --keep-symbols")
    if options.keep_symbols and acting(options.constraints):
        keeping = open_model(options, numeric=False)
        if keeping.symbols and keeping.constraints:
            raise ArgumentError(
                f"{keeping.name!r} has constraints, and the values of its symbols decide which rows are independent; "
                "leave out --keep-symbols, or count the open tree with --constraints none"
            )
    if options.all and not options.algorithms:
        raise ArgumentError("--all belongs to --algorithms; give that, too, or leave it out")
    if options.model is None:
        return _tables_alone(options, terminal)
    mechanism = open_model(options, numeric=not options.keep_symbols)
    dynamics = dynamics_of(mechanism, options.include, options.constraints, options.elements)
    chosen = chosen_quantities(options, USUAL, mechanism, coordinates=True)
    ours: dict[str, Cost] = {}
    missing: dict[str, str] = {}
    for name, frame in chosen.items():
        terminal.progress(f"counting {name} ...")
        try:
            ours[name] = dynamics.cost(name, **frame)
        except SingularityError as error:
            if name in options.quantities:
                raise
            missing[name] = str(error)
    families = [name for name in FAMILIES if name in ours]
    counted: dict[str, list[AlgorithmCost]] = {}
    tree = dynamics if dynamics.is_tree or not options.algorithms else tree_of(mechanism)
    if options.algorithms:
        for name in families:
            terminal.progress(f"counting the algorithms of {name} ...")
            counted[name] = list(count_algorithms(tree, name, options.all))
    if options.plot is not None:
        _draw(options.plot, mechanism.name, ours, counted)
    if options.json:
        data: dict[str, Any] = {"model": mechanism.name, "nv": mechanism.nv}
        data["compiled"] = {name: _fields(cost) for name, cost in ours.items()}
        data["not_counted"] = missing
        if options.algorithms:
            data["algorithms"] = {
                name: {c.algorithm: _fields(c.cost) if c.cost else {"not_counted": c.reason} for c in counts}
                for name, counts in counted.items()
            }
        if options.tables:
            data["published"] = {
                name: {who: {"multiplications": m, "additions": a} for who, m, a in published(name, mechanism.nv)[1]}
                for name in families
                if is_plain_arm(mechanism)
            }
            data["tables"] = _tables(terminal, mechanism)
        terminal.json(data)
        return 0

    under = "" if dynamics.is_tree else ", with its constraints and force elements"
    terminal.say(f"{mechanism.name}: operations per state of the compiled quantities{under}", "bold")
    rows = [(name, *_numbers(cost), str(cost.live)) for name, cost in ours.items()]
    terminal.table(("quantity", *TITLES, "live"), rows)
    for reason, names in _by_reason(missing).items():
        terminal.say(f"  {', '.join(names)}: {reason}", "dim")
    for name, counts in counted.items():
        terminal.title(f"{name}, every algorithm on the robot as it is described:")
        compiled = tree.cost(name)
        best = compiled.operations
        lines: list[tuple[str | Cell, ...]] = []
        for count in counts:
            if count.cost is None:
                terminal.say(f"  {count.algorithm}: {count.reason}", "dim")
            else:
                ratio = f"{count.cost.operations / best:.2f}" if best else ""
                lines.append((count.algorithm, *_numbers(count.cost), ratio))
        kernel = ("compiled by dalembert", *_numbers(compiled), "1.00" if best else "")
        lines.append(tuple(Cell(cell, "good") for cell in kernel))
        terminal.table(("algorithm", *TITLES, "ratio"), lines)
    if options.tables:
        if is_plain_arm(mechanism):
            _say_published(terminal, mechanism.nv, {name: ours[name] for name in families})
        else:
            terminal.say(
                f"\npublished counts are for revolute joints in a row on a fixed base, which {mechanism.name} is not: "
                "they are not set beside its own",
                "dim",
            )
        _say_tables(terminal, mechanism)
    if options.plot is not None:
        terminal.say(f"\nwritten: {options.plot}", "good")
    return 0


def _tables_alone(options: argparse.Namespace, terminal: Terminal) -> int:
    """The tables for a generic arm, without any robot."""
    given = {x: y for x, y in vars(options).items() if x not in ("model", "tables", "json", "traceback", "command")}
    if not options.tables or any(y for x, y in given.items() if not callable(y)):
        raise ArgumentError("name a MODEL to be counted; only --tables, with nothing else, can do without one")
    if options.json:
        terminal.json({"tables": _tables(terminal, None)})
    else:
        _say_tables(terminal, None)
    return 0


def _draw(path: str, name: str, ours: dict[str, Cost], counted: dict[str, list[AlgorithmCost]]) -> None:
    from dalembert.pictures import draw_counts

    bars: dict[str, Cost] = {}
    for quantity, cost in ours.items():
        bars[f"{quantity}, compiled" if quantity in counted else quantity] = cost
        bars |= {f"{quantity}, {c.algorithm}": c.cost for c in counted.get(quantity, ()) if c.cost is not None}
    write_whole(path, draw_counts(bars, f"{name}: operations per state").savefig)


def _say_published(terminal: Terminal, n: int, ours: dict[str, Cost]) -> None:
    for name, cost in ours.items():
        source, counts = published(name, n)
        if counts:
            terminal.title(f"{name}, as published for generic arms of {n} revolute joints ({source}):")
            rows: list[tuple[str | Cell, ...]] = [(who, f"{m:.0f}", f"{a:.0f}") for who, m, a in counts]
            label = "this robot with its right angles and zeros, compiled"
            if cost.divisions:
                label += "; divisions as multiplications"
            this = (label, str(cost.multiplications + cost.divisions), str(cost.additions))
            terminal.table(("source", "mult", "add"), [*rows, tuple(Cell(cell, "good") for cell in this)])


def _say_tables(terminal: Terminal, mechanism: Mechanism | None) -> None:
    from dalembert.costs.tables import cost_tables
    from dalembert.formulations.equations import CITATIONS

    joints = _joints_of_tables(terminal, mechanism)
    terminal.title(f"published for generic arms, and ours for {joints} joints (multiplications / additions):")
    terminal.say(cost_tables(joints))
    terminal.say(f"\nTHESIS: {CITATIONS['THESIS']}")


def _tables(terminal: Terminal, mechanism: Mechanism | None) -> dict[str, Any]:
    from dalembert.costs.tables import table_counts

    joints = _joints_of_tables(terminal, mechanism)
    return {"joints": joints, **table_counts(joints)}


def _joints_of_tables(terminal: Terminal, mechanism: Mechanism | None) -> int:
    joints = 6
    if mechanism is not None and is_plain_arm(mechanism) and 2 <= mechanism.nv <= MOST_JOINTS:
        joints = mechanism.nv
    terminal.progress(f"counting every algorithm on generic arms with {joints} joints ...")
    return joints


def _by_reason(missing: dict[str, str]) -> dict[str, list[str]]:
    reasons: dict[str, list[str]] = {}
    for name, reason in missing.items():
        reasons.setdefault(reason, []).append(name)
    return reasons


def _numbers(cost: Cost) -> tuple[str, ...]:
    numbers = [cost.multiplications, cost.additions, cost.divisions, cost.square_roots, cost.sines, cost.cosines]
    numbers.append(cost.other_functions + cost.comparisons)
    return (*(str(number) if number else "" for number in numbers), str(cost.operations))


def _fields(cost: Cost) -> dict[str, int]:
    from dataclasses import asdict

    return asdict(cost) | {"operations": cost.operations}


# ------------------------------------------------------------------------------------------------------------- counting


FAMILIES = ("inverse_dynamics", "mass_matrix", "forward_dynamics")
"""Quantities for which there are several algorithms."""

TOO_LONG = 20_000
"""Sum over bodies of the third power of their depth, from which on (5.2.2), O(n^4), is not traced unless asked for."""


class AlgorithmCost(NamedTuple):
    """The operations of one algorithm, or why there are none."""

    algorithm: str
    cost: Cost | None
    reason: str = ""


def count_algorithms(dynamics: Dynamics, quantity: str, everything: bool = False) -> Iterator[AlgorithmCost]:
    """Operations of every algorithm on the mechanism as it is described, after the same passes as all kernels.

    Args:
        dynamics: of a mechanism whose symbols have values.
        quantity: one of :data:`FAMILIES`.
        everything: count also what takes minutes.
    """
    from dalembert.dynamics.catalogue import QUANTITIES

    work = sum(len(chain) ** 3 for chain in dynamics.mechanism.tree.ancestors)
    for name in QUANTITIES[quantity].algorithms:
        if name == "uicker-kahn" and work > TOO_LONG and not everything:
            yield AlgorithmCost(name, None, "O(n^4), left out; --all counts it")
            continue
        try:
            yield AlgorithmCost(name, dynamics.cost(quantity, algorithm=name))
        except UnsupportedError as error:
            yield AlgorithmCost(name, None, str(error))


def is_plain_arm(mechanism: Mechanism) -> bool:
    """Whether the mechanism is what published counts are for: revolute joints in a row on a fixed base.

    Args:
        mechanism: the mechanism; bodies that are fixed to others do not matter.
    """
    links = mechanism.tree.links
    row = all(link.parent == k - 1 and link.kind == "revolute" for k, link in enumerate(links))
    return row and not mechanism.tree.coupled and not mechanism.constraints


def published(quantity: str, n: int) -> tuple[str, list[tuple[str, float, float]]]:
    """Where counts were published for n revolute joints in a row with general twists, and which; none for n < 2.

    Args:
        quantity: one of :data:`FAMILIES`.
        n: number of joints.
    """
    from dalembert.costs.published import TABLE_5_3, TABLE_6_2, TABLE_6_3

    table = {"inverse_dynamics": TABLE_5_3, "mass_matrix": TABLE_6_2, "forward_dynamics": TABLE_6_3}.get(quantity)
    if table is None or n < 2 or (table is TABLE_6_3 and n != 6):  # that one has numbers, the others polynomials in n
        return "", []
    rows = [(who, float(entry[0](n)), float(entry[1](n))) for who, entry in table.rows.items()]
    return f"Table {table.number} of Balafoutis, PhD thesis, 1989", rows
