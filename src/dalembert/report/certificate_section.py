"""The certificate of an exact proof: what was proved, for what, and what is needed to check it again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol, runtime_checkable

from dalembert.report.document import Block, Code, Heading, Line, Math, Paragraph, table
from dalembert.report.evidence_section import error_text


@runtime_checkable
class Proven(Protocol):
    """What :func:`dalembert.proof.prove` returns, as far as documents need it."""

    @property
    def ok(self) -> bool:
        """Whether every identity holds."""

    def certificate(self) -> dict[str, Any]:
        """What was proved, and what is needed to check it again."""


def certificate_blocks(certificate: Mapping[str, Any]) -> Iterator[Block]:
    """The certificate in words and two tables.

    Args:
        certificate: of a proof that holds.
    """
    identities = certificate["identities"]
    prime = certificate["prime"].replace("2^", "2^{").replace(" - ", "} - ")
    yield Heading("Proof")
    words: Line = (
        f"All {len(identities)} identities below hold for every mechanism of this topology, at every state: both sides "
        "were computed from the same random integers modulo ", Math(prime), ", one for each mass, length, moment, "
        "axis, position, velocity and acceleration, and are equal. Rational functions of bounded degree that differ "
        "agree at a random point only by rare chance (Schwartz, Zippel); the probability that any of these identities "
        "is false all the same is below ", error_text(certificate["error"]), ".",
    )  # fmt: skip
    yield Paragraph(words, "good")
    rows: list[list[Any]] = [
        ["mechanism", certificate["mechanism"]],
        ["digest of the mechanism", (Code(certificate["digest"]),)],
        ["digest of the topology", (Code(certificate["topology"]),)],
        ["version", f"dalembert {certificate['version']}"],
        ["prime", (Math(prime),)],
        ["seeds", ", ".join(map(str, certificate["seeds"]))],
        ["probability of an error", ("less than ", error_text(certificate["error"]))],
    ]
    yield table(("certificate", " "), rows)
    yield table(("quantity or law", "routes", "degree"), _summary(identities), "What is proved, route by route.", (2,))
    yield Paragraph(
        (Code("dalembert verify MODEL --exact --to FILE"), " writes it as a file, which ",
         Code("dalembert verify MODEL --certificate FILE"), " checks again."), "note",
    )  # fmt: skip


def _summary(identities: list[dict[str, Any]]) -> Iterator[list[Any]]:
    """For every quantity all that were found to be identical, and the largest degree."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in identities:
        groups.setdefault((row["quantity"], row["against"]), []).append(row)
    for (quantity, against), members in groups.items():
        degree = max(row["degree"] for row in members)
        names = ", ".join(dict.fromkeys(str(row["by"]) for row in members))
        yield [quantity, f"{names} = {against}", f"{degree:.0f}" if degree < 1e6 else error_text(degree)]
