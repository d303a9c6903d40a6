"""The same robot in Pinocchio, where that is installed: a second opinion on values and times."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from dalembert.errors import DalembertError, ModelWarning

if TYPE_CHECKING:
    from dalembert.comparison.pinocchio import PinocchioPeer
    from dalembert.model import Mechanism


def find_peer(mechanism: Mechanism, source: Path | None, base: str | None) -> tuple[PinocchioPeer | None, str]:
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
        return None, "Pinocchio is not installed: pip install 'dalembert[peers]'"
    from dalembert.comparison.pinocchio import PinocchioPeer
    from dalembert.formats.registry import format_of

    try:
        root = [pinocchio.JointModelFreeFlyer()] if base == "free" else []
        if source is not None and (format := format_of(source)) and format.name == "URDF":
            model = pinocchio.buildModelFromUrdf(str(source), *root)
        else:
            from dalembert.formats import write_urdf

            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ModelWarning)  # gravity has no place in URDF, but one below
                model = pinocchio.buildModelFromXML(write_urdf(mechanism))
        model.gravity.linear = mechanism.gravity
        return PinocchioPeer(mechanism, model), ""
    except DalembertError as error:
        reason = str(error).partition("; write TOML")[0]  # advice for those who wish to write URDF
        return None, f"no comparison with Pinocchio: {reason}"
    except (RuntimeError, ValueError) as error:  # what Pinocchio raises
        return None, f"Pinocchio cannot read this model: {error}"
