"""Does the exact verification find errors? One sign or index of an algorithm is changed at a time, and the laws decide.

Every file of algorithms/ and kinematics/ is parsed; a mutation exchanges + and -, drops a minus, turns an index i into
i + 1 modulo 3, or exchanges the factors of a vector product. Each runs in a process of its own, which imports the
changed module and tries the laws of ``prove(..., derived=False)`` on small mechanisms at a random point of the field of
integers modulo 2^61 - 1: a tree with revolute, prismatic, helical, universal and fixed joints, one with spherical
joints, one with a mimic joint, a chain, one with a closed loop. It is killed by the first law that fails, or crashes;
lines that no law runs are not reached. In the other rooms there are no such laws: ``--planted`` plants the list of
``benchmarks/faults.py`` instead, each fault with the test that must see it.

    python benchmarks/mutations.py [--files NAME ...] [--most N] [--seed N] [--workers N] [--list]
    python benchmarks/mutations.py --planted
"""

from __future__ import annotations

import argparse
import ast
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import multiprocessing
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np  # loaded once, before processes are forked; nothing of the package may be

ROOMS = ("algorithms", "kinematics")
"""Folders whose files are changed."""

PATIENCE = 120.0
"""Seconds after which a mutant counts as killed: it does not end."""

EQUIVALENT: dict[tuple[str, str], str] = {
    (
        "algorithms/inertia_matrix/orthogonal_complement.py",
        "columns[:, link.v + k] + link.gain * column  ->  columns[:, link.v + k] - link.gain * column",
    ): "T changes its sign as a whole, and T^T M T does not",
    ("algorithms/triangular.py", "len(M) - 1  ->  len(M) + 1"): "parents beyond the last row are never asked for",
    ("algorithms/triangular.py", "matrices[0]  ->  matrices[1]"): "all matrices have the same shape",
    (
        "algorithms/triangular.py",
        "-1  ->  1",
    ): "rows inside the first that has something are zero, whatever their root is called",
    (
        "algorithms/forward_dynamics/articulated_body.py",
        "-1  ->  1",
    ): "decides where zeros are written that the sums give as well",
    (
        "algorithms/forward_dynamics/articulated_body.py",
        "link.nv - 1  ->  link.nv + 1",
    ): "parents beyond the last row are never asked for",
    (
        "algorithms/forward_dynamics/conjugate_gradients.py",
        "product(E[i], zw) + cross(U[i], zv)  ->  product(E[i], zw) - cross(U[i], zv)",
    ): "elementary joints turn about and slide along one line: zw.(U x zv) = 0",
    (
        "algorithms/forward_dynamics/conjugate_gradients.py",
        "cross(U[i], zv)  ->  cross(zv, U[i])",
    ): "the same",
    (
        "algorithms/forward_dynamics/conjugate_gradients.py",
        "cross(zw, U[i])  ->  cross(U[i], zw)",
    ): "the same: zv.(zw x U) = 0",
    (
        "algorithms/inertia_matrix/two_sided.py",
        "count.operations - before  ->  count.operations + before",
    ): "counts operations, to choose among equal ways",
    ("kinematics/step.py", "R[2, 0]  ->  R[0, 0]"): "two plane turns are never found then, and a matrix does the same",
    ("kinematics/step.py", "R[2, 0]  ->  R[2, 1]"): "the same",
}
"""(file, mutation) -> why it changes nothing that an algorithm promises, by inspection."""

DECIDES = {
    "algorithms/tally.py": "counts operations, to choose among equal algorithms",
    "algorithms/selection.py": "chooses among equal algorithms",
    "algorithms/choose.py": "chooses among equal algorithms",
}
"""Files on which no result depends."""


@dataclass(frozen=True)
class Mutation:
    """One change.

    Args:
        file: relative to the package.
        number: of the site in the file, in the order of the walk.
        line: in the file.
        before: the expression as it stands.
        after: what becomes of it.
    """

    file: str
    number: int
    line: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.before}  ->  {self.after}"


