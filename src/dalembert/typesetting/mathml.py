"""LaTeX mathematics as MathML, which browsers typeset by themselves, without scripts and without a network."""

from __future__ import annotations

import html
import re
from functools import lru_cache
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from dalembert.errors import MissingExtraError

_FUNCTIONS = {"sin", "cos", "tan", "exp", "log", "min", "max"}
_FENCES = {"(", "[", "|", "{"}
_CLOSING = {")", "]", "|", "}", "!"}
_MINUS = "\u2212"
_BOLD_ZERO = 0x1D7CE


def require_converter() -> None:
    """Raise early if the library that reads LaTeX is missing."""
    _converter()


def _converter() -> Any:
    try:
        from latex2mathml.converter import convert_to_element
    except ImportError as error:
        raise MissingExtraError("latex2mathml", "report", "a report in HTML") from error
    return convert_to_element


def inline(latex: str) -> str:
    """Mathematics within a line."""
    return f"<math>{_content(latex, 'inline')}</math>"


def display(rows: tuple[tuple[str, str], ...]) -> str:
    """Displayed mathematics, aligned between left and right.

    Args:
        rows: pairs of LaTeX.
    """
    if len(rows) == 1:
        return f'<math display="block">{_content(" ".join(rows[0]), "block")}</math>'
    lines = "".join(_line(left, right) for left, right in rows)
    return (
        '<math display="block"><mtable class="aligned" displaystyle="true" columnalign="right left">'
        f"{lines}</mtable></math>"
    )


def lines(rows: tuple[tuple[str, str], ...]) -> str:
    """The same as a table of formulas, which a page may end between any two lines of.

    Args:
        rows: pairs of LaTeX.
    """
    if len(rows) == 1:
        return display(rows)

    def cell(side: str, latex: str) -> str:
        made = f'<math style="math-style: normal">{_content(latex, "block")}</math>' if latex.strip() else ""
        return f'<span class="{side}">{made}</span>'

    def kind(right: str) -> str:
        return "tall line" if r"\begin" in right or r"\frac" in right else "line"

    made = (f'<div class="{kind(right)}">{cell("left", left)}{cell("right", right)}</div>' for left, right in rows)
    return f'<div class="lines">{"".join(made)}</div>'


def _line(left: str, right: str) -> str:
    cells = (
        f'<mtd class="{side}">{_content(part, "block")}</mtd>' for side, part in (("left", left), ("right", right))
    )
    return f"<mtr>{''.join(cells)}</mtr>"


@lru_cache(maxsize=4096)
def _content(latex: str, mode: str) -> str:
    """What belongs into a ``math`` element."""
    if not latex.strip():
        return ""
    latex = re.sub(r"\\operatorname\b", r"\\mathrm", latex)
    latex = re.sub(r"\\bar\b", r"\\overline", latex)  # as wide as the letter: the short bar is hardly seen on screens
    root = _converter()(latex, display=mode)
    body = Element("mrow")
    body.extend(list(root))
    return tostring(_tidied(body), encoding="unicode")


def _tidied(element: Element) -> Element:
    """The same with fewer wrappers, signs marked as such, and space between a function and what it is next to."""
    result = Element(element.tag, {k: v for k, v in element.attrib.items() if k not in ("fence", "form")})
    result.text = html.unescape(element.text) if element.text else None
    if result.tag == "mi" and result.text != element.text and re.fullmatch("[A-Za-z]", result.text or ""):
        result.set("mathvariant", "normal")  # an upright letter, which the converter marks by its code alone
    if result.tag == "mn" and result.attrib.pop("mathvariant", "") == "bold":  # browsers know bold digits by code only
        result.text = "".join(chr(_BOLD_ZERO + int(x)) if x.isdigit() else x for x in result.text or "")
    children = [_tidied(child) for child in element]
    row = result.tag in ("mrow", "mtd")
    before: Element | None = None
    for child in children:
        if row and before is not None:
            if child.tag == "mo" and child.text == _MINUS and before.tag == "mo" and before.text not in _CLOSING:
                child.set("form", "prefix")
            after, ahead = _is_function(before), _is_function(child)
            if (after and not _opens(child) and child.tag != "mspace") or (ahead and _is_factor(before)):
                SubElement(result, "mspace", {"width": "0.17em"})
        result.append(child)
        before = before if child.tag == "mspace" else child
    if result.tag == "mrow" and len(result) == 1:
        return result[0]
    return result


def _is_function(element: Element) -> bool:
    head = element[0] if element.tag in ("msup", "msub") and len(element) else element
    return head.tag == "mi" and head.text in _FUNCTIONS


def _is_factor(element: Element) -> bool:
    if _is_function(element):
        return False
    plain = element.tag in ("mi", "mn", "msub", "msup", "msubsup", "mover", "mfrac")
    return plain or (element.tag == "mrow" and _opens(element))


def _opens(element: Element) -> bool:
    """True for something in brackets."""
    head = element
    while head.tag == "mrow" and len(head):
        head = head[0]
    return head.tag == "mo" and head.text in _FENCES
