"""One free rigid body about any of its points, with any attitude parameters (FORBES; THESIS chapter IV).

    mixed form, nu = [v_a; w_b]:   M(q) nud = f_non + [f_a; m_b] ,
        M = [[m 1, -C^T c~], [c~ C, J]] ,   f_non = [C^T w~ c~ w ; -w~ J w]
    body form,  nu = [v_b; w_b]:   M_b nud + nu^x M_b nu = [f_b; m_b] ,
        M_b = [[m 1, -c~], [c~, J]] ,       nu^x = [[w~, 0], [v~, w~]]

C maps inertial to body components, c is the first moment of mass and J the inertia, both about the reference point z
(not necessarily the centre of mass), body axes. Attitude parameters q obey ``qdot = Gamma w``; where they are redundant
the multipliers of their constraints vanish under Gamma^T.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import product
from dalembert.algebra.attitude import Attitude, DirectionCosines, EulerAngles, ModifiedRodrigues, Quaternion
from dalembert.algebra.vectors import cross, dual
from dalembert.constraints.gravity_fields import GravityField
from dalembert.errors import ArgumentError
from dalembert.formulations.equations import DerivationStep, Equations, Lazy
from dalembert.formulations.lagrange import redundant_bias
from dalembert.formulations.quantity import DerivedQuantity
from dalembert.formulations.scope import Scope
from dalembert.model import Inertia
from dalembert.model.checks import expect, expect_choice
from dalembert.model.record import frozen_array, is_finite


def rigid_body(
    inertia: Inertia,
    attitude: Attitude | None = None,
    *,
    form: str = "mixed",
    gravity: Any = (0, 0, 0),
    points: Sequence[Any] = (),
    name: str = "rigid body",
) -> Equations:
    """Equations of motion of a free rigid body; the reference point is the origin of the frame of ``inertia``.

    Positions are ``q = [position of the reference point, inertial axes; attitude parameters]``; the inputs are the
    force and the moment about the reference point, in the axes of the velocities. Where a symbol of yours is called
    like a coordinate or velocity (``x``, ``psi``, ``u``), that coordinate gets a bar
    (``xbar``).

    Args:
        inertia: mass, centre of mass and central inertia tensor in a body frame; symbols allowed.
        attitude: attitude parameters, a quaternion by default.
        form: ``"mixed"``, linear velocity in inertial axes and angular velocity in body axes; or ``"body"``, both in
            body axes.
        gravity: acceleration of free fall, inertial axes, or a field: :class:`InverseSquare`, :class:`OblatePlanet`.
        points: where further forces act, three numbers each in the body frame. The inputs are then force and moment
            about the reference point, and after these the force at every point in inertial axes: [f_a; m_b] gains
            [f; r~ C f] (FORBES, virtual work), as Gamma^T times the generalised force along the parameters.
        name: for display.
    """
    expect_choice(form, ("mixed", "body"), "rigid_body, form")
    expect(name, str, "rigid_body, name")
    if not isinstance(gravity, GravityField):
        gravity = frozen_array(gravity, (3,), "rigid_body, gravity")
        if not all(map(is_finite, gravity)):
            raise ArgumentError(f"rigid_body, gravity: expected finite numbers, got {gravity}")
    if not isinstance(inertia, Inertia):
        raise ArgumentError(f"rigid_body takes an Inertia, got {type(inertia).__name__}")
    if attitude is not None and not hasattr(attitude, "Gamma"):
        raise ArgumentError(
            f"attitude = {attitude!r}; give one of dalembert.algebra.attitude: Quaternion(), DirectionCosines(), "
            "EulerAngles('321'), ModifiedRodrigues()"
        )
    if isinstance(points, (str, bytes)) or not hasattr(points, "__len__"):
        raise ArgumentError(f"rigid_body, points: expected a list of points of three numbers, got {points!r}")
    arms = [frozen_array(point, (3,), "rigid_body, points") for point in points]
    body = _Body(inertia, attitude or Quaternion(), form, gravity, arms)
    M, c, g, kinematics = body.mass_matrix(), body.inertia_forces(), body.gravity_forces(), body.kinematics()

    def make(kind: str, symbol: str, values: Any) -> DerivedQuantity:
        return DerivedQuantity(body.scope, kind, symbol, values)

    rotation = make("rotation", "C", body.C)
    turning = make("parameter_rates", r"\Gamma_a", body.attitude.Gamma(body.parameters))
    rates = make("kinematics", r"\dot{q}", kinematics)
    extras = {
        "rate_matrix": lambda: make("rate_matrix", "S_a", body.attitude.S(body.parameters)),
        "velocity_map": lambda: make("velocity_map", r"\Gamma", body.Gamma()),
        "rotation": lambda: rotation,
        "angular_momentum": lambda: make("angular_momentum", "h", body.angular_momentum()),
    }
    if form == "mixed":
        extras["redundant_bias"] = lambda: make("redundant_bias", r"\ell", body.redundant_bias(M))
        extras["projected_bias"] = lambda: make(
            "projected_bias", r"\Gamma^T \ell", product(body.Gamma().T, body.redundant_bias(M))
        )
    Xi = body.attitude.Xi(body.parameters)
    if Xi is not None:
        extras["parameter_constraints"] = lambda: make("parameter_constraints", r"\Xi_a", Xi)
    mass, coriolis, weight = make("mass_matrix", "M", M), make("coriolis", "c", c), make("gravity", "G", g)
    return Equations(
        name,
        "rigid-body",
        body.scope,
        mass_matrix=mass,
        coriolis=coriolis,
        gravity=weight,
        bias=make("bias", "h", c + g),
        kinematics=rates,
        input_map=make("input_map", "D", body.input_map()),
        extras=Lazy(extras),
        derivation=_steps(body, (rotation, turning), rates, (mass, coriolis, weight)),
        sources=("FORBES", "THESIS", *(("PARSA",) if isinstance(gravity, GravityField) else ())),
        gravity_field=gravity if isinstance(gravity, GravityField) else None,
    )


class _Body:
    """The ingredients, as traced scalars."""

    def __init__(self, inertia: Inertia, attitude: Attitude, form: str, gravity: Any, points: Sequence[np.ndarray]):
        self.scope, self.attitude, self.form = Scope(), attitude, form
        taken = _symbols(inertia, gravity, *points)
        self.q = self.scope.input("q", ["x", "y", "z", *_parameter_names(attitude)], taken)
        linear = ("v_x", "v_y", "v_z") if form == "mixed" else ("u", "v", "w")
        self.v = self.scope.input("v", [*linear, "omega_x", "omega_y", "omega_z"], taken)
        self.scope.quaternions = [3] if isinstance(attitude, Quaternion) else []
        self.position, self.parameters = self.q[:3], self.q[3:]
        self.w = self.v[3:]
        read = self.scope.read
        self.mass = read(inertia.mass)[()]
        self.center, self.central = read(inertia.center), read(inertia.tensor)
        self.first, self.J = read(inertia.first_moment), read(inertia.tensor_about_origin)
        self.points = [read(point) for point in points]
        self.C = attitude.dcm(self.parameters)
        self.field: GravityField | None = None
        self.gravity = gravity
        if isinstance(gravity, GravityField):
            self.field = gravity.mapped(lambda x: read(x)[()])

    def input_map(self) -> np.ndarray:
        """Of force and moment about the reference point, and of forces at points in inertial axes."""
        D = np.eye(6, dtype=int).astype(object)
        for r in self.points:
            push = arrays.identity(3) if self.form == "mixed" else self.C
            D = np.concatenate([D, np.concatenate([push, product(dual(r), self.C)])], axis=1)
        return D

    def mass_matrix(self) -> np.ndarray:
        skew = dual(self.first)
        coupling = product(skew, self.C) if self.form == "mixed" else skew
        M = np.zeros((6, 6), dtype=object)
        for k in range(3):
            M[k, k] = self.mass
        M[3:, :3], M[:3, 3:], M[3:, 3:] = coupling, coupling.T, self.J  # (c~ C)^T = -C^T c~
        return M

    def inertia_forces(self) -> np.ndarray:
        w, c = self.w, self.first
        spin = cross(w, product(self.J, w))
        pull = cross(w, cross(w, c))  # centripetal: minus w~ c~ w
        if self.form == "mixed":
            return np.concatenate([product(self.C.T, pull), spin])
        v = self.v[:3]
        return np.concatenate([self.mass * cross(w, v) + pull, cross(c, cross(w, v)) + spin])

    def gravity_forces(self) -> np.ndarray:
        if self.field is not None:
            force, moment = self.field.load_in_body(self.mass, self.central, self.C.T, self.position, self.center)
            moment = moment + cross(self.center, force)
            return -np.concatenate([product(self.C.T, force) if self.form == "mixed" else force, moment])
        inertial = self.scope.read(self.gravity)
        field = product(self.C, inertial)
        force = self.mass * (inertial if self.form == "mixed" else field)
        return -np.concatenate([force, cross(self.first, field)])

    def Gamma(self) -> np.ndarray:
        """Rates of position and attitude parameters per velocity."""
        G = np.zeros((len(self.q), 6), dtype=object)
        G[:3, :3] = arrays.identity(3) if self.form == "mixed" else self.C.T
        G[3:, 3:] = self.attitude.Gamma(self.parameters)
        return G

    def attitude_maps(self) -> list[DerivedQuantity]:
        """S, and Xi where the parameters are redundant, for reading."""
        found = [DerivedQuantity(self.scope, "rate_matrix", "S_a", self.attitude.S(self.parameters))]
        if (Xi := self.attitude.Xi(self.parameters)) is not None:
            found.append(DerivedQuantity(self.scope, "parameter_constraints", r"\Xi_a", Xi))
        return found

    def kinematics(self) -> np.ndarray:
        return product(self.Gamma(), self.v)

    def redundant_bias(self, M: np.ndarray) -> np.ndarray:
        """Lagrange's left-hand side in position and attitude parameters, without accelerations."""
        S = np.zeros((6, len(self.q)), dtype=object)
        S[:3, :3], S[3:, 3:] = arrays.identity(3), self.attitude.S(self.parameters)
        return redundant_bias(self.scope, self.q, self.v, S, self.Gamma(), M)

    def angular_momentum(self) -> np.ndarray:
        """About the reference point, body axes."""
        v = product(self.C, self.v[:3]) if self.form == "mixed" else self.v[:3]
        return product(self.J, self.w) + cross(self.first, v)


