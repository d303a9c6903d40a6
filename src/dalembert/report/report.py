"""The derivation of equations of motion as a document: HTML, LaTeX or Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import dalembert
from dalembert.errors import ArgumentError
from dalembert.files import write_text
from dalembert.formulations.bodies import MovingBodies
from dalembert.formulations.derive import derive
from dalembert.formulations.display import forms_of
from dalembert.formulations.equations import METHODS, Equations
from dalembert.model import Mechanism
from dalembert.model.checks import expect, expect_path
from dalembert.report.certificate_section import Proven, certificate_blocks
from dalembert.report.contact_section import contact_blocks
from dalembert.report.derivation_section import derivation_blocks, equations_blocks
from dalembert.report.document import Block, Document
from dalembert.report.evidence_section import agreement_blocks, agreement_of, cost_blocks, reference_blocks
from dalembert.report.html import to_html
from dalembert.report.latex import to_latex
from dalembert.report.markdown import to_markdown
from dalembert.report.mechanism_section import bodies_blocks, mechanism_blocks
from dalembert.report.motion_section import convention_blocks, motion_blocks
from dalembert.typesetting.mathml import require_converter
from dalembert.typesetting.notation import Notation

WRITERS: dict[str, Callable[[Document], str]] = {".html": to_html, ".tex": to_latex, ".md": to_markdown}
"""Suffix of the file -> what writes it."""


def report(
    subject: Mechanism | MovingBodies | Equations,
    path: str | Path,
    method: str = "lagrange",
    *,
    mechanism: Mechanism | MovingBodies | None = None,
    title: str | None = None,
    agreement: bool = True,
    proof: Proven | None = None,
    **options: Any,
) -> Path:
    """Write a document that derives the equations of motion step by step; return where it lies.

    It shows the mechanism, frames and velocities, every step with its equation, the equations of motion, contacts with
    their rows and law, how well all routes agree, operation counts and references. HTML is one file that needs no
    network and no scripts.

    Args:
        subject: a mechanism, bodies given by formulas, or equations that have been derived already.
        path: the file to write; its suffix, ``.html``, ``.tex`` or ``.md``, says what kind of document.
        method: the route, see :func:`dalembert.formulations.derive.derive`; equations have theirs.
        mechanism: what the equations were derived from, for the figure, tables and motion of the bodies; equations of a
            mechanism remember theirs, those of bodies given by formulas do not.
        title: headline; by default one that names the system.
        agreement: compare all routes with each other; takes longer than everything else for large mechanisms.
        proof: what :func:`dalembert.proof.prove` found for the mechanism; its certificate is printed.
        options: for :func:`dalembert.formulations.derive.derive`.
    """
    target = expect_path(path, "report, path")
    if title is not None:
        expect(title, str, "report, title")
    if target.suffix.lower() not in WRITERS:
        raise ArgumentError(f"cannot write {str(path)!r}: the suffix must be one of {', '.join(WRITERS)}")
    if target.suffix.lower() == ".html":
        require_converter()
    made = document(subject, method, mechanism=mechanism, title=title, agreement=agreement, proof=proof, **options)
    text = WRITERS[target.suffix.lower()](made)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_text(target, text)
    return target


def document(
    subject: Mechanism | MovingBodies | Equations,
    method: str = "lagrange",
    *,
    mechanism: Mechanism | MovingBodies | None = None,
    title: str | None = None,
    agreement: bool = True,
    proof: Proven | None = None,
    **options: Any,
) -> Document:
    """The same document as data; subject, method, mechanism, title, agreement, proof, options as for :func:`report`."""
    if isinstance(subject, Equations):
        if options:
            raise ArgumentError(f"{', '.join(options)}: the equations are derived already; give options to derive()")
        equations, origin = subject, subject.mechanism if mechanism is None else mechanism
        _expect_origin(equations, mechanism)
    else:
        if mechanism is not None:
            raise ArgumentError("mechanism= goes with equations; here the first argument is what is derived")
        equations, origin = derive(subject, method, **options), subject
    certificate = None if proof is None else _expect_certificate(proof, origin)
    blocks = tuple(_blocks(equations, origin, agreement, certificate))
    subtitle = f"{METHODS.get(equations.method, equations.method)} · dalembert {dalembert.__version__}"
    return Document(title or f"Equations of motion: {equations.name}", subtitle, blocks)


def _expect_origin(equations: Equations, origin: Mechanism | MovingBodies | None) -> None:
    if origin is None:
        return
    mine = len(equations.scope.names["q"]), len(equations.scope.names["v"])
    if isinstance(origin, MovingBodies):
        theirs = (len(origin.coordinates),) * 2
    else:
        expect(origin, Mechanism, "report, mechanism")
        theirs = (origin.nq, origin.nv)
    if mine != theirs:
        raise ArgumentError(
            f"report, mechanism: {origin.name!r} has {theirs[0]} coordinates and {theirs[1]} velocities, the equations "
            f"of {equations.name!r} have {mine[0]} and {mine[1]}; give what they were derived from"
        )


def _expect_certificate(proof: Proven, origin: Mechanism | MovingBodies | None) -> Mapping[str, Any]:
    """The certificate of a proof that holds, and is one of the mechanism at hand."""
    if not isinstance(proof, Proven):
        raise ArgumentError(f"report, proof: expected what dalembert.proof.prove returns, got {type(proof).__name__}")
    if not isinstance(origin, Mechanism):
        raise ArgumentError(
            "report, proof: a proof is one of a mechanism; give the mechanism too, or leave out the proof"
        )
    certificate = proof.certificate()
    if certificate["digest"] != origin.digest:
        raise ArgumentError(
            f"report, proof: it is one of {certificate['mechanism']!r} with the digest {certificate['digest'][:12]}, "
            f"not of "
            f"{origin.name!r} with {origin.digest[:12]}; prove this one"
        )
    if not proof.ok:
        raise ArgumentError(f"report, proof: not all identities hold for {origin.name!r}; print the proof to see which")
    return certificate


def _blocks(
    equations: Equations,
    origin: Mechanism | MovingBodies | None,
    agreement: bool,
    certificate: Mapping[str, Any] | None,
) -> Iterator[Block]:
    tree = origin if isinstance(origin, Mechanism) else None
    notation = Notation(decimal=not equations.parameters, rates=equations.scope.rates)
    forms = forms_of(equations, notation)
    if tree is not None:
        yield from mechanism_blocks(tree, equations, notation)
    elif isinstance(origin, MovingBodies):
        yield from bodies_blocks(origin, equations, notation)
    # A recursion says how every link moves, so that only other derivations begin with the motion of the bodies.
    moving = [*motion_blocks(origin, equations, forms)] if origin is not None and not equations.scope.defined else []
    derived = [*derivation_blocks(equations, forms), *equations_blocks(equations, forms)]
    yield from convention_blocks(equations, tree, notation, forms.assumed)
    yield from moving
    yield from derived
    if tree is not None:
        yield from contact_blocks(tree, equations, forms)
    if agreement:
        yield from agreement_blocks(agreement_of(origin, equations))
    if certificate is not None:
        yield from certificate_blocks(certificate)
    yield from cost_blocks(equations, tree)
    yield from reference_blocks(equations)
