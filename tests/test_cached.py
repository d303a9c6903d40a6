"""Properties that are computed once: without a lock that a forked process would inherit."""

import ast
import multiprocessing
import pickle
import sys
import threading

import pytest

import dalembert as da
from dalembert.cached import cached_property
from dalembert.model import Mechanism
from test_package import SOURCE, files, parsed


class Counted:
    """Counts how often it is asked."""

    asked = 0

    @cached_property
    def value(self) -> list[int]:
        """What is kept."""
        self.asked += 1
        return [self.asked]


def test_a_value_is_computed_once_and_kept_in_the_instance():
    one = Counted()
    assert one.value is one.value
    assert one.asked == 1
    assert Counted.value.__doc__ == "What is kept."
    assert pickle.loads(pickle.dumps(one)).__dict__ == one.__dict__ == {"asked": 1, "value": [1]}


def test_threads_that_ask_at_the_same_time_get_the_same_object():
    meeting = threading.Barrier(4, timeout=20)

    class Met:
        @cached_property
        def value(self):
            meeting.wait()  # a lock would let them in one by one
            return object()

    met, found = Met(), []
    threads = [threading.Thread(target=lambda: found.append(met.value)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and len({id(x) for x in found}) == 1


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="fork is not for this system")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Python 3.12 and later warn of forks beside threads
def test_a_child_forked_while_a_thread_computes_a_property_can_compute_it(monkeypatch):
    slow, other = da.load("double_pendulum"), da.load("demo_arm")
    begun, over = threading.Event(), threading.Event()
    digest = Mechanism.__dict__["digest"]
    compute = digest.func

    def wait_and_compute(mechanism):
        if mechanism is slow:
            begun.set()
            over.wait(30)
        return compute(mechanism)

    monkeypatch.setattr(digest, "func", wait_and_compute)
    thread = threading.Thread(target=lambda: slow.digest)
    thread.start()
    begun.wait()
    context = multiprocessing.get_context("fork")
    child = context.Process(target=lambda: other.digest)
    child.start()
    child.join(10)
    hangs = child.is_alive()
    if hangs:
        child.kill()
        child.join()
    over.set()
    thread.join()
    assert not hangs and child.exitcode == 0


def test_no_module_uses_the_property_of_functools():
    wrong = []
    for path in files():
        for node in ast.walk(parsed(path)):
            named = {alias.name for alias in node.names} if isinstance(node, ast.ImportFrom) else set()
            worn = {ast.unparse(x) for x in getattr(node, "decorator_list", ())}
            if (named & {"cached_property"} and node.module == "functools") or "functools.cached_property" in worn:
                wrong.append(f"{path.relative_to(SOURCE)}:{node.lineno}")
    assert [place for place in wrong if not place.startswith("cached.py:")] == []
