"""Descriptions of mechanisms with everything in them, and damages: of bytes, numbers, words, lines, elements."""

import random
import re

INERTIAL = (
    '<inertial><origin xyz="0.1 0 0" rpy="0.1 0.2 0.3"/><mass value="1.5"/>\n'
    '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>'
)

ZOO = f"""<?xml version="1.0"?>
<robot name="zoo">
<material name="red"><color rgba="1 0 0 1"/></material>
<link name="world"/>
<link name="a">{INERTIAL}<visual><geometry><box size="1 1 1"/></geometry><material name="red"/></visual></link>
<link name="b">{INERTIAL}</link>
<link name="c">{INERTIAL}<visual><geometry><mesh filename="package://x/y.stl"/></geometry></visual></link>
<link name="d">{INERTIAL}</link>
<link name="e"/>
<joint name="j1" type="floating"><parent link="world"/><child link="a"/></joint>
<joint name="j2" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 1 1"/>
<limit lower="-1" upper="1" effort="5" velocity="2"/><dynamics damping="0.1" friction="0.2"/></joint>
<joint name="j3" type="prismatic"><parent link="b"/><child link="c"/><origin xyz="1 0 0" rpy="0 1.57079632679 0"/>
<limit lower="0" upper="1" effort="5" velocity="2"/><mimic joint="j2" multiplier="2" offset="0.5"/></joint>
<joint name="j4" type="planar"><parent link="c"/><child link="d"/><axis xyz="0 0 1"/></joint>
<joint name="j5" type="fixed"><parent link="d"/><child link="e"/></joint>
<transmission name="t"><joint name="j2"/></transmission>
</robot>
"""

PARTS = """name = "parts"
gravity = [0, 0, "-g"]
[parameters]
g = 9.81
k = "pi/3"
[[body]]
name = "b"
mass = 2
center = [0.1, "k", 0]
inertia = [0.1, 0.1, 0.1, 0.01, 0, "k/100"]
shapes = [{ kind = "box", size = [1, 2, 3], rpy = [0, "pi/2", 0], colour = [1, 0, 0, 1] }]
[[body]]
name = "c"
mass = 1
inertia = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
[[joint]]
name = "j"
kind = "helical"
parent = "world"
child = "b"
pitch = 0.1
axis = [1, 2, 3]
limits = { lower = -1, upper = "pi", velocity = inf }
[[joint]]
name = "u"
kind = "universal"
parent = "b"
child = "c"
rotation = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
axis2 = "-y"
damping = "k**2/(1 + sin(g))"
[[frame]]
name = "tool"
body = "c"
xyz = [0, 0, 1]
[[constraint]]
name = "loop"
kind = "distance"
a = "c"
value = 0.5
placement_a = { xyz = [1, 0, 0] }
[[force]]
name = "s"
kind = "spring"
a = "b"
b = "tool"
stiffness = 10
"""

NASTY = [
    "nan", "inf", "-inf", "1e999", "-1e308", "1e-320", "0", "-1", "", " ", "0 0 0", "1 2", "1 2 3 4", "9" * 20, "-0.0",
    "1e60", "1e30", "\\0", "\u0000", "é", "\U0001f980", "${x}", "&amp;", "&x;", "<", ">", '"', "'", "[", "]", "{", "}",
    "=", "#", "\n", "9**9**9", "pi/2", "1/0", "sqrt(-1)", "((((", "x*y", "true", "0x" + "f" * 300, "1979-05-27", "[]",
    "{}", '"world"', "world", "base", "j1", "j2", "link1", "revolute", "fixed", "planar", "free", "floating",
    "spherical", "coupling", "<!DOCTYPE a [<!ENTITY x 'y'>]>", "<![CDATA[", "<!--", "-->", "<link name='a'/>",
    "[[body]]", "[dh]", "[[dh.link]]", "[[",
]  # fmt: skip

NUMBER = re.compile(r"-?\d+\.?\d*(?:e-?\d+)?")
WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
QUOTED = re.compile(r'"[^"\n]*"')


ELEMENT = re.compile(r"<(\w+)[^<>]*/>|<(link|joint|inertial)\b.*?</\2>", re.DOTALL)
VALUE = re.compile(r'(?<==")[^"<>]*(?=")')
TAME = [word for word in NASTY if not set(word) & set('<>&"\0\n')]


def rearrange(text: str, rng: random.Random) -> str:
    """One damage that leaves XML well formed: a value, or an element deleted, doubled or moved."""
    start, end = rng.choice(list(ELEMENT.finditer(text)) or [re.match("", text)]).span()
    match rng.randrange(6):
        case 0:
            return text[:start] + text[end:]
        case 1:
            return text[:end] + text[start:end] + text[end:]
        case 2:
            to = rng.choice(list(ELEMENT.finditer(text)) or [re.match("", text)]).end()
            return text[:to] + text[start:end] + text[to:]
        case _:
            values = list(VALUE.finditer(text))
            start, end = rng.choice(values).span() if values else (0, 0)
            other = rng.choice(values)[0] if values and rng.random() < 0.5 else rng.choice(TAME)
            return text[:start] + other + text[end:]


def mutate(text: str, rng: random.Random) -> str:
    """One damage: of a byte, a token, a quoted value, a line, or a slice."""

    def span(pattern: re.Pattern[str]) -> tuple[int, int]:
        found = list(pattern.finditer(text))
        return rng.choice(found).span() if found else (0, 0)

    position = rng.randrange(len(text) + 1)
    lines = text.split("\n")
    match rng.randrange(12):
        case 0:
            return (
                text[:position]
                + chr(rng.choice([0, 9, 10, 34, 60, 62, 38, 65, 127, 255, 0x20AC, rng.randrange(32, 127)]))
                + text[position + 1 :]
            )
        case 1:
            return text[:position] + text[position + rng.randrange(1, 20) :]
        case 2:
            return text[:position] + rng.choice(NASTY) + text[position:]
        case 3 | 4 | 5:
            start, end = span(rng.choice([NUMBER, NUMBER, QUOTED]))
            inside = 1 if text[start : start + 1] == '"' and rng.random() < 0.8 else 0
            return text[: start + inside] + rng.choice(NASTY) + text[end - inside :]
        case 6:
            start, end = span(WORD)
            other = span(WORD)
            return text[:start] + text[slice(*other)] + text[end:]
        case 7:
            k = rng.randrange(len(lines))
            return "\n".join(lines[:k] + lines[k + 1 :])
        case 8:
            k, line = rng.randrange(len(lines)), rng.choice(lines)
            return "\n".join([*lines[:k], line, *lines[k:]])
        case 9:
            i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
            lines[i], lines[j] = lines[j], lines[i]
            return "\n".join(lines)
        case 10:
            size = rng.randrange(200)
            return text[:position] + text[position : position + size] * rng.randrange(2, 5) + text[position + size :]
        case _:
            return text[:position]
