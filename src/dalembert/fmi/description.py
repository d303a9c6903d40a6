"""The model description of a functional mock-up unit, and for FMI 3 the description of how it is built."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from xml.sax.saxutils import quoteattr

from dalembert.fmi.unit import FunctionalUnit, Variable, exponents

LOG_CATEGORIES = {
    "logStatusError": "What could not be done.",
    "logStatusDiscard": "Steps that cannot be taken.",
}
CAN = {
    2: {
        "ModelExchange": {
            "canGetAndSetFMUstate": True, "canSerializeFMUstate": True, "providesDirectionalDerivative": True,
        },
        "CoSimulation": {
            "canHandleVariableCommunicationStepSize": True, "canGetAndSetFMUstate": True,
            "canSerializeFMUstate": True, "providesDirectionalDerivative": True,
        },
    },
    3: {
        "ModelExchange": {
            "canGetAndSetFMUState": True, "canSerializeFMUState": True, "providesDirectionalDerivatives": True,
            "needsCompletedIntegratorStep": True,
        },
        "CoSimulation": {
            "canHandleVariableCommunicationStepSize": True, "canGetAndSetFMUState": True,
            "canSerializeFMUState": True, "providesDirectionalDerivatives": True,
        },
    },
}  # fmt: skip
"""What units are capable of, in the words of each version."""


def model_description(unit: FunctionalUnit, version: int, token: str, tolerance: float, sources: Sequence[str]) -> str:
    """``modelDescription.xml``.

    Args:
        version: of FMI, 2 or 3.
        token: by which the binary recognises its description.
        tolerance: of the integrator of co-simulation.
        sources: names of the C files to compile.
    """
    head = {
        "fmiVersion": "2.0" if version == 2 else "3.0",
        "modelName": unit.name,
        "guid" if version == 2 else "instantiationToken": token,
        "description": unit.meaning,
        "generationTool": "dalembert",
        "variableNamingConvention": "structured",
    }
    if version == 2:
        head["numberOfEventIndicators"] = "0"
    kinds = []
    for kind, abilities in CAN[version].items():
        flags = {name: _said(value) for name, value in abilities.items()}
        files = [_element("SourceFiles", {}, [_element("File", {"name": name}) for name in sources])]
        attributes = {"modelIdentifier": unit.identifier, **flags}
        kinds.append(_element(kind, attributes, files if version == 2 else ()))
    parts = [
        *kinds,
        _element("UnitDefinitions", {}, _units(unit)),
        _element(
            "LogCategories",
            {},
            [_element("Category", {"name": name, "description": text}) for name, text in LOG_CATEGORIES.items()],
        ),
        _element("DefaultExperiment", {"startTime": "0", "stopTime": "1", "tolerance": repr(tolerance)}),
        _element("ModelVariables", {}, _variables(unit, version)),
        _element("ModelStructure", {}, _structure(unit, version)),
    ]
    return _document(_element("fmiModelDescription", head, parts))


def build_description(unit: FunctionalUnit, sources: Sequence[str]) -> str:
    """``sources/buildDescription.xml`` of FMI 3.

    Args:
        sources: names of the C files to compile.
    """
    files = [_element("SourceFile", {"name": name}) for name in sources]
    files.append(_element("Library", {"name": "m", "external": "true", "description": "mathematics, on Unix"}))
    built = _element(
        "BuildConfiguration",
        {"modelIdentifier": unit.identifier, "description": "one shared library"},
        [_element("SourceFileSet", {"language": "C99"}, files[:-1]), files[-1]],
    )
    return _document(_element("fmiBuildDescription", {"fmiVersion": "3.0"}, [built]))


def _units(unit: FunctionalUnit) -> list[str]:
    symbols = dict.fromkeys(variable.unit for variable in (*unit.known, *unit.computed) if variable.unit)
    return [
        _element("Unit", {"name": symbol}, [_element("BaseUnit", {k: str(n) for k, n in exponents(symbol).items()})])
        for symbol in symbols
    ]


def _roles(unit: FunctionalUnit) -> list[tuple[Variable, dict[str, str]]]:
    """Every variable with what the versions of FMI say of it in the same words, in the order of references."""
    exact = {"variability": "continuous", "initial": "exact"}
    roles: list[tuple[Variable, dict[str, str]]] = [
        (unit.known[0], {"causality": "independent", "variability": "continuous"})
    ]
    roles += [(x, {"causality": "output", **exact}) for x in unit.states]
    roles += [(x, {"causality": "input", "variability": "continuous"}) for x in unit.inputs]
    roles += [(x, {"causality": "parameter", "variability": "tunable", "initial": "exact"}) for x in unit.parameters]
    found = {"variability": "continuous", "initial": "calculated"}
    roles += [(x, {"causality": "local", **found}) for x in unit.rates]
    return roles + [(x, {"causality": "output", **found}) for x in unit.outputs]


def _variables(unit: FunctionalUnit, version: int) -> list[str]:
    first = len(unit.known)  # where rates begin; a state's reference is one more than its place
    found = []
    for reference, (variable, role) in enumerate(_roles(unit)):
        own: dict[str, str] = {}
        if first <= reference < first + len(unit.rates):
            state = reference - first + 1
            own["derivative"] = str(state + 1 if version == 2 else state)  # FMI 2 counts variables, from one
        if variable.unit:
            own["unit"] = variable.unit
        if variable.start is not None:
            own["start"] = repr(float(variable.start))
        both = {"name": variable.name, "valueReference": str(reference)}
        if variable.meaning:
            both["description"] = variable.meaning
        if version == 2:
            found.append(_element("ScalarVariable", {**both, **role}, [_element("Real", own)]))
        else:
            found.append(_element("Float64", {**both, **role, **own}))
    return found


def _structure(unit: FunctionalUnit, version: int) -> list[str]:
    first, count = len(unit.known), len(unit.states)
    needed = [
        [k for k in places if k <= count + len(unit.inputs)]  # not on parameters, after the beginning
        for places in unit.dependencies()
    ]
    shift = 1 if version == 2 else 0
    name = "index" if version == 2 else "valueReference"

    def unknown(tag: str, reference: int, places: Iterable[int]) -> str:
        listed = " ".join(str(k + shift) for k in places)
        return _element(tag, {name: str(reference + shift), "dependencies": listed})

    states = range(1, count + 1)
    rates = range(first, first + count)
    outputs = range(first + count, first + count + len(unit.outputs))
    tags = (
        ("Unknown", "Unknown", "Unknown") if version == 2 else ("Output", "ContinuousStateDerivative", "InitialUnknown")
    )
    parts = (
        [unknown(tags[0], k, [k]) for k in states] + [unknown(tags[0], k, needed[k - first]) for k in outputs],
        [unknown(tags[1], k, needed[k - first]) for k in rates],
        [unknown(tags[2], k, unit.dependencies()[k - first]) for k in (*rates, *outputs)],
    )
    if version == 3:
        return [line for part in parts for line in part]
    groups = ("Outputs", "Derivatives", "InitialUnknowns")
    return [_element(group, {}, part) for group, part in zip(groups, parts) if part]


# ------------------------------------------------------------------------------------------------------------------ XML


def _said(value: bool) -> str:
    return "true" if value else "false"


def _element(tag: str, attributes: Mapping[str, str], children: Iterable[str] = ()) -> str:
    head = "".join(f" {name}={quoteattr(_printable(value))}" for name, value in attributes.items())
    inside = "\n".join(children)
    if not inside:
        return f"<{tag}{head}/>"
    indented = "\n".join(f"  {line}" for line in inside.split("\n"))
    return f"<{tag}{head}>\n{indented}\n</{tag}>"


def _printable(text: str) -> str:
    """A text without the characters that no XML may contain, and without line breaks."""
    return "".join(c if c >= " " and not "\ud800" <= c <= "\udfff" and c not in "\ufffe\uffff" else " " for c in text)


def _document(root: str) -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{root}\n'
