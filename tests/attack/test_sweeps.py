"""Folders of results under attack: two owners, failing starts, damage, kills, work in place, lost clusters."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ArgumentError, DalembertError, SimulationWarning
from dalembert.simulation import SweepError, ownership

KINDS = [
    "npz",
    *(
        pytest.param(kind, marks=pytest.mark.skipif(find_spec(package) is None, reason=f"needs {package}"))
        for kind, package in (("parquet", "pyarrow"), ("zarr", "zarr"))
    ),
]

CHILD = """
import sys, time
import numpy as np
import dalembert as da

def task(p):
    time.sleep(0.05)
    return {"y": 3 * p["x"]}

da.sweep(task, da.samples(x=np.arange(1.0, 41)), sys.argv[1], piece=4, threads=1, version="factor 3")
"""


class Sweeping:
    """A sweep in a thread of its own: the lock of a folder belongs to whoever opened it, not to the process."""

    def __init__(self, factor, folder, seconds=0.0, fails=False):
        def task(p):
            time.sleep(seconds)
            if fails:
                raise RuntimeError("licence server")
            return {"y": factor * p["x"]}

        def run():
            x = np.arange(1.0, 41)
            try:
                y = da.sweep(task, da.samples(x=x), folder, piece=4, threads=1, version=f"factor {factor}")["y"]
                self.answer = "right" if np.array_equal(y, factor * x) else f"WRONG {y}"
            except DalembertError as error:
                self.answer = f"refused: {error}"

        self.answer = ""
        self.thread = threading.Thread(target=run)
        self.thread.start()

    def result(self):
        self.thread.join(timeout=60)
        return self.answer


def test_of_two_sweeps_in_one_new_folder_one_is_refused(tmp_path):
    """A2: at the same moment. A folder then holds the results of one task."""
    for n in range(10):
        pair = [Sweeping(k, tmp_path / str(n), 0.005) for k in (1, 2)]
        answers = sorted((one.result() for one in pair), reverse=True)
        assert answers[0] == "right" and answers[1].startswith("refused:") and "task differs" in answers[1]


def test_identical_sweeps_share_the_work(tmp_path):
    pair = [Sweeping(1, tmp_path, 0.05) for _ in range(2)]
    assert [one.result() for one in pair] == ["right", "right"]
    assert len(list(tmp_path.glob("piece-*"))) == 10 and not list(tmp_path.glob("_new-*"))


def test_a_failing_start_removes_nothing_of_others(tmp_path):
    """A3: one that fails at once, beside one that is at work; a third with another task is refused, then as later."""
    working = Sweeping(1, tmp_path, 0.1)
    while not (tmp_path / "_sweep.json").exists():
        time.sleep(0.01)
    assert "10 of 10 pieces failed" in Sweeping(1, tmp_path, fails=True).result()
    assert (tmp_path / "_sweep.json").exists()
    assert "task differs" in Sweeping(2, tmp_path).result()
    assert working.result() == "right"
    assert "task differs" in Sweeping(2, tmp_path).result()


def test_a_folder_without_results_is_free_when_nobody_is_at_work(tmp_path):
    assert "10 of 10 pieces failed" in Sweeping(1, tmp_path, fails=True).result()
    assert Sweeping(2, tmp_path).result() == "right"


def test_without_locks_a_claimed_folder_stays_claimed(tmp_path, monkeypatch):
    monkeypatch.setattr(ownership, "fcntl", None)
    assert "10 of 10 pieces failed" in Sweeping(1, tmp_path, fails=True).result()
    assert "task differs" in Sweeping(2, tmp_path).result()
    assert Sweeping(1, tmp_path).result() == "right"


def test_a_killed_sweep_goes_on_and_its_leftovers_go(tmp_path):
    """A29: half-written files of a process that was killed are gone after the next start."""
    with subprocess.Popen([sys.executable, "-c", CHILD, str(tmp_path)]) as child:
        while not list(tmp_path.glob("piece-*")):
            time.sleep(0.01)
        child.kill()
    (tmp_path / "_new-0123456789abcdef.npz").write_bytes(b"half")
    assert Sweeping(3, tmp_path).result() == "right" and not list(tmp_path.glob("_new-*"))


def test_results_that_can_only_be_read(tmp_path, monkeypatch):
    points = da.samples(x=np.arange(4.0))

    def task(p):
        return {"y": p["x"]}

    da.sweep(task, points, tmp_path, version="1")
    opened = os.open

    def read_only(path, flags, *rest):
        if flags & os.O_RDWR:
            raise PermissionError(13, "read-only")
        return opened(path, flags, *rest)

    monkeypatch.setattr(os, "open", read_only)
    assert da.sweep(task, points, tmp_path, version="1")["y"].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("kind", KINDS)
def test_a_task_that_works_in_place_changes_nothing_of_others(kind, tmp_path):
    """A12: neither the array of the user, nor the points, nor what is stored beside the results."""
    x = np.arange(6.0)
    points = da.samples(x=x)

    def task(p):
        p["x"] *= 2
        return {"y": p["x"]}

    found = da.sweep(task, points, tmp_path, piece=2, format=kind, threads=1, version="1")
    assert x.tolist() == points.values["x"].tolist() == [0, 1, 2, 3, 4, 5]
    assert (
        found["y"].tolist() == [0, 2, 4, 6, 8, 10]
        and da.sweep(task, points, tmp_path, piece=2, format=kind, version="1").complete
    )
    assert [p["x"].tolist() for p, _ in found] == [[0, 1], [2, 3], [4, 5]]
    if kind == "parquet":
        import pyarrow.parquet

        assert pyarrow.parquet.read_table(found.store.paths()[1])["x"].to_pylist() == [2, 3]
    x[0] = 7  # later, by the user
    assert points.values["x"][0] == 0
    with pytest.raises(ValueError, match="read-only"):
        points.values["x"][0] = 7


def flipped(content, random):
    place = random.integers(len(content))
    return content[:place] + bytes([content[place] ^ 1 << random.integers(8)]) + content[place + 1 :]


DAMAGE = {
    "a bit": flipped,
    "cut off": lambda content, random: content[: random.integers(len(content))],
    "empty": lambda content, random: b"",
    "zeros": lambda content, random: bytes(len(content)),
    "gone": lambda content, random: None,
}


@pytest.mark.parametrize("kind", KINDS)
def test_damage_is_found_and_mended(kind, tmp_path):
    """A13, A21: whatever happens to a file of results, the answer is right, and a second look finds nothing to mend."""
    points, random = da.samples(x=np.arange(40) / 40), np.random.default_rng(0)

    def task(p):
        return {"y": np.sin(p["x"])[:, None] * np.ones(20), "i": (p["x"] * 1000).astype(int)}

    good = da.sweep(task, points, tmp_path, piece=10, format=kind, version="1")
    y, i = good["y"], good["i"]
    for how in DAMAGE.values():
        for _ in range(4):
            files = sorted(path for path in tmp_path.rglob("*") if path.is_file() and path.name != "_sweep.json")
            path = Path(random.choice(files))
            content = path.read_bytes()
            damaged = how(content, random) if content else None  # a marker has nothing but its name
            path.unlink() if damaged is None else path.write_bytes(damaged)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SimulationWarning)
                found = da.sweep(task, points, tmp_path, piece=10, format=kind, version="1")
                assert np.array_equal(found["y"], y) and np.array_equal(found["i"], i), (path.name, how)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                assert np.array_equal(found["y"], y) and np.array_equal(found["i"], i), (path.name, how)


@pytest.mark.parametrize("damaged", [b"", b"{", b"[]", b"null", b"\xff\xfe"])
def test_a_damaged_manifest_is_no_licence(damaged, tmp_path):
    points = da.samples(x=np.arange(4.0))

    def task(p):
        return {"y": p["x"]}

    da.sweep(task, points, tmp_path, version="1")
    (tmp_path / "_sweep.json").write_bytes(damaged)
    with pytest.raises(ArgumentError, match="not readable as the manifest"):
        da.sweep(task, points, tmp_path, version="1")


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_manifest_results_of_another_task_are_not_taken(kind, tmp_path):
    """Every piece knows its sweep."""
    points = da.samples(x=np.arange(4.0))
    da.sweep(lambda p: {"y": p["x"]}, points, tmp_path, piece=2, format=kind)
    (tmp_path / "_sweep.json").unlink()
    with pytest.warns(SimulationWarning, match="computed anew"):
        assert da.sweep(lambda p: {"y": 2 * p["x"]}, points, tmp_path, piece=2, format=kind)["y"].tolist() == [
            0,
            2,
            4,
            6,
        ]


def test_without_the_task_damage_is_an_error(tmp_path):
    found = da.sweep(lambda p: {"y": p["x"]}, da.samples(x=np.arange(4.0)), tmp_path, piece=2)
    copy = pickle.loads(pickle.dumps(found))
    assert copy["y"].tolist() == [0, 1, 2, 3]
    copy.store.paths()[1].write_bytes(b"")
    with pytest.raises(SweepError, match=r"another content than when it was written.*call the sweep again"):
        copy["y"]


INTERRUPTED = """
import sys, time
import dalembert as da

