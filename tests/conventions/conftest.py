"""Where the robots of example-robot-data lie."""

import importlib.metadata
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def robots_folder() -> Path:
    """The folder of robot descriptions of the installed example-robot-data package."""
    try:
        files = importlib.metadata.files("example-robot-data") or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("example-robot-data is not installed")
    marker = next((f for f in files if f.parts[-1] == "panda.urdf"), None)
    if marker is None:
        pytest.skip("example-robot-data has no robots folder")
    return Path(str(marker.locate())).resolve().parents[2]
