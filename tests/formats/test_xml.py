"""The XML reader: lines, encodings, and what it refuses."""

import pytest

from dalembert.errors import FormatError
from dalembert.formats.xml import MAX_DEPTH, read_xml

BOMB = """<?xml version="1.0"?>
<!DOCTYPE robot [
  <!ENTITY a "aaaaaaaaaa">
  <!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">
  <!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">
]>
<robot name="&c;"/>"""

EXTERNAL = """<!DOCTYPE robot [<!ENTITY secret SYSTEM "file:///etc/hostname">]>
<robot name="r">&secret;</robot>"""


def test_elements_know_their_line_attributes_children_and_text():
    root = read_xml('<?xml version="1.0"?>\n<a x="1">\n  <!-- no -->\n  <b/>\n  <b y="&lt;&#228;"/> text </a>')
    assert (root.tag, root.line, root.attributes) == ("a", 2, {"x": "1"})
    assert [child.line for child in root.all("b")] == [4, 5]
    assert root.children[1].attributes == {"y": "<ä"}
    assert root.text.strip() == "text"


@pytest.mark.parametrize("document", [BOMB, EXTERNAL, "<!DOCTYPE a><a/>", '<!DOCTYPE a SYSTEM "x.dtd"><a/>'])
def test_document_type_declarations_are_refused(document):
    with pytest.raises(FormatError, match="DOCTYPE"):
        read_xml(document)


def test_an_undefined_entity_is_an_error_not_a_hole():
    with pytest.raises(FormatError, match="<text>:2: malformed XML: undefined entity"):
        read_xml('<a>\n<b x="&nope;"/></a>')


@pytest.mark.parametrize(
    ("document", "line"),
    [("<a>\n<b>\n</a>", 3), ("<a x='1' x='2'/>", 1), ("<a/>\n<b/>", 2), ("<a>\n", 2), ("<a b=1/>", 1), ("<", 1)],
)
def test_malformed_xml_names_the_line(document, line):
    with pytest.raises(FormatError, match="malformed XML") as caught:
        read_xml(document)
    assert caught.value.line == line


def test_malformed_xml_in_a_file_names_the_file(tmp_path):
    path = tmp_path / "broken.xml"
    path.write_text("<a>\n  <b></a>")
    with pytest.raises(FormatError, match=r"broken\.xml:2: malformed XML: mismatched tag"):
        read_xml(path)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1", "cp1252"])
def test_encodings_are_understood(tmp_path, encoding):
    declared = {"utf-8-sig": "utf-8", "utf-16-le": "utf-16"}.get(encoding, encoding)
    text = f'<?xml version="1.0" encoding="{declared}"?><a name="Gänsefuß"/>'
    data = b"\xff\xfe" + text.encode(encoding) if encoding == "utf-16-le" else text.encode(encoding)
    path = tmp_path / "encoded.xml"
    path.write_bytes(data)
    assert read_xml(path).attributes["name"] == "Gänsefuß"
    assert read_xml(data).attributes["name"] == "Gänsefuß"


def test_a_string_needs_no_encoding_even_if_it_claims_one():
    assert read_xml('\ufeff<?xml version="1.0" encoding="utf-16"?><a name="ü"/>').attributes["name"] == "ü"


@pytest.mark.parametrize("encoding", ["klingon", "utf-7", "rot13", "idna"])
def test_unknown_encodings_are_an_error(encoding):
    with pytest.raises(FormatError):
        read_xml(f'<?xml version="1.0" encoding="{encoding}"?><a name="\xfc"/>'.encode("latin-1"))


def test_depth_is_limited_without_touching_the_stack():
    assert read_xml("<a>" * MAX_DEPTH + "</a>" * MAX_DEPTH).tag == "a"
    with pytest.raises(FormatError, match="nested"):
        read_xml("<a>" * 100_000)


@pytest.mark.parametrize("name", ["missing.xml", "nul\0byte.xml", "."])
def test_a_path_that_is_no_file_is_a_format_error(tmp_path, name):
    with pytest.raises(FormatError):
        read_xml(tmp_path / name)
