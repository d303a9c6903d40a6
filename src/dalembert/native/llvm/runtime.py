"""The code all kernels of one register type share: loads, stores and elementary functions.

It is compiled once, kept in the disk cache like any kernel, and loaded once per process. Its functions are written
``@rt.name`` in the generated text; `link` puts in the real name, which carries a digest of the code, so that a kernel
from the cache never meets a runtime it was not made for.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache

from dalembert.native.llvm import functions, transfer
from dalembert.native.llvm.arithmetic import intrinsics
from dalembert.native.llvm.random import draw_function
from dalembert.native.llvm.rolled import rolled_function
from dalembert.native.llvm.target import Lanes, Target


@cache
def runtime_text(lanes: Lanes, target: Target) -> str:
    """LLVM IR of the shared code."""
    parts = [intrinsics(lanes)]
    if lanes.scalar == "float":
        parts.append(intrinsics(Lanes("double", lanes.width)))
    parts += [functions.declarations(), transfer.functions(lanes), functions.sincos_function(lanes, target.fused)]
    parts += [functions.map_function(kind, lanes) for kind in functions.ARGUMENTS]
    parts += [rolled_function(lanes), draw_function(lanes)]
    return "\n".join(parts)


@cache
def prefix(lanes: Lanes, target: Target) -> str:
    """What the names of the shared functions begin with."""
    text = runtime_text(lanes, target)
    return f"dalembert_{hashlib.sha256(repr((text, target)).encode()).hexdigest()[:16]}_"


@cache
def names(lanes: Lanes, target: Target) -> tuple[str, ...]:
    """The shared functions, by their real names."""
    text = link(runtime_text(lanes, target), lanes, target)
    return tuple(re.findall(r"^define void @(\w+)", text, re.MULTILINE))


def declarations(lanes: Lanes, target: Target) -> str:
    """Declarations of the shared functions, for the code that calls them."""
    heads = re.findall(r"^define (void @rt\.\w+)\((.*)\) {$", runtime_text(lanes, target), re.MULTILINE)
    return "".join(f"declare {head}({re.sub(r' (noalias )?%[a-z]+', '', arguments)})\n" for head, arguments in heads)


def link(text: str, lanes: Lanes, target: Target) -> str:
    """Put the real names of the shared functions into generated text."""
    return text.replace("@rt.", f"@{prefix(lanes, target)}")
