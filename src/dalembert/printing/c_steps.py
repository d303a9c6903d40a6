"""Steps of loops as C functions: each is written once, however many loops take it."""

from __future__ import annotations

from dalembert.printing.c_family import Flavour, statement_line
from dalembert.printing.names import Names
from dalembert.printing.statements import StepFunction, step_body
from dalembert.tracing.program import Program, Repetition


def step_functions(program: Program, names: Names, flavour: Flavour) -> tuple[str, dict[str, StepFunction]]:
    """Functions of all steps that read nothing but what is carried and given; by the digest of the step."""
    loops: dict[str, list[tuple[Repetition, tuple[int, ...]]]] = {}
    for node in program.nodes:
        if node.op == "loop" and not program.loops[int(node.value)].held:
            loop = program.loops[int(node.value)]
            loops.setdefault(loop.step.digest, []).append((loop, node.args))
    text, found = [], {}
    for digest, users in loops.items():
        step = users[0][0].step
        if not step.inputs[2].size:
            continue
        constant = [
            all(program.nodes[k].op == "const" for loop, args in users for k in args[loop.carried + e :: loop.given])
            for e in range(step.inputs[2].size)
        ]
        function = StepFunction(
            names.new(f"{program.name}_step"),
            tuple(e for e, still in enumerate(constant) if not still),
            tuple(e for e, still in enumerate(constant) if still),
        )
        found[digest] = function
        text.append(_definition(step, function, names, flavour))
    return "".join(text), found


def _definition(step: Program, function: StepFunction, names: Names, flavour: Flavour) -> str:
    inner, kind = names.scope(), flavour.kind
    carried, given, numbers, made = (inner.new(wish) for wish in ("carried", "given", "numbers", "made"))
    place = {e: f"{given}[{k}]" for k, e in enumerate(function.given)}
    place |= {e: f"{numbers}[{k}]" for k, e in enumerate(function.table)}
    used: set[str] = set()

    def read(port: int, element: int) -> str:
        source = place[element] if port else f"{carried}[{element}]"
        used.add(source.partition("[")[0])
        return source

    body, ends, fresh = step_body(step, flavour.dialect, inner, read)
    lines = [statement_line(step, flavour, statement) for statement in body.statements]
    for array, values in ((made, fresh), (carried, ends)):
        used |= {array} if values else set()
        lines += [f"    {array}[{k}] = {source};" for k, (source, _) in enumerate(values)]
    arguments = {carried: f"{kind} *", given: f"const {kind} *", numbers: f"const {kind} *", made: f"{kind} *"}
    idle = [f"    (void){name};" for name in arguments if name not in used]
    head = ", ".join(f"{star}{flavour.restrict} {name}" for name, star in arguments.items())
    return "\n".join([f"{flavour.piece} {function.name}({head})", "{", *idle, *lines, "}", "", ""])
