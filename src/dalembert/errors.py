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

A message says what is wrong, where, why it matters and how to mend it. SimulationError and SweepError live in
:mod:`dalembert.simulation`, with what they keep.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


class DalembertError(Exception):
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
        message: what is wrong and how to mend it.
        file: where it was found, if it came from a file.
        line: 1-based line number, if known.
    """

    def __init__(self, message: str, file: str | Path | None = None, line: int | None = None):
        self.message, self.file, self.line = message, file, line
        place = "" if file is None else f"{file}:{line}: " if line else f"{file}: "
        super().__init__(place + message)

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


class ModelWarning(UserWarning):
    """A mechanism was read or written, but something in it is doubtful, was assumed or had to be left out."""


class SimulationWarning(UserWarning):
    """Motions were computed, but some did not stay finite, or something given was of no use to them."""


class IdentificationWarning(UserWarning):
    """Parameters were found, but signs, units or joints of the measurements may be wrong."""
