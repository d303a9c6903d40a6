"""Every exception of dalembert, one tree.

    DalembertError
    ├── ModelError (ValueError)          a mechanism, or a part of one, makes no sense
    │   └── ValidationError              several problems of one mechanism, collected; see ``.problems``
    ├── FormatError (ValueError)         a file or table cannot be read; knows file and line
    ├── ArgumentError (ValueError)       a call got a wrong name, shape, dtype or value
    ├── SingularityError (ArithmeticError)   the answer does not exist here: gimbal lock, rank loss, ...
    ├── UnsupportedError (NotImplementedError)  the request is meaningful but this route cannot serve it
    ├── TracingError (RuntimeError)      while tracing, code asks for the value of a scalar that has none yet
    ├── CompilerError (RuntimeError)     code generation or compilation failed
    ├── DeviceError (RuntimeError)       there is no CUDA device, or its memory is full
    ├── SimulationError (RuntimeError)   a motion cannot be continued; knows time, state and what was computed
    ├── SweepError (RuntimeError)        pieces of a sweep failed; the others are kept
    └── MissingExtraError (ImportError)  an optional dependency is needed; says which and how to get it

and warnings,

    ModelWarning (UserWarning)           a file was read, but something in it is doubtful or was assumed
    SimulationWarning (UserWarning)      motions were computed, but some of them left the finite numbers
    IdentificationWarning (UserWarning)  parameters were found, but signs, units or joints of the record may be wrong

The KeyboardInterrupt of Ctrl-C in a motion or a sweep keeps what was computed, in ``partial``.

A message says what is wrong, where, why it matters and what to do. These are fields, put together when somebody asks
for the text: the command line calls arguments by its own options. SimulationError and SweepError live in
:mod:`dalembert.simulation`, with what they keep.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

CALLS = {"base": "da.with_base(mechanism, {})", "gravity": "da.with_gravity(mechanism, {})"}
"""What is changed by a call, and not by an argument of the call that failed."""


class Wording:
    """How messages call arguments: as Python does. A front end with other names for them derives from it."""

    def argument(self, name: str) -> str:
        """The name of an argument, for ``{argument}`` in a message."""
        return name

    def setting(self, name: str, value: Any) -> str:
        """An argument with the value it has or should get, for ``{setting}`` in a message."""
        return CALLS.get(name, f"{name}={{}}").format("" if value is None else repr(value))

    def remedy(self, name: str, text: str) -> str:
        """What to do about that argument; empty for a remedy that is out of reach."""
        return text


PYTHON = Wording()


class Message(Exception):
    """What errors and warnings have in common: their fields, and the text made of them.

    Args:
        message: what is wrong and why it matters; in it ``{argument}`` stands for the argument and ``{setting}`` for
            the argument with its value.
        argument: the argument at fault, or the one that helps.
        value: what it was, or what it should be.
        where: body, joint, file and line.
        remedy: what to do; may have the same placeholders.
    """

    def __init__(self, message: str = "", *, argument: str = "", value: Any = None, where: str = "", remedy: str = ""):
        super().__init__(message)
        self._message, self.advice = message, remedy
        self.argument, self.value, self.where = argument, value, where

    @property
    def message(self) -> str:
        """What is wrong, in the words of Python."""
        return worded(self._message, self.argument, self.value)

    @property
    def remedy(self) -> str:
        """What to do, in the words of Python."""
        return worded(self.advice, self.argument, self.value)

    def __str__(self) -> str:
        return self.said(PYTHON)

    def said(self, wording: Wording) -> str:
        """The text, in the words of a front end."""
        remedy = wording.remedy(self.argument, self.advice) if self.advice else ""
        text = (f"{self.where}: " if self.where else "") + self._message
        if remedy:
            text += (" " if text.endswith((".", "?")) else "; ") + remedy
        return worded(text, self.argument, self.value, wording)


def worded(text: str, argument: str, value: Any, wording: Wording = PYTHON) -> str:
    """A text with an argument, as a front end calls it, in the place of ``{argument}`` and ``{setting}``."""
    if not argument:
        return text
    text = text.replace("{setting}", wording.setting(argument, value))
    return text.replace("{argument}", wording.argument(argument))


class DalembertError(Message):
    """Base of all errors raised on purpose by dalembert."""


class ModelError(DalembertError, ValueError):
    """A mechanism, or a part of one, makes no sense."""


class ValidationError(ModelError):
    """All problems found in one mechanism.

    Args:
        subject: what was validated, for the headline.
        problems: one sentence per problem.
    """

    def __init__(self, subject: str, problems: Iterable[str]):
        self.subject = subject
        self.problems = tuple(problems)
        count = len(self.problems)
        headline = f"{subject}: {count} problem{'s' if count != 1 else ''}"
        super().__init__("\n".join([headline, *(f"  - {problem}" for problem in self.problems)]))

    def __reduce__(self):
        return type(self), (self.subject, self.problems)


class FormatError(DalembertError, ValueError):
    """A file or table cannot be read.

    Args:
        message: what is wrong and what to do.
        file: where it was found, if it came from a file.
        line: 1-based line number, if known.
        fields: those of every error.
    """

    def __init__(self, message: str, file: str | Path | None = None, line: int | None = None, **fields: Any):
        self.file, self.line = file, line
        super().__init__(message, where="" if file is None else f"{file}:{line}" if line else str(file), **fields)

    def __reduce__(self):
        return type(self), (self.message, self.file, self.line)


class ArgumentError(DalembertError, ValueError):
    """A call got a wrong name, shape, dtype or value."""


class SingularityError(DalembertError, ArithmeticError):
    """The answer does not exist at this configuration."""


class UnsupportedError(DalembertError, NotImplementedError):
    """The request is meaningful, but this route cannot serve it."""


class TracingError(DalembertError, RuntimeError):
    """While tracing, code asks for the value of a scalar that has none yet: whether it holds, which float it is.

    It is a slip in the code that is traced, no route that does not suit: what tries several routes passes it on.
    """


class CompilerError(DalembertError, RuntimeError):
    """Code generation or compilation failed."""


class DeviceError(DalembertError, RuntimeError):
    """There is no CUDA device, or its memory is full."""


class MissingExtraError(DalembertError, ImportError):
    """An optional dependency is needed.

    Args:
        package: the missing import.
        extra: the extra of dalembert that brings it.
        purpose: what it is needed for.
    """

    def __init__(self, package: str, extra: str, purpose: str):
        self.package, self.extra, self.purpose = package, extra, purpose
        super().__init__(f"{purpose} needs the package {package!r}: pip install 'dalembert[{extra}]'")

    def __reduce__(self):
        return type(self), (self.package, self.extra, self.purpose)


class ModelWarning(Message, UserWarning):
    """A mechanism was read or written, but something in it is doubtful, was assumed or had to be left out."""


class SimulationWarning(Message, UserWarning):
    """Motions were computed, but some did not stay finite, or something given was of no use to them."""


class IdentificationWarning(Message, UserWarning):
    """Parameters were found, but signs, units or joints of the measurements may be wrong."""
