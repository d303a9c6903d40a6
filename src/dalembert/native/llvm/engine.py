"""From LLVM IR to object code, and from object code to functions that can be called."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterable
from functools import cache
from itertools import accumulate, pairwise
from typing import Any

from dalembert.errors import CompilerError
from dalembert.native.llvm.functions import SYMBOLS
from dalembert.native.llvm.target import Target

OPTIMIZATION = 2
"""LLVM's level of optimization in code generation, unless another is asked for."""

SEVERAL = b"dalembert: several object files\n"
"""What code begins with that is several object files: their number and their lengths follow, eight bytes each."""


@cache
def _binding() -> Any:
    """llvmlite, initialised, with the functions of the C library made known to it."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    library = None
    for name in SYMBOLS:
        if llvm.address_of_symbol(name) is None:
            from ctypes.util import find_library

            library = library or ctypes.CDLL(find_library("m") or "ucrtbase")
            address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
            llvm.add_symbol(name, address)
    return llvm


def _machine(target: Target, optimization: int) -> Any:
    llvm = _binding()
    if target.triple != Target.host().triple:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
    try:
        architecture = llvm.Target.from_triple(target.triple)
    except RuntimeError as error:
        raise CompilerError(f"LLVM generates no code for {target.triple!r}: {error}") from error
    return architecture.create_target_machine(cpu=target.cpu, features=target.features, opt=optimization, jit=True)


def _parse(text: str, machine: Any) -> Any:
    # Code that LLVM's own verifier rejects makes its optimiser end the process, so it must not get that far.
    try:
        module = _binding().parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise CompilerError(
            f"the generated code is not valid LLVM IR; this is a bug in dalembert, please report it: {error}"
        ) from error
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    return module


def object_code(text: str, target: Target, optimization: int = OPTIMIZATION) -> bytes:
    """Compile LLVM IR to an object file."""
    machine = _machine(target, optimization)
    return machine.emit_object(_parse(text, machine))


def object_codes(texts: Iterable[str], target: Target, optimization: int = OPTIMIZATION) -> bytes:
    """Compile modules in LLVM's language that call each other; each may call what is in those before it.

    Args:
        texts: asked for one by one, so that only one is in memory.
    """
    found = [object_code(text, target, optimization) for text in texts]
    if len(found) == 1:
        return found[0]
    return b"".join([SEVERAL, struct.pack(f"<{1 + len(found)}q", len(found), *map(len, found)), *found])


def _separate(code: bytes) -> list[bytes]:
    """The object files in what :func:`object_codes` makes."""
    if not code.startswith(SEVERAL):
        return [code]
    at = len(SEVERAL)
    (count,) = struct.unpack_from("<q", code, at)
    at += 8
    ends = list(accumulate(struct.unpack_from(f"<{count}q", code, at), initial=at + 8 * count))
    return [code[a:b] for a, b in pairwise(ends)]


def assembly(text: str, target: Target, optimization: int = OPTIMIZATION) -> str:
    """Compile LLVM IR to assembly, to look at."""
    machine = _machine(target, optimization)
    return machine.emit_assembly(_parse(text, machine))


def define_symbol(name: str, address: int) -> None:
    """Make a function known by name to all code loaded from now on.

    Args:
        address: where it begins; it must stay there for the life of the process.
    """
    _binding().add_symbol(name, address)


class Loaded:
    """Object code in executable memory; addresses are valid as long as this object lives.

    Args:
        code: made by `object_code` or `object_codes` for this processor.
    """

    def __init__(self, code: bytes, target: Target):
        if target.triple != (here := Target.host().triple):
            raise CompilerError(f"code for {target.triple!r} can be looked at, but not run on {here!r}")
        llvm = _binding()
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine(target, OPTIMIZATION))
        for part in _separate(code):
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(part))
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        """Where a function begins."""
        address = self._engine.get_function_address(name)
        if not address:
            raise CompilerError(f"the object code has no function {name!r}")
        return address

    def integer(self, name: str) -> int:
        """The value of a global 64-bit integer."""
        return ctypes.c_int64.from_address(self._engine.get_global_value_address(name)).value
