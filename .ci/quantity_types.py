"""Write what editors and type checkers know of the quantities of ``Dynamics``: their arguments, options and results.

python .ci/quantity_types.py        rewrites src/dalembert/dynamics/results.py and attributes.pyi from the catalogue
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from dalembert.dynamics import ALL_QUANTITIES, CONSTRAINT_QUANTITIES, Quantity
from dalembert.dynamics.catalogue import CONTACT_QUANTITIES

FOLDER = Path(__file__).parents[1] / "src" / "dalembert" / "dynamics"
WRITTEN = "Written by ``.ci/quantity_types.py`` from the catalogue of quantities; changes will be lost."
OPTIONS = {
    "frame": "str",
    "point": "Sequence[float] | np.ndarray = (0, 0, 0)",
    "axes": 'Literal["world", "body"] = "world"',
    "coordinates": 'str = "ZYX"',
    "damping": "float = 0.0",
    "starred": "bool = True",
    "reference": 'str = "world"',
}
STATES = ("q", "v", "a", "tau")


def class_name(quantity: str) -> str:
    """``InverseDynamics`` of ``inverse_dynamics``."""
    return "".join(word[:1].upper() + word[1:] for word in quantity.split("_"))


def results() -> str:
    """The module of named results."""
    lines = [f'"""Results of quantities that give several arrays, by name.\n\n{WRITTEN}\n"""', ""]
    lines += [
        "from __future__ import annotations",
        "",
        "from typing import Any, NamedTuple",
        "",
        "import numpy as np",
        "",
    ]
    lines += ["Array = np.ndarray[Any, np.dtype[Any]]", '"""Numbers of any batch shape."""', ""]
    several = {name: spec for name, spec in quantities().items() if len(spec.outputs) > 1}
    for name, spec in several.items():
        lines += ["", f"class {class_name(name)}Result(NamedTuple):", f'    """{wrapped(spec.doc)}"""', ""]
        lines += [f"    {output}: Array" for output in spec.outputs] + [""]
    lines += ["", "RESULTS: dict[str, Any] = {"]
    lines += [f'    "{name}": {class_name(name)}Result,' for name in several]
    return "\n".join([*lines, "}", '"""By quantity."""', ""])


def attributes() -> str:
    """The module of typed kernels, which only type checkers look at."""
    several = [f"{class_name(name)}Result" for name, spec in quantities().items() if len(spec.outputs) > 1]
    imports = "\n".join(f"    {name}," for name in sorted(["Array", *several]))
    lines = [
        f'"""Quantities as attributes of ``Dynamics``, for editors and type checkers.\n\n{WRITTEN}\n"""', "",
        "from __future__ import annotations", "",
        "from collections.abc import Mapping, Sequence", "from typing import Any, Literal, Protocol", "",
        "import numpy as np", "", "from dalembert.dynamics.frame_quantity import FrameQuantity",
        f"from dalembert.dynamics.results import (\n{imports}\n)", "from dalembert.native.kernel import Kernel", "", "",
        "class HasArray(Protocol):",
        '    """An array of another library, such as PyTorch, JAX, CuPy, pandas, xarray."""', "",
        "    @property", "    def shape(self) -> Any: ...", "", "",
        "Numbers = (", "    float | HasArray | Sequence[float] | Sequence[HasArray] | Sequence[Sequence[float]]",
        "    | Sequence[Sequence[Sequence[float]]]", ")", '"""What kernels take for an array."""', "",
        "State = Numbers | Mapping[str, Numbers]",
        '"""The same for vectors of a state: also by name of a joint."""', "",
    ]  # fmt: skip
    for name, spec in quantities().items():
        lines += ["", *kernel(name, spec)]
    lines += ["", "", "class QuantityAttributes:", '    """The quantities of a Dynamics, by name."""', ""]
    lines += [f"    {name}: {class_name(name)}" for name in quantities()]
    return "\n".join([*lines, ""])


def kernel(name: str, spec: Quantity) -> list[str]:
    """The class of one quantity."""
    base = "FrameQuantity" if spec.options else "Kernel"
    result = f"{class_name(name)}Result" if len(spec.outputs) > 1 else "Array"
    inputs = [x for x in spec.inputs if x != "t"]
    pieces = [f"{x}: {'State' if x in STATES else 'Numbers'}" for x in inputs]
    pieces += ["*more: Numbers | Mapping[str, Numbers]"]
    for option, default in spec.options.items():
        pieces.append(f"{option}: {OPTIONS.get(option) or f'{type(default).__name__} = {default!r}'}")
    pieces += [f"{x}: Numbers | Mapping[str, Numbers] = ..." for x in ("wrenches", "parameters")] + ["t: Numbers = ..."]
    pieces += ["out: Any = None", "threads: int | None = None"]
    lines = ["", f"class {class_name(name)}({base}):", f'    """{wrapped(spec.doc)}"""', ""]
    lines += ["    def __call__(  # type: ignore[override]", "        self,"]
    return lines + [f"        {piece}," for piece in pieces] + [f"    ) -> {result}: ..."]


def quantities() -> dict[str, Quantity]:
    """All that are attributes; the constraints and reactions of a Dynamics are others."""
    own = ("constraints", "reactions")
    every = {**ALL_QUANTITIES, **CONSTRAINT_QUANTITIES, **CONTACT_QUANTITIES}
    return {name: spec for name, spec in every.items() if name not in own}


def wrapped(text: str) -> str:
    """A docstring of at most 120 columns."""
    from textwrap import fill

    found = fill(text, 110, subsequent_indent="    ")
    return found if "\n" not in found else found + "\n    "


def files() -> dict[str, str]:
    """The text of every file that is written, before it is formatted."""
    return {"results.py": results(), "attributes.pyi": attributes()}


if __name__ == "__main__":
    for file, text in files().items():
        (FOLDER / file).write_text(text, encoding="utf-8")
        subprocess.run(["ruff", "format", "--quiet", FOLDER / file], check=True)
