"""Why to believe it and what it costs: agreement of all routes, operation counts, references."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from dalembert.errors import UnsupportedError
from dalembert.formulations.agreement import Agreement, AgreementRow
from dalembert.formulations.bodies import MovingBodies
from dalembert.formulations.derive import derive
from dalembert.formulations.equation_laws import checked_by_laws, checked_by_routes, held_against
from dalembert.formulations.equations import METHODS, Equations
from dalembert.formulations.quantity import cost_together
from dalembert.formulations.verify import JOINT_TERMS, verify
from dalembert.model import Mechanism
from dalembert.report.document import Block, Bullets, Heading, Inline, Line, Math, Paragraph, References, table
from dalembert.tracing.cost import Cost

LARGE = 10
"""Degrees of freedom beyond which only the cheaper routes are compared."""

LAWS: dict[str, Line] = {
    "M symmetric": (Math("M = M^T"),),
    "M positive": (Math("M"), " positive definite"),
    "Mdot - 2C skew": (Math(r"\dot{M} - 2C"), " skew"),
    "C v = c": (Math("C v = c"),),
}
"""Laws that read better as mathematics."""

ROUTES = ("newton-euler", "kane", "lagrange", "kronecker")


def agreement_of(origin: Mechanism | MovingBodies | None, equations: Equations) -> Agreement:
    """Every formulation and algorithm against every other, and the laws that these equations must obey.

    Of large mechanisms only the routes that scale are compared with the one taken.

    Args:
        origin: what was derived, if it is known.
    """
    if isinstance(origin, MovingBodies):
        return checked_by_routes(origin, equations)
    if origin is None:
        return checked_by_laws(equations)
    large = origin.nv > LARGE
    q = equations.reference if origin.constraints else None
    if large:
        taken = {"newton-euler", "kane", equations.method}
        routes = tuple(route for route in ROUTES if route in taken)
        found = verify(origin, states=1, methods=routes, q=q)
        others = " and ".join(route for route in ROUTES if route not in routes)
        reason = f"{others}: {origin.nv} degrees of freedom; compared by verify, methods=[...]"
        found = replace(found, skipped=(reason, *found.skipped))
    else:
        found = verify(origin, q=q)
    if equations.gravity_field is not None:
        found = replace(found, skipped=(*found.skipped, "the field of gravity: routes are compared in uniform gravity"))
    if equations.velocity_port == "v":
        own = held_against(origin, equations)
        return replace(found, rows=(*found.rows, *own.rows), skipped=(*found.skipped, *own.skipped))
    own = checked_by_laws(equations)
    rows = [*found.rows, *(replace(row, quantity=f"{row.quantity}, in the speeds u") for row in own.rows)]
    return replace(found, rows=tuple(rows), skipped=(*found.skipped, *own.skipped))


def agreement_blocks(agreement: Agreement) -> Iterator[Block]:
    """For every quantity and law the worst relative error over all routes."""
    yield Heading("Agreement")
    good = sum(row.ok for row in agreement.rows)
    states = "one random state" if agreement.states == 1 else f"{agreement.states} random states"
    if not agreement.rows:
        yield Paragraph(("There is nothing to compare.",))
    elif agreement.ok:
        worst = max(row.error for row in agreement.rows)
        text = f"All {good} comparisons at {states} agree; the largest relative error is "
        if good == 1:
            text = f"The one comparison at {states} agrees; its largest relative error is "
        yield Paragraph((text, error_text(worst), "."), "good")
    else:
        bad = len(agreement.rows) - good
        yield Paragraph((f"{bad} of {len(agreement.rows)} comparisons at {states} do not hold; see the table.",), "bad")
    groups: dict[str, list[AgreementRow]] = {}
    for row in agreement.rows:
        groups.setdefault(row.quantity, []).append(row)
    rows: list[list[Inline | Line]] = []
    for quantity, members in groups.items():
        worst_row = max(members, key=lambda row: (row.error != row.error, row.error))
        verdict = "holds" if all(row.ok for row in members) else f"exceeds {worst_row.tolerance:.0e}"
        between = f"{worst_row.who} / {worst_row.against}"
        rows.append([_law(quantity), str(len(members)), error_text(worst_row.error), verdict, between])
    head = ("quantity or law", "routes", "worst relative error", "verdict", "between")
    if rows:
        yield table(head, rows, "Independent routes to the same numbers, compared at random states.", numbers=(1, 2))
    if agreement.skipped:
        yield Paragraph(("Left out:",), "note")
        yield Bullets(tuple((reason,) for reason in agreement.skipped))


def _law(quantity: str) -> Inline | Line:
    law = quantity.removesuffix(JOINT_TERMS)
    return (*LAWS[law], quantity[len(law) :]) if law in LAWS else quantity


def error_text(error: float) -> Math:
    """A relative error with two digits."""
    if error == 0 or not math.isfinite(error):
        return Math("0" if error == 0 else r"\mathrm{NaN}" if math.isnan(error) else r"\infty")
    mantissa, _, exponent = f"{error:.1e}".partition("e")
    return Math(rf"{mantissa} \cdot 10^{{{int(exponent)}}}")


def cost_blocks(equations: Equations, mechanism: Mechanism | None) -> Iterator[Block]:
    """Operations of every part, and of the same equations by the other routes.

    Args:
        mechanism: what was derived, if it is a mechanism.
    """
    yield Heading("Operation counts")
    head = ("", "multiplications", "additions", "divisions, roots", "sines, cosines")
    numbers = (1, 2, 3, 4)
    rows: list[list[Inline | Line]] = []
    for name, part in equations.quantities().items():
        if part.cost.operations:
            label: Line = (Math(part.symbol), f" {name.replace('_', ' ')}")
            rows.append([label, *_counts(part.cost)])
    together = cost_together((equations.mass_matrix, equations.bias))
    rows.append([(Math("M"), " and ", Math("h"), " together"), *_counts(together)])
    caption = "Operations of each compiled part by itself; of the formulas above where these are shortest; h = c + G."
    yield table(head, rows, caption, numbers)
    if mechanism is not None and mechanism.nv <= LARGE:
        others = [[(METHODS[route],), *_counts(count)] for route, count in _routes(mechanism, equations)]
        tree = " of the tree without constraints, in its own velocities" * bool(
            mechanism.constraints or equations.velocity_port == "u"
        )
        yield table(head, others, f"The mass matrix and h together{tree}, as each route arrives at them.", numbers)


def _counts(count: Cost) -> list[Inline | Line]:
    return [
        f"{number:,}".replace(",", " ")
        for number in (
            count.multiplications,
            count.additions,
            count.divisions + count.square_roots,
            count.sines + count.cosines + count.other_functions,
        )
    ]


def _routes(mechanism: Mechanism, equations: Equations) -> Iterator[tuple[str, Cost]]:
    free = mechanism.replace(constraints=(), forces=())
    include = (
        () if equations.without_rotors else ("armature",)
    )  # of all that may be included, M and h have the rotors alone
    for route in ROUTES:
        try:
            other = derive(free, route, include=include)
            yield route, cost_together((other.mass_matrix, other.bias))
        except UnsupportedError:
            continue


def reference_blocks(equations: Equations) -> Iterator[Block]:
    """The documents behind the derivation."""
    yield Heading("References")
    yield References(equations.sources)
