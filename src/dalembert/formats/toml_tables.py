"""Checked access to the tables of a TOML description: types, expressions, unknown keys, lines for messages."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.algebra import scalar
from dalembert.algebra.arrays import Array
from dalembert.algebra.rotations import is_rotation
from dalembert.algebra.transform import Transform
from dalembert.errors import FormatError
from dalembert.formats.angles import RADIANS, TURN
from dalembert.formats.arithmetic import LARGEST
from dalembert.formats.dh import symmetric_tensor, tidy
from dalembert.formats.expression import evaluate, evaluate_exact, names
from dalembert.formats.problems import Problems, kept, together
from dalembert.formats.xml import TEXT, read_bytes
from dalembert.text.suggest import check_keys, hint


def parse(source: str | Path) -> tuple[dict[str, Any], str, str | Path]:
    """What TOML says, its text and the name of its file.

    Args:
        source: a path, or the TOML itself: a string of several lines.
    """
    import tomllib

    file: str | Path
    if isinstance(source, str) and "\n" in source:
        text, file = source, TEXT
    else:
        file = source
        try:
            text = read_bytes(source).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise FormatError(f"not UTF-8 text: {error}; save the file as UTF-8", file) from error
    try:
        return tomllib.loads(text), text, file
    except RecursionError:
        raise FormatError("arrays or tables are nested too deeply", file) from None
    except ValueError as error:  # includes tomllib.TOMLDecodeError
        place = re.search(r"\(at line (\d+), column \d+\)", str(error))
        raise FormatError(f"malformed TOML: {error}", file, int(place[1]) if place else None) from error


class SymbolFound(Exception):
    """An expression contains a symbol although the file was being read as one of numbers only."""


@dataclass
class Document:
    """How the numbers of one file are to be read.

    Args:
        file: for messages.
        text: the file's text, for line numbers.
        declared: names in the ``[parameters]`` table; None if there is no such table.
        values: the numbers that symbols stand for; None if they stay symbols.
        exact: read expressions exactly, with SymPy.
        positive: symbols that are known to be positive.
        notes: what was assumed.
        used: names found in expressions so far.
        doubts: what looks like a slip; told as warnings when the whole file has been read, and among the notes.
        coordinates: what formulas of the user's own may contain beside parameters, those of fields excepted: positions,
            velocities, t.
        problems: what is wrong, to be raised when the whole file has been read.
    """

    file: str | Path
    text: str
    declared: Mapping[str, float] | None
    values: Mapping[str, float] | None
    exact: bool
    positive: Collection[str] = ()
    notes: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    coordinates: set[str] = field(default_factory=set)
    problems: Problems = field(default_factory=Problems)

    def line(self, header: str, index: int) -> int | None:
        """Line of the ``index``-th (from 0) header ``[[header]]`` or ``[header]``; None if it is written otherwise."""
        pattern = re.compile(r"^[ \t]*\[{1,2}[ \t]*" + re.escape(header) + r"[ \t]*\]{1,2}", re.MULTILINE)
        for k, match in enumerate(pattern.finditer(self.text)):
            if k == index:
                return self.text.count("\n", 0, match.start()) + 1
        return None

    def scalar(self, value: Any) -> Any:
        """A number, or what an expression stands for."""
        if isinstance(value, str):
            used = names(value)
            self.used |= used
            if self.declared is not None:
                for name in sorted(used - set(self.declared)):
                    raise FormatError(f"{name!r} is not among the [parameters]{hint(name, sorted(self.declared))}")
            if self.values is not None:
                return evaluate(value, self.values)
            if used and not self.exact:
                raise SymbolFound
            return evaluate_exact(value, self.positive) if self.exact else evaluate(value)
        return plain_number(value)


def shown(value: Any) -> str:
    """A value for a message, not too long.

    Args:
        value: what TOML gave.
    """
    try:
        text = repr(value)
    except ValueError:  # Python refuses to print integers of thousands of digits
        return "a huge number"
    return text if len(text) <= 60 else text[:57] + "..."


def plain_number(value: Any, infinite: bool = False) -> int | float:
    """A finite TOML number of reasonable size.

    Args:
        value: what TOML gave.
        infinite: accept infinity.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise FormatError(f"expected a number or an expression in quotes, got {shown(value)}")
    if infinite and isinstance(value, float) and math.isinf(value):
        return value
    if not abs(value) <= LARGEST:
        raise FormatError(f"{shown(value)} is not a finite number of reasonable size")
    return value


