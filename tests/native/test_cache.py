"""The disk cache gives back what was put in, whole or not at all, whatever happens to the disk."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

from dalembert.errors import ArgumentError
from dalembert.installation import files_digest
from dalembert.native import cache as cache_module
from dalembert.native import load as native
from dalembert.native.cache import Cache, default_cache, digest
from dalembert.native.kernel import Kernel
from llvm_programs import copy_program, random_program

POSIX = pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs POSIX permissions")
UNPRIVILEGED = pytest.mark.skipif(hasattr(os, "getuid") and os.getuid() == 0, reason="root may write everywhere")


def kernel(program, **options):
    return Kernel(program.name, program.inputs, program.outputs, program, **options)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache of its own for this test."""
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def compilations(monkeypatch):
    """How often the compiler is asked."""
    count = []
    real = native.object_codes
    monkeypatch.setattr(native, "object_codes", lambda *args: count.append(args) or real(*args))
    return count


def test_what_is_put_is_got(tmp_path):
    cache = Cache(tmp_path / "deep" / "cache")
    assert cache.get("a") is None
    for content in (b"", b"x", os.urandom(100_000)):
        cache.put("a", content)
        assert cache.get("a") == content
    assert sorted(os.listdir(cache.folder)) == [cache_module.TAG, "a"]


DAMAGES = {
    "cut": lambda c: c[:-1],
    "short": lambda c: c[:10],
    "empty": lambda c: b"",
    "long": lambda c: c + b"!",
    "flipped": lambda c: c[:60] + bytes([c[60] ^ 1]) + c[61:],
    "zeros": lambda c: b"\0" * len(c),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_damaged_entries_are_made_anew(damage, folder, compilations):
    program = random_program(1)
    x = [np.ones(p.shape) for p in program.inputs]
    wanted = kernel(program)(*x)
    first = len(compilations)
    for path in folder.iterdir():
        path.write_bytes(damage(path.read_bytes()))
    for a, b in zip(wanted, kernel(program)(*x)):
        np.testing.assert_array_equal(a, b)
    assert len(compilations) == first + 1
    kernel(program)(*x)
    assert len(compilations) == first + 1


def test_the_second_start_does_not_compile(folder, compilations):
    program = random_program(2)
    x = [np.ones(p.shape) for p in program.inputs]
    kernel(program)(*x)
    first = len(compilations)
    kernel(program)(*x)
    assert len(compilations) == first
    kernel(random_program(3))(*x)
    kernel(program, dtype=np.float32)(*x)
    assert len(compilations) >= first + 2


def test_with_a_key_the_program_is_not_even_made(folder):
    program = copy_program((3,))
    made = []

    def make():
        made.append(1)
        return program

    for _ in range(3):
        run = Kernel("copy", program.inputs, program.outputs, make, key="copy three numbers")
        np.testing.assert_array_equal(run(np.arange(3.0)), np.arange(3.0))
    assert made == [1]
    Kernel("copy", program.inputs, program.outputs, make, key="another")(np.arange(3.0))
    assert made == [1, 1]


def test_it_can_be_switched_off(monkeypatch, tmp_path, compilations):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("DALEMBERT_CACHE", "off")
    assert repr(default_cache()) == "Cache(None)"
    for _ in range(2):
        kernel(copy_program((2,)))(np.zeros(2))
    assert len(compilations) >= 2
    assert list(tmp_path.rglob("*")) == []


def test_where_it_lies(monkeypatch, tmp_path):
    monkeypatch.delenv("DALEMBERT_CACHE", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    if sys.platform.startswith("linux"):
        assert cache_module._default_folder() == tmp_path / "xdg" / "dalembert"
        monkeypatch.delenv("XDG_CACHE_HOME")
        assert cache_module._default_folder() == tmp_path / ".cache" / "dalembert"
        monkeypatch.setenv("XDG_CACHE_HOME", "relative/to/what")
        assert cache_module._default_folder() == tmp_path / ".cache" / "dalembert"
    monkeypatch.setenv("DALEMBERT_CACHE", "~nobody-of-that-name/cache")
    with pytest.raises(ArgumentError, match="DALEMBERT_CACHE is '~nobody"):
        default_cache()


@POSIX
def test_it_is_kept_to_oneself(tmp_path):
    cache = Cache(tmp_path / "cache")
    cache.put("a", b"code")
    assert cache.folder.stat().st_mode & 0o777 == 0o700
    assert (cache.folder / "a").stat().st_mode & 0o077 == 0
    os.chmod(cache.folder / "a", 0o666)
    with pytest.warns(UserWarning, match="may be written by others"):
        assert cache.get("a") is None
    shared = Cache(tmp_path / "shared")
    (tmp_path / "shared").mkdir()
    os.chmod(tmp_path / "shared", 0o777)
    with pytest.warns(UserWarning, match="may be written by others"):
        shared.put("a", b"code")
    assert shared.get("a") is None
    (cache.folder / "link").symlink_to(cache.folder / "a")
    assert cache.get("link") is None


@POSIX
def test_what_is_no_entry_is_left_alone(tmp_path):
    cache = Cache(tmp_path)
    os.chmod(tmp_path, 0o700)
    os.mkfifo(tmp_path / "pipe")  # nobody writes into it: reading would wait for ever
    (tmp_path / "folder").mkdir()
    handles = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    assert cache.get("pipe") is None and cache.get("folder") is None
    if handles:
        assert len(os.listdir("/proc/self/fd")) == handles


def test_an_entry_is_valid_under_its_own_name_only(tmp_path):
    cache = Cache(tmp_path / "cache")
    cache.put("a", b"code of a")
    os.rename(cache.folder / "a", cache.folder / "b")
    assert cache.get("b") is None


@POSIX
def test_entries_of_somebody_else_are_not_loaded(tmp_path, monkeypatch):
    cache = Cache(tmp_path / "cache")
    cache.put("a", b"code")
    uid = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: uid + 1)
    with pytest.warns(UserWarning, match="belongs to another user"):
        assert cache.get("a") is None


@POSIX
@UNPRIVILEGED
def test_read_only_disk(tmp_path):
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o500)
    cache = Cache(folder)
    with pytest.warns(UserWarning, match="cannot be kept"):
        cache.put("a", b"code")


