"""How the motion of joints is written in the equations of recursions: with axes, or with columns for all kinds."""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.model.tree import Tree


@dataclass(frozen=True)
class Joints:
    """How the motion of a joint is written, in a form that is true of the joints at hand.

    Args:
        words: what the letters mean.
        turn: angular velocity across the joint, LaTeX.
        turn_rate: of accelerations in the place of velocities.
        slide: velocity of the origin across the joint.
        slide_rate: of accelerations in the place of velocities.
        force: generalised force of a moment and a force at the joint, a format with fields n and f.
    """

    words: str
    turn: str
    turn_rate: str
    slide: str
    slide_rate: str
    force: str

    def tau(self, moment: str, force: str) -> str:
        """The generalised force of a moment and a force at the joint, LaTeX."""
        return self.force.replace("<n>", moment).replace("<f>", force)


ALONG_AXES = Joints(
    "z is the axis of the joint, on which it turns (sigma = 1) or along which it slides (sigma = 0).",
    r"\sigma_i z_i \dot{q}_i",
    r"\sigma_i z_i \ddot{q}_i",
    r"(1 - \sigma_i) z_i \dot{q}_i",
    r"(1 - \sigma_i) z_i \ddot{q}_i",
    r"\tau_i = \sigma_i z_i^T <n> + (1 - \sigma_i) z_i^T <f>",
)
"""As the THESIS has it: every joint turns on an axis or slides along one."""

ALONG_COLUMNS = Joints(
    "v are the velocities of the joint, which turn the link by Z_w v and move its origin by Z_v v relative to the link "
    "that carries it: Z_w is the axis of a joint that turns (Z_v = 0), Z_v that of one that slides (Z_w = 0), of a "
    "screw Z_v is the pitch times Z_w; a spherical joint has the unit matrix for Z_w, and its v is no rate of "
    "coordinates.",
    r"Z_{\omega i} v_i",
    r"Z_{\omega i} \dot{v}_i",
    r"Z_{v i} v_i",
    r"Z_{v i} \dot{v}_i",
    r"\tau_i = Z_{\omega i}^T <n> + Z_{v i}^T <f>",
)
"""For joints of all kinds."""


def joints_of(tree: Tree) -> Joints:
    """How the motion of the joints of a tree is written."""
    plain = all(link.kind in ("revolute", "prismatic") for link in tree.links)
    return ALONG_AXES if plain else ALONG_COLUMNS


def joint_words(tree: Tree) -> str:
    """What the letters of joints mean, and what is to be known of joints that are not of one degree of freedom."""
    words = joints_of(tree).words
    if len({link.joint for link in tree.links}) < len(tree.links):
        words += " Joints of several freedoms are taken as a chain of such joints with massless links between them."
    if tree.coupled:
        words += " A joint that follows another one adds its generalised force, times its gain, to that of the other."
    return words
