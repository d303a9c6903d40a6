"""What happens when an optional package is missing: one line that says how to get it, and nothing else breaks.

    python tests/extras_probe.py            in an environment without any extra
    python tests/extras_probe.py --block    where they are installed: imports of them are refused

Prints one line per extra; the exit code is 1 if a hint is missing or something needs an extra that should not.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

OPTIONAL = (
    "casadi", "control", "cupy", "dask", "distributed", "example_robot_data", "imageio", "imageio_ffmpeg",
    "jax", "latex2mathml", "matplotlib", "mujoco", "pandas", "pinocchio", "pyarrow", "pydrake", "robot_descriptions",
    "torch", "viser", "xacro", "xarray", "zarr",
)  # fmt: skip


class Refuse:
    """Finds nothing, and says so, for optional packages."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> None:
        if name.partition(".")[0] in OPTIONAL:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def main() -> int:
    if "--block" in sys.argv:
        sys.meta_path.insert(0, Refuse())
    import numpy as np

    import dalembert as da
    from dalembert import control, pictures
    from dalembert.autodiff.jax import JaxDynamics
    from dalembert.autodiff.torch import TorchDynamics
    from dalembert.errors import MissingExtraError

    warnings.simplefilter("ignore", UserWarning)
    arm = da.load("demo_arm")
    dynamics = da.Dynamics(arm)
    q, v, a = arm.random_state(np.random.default_rng(0))
    motion = da.simulate(arm, q, v, 0.01, method="rk4")
    assert np.isfinite(dynamics.inverse_dynamics(q, v, a)).all()
    assert da.verify(da.load("rp_arm"), states=1)
    folder = Path(tempfile.mkdtemp())
    da.report.report(da.load("rp_arm"), folder / "report.md", "lagrange")
    (folder / "a.xml").write_text("<mujoco><worldbody><replicate count='2'/></worldbody></mujoco>")
    (folder / "a.xacro").write_text("<robot/>")
    da.write_urdf(arm, folder / "a.urdf")

    cases: dict[str, tuple[str, Callable[[], Any]]] = {
        "xacro": ("xacro", lambda: da.load(folder / "a.xacro")),
        "mjcf": ("mujoco", lambda: da.load(folder / "a.xml")),
        "report": ("latex2mathml", lambda: da.report.report(da.load("rp_arm"), folder / "report.html", "lagrange")),
        "plot": ("matplotlib", lambda: motion.plot()),
        "live": ("viser", lambda: da.view(arm, live=True)),
        "video": ("imageio", lambda: da.view(motion, to=folder / "a.gif")),
        "plot, pictures": ("matplotlib", lambda: pictures.draw_tree(arm)),
        "tables": ("pandas", lambda: motion.to_pandas()),
        "tables, xarray": ("xarray", lambda: motion.to_xarray()),
        "control": ("control", lambda: control.linearize(arm).to_control()),
        "cuda": ("cupy", lambda: da.Dynamics(arm, device="cuda").mass_matrix(q)),
        "torch": ("torch", lambda: TorchDynamics(dynamics)),
        "casadi": ("casadi", lambda: dynamics.casadi("mass_matrix")),
        "casadi, in": ("casadi", lambda: da.from_casadi(None)),
        "jax": ("jax", lambda: JaxDynamics(dynamics)),
        "peers": ("pinocchio", lambda: da.compare(arm, folder / "a.urdf", library="pinocchio")),
        "mjcf, compare": ("mujoco", lambda: da.compare(arm, folder / "a.urdf", library="mujoco")),
        "drake": ("drake", lambda: da.compare(arm, folder / "a.urdf", library="drake")),
    }
    failures = 0
    for name, (package, call) in cases.items():
        extra = name.partition(",")[0]
        try:
            call()
        except MissingExtraError as error:
            told = str(error)
            good = error.package == package and f"dalembert[{extra}]" in told and "\n" not in told
        except Exception as error:
            told, good = f"{type(error).__name__}: {error}", False
        else:
            told, good = f"{package} is installed here; nothing to see", "--block" not in sys.argv
        print(f"{'ok  ' if good else 'FAIL'} {name}: {told}")
        failures += not good
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
