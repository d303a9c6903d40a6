"""From a program to machine code in memory: by the cache if it is there, else by the compiler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from dalembert.installation import code_digest, is_as_imported
from dalembert.native.cache import default_cache, digest
from dalembert.native.deferred import compiling, uncollected
from dalembert.native.llvm import runtime
from dalembert.native.llvm.engine import OPTIMIZATION, Loaded, define_symbol, object_codes
from dalembert.native.llvm.module import Source, module_source
from dalembert.native.llvm.target import Lanes, Target
from dalembert.native.patience import announced
from dalembert.tracing.program import Port, Program

_runtimes: dict[tuple[Lanes, Target], Loaded] = {}


def load_program(
    program: Callable[[], Program],
    dtype: np.dtype | type | str,
    target: Target,
    key: str | None = None,
    ports: Sequence[Port] = (),
    name: str = "a kernel",
) -> Loaded:
    """Machine code of a program, ready to be called; its function is ``loop``.

    Args:
        program: gives the program; called only if the cache cannot answer.
        key: a name for the program that changes whenever it would, as long as dalembert's source stays the same; the
            program's own digest by default.
        ports: what it is called with. They are part of the code's name too: whatever a key confuses, code never reads
            or writes beyond the arrays of its caller.
        name: what to call it if it takes long.
    """
    lanes = target.lanes(dtype)
    parts = *identity(program, key), *ports
    return load_source(parts, lanes, target, lambda: module_source(program(), dtype, target), name)


def identity(program: Callable[[], Program], key: str | None = None) -> tuple[str | tuple[str, ...], ...]:
    """What the machine code of a program depends on, besides the processor.

    Args:
        program: gives the program; called only if there is no key.
        key: a name for the program, as for :func:`load_program`.
    """
    if key is None:
        return "program", program().digest, _version(Path(__file__).parent)
    return "key", key, _version(Path(__file__).parent.parent)


def load_source(
    parts: Sequence[object], lanes: Lanes, target: Target, source: Callable[[], Source], name: str = "a kernel"
) -> Loaded:
    """Machine code of modules in LLVM's language that may use the runtime.

    Args:
        parts: what determines the modules; under it the code is kept.
        source: gives the modules; called only if the cache cannot answer.
        name: what to call it if it takes long.
    """
    entry = digest(*parts, target, lanes, OPTIMIZATION)
    with compiling():
        _load_runtime(lanes, target)
        return _load(entry, target, source, name)


def _load(entry: str, target: Target, source: Callable[[], Source], name: str) -> Loaded:
    store = default_cache()
    code = store.get(entry)
    if code is None:
        with announced(name):
            with uncollected():
                found = source()
            code = object_codes(found.texts, target, found.optimization)
        if is_as_imported():  # else the code that made it is not the one that names it
            store.put(entry, code)
    return Loaded(code, target)


def load_fixed(what: str, text: str, target: Target) -> Loaded:
    """Machine code of a text that depends on no program, kept by what it is."""
    entry = digest(what, text, target, _version(None))
    return _load(entry, target, lambda: Source(iter([text]), OPTIMIZATION), what)


def _load_runtime(lanes: Lanes, target: Target) -> None:
    """Load what all kernels of one register type share, once."""
    if (lanes, target) in _runtimes:
        return
    text = runtime.link(runtime.runtime_text(lanes, target), lanes, target)
    loaded = load_fixed("runtime", text, target)
    for name in runtime.names(lanes, target):
        define_symbol(name, loaded.address(name))
    _runtimes[lanes, target] = loaded


@cache
def _version(folder: Path | None) -> tuple[str, ...]:
    """What machine code depends on besides the program."""
    import llvmlite

    return (llvmlite.__version__,) if folder is None else (llvmlite.__version__, code_digest(folder))
