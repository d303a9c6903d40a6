"""Inputs that ever failed, and what must become of each: the folder it lies in says so.

    python tests/attack/replay.py [FILE ...]        all of ``inputs``, or some files

``inputs/refused`` must give an error of the library, ``inputs/warned`` is read with a warning, ``inputs/read`` may be
read in silence or not, but must work. Nothing takes long, or much memory. The suffix says what reads a file: models
(``.urdf``, ``.xacro``, ``.sdf``, ``.xml`` for MJCF, ``.toml``), pairs that never touch (``.srdf``), expressions
(``.expr``), tables of Denavit and Hartenberg (``.dh``), meshes (``.stl``, ``.obj``, ``.dae``), motions (``.npz``), logs
(``.csv``, ``.mcap``), certificates of proofs (``.certificate``) and command lines (``.args``, a word a line).

What is read must work: written as TOML and read again it is the same mechanism, and inverse dynamics equal mass matrix
times acceleration plus bias, which is another algorithm.
"""

from __future__ import annotations

import contextlib
import io
import json
import resource
import signal
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import dalembert as da
from dalembert.cli.application import main as command_line
from dalembert.errors import DalembertError, ModelWarning
from dalembert.formats.mesh_files import MESH_READERS, read_mesh
from dalembert.identification import read_log
from dalembert.model.expression import evaluate_exact
from dalembert.proof import check

INPUTS = Path(__file__).parent / "inputs"
SECONDS = 20
"""Of processor time, for one input; SymPy's and MuJoCo's own start included."""

MEMORY = 4 << 30
"""Bytes for one input, beside what the process has."""

PAGES = Path("/proc/self/statm")
"""Where Linux says how much the process has."""

LARGE = 40
"""Mechanisms with more freedoms are not computed with: interpreted algorithms take seconds."""


class Wrong(Exception):
    """An input is read as something else than it is."""


def model(read: Callable[[bytes], da.Mechanism]) -> Callable[[Path], None]:
    return lambda path: works(read(path.read_bytes()))


