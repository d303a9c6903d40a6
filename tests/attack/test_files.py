"""Files are written whole or not at all, and read only where their parts agree."""

from __future__ import annotations

import importlib
import io
import json
import os
import stat
import struct
import time
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert import files
from dalembert.errors import DalembertError, FormatError


@pytest.fixture(scope="module")
def swing():
    m = da.load("double_pendulum", parameters="default")
    return da.simulate(m, [0.3, 0.2], [0.0, 0.0], 0.2)


@pytest.fixture(scope="module")
def archive(swing, tmp_path_factory):
    path = tmp_path_factory.mktemp("archive") / "good.npz"
    swing.to_npz(path)
    with np.load(path) as file:
        return dict(file)


# -------------------------------------------------------------------------------------------------------------- writing


def writers(swing):
    m = swing.mechanism
    return {
        "a.npz": swing.to_npz, "a.csv": swing.to_csv, "a.toml": lambda p: da.write_toml(m, p),
        "a.urdf": lambda p: da.write_urdf(m, p), "a.html": lambda p: da.view(m, to=p, equations=False),
    }  # fmt: skip


@pytest.mark.parametrize("name", ["a.npz", "a.csv", "a.toml", "a.urdf", "a.html"])
def test_a_full_disk_leaves_the_file_that_was_there(name, swing, tmp_path, monkeypatch):
    path = tmp_path / name
    write = writers(swing)[name]
    write(path)
    good = path.read_bytes()

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(DalembertError, match="No space left"):
        write(path)
    assert path.read_bytes() == good
    assert os.listdir(tmp_path) == [name]


def test_links_modes_and_devices_stay_what_they_are(tmp_path):
    (tmp_path / "real.txt").write_text("old")
    os.chmod(tmp_path / "real.txt", 0o640)
    (tmp_path / "link.txt").symlink_to(tmp_path / "real.txt")
    files.write_text(tmp_path / "link.txt", "new")
    assert (tmp_path / "link.txt").is_symlink() and (tmp_path / "real.txt").read_text() == "new"
    assert stat.S_IMODE((tmp_path / "real.txt").stat().st_mode) == 0o640
    files.write_text("/dev/null", "nowhere")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


# -------------------------------------------------------------------------------------------------------------- reading


def about(**changes):
    return lambda a: {**a, "about": np.array(json.dumps({**json.loads(str(a["about"])), **changes}))}


