"""What holds while something is traced."""

import gc

import pytest

from dalembert.native.deferred import uncollected


@pytest.mark.parametrize("collects", [True, False])
def test_the_garbage_collector_rests_and_is_as_it_was_afterwards(collects):
    before = gc.isenabled()
    (gc.enable if collects else gc.disable)()
    try:
        with pytest.raises(ZeroDivisionError), uncollected():
            with uncollected():
                assert not gc.isenabled()
            assert not gc.isenabled()
            raise ZeroDivisionError
        assert gc.isenabled() == collects
    finally:
        (gc.enable if before else gc.disable)()
