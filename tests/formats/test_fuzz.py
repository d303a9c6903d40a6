"""Thousands of damaged files: the only outcomes are a mechanism that works or an error of our own."""

import random
import warnings
from collections import Counter

import pytest

from dalembert.errors import DalembertError, ModelWarning
from dalembert.formats import read_toml, read_urdf
from dalembert.formats.catalogue import PACKAGED
from dalembert.model import Mechanism
from mutations import PARTS, ZOO, mutate, rearrange


def outcome(read, source) -> str:
    """What came of it; anything but a working mechanism or an error of ours fails the test."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", ModelWarning)
        try:
            mechanism = read(source)
        except DalembertError as error:
            assert str(error)
            return type(error).__name__
        assert isinstance(mechanism, Mechanism)
        mechanism.problems()
        assert len(mechanism.tree.carriers) == len(mechanism.bodies) + 1
        return "Mechanism"


def run(read, seeds, count, seed, encode=False, damages=(mutate,)) -> Counter[str]:
    rng = random.Random(seed)
    found: Counter[str] = Counter()
    for _ in range(count):
        text = rng.choice(seeds)
        damage = rng.choice(damages)
        for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
            text = damage(text, rng)
        source = text
        if encode:
            source = bytearray(text.encode("utf-8", "replace"))
            for _ in range(rng.randrange(3) if source else 0):
                source[rng.randrange(len(source))] = rng.randrange(256)
            source = bytes(source)
        try:
            found[outcome(read, source)] += 1
        except BaseException:
            print(f"the text that did it:\n{source!r}")
            raise
    return found


def packaged(suffix: str) -> list[str]:
    return [path.read_text() for path in sorted(PACKAGED.glob(f"*{suffix}"))]


@pytest.mark.parametrize("base", ["fixed", "free"])
def test_damaged_urdf(base):
    def read(text):
        return read_urdf(text if text.lstrip("\ufeff \t\r\n").startswith("<") else f"<{text}", base)

    found = run(read, [ZOO, *packaged(".urdf")], 2000, seed=base, damages=(mutate, rearrange))
    assert found["Mechanism"] > 200 and found["FormatError"] > 200, found


def test_damaged_urdf_bytes():
    found = run(read_urdf, [ZOO, *packaged(".urdf")], 2000, seed=1, encode=True, damages=(rearrange,))
    assert found["Mechanism"] > 50 and found["FormatError"] > 200, found


def test_damaged_toml():
    found = run(lambda text: read_toml(text + "\n"), [PARTS, *packaged(".toml")], 3000, seed=2)
    assert found["Mechanism"] > 200 and found["FormatError"] > 200 and found["ValidationError"] > 20, found


def test_damaged_toml_with_values():
    found = run(lambda text: read_toml(text + "\n", parameters="default"), [PARTS, *packaged(".toml")], 2000, seed=3)
    assert found["Mechanism"] > 200 and found["FormatError"] > 200, found
