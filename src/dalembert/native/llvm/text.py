"""A little help in writing LLVM IR as text."""

from __future__ import annotations


def comment(text: str) -> str:
    """A line that LLVM skips, whatever characters names have in it."""
    return "; " + text.encode("ascii", "backslashreplace").decode().translate(_CONTROL) + "\n"


_CONTROL = dict.fromkeys((*range(32), 127), "?")


class Block:
    """Instructions in the making: calling it with the right-hand side of an assignment gives the new register.

    Args:
        prefix: beginning of all register names, to keep blocks of one function apart.
    """

    def __init__(self, prefix: str = "t"):
        self.prefix = prefix
        self.lines: list[str] = []
        self.count = 0

    def __call__(self, instruction: str) -> str:
        self.count += 1
        name = f"%{self.prefix}{self.count}"
        self.lines.append(f"  {name} = {instruction}")
        return name

    def do(self, instruction: str) -> None:
        """Add an instruction that gives no value, or a label."""
        self.lines.append(instruction if instruction.endswith(":") else f"  {instruction}")

    def __str__(self) -> str:
        return "\n".join(self.lines)
