"""The code blocks of the manual: found, run one after the other in one namespace, and their output kept up to date.

    python docs/hooks/blocks.py [PAGE ...]        run pages and rewrite the output they show
    python docs/hooks/blocks.py --varying         also output that is marked as varying

A ``text`` block that follows a block of Python or shell is what that block prints. Comments before a block say what is
different about it:

    <!-- no-run: reason -->        the block is shown only
    <!-- needs: package -->        the block runs where the package works: cupy, mujoco, pinocchio, ...
    <!-- varies: reason -->        the output shown is not compared
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

DOCS = Path(__file__).parents[1]
FENCE = re.compile(r"((?:^<!--[^\n]*-->\n+)*)^```(?: \{ \.)?(\w*)(?: [^\n]*)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = re.compile(r"<!-- (no-run|needs|varies): (.+?) -->")
ELSEWHERE = ("", "cd", "git", "make", "pip", "python")
"""Programs of shell blocks that are not run here."""


class Block(NamedTuple):
    """A fenced block: its language, its content and where that lies in the page, and the comments before it."""

    language: str
    source: str
    span: tuple[int, int]
    marks: dict[str, str]
    line: int


class Outcome(NamedTuple):
    """A block that ran, what it printed, and the block that tells what it prints, if there is one."""

    block: Block
    printed: str
    told: Block | None

    @property
    def differs(self) -> bool:
        """Whether the page shows something else than what was printed."""
        return self.changed and "varies" not in self.told.marks

    @property
    def changed(self) -> bool:
        """The same, though the output may vary."""
        return self.told is not None and self.told.source.rstrip() != self.printed.rstrip()


def pages() -> list[str]:
    """Every page that is written by hand, below docs/."""
    return sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


def blocks(text: str) -> list[Block]:
    """Every fenced block of a page, in order.

    Args:
        text: of the page.
    """
    return [
        Block(match[2], match[3], match.span(3), dict(MARK.findall(match[1])), text[: match.start(2)].count("\n") + 1)
        for match in FENCE.finditer(text)
    ]


def missing(package: str) -> str:
    """Why a package cannot be used here; empty if it can.

    Args:
        package: name of an import.
    """
    whole = package.partition(".")[0]
    if importlib.util.find_spec(whole) is None or importlib.util.find_spec(package) is None:
        return f"{package} is not installed"
    if package == "cupy":
        import cupy

        try:
            cupy.cuda.runtime.getDeviceCount()
        except cupy.cuda.runtime.CUDARuntimeError:
            return "there is no CUDA device"
    return ""


def run_shell(source: str) -> None:
    """Run the lines that call this library's program, in this process.

    Args:
        source: of a shell block.
    """
    from dalembert.cli.application import main

    for line in source.splitlines():
        program, *arguments = shlex.split(line, comments=True) or [""]
        if program != "dalembert" and program not in ELSEWHERE:
            raise ValueError(f"unknown program in the manual: {line}")
        if program == "dalembert" and (code := main(arguments)):
            raise RuntimeError(f"{line}: exit code {code}")


def run_page(page: str) -> tuple[list[Outcome], list[str]]:
    """Run a page in the current folder: what ran, and why other blocks did not.

    Args:
        page: path below docs/.
    """
    found = blocks((DOCS / page).read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "__main__"}
    ran, skipped = [], []
    for block, following in zip(found, [*found[1:], None]):
        if block.language not in ("python", "sh") or "no-run" in block.marks:
            continue
        if reason := missing(block.marks["needs"]) if "needs" in block.marks else "":
            skipped.append(f"{page}:{block.line}: {reason}")
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            if block.language == "sh":
                run_shell(block.source)
            else:
                exec(compile("\n" * block.line + block.source, str(DOCS / page), "exec"), names)  # our own text
        told = following if following is not None and following.language == "text" else None
        ran.append(Outcome(block, printed.getvalue(), told))
    return ran, skipped


def refresh(page: str, varying: bool = False) -> int:
    """Rewrite the output a page shows; returns how many blocks changed.

    Args:
        page: path below docs/.
        varying: also output that may vary.
    """
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        ran, _ = run_page(page)
    path = DOCS / page
    text = path.read_text(encoding="utf-8")
    changed = [outcome for outcome in ran if (outcome.changed if varying else outcome.differs)]
    for outcome in reversed(changed):
        assert outcome.told is not None
        start, stop = outcome.told.span
        text = text[:start] + outcome.printed.rstrip() + "\n" + text[stop:]
    path.write_text(text, encoding="utf-8")
    return len(changed)


if __name__ == "__main__":
    os.environ["COLUMNS"] = "120"
    chosen = [name for name in sys.argv[1:] if name != "--varying"]
    for name in chosen or pages():
        print(f"{name}: {refresh(name, '--varying' in sys.argv)} blocks rewritten")
