"""Attack the library for ten minutes: `make attack`. Prints what was tried, what became of it, and ends with 1 if
anything was wrong.

    python tests/attack/attack.py [--seconds 600] [--seed N] [--to FOLDER]

In turn: every input that ever failed is read again (replay.py); random calls and models made by grammar are compared
with an oracle of their own (meant.py); damaged inputs are made (fuzz.py); calls of the operating
system fail, processes are killed, the power fails (faults.py); kernels run between pages of memory that may not be
touched (guard.py); robots x quantities x methods x precisions are compared with Pinocchio (matrix.py). The cases are
those of the seed, by default that of the day: another sample every day. What fails is printed with the command or the
file that shows it again.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent

SHARES = {"replay": 0.05, "meant": 0.25, "fuzz": 0.2, "faults": 0.15, "guard": 0.15, "matrix": 0.2}
"""Of the time; the replay takes what it takes."""


def command(name: str, seconds: float, seed: int, to: Path) -> list[str]:
    """What runs a part for a time."""
    script = [sys.executable, str(HERE / f"{name}.py")]
    options = {
        "replay": [],
        "meant": ["--seconds", f"{seconds:.0f}", "--seed", str(seed)],
        "fuzz": ["--seconds", f"{seconds:.0f}", "--seed", str(seed), "--to", str(to)],
        "faults": ["--seconds", f"{seconds:.0f}", "--most", "12"],
        "guard": ["--seconds", f"{seconds:.0f}", "--seed", str(seed)],
        "matrix": ["--seconds", f"{seconds:.0f}", "--seed", str(seed)],
    }
    return script + options[name]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=int(time.time() // 86400), help="by default that of the day")
    parser.add_argument("--to", type=Path, default=Path("out/fuzz"), help="folder for new inputs that fail")
    options = parser.parse_args()
    lines, bad = [], False
    begin = time.monotonic()
    for name, share in SHARES.items():
        words = command(name, options.seconds * share, options.seed, options.to)
        print(f"$ {' '.join(words)}", flush=True)
        ended = subprocess.run(words, stdout=subprocess.PIPE, text=True)
        said = ended.stdout.splitlines()
        print("\n".join(said), flush=True)
        figures = [line for line in said if re.match(r"\d", line)] or [f"{name} ended with {ended.returncode}"]
        lines.append(f"  {name:8s}{'' if ended.returncode == 0 else 'FAILED: '}{figures[-1]}")
        bad |= ended.returncode != 0
    print(f"\nattack of {time.monotonic() - begin:.0f} s, seed {options.seed}", *lines, sep="\n")
    print("something is wrong: see above" if bad else "nothing is wrong")
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
