"""Steps of loops as C functions: each is written once, however many loops take it."""

from __future__ import annotations

from dalembert.printing.c_family import Flavour, emitted_row, filled, statement_line
from dalembert.printing.names import Names
from dalembert.printing.statements import step_body
from dalembert.tracing.program import Program, Scan


def step_functions(program: Program, names: Names, flavour: Flavour) -> tuple[str, dict[str, str]]:
    """Functions of all steps that read nothing but what is carried and arrays; their names, by the digest of the
    step."""
    text, found = [], {}
    for scan in program.loops:
        digest = scan.step.digest
        if digest in found or scan.held or scan.stores or scan.every > 1 or not scan.given:
            continue
        found[digest] = names.new(f"{program.name}_step")
        text.append(_definition(scan, found[digest], names, flavour))
    return "".join(text), found


def _definition(scan: Scan, name: str, names: Names, flavour: Flavour) -> str:
    inner, kind = names.scope(), flavour.kind
    carried = inner.new("carried")
    given = {2 + k: inner.new(port.name) for k, port in enumerate(scan.step.inputs[2:])}
    rows = [inner.new("made") for _ in scan.made]
    used: set[str] = set()

    def array(port: int) -> str:
        used.add(given[port])
        return given[port]

    def read(port: int, element: int) -> str:
        used.update([] if port else [carried])
        return f"{array(port)}[{element}]" if port else f"{carried}[{element}]"

    body, ends, made, _ = step_body(scan, flavour.dialect, inner, read, array, in_place=True)
    lines = [statement_line(scan.step, flavour, statement) for statement in body.statements]
    for target, row, width in zip(rows, made, scan.made):
        used |= {target} if row else set()
        lines += emitted_row(flavour, target, row, width)
    used |= {carried} if ends else set()
    lines += filled(flavour, carried, ends)
    arguments = {carried: f"{kind} *"} | dict.fromkeys(given.values(), f"const {kind} *")
    arguments |= dict.fromkeys(rows, f"{kind} *")
    idle = [f"    (void){name};" for name in arguments if name not in used]
    head = ", ".join(f"{star}{flavour.restrict} {name}" for name, star in arguments.items())
    return "\n".join([f"{flavour.piece} {name}({head})", "{", *idle, *lines, "}", "", ""])
