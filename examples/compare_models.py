"""Why do two models of one robot give different torques? The first cause, in words, for seven classical mistakes.

Each mistake changes one thing: a mass, a sign of a product of inertia, a tensor about the wrong point, an axis, a zero
position, gravity. `da.compare` names it. The other side may as well be a model of Pinocchio, MuJoCo or Drake.
"""

import numpy as np

import dalembert as da
from _pictures import SHORT, save

arm = da.load("demo_arm")


def with_body(name, change):
    bodies = [body.replace(inertia=change(body.inertia)) if body.name == name else body for body in arm.bodies]
    return arm.replace(bodies=bodies)


def with_joint(name, **changes):
    return arm.replace(joints=[j.replace(**changes) if j.name == name else j for j in arm.joints])


crooked = with_body("forearm", lambda i: i.replace(tensor=i.tensor + 0.004 * (np.ones((3, 3)) - np.eye(3))))
lift = arm.joint("lift")
turn = da.Transform.from_rpy_xyz([0, 0.1, 0], [0, 0, 0])
mistakes = {
    "a forgotten tool": ("mass", arm, da.add_payload(arm, "flange", da.Inertia.sphere(0.3, 0.03))),
    "signs of products of inertia": (
        "inertia tensor",
        crooked,
        with_body("forearm", lambda i: i.replace(tensor=i.tensor - 0.004 * (np.ones((3, 3)) - np.eye(3)))),
    ),
    "a tensor about the origin": (
        "inertia tensor",
        arm,
        with_body("upper_arm", lambda i: i.replace(tensor=i.tensor_about_origin)),
    ),
    "millimetres for metres": (
        "centre of mass",
        arm,
        with_body("forearm", lambda i: i.replace(center=i.center * 1e-3)),
    ),
    "an axis the other way": ("joint axis", arm, with_joint("bend", axis=[0, -1, 0])),
    "another zero position": ("zero position", arm, with_joint("lift", placement=lift.placement @ turn)),
    "gravity of the pole": ("gravity", arm, da.with_gravity(arm, [0, 0, -9.832])),
}
errors = {}
for name, (topic, here, there) in mistakes.items():
    found = da.compare(here, there, states=2 if SHORT else 20)
    print(f"{name}\n    {found.first}")
    assert not found.agrees and found.first.topic == topic
    errors[name] = {row.quantity: row.error for row in found.measured}


def draw(figure):
    axis = figure.subplots()
    quantities = list(next(iter(errors.values())))
    table = np.array([[row[quantity] for quantity in quantities] for row in errors.values()])
    shown = axis.imshow(np.log10(np.maximum(table, 1e-16)), cmap="magma_r", aspect="auto")
    axis.set_xticks(range(len(quantities)), quantities)
    axis.set_yticks(range(len(errors)), list(errors))
    axis.set_title("what a mistake changes")
    figure.colorbar(shown, label="relative difference, power of ten")


save("compare_models", draw, size=(10, 4.5))