class Mutator(ast.NodeTransformer):
    """Changes one site, or lists all.

    Args:
        target: number of the site to change; None to change nothing.
    """

    def __init__(self, target: int | None = None):
        self.target, self.sites = target, []  # type: ignore[var-annotated]

    def _site(self, node: Any, changed: Any) -> Any:
        self.sites.append((node.lineno, ast.unparse(node), ast.unparse(changed)))
        return ast.copy_location(changed, node) if len(self.sites) - 1 == self.target else node

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        self.generic_visit(node)
        other = {ast.Add: ast.Sub, ast.Sub: ast.Add}.get(type(node.op))
        return self._site(node, ast.BinOp(node.left, other(), node.right)) if other else node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        self.generic_visit(node)
        return self._site(node, node.operand) if isinstance(node.op, ast.USub) else node

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        if not (isinstance(node.func, ast.Name) and node.func.id == "cross" and len(node.args) == 2):
            return node
        return self._site(node, ast.Call(node.func, node.args[::-1], node.keywords))

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        self.generic_visit(node)
        entries = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        for k, entry in enumerate(entries):
            if isinstance(entry, ast.Constant) and type(entry.value) is int and 0 <= entry.value <= 2:
                moved = [*entries[:k], ast.Constant((entry.value + 1) % 3), *entries[k + 1 :]]
                index = ast.Tuple(moved, ast.Load()) if isinstance(node.slice, ast.Tuple) else moved[0]
                found = self._site(node, ast.Subscript(node.value, index, node.ctx))
                if found is not node:
                    return found
        return node

    def visit_arg(self, node: ast.arg) -> Any:
        return node  # annotations stay

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        returns, node.returns = node.returns, None
        self.generic_visit(node)
        node.returns = returns
        return node


def mutations(root: Path, path: Path) -> list[Mutation]:
    """All changes of a file."""
    mutator = Mutator()
    mutator.visit(ast.parse(path.read_text(encoding="utf-8")))
    name = path.relative_to(root).as_posix()
    return [Mutation(name, k, *site) for k, site in enumerate(mutator.sites)]


class _Loader(importlib.machinery.SourceFileLoader):
    number: int

    def get_code(self, fullname: str) -> Any:  # no byte code of the unchanged module
        tree = Mutator(self.number).visit(ast.parse(self.get_data(self.path)))
        return compile(ast.fix_missing_locations(tree), self.path, "exec")


class Hook(importlib.abc.MetaPathFinder):
    """Imports one module of the package with a change in it."""

    def __init__(self, module: str, number: int):
        self.module, self.number = module, number

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        if fullname != self.module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        assert spec is not None and spec.origin is not None
        spec.loader = _Loader(fullname, spec.origin)
        spec.loader.number = self.number
        return spec


def zoo() -> list[Any]:
    """Trees that are small, and together run every algorithm and every kind of elementary joint."""
    from dalembert.model import Body, Constraint, Inertia, Joint, Mechanism, Mimic

    def tree(name: str, *joints: tuple[str, int], mimic: bool = False) -> Mechanism:
        names = ["world", *(f"b{k}" for k in range(1, len(joints) + 1))]
        made = [Joint(f"j{k}", kind, names[at], names[k]) for k, (kind, at) in enumerate(joints, 1)]
        made = [joint.replace(pitch=0.1) if joint.kind == "helical" else joint for joint in made]
        if mimic:
            made[-1] = made[-1].replace(mimic=Mimic("j1", 2.0, 0.5))
        return Mechanism(name, tuple(Body(b, Inertia.box(1, (1, 1, 1))) for b in names[1:]), tuple(made))

    plain = tree(
        "plain", ("revolute", 0), ("prismatic", 1), ("revolute", 2), ("helical", 3), ("universal", 2), ("fixed", 4)
    )
    quaternion = tree(
        "quaternion", ("spherical", 0), ("revolute", 1), ("spherical", 2), ("prismatic", 1), ("revolute", 0)
    )
    follower = tree("mimic", ("revolute", 0), ("revolute", 1), ("prismatic", 2), ("revolute", 2), mimic=True)
    loop = tree("loop", ("spherical", 0), ("revolute", 1), ("prismatic", 2), ("revolute", 0), ("revolute", 4))
    closures = (Constraint("pin", "universal", "b3", "b5"), Constraint("rod", "distance", "b2", "b4", value=1))
    chain = tree("chain", ("revolute", 0), ("prismatic", 1), ("revolute", 2), ("prismatic", 3), ("revolute", 4))
    return [plain, quaternion, follower, chain, loop.replace(constraints=closures)]


def verdict() -> str:
    """The law that fails first, or nothing if all hold."""
    from dalembert.proof.claims import Claim

    for mechanism in zoo():
        for claim in _claims(mechanism):
            if not isinstance(claim, Claim):
                continue
            if not all(x == 0 for x in np.asarray(claim.left - claim.right, dtype=object).flat):
                return f"{claim.quantity}: {claim.who}"
    return ""


def _claims(mechanism: Any) -> Iterator[Any]:
    from dalembert.proof.constraint_laws import constraints
    from dalembert.proof.field import Field
    from dalembert.proof.generic import Subject, generic_mechanism
    from dalembert.proof.laws import LAWS

    field = Field((1 << 61) - 1, seed=1)
    if mechanism.constraints:
        yield from constraints(mechanism, field)
        return  # its tree is no news
    subject = Subject(generic_mechanism(mechanism, field), field)
    for law in LAWS.values():
        yield from law(subject)


