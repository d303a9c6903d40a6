"""Make the pictures of the manual that show the viewer and the report: a real browser opens real pages.

    python docs/pictures/screenshots.py [NAME ...]

Needs Chromium; the picture of the Panda needs example-robot-data. The pictures go to docs/assets.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from chromium import Chromium

import dalembert as da
from dalembert.errors import ModelWarning
from dalembert.report import report

ASSETS = Path(__file__).parents[1] / "assets"
READY = "!!window.dalembert"
DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


def shot(page: Path, name: str, script: str = "0", width: int = 1280, height: int = 760, dark: bool = False) -> None:
    """Open a page of the viewer, bring it into a state, and keep what it looks like.

    Args:
        page: the file.
        name: of the picture.
        script: JavaScript that runs before the picture is taken.
        width: of the window.
        height: of the window.
        dark: whether the page should be dark.
    """
    with Chromium(width, height, dark) as browser:
        browser.open(page, READY)
        browser.run(script)
        browser.run(DRAWN)
        browser.picture(ASSETS / name)
        if browser.messages:
            raise RuntimeError(f"{page}: {browser.messages}")


def panda(folder: Path) -> None:
    """A robot of meshes that follows a path by computed torque; forces and energies beside it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        robot = da.load("panda")
    dynamics = da.Dynamics(robot)
    home = np.array([0, -0.6, 0, -2.2, 0, 1.8, 0.8, 0.02])
    swing = np.array([0.9, 0.35, 0.4, 0.5, 0.3, 0.4, 0.5, 0.0])

    def control(t, q, v):
        wanted, rate = home + swing * np.sin(1.5 * t), 1.5 * swing * np.cos(1.5 * t)
        a = -(1.5**2) * swing * np.sin(1.5 * t) + 100 * (wanted - q) + 20 * (rate - v)
        return dynamics.inverse_dynamics(q, v, a)

    motion = da.simulate(robot, home, 1.5 * swing, t=4.0, control=control, rtol=1e-6)
    page = da.view(robot, motion, to=folder / "panda.html")
    shot(
        page,
        "viewer-panda.png",
        "(dalembert.pause(), dalembert.at(0.8), document.querySelector('#joints').open = false)",
    )


def pendulum(folder: Path) -> None:
    """A mechanism without geometry: a skeleton that swings, its energies and its equations."""
    numeric = da.load("double_pendulum", parameters="default")
    motion = da.simulate(numeric, [2.0, 1.0], t=8.0)
    page = da.view(da.load("double_pendulum"), motion, to=folder / "pendulum.html")
    shot(page, "viewer-pendulum.png", "(dalembert.pause(), dalembert.at(2.3))")


def four_bar(folder: Path) -> None:
    """A closed loop, dark."""
    page = da.view("four_bar", q={"drive": 1.1}, to=folder / "four_bar.html")
    shot(page, "viewer-four-bar.png", dark=True)


def inside(folder: Path) -> None:
    """Frames, centres of mass and inertia ellipsoids of an arm, on a phone."""
    page = da.view("demo_arm", q={"lift": -0.4, "bend": 0.9, "pitch": 0.6}, to=folder / "arm.html")
    click = "['frames', 'centres', 'ellipsoids'].forEach((x) => document.querySelector(`[data-layer=${x}]`).click())"
    shot(page, "viewer-phone.png", click, 420, 760)


def derivation(folder: Path) -> None:
    """The first page of a report."""
    page = report(da.load("stacker"), folder / "stacker.html", "kane")
    with Chromium(1000, 1100) as browser:
        browser.open(page)
        browser.picture(ASSETS / "report-stacker.png")


PICTURES: dict[str, Callable[[Path], None]] = {
    "panda": panda, "pendulum": pendulum, "four_bar": four_bar, "inside": inside, "report": derivation,
}  # fmt: skip


if __name__ == "__main__":
    for name in sys.argv[1:] or PICTURES:
        with tempfile.TemporaryDirectory() as place:
            PICTURES[name](Path(place))
        print(name)
