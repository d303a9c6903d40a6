"""One door for every format."""

import gzip
import sys

import pytest

from dalembert.errors import ArgumentError, FormatError
from dalembert.formats import load, read_toml, read_urdf, robots
from dalembert.formats.catalogue import PACKAGED, example_robot_data, packaged

URDF = (PACKAGED / "demo_arm.urdf").read_text()
BUNDLED = {
    "stacker", "rp_arm", "puma560", "free_body", "rrr", "rpr", "double_pendulum", "cart_pole", "four_bar", "demo_arm",
}  # fmt: skip


def test_packaged_robots_are_found_by_name():
    assert set(packaged()) == BUNDLED
    assert set(robots()) >= BUNDLED
    assert load("puma560").nv == 6


def test_paths_are_read_by_suffix(tmp_path):
    for name in ("arm.urdf", "ARM.URDF", "arm.xml"):
        (tmp_path / name).write_text(URDF)
        assert load(tmp_path / name) == read_urdf(URDF)
        assert load(str(tmp_path / name)) == read_urdf(URDF)
    (tmp_path / "p.toml").write_text((PACKAGED / "puma560.toml").read_text())
    assert load(tmp_path / "p.toml") == read_toml(PACKAGED / "puma560.toml")


def test_text_and_mechanisms_pass():
    arm = load(URDF)
    assert arm == load("demo_arm")
    assert load(arm) is arm
    with pytest.raises(ArgumentError, match="already"):
        load(arm, base="free")


def test_text_of_several_lines_is_toml_and_anything_that_knows_its_path_is_a_path(tmp_path):
    text = (PACKAGED / "rp_arm.toml").read_text()
    assert load(text, parameters={"m1": 7.0}).body("link1").inertia.mass == 7
    (tmp_path / "a.toml").write_text(text)

    class Entry:
        def __fspath__(self):
            return str(tmp_path / "a.toml")

    assert load(Entry()) == load(text)


@pytest.mark.parametrize("name", ["no such thing", "x" * 10_000, 'name = "x"', "", "a\0b"])
def test_the_error_for_an_unknown_name_is_short(name):
    with pytest.raises(ArgumentError, match=r"there is no robot.*robots\(\) lists all") as caught:
        load(name)
    assert len(str(caught.value)) < 400


def test_a_part_of_a_name_in_any_case_is_enough_for_a_suggestion():
    with pytest.raises(ArgumentError, match="did you mean 'cart_pole'"):
        load("Pole")


def test_options_go_to_the_reader():
    assert load("demo_arm", base="free").nv == 12
    assert load("rp_arm", parameters={"m1": 7.0}).body("link1").inertia.mass == 7
    with pytest.raises(ArgumentError, match="read_urdf has no option 'bas'; did you mean 'base'"):
        load("demo_arm", bas="free")
    with pytest.raises(ArgumentError, match=r"read_toml has no option 'base'; da\.with_base changes"):
        load("puma560", base="free")


def test_what_cannot_be_loaded_says_why(tmp_path):
    with pytest.raises(ArgumentError, match=r"no robot 'puma650'.*did you mean 'puma560'"):
        load("puma650")
    with pytest.raises(FormatError, match=r"nowhere\.urdf: no such file"):
        load("nowhere.urdf")
    with pytest.raises(FormatError, match=r"suffix '\.step' is not known; known are \.urdf"):
        load(tmp_path / "x.step")
    with pytest.raises(FormatError, match=r"model\.sdf: no such file"):
        load("model.sdf")
    with pytest.raises(FormatError, match="this is a folder"):
        load(str(tmp_path))
    with pytest.raises(ArgumentError, match="got int"):
        load(3)
    with pytest.raises(ArgumentError, match=r"got bytes; decode it first"):
        load(b"demo_arm")
    assert load(URDF.encode()) == load(URDF)
    (tmp_path / "x.xml").write_text("<sdf/>")
    with pytest.raises(FormatError, match=r"x\.xml:1: an SDF file"):
        load(tmp_path / "x.xml")


