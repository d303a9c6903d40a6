"""The figure of matplotlib, with what notebooks ask objects for; imported only where matplotlib is asked for."""

from __future__ import annotations

import io

from matplotlib.figure import Figure


class NotebookFigure(Figure):
    """A figure that knows its picture.

    Notebooks learn to show figures when pyplot chooses its backend, which figures without a window never ask for. Where
    they have learnt it, they show the figure their way, once: what is found for a type goes before what objects offer.
    """

    def _repr_png_(self) -> bytes:
        picture = io.BytesIO()
        self.savefig(picture, format="png")
        return picture.getvalue()
