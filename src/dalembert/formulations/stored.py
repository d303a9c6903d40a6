"""Equations as data that can be pickled: one program of everything, and what its inputs are called."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dalembert.errors import UnsupportedError
from dalembert.formulations.assembly import Lazy
from dalembert.formulations.equations import Equations, Step
from dalembert.formulations.quantity import Quantity
from dalembert.formulations.scope import Scope
from dalembert.formulations.substitution import PARTS, plain_numbers
from dalembert.tracing.evaluate import inline

FIELDS = ("name", "method", "sources", "omitted", "gravity_field", "reference", "driven")


def stored(equations: Equations) -> dict[str, Any]:
    """What :func:`restored` makes the same equations of; extras that were not asked for yet are made now.

    Args:
        equations: any.
    """
    extras: dict[str, Any] = {}
    for name in equations.extras:
        try:
            extras[name] = equations.extras[name]
        except UnsupportedError as error:
            extras[name] = str(error)
    plan = {
        "parts": {name: part for name in PARTS if (part := getattr(equations, name)) is not None},
        "extras": extras,
        "steps": [(step.title, step.text, step.quantities, step.formula) for step in equations.derivation],
    }
    scope, found = equations.scope, list(_quantities(plan))
    return {
        "fields": {name: getattr(equations, name) for name in FIELDS},
        "names": scope.names,
        "parameters": scope.parameters,
        "quaternions": scope.quaternions,
        "held": scope.held,
        "bounds": [limit for *_, limit in scope.bounds],
        "program": scope.program(
            {str(k): quantity.values for k, quantity in enumerate(found)}
            | {"bounds": [x for x, *_ in scope.bounds], "units": [unit for _, unit, _ in scope.bounds]},
            "equations",
        ),
        "plan": _replaced(plan, iter([(q.name, q.symbol, k) for k, q in enumerate(found)])),
    }


def restored(data: dict[str, Any]) -> Equations:
    """The equations of which :func:`stored` tells.

    Args:
        data: what it gave.
    """
    scope = Scope()
    for port, symbols in data["names"].items():
        if port in data["parameters"]:
            scope.parameter(symbols[0])
        elif port == "t":
            scope.clock(symbols[0])
        else:
            scope.input(port, symbols)
    scope.quaternions, scope.held = list(data["quaternions"]), list(data["held"])
    program = data["program"]
    values = inline(
        program, {p.name: scope.arrays[p.name] if p.shape else scope.arrays[p.name][0] for p in program.inputs}
    )
    scope.bounds = list(zip(values["bounds"], values["units"], data["bounds"]))
    made = (Quantity(scope, name, symbol, plain_numbers(np.array(values[str(k)], dtype=object)))
            for name, symbol, k in _quantities(data["plan"]))  # fmt: skip
    plan = _replaced(data["plan"], made)

    def maker(extra: Quantity | str) -> Callable[[], Quantity]:
        def make() -> Quantity:
            if isinstance(extra, str):
                raise UnsupportedError(extra)
            return extra

        return make

    return Equations(
        **data["fields"], **plan["parts"], scope=scope,
        extras=Lazy({name: maker(extra) for name, extra in plan["extras"].items()}),
        derivation=tuple(Step(*step) for step in plan["steps"]),
    )  # fmt: skip


def _quantities(plan: dict[str, Any]) -> Iterator[Any]:
    """Everything in a plan that is, or stands for, a quantity, in order."""
    yield from plan["parts"].values()
    yield from (extra for extra in plan["extras"].values() if not isinstance(extra, str))
    for _, _, quantities, _ in plan["steps"]:
        yield from quantities


def _replaced(plan: dict[str, Any], others: Iterator[Any]) -> dict[str, Any]:
    """The plan with others, in that order, in the place of its quantities."""
    return {
        "parts": {name: next(others) for name in plan["parts"]},
        "extras": {name: x if isinstance(x, str) else next(others) for name, x in plan["extras"].items()},
        "steps": [
            (title, text, tuple(next(others) for _ in quantities), formula)
            for title, text, quantities, formula in plan["steps"]
        ],
    }
