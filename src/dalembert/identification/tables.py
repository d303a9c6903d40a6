"""Tables of recorded numbers: CSV, Parquet and MCAP as columns by name."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, FormatError, MissingExtraError
from dalembert.formats.xml import read_bytes
from dalembert.text.suggest import hint

COMMENTS = ("#", "%", "//")
"""What lines of remarks begin with."""

BRACKETED = re.compile(r"\s*[\[(]\s*([^\[\]()]*[^\[\]()\d\s][^\[\]()]*)\s*[\])]\s*$")
"""A unit behind the name of a column: ``pos [deg]``, ``effort (N m)``; not an index, ``q[0]``."""


@dataclass(frozen=True, eq=False)
class LogTable:
    """Columns of numbers, and what was noticed while they were read.

    Args:
        columns: by name, all of the same length; entries that are missing are NaN.
        units: by name of the column, as the file gives them.
        notes: what was noticed, in words.
    """

    columns: dict[str, np.ndarray]
    units: dict[str, str]
    notes: tuple[str, ...] = ()


def read_table(path: Path, topic: str | None = None) -> LogTable:
    """The columns of a file, by its suffix.

    Args:
        path: ``.csv``, ``.tsv``, ``.txt``, ``.parquet`` or ``.mcap``.
        topic: of an MCAP file with several.
    """
    readers: dict[str, Callable[[Path, str | None], LogTable]] = {
        ".csv": _read_text, ".tsv": _read_text, ".txt": _read_text, ".log": _read_text, ".dat": _read_text,
        ".parquet": _read_parquet, ".mcap": _read_mcap,
    }  # fmt: skip
    suffix = path.suffix.lower()
    if path.is_dir():
        raise FormatError("this is a folder; name the file in it", path)
    if not path.is_file():
        raise FormatError("there is no such file", path)
    if suffix not in readers:
        raise FormatError(
            f"logs are read from {', '.join(readers)}, not from {suffix or 'a file without suffix'!r}", path
        )
    return readers[suffix](path, topic)


# ------------------------------------------------------------------------------------------------------------------ CSV


def _read_text(path: Path, topic: str | None) -> LogTable:
    text = read_bytes(path).decode("utf-8-sig", "replace")
    lines = [(k, line) for k, line in enumerate(text.splitlines(), 1) if line.strip()]
    remarks = [line for _, line in lines if line.lstrip().startswith(COMMENTS)]
    lines = [(k, line) for k, line in lines if not line.lstrip().startswith(COMMENTS)]
    if not lines:
        raise FormatError("the file has no rows", path)
    separator = _separator([line for _, line in lines[:20]])
    commas = separator == ";" and not any("." in line for _, line in lines[1:20])  # decimal commas

    def split(line: str) -> list[str]:
        cells = line.split() if separator == " " else next(csv.reader([line], delimiter=separator))
        return [cell.strip() for cell in cells]

    notes = []
    first = split(lines[0][1])
    if headed := not all(_is_number(cell, commas) for cell in first):
        titles, lines = first, lines[1:]
    elif remarks and len(found := split(remarks[-1].lstrip("#%/ "))) == len(first):
        titles = found
        notes.append("the names of the columns are those of the last remark above the numbers")
    else:
        titles = [str(k) for k in range(len(first))]
        notes.append("the file does not name its columns; they are called '0', '1', ...")
    units = {}
    if headed and lines and not any(_is_number(cell, commas) for cell in split(lines[0][1])):
        units = {title: unit for title, unit in zip(titles, split(lines[0][1])) if unit}
        lines = lines[1:]
    names, own = _bare(titles)
    units = {names[titles.index(title)]: unit for title, unit in units.items()} | own
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise FormatError(f"two columns are called {twice!r}", path)
    table = np.empty((len(lines), len(names)))
    for row, (number, line) in enumerate(lines):
        cells = split(line)
        if len(cells) != len(names):
            if row == len(lines) - 1:  # the recorder was stopped while it wrote
                notes.append(f"line {number}, the last one, is incomplete and left out")
                table = table[:row]
                break
            raise FormatError(f"there are {len(cells)} entries, but {len(names)} columns", path, number)
        table[row] = [_number(cell, commas) for cell in cells]
    if not len(table):
        raise FormatError("the file names columns, but has no rows of numbers", path)
    return LogTable({name: table[:, k].copy() for k, name in enumerate(names)}, units, tuple(notes))


def _separator(lines: list[str]) -> str:
    """What stands between entries: what all lines have equally often, and most of."""
    counts = {mark: [line.count(mark) for line in lines] for mark in (";", "\t", ",")}
    even = {mark: most[-1] for mark, most in counts.items() if min(most) > 0 and len({*most[1:-1]}) <= 1}
    if ";" in even:
        return ";"
    return max(even, key=even.__getitem__, default=" ")


def _number(cell: str, commas: bool = False) -> float:
    try:
        return float(cell.replace(",", ".") if commas else cell)
    except ValueError:
        return {"true": 1.0, "false": 0.0}.get(cell.lower(), math.nan)


def _is_number(cell: str, commas: bool) -> bool:
    return not math.isnan(_number(cell, commas)) or cell.lower() in ("", "nan")


def _bare(titles: list[str]) -> tuple[list[str], dict[str, str]]:
    """Names of columns without the units behind them, and these."""
    names, units = [], {}
    for title in titles:
        match = BRACKETED.search(title)
        name = title[: match.start()].strip() if match else title
        if match and name:
            units[name] = match[1].strip()
        names.append(name or title)
    return names, units


# -------------------------------------------------------------------------------------------------------------- Parquet


def _read_parquet(path: Path, topic: str | None) -> LogTable:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError("pyarrow", "logs", "reading Parquet") from error
    try:
        table = parquet.read_table(path)
        titles, found, left_out = [], [], []
        for title, column in zip(table.column_names, (column.to_numpy() for column in table.columns)):
            unit = ""
            if column.dtype.kind in "mM":  # times of day, in nanoseconds since 1970 as others have them
                kind = "datetime64[ns]" if column.dtype.kind == "M" else "timedelta64[ns]"
                column, unit = column.astype(kind).astype(np.int64), " [ns]"
            try:
                found.append(np.asarray(column, dtype=float))
                titles.append(f"{title}{unit}")
            except (TypeError, ValueError):
                left_out.append(title)
    except Exception as error:  # pyarrow has exceptions of its own for what is damaged
        raise FormatError(f"not a valid Parquet file: {error or type(error).__name__}", path) from error
    names, units = _bare(titles)
    if twice := [name for name in names if names.count(name) > 1]:
        raise FormatError(f"two columns are called {twice[0]!r}", path)
    notes = (f"columns without numbers: {', '.join(left_out)}",) if left_out else ()
    return LogTable(dict(zip(names, found)), units, notes)


# ----------------------------------------------------------------------------------------------------------------- MCAP


def _read_mcap(path: Path, topic: str | None) -> LogTable:
    """The messages of one topic: numbers by their path, ``position[0]``; arrays beside a list ``name``, as those of
    ROS's JointState, by it, ``position.elbow``; and ``t``, from the stamp of the header or else the time of the log.
    """
    try:
        from mcap.reader import make_reader
    except ImportError as error:
        raise MissingExtraError("mcap", "logs", "reading MCAP") from error
    rows: list[dict[str, float]] = []
    try:
        with open(path, "rb") as file:
            reader = make_reader(file, decoder_factories=_decoders())
            summary = reader.get_summary()
            topics = sorted({channel.topic for channel in summary.channels.values()}) if summary else []
            chosen = _topic(path, topics, topic)
            for _, channel, message, content in reader.iter_decoded_messages(topics=[chosen]):
                del channel
                rows.append({"log_time": message.log_time * 1e-9, **dict(_flat("", content))})
    except DalembertError:
        raise
    except Exception as error:  # readers of records, of messages and of what is compressed raise their own
        raise FormatError(f"this MCAP file cannot be read: {error or type(error).__name__}", path) from error
    if not rows:
        raise FormatError(f"the topic {chosen!r} has no messages", path)
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: np.array([row.get(name, math.nan) for row in rows]) for name in names}
    stamps = [name for name in names if name.endswith(("stamp.sec", "stamp.nanosec"))]
    notes = [f"topic {chosen!r}, {len(rows)} messages"]
    if len(stamps) == 2:
        seconds, fraction = sorted(stamps, key=lambda name: name.endswith("nanosec"))
        columns["t"] = columns[seconds] - columns[seconds][0] + 1e-9 * columns[fraction]
    else:
        columns["t"] = columns["log_time"]
        notes.append("messages have no stamp; times are those at which they were logged")
    return LogTable(columns, {"t": "s"}, tuple(notes))


def _decoders() -> list[Any]:
    from mcap.decoder import DecoderFactory

    class Json(DecoderFactory):
        def decoder_for(self, message_encoding: str, schema: Any) -> Callable[[bytes], Any] | None:
            return json.loads if message_encoding == "json" else None

    found: list[Any] = [Json()]
    try:
        from mcap_ros2.decoder import DecoderFactory as Ros2
    except ImportError:  # logs in JSON need nothing more
        return found
    return [*found, Ros2()]


def _topic(path: Path, topics: list[str], wanted: str | None) -> str:
    if wanted is not None:
        if topics and wanted not in topics:
            raise FormatError(f"there is no topic {wanted!r}{hint(wanted, topics, 'there are')}", path)
        return wanted
    if len(topics) == 1:
        return topics[0]
    joints = [name for name in topics if name.rsplit("/", 1)[-1] == "joint_states"]
    if len(joints) == 1:
        return joints[0]
    raise FormatError(f"there are several topics; choose one by topic=: {', '.join(topics) or 'none is listed'}", path)


def _flat(path: str, content: Any) -> Iterator[tuple[str, float]]:
    """The numbers in a message, by where they stand in it."""
    if isinstance(content, (bool, int, float, np.number)):
        yield path, float(content)
        return
    if not isinstance(content, dict) and hasattr(content, "__slots__"):
        content = {name: getattr(content, name) for name in content.__slots__}
    if isinstance(content, dict):
        given = content.get("name")
        names = list(given) if isinstance(given, (list, tuple)) and all(isinstance(x, str) for x in given) else []
        for key, value in content.items():
            key = key.lstrip("_")
            here = f"{path}.{key}" if path else key
            arrays = isinstance(value, (list, tuple, np.ndarray)) and value is not given
            if names and arrays and len(value) == len(names):
                for name, x in zip(names, value):
                    yield from _flat(f"{here}.{name}", x)
            else:
                yield from _flat(here, value)
    elif isinstance(content, (list, tuple, np.ndarray)):
        for k, x in enumerate(content):
            yield from _flat(f"{path}[{k}]", x)
