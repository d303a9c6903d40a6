"""Whether accepted calls mean what they say: random ``Dynamics`` against the oracle, and models made by grammar.

    python tests/attack/meant.py                            a minute, another one every day
    python tests/attack/meant.py --seconds 3600 --seed 5

Half of the time goes to calls: mechanisms of chance (every joint, mimics, couplings and loops, force elements, rotors
and friction, wrenches, parameters), settings, precisions and layouts of chance, every quantity with a meaning in
``tests/meaning.py``. The other half reads models that ``tests/grammar.py`` writes as URDF, MJCF, SDF and TOML; at least
half of each must be accepted, and what is accepted must be the mechanism that was meant. Seeds are printed with what is
wrong; one that is given with ``--only`` runs again.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))  # if this is called as a script

import grammar
import meaning
from dalembert.errors import DalembertError

SLICE = 10.0
"""Seconds for which a process works."""

QUANTITIES = 6
"""Of one mechanism."""


def calls(seed: list[int]) -> list[str]:
    """A line for every call: a word, and what is wrong."""
    rng = np.random.default_rng(seed)
    try:
        case = meaning.case(rng)
    except DalembertError as error:
        return [f"refused {error}"]
    names = [name for name in meaning.CHECKED if meaning.applies(case, name)]
    lines = []
    for name in rng.permutation(names)[:QUANTITIES]:
        try:
            wrong = meaning.check(case, str(name), rng)
            lines.append(f"WRONG {wrong}" if wrong else f"right {name}")
        except DalembertError as error:
            lines.append(f"refused {error}")
        except Exception:
            lines.append(f"RAW {name}: {case.words}: {traceback.format_exc()}")
    return lines


def model(form: str, seed: list[int]) -> list[str]:
    try:
        word, said = grammar.outcome(form, np.random.default_rng(seed))
    except Exception:
        word, said = "RAW", traceback.format_exc()
    return [f"{form}:{word} {said}"]


def work(turn: int, seed: int, seconds: float, pipe: int) -> None:
    """Half of the time calls, half of it models; what is wrong is told with its seed."""
    end, number = time.monotonic() + seconds, 0

    def tell(own: list[int], lines: list[str]) -> None:
        for line in lines:
            word = line.split(" ", 1)[0]
            said = f" of seed {own}: {line!r}" if word.rpartition(":")[2].isupper() else ""
            os.write(pipe, f"{word}{said}\n".encode())

    while (begin := time.monotonic()) < end:
        tell([seed, turn, number], calls([seed, turn, number]))
        spent, number = time.monotonic() - begin, number + 1
        while time.monotonic() - begin < 2 * spent:
            for form in grammar.WRITERS:
                tell([seed, turn, number], model(form, [seed, turn, number]))
            number += 1


def run(seconds: float, seed: int) -> tuple[str, list[str]]:
    """Figures in a line, and what went wrong."""
    end, turn, bad, count = time.monotonic() + seconds, 0, [], Counter[str]()
    while (left := end - time.monotonic()) > 0:
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            signal.alarm(int(SLICE) + 300)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # MuJoCo talks
            warnings.simplefilter("ignore")
            try:
                work(turn, seed, min(SLICE, left), write)
            except BaseException as error:
                os.write(write, f"ATTACK {type(error).__name__}: {error}\n".encode())
            finally:
                os._exit(0)
        os.close(write)
        with open(read, encoding="utf-8", errors="replace") as pipe:
            for line in pipe:
                word = line.split(" ", 1)[0].strip()
                count[word] += 1
                if word.rpartition(":")[2].isupper():
                    bad.append(line.strip())
                    print(bad[-1], flush=True)
        if os.WIFSIGNALED(status := os.waitpid(child, 0)[1]):
            bad.append(f"{signal.Signals(os.WTERMSIG(status)).name} in turn {turn} of seed {seed}")
            print(bad[-1], flush=True)
        turn += 1
    shares = []
    for form in grammar.WRITERS:
        own = {word: n for word, n in count.items() if word.startswith(f"{form}:")}
        total, accepted = sum(own.values()), own.get(f"{form}:accepted", 0)
        shares.append(f"{form} {accepted} of {total}")
        if 2 * accepted < total:
            bad.append(f"only {accepted} of {total} models of the grammar of {form} are accepted")
    words = ", ".join(f"{n} {word}" for word, n in sorted(count.items()) if ":" not in word)
    figures = sum(n for word, n in count.items() if ":" not in word)
    return f"{figures} calls compared with the oracle: {words}; models accepted: {', '.join(shares)}", bad


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=int(time.time() // 86400), help="by default that of the day")
    parser.add_argument("--only", type=int, nargs=3, help="the seed of one case")
    options = parser.parse_args()
    if options.only:
        lines = calls(options.only) + [x for form in grammar.WRITERS for x in model(form, options.only)]
        print("\n".join(lines))
        return any(line.split(" ")[0].rpartition(":")[2].isupper() for line in lines)
    figures, bad = run(options.seconds, options.seed)
    print(figures)
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
