"""How fast equations of motion are derived, and how long they are: dalembert beside SymPy, in one run.

    python benchmarks/derivation.py [--links 5 7 10 20 30] [--limit 120] [--no-arm]

Systems: the n-link pendulum on a cart in absolute angles with symbols for all masses and lengths, as SymPy publishes it
(``sympy.physics.mechanics.models``), and a general six-joint arm in numbers, with every offset and product of inertia.
SymPy runs KanesMethod and LagrangesMethod, each in a process of its own that is ended when the limit is over; its
fastest route counts, and a route that did not finish is not tried on a larger system. Operations are those of mass
matrix and forcing together: SymPy's after ``cse``, by ``count_ops``; ours by counting the program, changes of sign free
in both. Before a time is kept, both answers are evaluated at random numbers and compared.

The last table has no peer: what it takes to derive and compile mass matrix and bias, each on its own as a user gets
them from ``Equations.compile``, for general arms of six and thirty joints.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy
from sympy.physics import mechanics
from sympy.physics.mechanics import dynamicsymbols

from dalembert.formats.dh import from_dh
from dalembert.formulations import Equations, MovingBodies, MovingBodyFormula, derive
from dalembert.formulations.kernels import packed
from dalembert.native.kernel import Kernel
from dalembert.tracing.cost import cost
from dalembert.tracing.passes import optimise

# ------------------------------------------------------------------------------------------------------- the pendulum


def pendulum(n: int) -> MovingBodies:
    """A cart and n point masses on massless rods, in the coordinates and with the symbols of SymPy's model."""
    q, m = sympy.symbols(f"q0:{n + 1}"), sympy.symbols(f"m0:{n + 1}")
    l, g = sympy.symbols(f"l0:{n}"), sympy.Symbol("g")
    x, y = q[0], sympy.Integer(0)
    bodies = [MovingBodyFormula("cart", m[0], [x, 0, 0])]
    for k in range(n):
        x, y = x - l[k] * sympy.sin(q[k + 1]), y + l[k] * sympy.cos(q[k + 1])
        bodies.append(MovingBodyFormula(f"bob{k + 1}", m[k + 1], [x, y, 0]))
    return MovingBodies(f"cart with {n} links", q, bodies, gravity=[0, -g, 0])


def sympy_pendulum_kane(n: int) -> Any:
    """SymPy's own model, by Kane."""
    from sympy.physics.mechanics.models import n_link_pendulum_on_cart

    method = n_link_pendulum_on_cart(n, cart_force=False)
    return method.q, method.u, method.mass_matrix, method.forcing


def sympy_pendulum_lagrange(n: int) -> Any:
    """The same system by LagrangesMethod."""
    t = dynamicsymbols._t
    q = dynamicsymbols(f"q0:{n + 1}")
    m, l, g = sympy.symbols(f"m0:{n + 1}"), sympy.symbols(f"l0:{n}"), sympy.Symbol("g")
    x, y = q[0], sympy.Integer(0)
    kinetic, potential = m[0] * x.diff(t) ** 2 / 2, sympy.Integer(0)
    for k in range(n):
        x, y = x - l[k] * sympy.sin(q[k + 1]), y + l[k] * sympy.cos(q[k + 1])
        kinetic += m[k + 1] * (x.diff(t) ** 2 + y.diff(t) ** 2) / 2
        potential += m[k + 1] * g * y
    method = mechanics.LagrangesMethod(kinetic - potential, q)
    method.form_lagranges_equations()
    return sympy.Matrix(q), sympy.Matrix([x.diff(t) for x in q]), method.mass_matrix, method.forcing


# ------------------------------------------------------------------------------------------------------------ the arm

ALPHA = (0.3, -1.1, 0.7, 1.3, -0.8, 0.5)
LENGTH = (0.1, 0.4, 0.3, 0.05, 0.2, 0.1)
OFFSET = (0.3, 0.1, -0.1, 0.35, 0.05, 0.2)
MASS = (6.0, 5.0, 4.0, 2.0, 1.5, 0.5)
CENTER = (
    (0.1, 0.02, -0.03),
    (-0.05, 0.2, 0.1),
    (0.07, -0.01, 0.15),
    (0.01, 0.1, -0.02),
    (0.02, 0.03, 0.1),
    (0.0, 0.01, 0.05),
)
INERTIA = (0.04, 0.05, 0.06, 0.001, -0.002, 0.003)


def arm(n: int = 6) -> Any:
    """Revolute joints in general position, every offset and product of inertia present."""
    rows = [
        {"alpha": ALPHA[k], "a": LENGTH[k], "d": OFFSET[k], "mass": MASS[k], "center": CENTER[k], "inertia": INERTIA}
        for k in (j % 6 for j in range(n))
    ]
    return from_dh(rows, "modified", name=f"general arm of {n} joints")


