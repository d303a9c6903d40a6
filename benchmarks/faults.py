"""Faults planted one by one in every room, and the test of ``make test`` that sees each.

``benchmarks/mutations.py`` changes the algorithms and the kinematics site by site, under exact laws; the other rooms
have no such laws, and so this list: a sign, an order, an operator, a setting that is forgotten. Each fault is planted
in a copy of the tree, and the tests named beside it run there as ``make test`` runs them. A fault that no test sees is
a hole, and the script ends with 1.

    python benchmarks/faults.py [--only TEXT ...] [--to docs/benchmarks/faults.txt]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "dalembert"
PATIENCE = 900.0
"""Seconds for the tests of one fault."""


@dataclass(frozen=True)
class Fault:
    """One change that makes the library wrong.

    Args:
        file: relative to the package.
        old: text that stands in it once.
        new: what takes its place.
        tests: addresses that pytest takes; one test of them must fail.
    """

    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    @property
    def room(self) -> str:
        return self.file.partition("/")[0].removesuffix(".py")

    def __str__(self) -> str:
        return f"{self.file}: {self.old!r} -> {self.new!r}"


LOOPS, PRINTED = ("tests/algebra/test_scan.py",), ("tests/printing/test_printed_loops.py",)
OPERATORS = ("tests/printing/test_operators.py",)
MEANING = ("tests/test_meaning.py",)
READ = ("tests/test_meaning.py::test_models_of_the_grammar_are_read_as_what_they_are",)
FORCES = ("tests/constraints/test_forces.py",)
KEYS = ("tests/attack/test_cache_identity.py",)
UNITS = ("tests/fmi/test_unit_moves.py",)
LAWS = ("tests/contact/test_laws_on_all_routes.py",)
RIGID = ("tests/contact/test_rigid_laws.py", "tests/contact/test_solvers.py", "tests/contact/test_rigid_scenes.py")

ROUTES = ("tests/contact/test_laws_on_all_routes.py",)

FAULTS = (
    # machine code
    Fault(
        "native/llvm/arithmetic.py",
        "fcmp {'ole' if op == 'min' else 'oge'}",
        "fcmp {'oge' if op == 'min' else 'ole'}",
        OPERATORS,
    ),
    Fault(
        "native/llvm/arithmetic.py",
        "select {truths} {a[0]}, {v} {a[1]}, {v} {a[2]}",
        "select {truths} {a[0]}, {v} {a[2]}, {v} {a[1]}",
        OPERATORS,
    ),
    Fault(
        "native/llvm/arithmetic.py", 'f"  %n{i} = fneg {v} {a[2]}"', 'f"  %n{i} = fadd {v} {a[2]}, {a[2]}"', OPERATORS
    ),
    Fault(
        "native/llvm/functions.py",
        "-0.0013888888888874476, 2.4801587289673593e-05,",
        "-0.0013888888888874476, 2.4901587289673593e-05,",
        ("tests/native/test_vector_math.py",),
    ),
    Fault(
        "native/threads.py",
        "batch[axis] * k // pieces for k in range(pieces + 1)",
        "batch[axis] * k // pieces for k in range(pieces)",
        ("tests/native/test_kernel_calls.py",),
    ),
    Fault(
        "native/llvm/loop.py",
        "select i1 %fresh, i64 {turns.hold}, i64 %held",
        "select i1 %fresh, i64 2, i64 %held",
        LOOPS,
    ),
    Fault(
        "native/llvm/transfer.py",
        "select i1 %beyond, i64 %last, i64 %whole",
        "select i1 %beyond, i64 0, i64 %whole",
        LOOPS,
    ),
    Fault("tracing/cost.py", "if others <= reached:", "if True:", LOOPS),
    Fault("tracing/loops.py", "made = [[going.select(x, 0) for x in own] for own in made]", "", LOOPS),
    Fault("tracing/derivatives.py", "fresh = phase > hold - 1.5", "fresh = phase > hold - 0.5", LOOPS),
    Fault("tracing/derivatives.py", "due = phase > scan.every - 1.5", "due = phase > scan.every - 2.5", LOOPS),
    Fault(
        "printing/c_family.py",
        "f'{count - 1} - {number}' if scan.reverse",
        "f'{count} - {number}' if scan.reverse",
        PRINTED,
    ),
    Fault("printing/c_family.py", "(x < n - 1 ? (int)x : n - 1)", "(int)x", PRINTED),
    Fault(
        "tracing/rules.py",
        "return neg(sin(a.args[0])) if a.op",
        "return sin(a.args[0]) if a.op",
        ("tests/tracing/test_graph.py", "tests/tracing/test_passes.py"),
    ),
    Fault(
        "tracing/derivatives.py",
        '"cos": lambda x, a: -a.sin(),',
        '"cos": lambda x, a: a.sin(),',
        ("tests/tracing/test_derivatives.py",),
    ),
    # what kernels are called by
    Fault(
        "dynamics/facade.py",
        'TREE = frozenset({"mechanism", "parameters", "wrenches", "include", "optimise"})',
        'TREE = frozenset({"mechanism", "parameters", "wrenches", "optimise"})',
        KEYS,
    ),
    Fault(
        "dynamics/facade.py",
        'SOLVING = frozenset({"method", "independent", "reference", "regularisation"})',
        'SOLVING = frozenset({"method", "independent", "reference"})',
        KEYS,
    ),
    Fault(
        "dynamics/facade.py",
        '"elements", "contacts", "law", "stabilisation"}',
        '"elements", "contacts", "law"}',
        KEYS,
    ),
    Fault(
        "dynamics/settings.py",
        "for name, value in self]).encode()",
        "for name, value in list(self)[:5]]).encode()",
        ("tests/test_settings.py",),
    ),
    Fault(
        "simulation/rollout_task.py",
        'found = {"dynamics": f"{system.dynamics} {system.dynamics.digest}"',
        'found = {"dynamics": system.dynamics.mechanism.digest',
        ("tests/simulation/test_sweep.py",),
    ),
    # what everybody stands on
    Fault(
        "algebra/quaternions.py",
        "a0 * b1 + a1 * b0 + a2 * b3 - a3 * b2,",
        "a0 * b1 + a1 * b0 - a2 * b3 + a3 * b2,",
        ("tests/algebra/test_quaternions.py",),
    ),
    Fault(
        "model/inertia.py",
        "return cls(mass, center, tensor - _parallel(mass, center))",
        "return cls(mass, center, tensor + _parallel(mass, center))",
        ("tests/model/test_inertia.py",),
    ),
    Fault(
        "model/joint.py",
        "return e[(k + 1) % 3], e[(k + 2) % 3]",
        "return e[(k + 2) % 3], e[(k + 1) % 3]",
        ("tests/model/test_joints_and_tree.py",),
    ),
    # contacts
    Fault(
        "contact/rigid.py", "rebound = -restitution * (u + free) / 2", "rebound = restitution * (u + free) / 2", RIGID
    ),
    Fault("simulation/contact_steps.py", "losses.tolist()", "(losses * (1, 1, -1)).tolist()", ROUTES),
    Fault("simulation/event_driven.py", "self.sums[2] -= p", "self.sums[2] += p", ROUTES),
    Fault("contact/cones.py", "note(_root(square), step, size)", "note(0 * _root(square), step, size)", ROUTES),
    Fault("contact/cones.py", "gains = above(taken * (1 - GAIN), 2 * wanted)", "gains = above(0, 1)", RIGID),
    Fault("contact/rigid.py", "friction = friction - dot([p[k]", "friction = friction + dot([p[k]", RIGID),
    Fault(
        "contact/rigid.py",
        "sticks = above(limit * limit * (1 - 1e-9), size)",
        "sticks = above(size, limit * limit * (1 - 1e-9))",
        RIGID,
    ),
    Fault(
        "contact/cones.py",
        "radius = self.coefficients[disk[0]] * p[normal]\n        if len(disk) == 1:",
        "radius = p[normal]\n        if len(disk) == 1:",
        RIGID,
    ),
    Fault(
        "contact/compliant.py",
        "loads |= {row: -bound * push * x / size",
        "loads |= {row: bound * push * x / size",
        ("tests/contact/test_compliant.py",),
    ),
    Fault(
        "contact/geometry.py",
        "return at.translation - at.rotate(scaled)",
        "return at.translation + at.rotate(scaled)",
        ("tests/contact/test_geometry.py",),
    ),
    Fault(
        "contact/convex.py",
        "wanted[0] = wanted[0] - h * k * d * now.gap",
        "wanted[0] = wanted[0] + h * k * d * now.gap",
        ("tests/contact/test_convex.py",),
    ),
    Fault(
        "contact/cones.py",
        "square: Scalar = sum((x - y) * (x - y) for x, y in zip(own, back))",
        "square: Scalar = 0",
        LAWS,
    ),
    Fault("simulation/contact_history.py", "self.push_work - pushed,", "self.push_work + pushed,", LAWS),
    Fault("simulation/contact_history.py", "self.friction_loss + friction,", "self.friction_loss,", LAWS),
    # printers
    Fault("printing/python.py", '"lt": "({0} < {1})"', '"lt": "({0} > {1})"', OPERATORS),
    Fault("printing/javascript.py", '"le": "({0} <= {1})"', '"le": "({0} < {1})"', OPERATORS),
    Fault("printing/c_family.py", '"lt": "({0} < {1})"', '"lt": "({0} > {1})"', OPERATORS),
    Fault("printing/latex.py", '"lt": "(%s < %s)"', '"lt": "(%s > %s)"', OPERATORS),
    Fault("printing/casadi.py", '"lt": lambda a, b: a < b,', '"lt": lambda a, b: a > b,', OPERATORS),
    Fault("tracing/sympy.py", '"lt": sympy.StrictLessThan, ', '"lt": sympy.StrictGreaterThan, ', OPERATORS),
    # readers
    Fault("formats/urdf.py", "[[0, 3, 4], [3, 1, 5], [4, 5, 2]]", "[[0, 3, 5], [3, 1, 4], [5, 4, 2]]", READ),
    Fault("formats/urdf.py", "return vector / length", "return -vector / length", READ),
    Fault(
        "formats/mjcf_geoms.py",
        "if letter.islower() else _product(turn, found)",
        "if letter.isupper() else _product(turn, found)",
        ("tests/formats/test_mjcf_compile.py",),
    ),
    Fault("formats/mjcf.py", "np.array([x, y, z, w]) / size", "np.array([y, x, z, w]) / size", READ),
    Fault(
        "formats/mjcf.py",
        "rotation_about(axis, -reference)",
        "rotation_about(axis, reference)",
        ("tests/formats/test_mjcf.py",),
    ),
    Fault(
        "formats/mjcf_geoms.py",
        "np.array([a * a / 4, a * a / 4, b * b / 3])",
        "np.array([a * a / 4, a * a / 4, b * b])",
        ("tests/formats/test_mjcf_compile.py",),
    ),
    Fault("formats/sdf.py", "return number(element) / (2 * math.pi)", "return number(element)", READ),
    Fault(
        "formats/sdf_links.py",
        "return about_center.moved(at.rotation, at.translation)",
        "return about_center.moved(at.rotation.T, at.translation)",
        READ,
    ),
    Fault(
        "formats/toml.py",
        "return symmetric_tensor(entries)",
        "return symmetric_tensor([*entries[:3], *entries[:2:-1]])",
        READ,
    ),
    Fault(
        "formats/dh.py",
        "Transform.standard_dh(theta, d, 0, 0)",
        "Transform.standard_dh(theta, -d, 0, 0)",
        ("tests/formats/test_dh.py",),
    ),
    # other libraries, units
    Fault(
        "conventions/blocks.py",
        "return q[..., [3, 0, 1, 2]]",
        "return q[..., [0, 1, 2, 3]]",
        ("tests/conventions/test_mujoco_convention.py",),
    ),
    Fault(
        "conventions/blocks.py",
        "turning = -np.cross(v[..., 3:], linear)",
        "turning = np.cross(v[..., 3:], linear)",
        ("tests/conventions/test_pinocchio_convention.py", "tests/conventions/test_agreement.py"),
    ),
    Fault(
        "conventions/blocks.py",
        "np.stack([w * y, -w * x, np.zeros_like(w)]",
        "np.stack([-w * y, w * x, np.zeros_like(w)]",
        ("tests/conventions/test_pinocchio_convention.py", "tests/conventions/test_agreement.py"),
    ),
    Fault(
        "dynamics/fmu.py",
        "miss = rows.rate - np.array(",
        "miss = rows.rate + np.array(",
        ("tests/fmi/test_unit_moves.py",),
    ),
    Fault("dynamics/fmu.py", "nearest(-rows.phi)", "nearest(rows.phi)", UNITS),
    Fault(
        "fmi/sources/unit.h", "next[0] = z[0] + step * NODES[s];", "next[0] = z[0];", ("tests/fmi/test_unit_moves.py",)
    ),
    # constraints and force elements
    Fault(
        "constraints/loops.py",
        "quadratic = dot(pair.velocity, pair.velocity) / length",
        "quadratic = -dot(pair.velocity, pair.velocity) / length",
        (*MEANING, "tests/constraints/test_rows.py"),
    ),
    Fault(
        "constraints/joint_rows.py",
        "gamma = curvature * speed * speed",
        "gamma = -curvature * speed * speed",
        ("tests/constraints/test_rows.py",),
    ),
    Fault(
        "constraints/rolling.py",
        "travel = cross(pair.turning, rho) + product(R, x_rate)",
        "travel = cross(pair.turning, rho) - product(R, x_rate)",
        ("tests/constraints/test_rolling.py",),
    ),
    Fault(
        "constraints/forces.py",
        "push = -item.stiffness * (x - item.rest)",
        "push = item.stiffness * (x - item.rest)",
        FORCES,
    ),
    Fault("constraints/forces.py", "load = -pull * slope", "load = pull * slope", FORCES),
    Fault("constraints/forces.py", "return -item.value * _sign(speed, item.smoothing)", "return -item.value", FORCES),
    Fault(
        "constraints/gravity_fields.py",
        "return force + extra, 2 * vect(product(self.gradient(p), J))",
        "return force - extra, 2 * vect(product(self.gradient(p), J))",
        FORCES,
    ),
    Fault(
        "constraints/scaling.py",
        "return np.asarray(G * self.velocities / self.rows[:, None])",
        "return np.asarray(G * self.velocities * self.rows[:, None])",
        ("tests/constraints/test_every_size.py",),
    ),
    Fault(
        "dynamics/constrained.py",
        "bias - s.joints.resistance(v)",
        "bias + s.joints.resistance(v)",
        ("tests/test_meaning.py::test_loops_with_all_terms_of_joints_mean_what_the_oracle_says",),
    ),
    Fault(
        "dynamics/constrained.py",
        "return tree.bias(s, q, v) - _pushed(s, q, v, t)",
        "return tree.bias(s, q, v)",
        FORCES,
    ),
    Fault(
        "dynamics/linearization.py",
        "Vq[dependent] = -_solved(G[:, dependent], r_q)",
        "Vq[dependent] = _solved(G[:, dependent], r_q)",
        ("tests/constraints/test_linearization_laws.py",),
    ),
    # motions
    Fault(
        "simulation/steppers/runge_kutta.py",
        "v + sixth * (v1 + 2 * (v2 + v3) + v4)",
        "v + sixth * (v1 + 2 * v2 + 2 * v3)",
        ("tests/simulation/test_steppers.py",),
    ),
    Fault(
        "simulation/steppers/lie_runge_kutta.py",
        "return w + turned / 2",
        "return w - turned / 2",
        ("tests/simulation/test_steppers.py",),
    ),
    Fault(
        "simulation/steppers/variational.py",
        "return u - turned / 2 + c",
        "return u + turned / 2 + c",
        ("tests/simulation/test_steppers.py", "tests/simulation/test_known_motions.py"),
    ),
    Fault(
        "simulation/steppers/semi_implicit_euler.py",
        "system.displaced(q, h * system.tangent(t, q, v))), v",
        "system.displaced(q, h * system.tangent(t, q, v - h * system.acceleration(t, q, v)))), v",
        ("tests/simulation/test_steppers.py", "tests/simulation/test_known_motions.py"),
    ),
    Fault(
        "simulation/events.py",
        '("lower", lower, -1), ("upper", upper, 1)',
        '("lower", lower, 1), ("upper", upper, -1)',
        ("tests/simulation/test_simulate.py",),
    ),
    Fault(
        "simulation/events.py",
        "q, v - (1 + restitution) * column",
        "q, v - (1 - restitution) * column",
        ("tests/simulation/test_simulate.py",),
    ),
    Fault(
        "simulation/balance.py",
        "way = gaps * (parts.v[1:] + parts.v[:-1]) / 2",
        "way = gaps * parts.v[1:]",
        ("tests/simulation/test_trajectory.py", "tests/simulation/test_simulate.py"),
    ),
    # derivatives, identification, planning, control
    Fault(
        "autodiff/program.py",
        "forward(y, variables, along) if ahead else reverse(y, variables, along)",
        "forward(y, variables, along) if ahead else -reverse(y, variables, along)",
        ("tests/autodiff/test_derived_programs.py",),
    ),
    Fault(
        "identification/regression.py",
        "signs = np.sign(v) if signs is None",
        "signs = np.abs(v) if signs is None",
        ("tests/identification/test_friction.py", "tests/identification/test_identification.py"),
    ),
    Fault(
        "identification/logs.py",
        "raw.columns[column] * (1.0 if unit is None else",
        "raw.columns[column] / (1.0 if unit is None else",
        ("tests/identification/test_logs.py",),
    ),
    Fault(
        "identification/identify.py",
        "left = rest - W @ values",
        "left = rest + W @ values",
        ("tests/identification/test_identification.py",),
    ),
    Fault(
        "planning/inverse_kinematics.py",
        "cost = _dot(e, e)",
        "cost = -_dot(e, e)",
        ("tests/planning/test_inverse_kinematics.py",),
    ),
    Fault(
        "planning/minimum_time.py",
        "t = np.concatenate([[0.0], np.cumsum(2 * np.where(",
        "t = np.concatenate([[0.0], np.cumsum(np.where(",
        ("tests/planning/test_timing.py",),
    ),
    Fault(
        "control/laws.py",
        '_part(d, "gravity", g) + g["kp"] * error - g["kd"] * g["v"]',
        '_part(d, "gravity", g) + g["kp"] * error + g["kd"] * g["v"]',
        ("tests/control/test_control_laws.py",),
    ),
    Fault(
        "control/regulator.py",
        "K = np.linalg.solve(R, B.T @ S) if period",
        "K = np.linalg.solve(R, -B.T @ S) if period",
        ("tests/control/test_linear_models.py",),
    ),
    # symbols, pages, cards
    Fault(
        "formulations/kane.py",
        "return c + projected(moments, system.n)",
        "return c - projected(moments, system.n)",
        ("tests/formulations/test_routes_agree.py",),
    ),
    Fault(
        "formulations/lagrange.py",
        "return system.rate(momentum) - reverse(energy, system.q)",
        "return system.rate(momentum) + reverse(energy, system.q)",
        ("tests/formulations/test_routes_agree.py",),
    ),
    Fault(
        "typesetting/polynomials.py",
        "self._squares[s] = {0: 1, 2 << BITS * c: -1}",
        "self._squares[s] = {0: 1, 2 << BITS * c: 1}",
        ("tests/typesetting/test_closed_form_laws.py",),
    ),
    Fault(
        "viewer/scene.py",
        "squares = 5 * (moments.sum() - 2 * moments) / (2 * mass)",
        "squares = 5 * moments / (2 * mass)",
        ("tests/viewer/test_viewer_page.py", "tests/viewer/test_viewer_pictures_drawn.py"),
    ),
    Fault(
        "viewer/scene.py",
        '"at": pose(at @ shape.placement),',
        '"at": pose(shape.placement),',
        ("tests/viewer/test_viewer_page.py", "tests/viewer/test_viewer_pictures_drawn.py"),
    ),
    Fault(
        "viewer/solids.py",
        "radius, half = float(size[0]), float(size[1]) / 2",
        "radius, half = float(size[0]), float(size[1])",
        ("tests/viewer/test_viewer_pictures_drawn.py",),
    ),
    Fault(
        "viewer/assets/machine.js",
        "a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1]",
        "a[3] * b[0] + a[0] * b[3] - a[1] * b[2] + a[2] * b[1]",
        ("tests/viewer/test_viewer_programs.py",),
    ),
    Fault(
        "cuda/dialect.py",
        "return Text(f\"{super().operation('mul', [args[0], inverse]).source}\", PRODUCT)",
        "return inverse",
        OPERATORS,
    ),
    Fault(
        "cuda/dialect.py",
        'sign = f"(({quadrant} & 2) << 30)"',
        'sign = f"(({quadrant} & 1) << 31)"',
        ("tests/cuda/test_cuda_emulated.py",),
    ),
    Fault(
        "cuda/tiles.py",
        'f"    const long long step = (long long)gridDim.x * (blockDim.x / {WARP});"',
        'f"    const long long step = (long long)gridDim.x * blockDim.x;"',
        ("tests/cuda/test_cuda_emulated.py",),
    ),
)
"""What may go wrong, where, and who sees it."""


def planted(folder: Path, fault: Fault) -> None:
    """A copy of the tree with a fault in it."""
    for name in ("src", "tests", "benchmarks", "docs", "examples", ".ci"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", ".kernel_cache"))
    for name in ("pyproject.toml", "README.md", "CHANGELOG.md", "Makefile", "CONTRIBUTING.md"):
        shutil.copy(ROOT / name, folder / name)
    file = folder / "src" / "dalembert" / fault.file
    text = file.read_text(encoding="utf-8")
    assert text.count(fault.old) == 1, fault
    file.write_text(text.replace(fault.old, fault.new), encoding="utf-8")


def seen_by(fault: Fault) -> tuple[str, float]:
    """The test that fails first, or nothing, and how many seconds it took."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        planted(folder, fault)
        environment = os.environ | {
            "PYTHONPATH": str(folder / "src"), "HYPOTHESIS_PROFILE": "quick", "PYTHONDONTWRITEBYTECODE": "1",
            "DALEMBERT_CACHE": str(folder / "cache"),
        }  # fmt: skip
        options = ["-m", "pytest", "-x", "-q", "--tb=no", "-rfE", "-p", "no:xdist", "-p", "no:cacheprovider", "-m"]
        command = [sys.executable, *options, "not slow", *fault.tests]
        try:
            done = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE
            )
        except subprocess.TimeoutExpired:
            return "the tests do not end", time.monotonic() - begin
    failed = [line.split(" ", 2)[1] for line in done.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    if done.returncode in (0, 4, 5):  # nothing fails, or there is no such test
        return "", time.monotonic() - begin
    return (failed or [f"pytest ends with {done.returncode}"])[0], time.monotonic() - begin


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[], help="parts of names of files, or of texts")
    parser.add_argument("--to", type=Path, help="file for the table")
    options = parser.parse_args(arguments)
    lines, holes = [], 0
    for fault in FAULTS:
        if options.only and not any(part in str(fault) for part in options.only):
            continue
        test, seconds = seen_by(fault)
        holes += not test
        lines.append(f"{fault}\n    {test or 'NOT SEEN'} ({seconds:.0f} s)")
        print(lines[-1], flush=True)
    lines.append(f"{len(lines)} faults planted, {len(lines) - holes} seen")
    print(lines[-1])
    if options.to:
        options.to.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return bool(holes)


if __name__ == "__main__":
    sys.exit(main())
