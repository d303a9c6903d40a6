"""Everything in one HTML page. Names come from anybody's files: they reach the page as data only.

Data are JSON in elements that no browser executes, with every ``<`` written as an escape; the page puts names into it
as text. The content security policy names the scripts by their digests, so that nothing else can run, and forbids all
addresses.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from importlib import resources
from typing import Any

import dalembert
from dalembert.typesetting.escape import html_text

POLICY = "default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

SCRIPTS = ("three.min.js", "geometry.js", "figure.js", "stage.js", "machine.js", "panel.js", "viewer.js")
"""In this order; each may use what comes before it."""


def page(title: str, data: dict[str, Any], block: bytes, programs: str, equations: str) -> str:
    """The whole page.

    Args:
        title: of the window.
        data: scene, motion and notes.
        block: meshes and samples, referred to by places in it.
        programs: JavaScript of :func:`dalembert.viewer.programs.script`.
        equations: HTML of :func:`dalembert.viewer.formulas.formulas`.
    """
    scripts = [
        f"/*\n{_asset('THREE-LICENSE.txt')}*/\n{_asset(SCRIPTS[0])}",
        "\n".join(['"use strict";', programs, *(_asset(name) for name in SCRIPTS[1:])]),
    ]
    policy = POLICY.format(scripts=" ".join(f"'sha256-{_digest(text)}'" for text in scripts))
    packed = base64.b64encode(zlib.compress(block, 9)).decode()
    body = _asset("body.html").replace("{{equations}}", equations)
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta name="generator" content="dalembert {html_text(dalembert.__version__)}">',
            f"<title>{html_text(title)}</title>",
            f"<style>\n{_asset('style.css')}</style></head>",
            body,
            f'<script type="application/json" id="data">{as_json(data)}</script>',
            f'<script type="text/plain" id="block">{packed}</script>',
            *(f"<script>{text}</script>" for text in scripts),
            "</body></html>\n",
        ]
    )


def as_json(data: Any) -> str:
    """JSON that can stand in a script element: it has no character that could end the element.

    Args:
        data: of the types of JSON; numbers must be finite.
    """
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _asset(name: str) -> str:
    return resources.files("dalembert.viewer").joinpath("assets", name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
