"""Files and tables to mechanisms, and back. Knows the model, nothing of algorithms."""

from dalembert.formats.dh import from_dh
from dalembert.formats.load import load, robots
from dalembert.formats.mjcf import read_mjcf
from dalembert.formats.toml import default_parameters, read_toml
from dalembert.formats.toml_writer import write_toml
from dalembert.formats.urdf import read_urdf
from dalembert.formats.urdf_writer import write_urdf

__all__ = [
    "default_parameters", "from_dh", "load", "read_mjcf", "read_toml", "read_urdf", "robots", "write_toml",
    "write_urdf",
]  # fmt: skip
