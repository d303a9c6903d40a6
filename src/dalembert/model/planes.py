"""Planar joints whose normal gets its numbers late: x and y may then lie along other directions of the plane.

No formula without cases gives two directions for every normal, so a normal with symbols counts as one that points up;
see :func:`~dalembert.model.joint.plane_axes`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dalembert.algebra.scalar import is_sympy
from dalembert.model.constants import floats, is_finite
from dalembert.model.joint import plane_axes
from dalembert.model.mechanism import Mechanism


def turned_planes(before: Mechanism, after: Mechanism, values: Mapping[Any, Any]) -> Iterator[str]:
    """A sentence for every planar joint whose x and y changed their directions when its normal became numbers.

    Args:
        before: the mechanism with symbols.
        after: the same with values in their place.
        values: by symbol.
    """
    for old, new in zip(before.joints, after.joints):
        if old.kind != "planar" or floats(old.axis) is not None or (normal := floats(new.axis)) is None:
            continue
        now = plane_axes(normal)
        was = [[x.subs(values) if is_sympy(x) else x for x in axis] for axis in plane_axes(old.axis)]
        if all(map(is_finite, (*was[0], *was[1]))) and np.allclose(np.array(was, dtype=float), now, atol=1e-9):
            continue
        x, y = (f"[{', '.join(f'{entry:.4g}' for entry in axis + 0.0)}]" for axis in now)
        yield (
            f"joint {new.name!r}: x and y of its plane are now along {x} and {y}; while its normal had symbols they "
            "were the axes x and y turned with z by the shortest rotation, so its coordinates have another meaning"
        )
