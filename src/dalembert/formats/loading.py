"""One door for every format: a path, a text, or the name of a known robot."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from dalembert.errors import ArgumentError, FormatError
from dalembert.formats import catalogue
from dalembert.formats.registry import OTHERS, SUFFIXES, Format, format_of, text_format, xml_format
from dalembert.model.mechanism import Mechanism
from dalembert.text.suggest import hint, near


def load(source: str | bytes | os.PathLike[str] | Mechanism, **options: Any) -> Mechanism:
    """A mechanism from a file, a text, or the name of a robot.

    A path is read by its suffix: ``.urdf``, ``.toml``, ``.mjcf``, ``.sdf``, ``.xacro``, or ``.xml``, where the root
    element decides between the formats of XML. Text that starts with ``<`` is read in the same way, other text of
    several lines as TOML. Any other string is looked up among the robots that come with dalembert, then in the packages
    ``example-robot-data`` and ``robot_descriptions`` if they are installed; see :func:`robots`. A mechanism is returned
    as it is.

    Args:
        source: path, text, name or mechanism.
        options: passed on to the reader: ``base`` and ``strict`` for :func:`~dalembert.formats.read_urdf`,
            ``parameters``, ``defaults`` and ``strict`` for :func:`~dalembert.formats.read_toml`, ``strict`` for
            :func:`~dalembert.formats.read_mjcf`, ``base`` and ``strict`` for :func:`~dalembert.formats.read_sdf`, these
            and ``arguments`` for :func:`~dalembert.formats.read_xacro`.
    """
    if isinstance(source, Mechanism):
        if options:
            raise ArgumentError(
                f"{source!r} is a mechanism already; the options {sorted(options)} have no effect on it"
            )
        return source
    if isinstance(source, os.PathLike):
        return _read_path(Path(os.fsdecode(source)), options)
    if isinstance(source, bytes) and source.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return _read(xml_format(source), source, options)
    if not isinstance(source, str):
        code = "'utf-16'" if isinstance(source, (bytes, bytearray)) and source[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
        remedy = f"; decode it first: source.decode({code})" if isinstance(source, (bytes, bytearray)) else ""
        raise ArgumentError(
            f"load takes a path, a text, the name of a robot or a Mechanism, got {type(source).__name__}{remedy}"
        )
    if source.lstrip("\ufeff \t\r\n").startswith("<"):
        return _read(xml_format(source), source, options)
    if "\n" in source:
        return _read(text_format(), source, options)
    if source.lower().endswith(SUFFIXES):
        return _read_path(Path(source), options)
    return _read_path(_find(source), options)


def robots() -> tuple[str, ...]:
    """Names of all robots that :func:`load` finds on this machine."""
    examples = catalogue.example_robot_data()
    short = {path for name, path in examples.items() if "/" not in name}
    listed = {name for name, path in examples.items() if "/" not in name or path not in short}
    return tuple(sorted({*catalogue.packaged(), *listed, *catalogue.robot_descriptions()}))


def _find(name: str) -> Path:
    for table in (catalogue.packaged, catalogue.example_robot_data):
        if name in (known := table()):
            return known[name]
    if name in catalogue.robot_descriptions():
        return catalogue.robot_descriptions_path(name)
    if re.search(r"\.[A-Za-z]\w*$", name) or os.path.exists(name):
        return Path(name)  # a path, but not one that can be read; who reads it says so
    shown = name if len(name) <= 60 else name[:57] + "..."
    meant = near(name[:60], robots())
    more = "" if catalogue.example_robot_data() else ", or pip install 'dalembert[peers]' for seventy more"
    said = (
        f"did you mean {' or '.join(map(repr, meant))}?" if meant else f"try {', '.join(catalogue.packaged())}{more}."
    )
    raise ArgumentError(
        f"there is no robot {shown!r} here, and the name of a file ends in {', '.join(SUFFIXES)}; {said}",
        argument="source",
        value=name,
        remedy="dalembert.robots() lists all names",
    )


def _read_path(path: Path, options: dict[str, Any]) -> Mechanism:
    format = format_of(path)
    if format is not None:
        return _read(format, path, options)
    if path.is_dir():
        raise FormatError("this is a folder; name a file in it", path)
    remedy = OTHERS.get(path.suffix.lower(), "")
    raise FormatError(f"the suffix {path.suffix!r} is not known; known are {', '.join(SUFFIXES)}{remedy}", path)


def _read(format: Format, source: str | bytes | Path, options: dict[str, Any]) -> Mechanism:
    for option in options.keys() - set(format.options):
        remedy = (
            "; da.with_base changes the base of what was read" if option == "base" else hint(option, format.options)
        )
        raise ArgumentError(f"{format.read.__name__} has no option {option!r}{remedy}")
    return format.read(source, **options)
