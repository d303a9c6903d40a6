"""Whole-system derivations: equations of motion by every classical route, step by step.

derive          a mechanism, or bodies given by formulas -> Equations, by Lagrange, Kane, Kronecker, Newton-Euler
verify          every route and algorithm against every other
from_lagrangian a user's Lagrangian -> Equations
from_sympy      a finished SymPy model -> Equations
DerivedDynamics equations as something that moves
rigid_body      one free body about any point, any attitude parameters

The way of a derivation: ``mechanism_system`` or ``bodies`` make a ``MultibodySystem`` over a ``Scope`` of symbols; a
route (``lagrange``, ``kane``, ``kronecker``, ``newton_euler``) finds mass matrix and bias; ``completion`` adds drives,
loads and constraints; the result is ``Equations``, made of ``DerivedQuantity`` and ``DerivationStep``.
"""

from dalembert.constraints.gravity_fields import GravityField, InverseSquare, OblatePlanet
from dalembert.formulations.agreement import Agreement
from dalembert.formulations.bodies import MovingBodies, MovingBodyFormula
from dalembert.formulations.derive import derive
from dalembert.formulations.equations import DerivationStep, Equations
from dalembert.formulations.from_sympy import from_sympy
from dalembert.formulations.kronecker import KroneckerFrame
from dalembert.formulations.lagrangian import from_lagrangian
from dalembert.formulations.motion import DerivedDynamics
from dalembert.formulations.pfaffian import NoSlip
from dalembert.formulations.quantity import DerivedQuantity
from dalembert.formulations.rigid_body import rigid_body
from dalembert.formulations.verify import verify

__all__ = [
    "Agreement", "DerivationStep", "DerivedDynamics", "DerivedQuantity", "Equations", "GravityField", "InverseSquare",
    "KroneckerFrame",
    "MovingBodies", "MovingBodyFormula", "NoSlip", "OblatePlanet", "derive", "from_lagrangian", "from_sympy",
    "rigid_body", "verify",
]  # fmt: skip