@pytest.mark.skipif(not example_robot_data(), reason="example-robot-data is not installed")
@pytest.mark.filterwarnings("ignore::dalembert.errors.ModelWarning")
def test_robots_of_example_robot_data_are_found_by_name():
    assert load("panda").name == "panda"
    assert load("panda/panda") == load("panda")
    assert "anymal" not in robots()  # two files of that name
    assert {"anymal_b_simple/anymal", "anymal_c_simple/anymal"} <= set(robots())
    assert load("anymal_b_simple/anymal") != load("anymal_c_simple/anymal")
    with pytest.raises(ArgumentError, match="did you mean"):
        load("anymal")


def test_who_lacks_the_package_of_robots_is_told_of_it(monkeypatch):
    monkeypatch.setattr("dalembert.formats.catalogue.example_robot_data", dict)
    with pytest.raises(ArgumentError, match=r"no robot 'panda'.* pip install 'dalembert\[peers\]'"):
        load("panda")


def test_robot_descriptions_are_found_by_name_when_installed(tmp_path, monkeypatch):
    """A stand-in for the package, which downloads on import."""
    package = tmp_path / "robot_descriptions"
    package.mkdir()
    names = ["my_description", "macro_description", "bare_description", "gone_description"]
    (package / "__init__.py").write_text("")
    (package / "_descriptions.py").write_text(f"DESCRIPTIONS = dict.fromkeys({names})")
    (package / "_xacro.py").write_text("def get_urdf_path(module): return module.expanded()")
    (package / "my_description.py").write_text(f"URDF_PATH = {str(PACKAGED / 'demo_arm.urdf')!r}")
    (package / "macro_description.py").write_text(
        f"XACRO_PATH = 'arm.urdf.xacro'\ndef expanded(): return {str(PACKAGED / 'demo_arm.urdf')!r}"
    )
    (package / "bare_description.py").write_text("XACRO_PATH = ''\ndef expanded(): import xacrodoc_that_is_missing")
    (package / "gone_description.py").write_text("raise OSError('no network')")
    for name in [name for name in sys.modules if name.partition(".")[0] == "robot_descriptions"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)
    assert "my_description" in robots()
    assert load("my_description") == load("macro_description") == load("demo_arm")
    with pytest.raises(FormatError, match=r"cannot provide 'bare_description'.*xacrodoc"):
        load("bare_description")
    with pytest.raises(FormatError, match="no network"):
        load("gone_description")
    for name in [name for name in sys.modules if name.partition(".")[0] == "robot_descriptions"]:
        monkeypatch.delitem(sys.modules, name)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.urdf", b"", "empty"), ("a.urdf", b"\xef\xbb\xbf\n", "empty"), ("a.toml", b" \n", "empty"),
        ("a.urdf", gzip.compress(b"<robot/>", mtime=0), "compressed; unpack"),
        ("a.toml", gzip.compress(b"x = 1", mtime=0), "compressed"),
        ("a.urdf", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "git lfs pull"),
        ("a.urdf", '<robot name="\xe9">'.encode("latin1"), "not UTF-8: save it so"),
        ("a.sdf", b"<robot/>", "root element <sdf>"),
        ("a.urdf.gz", b"", "Unpack it first"),
    ],
)  # fmt: skip
def test_files_of_other_kinds_are_answered_with_what_to_do(name, data, message, tmp_path):
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(FormatError, match=message):
        load(path)


def test_text_in_another_encoding_is_answered_with_what_to_do(tmp_path):
    text = 'name = "t"\nbody = []\n'
    with pytest.raises(ArgumentError, match=r"source\.decode\(\)"):
        load(text.encode())
    with pytest.raises(ArgumentError, match=r"source\.decode\('utf-16'\)"):
        load(text.encode("utf-16"))
    path = tmp_path / "wide.toml"
    path.write_bytes(text.encode("utf-16"))
    with pytest.raises(FormatError, match="save the file as UTF-8"):
        load(path)
