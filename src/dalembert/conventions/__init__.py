"""Whole vectors and matrices between dalembert and other libraries: Pinocchio, MuJoCo, Drake.

Every library orders joints, quaternions and the axes of a free body's velocity in its own way. An object of this
package knows one mechanism and the same mechanism loaded by another library, and converts

    q, v, a, tau, the inertia matrix and Jacobians,

there (``.q(q)``, ``.v(q, v)``, ...) and back (``.from_q(q)``, ``.from_v(q, v)``, ...). Arrays may have leading batch
dimensions. Joints are recognised by name, and every joint is checked to have the same axis and place on both sides.
"""

from dalembert.conventions.convention import Convention
from dalembert.conventions.drake import Drake
from dalembert.conventions.mujoco import MuJoCo
from dalembert.conventions.pinocchio import Pinocchio

__all__ = ["Convention", "Drake", "MuJoCo", "Pinocchio"]
