"""An empty figure, or a word on how to get matplotlib."""

from __future__ import annotations

from typing import Any

from dalembert.errors import MissingExtraError


def new_figure(purpose: str, width: float = 8, height: float = 4.5) -> Any:
    """A figure that belongs to no window, and that a notebook shows as a picture.

    Args:
        purpose: what it is for, for the message if matplotlib is missing.
        width: inches.
        height: inches.
    """
    try:
        from dalembert.simulation.notebook_figure import NotebookFigure
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plot", purpose) from error
    return NotebookFigure(figsize=(width, height), layout="constrained")