class Table:
    """One table of the file; every access is checked and every problem says where it is.

    Reading goes on after a problem, with a stand-in: what was read counts only after ``document.problems.raise_all()``.

    Args:
        data: what TOML gave.
        where: how to call this table in messages.
        document: how to read its numbers.
        place: header and index by which its line is found, if it has a header of its own.
    """

    def __init__(self, data: Any, where: str, document: Document, place: tuple[str, int] | None = None):
        self.where, self.document, self.place = where, document, place
        if not isinstance(data, dict):
            raise self.error(f"expected a table, got {shown(data)}")
        self.data = data

    @property
    def line(self) -> int | None:
        """Line of its header, if known."""
        return self.document.line(*self.place) if self.place else None

    def error(self, message: str) -> FormatError:
        """A FormatError that points at this table."""
        return FormatError(f"{self.where}: {message}", self.document.file, self.line)

    @kept(None)
    def only(self, known: Iterable[str]) -> None:
        """Refuse unknown keys."""
        try:
            check_keys(self.data, known, self.where)
        except FormatError as error:
            raise FormatError(error.message, self.document.file, self.line) from None

    def tables(self, key: str, header: str = "") -> Iterator[Table]:
        """The tables of an array ``[[header]]``, or of an array inside this table."""
        array = self.data.get(key, [])
        problems = self.document.problems
        if not isinstance(array, list):
            problems.found.append(
                self.error(f"{key!r} is an array of tables{f'; write [[{header}]]' if header else ''}")
            )
            return
        for k, data in enumerate(array):
            name = data.get("name") if isinstance(data, dict) else None
            what = header or f"{self.where}, {key}"
            where = f"{what} {shown(name)}" if isinstance(name, str) else f"{what} number {k + 1}"
            place = (header, k) if header else self.place
            table = problems.attempt(partial(Table, data, where, self.document, place), None)
            if table is not None:
                yield table

    @kept(None)
    def table(self, key: str) -> Table | None:
        """A sub-table, or None."""
        if key not in self.data:
            return None
        return Table(self.data[key], f"{self.where}, {key}", self.document, self.place)

    @kept("?")
    def text(self, key: str, default: str | None = None) -> str:
        """A string; it must be there if there is no default."""
        if key not in self.data and default is not None:
            return default
        value = self.data.get(key)
        if value is None:
            raise self.error(f"{key!r} is missing")
        if not isinstance(value, str) or not value:
            raise self.error(f"{key!r} must be a text, got {shown(value)}")
        return value

    @kept(False)
    def truth(self, key: str, default: bool) -> bool:
        """true or false."""
        value = self.data.get(key, default)
        if not isinstance(value, bool):
            raise self.error(f"{key!r} must be true or false, got {shown(value)}")
        return value

    def _read(self, key: str, value: Any) -> Any:
        try:
            return self.document.scalar(value)
        except FormatError as error:
            raise self.error(f"{key}: {error.message}") from None

    @kept(0)
    def scalar(self, key: str, default: Any = 0) -> Any:
        """A number or expression."""
        return self._read(key, self.data[key]) if key in self.data else default

    @kept(0.0)
    def real(self, key: str, default: float, infinite: bool = False) -> float:
        """A plain number; expressions must not contain symbols."""
        return float(self._reals(key, [self.data.get(key, default)], infinite)[0])

    @kept(())
    def reals(self, key: str, default: tuple[float, ...]) -> tuple[float, ...]:
        """Several plain numbers."""
        value = self.data.get(key, list(default))
        if not isinstance(value, list):
            raise self.error(f"{key!r} must be an array of numbers, got {shown(value)}")
        return self._reals(key, value)

    def _reals(self, key: str, values: list[Any], infinite: bool = False) -> tuple[float, ...]:
        known = self.document.values or self.document.declared or {}
        try:
            self.document.used.update(*(names(x) for x in values if isinstance(x, str)))
            return tuple(evaluate(x, known) if isinstance(x, str) else float(plain_number(x, infinite)) for x in values)
        except FormatError as error:
            raise self.error(f"{key}: {error.message}") from None

    def at_defaults(self, key: str) -> Array | None:
        """The numbers of a vector or matrix with symbols at their default values; None if the file gives none."""
        if self.document.declared is None:
            return None
        written = np.array(self.data[key], dtype=object)
        return np.array(self._reals(key, list(written.flat))).reshape(written.shape)

    @kept((0, 0, 0))
    def vector(self, key: str, default: Any = (0, 0, 0)) -> list[Any]:
        """Three numbers or expressions."""
        return self._entries(key, self.data.get(key, list(default)), 3)

    def _entries(self, key: str, value: Any, count: int | None = None) -> list[Any]:
        if not isinstance(value, list) or (count is not None and len(value) != count):
            raise self.error(f"{key!r} must be an array of {count or 'some'} numbers, got {shown(value)}")
        return together(partial(self._read, key, x) for x in value)

    @kept(())
    def scalars(self, key: str) -> tuple[Any, ...]:
        """Any number of numbers or expressions."""
        return tuple(self._entries(key, self.data.get(key, [])))

    def _matrix(self, key: str, value: Any) -> list[list[Any]]:
        if not isinstance(value, list) or len(value) != 3:
            raise self.error(f"{key!r} must be a 3 x 3 matrix, got {shown(value)}")
        return [self._entries(key, row, 3) for row in value]

    @kept(np.zeros((3, 3)))
    def tensor(self, key: str) -> Any:
        """A symmetric tensor: 3 x 3, or xx, yy, zz, or xx, yy, zz, xy, xz, yz."""
        value = self.data.get(key)
        if value is None:
            return np.zeros((3, 3))
        if isinstance(value, list) and value and all(isinstance(row, list) for row in value):
            return self._matrix(key, value)
        entries = self._entries(key, value)
        try:
            return symmetric_tensor(entries)
        except FormatError as error:
            raise self.error(f"{key}: {error.message}") from None

    @kept(Transform.identity())
    def placement(self) -> Transform:
        """A pose from ``xyz`` and either ``rpy`` or ``rotation``."""
        xyz = np.array(self.vector("xyz"), dtype=object)
        if "rotation" not in self.data:
            angles = self.vector("rpy")
            if any(scalar.is_number(angle) and abs(angle) > TURN for angle in angles):
                self.document.doubts.append(
                    f"{self.where}: rpy = {shown(self.data['rpy'])} is more than a turn; {RADIANS}"
                )
            return tidy(Transform.from_rpy_xyz(np.array(angles, dtype=object), xyz))
        if "rpy" in self.data:
            raise self.error("'rpy' and 'rotation' say the same thing; keep one of them")
        pose = tidy(Transform(np.array(self._matrix("rotation", self.data["rotation"]), dtype=object), xyz))
        numbers = self.at_defaults("rotation") if pose.rotation.dtype == object else pose.rotation
        if numbers is not None and not is_rotation(numbers):
            raise self.error("'rotation' is not a rotation matrix (orthogonal, determinant +1)")
        return pose
