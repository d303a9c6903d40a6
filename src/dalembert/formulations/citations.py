"""The documents behind the formulations, and what each contributes."""

from __future__ import annotations

from collections.abc import Iterable

from dalembert.errors import ArgumentError

CITATIONS = {
    "PARSA": "K. Parsa, The Lagrangian Derivation of Kane's Equations, Canadian Space Agency",
    "FORBES": "J. R. Forbes, Rigid-Body Equations of Motion, lecture notes MECH 642, McGill University, 2019",
    "THESIS": "C. A. Balafoutis, Dynamic Analysis of Rigid-Link Open-Chain Robot Manipulators Using Cartesian Tensor "
    "Methods, PhD thesis, Concordia University, Montreal, 1989",
    "NGUYEN": "Nguyen Thai Minh Tuan, Pham Thanh Chung, Do Dang Khoa, Phan Dang Phong, Kinematic and Dynamic Analysis "
    "of Multibody Systems Using the Kronecker Product, Vietnam Journal of Science and Technology 57(1), 2019, "
    "doi:10.15625/2525-2518/57/1/12285",
    "KHATIB": "O. Khatib, Lagrange Equations, Explicit Form, lecture slides",
    "KANE": "T. R. Kane, D. A. Levinson, Dynamics: Theory and Applications, McGraw-Hill, 1985",
    "SYMPY": "A. Meurer et al., SymPy: symbolic computing in Python, PeerJ Computer Science 3:e103, 2017",
}
"""Short name -> reference."""


def citation(keys: Iterable[str]) -> str:
    """References, one per line, in the order of their keys.

    Args:
        keys: short names from :data:`CITATIONS`.
    """
    lines = []
    for key in keys:
        if key not in CITATIONS:
            raise ArgumentError(f"there is no source {key!r}; there are {', '.join(CITATIONS)}")
        lines.append(f"[{key}] {CITATIONS[key]}")
    return "\n".join(lines)