def _symbols(inertia: Inertia, gravity: Any, *points: Any) -> set[str]:
    """Names that the user has given to numbers; coordinates of the same name get a bar."""
    in_field, uniform = (gravity.symbols, ()) if isinstance(gravity, GravityField) else (set(), gravity)
    given = [inertia.mass, *inertia.center, *inertia.tensor.flat, *uniform, *(x for point in points for x in point)]
    return in_field | {symbol.name for x in given if scalar.is_sympy(x) for symbol in x.free_symbols}


def _parameter_names(attitude: Attitude) -> list[str]:
    if isinstance(attitude, Quaternion):
        return ["epsilon1", "epsilon2", "epsilon3", "eta"]
    if isinstance(attitude, DirectionCosines):
        return [f"c_{i}{j}" for i in (1, 2, 3) for j in (1, 2, 3)]
    if isinstance(attitude, EulerAngles):
        return ["psi", "theta", "phi"]
    return [f"p{k}" for k in range(1, attitude.nq + 1)]


def _words(attitude: Attitude) -> str:
    if isinstance(attitude, Quaternion):
        return "a unit quaternion, its scalar last"
    if isinstance(attitude, DirectionCosines):
        return "the nine direction cosines, the rows of C one after the other"
    if isinstance(attitude, EulerAngles):
        return f"three angles of turns about moving axes, in the sequence {attitude.sequence}"
    if isinstance(attitude, ModifiedRodrigues):
        return "modified Rodrigues parameters, the axis of the turn times the tangent of a quarter of its angle"
    return f"the parameters of {attitude!r}"


