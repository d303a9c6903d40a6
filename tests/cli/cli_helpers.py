"""Running the command line inside the test process, and as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sympy

import dalembert as da
from dalembert.cli import main


@dataclass(frozen=True)
class Outcome:
    """What a command gave back."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out, parse_constant=lambda name: (_ for _ in ()).throw(ValueError(name)))


def run(capsys, *arguments: str) -> Outcome:
    """A command in this process."""
    capsys.readouterr()
    code = main(arguments)
    captured = capsys.readouterr()
    return Outcome(code, captured.out, captured.err)


def process(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own."""
    environment = {**os.environ, **options.pop("environment", {})}
    return subprocess.run(
        [sys.executable, "-m", "dalembert", *arguments],
        text=True, capture_output=True, timeout=60, env=environment, **options,
    )  # fmt: skip


def distant_wire(path: Path) -> da.Mechanism:
    """A bead on the wire z = log(x - 6), which no start near neutral positions finds; also written to a file."""
    bead = da.Mechanism(
        "bead",
        [da.Body("cart", da.Inertia(0.0)), da.Body("bead", da.Inertia.point(0.1))],
        [
            da.Joint("x", "prismatic", "world", "cart", axis=[1, 0, 0]),
            da.Joint("z", "prismatic", "cart", "bead", axis=[0, 0, 1]),
        ],
        forces=[da.Force("wind", "joint-force", "x", value=2)],
    )
    (x, z), _, _ = da.coordinate_symbols(bead)
    wire = da.Constraint("wire", "position", function=sympy.log(x - 6) - z)
    da.write_toml(bead.replace(constraints=[wire]), path)
    return da.load(path)
