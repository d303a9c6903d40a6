"""Proof that all algorithms and derivations of a topology agree, for every parameter and every state.

proof = prove(arm)
print(proof)                                # each row: identical, with the probability of an error
proof.write("arm.certificate.json")         # re-checked by check(path), also for another robot of the same topology
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError, ModelError
from dalembert.formulations.load_laws import terms_of
from dalembert.model import Mechanism
from dalembert.proof.claims import Claim, Omission
from dalembert.proof.constraint_laws import constraints
from dalembert.proof.degree import Degrees, error_of, exponent_for
from dalembert.proof.field import EXPONENTS, Field
from dalembert.proof.generic import Subject, digest_of, representative, topology, topology_digest
from dalembert.proof.laws import LAWS
from dalembert.proof.routes import recorded, routes

ERROR = 1e-15
"""The probability of an error that is asked for if nothing is said."""


@dataclass(frozen=True)
class ProofRow:
    """One identity.

    Args:
        quantity: what is compared, or the law that holds.
        who: the algorithm or formula on the left side.
        against: the one on the right side.
        holds: whether both sides were identical at every random point.
        degree: bound of the degree of the difference's numerator.
        error: probability that they differ all the same.
        counterexample: where they do not hold, both sides at a point of small fractions.
    """

    quantity: str
    who: str
    against: str
    holds: bool
    degree: float
    error: float
    counterexample: str = ""


@dataclass(frozen=True)
class Proof:
    """The outcome of :func:`prove`.

    Args:
        subject: name of the mechanism.
        digest: of the mechanism.
        topology: its tree, kinds of joints and closures, see :func:`dalembert.proof.generic.topology`; what is proved
            holds for all of the same.
        exponent: the field is that of integers modulo 2^exponent - 1.
        seeds: of the random points.
        rows: all identities.
        omitted: what was left out, and why.
    """

    subject: str
    digest: str
    topology: Mapping[str, Any]
    exponent: int
    seeds: tuple[int, ...]
    rows: tuple[ProofRow, ...]
    omitted: tuple[Omission, ...] = ()

    @property
    def ok(self) -> bool:
        """True if every identity holds."""
        return all(row.holds for row in self.rows)

    @property
    def error(self) -> float:
        """The probability that any of them is wrong all the same, at most."""
        return sum(row.error for row in self.rows)

    def __bool__(self) -> bool:
        return self.ok

    def certificate(self) -> dict[str, Any]:
        """What is needed to check the proof again."""
        import dalembert

        return {
            "certificate": "dalembert exact verification, 1",
            "version": dalembert.__version__,
            "mechanism": self.subject,
            "digest": self.digest,
            "topology": digest_of(self.topology),
            "tree": dict(self.topology),
            "prime": f"2^{self.exponent} - 1",
            "seeds": list(self.seeds),
            "error": self.error,
            "identities": [
                {"quantity": row.quantity, "by": row.who, "against": row.against, "degree": row.degree}
                for row in self.rows
            ],
        }

    def write(self, path: str | Path) -> Path:
        """Write the certificate; a proof that fails has none.

        Args:
            path: of the JSON file.
        """
        if not self.ok:
            raise ArgumentError(f"{self.subject!r}: not all identities hold, so there is nothing to certify")
        target = Path(path)
        partial = target.with_name(target.name + ".part")
        partial.write_text(json.dumps(self.certificate(), indent=1) + "\n", encoding="utf-8")
        partial.replace(target)
        return target

    def __str__(self) -> str:
        good = sum(row.holds for row in self.rows)
        verdict = (
            f"all identical for all parameters and states, error probability < {self.error:.0e}"
            if self.ok
            else f"{len(self.rows) - good} do not hold"
        )
        lines = [
            f"{self.subject}: {len(self.rows)} identities over the integers modulo 2^{self.exponent} - 1, {verdict}",
            "",
        ]
        table = [("quantity", "by", "identical to", "degree", "error probability")]
        table += [
            (r.quantity, r.who, r.against, f"{r.degree:.0f}" if r.degree < 1e6 else f"{r.degree:.0e}",
             f"< {r.error:.0e}" if r.holds else "DIFFERENT")
            for r in self.rows
        ]  # fmt: skip
        widths = [max(len(line[k]) for line in table) for k in range(5)]
        text = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in table]
        lines += [text[0], "-" * len(text[0]), *text[1:]]
        for row in self.rows:
            if row.counterexample:
                lines += ["", f"{row.quantity} by {row.who} is not {row.against}: {row.counterexample}"]
        if self.omitted:
            lines += ["", *(f"left out: {omission.what}: {omission.why}" for omission in self.omitted)]
        return "\n".join(lines)


def prove(mechanism: Mechanism, *, error: float = ERROR, seed: int = 0, derived: bool = True) -> Proof:
    """Prove that all algorithms and derivations agree for every mechanism of this topology, and that laws hold.

    Masses, moments, lengths, axes, rotations, positions, velocities and accelerations are independent random elements
    of a prime field. Two rational functions that agree there are the same, but for a probability of at most their
    degree over the prime (Schwartz, Zippel); the degree is computed by running the same code on degrees. States at
    which a denominator vanishes, such as those of a singular inertia matrix, are no states of the identity.

    Args:
        mechanism: the mechanism; its force elements are left out, and constraints that are no rational functions.
        error: the largest probability of an error for each row; a larger prime is taken where it is needed.
        seed: of the random elements.
        derived: prove the derived formulations too, with a symbol for every number.
    """
    if not isinstance(mechanism, Mechanism):
        raise ArgumentError(f"prove takes a Mechanism, got {type(mechanism).__name__}")
    if mechanism.nv == 0:
        raise ArgumentError(f"{mechanism.name!r} has no degree of freedom; there is nothing to prove")
    world = Degrees()
    claims = [x for x in _claims(mechanism, world, derived) if isinstance(x, Claim)]
    degrees = [world.bound(np.asarray(c.left - c.right, dtype=object)) for c in claims]
    exponent = exponent_for(max(degrees, default=1.0), error)
    prime = (1 << exponent) - 1
    rows, omitted = [], []
    found = iter(degrees)
    for item in _claims(mechanism, Field(prime, seed), derived):
        if isinstance(item, Omission):
            omitted.append(item)
            continue
        degree = max(next(found), 1.0)
        holds = _vanishes(item)
        rows.append(ProofRow(item.quantity, item.who, item.against, holds, degree, error_of(degree, exponent)))
    rows = _with_counterexamples(mechanism, rows, derived, seed)
    return Proof(mechanism.name, mechanism.digest, topology(mechanism), exponent, (seed,), tuple(rows), tuple(omitted))


def _claims(mechanism: Mechanism, field: Any, derived: bool) -> Iterator[Claim | Omission]:
    made, values = recorded(mechanism, field)
    subject = Subject(made, field)
    for law in LAWS.values():
        yield from law(subject)
    if mechanism.constraints:
        yield from constraints(mechanism, field)
    for force in mechanism.forces:
        yield Omission(f"force element {force.name!r}", "its law need not be a rational function")
    for contact in mechanism.contacts:
        yield Omission(f"contact {contact.name!r}", "its law is one of inequalities; verify without exact checks it")
    if terms := terms_of(mechanism):
        yield Omission(" and ".join(terms), "added joint by joint to what is proved here")
    if derived:
        yield from routes(mechanism, subject, values)


def _vanishes(claim: Claim) -> bool:
    return all(x == 0 for x in np.asarray(claim.left - claim.right, dtype=object).flat)


def _with_counterexamples(mechanism: Mechanism, rows: list[ProofRow], derived: bool, seed: int) -> list[ProofRow]:
    """Where identities fail, both sides at a point of small fractions."""
    if all(row.holds for row in rows):
        return rows
    from dataclasses import replace

    for attempt in range(5):
        try:
            claims = [x for x in _claims(mechanism, Field(None, seed + attempt), derived) if isinstance(x, Claim)]
            break
        except ZeroDivisionError:
            continue
    else:
        return rows
    return [row if row.holds else replace(row, counterexample=_shown(claim)) for row, claim in zip(rows, claims)]


def _shown(claim: Claim) -> str:
    left, right = np.asarray(claim.left, dtype=object), np.asarray(claim.right, dtype=object)
    for place in np.ndindex(left.shape):
        if left[place] != right[place]:
            where = f"entry {list(place)}: " if place else ""
            return f"{where}{left[place]} against {right[place]} at a rational point"
    return "the fractions drawn happen to agree"


def check(path: str | Path, mechanism: Mechanism | None = None) -> Proof:
    """Check a certificate again: for the topology that it states, the mechanism it names or another one of the same.

    Args:
        path: of the certificate.
        mechanism: what it shall hold for; by default any mechanism of the topology.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    try:
        given = json.loads(text)
        seeds, prime, stated, tree = given["seeds"], given["prime"], given["topology"], given["tree"]
        exponent = int(prime.removeprefix("2^").removesuffix(" - 1"))
        names = [(x["quantity"], x["by"], x["against"]) for x in given["identities"]]
        first, name = int(seeds[0]), str(given["mechanism"])
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        reason = f"it has no entry {error}" if isinstance(error, KeyError) else str(error)
        raise ArgumentError(f"{path}: not a certificate of dalembert: {reason}") from error
    if digest_of(tree) != stated:
        raise ArgumentError(f"{path}: the tree and its digest do not belong together; the file has been changed")
    if mechanism is None:
        try:
            mechanism = representative(tree, name)
        except (ModelError, KeyError, TypeError, ValueError) as error:
            raise ArgumentError(f"{path}: its tree is no mechanism: {error}") from error
    elif topology_digest(mechanism) != stated:
        raise ArgumentError(
            f"{path}: the certificate of {name!r} is for another topology than that of {mechanism.name!r}: other "
            "joints, another tree or other constraints"
        )
    if exponent not in EXPONENTS:
        raise ArgumentError(f"{path}: 2^{exponent} - 1 is not one of the primes of this library")
    proof = prove(mechanism, seed=first, derived=any(by.startswith("derived") for _, by, _ in names))
    missing = {(q, b, a) for q, b, a in names} - {(r.quantity, r.who, r.against) for r in proof.rows}
    if missing:
        one = sorted(missing)[0]
        raise ArgumentError(f"{path}: names an identity that this version does not know: {one[0]} by {one[1]}")
    return proof
