"""Contacts: geometry, rows, laws of contact and friction, and the solvers of both.

    m = dalembert.load(...)                          # Mechanism.contacts: pairs of shapes that may touch
    motion = dalembert.simulate(m, q0, v0, t=2.0)    # law="rigid" by default where there are contacts; step, sweeps,
    many = dalembert.rollout(m, q0, v0, 1000, 1e-3)  # limits="all" (stops of joints), lift=True (out of the ground)

    motion.contacts["foot"].force                    # (T, 3) normal, tangent 1, tangent 2, N; also gap, slip, mode, t
    motion.contacts.forces                           # (..., T, points, 3); names, gaps, slip, mode (0 open, 1 sticks,
                                                     # 2 slides), positions, axes, world_forces, moments, joint_forces
    motion.contacts.residual                         # (..., T) m/s: by how much the law is violated; impulse_residual
    motion.contacts.worst, motion.contacts.converged # (...) over all steps; a warning counts those that did not
    motion.contacts.friction_loss                    # (..., T) J, with impact_loss and push_work

    dyn = dalembert.Dynamics(m, limits="all")        # dyn.contacts: names of points and rows
    dyn.contact_step(q, v, tau, impulses, h)         # one step as a kernel, to differentiate and to export
    dyn.contact_points(q)                            # gap, position, axes of every point

geometry, pairs, surfaces   where two shapes touch
rows                        contacts, stops and dry friction as rows on velocities
carriers, following         bodies on many points by their twist
rigid                       the law of rigid contact and its solver

Names are imported when first used, so that what needs geometry only does not load the readers of meshes.
"""

from typing import TYPE_CHECKING, Any

_HOMES = {"ContactSelection": "selection", "LeftOut": "selection", "contacts": "selection"}

if TYPE_CHECKING:
    from dalembert.contact.selection import ContactSelection, LeftOut, contacts

__all__ = ["ContactSelection", "LeftOut", "contacts"]

if not TYPE_CHECKING:  # with it, type checkers would take every misspelt name for one of ours

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        if name not in _HOMES:
            raise AttributeError(f"module 'dalembert.contact' has no attribute {name!r}")
        globals()[name] = value = getattr(import_module(f"dalembert.contact.{_HOMES[name]}"), name)
        return value
