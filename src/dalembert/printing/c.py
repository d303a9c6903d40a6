"""Programs as C99: one self-contained source file and its header, no allocation, no state.

    void name(const double *q, const double *v, double *tau);
    void name_batch(const double *q, const double *v, double *tau, size_t n);

Every array is row-major, a scalar is an array of one. ``name`` computes one state, ``name_batch`` n of them
that follow each other in memory. Outputs must not overlap inputs. Long programs are cut into several static
functions.
"""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.errors import ArgumentError
from dalembert.printing.c_family import (
    Flavour,
    Interface,
    Real,
    c_number,
    c_templates,
    check_real,
    comment,
    functions,
    interface,
)
from dalembert.printing.c_vector import vector_functions
from dalembert.printing.names import C_RESERVED, Names
from dalembert.printing.statements import Infix
from dalembert.tracing.program import Program


@dataclass(frozen=True)
class CSource:
    """Generated C.

    Args:
        name: of the function, and of both files.
        header: text of ``<name>.h``.
        source: text of ``<name>.c``.
    """

    name: str
    header: str
    source: str


def to_c(program: Program, real: Real = "double", lanes: int = 0, longest: int = 2000) -> CSource:
    """A program as C99.

    Args:
        program: what to print.
        real: the type of all numbers.
        lanes: 0 for plain C99; 2, 4, 8 or 16 to let ``name_batch`` compute so many states at once, with the
            vector types of GCC and Clang.
        longest: most nodes in one function.
    """
    check_real(real)
    if lanes not in (0, 2, 4, 8, 16):
        raise ArgumentError(f"lanes is {lanes!r}; must be 0, 2, 4, 8 or 16")
    names = Names(C_RESERVED)
    face = interface(program, names)
    batch, state = names.new(f"{face.function}_batch"), names.new(f"{face.function}_state")
    templates, helpers = c_templates(real, names, program)
    flavour = Flavour(real, "int", "restrict", "static void", "static void", Infix(c_number(real), templates))
    one = functions(program, face, names, flavour, state, longest) + _public(face, real, state)
    if lanes:
        many = vector_functions(program, face, names, real, lanes, batch, longest)
    else:
        many = _batch(program, face, real, batch, state)
    helpers = [f"static {helper}" for helper in helpers]
    include = [comment(program, face), f'#include "{face.function}.h"', "", "#include <math.h>", ""]
    return CSource(face.function, _header(program, face, real, batch), "\n".join([*include, *helpers, one, many]))


def _header(program: Program, face: Interface, real: str, batch: str) -> str:
    guard = f"{face.function.upper()}_H"
    parameters = face.parameters(real)
    return f"""{comment(program, face)}
#ifndef {guard}
#define {guard}

#include <stddef.h>

#ifdef __cplusplus
extern "C" {{
#endif

/* One state. Outputs must not overlap inputs. */
void {face.function}({", ".join(parameters) or "void"});

/* n states, one after the other in every array. */
void {batch}({", ".join([*parameters, "size_t n"])});

#ifdef __cplusplus
}}
#endif

#endif
"""


def _public(face: Interface, real: str, state: str) -> str:
    """The function users call. Others here call ``state``, which no other library can replace at link time."""
    return f"""
void {face.function}({", ".join(face.parameters(real, "restrict")) or "void"})
{{
    {state}({", ".join([*face.inputs, *face.outputs])});
}}
"""


def _batch(program: Program, face: Interface, real: str, batch: str, state: str) -> str:
    ports = zip((*face.inputs, *face.outputs), (*program.inputs, *program.outputs))
    arguments = ", ".join(f"{name} + {port.size} * i" for name, port in ports)
    return f"""void {batch}({", ".join([*face.parameters(real, "restrict"), "size_t n"])})
{{
    for (size_t i = 0; i < n; ++i) {{
        {state}({arguments});
    }}
}}
"""
