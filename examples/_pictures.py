"""What the examples share: whether to be short, and where a picture goes. The mechanics is in the examples."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

SHORT = os.environ.get("DALEMBERT_SHORT", "0") not in ("", "0")
"""Less of everything, for tests: set the environment variable DALEMBERT_SHORT=1."""


def save(name: str, draw: Callable[[Any], Any], size: tuple[float, float] = (8, 4.5)) -> None:
    """Write ``out/<name>.png`` below the current folder, if matplotlib is installed.

    Args:
        name: of the file, without suffix.
        draw: fills an empty matplotlib figure, or gives one of its own.
        size: width and height, inches.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("no picture: pip install 'dalembert[plot]'")
        return
    figure = Figure(figsize=size, layout="constrained")
    figure = draw(figure) or figure
    path = Path("out") / f"{name}.png"
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=120)
    print(f"picture: {path}")
