"""Inertial and drive parameters from a recorded motion."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError, IdentificationWarning, SingularityError
from dalembert.identification.consistency import most_plausible, nearest_consistent
from dalembert.identification.regression import LinearTorques, Visible, measured
from dalembert.model import Inertia, Mechanism
from dalembert.model.checks import expect_real
from dalembert.model.names import named_velocities
from dalembert.simulation.state import as_positive
from dalembert.text.layout import WIDTH, aligned, filled, page_width, shortened, wrapped
from dalembert.text.tables import TextTable, as_html

FEW_SAMPLES = 30
"""Samples below which no noise of single joints can be estimated, only one for all."""

SLIGHT = 0.01
"""Part of the torques that a drive parameter of which nothing is known explains initially."""


@dataclass(frozen=True, eq=False)
class Identification:
    """What a motion revealed about a mechanism.

    Args:
        visible: the combinations of parameters that torques can show.
        values: of these combinations.
        deviations: their standard deviations.
        covariance: of the values.
        residual: root mean square of what the torques still lack, per velocity.
        condition: of the weighted regressor, its columns scaled to the same length.
        parameters: every parameter by name: physically consistent, with the visible combinations as measured within
            their accuracy, near the initial ones where nothing is visible.
        mechanism: the mechanism with the inertias found and, if they were asked for, damping, friction and armature of
            its joints.
        freedom: number of measurements beyond that of parameters, from which the noise was estimated; infinite if it
            was given.
        doubts: why measurements and mechanism may not belong together, in words; warned of, too.
        record: the measurements, and what least squares made of them.
        torques: the linear model of them.
    """

    visible: Visible
    values: np.ndarray
    deviations: np.ndarray
    covariance: np.ndarray
    residual: np.ndarray
    condition: float
    parameters: dict[str, float]
    mechanism: Mechanism
    freedom: float = np.inf
    doubts: tuple[str, ...] = ()
    record: LeastSquaresFit | None = field(default=None, repr=False)
    torques: LinearTorques | None = field(default=None, repr=False)

    def predict(self, q: Any, v: Any, a: Any, signs: Any = None) -> np.ndarray:
        """Generalised forces of another motion by the visible combinations that were found, (T, nv).

        Args:
            q: positions, (T, nq).
            v: velocities, (T, nv).
            a: accelerations, (T, nv).
            signs: of the velocities, filtered, as for :func:`~dalembert.identification.identify`; by default exact,
                which predicts unfiltered torques.
        """
        if self.torques is None:
            raise ArgumentError("this identification does not know its model; make it by identify(...)")
        W, known = self.torques.matrix(q, v, a, signs)
        return np.asarray(known + W[..., list(self.visible.kept)] @ self.values)

    def plot(self, t: Any = None) -> Any:
        """A figure of the measured torques, those of the model, and what is left, joint by joint.

        Args:
            t: times of the samples, s; their numbers by default.
        """
        from dalembert.identification.plot import plot_torques

        return plot_torques(self, t)

    def plot_prediction(self, q: Any, v: Any, a: Any, tau: Any, signs: Any = None, t: Any = None) -> Any:
        """The same for another motion, which the parameters have not seen: the test that counts.

        Args:
            q: positions, (T, nq).
            v: velocities, (T, nv).
            a: accelerations, (T, nv).
            tau: measured generalised forces, (T, nv).
            signs: of the velocities, if tau is filtered: filtered alike.
            t: times of the samples, s; their numbers by default.
        """
        from dalembert.identification.plot import plot_torques

        return plot_torques(self, t, (named_velocities(self.mechanism, tau, "tau"), self.predict(q, v, a, signs)))

    def plot_residuals(self) -> Any:
        """A figure of what the model lacks: over the velocity of the joint, where friction shows, and its correlation
        from sample to sample, which is none where noise is all that is left.
        """
        from dalembert.identification.plot import plot_residuals

        return plot_residuals(self)

    def interval(self, confidence: float = 0.95) -> np.ndarray:
        """Lower and upper bound of each value, (b, 2): by the normal distribution if the noise was given, by Student's
        if it was estimated.

        Args:
            confidence: probability with which the truth lies between, for normal noise.
        """
        from scipy.stats import norm, t

        confidence = expect_real(confidence, "confidence")
        if not 0 < confidence < 1:
            raise ArgumentError(f"confidence = {confidence}; it must lie between 0 and 1")
        at = (1 + confidence) / 2
        reach = float(t.ppf(at, self.freedom) if np.isfinite(self.freedom) else norm.ppf(at)) * self.deviations
        return np.stack([self.values - reach, self.values + reach], axis=1)

    def __str__(self) -> str:
        page = page_width()
        numbers = filled([row[1:] for row in (TITLES, *self._cells())], 0)
        room = page - len("  ".join(numbers[0])) - 2
        names = [shortened(name, room) for name in (TITLES[0], *self.visible.combinations)]
        return "\n".join([*aligned([(name, *row) for name, row in zip(names, numbers)]), *self._words(page)])

    def _cells(self) -> list[tuple[str, str, str]]:
        found = zip(self.visible.combinations, self.values, self.deviations)
        return [(name, f"{value:.5g}", f"{deviation:.2g}") for name, value, deviation in found]

    def _words(self, page: int = WIDTH) -> list[str]:
        sizes = np.array2string(self.residual, precision=3, max_line_width=page - 2, prefix="  ")
        lines = [f"condition number {self.condition:.3g}; residuals, root mean square:", f"  {sizes}"]
        return lines + [line for doubt in self.doubts for line in wrapped(doubt, page=page)]

    def _repr_html_(self) -> str:
        return as_html([TextTable.of(TITLES, self._cells()), *self._words()])


TITLES = ("combination", "value", "deviation")
"""Of the table of an Identification."""


def identify(
    mechanism: Mechanism | Dynamics,
    q: Any,
    v: Any,
    a: Any,
    tau: Any,
    signs: Any = None,
    *,
    unknown: Sequence[str] | None = None,
    drives: Sequence[str] = (),
    noise: Any = None,
    prior: float = 1e-3,
) -> Identification:
    """Parameters from positions, velocities, accelerations and generalised forces at samples of a motion.

    Least squares, weighted by the noise of each joint's torque, gives the visible combinations and their covariance. Of
    all parameters that real bodies and drives can have (positive definite pseudo-inertia; damping, friction and rotor
    inertia not negative), those are then found that agree best with these combinations and, where nothing is visible,
    lie near the initial ones. Force elements and constraints are not supported. An IdentificationWarning says if no
    real bodies give these torques, if no parameters explain half of them, or if they are a hundred times larger or
    smaller than those of the initial bodies: signs, units or the order of joints are then wrong, as a rule.

    Deviations hold for noise that is independent from sample to sample: thin out filtered records to about twice the
    cut-off frequency.

    Args:
        mechanism: geometry, gravity, the inertias of known bodies, and a first guess of the unknown ones. Damping,
            friction and armature that are known count if it is a Dynamics that includes them.
        q: positions, (T, nq).
        v: velocities, (T, nv).
        a: accelerations, (T, nv).
        tau: measured generalised forces, (T, nv).
        signs: what multiplies Coulomb friction, (T, nv): the signs of v by default. If tau is filtered they must be
            filtered alike, ``low_pass(t, np.sign(v), cutoff)``, or friction is too small by much more than its
            deviation; ``Log.samples`` does it.
        unknown: names of the bodies whose parameters are wanted; all that move by default.
        drives: which parameters of the drives are wanted: ``damping``, ``friction``, ``armature``, ``offset``.
        noise: standard deviation of each torque, nv; by default it is estimated from what is left over, with fewer than
            30 samples one for all.
        prior: weight of the initial parameters, against deviations counted in sigmas; small and positive.
    """
    torques = LinearTorques(mechanism, unknown, drives)
    model, nv = torques.mechanism, torques.mechanism.nv
    q, v, a, tau = measured(model, q, v, a, tau)
    visible = torques.visible
    kept = list(visible.kept)
    W, known = torques.matrix(q, v, a, signs)
    W, rest = W[..., kept], tau - known
    if W.shape[0] * nv <= len(kept):
        raise ArgumentError(f"{len(tau)} samples are too few for {len(kept)} parameters")
    sigma = None
    if noise is not None:
        sigma = named_velocities(model, noise, "noise")
        if sigma.shape not in ((), (nv,)) or not ((sigma > 0) & np.isfinite(sigma)).all():
            raise ArgumentError(f"noise = {noise}; give a positive standard deviation, or {nv}, one for each velocity")
        sigma = np.broadcast_to(sigma, (nv,))
    if not rest.any():
        raise ArgumentError("tau is zero, or what the known bodies need, at every sample: nothing was measured")
    prior = as_positive("prior", prior)
    values, covariance, condition, left = _weighted(W, rest, sigma, visible)
    bodies = [nearest_consistent(_guess(model.body(name).inertia)) for name in torques.unknown]
    first = 10 * len(bodies)
    positive = [first + k for k, (drive, _) in enumerate(torques.drive_parameters) if drive != "offset"]
    initial = np.concatenate([*bodies, np.zeros(len(visible.names) - first)])
    initial[positive] = SLIGHT * np.sqrt((tau**2).mean()) / torques.lengths[positive] + 1e-12
    theta = most_plausible(visible.matrix, values, covariance, initial, len(bodies), prior, positive)
    freedom = np.inf if sigma is not None else float(tau.size - len(kept))
    guessed = bool(bodies) and not any(model.body(name).inertia.is_zero for name in torques.unknown)
    guess = W @ (visible.matrix @ initial) if guessed else None
    record = LeastSquaresFit(tau, rest, left, values, covariance, freedom, sigma)
    doubtful = tuple(doubts(record, visible, theta, guess))
    warn_of(doubtful)
    return Identification(
        visible, values, np.sqrt(np.diag(covariance)), covariance, np.sqrt((left**2).mean(axis=0)), condition,
        dict(zip(visible.names, theta.tolist())), _updated(torques, theta), freedom, doubtful, record, torques,
    )  # fmt: skip


def _weighted(
    W: np.ndarray, rest: np.ndarray, sigma: np.ndarray | None, visible: Visible
) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
    """Least squares; without given noise the weights come from the residuals, in a few rounds."""
    samples, nv, count = W.shape
    scale = np.ones(nv) if sigma is None else sigma
    for _ in range(1 if sigma is not None else 4):
        values, inverse, condition = solved(triangle(W, rest, scale), visible.combinations)
        left = rest - W @ values
        if sigma is None:
            squares = (left**2).sum(axis=0) if samples >= FEW_SAMPLES else np.full(nv, (left**2).sum() / nv)
            scale = np.maximum(np.sqrt(squares / (samples - count / nv)), 1e-12 * np.abs(rest).max() + 1e-300)
    return values, inverse @ inverse.T, condition, left


def triangle(W: np.ndarray, rest: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """All that least squares needs to know of a record, however long: R of [W, rest] = Q R, weighted, (b+1, b+1).

    Those of two records, one above the other, have the R of both; and |R [x; -1]|^2 is the sum of the squares that
    values x leave.

    Args:
        W: the visible columns, (T, nv, b).
        rest: what they have to explain, (T, nv).
        scale: standard deviation of each torque, (nv,).
    """
    rows, right = (W / scale[:, None]).reshape(rest.size, W.shape[-1]), (rest / scale).ravel()
    return np.asarray(np.linalg.qr(np.hstack([rows, right[:, None]]), mode="r"))


def solved(R: np.ndarray, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray, float]:
    """Values, a root of their covariance, and the condition number; SingularityError where the motion cannot
    distinguish them.

    Args:
        R: a :func:`triangle`, or several, one above the other.
    """
    count = R.shape[-1] - 1
    lengths = np.linalg.norm(R[:, :count], axis=0)
    if not lengths.all():
        missing = [name for name, x in zip(names, lengths) if not x]
        raise SingularityError(f"the motion does not show {missing[0]} at all; move more joints")
    U, size, Vt = np.linalg.svd(R[:, :count] / lengths, full_matrices=False)
    if size[-1] < 1e-10 * size[0]:
        weakest = names[int(np.argmax(np.abs(Vt[-1])))]
        raise SingularityError(
            f"the motion cannot distinguish {count} parameters (condition number {size[0] / size[-1]:.1g}), worst "
            f"{weakest}; use a motion with a better excitation score"
        )
    values = (Vt.T @ ((U.T @ R[:, count]) / size)) / lengths
    return values, Vt.T / size / lengths[:, None], float(size[0] / size[-1])


def _guess(inertia: Inertia) -> np.ndarray:
    """Initial parameters; for a body without mass a small one, because there is nothing else to start from."""
    found = Inertia.sphere(0.1, 0.05) if inertia.is_zero else inertia
    return np.asarray(found.parameters, dtype=float)


def _updated(torques: LinearTorques, theta: np.ndarray) -> Mechanism:
    model = torques.mechanism
    new = {
        name: Inertia.from_parameters(theta[10 * k : 10 * k + 10].tolist()) for k, name in enumerate(torques.unknown)
    }
    bodies = tuple(body.replace(inertia=new.get(body.name, body.inertia)) for body in model.bodies)
    found: dict[str, dict[str, float]] = {joint.name: {} for joint in model.joints}
    for (drive, owner), value in zip(torques.drive_parameters, theta[10 * len(torques.unknown) :].tolist()):
        if drive != "offset":
            found[owner][drive] = value
    for joint in model.joints:
        if joint.mimic is not None:  # its drive is counted at its leader
            found[joint.name] = {drive: 0.0 for drive in torques.drives if drive != "offset"}
    joints = tuple(joint.replace(**found[joint.name]) for joint in model.joints)
    return model.replace(bodies=bodies, joints=joints)


# --------------------------------------------------------------------- measurements that do not belong to the mechanism


LEFT = 0.5
"""Part of the torques that may be left over; noise may, if it is known to be so large."""

SCALE = 100.0
"""How many times larger or smaller torques may be than those of the initial bodies."""

CHANCE = 1e-6
"""Probability with which noise alone may make real bodies look impossible."""


@dataclass(frozen=True, eq=False)
class LeastSquaresFit:
    """What was measured, and what least squares made of it.

    Args:
        tau: torques, (T, nv).
        rest: what the unknown parameters have to explain of them, (T, nv).
        left: what least squares leave, (T, nv).
        values: the combinations by least squares, (b,).
        freedom: number of measurements beyond that of values; infinite if the noise is known.
        noise: of each torque, if it is known, (nv,).
    """

    tau: np.ndarray
    rest: np.ndarray
    left: np.ndarray
    values: np.ndarray
    covariance: np.ndarray
    freedom: float
    noise: np.ndarray | None


def doubts(record: LeastSquaresFit, visible: Visible, found: np.ndarray, guess: np.ndarray | None) -> Iterator[str]:
    """What should make one look at the measurements again, in words.

    Args:
        visible: the combinations of parameters that torques show.
        found: the parameters of real bodies and drives.
        guess: torques that the initial bodies would need, (T, nv), if there are such bodies.
    """
    off = visible.matrix @ found - record.values
    if not _within(off, record):
        k = int(np.argmax(np.abs(off) / np.sqrt(np.diag(record.covariance))))
        value = record.values[k]
        yield (
            f"no real bodies give these torques: least squares find {visible.combinations[k]} = {value:.4g}, the most "
            f"plausible real bodies have {value + off[k]:.4g}. Look at the signs and units of the torques and at the "
            "order of the joints; or forces act that the mechanism does not know (drives=...)"
        )
    share = _size(record.left) / max(_size(record.tau), _size(record.rest))
    if share > LEFT and (record.noise is None or _size(record.left / record.noise) > 2):
        yield (
            f"no parameters explain the torques: {share:.0%} of them are left over (root mean square). Look at the "
            "units of positions, velocities and accelerations, at the times of the samples and at the order of the "
            "joints"
        )
    ratio = 1.0 if guess is None else _size(record.rest) / max(_size(guess), 1e-300)
    if not 1 / SCALE < ratio < SCALE:
        yield (
            f"the torques of the unknown bodies are {ratio:.3g} times those of the initial ones. Look at their unit, "
            "N m, and at the gear ratio; or begin with a better guess of the masses"
        )


def _within(off: np.ndarray, record: LeastSquaresFit) -> bool:
    """Whether noise explains that the combinations of real bodies are off the measured ones.

    In sigmas, least squares leave as many squares as there are measurements; the deviation adds its own. It may add
    as many (models are never right to the last sigma), or what chance allows where measurements are few.
    """
    from scipy.stats import f

    size = np.sqrt(np.diag(record.covariance))
    root = np.linalg.cholesky(record.covariance / np.outer(size, size) + 1e-13 * np.eye(len(size)))
    added = float((np.linalg.solve(root, off / size) ** 2).sum())
    chance = len(off) * float(f.isf(CHANCE, len(off), min(record.freedom, 1e9)))
    return added <= max(record.left.size, chance)


def warn_of(found: Sequence[str]) -> None:
    """Warn whoever called ``identify``."""
    for text in found:
        warnings.warn(text, IdentificationWarning, stacklevel=3)


def _size(x: np.ndarray) -> float:
    """Root mean square."""
    return float(np.sqrt((x**2).mean()))