EDITS = {
    "fewer rows": lambda a: {**a, "q": a["q"][:3]},
    "more columns": lambda a: {**a, "v": np.zeros((len(a["t"]), 7))},
    "times back and forth": lambda a: {**a, "t": np.roll(a["t"], 1)},
    "infinite time": lambda a: {**a, "t": np.where(a["t"] > 0.1, np.inf, a["t"])},
    "text": lambda a: {**a, "q": a["q"].astype(str)},
    "complex": lambda a: {**a, "q": a["q"] + 1j},
    "table of times": lambda a: {**a, "t": a["t"][:, None]},
    "one event time": lambda a: {**a, "events_t": np.array(1.0), "events_q": a["q"], "events_v": a["v"]},
    "number of events": about(events=5),
    "events without states": about(events=["a"]),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_archives_that_contradict_themselves_are_refused(edit, swing, archive, tmp_path):
    np.savez(tmp_path / "bad.npz", **edit(archive))
    with pytest.raises(FormatError):
        da.simulation.load_trajectory(tmp_path / "bad.npz", swing.mechanism)


def test_headers_that_claim_too_much_are_refused_before_memory_is_asked_for(swing, archive, tmp_path):
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<f8", "fortran_order": False, "shape": (10**9, 2)})
    np.savez(tmp_path / "bad.npz", **{name: array for name, array in archive.items() if name != "q"})
    with zipfile.ZipFile(tmp_path / "bad.npz", "a") as file:
        file.writestr("q.npy", buffer.getvalue())
    with pytest.raises(FormatError, match="claims"):
        da.simulation.load_trajectory(tmp_path / "bad.npz", swing.mechanism)


def test_archives_that_swell_are_refused(swing, archive, tmp_path, monkeypatch):
    monkeypatch.setattr(da.simulation.export, "MOST_BYTES", 1 << 20)
    np.savez_compressed(tmp_path / "bad.npz", **{**archive, "tau": np.zeros((10**6, 2))})
    with pytest.raises(FormatError, match="more memory"):
        da.simulation.load_trajectory(tmp_path / "bad.npz", swing.mechanism)


@pytest.mark.parametrize("place", [4, 8])
def test_flipped_bytes_of_the_container_are_refused(place, swing, tmp_path):
    swing.to_npz(tmp_path / "bad.npz")
    data = bytearray((tmp_path / "bad.npz").read_bytes())
    start = data.rindex(b"PK\x01\x02")
    data[start + place + 2] ^= 0xFF  # version or compression of the last part, in the directory
    (tmp_path / "bad.npz").write_bytes(data)
    with pytest.raises(FormatError):
        da.simulation.load_trajectory(tmp_path / "bad.npz", swing.mechanism)


# ---------------------------------------------------------------------------------------------------------------- pages

INERTIAL = (
    '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    "<visual><geometry><mesh filename='{}'/></geometry></visual>"
)
STL = bytes(80) + struct.pack("<I", 1) + struct.pack("<12f", 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0) + bytes(2)


@pytest.fixture
def model(tmp_path):
    """A folder with a model, and a mesh beside it that is none of its business."""
    for place in ("secret/prototype.stl", "model/own.stl", "robot/meshes/own.stl"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_bytes(STL)

    def page(address, folder="model", **options):
        file = tmp_path / folder / "r.urdf"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"<robot name='r'><link name='a'>{INERTIAL.format(address)}</link></robot>")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            da.view(file, to=tmp_path / "r.html", equations=False, **options)
        return [str(w.message) for w in caught if "not drawn" in str(w.message)]

    return page


def test_a_page_takes_only_meshes_of_its_model_along(model, tmp_path):
    secret = tmp_path / "secret" / "prototype.stl"
    hostile = [
        secret.as_uri(), "../secret/prototype.stl", "package://" + "../" * 12 + str(secret).lstrip("/"), str(secret),
        "package://" + str(secret).lstrip("/"), "package://secret/prototype.stl",
    ]  # fmt: skip
    for address in hostile:
        (note,) = model(address)
        assert "outside the folder of the model" in note and "consent=True" in note
        assert model(address, consent=True) == []
    (tmp_path / "model" / "link.stl").symlink_to(secret)
    assert len(model("link.stl")) == 1


def test_meshes_of_the_model_and_its_package_are_taken(model, tmp_path, monkeypatch):
    assert model("own.stl") == []
    assert len(model("../meshes/own.stl", "robot/urdf")) == 1
    (tmp_path / "robot" / "package.xml").write_text("<package/>")
    assert model("../meshes/own.stl", "robot/urdf") == []
    assert model("package://robot/meshes/own.stl", "robot/urdf") == []
    assert model("package://robot/meshes/own.stl", "model") == []
    (tmp_path / "robot" / "package.xml").unlink()
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path))
    assert model("package://robot/meshes/own.stl", "model") == []
    assert len(model("package://../secret/prototype.stl", "model")) == 1


def test_pages_without_a_name_do_not_pile_up(tmp_path, monkeypatch):
    view_module = importlib.import_module("dalembert.viewer.view")
    monkeypatch.setattr(view_module.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(view_module, "_opened", lambda target: True)
    mechanism = da.load("double_pendulum", parameters="default")
    old = da.view(mechanism, equations=False)
    kept = da.view(mechanism, equations=False)
    assert old.exists() and kept.exists()
    os.utime(old.parent, (time.time() - 1e6,) * 2)
    new = da.view(mechanism, equations=False)
    assert not old.parent.exists() and kept.exists() and new.exists()


def test_licences_of_what_the_wheel_holds_are_declared():
    import tomllib

    root = Path(__file__).parents[2]
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert project["license"] == "Apache-2.0 AND MIT"
    assert all((root / file).is_file() for file in project["license-files"])
    assert any("THREE" in file for file in project["license-files"])
