"""New damages of everything that can be read, for a while: each ends in an error of the library or in what works.

    python tests/attack/fuzz.py                            a minute, another one every day
    python tests/attack/fuzz.py --seconds 3600 --seed 5 --kinds .urdf .npz

The corpus of replay.py and the robots of the package are damaged: bytes, numbers, words, lines, elements, arrays of an
archive; expressions and command lines are made from scratch. What must hold of the outcome is written in replay.py.
Inputs run in a process of their own, many one after the other; one that fails, or ends the process, is kept in a folder
that is named in the end. To guard against it for ever, put it into the right folder of ``inputs``.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))  # if this is called as a script

import replay

from dalembert.formats.catalogue import PACKAGED
from dalembert.model.expression import FUNCTIONS
from mutations import NASTY, PARTS, ZOO, mutate, rearrange

SLICE = 5.0
"""Seconds for which a process works on one kind."""


def seeds(suffix: str) -> tuple[list[bytes], list[bytes]]:
    """Inputs to begin with: what can be read, and what is damaged as it is."""
    own = [ZOO.encode()] if suffix == ".urdf" else [PARTS.encode()] if suffix == ".toml" else []
    own += [path.read_bytes() for path in sorted(PACKAGED.glob(f"*{suffix}"))]
    corpus = [path for path in replay.inputs() if path.suffix == suffix]
    bad = [path.read_bytes() for path in corpus if path.parent.name == "refused"]
    good = own + [path.read_bytes() for path in corpus if path.parent.name != "refused"]
    return good, bad or good


def damaged_text(content: bytes, rng: random.Random) -> bytes:
    text = content.decode("utf-8", "replace")
    damage = rng.choice((mutate, rearrange) if text.lstrip()[:1] == "<" else (mutate,))
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        text = damage(text, rng)
    return text.encode("utf-8", "surrogateescape")


def damaged_bytes(content: bytes, rng: random.Random) -> bytes:
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 5))):
        place = rng.randrange(len(data) + 1)
        match rng.randrange(4):
            case 0 if place < len(data):
                data[place] ^= 1 << rng.randrange(8)
            case 1:
                del data[place : place + rng.randrange(1, 20)]
            case 2:
                data[place:place] = data[: rng.randrange(20)]
            case _ if place < len(data):
                data[place : place + 4] = rng.choice((b"\xff\xff\xff\xff", b"\0\0\0\0", b"\0\0\xc0\x7f"))
    return bytes(data)


def damaged_archive(content: bytes, rng: random.Random) -> bytes:
    """Bytes of it, or its arrays: their sizes, kinds, numbers, names."""
    if rng.random() < 0.3:
        return damaged_bytes(content, rng)
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = dict(file)
    except Exception:  # it is damaged too much for that
        return damaged_bytes(content, rng)
    name = rng.choice(sorted(arrays))
    array = arrays[name]
    match rng.randrange(8):
        case 0:
            del arrays[name]
        case 1:
            arrays[name] = array[: rng.randrange(3)] if array.ndim else array
        case 2:
            arrays[name] = array.astype(rng.choice(("f4", "i8", "U8", "c16", "?")), casting="unsafe") if (
                array.dtype.kind in "fi"
            ) else np.array(rng.choice(NASTY))  # fmt: skip
        case 3 if array.dtype.kind == "f" and array.size:
            array.flat[rng.randrange(array.size)] = rng.choice((np.nan, np.inf, 1e300, -1.0, 0.0))
        case 4:
            arrays[name] = array.T if array.ndim > 1 else array[..., None]
        case 5:
            arrays[name] = arrays[rng.choice(sorted(arrays))]
        case 6 if array.dtype.kind == "U" and array.ndim == 0:
            arrays[name] = np.array(mutate(str(array), rng))
        case _:
            arrays[rng.choice((*sorted(arrays), "more"))] = np.zeros(rng.choice(((), (0,), (3, 0), (2, 2, 2))))
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def expression(_: bytes, rng: random.Random) -> bytes:
    """One of the grammar, sometimes damaged."""

    def part(depth: int) -> str:
        kind = rng.random()
        if depth == 0 or kind < 0.15:
            return rng.choice(("a", "b", "x1", "pi", "2", "1/3", "0.5", "64", "1e-3", "-1", "12345678901234567", "0"))
        if kind < 0.45:
            function = rng.choice(FUNCTIONS)
            return f"{function}({', '.join(part(depth - 1) for _ in range(1 + (function == 'atan2')))})"
        if kind < 0.6:
            return f"({part(depth - 1)})**({rng.choice(('2', '1/2', '-1', '64', '-64', '0.5', '1/3', 'pi', '1/64'))})"
        return f"({part(depth - 1)}{rng.choice('+-*/')}{part(depth - 1)})"

    text = part(rng.randrange(1, 8))
    return (mutate(text, rng) if rng.random() < 0.2 else text).encode("utf-8", "replace")


def dh_table(_: bytes, rng: random.Random) -> bytes:
    odd = ("nan", "1e999", None, "", [], {}, True, 1e300, -0.0, "pi/2", "a", 10**30)
    row = lambda: [  # noqa: E731
        rng.choice(odd) if rng.random() < 0.03 else rng.choice((0, rng.gauss(0, 1), 1.5707963267948966))
        for _ in range(4 if rng.random() < 0.97 else rng.randrange(8))
    ]
    return json.dumps([row() for _ in range(rng.randrange(6))]).encode()


COMMANDS = ("show", "cost", "simulate", "linearize", "reach", "export", "compare", "derive", "verify", "help", "")
MODELS = ("double_pendulum", "cart_pole", "four_bar", "free_body", "demo_arm", "rp_arm", "nothing.urdf", "/dev/null")
OPTIONS = (
    "--set", "--base", "--q", "--v", "--include", "--elements", "--time", "--method", "--step", "--samples", "--frame",
    "--quantity", "--coordinates", "--json", "--matrices", "--trim", "--keep", "--actuated", "--states", "--tolerance",
    "--help", "--", "--frames", "--tree", "--control", "--seed",
)  # fmt: skip
VALUES = ("fixed", "free", "0.1", "0.1,0.2", "g=9.8", "tip", "gravity", "rk4", "ZYX", "3", "-1", "hinge=30deg", *NASTY)


def command_line(_: bytes, rng: random.Random) -> bytes:
    """A short command: motions are a tenth of a second at most."""
    words = [rng.choice(COMMANDS), rng.choice(MODELS)]
    for _ in range(rng.randrange(5)):
        option, value = rng.choice(OPTIONS), rng.choice(VALUES)
        words += rng.choice(([option, value], [f"{option}={value}"], [option], [value]))
    if words[0] == "simulate":
        words += ["--time", "0.1"]
    words = [word.replace("\n", " ").replace("\0", " ") for word in words]
    return "\n".join(words).encode("utf-8", "replace")


def mesh(content: bytes, rng: random.Random) -> bytes:
    return rng.choice((damaged_text, damaged_bytes))(content, rng)


DAMAGES: dict[str, Callable[[bytes, random.Random], bytes]] = {
    **dict.fromkeys((".urdf", ".xml", ".toml", ".sdf", ".xacro", ".srdf", ".csv", ".certificate"), damaged_text),
    ".mcap": damaged_bytes,
    ".expr": expression, ".dh": dh_table, ".args": command_line, ".npz": damaged_archive,
    **dict.fromkeys((".stl", ".obj", ".dae"), mesh),
}  # fmt: skip
"""By suffix."""


def work(suffix: str, seed: str, folder: Path, seconds: float, pipe: int) -> None:
    """Try inputs of a kind; what fails stays in the folder. Words go to the pipe, a line for each input."""
    rng, (good, bad), end = random.Random(seed), seeds(suffix), time.monotonic() + seconds
    number = 0
    while time.monotonic() < end:
        path = folder / f"{seed}-{number}{suffix}"
        number += 1
        path.write_bytes(DAMAGES[suffix](rng.choice(good if rng.random() < 0.8 else bad), rng))
        word, said = replay.outcome(path)
        if word.isupper():
            os.write(pipe, f"{word} {path.name}: {said[:200]!r}\n".encode())
        else:
            os.write(pipe, f"{word}\n".encode())
            path.unlink()


def run(kinds: list[str], seconds: float, seed: int, folder: Path) -> tuple[str, list[str]]:
    """Figures in a line, and what went wrong."""
    folder.mkdir(parents=True, exist_ok=True)
    end, turn, bad = time.monotonic() + seconds, 0, []
    count: dict[str, Counter[str]] = {kind: Counter() for kind in kinds}
    while (left := end - time.monotonic()) > 0:
        kind = kinds[turn % len(kinds)]
        name, turn = f"{seed}-{turn}", turn + 1
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            signal.alarm(int(SLICE) + 120)  # what hangs outside Python
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # MuJoCo talks
            try:
                work(kind, name, folder, min(SLICE, left), write)
            except BaseException as error:
                os.write(write, f"ATTACK: {type(error).__name__}: {error} at {kind}\n".encode())
            finally:
                os._exit(0)
        os.close(write)
        with open(read, encoding="utf-8", errors="replace") as pipe:
            for line in pipe:
                word = line.split(" ", 1)[0].strip()
                count[kind][word] += 1
                if word.isupper():
                    bad.append(line.strip())
                    print(bad[-1], flush=True)
        status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status):
            count[kind]["ABORT"] += 1
            bad.append(f"{signal.Signals(os.WTERMSIG(status)).name} by {folder}/{name}-*{kind}")
            print(bad[-1], flush=True)
    words = "; ".join(
        f"{kind} {found.total()} ({', '.join(f'{n} {word}' for word, n in sorted(found.items()))})"
        for kind, found in count.items()
    )
    return f"{sum(found.total() for found in count.values())} new inputs: {words}", bad


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=int(time.time() // 86400), help="by default that of the day")
    parser.add_argument("--kinds", nargs="*", choices=list(DAMAGES), default=list(DAMAGES))
    parser.add_argument("--to", type=Path, default=Path("out/fuzz"), help="folder for what fails")
    options = parser.parse_args()
    figures, bad = run(options.kinds, options.seconds, options.seed, options.to)
    print(figures)
    if bad:
        print(f"inputs that failed are in {options.to}")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
