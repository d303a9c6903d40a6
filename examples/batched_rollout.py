"""Batched rollouts, as reinforcement learning does them: thousands of cart-poles, each with its own policy.

The policy is a Python function that is traced and compiled together with the equations of motion and the integrator, so
a whole rollout of all environments is one call. Random search improves the gains from generation to generation.
"""

import numpy as np

import dalembert as da
from _pictures import SHORT, save
from dalembert.algebra.scalar import select
from dalembert.simulation import rollout

dynamics = da.Dynamics(da.load("cart_pole", parameters="default"))
environments, steps, generations = (64, 150, 3) if SHORT else (4096, 300, 12)
h, rng = 0.02, np.random.default_rng(1)


def policy(t, q, v, k):
    """A linear law for the cart's motor, which can push with 20 N at most."""
    force = -(k[0] * q[0] + k[1] * q[1] + k[2] * v[0] + k[3] * v[1])
    return [select(force > 20, 20, select(force < -20, -20, force)), 0]


def cost(t, q, v):
    """Zero with the pole upright in the middle, at most one."""
    distance = 4 * q[1] * q[1] + q[0] * q[0] / 4
    return select(distance < 1, distance, 1)


def rewards(gains):
    """From random starts near upright, the mean of 1 - cost over time, for every environment."""
    q0, v0 = rng.uniform(-0.2, 0.2, (2, environments, 2))
    run = rollout(
        dynamics, q0, v0, steps, h,
        control=policy, gains=gains, hold=1, record=False, summaries={"cost": ("integral", cost)},
    )  # fmt: skip
    return np.nan_to_num(1 - run.summaries["cost"] / (steps * h))


centre, spread, history = np.zeros(4), np.full(4, 20.0), []
for generation in range(generations):
    gains = centre + spread * rng.normal(size=(environments, 4))
    reward = rewards(gains)
    best = gains[np.argsort(-reward)[: environments // 16]]
    centre, spread = best.mean(axis=0), best.std(axis=0) + 0.1
    history.append((reward.mean(), np.quantile(reward, 0.9)))
    print(f"generation {generation:2d}: mean reward {reward.mean():.3f}")
print("gains (cart, pole, their rates):", centre.round(1))
assert history[-1][0] > history[0][0]


def draw(figure):
    axis = figure.subplots()
    axis.plot([mean for mean, _ in history], marker="o", label="mean")
    axis.plot([top for _, top in history], marker="o", label="90 %")
    axis.set(xlabel="generation", ylabel="reward", title=f"{environments} cart-poles at once")
    axis.legend()


save("batched_rollout", draw)
