"""Reinforcement learning: thousands of cart-poles, each with masses of its own, learn to balance within a minute.

An environment needs three things: steps of a whole batch in one call, a reset of those that fell, and other parameters
in every copy. `rollout` gives the first and the third in compiled code; the second is one line of NumPy. The policy is
linear with Gaussian exploration, and trained by the plain policy gradient, with nothing but NumPy.
"""

import os
import time
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import dalembert as da
from dalembert.algebra.scalar import select

SHORT = os.environ.get("DALEMBERT_SHORT", "0") not in ("", "0")
ENVIRONMENTS, STEPS, UPDATES = (1024, 60, 40) if SHORT else (2048, 120, 60)
PERIOD, FINE = 0.02, 4  # s between decisions, each of them four steps of the integrator

# ---- the mechanism; its masses and length stay inputs, so that every environment has its own
model = da.load("cart_pole")
values = {"M": 1.0, "m": 0.25, "l": 0.5, "I": 0.02, "g": 9.81}
dyn = da.Dynamics(model, parameters=values)
rng = np.random.default_rng(0)


class CartPoles:
    """Cart-poles side by side. A pole that leans by more than 0.6 rad, or a cart 2.4 m away, begins anew."""

    def __init__(self, count, spread, start):
        self.count, self.range = count, start
        scale = rng.uniform(1 - spread, 1 + spread, (3, count))
        self.parameters = {"M": scale[0] * 1.0, "m": scale[1] * 0.25, "l": scale[2] * 0.5}
        self.q, self.v = self.start(count)

    def start(self, count):
        return rng.uniform(-self.range, self.range, (2, count, 2))

    def observe(self):
        return np.concatenate([self.q, self.v], axis=1)

    def step(self, push):
        """All environments by one period: a reward for each, and whether it ended."""
        run = da.rollout(
            dyn, self.q, self.v, FINE, PERIOD / FINE, control=push[:, None, None], hold=FINE, actuated=["rail"],
            parameters=self.parameters, record=False,
        )  # fmt: skip
        self.q, self.v = run.final_q, run.final_v
        fell = (np.abs(self.q[:, 1]) > 0.6) | (np.abs(self.q[:, 0]) > 2.4)
        reward = np.where(fell, 0.0, 1.0 - 0.1 * self.q[:, 0] ** 2)
        if fell.any():
            self.q[fell], self.v[fell] = self.start(fell.sum())
        return reward, fell


# ---- a step of the batch is the step of one mechanism: checked before anything is learnt
environment = CartPoles(ENVIRONMENTS, spread=0.4, start=0.35)
push, before = rng.normal(size=ENVIRONMENTS), (environment.q[3], environment.v[3])
environment.step(push)
own = {**values, **{name: x[3] for name, x in environment.parameters.items()}}
alone = da.simulate(model, *before, PERIOD, control=lambda t, q, v: [push[3], 0.0], parameters=own)
assert np.allclose(environment.q[3], alone.q[-1], atol=1e-8)

# ---- policy gradient: push = 10 (w . x) + noise; what came after an action, better than average, is made likelier
w, noise, moments, history = np.zeros(4), 3.0, [np.zeros(4), np.zeros(4)], []
began, decisions = time.perf_counter(), 0
for update in range(1, UPDATES + 1):
    environment.q, environment.v = environment.start(ENVIRONMENTS)
    seen, tried, rewards, ends = [], [], [], []
    for _ in range(STEPS):
        x, explored = environment.observe(), noise * rng.normal(size=ENVIRONMENTS)
        reward, fell = environment.step(10 * x @ w + explored)
        seen.append(x), tried.append(explored), rewards.append(reward), ends.append(fell)
    decisions += STEPS * ENVIRONMENTS
    later, returns = np.zeros(ENVIRONMENTS), []
    for reward, fell in zip(rewards[::-1], ends[::-1]):
        later = reward + 0.97 * np.where(fell, 0.0, later)
        returns.append(later)
    gain = np.array(returns[::-1])
    gain = (gain - gain.mean(axis=1, keepdims=True)) / (gain.std() + 1e-9)
    slope = 10 * np.einsum("te,te,tei->i", gain, np.array(tried), np.array(seen)) / (noise**2 * gain.size)
    moments = [0.9 * moments[0] + 0.1 * slope, 0.99 * moments[1] + 0.01 * slope**2]  # Adam
    w = w + 0.3 * (moments[0] / (1 - 0.9**update)) / (np.sqrt(moments[1] / (1 - 0.99**update)) + 1e-8)
    history.append(np.mean(rewards))
    if update % (UPDATES // 5) == 0:
        print(f"update {update:3d}: mean reward {history[-1]:.3f}")
taken = time.perf_counter() - began
print(f"{decisions:,} decisions in {taken:.1f} s: {decisions / taken:,.0f} per second, learning included")

# ---- the test: other cart-poles, with masses it never saw, for ten seconds, in one call: the policy is compiled too
fresh = CartPoles(ENVIRONMENTS, spread=0.4, start=0.25)


def policy(t, q, v):
    force = 10 * (w[0] * q[0] + w[1] * q[1] + w[2] * v[0] + w[3] * v[1])
    return [select(force > 40, 40, select(force < -40, -40, force)), 0]  # no motor is stronger


run = da.rollout(dyn, fresh.q, fresh.v, 500, PERIOD, control=policy, hold=1, parameters=fresh.parameters, every=5)
stays = (np.abs(run.q[:, :, 1]) < 0.6).all(axis=1)
print(f"weights {w.round(2)}; {stays.mean():.1%} of {ENVIRONMENTS} unseen cart-poles stay upright for 10 s")
assert history[-1] > history[0] and stays.mean() > (0.8 if SHORT else 0.95)

figure = Figure(figsize=(9, 3.6), layout="constrained")
left, right = figure.subplots(1, 2)
left.plot(history)
left.set(xlabel="update", ylabel="mean reward")
right.plot(run.t, np.degrees(run.q[:40, :, 1].T), linewidth=0.7)
right.set(xlabel="t (s)", ylabel="angle of the pole (degrees)", title="40 unseen cart-poles")
Path("out").mkdir(exist_ok=True)
figure.savefig("out/rl_batches.png", dpi=120)
print("picture: out/rl_batches.png")