def sympy_arm_kane(_: int) -> Any:
    """The same arm by KanesMethod: moving frames, rigid bodies, gravity."""
    t = dynamicsymbols._t
    q, u = dynamicsymbols("q0:6"), dynamicsymbols("u0:6")
    world, origin = mechanics.ReferenceFrame("N"), mechanics.Point("O")
    origin.set_vel(world, 0)
    frame, point, bodies, loads = world, origin, [], []
    for k in range(6):
        twisted = frame.orientnew(f"T{k}", "Axis", (ALPHA[k], frame.x))
        turned = twisted.orientnew(f"B{k}", "Axis", (q[k], twisted.z))
        turned.set_ang_vel(world, frame.ang_vel_in(world) + u[k] * twisted.z)
        joint = point.locatenew(f"P{k}", LENGTH[k] * frame.x + OFFSET[k] * twisted.z)
        joint.v2pt_theory(point, world, frame)
        x, y, z = CENTER[k]
        center = joint.locatenew(f"C{k}", x * turned.x + y * turned.y + z * turned.z)
        center.v2pt_theory(joint, world, turned)
        xx, yy, zz, xy, xz, yz = INERTIA
        dyadic = mechanics.inertia(turned, xx, yy, zz, xy, yz, xz)
        bodies.append(mechanics.RigidBody(f"b{k}", center, turned, MASS[k], (dyadic, center)))
        loads.append((center, -9.81 * MASS[k] * world.z))
        frame, point = turned, joint
    method = mechanics.KanesMethod(world, q, u, kd_eqs=[x.diff(t) - w for x, w in zip(q, u)])
    method.kanes_equations(bodies, loads)
    return method.q, method.u, method.mass_matrix, method.forcing


# ---------------------------------------------------------------------------------------------------------- measuring


def operations(expressions: list[Any]) -> int:
    """``count_ops`` without changes of sign, which we do not count in our own programs either."""
    count = sum(sympy.count_ops(e, visual=True) for e in expressions)
    free = {sympy.Symbol("NEG"): 0}
    visual = sympy.sympify(count).subs(free)
    return int(visual.subs(dict.fromkeys(visual.free_symbols, 1)))


def _peer(
    build: Callable[[int], Any], n: int, q: np.ndarray, v: np.ndarray, values: dict[str, float], pipe: Any
) -> None:
    start = time.perf_counter()
    coordinates, speeds, M, forcing = build(n)
    derived = time.perf_counter() - start
    names = sympy.symbols(f"x:{len(q)}") + sympy.symbols(
        f"w:{len(v)}"
    )  # cse must not look into q(t) and its derivative
    plain = dict(zip([*coordinates, *speeds], names))
    M, forcing = M.xreplace(plain), forcing.xreplace(plain)
    start = time.perf_counter()
    replacements, (M_short, f_short) = sympy.cse([M, forcing], symbols=sympy.numbered_symbols("shared"))
    shortened = time.perf_counter() - start
    count = operations([e for _, e in replacements] + list(M_short) + list(f_short))
    known = dict(zip(names, [*q, *v]))
    known |= {sympy.Symbol(name): x for name, x in values.items()}
    for symbol, expression in replacements:
        known[symbol] = _number(expression, known)
    numbers = [[_number(e, known) for e in M_short], [_number(e, known) for e in f_short]]
    pipe.send((derived, shortened, count, numbers))


def _number(expression: Any, known: dict[Any, float]) -> float:
    leaves = {symbol: sympy.Float(known[symbol], 17) for symbol in expression.free_symbols}
    return float(expression.xreplace(leaves))


def peer(build: Callable[[int], Any], n: int, state: Any, values: dict[str, float], limit: float) -> Any:
    """Time to derive, time of cse, operations and numbers of SymPy; None if it takes longer than the limit."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=_peer, args=(build, n, *state, values, theirs), daemon=True)
    process.start()
    answer = ours.recv() if ours.poll(limit) else None
    process.kill()
    process.join()
    return answer


def measured(make: Callable[[], Equations]) -> tuple[float, Equations]:
    """Best of three derivations."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        equations = make()
        times.append(time.perf_counter() - start)
    return min(times), equations


