"""The attributes of MJCF that are read without the ``mujoco`` package, or that change no motion."""

from __future__ import annotations

from dalembert.formats.mjcf_source import ACTUATORS, IGNORED, Beyond
from dalembert.formats.xml import Element

TURNED = "quat axisangle euler xyaxes zaxis"

WRITTEN = {
    "compiler": "angle assetdir autolimits balanceinertia boundinertia boundmass convexhull coordinate discardvisual "
    "eulerseq exactmeshinertia fitaabb fusestatic inertiafromgeom inertiagrouprange meshdir savecanonical savecompiled "
    "saveinertial settotalmass strippath texturedir usethread alignfree",
    "worldbody": "name pos",
    "body": f"name pos {TURNED} childclass mocap gravcomp user sleep simple",
    "frame": f"name pos {TURNED} childclass",
    "inertial": f"pos {TURNED} mass diaginertia fullinertia",
    "joint": "name class type pos axis range limited ref springref stiffness damping frictionloss armature margin "
    "group user solimpfriction solimplimit solreffriction solreflimit springyield actuatorfrcrange actuatorfrclimited "
    "actuatorgravcomp",
    "freejoint": "name group align",
    "geom": f"name class type pos {TURNED} fromto size mass density material rgba friction contype conaffinity condim "
    "priority group solref solimp solmix margin gap mesh hfield user fluidcoef fluidshape castshadow",
    "site": f"name class type pos {TURNED} fromto size material rgba group user",
    "mesh": "name class file scale vertex face normal texcoord refpos refquat content_type smoothnormal maxhullvert "
    "material inertia",
    "hfield": "name nrow ncol size elevation",
    "connect": "name class active solref solimp body1 body2 site1 site2 anchor",
    "weld": "name class active solref solimp body1 body2 site1 site2 anchor relpose torquescale",
    "tendon": "name class active solref solimp tendon1 tendon2 polycoef",
    "fixed": "name class group limited range margin stiffness damping frictionloss springlength springyield width "
    "material rgba user solreflimit solimplimit solreffriction solimpfriction armature actuatorfrclimited "
    "actuatorfrcrange",
    "pair": "name class geom1 geom2 condim friction solref solimp margin gap solreffriction",
    "exclude": "name body1 body2",
    "default": "class",
    "equality": "active solref solimp",
}
WRITTEN["spatial"] = WRITTEN["fixed"]

PLACES = {
    "mujoco": "compiler option size statistic visual default custom asset worldbody contact equality tendon "
    "actuator sensor keyframe deformable",
    "worldbody": "body frame geom site light camera",
    "body": "inertial joint freejoint body frame geom site light camera",
    "frame": "body frame geom site light camera",
    "asset": "mesh hfield texture material skin",
    "equality": "connect weld joint tendon",
    "tendon": "fixed spatial",
    "contact": "pair exclude",
    "default": "default mesh texture material joint geom site camera light pair equality tendon " + " ".join(ACTUATORS),
    "option": "flag",
    "compiler": "lengthrange",
    "fixed": "joint",
    "spatial": "site geom pulley",
    "actuator": " ".join(ACTUATORS),
    "deformable": "skin",
}
"""Element -> elements in it; those that are named nowhere have none that matter."""

EQUAL_JOINTS = "name class active solref solimp joint1 joint2 polycoef"
FREE = ("option", "flag", "mujoco", "asset", "contact", "actuator", "pulley", *ACTUATORS)
"""Elements of which the attributes that matter are read, and others change no motion."""


def check(root: Element) -> None:
    """Raise :class:`Beyond` for the first element or attribute that is not read here.

    Args:
        root: with its includes in place.
    """
    waiting = [(root, "mujoco", "")]
    while waiting:
        element, tag, above = waiting.pop()
        known = _attributes(tag, above)
        if known is not None:
            for name in element.attributes:
                if name not in known:
                    raise Beyond(element, f"{name}= of <{element.tag}>")
        for child in reversed(element.children):
            if child.tag not in PLACES.get(tag, "").split():
                raise Beyond(child, f"<{child.tag}> in <{element.tag}>")
            if child.tag not in IGNORED:
                waiting.append((child, child.tag, tag))


def _attributes(tag: str, above: str) -> list[str] | None:
    """The attributes that an element may have; None where they do not matter."""
    if tag in FREE or above == "spatial" or (above == "default" and tag == "equality"):
        return None
    if above == "equality" and tag == "joint":
        return EQUAL_JOINTS.split()
    if above == "fixed" and tag == "joint":
        return ["joint", "coef"]
    if above == "default" and tag == "tendon":
        return WRITTEN["fixed"].split()
    return WRITTEN[tag].split() if tag in WRITTEN else []