def task(p):
    time.sleep(30 if p["x"][0] else 0)
    return {"y": p["x"]}

try:
    print("ready", flush=True)
    da.sweep(task, da.samples(x=[0.0, 1.0, 2.0]), sys.argv[1], piece=1, threads=2, version="1")
finally:
    print("answered", flush=True)
"""


def test_ctrl_c_does_not_wait_for_long_pieces(tmp_path):
    """A18: the call comes back, and the program ends, while pieces of thirty seconds are under way."""
    pipe = subprocess.PIPE
    words = [sys.executable, "-c", INTERRUPTED, str(tmp_path)]
    with subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True) as child:
        assert child.stdout.readline() == "ready\n"
        while not list(tmp_path.glob("piece-*")):
            time.sleep(0.02)
        start = time.monotonic()
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=25)
    assert time.monotonic() - start < 10 and out == "answered\n"
    assert "1 of 3 pieces are in" in err and child.returncode == -signal.SIGINT


@pytest.fixture
def scheduler():
    """A scheduler without workers, as a process of its own."""
    pytest.importorskip("distributed")
    code = (
        "import asyncio, distributed\nasync def run():\n    async with distributed.Scheduler(host='127.0.0.1', port=0, "
    )
    code += "dashboard_address=None) as s:\n        print(s.address, flush=True)\n        await asyncio.sleep(120)\n"
    code += "asyncio.run(run())"
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_cluster_without_workers_or_scheduler_is_answered(scheduler, tmp_path, monkeypatch):
    """A18, A22: no workers is a warning within seconds, a scheduler that is gone an error within seconds."""
    import distributed

    monkeypatch.setattr(sys.modules["dalembert.simulation.sweep"], "PATIENCE", 1.0)
    process, address = scheduler

    def task(points):  # travels by value; the scheduler does not know this file
        return {"y": points["x"]}

    with distributed.Client(address, timeout=20) as client:
        killer = threading.Timer(3.0, process.kill)
        killer.start()
        start = time.monotonic()
        with (
            pytest.warns(SimulationWarning, match="has had no workers for 1 s"),
            pytest.raises(SweepError, match="scheduler of the cluster has not answered") as caught,
        ):
            da.sweep(task, da.samples(x=np.arange(4.0)), tmp_path, piece=1, client=client, version="1")
        assert time.monotonic() - start < 15 and len(caught.value.failed) == 4
    assert da.sweep(task, da.samples(x=np.arange(4.0)), tmp_path, piece=4, threads=1, version="1").complete
