"""How the operations of four routes to the inertia matrix grow with the number of joints.

The arm is generic: no length, angle or moment has a special value. Counting is exact and needs no run: tracing gives
the straight-line program, and the program is counted.
"""

from _pictures import SHORT, save
from dalembert.algorithms.inertia_matrix import mass_matrix
from dalembert.cost_tables import generic_arm
from dalembert.tracing import cost, trace

ALGORITHMS = ("column-method", "walker-orin", "generalized-links", "two-sided")
sizes = range(2, 6 if SHORT else 13)
table = {name: [] for name in ALGORITHMS}
for n in sizes:
    arm = generic_arm(n)
    for name in ALGORITHMS:
        program = trace(lambda q: mass_matrix(arm, q, algorithm=name), {"q": (n,)}, "mass_matrix")  # noqa: B023
        table[name].append(cost(program))

print(f"{'joints':<8}" + "".join(f"{name:>20}" for name in ALGORITHMS) + "   (mult / add)")
for k, n in enumerate(sizes):
    row = (f"{table[name][k].multiplications} / {table[name][k].additions}" for name in ALGORITHMS)
    print(f"{n:<8}" + "".join(f"{cell:>20}" for cell in row))
assert all(b.operations <= w.operations for b, w in zip(table["two-sided"], table["walker-orin"]))


def draw(figure):
    axis = figure.subplots()
    for name in ALGORITHMS:
        axis.plot(list(sizes), [c.operations for c in table[name]], marker="o", label=name)
    axis.set(xlabel="joints", ylabel="operations", title="inertia matrix of a generic arm")
    axis.legend()


save("operation_counts", draw)
