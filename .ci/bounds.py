"""Install the lowest versions that are declared, and the newest there are, each in an environment of its own; try both.

python .ci/bounds.py [lowest | newest | both]        by default both

Pip is asked for exactly the lower bounds of pyproject.toml, those of the extras that have to do with NumPy included, so
that a bound that cannot be installed, or does not work, is found here and not by a user. The sample of tests is about
models, expressions, kernels, motions, sweeps, tables and files.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = ("tables", "mjcf", "plot", "cluster", "report")
TOOLS = ("pytest>=8", "hypothesis")
SAMPLE = (
    "tests/attack/test_sweeps.py", "tests/attack/test_numbers.py", "tests/attack/test_files.py",
    "tests/algorithms/test_inverse_dynamics.py", "tests/model/test_expression.py", "tests/formats/test_mjcf.py",
    "tests/formulations/test_routes_agree.py", "tests/native/test_kernel_calls.py",
    "tests/simulation/test_known_motions.py", "tests/simulation/test_sweep.py", "tests/simulation/test_trajectory.py",
    "tests/tracing",
)  # fmt: skip
SHOWN = ("numpy", "scipy", "sympy", "llvmlite", "pandas", "pyarrow", "xarray", "zarr", "mujoco", "matplotlib", "dask")


def requirements(lowest: bool) -> list[str]:
    """Of the package and the chosen extras; their lower bounds as the only versions allowed, if asked for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = [*project["dependencies"], *(word for name in EXTRAS for word in project["optional-dependencies"][name])]
    return sorted({word.replace(">=", "==") if lowest else word for word in found})


def attempt(lowest: bool, folder: Path) -> int:
    """Install and run the sample; returns how pytest ended."""
    start = time.perf_counter()
    place = folder / ("lowest" if lowest else "newest")
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    python = place / ("Scripts" if os.name == "nt" else "bin") / "python"
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *([] if lowest else ["--upgrade"]), *requirements(lowest), *TOOLS], check=True)
    subprocess.run([*pip, "--no-deps", ROOT], check=True)
    report = f"from importlib.metadata import version as v; print(*(f'{{n}} {{v(n)}}' for n in {SHOWN}), sep=', ')"
    subprocess.run([python, "-c", report], check=True)
    environment = dict(os.environ, DALEMBERT_CACHE=str(place / "cache"), HYPOTHESIS_PROFILE="quick")
    environment.pop("PYTHONPATH", None)
    words = [python, "-m", "pytest", "-p", "no:cacheprovider", "-m", "not slow", *SAMPLE]
    ended = subprocess.run(words, cwd=ROOT, env=environment).returncode
    print(f"{place.name}: {'right' if ended == 0 else 'WRONG'}, {time.perf_counter() - start:.0f} s", flush=True)
    return ended


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", nargs="?", choices=("lowest", "newest", "both"), default="both")
    which = parser.parse_args().which
    with tempfile.TemporaryDirectory() as scratch:
        return max(attempt(one == "lowest", Path(scratch)) for one in ("lowest", "newest") if which in (one, "both"))


if __name__ == "__main__":
    sys.exit(main())
