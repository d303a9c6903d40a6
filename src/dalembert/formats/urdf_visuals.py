"""What a robot of URDF looks like: colours and simple shapes; meshes by name only, they need not exist."""

from __future__ import annotations

from typing import Any

from dalembert.formats.urdf_elements import Findings, number, numbers, origin
from dalembert.formats.xml import Element
from dalembert.model.body import Shape

Colour = tuple[float, float, float, float]


def colours(robot: Element, findings: Findings) -> dict[str, Colour]:
    """Colours of the named materials of a robot.

    Args:
        robot: the root element.
        findings: remembers colours out of range.
    """
    found: dict[str, Colour] = {}
    for material in robot.all("material"):
        colour = _colour(material, findings)
        if colour and material.attributes.get("name"):
            found[material.attributes["name"]] = colour
    return found


def _colour(material: Element, findings: Findings) -> Colour | None:
    element = material.one("color")
    if element is None:
        return None
    rgba = numbers(element, "rgba", 4)
    clipped: Any = tuple(min(max(x, 0.0), 1.0) for x in rgba)
    if clipped != rgba:
        findings.assumed.append(f"colour {rgba} (line {element.line}) is not within 0..1 and was clipped")
    return clipped


def shapes(link: Element, named: dict[str, Colour], findings: Findings) -> tuple[Shape, ...]:
    """The visual geometry of a link.

    Args:
        link: the link element.
        named: colours of the robot's materials.
        findings: remembers geometry that is not known.
    """
    found = []
    for visual in link.all("visual"):
        placement = origin(visual, findings)
        material = visual.one("material")
        colour = None
        if material is not None:
            colour = _colour(material, findings) or named.get(material.attributes.get("name", ""))
        for element in visual.need("geometry").children:
            shape = _shape(element)
            if shape is None:
                findings.skipped[f"visual {element.tag}"] += 1
                continue
            found.append(shape.replace(placement=placement, **({"colour": colour} if colour else {})))
    return tuple(found)


def _shape(element: Element) -> Shape | None:
    match element.tag:
        case "box":
            size = numbers(element, "size", 3)
            if min(size) < 0:
                raise element.error(f"<box>: size {size} must not be negative")
            return Shape("box", size)
        case "sphere":
            return Shape("sphere", (number(element, "radius", least=0),))
        case "cylinder" | "capsule":
            return Shape(element.tag, (number(element, "radius", least=0), number(element, "length", least=0)))
        case "mesh":
            return Shape("mesh", numbers(element, "scale", 3, (1.0, 1.0, 1.0)), mesh=element.attribute("filename"))
    return None
