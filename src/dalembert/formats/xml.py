"""A small XML reader that remembers lines and refuses what a robot description never needs.

Document type declarations are the door through which entity bombs and external entities enter; they are refused as a
whole. Depth and size are limited, so that no file can exhaust memory or the stack.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from dalembert.errors import FormatError
from dalembert.model.checks import expect_path

MAX_BYTES = 64 * 2**20
MAX_DEPTH = 1000
MAX_ELEMENTS = 1_000_000
TEXT = "<text>"
"""Stands for the file name when the description came as text."""


@dataclass
class Element:
    """One XML element.

    Args:
        tag: its name, with any namespace prefix as written.
        attributes: by name.
        line: 1-based line of its opening tag.
        file: where it stands, for messages.
        children: elements inside it, in order.
        pieces: character data directly inside it, as it came.
    """

    tag: str
    attributes: dict[str, str]
    line: int
    file: str | Path
    children: list[Element] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Character data directly inside the element, joined."""
        return "".join(self.pieces)

    def all(self, tag: str) -> Iterator[Element]:
        """The child elements of that name."""
        return (child for child in self.children if child.tag == tag)

    def one(self, tag: str) -> Element | None:
        """The only child of that name, or None; two of them are an error."""
        found = list(self.all(tag))
        if len(found) > 1:
            raise found[1].error(f"<{self.tag}> has a second <{tag}>, the first is on line {found[0].line}; keep one")
        return found[0] if found else None

    def need(self, tag: str) -> Element:
        """The only child of that name; none or two of them are an error."""
        found = self.one(tag)
        if found is None:
            raise self.error(f"<{self.tag}>{self._called()} needs a <{tag}> element")
        return found

    def attribute(self, name: str) -> str:
        """The value of an attribute that must be there and not be empty."""
        value = self.attributes.get(name, "")
        if not value.strip():
            state = "is empty" if name in self.attributes else "is missing"
            raise self.error(f"<{self.tag}>{self._called()}: the attribute {name!r} {state}")
        return value

    def walk(self) -> Iterator[Element]:
        """The element and everything inside it, in the order of the file."""
        waiting = [self]
        while waiting:
            element = waiting.pop()
            yield element
            waiting += reversed(element.children)

    def error(self, message: str) -> FormatError:
        """A FormatError that points at this element."""
        return FormatError(message, self.file, self.line)

    def _called(self) -> str:
        return f" {self.attributes['name']!r}" if "name" in self.attributes else ""


def source_bytes(source: str | bytes | Path) -> tuple[bytes, str | Path]:
    """The bytes of a description and the name of its file.

    Args:
        source: a path, or the description itself: bytes, or a string whose first character is ``<``.
    """
    if isinstance(source, bytes):
        return _limited(source, TEXT), TEXT
    if isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("<"):
        # A string has no encoding; drop a declaration that claims one by fixing the parser's to UTF-8 (see read_xml).
        return _limited(source.lstrip("\ufeff").encode("utf-8", "surrogatepass"), TEXT), TEXT
    return read_bytes(source), source


def read_bytes(path: str | Path) -> bytes:
    """The content of a regular file of reasonable size, or a FormatError."""
    file = expect_path(path, "the source")
    try:
        if not file.is_file():
            raise FormatError("no such file" if not file.exists() else "this is not a regular file", path)
        if file.stat().st_size > MAX_BYTES:
            raise FormatError(f"the file is larger than {MAX_BYTES >> 20} MiB", path)
        return _readable(file.read_bytes(), path)
    except (OSError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"cannot read the file: {error}", repr(path)) from error


def _readable(data: bytes, path: str | Path) -> bytes:
    """The bytes themselves, unless they are plainly no text."""
    if not data.strip(b"\xef\xbb\xbf \t\r\n"):
        raise FormatError("the file is empty", path)
    if data.startswith((b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\xfd7zXZ")):
        raise FormatError("the file is compressed; unpack it first", path)
    if data.startswith(b"version https://git-lfs"):
        raise FormatError("this is a pointer of Git LFS, not the file itself; fetch it with git lfs pull", path)
    return data


def _limited(data: bytes, file: str) -> bytes:
    if len(data) > MAX_BYTES:
        raise FormatError(f"the description is larger than {MAX_BYTES >> 20} MiB", file)
    return data


def read_xml(source: str | bytes | Path) -> Element:
    """The root element of an XML document.

    Args:
        source: a path, or the document itself: bytes, or a string whose first character is ``<``.
    """
    data, file = source_bytes(source)
    parser = expat.ParserCreate("utf-8" if isinstance(source, str) and file == TEXT else None)
    parser.buffer_text = True
    open_elements: list[Element] = []
    roots: list[Element] = []
    count = 0

    def error(message: str) -> FormatError:
        return FormatError(message, file, parser.CurrentLineNumber)

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if count > MAX_ELEMENTS:
            raise error(f"more than {MAX_ELEMENTS} elements; this is no robot description")
        if len(open_elements) >= MAX_DEPTH:
            raise error(f"elements are nested more than {MAX_DEPTH} deep; this is no robot description")
        element = Element(tag, attributes, parser.CurrentLineNumber, file)
        (open_elements[-1].children if open_elements else roots).append(element)
        open_elements.append(element)

    def end(_: str) -> None:
        open_elements.pop()

    def characters(text: str) -> None:
        if open_elements:
            open_elements[-1].pieces.append(text)

    def refuse(*_: object) -> None:
        raise error(
            "a document type declaration (<!DOCTYPE ...>) is refused: it can define entities that grow without bound "
            "or read other files; a robot description needs none, remove it"
        )

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = characters
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError as problem:
        what = expat.ErrorString(problem.code) or "unreadable"
        remedy = "" if _is_utf8(data) else "; the file is not UTF-8: save it so, or name its encoding in <?xml ...?>"
        raise FormatError(
            f"malformed XML: {what}, column {problem.offset + 1}{remedy}", file, problem.lineno
        ) from problem
    except (LookupError, ValueError) as problem:  # encodings expat asks Python for
        if isinstance(problem, FormatError):
            raise
        raise FormatError(f"unreadable encoding: {problem}; save the file as UTF-8", file) from problem
    return roots[0]


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
