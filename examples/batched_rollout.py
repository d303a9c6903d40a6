"""Batched rollouts, as reinforcement learning does them: many cart-poles, many steps, one kernel call per step.

Random search over a linear policy: in every generation each environment tries its own gains; the best ones are the
centre of the next generation. Nothing but forward dynamics and NumPy.
"""

import numpy as np

import dalembert as da
from _pictures import SHORT, save

dynamics = da.Dynamics(da.load("cart_pole", parameters="default"))
forward_dynamics = dynamics.forward_dynamics
environments, steps, generations = (64, 100, 3) if SHORT else (2048, 300, 12)
h, rng = 0.02, np.random.default_rng(1)


def rollout(gains):
    """Rewards of policies tau = -gains . (q, v), one per environment: how long each pole stays up and the cart near."""
    q, v = rng.uniform(-0.2, 0.2, (2, environments, 2))
    tau, a, reward = np.zeros((environments, 2)), np.empty((environments, 2)), np.zeros(environments)
    alive = np.ones(environments, dtype=bool)
    for _ in range(steps):
        tau[:, 0] = np.clip(-(gains * np.concatenate([q, v], axis=1)).sum(axis=1), -20, 20)
        forward_dynamics(q, v, tau, out=a)
        v += h * a  # semi-implicit Euler
        q += h * v
        alive &= (np.abs(q[:, 1]) < 0.5) & (np.abs(q[:, 0]) < 2.5)
        q[~alive], v[~alive] = 0, 0  # their reward is decided
        reward += alive
    return reward / steps


centre, spread = np.zeros(4), np.full(4, 20.0)
history = []
for generation in range(generations):
    gains = centre + spread * rng.normal(size=(environments, 4))
    reward = rollout(gains)
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
    axis.set(xlabel="generation", ylabel="part of the time upright", title=f"{environments} cart-poles at once")
    axis.legend()


save("batched_rollout", draw)