def _steps(
    body: _Body, attitude: tuple[DerivedQuantity, ...], rates: DerivedQuantity, parts: tuple[DerivedQuantity, ...]
) -> tuple[DerivationStep, ...]:
    mixed, redundant = body.form == "mixed", body.attitude.Xi(body.parameters) is not None
    mass, coriolis, weight = parts
    falling = _gravity_steps(body, weight)
    axes, way, turned, back = ("inertial", "1", " C", "C^T ") if mixed else ("body", "C^T", "", "")
    removed = (
        "Multiplying by Gamma^T removes the multipliers, since Xi Gamma vanishes (FORBES), and leaves Newton's and "
        "Euler's "
        "equations (THESIS IV)."
        if redundant
        else "Multiplied by Gamma^T they are Newton's and Euler's equations (FORBES; THESIS IV)."
    )
    left = r"S^T M \dot{v} + S^T \dot{M} v + \begin{bmatrix} 0 \\ " + (
        r"\left( \dot{S}_a - \frac{\partial \omega}{\partial q_a} \right)^T (M v)_\omega + \left( \frac{\partial\, C "
        r"\dot{p}}{\partial q_a} \right)^T m \tilde{r} \omega \end{bmatrix}"
    )
    right = "f" + redundant * r" + \Xi^T \lambda"
    lagrange = [
        r"\frac{d}{dt}\frac{\partial K}{\partial\dot{q}} - \frac{\partial K}{\partial q} = " + right,
        *([f"{left} = {right}", r"S = \begin{bmatrix} \mathbf{1} & 0 \\ 0 & S_a \end{bmatrix}"] if mixed else []),
        *([r"\Xi = \begin{bmatrix} 0 & \Xi_a \end{bmatrix}"] if redundant else []),
    ]
    pull = r"C^T \tilde{\omega} m \tilde{r} \omega"
    if not mixed:
        pull = r"-m \tilde{\omega} v_b + \tilde{\omega} m \tilde{r} \omega"
    twist = r"-\tilde{\omega} J \omega" if mixed else r"-m \tilde{r} \tilde{\omega} v_b - \tilde{\omega} J \omega"
    return (
        DerivationStep(
            "Attitude",
            f"It is given by {_words(body.attitude)}; C maps components in inertial axes to those in body axes.",
            (*attitude, *body.attitude_maps()),
            r"\omega = S_a\, \dot{q}_a, \quad \dot{q}_a = \Gamma_a\, \omega, \quad S_a\, \Gamma_a = \mathbf{1}"
            + redundant * r", \quad \Xi_a\, \dot{q}_a = 0, \quad \Xi_a\, \Gamma_a = 0",
        ),
        DerivationStep(
            "Identities",
            "They hold for all attitude parameters; s is any constant vector, and the rates of the parameters are held "
            "fixed where omega is differentiated (FORBES).",
            (),
            r"\left( \dot{S}_a - \frac{\partial \omega}{\partial q_a} \right) \Gamma_a = -\tilde{\omega}, \quad "
            r"\frac{\partial\, C^T s}{\partial q_a} \Gamma_a = -C^T \tilde{s}, \quad "
            r"\frac{\partial\, C s}{\partial q_a} \Gamma_a = \widetilde{C s}",
        ),
        DerivationStep(
            "Kinematics",
            f"Velocity of the reference point in {axes} axes, angular velocity in body axes.",
            (rates,),
            rf"\dot{{q}} = \Gamma(q)\, v, \quad \Gamma = \begin{{bmatrix}} {way} & 0 \\ 0 & \Gamma_a \end{{bmatrix}}",
        ),
        DerivationStep(
            "Kinetic energy",
            "With the position r of the centre of mass and the inertia J, both from the reference point in body axes.",
            (
                DerivedQuantity(body.scope, "center", "r", body.center),
                DerivedQuantity(body.scope, "inertia", "J", body.J),
                mass,
            ),
            r"K = \tfrac12 v^T M v, \quad M = \begin{bmatrix} m \mathbf{1} & "
            rf"-m {back}\tilde{{r}} \\ m \tilde{{r}}{turned} & J \end{{bmatrix}}",
        ),
        *falling,
        DerivationStep(
            "Lagrange's equations" + " with multipliers" * redundant,
            "In position and parameters; f are the forces on them"
            + (", lambda the multipliers of the parameters' constraints (FORBES)." if redundant else " (FORBES)."),
            (),
            r", \quad ".join(lagrange),
        ),
        DerivationStep(
            "Projection",
            f"{removed} With the identities all that is left of the left-hand side is the mass matrix and f_non; the "
            f"virtual "
            f"work of a force f_{'a' if mixed else 'b'} on the reference point, {axes} axes, and a moment m_b about "
            f"it, body "
            "axes, gives the right-hand side.",
            (coriolis,) if falling else (coriolis, weight),
            r"\Gamma^T f = \begin{bmatrix} f_" + ("a" if mixed else "b") + r" \\ m_b \end{bmatrix}, \quad "
            r"M \dot{v} = f_{\mathrm{non}} + \Gamma^T f, \quad c = -f_{\mathrm{non}}, \quad "
            rf"f_{{\mathrm{{non}}}} = \begin{{bmatrix}} {pull} \\ {twist} \end{{bmatrix}}",
        ),
    )


