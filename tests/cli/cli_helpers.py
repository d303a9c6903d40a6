"""Running the command line inside the test process, and as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

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
