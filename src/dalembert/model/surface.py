"""What two surfaces give to the contact between them."""

from __future__ import annotations

from typing import Any

from dalembert.model.body import Surface


def combined(one: Surface, two: Surface) -> Surface:
    """The numbers of a pair, as MuJoCo finds them from those of two surfaces.

    The surface of higher priority decides. Else friction is the larger one, and solref and solimp are averages with the
    weights of mixing; where a solref is given directly, by negative numbers, the smaller entries.
    """
    if one.priority != two.priority:
        return one if one.priority > two.priority else two

    def larger(name: str) -> Any:
        values = [value for value in (getattr(one, name), getattr(two, name)) if value is not None]
        return max(values) if values else None

    weights = (one.mixing, two.mixing)
    total = sum(weights)
    share = weights[0] / total if total > 1e-15 else 0.5

    def mixed(name: str) -> tuple[float, ...] | None:
        a, b = getattr(one, name), getattr(two, name)
        if a is None or b is None:
            return a or b
        if name == "solref" and not (a[0] > 0 and b[0] > 0):
            return tuple(map(min, a, b))
        return tuple(share * x + (1 - share) * y for x, y in zip(a, b))

    return Surface(
        larger("friction"),
        larger("torsional"),
        larger("rolling"),
        mixed("solref"),
        mixed("solimp"),
        dimensions=max(one.dimensions, two.dimensions),
    )


def numbers_of(surface: Surface) -> dict[str, Any]:
    """The numbers that a surface gives to a :class:`~dalembert.model.Contact`; what it says nothing of is left out.

    Args:
        surface: of the pair; see :func:`combined`.
    """
    found: dict[str, Any] = {}
    if surface.friction is not None:
        found["friction"] = surface.friction if surface.dimensions > 1 else 0
    if surface.torsional is not None and surface.dimensions > 3:
        found["torsional"] = surface.torsional
    if surface.rolling is not None and surface.dimensions > 4:
        found["rolling"] = surface.rolling
    return found | {key: getattr(surface, key) for key in ("solref", "solimp") if getattr(surface, key) is not None}
