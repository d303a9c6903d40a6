"""PUMA 560: how many multiplications and additions inverse dynamics takes, algorithm by algorithm.

Each algorithm is traced with the arm's numbers folded in; what is left is counted. Sines and cosines are listed apart.
The last row is what dalembert compiles: augmented links in economical frames, with masses regrouped.
"""

import dalembert as da
from _pictures import save
from dalembert.algorithms.inverse_dynamics import INVERSE_DYNAMICS, inverse_dynamics
from dalembert.tracing import cost, trace

puma = da.load("puma560")
state = {"q": (6,), "v": (6,), "a": (6,)}


def count(algorithm):
    def function(q, v, a):
        return inverse_dynamics(puma, q, v, a, algorithm=algorithm)

    return cost(trace(function, state, "inverse_dynamics"))


counts = {name: count(name) for name in INVERSE_DYNAMICS}
counts["compiled"] = da.Dynamics(puma).cost("inverse_dynamics")
print(f"{'algorithm':<18}{'mult':>7}{'add':>7}{'sin':>5}{'cos':>5}")
for name, c in sorted(counts.items(), key=lambda item: -item[1].operations):
    print(f"{name:<18}{c.multiplications:>7}{c.additions:>7}{c.sines:>5}{c.cosines:>5}")
assert min(counts, key=lambda name: counts[name].operations) == "compiled"


def draw(figure):
    axis = figure.subplots()
    ordered = sorted(counts, key=lambda name: -counts[name].operations)
    axis.plot([counts[name].multiplications for name in ordered], ordered, "o", label="multiplications")
    axis.plot([counts[name].additions for name in ordered], ordered, "s", label="additions")
    axis.set(xscale="log", xlabel="operations", title="PUMA 560, inverse dynamics")
    axis.set_xticks([200, 500, 1000, 2000, 5000], ["200", "500", "1000", "2000", "5000"])
    axis.set_xticks([], minor=True)
    axis.grid(alpha=0.3)
    axis.legend()


save("puma560_counts", draw)
