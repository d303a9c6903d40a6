"""Every call that writes, flushes, renames or allocates fails once: of the cache, of sweeps, of files.

    python tests/attack/faults.py                  all of it
    python tests/attack/faults.py --subjects cache npz --most 20

For each subject the calls of a run without faults are counted. Then there is one run for each of them, in a process of
its own, in which that call fails: the disk is full, or broken; there is no memory; or the process ends there, in the
middle of what it writes. After an end, the power fails as well: what was not flushed is lost, or torn in half. In the
run itself the answer must be right, or an error of the library (or MemoryError, which is Python's own). Afterwards,
without a fault, everything must be right, and nothing half-written may be left. The idea is SQLite's.
"""

from __future__ import annotations

import argparse
import ctypes
import errno
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np

import dalembert as da
from dalembert.errors import DalembertError
from dalembert.native.cache import Cache
from dalembert.simulation.stores import STORES

HERE = Path(__file__).parent
CRASHED = 77
"""How a process ends that is struck; see faults.c."""

LARGE = 2048
"""Bytes from which on an allocation of the C library may fail: results of sweeps are larger, what Python takes to start
a thread is smaller."""

TRIES = 400
"""Most places of Python's own allocations that are tried for a subject."""

FAULTS = {"disk full": (1, errno.ENOSPC), "disk broken": (1, errno.EIO), "killed": (2, 0), "power": (2, 0)}
"""Faults of files: kind and error number in faults.c."""

MEMORY = ("no memory", "no object")
"""An allocation of the C library fails, such as that of an array; one of Python's own. Python, NumPy and Arrow do not
always survive that: such an end counts as theirs, and what is on disk must be right afterwards as after any other."""

GOOD = ("right", "error of ours", "MemoryError", "ended", "Python's own error")

# ------------------------------------------------------------------------------------------------------------ subjects

POINTS = 9
X = np.arange(POINTS) / 7


