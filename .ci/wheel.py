"""Build the wheel and try it in a clean environment for every supported Python on this machine.

python .ci/wheel.py [PYTHON ...]        interpreters to try; by default those of pyenv, uv and the PATH

In each environment only the wheel and what it requires is installed: it must import without a warning, hint at every
missing extra in one line, and compute. Prints import time and installed size.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OLDEST = (3, 11)
TRIAL = """
import numpy as np, dalembert as da
arm = da.load("demo_arm"); dyn = da.Dynamics(arm)
q, v, a = arm.random_state(np.random.default_rng(0), (1000,))
tau = dyn.inverse_dynamics(q, v, a)
assert np.abs(dyn.forward_dynamics(q, v, tau) - a).max() < 1e-8
assert da.verify(da.load("rp_arm"), states=1).ok
assert da.compare(arm, arm).agrees
assert da.view(arm, to="arm.html", equations=False).stat().st_size > 100_000
"""


def version(python: str) -> tuple[int, ...] | None:
    """Of an interpreter; None if it is none."""
    code = "import sys, venv, ensurepip; print(*sys.version_info[:3])"
    try:
        said = subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=60, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    return tuple(map(int, said.split()))


def interpreters() -> list[str]:
    """One for every supported minor version, the present one first."""
    home = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [sys.executable, *(str(path) for path in sorted(home.glob("*/bin/python")))]
    found += [path for minor in range(OLDEST[1], 20) if (path := shutil.which(f"python3.{minor}"))]
    if shutil.which("uv"):
        listed = subprocess.run(["uv", "python", "list", "--only-installed"], capture_output=True, text=True).stdout
        found += [line.split()[1] for line in listed.splitlines() if len(line.split()) > 1]
    chosen: dict[tuple[int, ...], str] = {}
    for python in found:
        number = version(python)
        if number is not None and number >= OLDEST:
            chosen.setdefault(number[:2], python)
    return list(chosen.values())


def call(*command: str | Path, quiet: bool = False, cwd: Path | None = None) -> None:
    subprocess.run(command, check=True, cwd=cwd, stdout=subprocess.DEVNULL if quiet else None)


def main() -> int:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        call(sys.executable, "-m", "pip", "wheel", ROOT, "--no-deps", "--quiet", "-w", folder)
        (wheel,) = folder.glob("*.whl")
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB", flush=True)
        (ROOT / "dist").mkdir(exist_ok=True)
        shutil.copy(wheel, ROOT / "dist" / wheel.name)
        for python in sys.argv[1:] or interpreters():
            start = time.perf_counter()
            place = folder / f"environment-{'.'.join(map(str, version(python) or ()))}"
            call(python, "-m", "venv", place)
            inside = place / ("Scripts" if os.name == "nt" else "bin")
            call(inside / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
            call(inside / "python", ROOT / ".ci" / "facts.py", cwd=folder)
            call(inside / "python", ROOT / "tests" / "extras_probe.py", quiet=True, cwd=folder)
            call(inside / "python", "-W", "error", "-c", TRIAL, cwd=folder)
            call(inside / "dalembert", "doctor", quiet=True, cwd=folder)
            print(f"  installed, tried, all extras hinted at in {time.perf_counter() - start:.0f} s", flush=True)
            shutil.rmtree(place)
    return 0


if __name__ == "__main__":
    sys.exit(main())