def _try(pipe: Any, module: str, number: int) -> None:
    sys.meta_path.insert(0, Hook(module, number))
    try:
        law = verdict()
        pipe.send(("killed", law) if law else ("survived", ""))
    except Exception as error:
        pipe.send(("crashed", f"{type(error).__name__}: {error}"[:100]))


def outcome(mutation: Mutation) -> tuple[str, str]:
    """``killed``, ``crashed``, ``endless``, ``equivalent`` or ``survived``, and by what."""
    module = "dalembert." + mutation.file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    mine, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=_try, args=(theirs, module, mutation.number))
    process.start()
    theirs.close()  # so that the end of the process is seen
    try:
        found = mine.recv() if mine.poll(PATIENCE) else ("endless", "")
    except EOFError:
        found = "crashed", "the process ended"
    process.kill()
    process.join()
    known = EQUIVALENT.get((mutation.file, str(mutation)), DECIDES.get(mutation.file))
    return ("equivalent", known) if known and found[0] == "survived" else found


def _lines(pipe: Any, root: str) -> None:
    reached: set[tuple[str, int]] = set()

    def trace(frame: Any, event: str, argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(root):
            return None
        if frame.f_code.co_flags & inspect.CO_NEWLOCALS:  # functions; what an import runs is no algorithm
            reached.add((frame.f_code.co_filename, frame.f_lineno))
        return trace

    sys.settrace(trace)
    law = verdict()
    sys.settrace(None)
    pipe.send((law, reached))


def reached_lines(root: Path) -> set[tuple[str, int]]:
    """The lines of the algorithms that the laws run, all of which hold."""
    mine, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=_lines, args=(theirs, str(root)))
    process.start()
    theirs.close()
    law, reached = mine.recv()
    process.join()
    if law:
        raise SystemExit(f"a law fails without any mutation: {law}")
    return {(Path(file).relative_to(root).as_posix(), line) for file, line in reached}


def chosen(found: list[Mutation], most: int | None, seed: int) -> list[Mutation]:
    if most is None or len(found) <= most:
        return found
    return sorted(random.Random(seed).sample(found, most), key=lambda m: m.number)


def run(
    root: Path, files: list[Path], most: int | None, seed: int, workers: int
) -> Iterator[tuple[Mutation, str, str]]:
    """Every mutation that is tried, with its outcome."""
    reached = reached_lines(root)
    for path in files:
        every = mutations(root, path)
        ours = [m for m in every if (m.file, m.line) in reached]
        yield from ((m, "not reached", "") for m in every if m not in ours)
        with ThreadPoolExecutor(workers) as pool:  # each waits for a process
            tried = chosen(ours, most, seed)
            yield from ((mutation, *found) for mutation, found in zip(tried, pool.map(outcome, tried)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", nargs="*", default=[], help="names of files, such as newton_euler.py")
    parser.add_argument("--most", type=int, help="mutations a file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1, help="processes at a time")
    parser.add_argument("--list", action="store_true", help="print the lines that are not reached")
    parser.add_argument("--planted", action="store_true", help="the faults of faults.py, in the other rooms")
    options = parser.parse_args()
    if options.planted:
        import faults  # beside this file

        raise SystemExit(faults.main([]))
    package = importlib.util.find_spec("dalembert")  # finds, does not import
    assert package is not None and package.origin is not None
    root = Path(package.origin).parent
    files = [p for room in ROOMS for p in sorted((root / room).rglob("*.py"))]
    files = [p for p in files if not options.files or p.name in options.files]
    start, counts = time.perf_counter(), dict[str, Counter[str]]()
    survivors, missed = [], []
    for mutation, status, why in run(root, files, options.most, options.seed, options.workers):
        counts.setdefault(mutation.file, Counter())[status] += 1
        if status in ("survived", "equivalent"):
            survivors.append((mutation, status, why))
            print(f"{status}: {mutation.file}:{mutation.line}: {mutation} {why}", flush=True)
        elif status == "not reached":
            missed.append(mutation)
    kinds = ("killed", "crashed", "endless", "equivalent", "survived", "not reached")
    print(f"\n{'file':44s}" + "".join(f"{kind:>12s}" for kind in kinds))
    for file, count in counts.items():
        print(f"{file:44s}" + "".join(f"{count[kind] or '':>12}" for kind in kinds))
    total = sum(counts.values(), Counter())
    print(f"{'total':44s}" + "".join(f"{total[kind]:12d}" for kind in kinds))
    print(f"\n{time.perf_counter() - start:.0f} s")
    if options.list:
        for mutation in missed:
            print(f"not reached: {mutation.file}:{mutation.line}: {mutation}")


if __name__ == "__main__":
    main()
