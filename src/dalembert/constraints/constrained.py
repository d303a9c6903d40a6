"""What the numerics of constraints ask of a mechanism: :class:`~dalembert.dynamics.Dynamics` has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dalembert.model import Mechanism

if TYPE_CHECKING:
    from dalembert.constraints.analysis import Analysis
    from dalembert.constraints.pivots import Pivots
    from dalembert.constraints.rank import Known
    from dalembert.constraints.rows import ConstraintSet, Row
    from dalembert.constraints.scaling import Scaling
    from dalembert.constraints.solve import Solution
    from dalembert.constraints.vicinity import Sample


class Constrained(Protocol):
    """A mechanism with the rows of its constraints, possibly none, evaluated in NumPy.

    Attributes:
        mechanism: the mechanism.
        numbers: the same with numbers for its symbols.
        constraints: the constraints that hold.
        rows: what every row is, in order.
        reference: positions around which rows are compared.
        independent: names of the independent speeds that were asked for.
        scaling: what is one of every coordinate and row.
        usual_size: the least singular value that counts, relative to the largest, around the reference.
        samples: assembled positions around the reference.
        pivots: independent rows and velocities there.
        positional: the same of the rows on positions.
    """

    mechanism: Mechanism
    constraints: ConstraintSet
    reference: np.ndarray
    independent: tuple[str, ...] | None

    @property
    def numbers(self) -> Mechanism: ...

    @property
    def rows(self) -> tuple[Row, ...]: ...

    @property
    def scaling(self) -> Scaling: ...

    @property
    def usual_size(self) -> float: ...

    @property
    def samples(self) -> list[Sample]: ...

    @property
    def pivots(self) -> Pivots: ...

    @property
    def positional(self) -> Pivots: ...

    def evaluate(self, quantity: str, *state: Any, **options: Any) -> Any:
        """The results of a kernel in double precision, whatever the device."""

    def design(self, parameters: Any) -> np.ndarray | None:
        """Values of the parameters as an array, (..., p), where any are given."""

    def known(self, q: Any, t: Any, positional: bool = False) -> Known:
        """What is known of the rank of G at positions."""

    def solve(self, q: Any, v: Any, tau: Any, t: Any = 0.0) -> Solution:
        """Accelerations and multipliers at any position."""

    def analyse(self, q: Any, t: float = 0.0, *, v: Any = None) -> Analysis:
        """Degrees of freedom, redundancy and singularity at a position."""

    def replace(self, **changes: Any) -> Any:
        """The same with other settings."""

    def for_design(self, parameters: Any) -> Any:
        """The same with other values of its parameters."""

    @property
    def parameter_names(self) -> tuple[str, ...]: ...

    @property
    def parameter_values(self) -> np.ndarray: ...

    def velocity_names(self) -> tuple[str, ...]:
        """A name for every velocity."""