def compare(
    title: str, routes: dict[str, Callable[[], Equations]], peers: dict[str, Callable], n: int, limit: float
) -> set[str]:
    """One system: all routes and all peers, answers compared before anything is printed; peers that did not finish."""
    rng = np.random.default_rng(0)
    size = len(next(iter(routes.values()))().mass_matrix)
    state = rng.normal(size=size), rng.normal(size=size)
    print(f"\n{title}")
    ours: dict[str, Any] = {}
    for name, make in routes.items():
        seconds, equations = measured(make)
        values = {str(s): float(x) for s, x in zip(equations.parameters, rng.uniform(0.5, 1.5, 1000))}
        if not ours:
            fixed = values
        values = {key: fixed[key] for key in values}
        outputs = {"M": equations.mass_matrix.values, "h": equations.bias.values}
        program = packed(equations.scope.program(outputs, "both"), equations.scope.parameters, ())
        program = optimise(program, 1)
        numbers = equations.numbers(("mass_matrix", "bias"), {"q": state[0], "v": state[1], **values})
        ours[name] = (seconds, cost(program).operations, numbers)
        start = time.perf_counter()
        kernel = Kernel("both", program.inputs, program.outputs, program)
        inputs = {"q": state[0], "v": state[1], "parameters": [values[str(s)] for s in equations.parameters]}
        kernel(*(inputs[port.name] for port in program.inputs))
        compiled = time.perf_counter() - start
        print(
            f"  dalembert {name:13s} derived in {seconds:8.4f} s, {ours[name][1]:6d} operations; "
            f"compiled in {compiled:.2f} s"
        )
    reference = next(iter(ours.values()))[2]
    for name, (_, _, numbers) in ours.items():
        for part in reference:
            assert np.allclose(numbers[part], reference[part], rtol=1e-9, atol=1e-9), (name, part)
    found = {}
    for name, build in peers.items():
        answer = peer(build, n, state, fixed, limit)
        if answer is None:
            print(f"  SymPy     {name:13s} not finished after {limit:.0f} s")
            continue
        derived, shortened, count, (M, f) = answer
        assert np.allclose(np.reshape(M, (size, size)), reference["mass_matrix"], rtol=1e-8), name
        assert np.allclose(f, -reference["bias"], rtol=1e-7, atol=1e-8), name
        found[name] = (derived, count)
        print(f"  SymPy     {name:13s} derived in {derived:8.2f} s, cse {shortened:.2f} s, {count:6d} operations")
    best_time, best_count = min(x[0] for x in ours.values()), min(x[1] for x in ours.values())
    if not found:
        print(f"  against SymPy: more than {limit / best_time:.0f} times faster")
    else:
        fastest = min(found, key=lambda name: found[name][0])
        times, counts = found[fastest][0] / best_time, found[fastest][1] / best_count
        verdict = "" if times >= 20 and counts >= 5 else "   (aim: 20 and 5)"
        print(f"  against SymPy's fastest: {times:.0f} times faster, {counts:.1f} times fewer operations{verdict}")
    return set(peers) - set(found)


def compiled(n: int, method: str, limit: float) -> None:
    """Derive, compile, check one state against plain NumPy, and tell the time."""
    mechanism = arm(n)
    q, v, _ = mechanism.random_state(np.random.default_rng(0))
    start = time.perf_counter()
    equations = derive(mechanism, method)
    derived = time.perf_counter() - start
    found = {"mass_matrix": equations.compile("mass_matrix")(q), "bias": equations.compile("bias")(q, v)}
    whole = time.perf_counter() - start
    numbers = equations.numbers(tuple(found), {"q": q, "v": v})
    for part, value in found.items():
        assert np.allclose(value, numbers[part], rtol=1e-9, atol=1e-9 * np.abs(numbers[part]).max()), (n, method, part)
    verdict = "" if whole < limit else "   (too long)"
    print(
        f"  {n:2d} joints, {method:13s} derived in {derived:6.3f} s, with kernels in {whole:6.2f} s; "
        f"aim {limit:g} s{verdict}"
    )


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--links", type=int, nargs="*", default=[5, 7, 10, 20, 30])
    parser.add_argument("--limit", type=float, default=120.0, help="seconds each route of SymPy gets")
    parser.add_argument("--no-arm", action="store_true", help="leave out the six-joint arm")
    options = parser.parse_args()
    os.environ["DALEMBERT_CACHE"] = "off"  # compile times are those of the first time
    given_up: set[str] = set()
    for n in sorted(options.links):
        routes = {name: (lambda name=name, n=n: derive(pendulum(n), name)) for name in ("kane", "lagrange")}
        peers = {"kane": sympy_pendulum_kane, "lagrange": sympy_pendulum_lagrange}
        peers = {name: build for name, build in peers.items() if name not in given_up}
        given_up |= compare(f"pendulum with {n} links on a cart", routes, peers, n, options.limit)
    if not options.no_arm:
        routes = {name: (lambda name=name: derive(arm(), name)) for name in ("newton-euler", "kane", "lagrange")}
        compare("general six-joint arm", routes, {"kane": sympy_arm_kane}, 6, options.limit)
        print("\nderived and compiled: mass matrix and bias of general arms")
        for n, limit in ((6, 2.0), (30, 20.0)):
            for method in ("newton-euler", "kane"):
                compiled(n, method, limit)


if __name__ == "__main__":
    main()
