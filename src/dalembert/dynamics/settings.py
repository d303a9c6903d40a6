"""Everything that decides what a ``Dynamics`` computes, as one value.

    settings = Settings(arm, include=["damping"], law="convex")
    settings.replace(device="cuda").digest

Every field has its converter, which checks what was given and brings it into one form. Whatever else must know all
settings - the digest, pickling, "the same with another device", the text of a ``Dynamics`` - goes over the fields; keys
of kernels go over those that a quantity depends on.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import field
from typing import Any

import numpy as np

from dalembert.algorithms.joint_forces import joint_forces
from dalembert.cached import cached_property
from dalembert.constraints.arguments import velocities_named
from dalembert.constraints.forces import chosen_elements
from dalembert.contact.rows import chosen_contacts, limited_joints
from dalembert.dynamics.contacting import LAWS
from dalembert.errors import ArgumentError
from dalembert.labels import as_mapping
from dalembert.model import Mechanism
from dalembert.model.checks import expect_choice, expect_items, expect_names, expect_real, shown
from dalembert.model.names import named_positions
from dalembert.model.record import fingerprint
from dalembert.native.arguments import precision
from dalembert.text.suggest import hint

METHODS = ("multipliers", "projection")
"""How a kernel finds accelerations; see :mod:`dalembert.constraints.straight_line`."""

Converter = Callable[[Any, "Settings"], Any]


def by(convert: Converter) -> dict[str, Converter]:
    """Metadata of a field: what checks a value and brings it into one form."""
    return {"convert": convert}


# ---------------------------------------------------------------------------------------------------------- converters


def _mechanism(given: Any, _: Settings) -> Mechanism:
    if isinstance(given, Mechanism):
        return given
    derived = hasattr(given, "moving")
    mend = "those of equations are equations.dynamics(...)" if derived else "use dalembert.load(...)"
    raise ArgumentError(f"Dynamics takes a Mechanism, got {type(given).__name__}; {mend}")


def _constraints(given: Any, own: Settings) -> tuple[str, ...]:
    """Those that hold, in the order of the mechanism."""
    known = [item.name for item in own.mechanism.constraints]
    if isinstance(given, str) and given == "all":
        return tuple(known)
    chosen = expect_names(given, "Dynamics, constraints")
    if unknown := [name for name in chosen if name not in known]:
        raise ArgumentError(
            f"{own.mechanism.name!r} has no constraint {unknown[0]!r}; it has {', '.join(known) or 'none'}",
            remedy="none of them hold with constraints=()" if "none" in unknown else "",
        )
    return tuple(name for name in known if name in chosen)


def _wrenches(given: Any, own: Settings) -> tuple[str, ...]:
    names = _names("wrenches", given)
    for name in names:
        own.mechanism.frame(name)
    return names


def _include(given: Any, own: Settings) -> tuple[str, ...]:
    names = _names("include", given, ordered=False)
    joint_forces(own.mechanism, names)  # raises for an unknown term
    return names


def _parameters(given: Any, _: Settings) -> tuple[str, ...] | dict[str, Any]:
    given = as_mapping(given)
    return dict(given) if isinstance(given, Mapping) else _names("parameters", given)


def _independent(given: Any, own: Settings) -> tuple[str, ...] | None:
    if given is None:
        return None
    names = tuple(expect_names(given, "Dynamics, independent"))
    velocities_named(own.mechanism, names, "Dynamics, independent")
    return names


def _reference(given: Any, own: Settings) -> np.ndarray:
    m = own.mechanism
    found = m.neutral if given is None else named_positions(m, given, "reference", batch=False)
    if found.shape != (m.nq,):
        raise ArgumentError(f"reference has shape {found.shape}, but {m.name!r} needs ({m.nq},)")
    return found


def _method(given: Any, _: Settings) -> str | None:
    return None if given is None else expect_choice(given, METHODS, "Dynamics, method")


def _device(given: Any, _: Settings) -> str:
    return expect_choice(given, ("cpu", "cuda"), "Dynamics: device =")


def effort(given: Any, _: Any = None) -> int:
    """How hard to look for operations to save: 0, 1 or 2."""
    if type(given) is not int or given not in (0, 1, 2):
        raise ArgumentError(f"Dynamics: optimise = {shown(given)}; choose 0, 1 or 2")
    return given


def _names(what: str, given: Any, ordered: bool = True) -> tuple[str, ...]:
    """Different names, in their order if that matters."""
    if isinstance(given, str):
        raise ArgumentError(f"{what} = {given!r}: a list of names is needed, [{given!r}]")
    if ordered and isinstance(given, Set):
        raise ArgumentError(f"{what} = {given!r}: a set has no order, but the values of the input must have one")
    names = expect_items(given, str, f"Dynamics, {what}")
    if isinstance(given, Set):
        names = tuple(sorted(names))
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ArgumentError(f"{what} has {twice[0]!r} twice: {', '.join(names)}; name everything once")
    return names


# ----------------------------------------------------------------------------------------------------------- the record


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Settings:
    """What a :class:`~dalembert.dynamics.Dynamics` computes, and how.

    Args:
        mechanism: the mechanism.
        constraints: names of the constraints that hold, or ``"all"``.
        elements: names of the force elements that act, or ``"all"``.
        contacts: names of the contacts that may close, or ``"all"``. Rigid ones act in ``contact_step``, and in
            ``simulate`` and ``rollout``; ``forward_dynamics`` is that of open contacts, and warns.
        limits: names of the joints whose ranges end in stops, or ``"all"``; they are rows beside contacts.
        law: of the contacts. ``"rigid"`` and ``"convex"`` ones, the latter MuJoCo's, act in steps; ``"compliant"`` ones
            are springs, dampers and smooth friction, which act everywhere as force elements do and are listed with
            ``elements``.
        wrenches: names of frames on which external wrenches ``[force; moment]`` act, frame axes, at its origin.
        include: which of ``armature``, ``damping`` and ``friction`` of the joints enter; none by default.
        parameters: addresses of numbers that stay inputs, such as ``"link7.mass"``, see
            :func:`dalembert.model.parameters.parameters`; or values by name of a symbol or by address.
        method: how constrained accelerations are found, ``"multipliers"`` or ``"projection"``; by default multipliers,
            unless a motion of the open tree moves no mass (a rod without mass in a loop), which projection can do.
        independent: names of the independent speeds (see :meth:`velocity_names`), or of joints for all of theirs;
            for projection only. By default they are chosen.
        reference: positions around which rows and speeds are chosen, or by joint name, others neutral; need not satisfy
            the constraints.
        regularisation: added to the diagonal of the matrix of the multipliers.
        stabilisation: frequency, rad/s, with which constraint violations decay (Baumgarte); 0 for none.
        dtype: float64 or float32 to compute in one precision always; by default the inputs decide.
        device: ``"cpu"``, or ``"cuda"``: kernels then take and give arrays of CuPy, PyTorch or JAX on the device.
        optimise: 0 to 2, how hard to look for operations to save while tracing.
    """

    mechanism: Any = field(default=None, metadata=by(_mechanism))
    constraints: Sequence[str] | str = field(default="all", metadata=by(_constraints))
    elements: Sequence[str] | str = field(default="all", metadata=by(lambda x, own: chosen_elements(own.mechanism, x)))
    contacts: Sequence[str] | str = field(default="all", metadata=by(lambda x, own: chosen_contacts(own.mechanism, x)))
    limits: Sequence[str] | str = field(default=(), metadata=by(lambda x, own: limited_joints(own.mechanism, x)))
    law: str = field(default="rigid", metadata=by(lambda x, _: expect_choice(x, LAWS, "there is no law of contact")))
    wrenches: Sequence[str] = field(default=(), metadata=by(_wrenches))
    include: Sequence[str] = field(default=(), metadata=by(_include))
    parameters: Sequence[str] | Mapping[str, float] = field(default=(), metadata=by(_parameters))
    method: str | None = field(default=None, metadata=by(_method))
    independent: Sequence[str] | None = field(default=None, metadata=by(_independent))
    reference: Any = field(default=None, metadata=by(_reference))
    regularisation: float = field(default=0.0, metadata=by(lambda x, _: expect_real(x, "Dynamics, regularisation", 0)))
    stabilisation: float = field(default=0.0, metadata=by(lambda x, _: expect_real(x, "Dynamics, stabilisation", 0)))
    dtype: Any = field(default=None, metadata=by(lambda x, _: precision("Dynamics", x)))
    device: str = field(default="cpu", metadata=by(_device))
    optimise: int = field(default=1, metadata=by(effort))

    def __post_init__(self) -> None:
        for entry in dataclasses.fields(self):
            object.__setattr__(self, entry.name, entry.metadata["convert"](getattr(self, entry.name), self))

    @classmethod
    def of(cls, mechanism: Any, settings: Mapping[str, Any]) -> Settings:
        """Those of a mechanism, or others with some changed.

        Args:
            mechanism: the mechanism, or settings.
            settings: by name.
        """
        if isinstance(mechanism, Settings):
            return mechanism.replace(**settings)
        known = names()
        if unknown := [name for name in settings if name not in known]:
            raise ArgumentError(f"Dynamics has no setting {unknown[0]!r}{hint(unknown[0], known[1:], 'settings are')}")
        return cls(mechanism, **settings)

    def replace(self, **changes: Any) -> Settings:
        """The same with some changed; another ``mechanism`` takes over those that are not the defaults of this one."""
        kept = self.changed() if "mechanism" in changes else list(self)[1:]
        changes = {"mechanism": self.mechanism, **dict(kept), **changes}
        return Settings.of(changes.pop("mechanism"), changes)

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        """Names and values."""
        return ((entry.name, getattr(self, entry.name)) for entry in dataclasses.fields(self))

    @cached_property
    def digest(self) -> str:
        """A name that changes with every setting."""
        return hashlib.sha256(fingerprint([(name, image(value)) for name, value in self]).encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Settings) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def changed(self) -> list[tuple[str, Any]]:
        """Names and values of those that are not the defaults of the mechanism."""
        plain = Settings(self.mechanism)
        return [(name, value) for name, value in self if image(value) != image(getattr(plain, name))]

    def __repr__(self) -> str:
        own = ", ".join([repr(self.mechanism.name), *(f"{name}={text(value)}" for name, value in self.changed())])
        return f"Settings({own})"


def names() -> tuple[str, ...]:
    """Of all settings."""
    return tuple(entry.name for entry in dataclasses.fields(Settings))


def text(value: Any) -> str:
    """A setting as people read it."""
    if isinstance(value, (tuple, np.ndarray)):
        return str(list(np.array(value).tolist()))
    return str(value) if isinstance(value, np.dtype) else repr(value)


def image(value: Any) -> Any:
    """A setting as :func:`~dalembert.model.record.fingerprint` takes it."""
    if isinstance(value, Mechanism):
        return value.digest
    if isinstance(value, dict):
        return "values", tuple(value.items())  # in their order, which is that of the input
    if isinstance(value, np.dtype):
        return str(value)
    if isinstance(value, np.ndarray):
        return tuple(value.tolist())
    return tuple(value) if isinstance(value, list) else value
