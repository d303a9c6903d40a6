"""Make PDFs of five derivations, as a lecturer would hand them out: a headless browser prints the reports.

    python docs/pictures/documents.py FOLDER [NAME ...]

Needs Chromium and the extra `report`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import sympy
from chromium import Chromium

import dalembert as da
from dalembert.formulations import rigid_body
from dalembert.proof import prove
from dalembert.report import report


def rp_arm(page: Path) -> None:
    """KHATIB's arm, a link that turns and a slider on it, by Lagrange."""
    arm = da.load("rp_arm")
    report(arm, page, "lagrange", proof=prove(arm), title="The RP arm by Lagrange's equations")


def stacker(page: Path) -> None:
    """NGUYEN's stacker in Kronecker form."""
    report(da.load("stacker"), page, "kronecker", title="The stacker in Kronecker form")


def rolling_disc(page: Path) -> None:
    """A thin disc that rolls without slipping, by Kane's method."""
    report(disc(), page, "kane", actuated=[], title="The rolling disc by Kane's method")


def puma560(page: Path) -> None:
    """A robot of six joints by augmented links."""
    report(da.load("puma560"), page, "newton-euler", algorithm="augmented-links", title="The PUMA 560 by Algorithm 5.5")


def free_rigid_body(page: Path) -> None:
    """A rigid body about any of its points, its attitude a quaternion, as FORBES derives it."""
    m, r = sympy.Symbol("m", positive=True), sympy.symbols("r_x r_y r_z")
    I = [[sympy.Symbol(f"I_{min(i, j)}{max(i, j)}") for j in (1, 2, 3)] for i in (1, 2, 3)]
    made = rigid_body(da.Inertia(m, r, np.array(I, dtype=object)))
    report(made, page, title="The rigid body with a quaternion")


def disc() -> da.Mechanism:
    """Position, yaw, lean and roll of a uniform disc that touches the ground; all lengths and masses are symbols."""
    m, r, g = sympy.symbols("m r g", positive=True)
    steps = [("x", "prismatic", [1, 0, 0]), ("y", "prismatic", [0, 1, 0]), ("z", "prismatic", [0, 0, 1]),
             ("psi", "revolute", [0, 0, 1]), ("theta", "revolute", [1, 0, 0]),
             ("phi", "revolute", [0, 1, 0])]  # fmt: skip
    bodies, joints, parent = [], [], "world"
    for name, kind, axis in steps:
        child = "disc" if name == "phi" else f"{name}_stage"
        tensor = m * r**2 * np.diag([sympy.Rational(1, 4), sympy.Rational(1, 2), sympy.Rational(1, 4)])
        bodies.append(da.Body(child, da.Inertia(m, tensor=tensor) if child == "disc" else da.Inertia()))
        joints.append(da.Joint(name, kind, parent, child, axis=axis))
        parent = child
    axle = da.Frame("face", "disc", da.Transform.from_rotation([[1, 0, 0], [0, 0, -1], [0, 1, 0]]))
    rolling = da.Constraint("ground", "rolling-disc", "face", "world", value=r)
    gravity = np.array([0, 0, -g], dtype=object)
    return da.Mechanism("rolling disc", bodies, joints, [axle], [rolling], gravity=gravity)


DOCUMENTS: dict[str, Callable[[Path], None]] = {
    "rp_arm": rp_arm,
    "stacker": stacker,
    "rolling_disc": rolling_disc,
    "puma560": puma560,
    "rigid_body": free_rigid_body,
}


def main(folder: Path, names: list[str]) -> None:
    """Write each page and print it.

    Args:
        folder: where HTML and PDF go.
        names: of :data:`DOCUMENTS`; all if empty.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with Chromium() as browser:
        for name in names or DOCUMENTS:
            page = folder / f"{name}.html"
            DOCUMENTS[name](page)
            browser.open(page)
            browser.pdf(page.with_suffix(".pdf"))
            print(page.with_suffix(".pdf"))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), sys.argv[2:])
