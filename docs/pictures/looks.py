"""Pictures of what people look at - manual, gallery, notebook, live view - for a look before a release.

    python docs/pictures/looks.py SITE FOLDER [NAME ...]

SITE is the folder that ``mkdocs build`` made. Needs Chromium and the extras docs and live. A page whose scripts
complain ends this with an error; how the pictures look is for eyes.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from chromium import Chromium

import dalembert as da

ROOT = Path(__file__).parents[2]


def shot(address: Path | str, target: Path, wait: float = 1.0, height: int = 900, ours: bool = True) -> None:
    """Open a page, give it time to draw, and keep what it looks like.

    Args:
        address: a file, or where a server is.
        target: the picture.
        wait: seconds.
        height: of the window.
        ours: whether its scripts are ours, and must not complain.
    """
    if isinstance(address, Path) and not address.is_file():
        raise FileNotFoundError(address)
    with Chromium(1280, height) as browser:
        browser.open(address)
        time.sleep(wait)
        browser.picture(target)
        if browser.messages and ours:
            raise RuntimeError(f"{address}: {browser.messages}")


def manual(site: Path, folder: Path) -> None:
    """The first page, and one with formulas."""
    shot(site / "index.html", folder / "manual.png")
    shot(site / "sources" / "kronecker.html", folder / "formulas.png")


def gallery(site: Path, folder: Path) -> None:
    """All examples with their thumbnails."""
    shot(site / "examples" / "index.html", folder / "gallery.png", height=1400)


def notebook(site: Path, folder: Path) -> None:
    """A teaching notebook that ran, as HTML."""
    source = ROOT / "examples" / "notebooks" / "four_bar_linkage.ipynb"
    subprocess.run(
        [sys.executable, "-m", "nbconvert", "--to", "html", "--execute", "--output-dir", folder, source], check=True
    )
    shot(folder / "four_bar_linkage.html", folder / "notebook.png", 3.0, height=2400, ours=False)


def live(site: Path, folder: Path) -> None:
    """A pendulum that swings."""
    pendulum = da.load("double_pendulum", parameters="default")
    with da.view(pendulum, live=True, q=[1.0, 0.5], running=True, open=False) as view:
        shot(view.address, folder / "live.png", 6.0, ours=False)


LOOKS: dict[str, Callable[[Path, Path], None]] = {
    "manual": manual, "gallery": gallery, "notebook": notebook, "live": live,
}  # fmt: skip


if __name__ == "__main__":
    place, target = Path(sys.argv[1]), Path(sys.argv[2])
    target.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[3:] or LOOKS:
        LOOKS[name](place, target)
        print(name)
