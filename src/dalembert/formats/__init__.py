"""Files and tables to mechanisms, and back. Knows the model, nothing of algorithms.

Names are imported when first used, so that the command line can ask the registry without loading NumPy.
"""

from typing import TYPE_CHECKING, Any

_HOMES = {
    "default_parameters": "toml", "from_dh": "dh", "load": "loading", "read_mjcf": "mjcf", "read_sdf": "sdf",
    "read_srdf": "srdf", "read_toml": "toml", "read_urdf": "urdf", "read_xacro": "xacro", "robots": "loading",
    "write_toml": "toml_writer", "write_urdf": "urdf_writer",
}  # fmt: skip

if TYPE_CHECKING:
    from dalembert.formats.dh import from_dh
    from dalembert.formats.loading import load, robots
    from dalembert.formats.mjcf import read_mjcf
    from dalembert.formats.sdf import read_sdf
    from dalembert.formats.srdf import read_srdf
    from dalembert.formats.toml import default_parameters, read_toml
    from dalembert.formats.toml_writer import write_toml
    from dalembert.formats.urdf import read_urdf
    from dalembert.formats.urdf_writer import write_urdf
    from dalembert.formats.xacro import read_xacro

__all__ = [
    "default_parameters", "from_dh", "load", "read_mjcf", "read_sdf", "read_srdf", "read_toml", "read_urdf",
    "read_xacro", "robots", "write_toml", "write_urdf",
]  # fmt: skip

if not TYPE_CHECKING:  # with it, type checkers would take every misspelt name for one of ours

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        if name not in _HOMES:
            raise AttributeError(f"module 'dalembert.formats' has no attribute {name!r}")
        globals()[name] = value = getattr(import_module(f"dalembert.formats.{_HOMES[name]}"), name)
        return value
