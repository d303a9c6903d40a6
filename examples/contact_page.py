"""A page with a hopper that computes by itself: the step with contacts as JavaScript, in one file that can be mailed.

The page steps it sixteen times between two pictures and says by how much the law of contact is violated; a slider sets
the push. Nothing is loaded from anywhere.
"""

from pathlib import Path

import numpy as np

import dalembert as da
from dalembert import Body, Force, Inertia, Joint, Mechanism, Shape

REST, STEP = 0.3, 1e-3

bodies = [
    Body("trunk", Inertia.sphere(2.0, 0.1)),
    Body("foot", Inertia.sphere(0.1, 0.03), collisions=[Shape.sphere(0.03)]),
]
joints = [
    Joint("rail", "prismatic", "world", "trunk", axis=[0, 0, 1]),
    Joint("leg", "prismatic", "trunk", "foot", axis=[0, 0, -1]),
]
spring = Force("spring", "joint-spring", "leg", stiffness=1500.0, damping=4.0, rest=REST)
stop = Force("stop", "joint-stop", "leg", stiffness=2e4, damping=20.0, upper=REST)
bare = Mechanism("hopper", bodies, joints, forces=[spring, stop])
hopper = da.Dynamics(da.contacts(bare, friction=0, pairs=[("foot", "world")]).mechanism)

step = hopper.export("contact_step", "javascript")
rows = hopper.contacts.count
page = f"""<!doctype html>
<meta charset="utf-8"><title>A hopper</title>
<style>body {{ font: 16px sans-serif; max-width: 40em; margin: 2em auto }} canvas {{ border: 1px solid #ccc }}</style>
<h1>A hopper</h1>
<p>The leg pushes with <input id="push" type="range" min="0" max="40" value="12"> <b id="newton"></b> N as it extends.
<p><canvas id="picture" width="300" height="420"></canvas> <p id="law">
<script type="module">
{step}
const q = [0.6, {REST}], v = [0, 0], p = Array({rows}).fill(0), h = [{STEP}], pixels = 500
const context = picture.getContext("2d")
const next = {{ q: [0, 0], v: [0, 0], p: Array({rows}).fill(0), residual: [0] }}

function advance() {{
  const tau = [0, q[1] < {REST} - 0.01 && v[1] > 0 ? +push.value : 0]
  contact_step(q, v, tau, p, h, [0], next.q, next.v, next.p, next.residual, [0], [0], [0, 0], [0], [0, 0, 0], [0, 0])
  next.q.forEach((x, k) => (q[k] = x)); next.v.forEach((x, k) => (v[k] = x)); next.p.forEach((x, k) => (p[k] = x))
}}

function draw() {{
  for (let k = 0; k < 16; ++k) advance()
  const height = z => picture.height - 20 - pixels * z, ball = (z, r) => {{
    context.beginPath(); context.arc(150, height(z), pixels * r, 0, 2 * Math.PI); context.fill()
  }}
  context.clearRect(0, 0, picture.width, picture.height)
  context.fillStyle = "#455a64"
  context.fillRect(0, height(0), picture.width, 20)
  context.fillRect(148, height(q[0]), 4, pixels * q[1])
  ball(q[0], 0.07)
  ball(q[0] - q[1], 0.03)
  newton.textContent = push.value
  law.textContent = `The ground pushes with ${{(p[0] / h[0]).toFixed(1)}} N; the law is violated by ${{
    next.residual[0].toExponential(0)}} m/s.`
  requestAnimationFrame(draw)
}}
draw()
</script>
"""
Path("out").mkdir(exist_ok=True)
Path("out/contact_page.html").write_text(page, encoding="utf-8")
print(f"out/contact_page.html: {len(page) / 1000:.0f} kB, of which the step is {len(step) / 1000:.0f} kB")


def push(t, q, v):
    return np.array([0.0, 12.0 if q[1] < REST - 0.01 and v[1] > 0 else 0.0])


motion = da.simulate(hopper, [0.6, REST], t=1.0, control=push, step=STEP)
print(f"after 1 s the page, as Python does, has the trunk at {motion.q[-1, 0]:.6f} m")
assert motion.contacts.converged
