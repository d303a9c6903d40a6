"""Views that show themselves in notebooks: in Jupyter, VS Code and pages of nbconvert, where the output of a cell is
HTML that stands by itself. No server and no extension is needed."""

from __future__ import annotations

import base64
import html
import os
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalembert.errors import DalembertError

if TYPE_CHECKING:
    from dalembert.model import Mechanism
    from dalembert.simulation import Trajectory

HEIGHT = 480
"""Of a view in a notebook, pixels."""

KINDS = {".png": "image/png", ".gif": "image/gif", ".mp4": "video/mp4", ".webm": "video/webm"}
"""Media types of pictures and films."""

_PlainPath: Any = type(Path())  # a class that can be derived from by every supported Python


class ShownFile(_PlainPath):
    """The file that shows a mechanism: a page, a picture or a film. A notebook shows what is in it."""

    def with_segments(self, *segments: str | os.PathLike[str]) -> Path:
        """A path that is made from this one, such as its folder: a plain one."""
        return Path(*segments)

    def _repr_html_(self) -> str | None:
        try:
            if self.suffix.lower() in (".html", ".htm"):
                return frame(self.read_text(encoding="utf-8"))
            return embedded(self.read_bytes(), KINDS[self.suffix.lower()])
        except (OSError, KeyError):
            return None  # the path itself is shown


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    return getattr(shell, "kernel", None) is not None


def frame(page: str, height: int = HEIGHT) -> str:
    """A page inside another one, which it cannot touch.

    Args:
        page: HTML of the whole page.
        height: of the frame, pixels.
    """
    style = f"width:100%;height:{height}px;border:1px solid #8883;border-radius:6px"
    return f'<iframe srcdoc="{html.escape(page)}" sandbox="allow-scripts allow-downloads" style="{style}"></iframe>'


def embedded(data: bytes, kind: str) -> str:
    """A picture or a film inside a page.

    Args:
        kind: its media type.
    """
    address = f"data:{kind};base64,{base64.b64encode(data).decode()}"
    if kind.startswith("video/"):
        return f'<video src="{address}" style="max-width:100%" controls loop muted></video>'
    return f'<img src="{address}" style="max-width:100%" alt="the mechanism"/>'


def thumbnail(mechanism: Mechanism) -> str:
    """A small picture of a mechanism for the page around it; empty where nothing can be drawn.

    Args:
        mechanism: symbols without values get numbers of the order of one.
    """
    from dalembert.viewer.picture import picture

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # who draws a mechanism hears of them; here its tables are wanted
            return embedded(picture(mechanism, size=(480, 320))._repr_png_(), KINDS[".png"])
    except DalembertError:  # a mechanism may be looked at before it is complete
        return ""


def motion_html(trajectory: Trajectory) -> str | None:
    """The page of a motion in a frame; None where there are no bodies to show."""
    from dalembert.viewer.motion import of_bodies
    from dalembert.viewer.page import make

    try:
        moved = of_bodies(trajectory)
        return frame(make(moved.mechanism, moved, None, False, None, True))
    except DalembertError:
        return None
