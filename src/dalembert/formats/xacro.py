"""Reader for xacro, the macro language of URDF, through its package."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dalembert.errors import FormatError, MissingExtraError
from dalembert.formats.urdf import read_urdf
from dalembert.formats.xml import read_bytes
from dalembert.model.checks import expect
from dalembert.model.mechanism import Mechanism


def read_xacro(
    source: str | Path, base: str = "fixed", strict: bool = False, arguments: Mapping[str, Any] | None = None
) -> Mechanism:
    """Expand a xacro file and read the URDF that it gives.

    Line numbers of messages are those of the expanded URDF.

    Args:
        source: a path.
        base: see :func:`~dalembert.formats.read_urdf`.
        strict: likewise.
        arguments: values for the ``<xacro:arg>`` of the file, by name.
    """
    try:
        import xacro
    except ImportError as error:
        raise MissingExtraError("xacro", "xacro", "reading xacro files") from error
    given = {} if arguments is None else dict(expect(arguments, Mapping, "read_xacro, arguments"))
    read_bytes(source)  # what is no file, or not readable, is reported in our words
    try:
        expanded = xacro.process_file(str(source), mappings={str(name): str(x) for name, x in given.items()})
    except Exception as error:  # the expressions of a file may raise anything
        raise FormatError(f"xacro cannot expand this file: {type(error).__name__}: {error}", source) from error
    mechanism = read_urdf(expanded.toprettyxml(indent="  ").encode(), base, strict)
    return mechanism.replace(notes=(*mechanism.notes, f"expanded from {Path(source).name} by xacro"))