def works(mechanism: da.Mechanism) -> None:
    """A mechanism is the same after writing and reading, and two algorithms agree."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = da.read_toml(da.write_toml(mechanism))
        if mechanism.symbols:  # floats between symbols are written as decimals, and decimals there are read exactly
            mechanism, again = again, da.read_toml(da.write_toml(again))
        if again.digest != mechanism.digest:
            raise Wrong("written as TOML and read again it is another mechanism")
        if mechanism.symbols or mechanism.constraints or mechanism.nv > LARGE:
            return
        q, v, a = mechanism.random_state(np.random.default_rng(0))
        tau, bias = (np.array(da.algorithms.inverse_dynamics(mechanism, q, v, x), float) for x in (a, 0 * a))
        other = np.array(da.algorithms.mass_matrix(mechanism, q), float) @ a + bias
        scale = max(np.abs(tau).max(initial=0.0), np.abs(bias).max(initial=0.0))
        if not np.abs(tau - other).max(initial=0.0) <= 1e-9 * scale:
            raise Wrong(f"two algorithms differ by {np.abs(tau - other).max():.3g}, of {scale:.3g}")


def table(path: Path) -> None:
    works(da.from_dh(json.loads(path.read_text())))


def motion(path: Path) -> None:
    found = da.simulation.load_trajectory(path, PENDULUM)
    if not np.isfinite(found(found.t[0]).q).all():
        raise Wrong("a state that is not finite is taken")


def log(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = read_log(path, PENDULUM)
    if not np.isfinite(found.q).all() or not (np.diff(found.t) > 0).all():
        raise Wrong("a log with gaps, or with times that do not grow, is taken")


def certificate(path: Path) -> None:
    if not check(path).ok:
        raise Wrong("a certificate is read of what is not true")


def command(path: Path) -> None:
    """A command line, in a folder of its own; what it refuses counts as refused."""
    words = path.read_text().splitlines()
    said = io.StringIO()
    with (
        tempfile.TemporaryDirectory() as scratch,
        contextlib.chdir(scratch),
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(said),
    ):
        code = command_line(words)
    if code == 2:
        raise DalembertError(said.getvalue() or "refused")
    if code not in (0, 1):
        raise Wrong(f"exit code {code}: {said.getvalue().strip()[-300:]}")


PENDULUM = da.load("double_pendulum", parameters="default")

READERS: dict[str, Callable[[Path], Any]] = {
    ".urdf": model(da.read_urdf),
    ".xml": model(da.read_mjcf),
    ".toml": model(lambda text: da.read_toml(text.decode() + "\n")),
    ".expr": lambda path: evaluate_exact(path.read_text()),
    ".sdf": model(da.read_sdf),
    ".xacro": lambda path: works(da.read_xacro(path)),
    ".srdf": da.read_srdf,
    ".dh": table,
    ".csv": log,
    ".mcap": log,
    ".certificate": certificate,
    ".npz": motion,
    ".args": command,
    **dict.fromkeys(MESH_READERS, read_mesh),
}
"""By suffix."""

NEEDS = {".xml": "mujoco", ".xacro": "xacro", ".mcap": "mcap"}
"""Suffix -> the package without which it cannot be read."""


def outcome(path: Path) -> tuple[str, str]:
    """What becomes of an input - refused, warned, read, or a word in capitals - and what was said."""
    with warnings.catch_warnings(record=True) as caught, limited():
        warnings.simplefilter("always")
        try:
            READERS[path.suffix](path)
        except DalembertError as error:
            return ("refused", str(error)) if str(error) else ("RAW", "an error without words")
        except UnicodeDecodeError as error:  # of this file's own reading
            return (
                ("refused", str(error)) if path.suffix in (".toml", ".expr", ".args", ".dh") else ("RAW", repr(error))
            )
        except Wrong as error:
            return "WRONG", str(error)
        except TimeoutError:
            return "TOO LONG", f"more than {SECONDS} s"
        except BaseException as error:
            return "RAW", f"{type(error).__name__}: {error}"
    said = [str(w.message) for w in caught if issubclass(w.category, ModelWarning)]
    return ("warned", said[0]) if said else ("read", "")


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """Bounded time, by a signal, and memory."""

    def over(*_: object) -> None:
        raise TimeoutError

    before, most = signal.signal(signal.SIGVTALRM, over), resource.getrlimit(resource.RLIMIT_AS)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    if PAGES.exists():
        held = int(PAGES.read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (held + MEMORY, most[1]))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        resource.setrlimit(resource.RLIMIT_AS, most)
        signal.signal(signal.SIGVTALRM, before)


def judged(path: Path) -> str:
    """What is wrong with an input of the corpus, in a sentence; empty if it is as its folder says."""
    found, said = outcome(path)
    right = {"refused": ["refused"], "warned": ["warned"], "read": ["warned", "read"]}[path.parent.name]
    return "" if found in right else f"{path.name} must be {path.parent.name}, but: {found} {said}"


def inputs() -> list[Path]:
    """The corpus, but for what needs something that is not installed."""
    found = sorted(path for path in INPUTS.glob("*/*") if path.suffix in READERS)
    return [path for path in found if find_spec(NEEDS.get(path.suffix, "numpy"))]


def run(paths: list[Path]) -> tuple[str, list[str]]:
    """Figures in a line, and what went wrong."""
    bad = [wrong for path in paths if (wrong := judged(path))]
    for wrong in bad:
        print(wrong, flush=True)
    count = Counter(path.parent.name for path in paths)
    words = ", ".join(f"{number} to be {name}" for name, number in sorted(count.items()))
    return f"{len(paths)} inputs of the corpus replayed ({words}): {len(bad)} otherwise", bad


def main() -> int:
    figures, bad = run([Path(word) for word in sys.argv[1:]] or inputs())
    print(figures)
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
