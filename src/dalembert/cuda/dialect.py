"""How operations are written in CUDA: C with a reciprocal, a sine and a cosine of our own, and nothing to include."""

from __future__ import annotations

from collections.abc import Callable

from dalembert.cuda.functions import reciprocal_source, sincos_source
from dalembert.printing.c_family import Flavour, Real, c_number, c_templates
from dalembert.printing.names import Names
from dalembert.printing.statements import PRODUCT, Infix, Text
from dalembert.tracing.program import Program


class CudaDialect(Infix):
    """C with a reciprocal of our own: the division of the language branches.

    Args:
        number: writes constants.
        templates: of functions and comparisons.
        reciprocal: name of the function.
    """

    def __init__(self, number: Callable[[float], str], templates: dict[str, str], reciprocal: str):
        super().__init__(number, templates, pairs=True)
        self._reciprocal = reciprocal

    def operation(self, op: str, args: list[Text]) -> Text:
        if op != "div":
            return super().operation(op, args)
        inverse = Text(f"{self._reciprocal}({args[1].source})")
        if args[0].source in ("1.0", "1.0f"):
            return inverse
        return Text(f"{super().operation('mul', [args[0], inverse]).source}", PRODUCT)


def device_flavour(program: Program, real: Real, names: Names, function: str) -> tuple[Flavour, dict[str, str]]:
    """How device functions are written, and definitions, by name, of what they may call; see :func:`called`.

    Args:
        program: what they will compute.
        real: the type of all numbers.
        names: names given out so far.
        function: what names of the helpers begin with.
    """
    pair, reciprocal = (names.new(f"{function}_{part}") for part in ("sincos", "reciprocal"))
    templates, helpers = c_templates(real, names, program)
    flavour = Flavour(
        real, "bool", "__restrict__", "static __device__ __forceinline__ void",
        "static __device__ __noinline__ void", CudaDialect(device_number(real), templates, reciprocal), sincos=pair,
    )  # fmt: skip
    used = {node.op for node in program.nodes}
    definitions = {pair: sincos_source(real, pair)} if {"sin", "cos"} <= used else {}
    if "div" in used:
        definitions[reciprocal] = reciprocal_source(real, reciprocal)
    for helper in helpers:
        definitions[helper[: helper.index("(")].split()[-1]] = f"static __device__ __forceinline__ {helper}"
    return flavour, definitions


def called(definitions: dict[str, str], text: str) -> list[str]:
    """Those definitions that a text needs; compilers warn of others.

    Args:
        definitions: by name.
        text: what comes after them.
    """
    return [definition for name, definition in definitions.items() if f"{name}(" in text]


def device_number(real: str) -> Callable[[float], str]:
    """Writes a constant as C does; infinity and NaN without a header.

    Args:
        real: ``double`` or ``float``.
    """
    plain = c_number(real)
    suffix = "f" if real == "float" else ""
    special = {
        "INFINITY": f"(1.0{suffix} / 0.0{suffix})",
        "-INFINITY": f"(-1.0{suffix} / 0.0{suffix})",
        "NAN": f"(0.0{suffix} / 0.0{suffix})",
    }
    return lambda value: special.get(plain(value), plain(value))
