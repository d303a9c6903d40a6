"""The panel of equations: mathematics for small mechanisms, sizes and operation counts for large ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dalembert.dynamics import Dynamics
from dalembert.errors import DalembertError, MissingExtraError
from dalembert.formulations.derive import derive
from dalembert.formulations.display import forms_of, law_latex
from dalembert.formulations.equations import Equations
from dalembert.formulations.mechanism_system import left_out
from dalembert.model import Mechanism
from dalembert.typesetting.escape import html_text
from dalembert.typesetting.mathml import display, inline
from dalembert.typesetting.notation import Notation

MOST_VELOCITIES = 4
"""Degrees of freedom up to which equations are written out."""

COUNTED = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "gravity")
"""Quantities whose operations are counted."""

PARTS = {
    "mass_matrix": "inertia matrix",
    "coriolis": "Coriolis and centrifugal terms",
    "gravity": "gravity",
    "input_map": "map of the drives",
    "passive": "passive forces",
    "constraint_matrix": "constraints",
    "constraint_bias": "bias of the constraints",
}


def formulas(subject: Mechanism | Equations) -> str:
    """Content of the panel, HTML.

    Args:
        subject: the mechanism, with symbols if they are to be read; or equations that have been derived.
    """
    try:
        if isinstance(subject, Equations):
            return "\n".join(_written(subject))
        if 0 < subject.nv <= MOST_VELOCITIES:
            return "\n".join(_written(derive(subject, "lagrange")))
        return "\n".join(_counted(subject))
    except MissingExtraError as error:
        hint = MissingExtraError(error.package, "viewer", "the panel of equations")
        return f'<p class="note">{html_text(str(hint))}</p>'
    except DalembertError as error:
        return f'<p class="note">The equations cannot be derived: {html_text(str(error))}</p>'


def _written(equations: Equations) -> Iterator[str]:
    forms = forms_of(equations, Notation(decimal=not equations.parameters))
    rules = () if equations.constraint_matrix is None else (("", r"A \dot{v} + \gamma = 0"),)
    yield _scrolling(display((("", law_latex(equations)), *rules)))
    for name, part in equations.quantities().items():
        if name not in PARTS:
            continue
        rows = forms.rows(part)
        yield f"<h3>{PARTS[name]}</h3>"
        if rows:
            yield _scrolling(display(tuple(rows)))
        else:
            yield f'<p class="note">{part.cost.operations} operations; too long for this panel.</p>'
    yield from _omitted(equations.omitted)


def _counted(mechanism: Mechanism) -> Iterator[str]:
    n = mechanism.nv
    if not n:
        yield '<p class="note">Nothing moves.</p>'
        return
    yield _scrolling(display((("", r"M(q)\, \dot{v} + c(q, v) + G(q) = \tau"),)))
    filled = int(mechanism.tree.support.sum())
    size = inline(rf"{n} \times {n}")
    yield f'<p class="note">The inertia matrix is {size}; {filled} of its {n * n} entries can differ from zero.</p>'
    closed = " of the open tree" if mechanism.constraints else ""
    dynamics = Dynamics(mechanism, constraints=())  # force elements act, as they do in the motion
    yield f'<table class="counts"><tr><th>operations{closed}</th><th>&times;, &divide;</th><th>+, &minus;</th></tr>'
    for name in COUNTED:
        cost = dynamics.cost(name)
        yield (
            f"<tr><td>{html_text(name.replace('_', ' '))}</td><td>{cost.multiplications + cost.divisions}</td>"
            f"<td>{cost.additions}</td></tr>"
        )
    yield "</table>"
    yield from _omitted(left_out(mechanism, ()))


def _omitted(what: Sequence[str]) -> Iterator[str]:
    if what:
        yield f'<p class="note">Left out of these equations: {html_text("; ".join(what))}.</p>'


def _scrolling(mathematics: str) -> str:
    return f'<div class="scroll" tabindex="0">{mathematics}</div>'