@pytest.mark.parametrize("number", ["ENOSPC", "EROFS", "EDQUOT", "EACCES"])
def test_a_disk_that_takes_nothing_is_mentioned_once(number, folder, monkeypatch):
    import errno

    def refuse(*args, **options):
        raise OSError(getattr(errno, number), os.strerror(getattr(errno, number)))

    monkeypatch.setattr(cache_module.os, "replace", refuse)
    cache_module._cache_of.cache_clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for size in (3, 4):
            np.testing.assert_array_equal(kernel(copy_program((size,)))(np.arange(float(size))), np.arange(float(size)))
    assert [str(w.message)[:33] for w in caught if "cannot be kept" in str(w.message)] == [
        "machine code cannot be kept for t"
    ]
    assert not folder.exists() or os.listdir(folder) == []  # nothing half-written stays behind


def test_a_file_in_the_way_of_the_folder(tmp_path):
    (tmp_path / "cache").write_text("not a folder")
    cache = Cache(tmp_path / "cache")
    with pytest.warns(UserWarning, match="cannot be kept"):
        cache.put("a", b"code")
    assert cache.get("a") is None


def test_the_oldest_go_first(tmp_path):
    cache = Cache(tmp_path / "cache", limit=10_000)
    now = time.time()
    for k in range(8):
        cache.put(f"entry{k}", bytes(1000))
        os.utime(cache.folder / f"entry{k}", (now - 10_000 + 1000 * k,) * 2)
    assert cache.get("entry0") is not None  # a use makes it young again
    (cache.folder / "new-left-by-a-crash").write_bytes(cache_module.MAGIC + bytes(100))
    os.utime(cache.folder / "new-left-by-a-crash", (now - 10_000,) * 2)
    for k in range(8, 10):
        cache.put(f"entry{k}", bytes(1000))
    cache.tidy()
    names = sorted(os.listdir(cache.folder))
    assert sum((cache.folder / n).stat().st_size for n in names) <= 10_000
    assert "entry0" in names
    assert "entry1" not in names
    assert "entry9" in names
    assert "new-left-by-a-crash" not in names


def test_digests_tell_things_apart(tmp_path):
    assert digest("a", "b") != digest("ab")
    assert digest(1) != digest("1")
    (tmp_path / "a.py").write_text("x = 1")
    first = files_digest(tmp_path)
    (tmp_path / "a.py").write_text("x = 2")
    assert files_digest(tmp_path) != first


def _compile_and_run(folder, seed, queue):
    os.environ["DALEMBERT_CACHE"] = folder
    program = random_program(seed, size=150)
    for _ in range(3):
        result = kernel(program)(*(np.ones(p.shape) for p in program.inputs))
    queue.put([np.asarray(y).tobytes() for y in result])


def test_many_processes_at_once(tmp_path):
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    crowd = [context.Process(target=_compile_and_run, args=(str(tmp_path / "cache"), 4, queue)) for _ in range(4)]
    for process in crowd:
        process.start()
    results = [queue.get(timeout=60) for _ in crowd]
    for process in crowd:
        process.join()
        assert process.exitcode == 0
    assert all(r == results[0] for r in results)
    assert not [n for n in os.listdir(tmp_path / "cache") if n.startswith("new-")]


def test_importing_kernels_needs_no_compiler(tmp_path):
    """LLVM is loaded when code is needed, not before."""
    text = "import sys, dalembert.native.kernel; print('llvmlite' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr
