"""How fast expressions are built: seconds for a hundred thousand nodes.

python benchmarks/tracing.py
"""

import time

from dalembert.tracing.graph import Graph


def build(count: int) -> float:
    """Seconds to build a graph of that many nodes out of sums and products that share operands."""
    graph = Graph()
    x = list(graph.input("q", (50,)))
    k, start = 0, time.perf_counter()
    while len(graph.nodes) < count:
        k += 1
        a, b = x[k % 50], x[(7 * k + 3) % 50]
        x[k % 50] = a * b + x[(13 * k + 1) % 50] - (a - b) * 2
    return time.perf_counter() - start


if __name__ == "__main__":
    best = min(build(100_000) for _ in range(5))
    print(f"100,000 nodes in {best:.3f} s: {best * 10:.2f} us a node")