def task(p: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {"y": np.sin(p["x"])[:, None] * np.arange(1.0, 200), "n": (p["x"] * 1000).astype(int)}


def sweep(kind: str, folder: Path) -> bool:
    found = da.sweep(task, da.samples(x=X), folder / "store", piece=3, format=kind, threads=1, version="1")
    good = task({"x": X})
    return found.complete and all(np.array_equal(found[name], good[name]) for name in good)


def kept(folder: Path) -> bool:
    """Entries of the cache are what was kept under their names, or not there."""
    cache = Cache(folder / "cache")
    contents = {str(k) * 64: bytes([k]) * 5000 for k in range(1, 4)}
    for name, content in contents.items():
        if cache.get(name) not in (None, content):
            return False
        cache.put(name, content)
        if cache.get(name) not in (None, content):
            return False
    cache.tidy()
    return True


def kernel(folder: Path) -> bool:
    """Machine code by way of the cache."""
    os.environ["DALEMBERT_CACHE"] = str(folder / "cache")
    return abs(da.Dynamics(PENDULUM).gravity([0.3])[0] - 2 * 9.81 * np.sin(0.3)) < 1e-12


def pendulum() -> da.Mechanism:
    body = da.Body("b", da.Inertia(2.0, (0, 0, -1.0), np.zeros((3, 3))))
    joint = da.Joint("j", "revolute", "world", "b", axis=[0, 1, 0])
    return da.Mechanism("p", [body], [joint], strict=False)


PENDULUM = pendulum()


def motion(value: float) -> da.simulation.Trajectory:
    return da.simulate(PENDULUM, [value], [0.0], 0.1)


MOTIONS: dict[str, da.simulation.Trajectory] = {}
"""An old and a new one."""


def written(path: Path, which: str) -> bytes:
    motion = MOTIONS[which]
    (motion.to_npz if path.suffix == ".npz" else motion.to_csv)(path)
    return path.read_bytes()


def rewritten(suffix: str, folder: Path) -> bool:
    """A file that exists is written again."""
    written(folder / f"motion.{suffix}", "new")
    return whole(suffix, folder)


def whole(suffix: str, folder: Path) -> bool:
    """It is the old one or the new one."""
    with tempfile.TemporaryDirectory() as scratch:
        good = [written(Path(scratch) / f"motion.{suffix}", which) for which in MOTIONS]
    return (folder / f"motion.{suffix}").read_bytes() in good


def existing(suffix: str, folder: Path) -> None:
    written(folder / f"motion.{suffix}", "old")


def nothing(folder: Path) -> None:
    """Begin in an empty folder."""


Subject = tuple[Callable[[Path], None], Callable[[Path], bool], Callable[[Path], bool]]

SUBJECTS: dict[str, Subject] = {
    "cache": (nothing, kept, kept),
    "kernel": (nothing, kernel, kernel),
    **{kind: (nothing, partial(sweep, kind), partial(sweep, kind)) for kind in STORES},
    **{f"motion.{s}": (partial(existing, s), partial(rewritten, s), partial(whole, s)) for s in ("npz", "csv")},
}
"""What happens before, what is done while calls fail, and what must be right afterwards."""

# -------------------------------------------------------------------------------------------------------------- a run


class Faults:
    """The library of faults.c, which is loaded before all others."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(os.environ["LD_PRELOAD"])
        self.library.faults_disarm.restype = ctypes.c_long

    def arm(self, folder: Path, kind: int, number: int, code: int, journal: int) -> None:
        self.library.faults_arm(
            os.fsencode(folder), kind, ctypes.c_long(number), code, journal, ctypes.c_size_t(LARGE)
        )  # fmt: skip


def in_child(work: Callable[[], str], limit: int = 30) -> tuple[str, int]:
    """What a process of its own says, and its exit status, within a limit of seconds."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 10))
        signal.alarm(2 * limit)  # a thread that finds no memory to begin is waited for by Python for ever
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # threads without memory
        said = "RAW"
        try:
            said = work()
        except DalembertError as error:
            said = f"error of ours: {type(error).__name__}"
        except MemoryError:
            said = "MemoryError"
        except BaseException as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            said = f"RAW {type(error).__name__}: {error} ({place.filename}:{place.lineno})"
        os.write(write, said.encode()[-60000:])
        os._exit(0)
    os.close(write)
    with open(read, encoding="utf-8", errors="replace") as pipe:
        said = pipe.read()
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return (
            "RAW it never ended"
            if number in (signal.SIGALRM, signal.SIGXCPU)
            else f"ABORT {signal.Signals(number).name}"
        ), -number
    return said, os.WEXITSTATUS(status)


def struck(
    faults: Faults, work: Callable[[Path], bool], folder: Path, kind: int, number: int, code: int, journal: int
) -> str:
    """The work, while one call fails."""
    import _testcapi

    if kind == 4:
        _testcapi.set_nomemory(number, number + 1)
    else:
        faults.arm(folder, kind, number, code, journal)
    try:
        right = work(folder)
    finally:
        if kind == 4:
            _testcapi.remove_mem_hooks()
        else:
            reached = faults.library.faults_disarm()
    if kind == 4:
        return "right" if right else "WRONG"
    return ("right" if right else "WRONG") + ("" if reached > number else ", not reached")


def power_fails(journal: Path, folder: Path, torn: bool) -> None:
    """Take away what was written and not flushed; names are kept, for many file systems keep them so."""
    loose: set[str] = set()
    for line in journal.read_text().splitlines():
        what, path, other = line.split("\t")
        if what == "write":
            loose.add(path)
        elif what == "flush":
            loose.discard(path)
        elif path in loose:  # renamed or linked
            loose.add(other)
            if what == "rename":
                loose.discard(path)
    for name in loose:
        if os.path.isfile(name):
            os.truncate(name, os.path.getsize(name) // 2 if torn else 0)


def afterwards(subject: str, folder: Path) -> str:
    """Without faults: right, also a second time, without a warning, and nothing is left over."""
    check = SUBJECTS[subject][2]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not check(folder):
            return "WRONG afterwards"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if not check(folder):
            return "WRONG the second time"
    left = list(folder.rglob("_new-*")) if subject in STORES else []
    return f"WRONG: {left[0].name} is left" if left else "right"


def cases(subject: str, faults: Faults, most: int) -> Iterator[tuple[str, int]]:
    """Faults and the number of the call that is struck, as many as a run without faults has calls."""

    def spread(count: int) -> list[int]:
        return [k * count // most for k in range(most)] if count > most else list(range(count))

    def counted(kind: int) -> int:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            SUBJECTS[subject][0](folder)

            def whole_run() -> str:
                with open(folder / "journal", "wb", buffering=0) as journal:
                    (folder / "work").mkdir()
                    SUBJECTS[subject][0](folder / "work")
                    faults.arm(folder / "work", kind, 1 << 40, 0, journal.fileno())
                    SUBJECTS[subject][1](folder / "work")
                    return str(faults.library.faults_disarm())

            said, _ = in_child(whole_run)
            return int(said)

    calls = counted(1)
    for fault in FAULTS:
        for number in spread(calls):
            yield fault, number
    if subject != "kernel":  # LLVM ends the process when it finds no memory, and is none of ours
        for number in spread(counted(3)):
            yield "no memory", number
        for number in spread(TRIES):
            yield "no object", 3 * number


def outcome(subject: str, fault: str, number: int, faults: Faults) -> str:
    """What becomes of one run and of the run after it."""
    before, work, _ = SUBJECTS[subject]
    kind, code = FAULTS.get(fault) or (3 + MEMORY.index(fault), 0)
    with tempfile.TemporaryDirectory() as scratch:
        journal, folder = Path(scratch) / "journal", Path(scratch) / "work"
        folder.mkdir()
        before(folder)
        with open(journal, "wb", buffering=0) as log:
            said, status = in_child(lambda: struck(faults, work, folder, kind, number, code, log.fileno()))
        if status == CRASHED:
            said = "ended"
            if fault == "power":
                power_fails(journal, folder, bool(number % 2))
        elif fault in MEMORY and said.startswith(("RAW", "ABORT")):
            said = f"Python's own error: {said}"
        elif said.startswith(("WRONG", "RAW", "ABORT")):
            return said
        later, _ = in_child(lambda: afterwards(subject, folder))
        return said if later == "right" else f"{said}; then {later}"


# ---------------------------------------------------------------------------------------------------------------- all


def run(subjects: list[str], most: int, seconds: float) -> tuple[str, list[str]]:
    """Figures in a line, and what went wrong; in a process that was started with faults.c."""
    warnings.simplefilter("ignore")
    MOTIONS.update(old=motion(0.3), new=motion(0.7))
    for subject in subjects:  # what is imported is so once, before all forks
        if needed := {"parquet": "pyarrow.parquet", "zarr": "zarr"}.get(subject):
            import_module(needed)
    faults, count, bad, end = Faults(), Counter[str](), [], time.monotonic() + seconds
    for place, subject in enumerate(subjects):
        left = (end - time.monotonic()) / (len(subjects) - place)  # what one does not use, the others have
        until = time.monotonic() + left
        for fault, number in cases(subject, faults, most):
            if time.monotonic() > until:
                break
            found = outcome(subject, fault, number, faults)
            word = re.split("[:,;]", found)[0]
            good = word in GOOD and "; then" not in found
            count[word if good else "BAD"] += 1
            if not good:
                bad.append(f"{subject}, {fault} at {number}: {found}")
                print(bad[-1], flush=True)
    words = ", ".join(f"{number} {word}" for word, number in sorted(count.items()))
    return f"{count.total()} faults in {', '.join(subjects)}: {words}", bad


def preloaded(words: list[str], **options: object) -> subprocess.CompletedProcess[str]:
    """This script again, with faults.c loaded before the C library."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise SystemExit("faults.c needs a C compiler")
    with tempfile.TemporaryDirectory() as scratch:
        library = Path(scratch) / "faults.so"
        subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", library, HERE / "faults.c", "-ldl"], check=True)
        environment = dict(os.environ, LD_PRELOAD=str(library), DALEMBERT_CACHE="off")
        return subprocess.run([sys.executable, __file__, *words], env=environment, text=True, **options)  # type: ignore[call-overload,no-any-return]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--subjects", nargs="*", default=list(SUBJECTS))
    parser.add_argument("--most", type=int, default=10**6, help="places of each fault at most")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    options = parser.parse_args()
    if "LD_PRELOAD" not in os.environ:
        return preloaded(sys.argv[1:]).returncode
    figures, bad = run(options.subjects, options.most, options.seconds)
    print(figures)
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
