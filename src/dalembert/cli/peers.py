"""The same robot in Pinocchio, where that is installed: a second opinion on values and times."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalembert.errors import DalembertError, ModelWarning, UnsupportedError

if TYPE_CHECKING:
    import numpy as np

    from dalembert.model import Mechanism


class Pinocchio:
    """A mechanism as Pinocchio computes it, in our coordinates.

    Args:
        mechanism: the mechanism.
        model: the ``pinocchio.Model`` of it.
    """

    name = "Pinocchio"

    def __init__(self, mechanism: Mechanism, model: Any):
        import pinocchio

        from dalembert import conventions

        self.library, self.mechanism, self.model = pinocchio, mechanism, model
        self.data = model.createData()
        self.convention = conventions.Pinocchio(mechanism, model)

    @property
    def is_coupled(self) -> bool:
        """Whether mimic joints move on their own there, so that accelerations cannot be compared."""
        return bool(self.model.nv > self.mechanism.nv)

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        c, theirs = self.convention, self.convention.q(q)
        return c.from_tau(theirs, self.library.rnea(self.model, self.data, theirs, c.v(q, v), c.a(q, v, a)))

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        import numpy as np

        theirs = self.convention.q(q)
        upper = np.triu(self.library.crba(self.model, self.data, theirs))
        return self.convention.from_mass_matrix(theirs, upper + np.triu(upper, 1).T)

    def forward_dynamics(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        if self.is_coupled:
            raise UnsupportedError("mimic joints move on their own there, so its accelerations are others")
        c, their_q, their_v = self.convention, self.convention.q(q), self.convention.v(q, v)
        theirs = self.library.aba(self.model, self.data, their_q, their_v, c.tau(q, tau))
        return c.from_a(their_q, their_v, theirs)


def find_peer(mechanism: Mechanism, source: Path | None, base: str | None) -> tuple[Pinocchio | None, str]:
    """The mechanism in Pinocchio, or None and why not.

    A URDF file is read by Pinocchio itself, so that both readers are compared too; other models are handed over as the
    URDF we write.

    Args:
        mechanism: the mechanism; its symbols must have values.
        source: the file it was read from, if any.
        base: ``"free"`` if it was made to float.
    """
    try:
        import pinocchio
    except ImportError:
        return None, "Pinocchio is not installed: pip install pin"
    try:
        root = [pinocchio.JointModelFreeFlyer()] if base == "free" else []
        if source is not None and source.suffix.lower() == ".urdf":
            model = pinocchio.buildModelFromUrdf(str(source), *root)
        else:
            from dalembert.formats import write_urdf

            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ModelWarning)  # gravity has no place in URDF, but one below
                model = pinocchio.buildModelFromXML(write_urdf(mechanism))
        model.gravity.linear = mechanism.gravity
        return Pinocchio(mechanism, model), ""
    except DalembertError as error:
        return None, f"no comparison with Pinocchio: {error}"
    except (RuntimeError, ValueError) as error:  # what Pinocchio raises
        return None, f"Pinocchio cannot read this model: {error}"
