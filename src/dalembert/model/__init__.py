"""What a mechanism is. Frozen data; knows nothing of algorithms."""

from dalembert.model.body import WORLD, Body, Frame, Shape, Surface
from dalembert.model.constraint import CONSTRAINT_KINDS, Constraint
from dalembert.model.contact import Contact
from dalembert.model.force import FORCE_KINDS, Force
from dalembert.model.ground import GROUND_KINDS, Ground
from dalembert.model.inertia import Inertia
from dalembert.model.joint import Joint, Limits, Mimic
from dalembert.model.mechanism import Mechanism
from dalembert.model.tree import Link, Moments, Tree

__all__ = [
    "CONSTRAINT_KINDS", "FORCE_KINDS", "GROUND_KINDS", "WORLD", "Body", "Constraint", "Contact", "Force", "Frame",
    "Ground", "Inertia", "Joint", "Limits", "Link", "Mechanism", "Mimic", "Moments", "Shape", "Surface", "Tree",
]  # fmt: skip
