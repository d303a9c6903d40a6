"""Equations and their derivation in a notebook: MathML that stands by itself, every step folded."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Sequence

from dalembert.formulations.display import forms_of
from dalembert.formulations.equations import Equations
from dalembert.report.derivation_section import derivation_blocks, equations_blocks
from dalembert.report.document import Block, Document, Heading
from dalembert.report.html import HtmlWriter
from dalembert.text.tables import folded
from dalembert.typesetting.mathml import lines
from dalembert.typesetting.notation import Notation

STYLE = """<style>
.dalembert-equations .equation { display: flex; align-items: center; margin: .5em 0; padding-left: 1em; gap: .8em; }
.dalembert-equations .scroll { flex: 1; min-width: 0; overflow-x: auto; overflow-y: hidden; padding: .5em 0; }
.dalembert-equations math[display=block] { text-align: left; margin: 0; width: max-content; }
.dalembert-equations .tag { opacity: .6; }
.dalembert-equations .lines { display: table; }
.dalembert-equations .line { display: table-row; }
.dalembert-equations .line > span { display: table-cell; padding: .22em 0; white-space: nowrap; }
.dalembert-equations .line > .left { text-align: right; padding-right: .28em; }
.dalembert-equations .note { opacity: .75; font-size: .92em; }
.dalembert-equations .sequence { list-style: none; padding-left: 1em; columns: 17em; }
.dalembert-equations details { border-left: 2px solid #8884; padding-left: .8em; margin: .3em 0; }
</style>"""
"""Only for what is inside; colours are those of the page around it."""


def equations_html(equations: Equations) -> str | None:
    """The equations of motion and, folded, the steps that lead to them; None without the converter to MathML."""
    if importlib.util.find_spec("latex2mathml") is None:
        return None
    forms = forms_of(equations, Notation(decimal=not equations.parameters, rates=equations.scope.rates))
    steps = list(derivation_blocks(equations, forms))
    parts = [_written(list(equations_blocks(equations, forms))[1:])]
    starts = [k for k, block in enumerate(steps) if isinstance(block, Heading) and block.level == 2]
    inside = []
    for start, stop in zip(starts, [*starts[1:], len(steps)]):
        heading = steps[start]
        assert isinstance(heading, Heading)
        inside.append(folded(heading.text, _written(steps[start + 1 : stop])))
    if inside:
        title = steps[0].text if isinstance(steps[0], Heading) else "Derivation"
        parts.append(folded(f"{title}, {len(inside)} steps", "\n".join(inside)))
    return f'<div class="dalembert-equations">{STYLE}{"".join(parts)}</div>'


def rows_html(rows: Sequence[tuple[str, str]]) -> str | None:
    """Equations below each other, aligned; None without the converter to MathML.

    Args:
        rows: LaTeX left and right of the alignment.
    """
    if importlib.util.find_spec("latex2mathml") is None:
        return None
    return f'<div class="dalembert-equations">{STYLE}<div class="scroll">{lines(tuple(rows))}</div></div>'


def _written(blocks: Iterable[Block]) -> str:
    return "\n".join(HtmlWriter().blocks(Document("", "", tuple(blocks))))
