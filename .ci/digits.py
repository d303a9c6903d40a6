"""A sample of the tests with the last digits of other processors: no test may depend on those of one.

python .ci/digits.py                    the sample below
python .ci/digits.py tests/contact      other tests
"""

import os
import subprocess
import sys

from dalembert.errors import CompilerError
from dalembert.native.llvm.target import Target

SETTINGS = [
    {"DALEMBERT_CPU": "x86-64-v2", "OPENBLAS_CORETYPE": "Nehalem"},
    {"DALEMBERT_CPU": "x86-64-v3", "OPENBLAS_CORETYPE": "Haswell"},
    {"DALEMBERT_CPU": "x86-64-v4", "OPENBLAS_CORETYPE": "SkylakeX"},
    {"DALEMBERT_CPU": "scalar"},
    {"MOVED_STARTS": "1"},
]
"""Environments: code for other processors, of this library and of NumPy's linear algebra; and starts of motions that
are one rounding error beside where tests want them."""

SAMPLE = [
    "tests/constraints/test_row_units.py",
    "tests/constraints/test_known_rank.py",
    "tests/simulation/test_changing_redundancy.py",
    "tests/contact/test_rigid_laws.py",
]
"""Where last digits decide soonest: ranks, units, and whether something touches."""


def runs_here(setting: dict[str, str]) -> bool:
    """Whether this processor runs the code of that one."""
    os.environ["DALEMBERT_CPU"] = setting.get("DALEMBERT_CPU", "")
    try:
        Target.host()
    except CompilerError as error:
        print(f"left out: {error}")
        return False
    finally:
        del os.environ["DALEMBERT_CPU"]
    return True


def main() -> None:
    chosen = [setting for setting in SETTINGS if runs_here(setting)]
    failed = []
    for setting in chosen:
        print(*(f"{name}={value}" for name, value in setting.items()), flush=True)
        command = [sys.executable, "-m", "pytest", "-n", "auto", "-m", "not slow", *(sys.argv[1:] or SAMPLE)]
        if subprocess.run(
            command, env={**os.environ, "HYPOTHESIS_PROFILE": "quick", **setting}, check=False
        ).returncode:
            failed.append(setting)
    if failed:
        sys.exit(f"tests depend on last digits: they fail with {failed}")


if __name__ == "__main__":
    main()