def _gravity_steps(body: _Body, weight: DerivedQuantity) -> list[DerivationStep]:
    """How the forces of gravity come about, if there are any."""
    if body.field is not None:
        inertia = " I is the inertia about the centre of mass." if body.field.extended else ""
        attractor = getattr(body.field, "attractor", None)
        place = (
            []
            if attractor is None
            else [DerivedQuantity(body.scope, "attractor", "p_A", np.array(attractor, dtype=object))]
        )
        return [
            DerivationStep(
                "Gravity",
                "It depends on position (PARSA, after (27)); p is the position of the reference point, inertial axes. "
                f"{body.field.words()}{inertia}",
                (*place, weight),
                rf"{body.field.energy_formula()}, \quad {body.field.letters()}, \quad "
                r"G = \Gamma^T \frac{\partial U}{\partial q}",
            )
        ]
    if all(map(scalar.is_zero, body.gravity)):
        return []
    fall = DerivedQuantity(body.scope, "free_fall", r"\mathbf{g}", body.scope.read(body.gravity))
    force = r"m \mathbf{g}" if body.form == "mixed" else r"m C \mathbf{g}"
    return [
        DerivationStep(
            "Gravity",
            "The acceleration of free fall, inertial axes, gives a force that acts on the centre of mass.",
            (fall, weight),
            rf"G = -\begin{{bmatrix}} {force} \\ m \tilde{{r}} C \mathbf{{g}} \end{{bmatrix}}",
        )
    ]
