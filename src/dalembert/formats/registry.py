"""The formats there are, one entry each: what everybody else knows of a format is read from here.

To add one, write its reader, ``read(source, **options) -> Mechanism``, and perhaps a writer, ``write(mechanism,
path=None) -> str``, in a file of this room, and enter it in :data:`FORMATS`. :func:`~dalembert.formats.load` and the
command line then take its files, and the options of its reader.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dalembert.errors import FormatError


@dataclass(frozen=True)
class Format:
    """One format of files.

    Args:
        name: as people call it.
        suffixes: of its files, lower case, with the dot. Two formats of XML may share one: their root elements differ.
        reader: ``module:function``, loaded when it is first needed.
        writer: ``module:function``; empty if the format is only read.
        defaults: ``module:function`` that gives the default values of the symbols in a file, by name; empty if the
            format knows numbers only.
        root: how the name of the root element begins, of XML; empty for other text.
    """

    name: str
    suffixes: tuple[str, ...]
    reader: str
    writer: str = ""
    defaults: str = ""
    root: str = ""

    @property
    def read(self) -> Callable[..., Any]:
        """The reader: takes a path or the text itself, and options."""
        return _function(self.reader)

    @property
    def write(self) -> Callable[..., str]:
        """The writer: takes a mechanism and a path or None, returns the text."""
        if not self.writer:
            raise FormatError(f"{self.name} is read here, but not written; {' and '.join(writable())} are")
        return _function(self.writer)

    @property
    def options(self) -> tuple[str, ...]:
        """What the reader takes besides the source."""
        return tuple(inspect.signature(self.read).parameters)[1:]

    def default_values(self, path: Path) -> dict[str, float]:
        """Values that a file gives to its symbols."""
        return _function(self.defaults)(path) if self.defaults else {}


FORMATS = (
    Format(
        "URDF", (".urdf", ".xml"), "dalembert.formats.urdf:read_urdf", "dalembert.formats.urdf_writer:write_urdf",
        root="robot",
    ),
    Format("MJCF", (".xml", ".mjcf"), "dalembert.formats.mjcf:read_mjcf", root="mujoco"),
    Format(
        "TOML", (".toml",), "dalembert.formats.toml:read_toml", "dalembert.formats.toml_writer:write_toml",
        "dalembert.formats.toml:default_parameters",
    ),
    Format("SDF", (".sdf", ".world"), "dalembert.formats.sdf:read_sdf", root="sdf"),
    Format("xacro", (".xacro",), "dalembert.formats.xacro:read_xacro"),
)  # fmt: skip

SUFFIXES = tuple(dict.fromkeys(suffix for format in FORMATS for suffix in format.suffixes))

OTHERS = {
    ".gz": ". Unpack it first",
    ".zip": ". Unpack it first",
}
"""What to do about files of other kinds."""


def format_of(path: Path) -> Format | None:
    """The format of a file, by its suffix, then by its root element if two formats share that; None if unknown."""
    found = [format for format in FORMATS if path.suffix.lower() in format.suffixes]
    return xml_format(path) if len(found) > 1 else found[0] if found else None


def is_of(path: Path, name: str) -> bool:
    """Whether a path is that of a file of the format of that name."""
    format = format_of(path) if path.is_file() else None
    return format is not None and format.name == name


def xml_format(source: str | bytes | Path) -> Format:
    """The format of XML by its root element; the first of all if it is none of ours, whose reader then says so."""
    from dalembert.formats.xml import read_xml

    return by_root(read_xml(source).tag) or FORMATS[0]


def by_root(tag: str) -> Format | None:
    """The format whose files have that root element."""
    return next((format for format in FORMATS if format.root and tag.startswith(format.root)), None)


def text_format() -> Format:
    """The format of text that is not XML."""
    return next(format for format in FORMATS if not format.root)


def written() -> tuple[str, ...]:
    """Suffixes of the formats that are written, one each."""
    return tuple(format.suffixes[0] for format in FORMATS if format.writer)


def by_suffix(path: Path) -> Format:
    """The format that writes files of that suffix; an error if none does."""
    for format in FORMATS:
        if format.writer and path.suffix.lower() == format.suffixes[0]:
            return format
    raise FormatError(f"the suffix {path.suffix!r} is not written; {' and '.join(written())} are", path)


def writable() -> Iterator[str]:
    """Names of the formats that are written."""
    return (format.name for format in FORMATS if format.writer)


def described() -> str:
    """All formats with their suffixes, for help."""
    *most, last = (f"{format.name} ({', '.join(format.suffixes)})" for format in FORMATS)
    return f"{', '.join(most)} or {last}"


def _function(place: str) -> Callable[..., Any]:
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)
