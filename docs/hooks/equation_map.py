"""Writes the page that leads from every equation of the source documents to a function, its file and a test.

``equations.tsv`` beside this file says what serves an equation: document, equation, names (after =: words), theorem,
test. Where names are defined and tested is looked up, so the page is right again after files have moved:

    python docs/hooks/equation_map.py
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent

HEAD = """# From equations to functions

Every equation, lemma, algorithm, table and worked example of the [five documents](bibliography.md), the function that
serves it, the file it is defined in, and a test that tries it. A *theorem* is stated and proved by
`dalembert.proof.THEOREMS[name]`; [how](proof.md). Where the document has words only, or a drawing, the map says so.
How complete this is was [audited](audit.md).
"""


def definitions() -> dict[str, str]:
    """Name -> file of every public function, class and method; functions of the lower rooms win."""
    found: dict[str, str] = {}
    order = ("algebra", "kinematics", "algorithms", "model", "formats", "formulations", "planning", "proof")
    source = ROOT / "src" / "dalembert"

    def rank(path: Path) -> tuple[int, str]:
        room = path.relative_to(source).parts[0]
        return (order.index(room) if room in order else len(order), path.as_posix())

    for path in sorted(source.rglob("*.py"), key=rank):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                found.setdefault(node.name, path.relative_to(ROOT).as_posix())
            elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
                module = (ROOT / "src" / node.module.replace(".", "/")).with_suffix(".py")
                for alias in node.names:
                    if alias.asname and alias.asname != alias.name and module.exists():
                        found.setdefault(alias.asname, module.relative_to(ROOT).as_posix())
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                found.setdefault(node.targets[0].id, path.relative_to(ROOT).as_posix())
    return found


def trials() -> list[dict[str, str]]:
    """Test file -> its text: those of the mathematics, and all others."""
    rooms = ("algebra", "kinematics", "algorithms", "model", "formats", "formulations", "constraints", "proof")
    near = [path for room in rooms for path in sorted((ROOT / "tests" / room).glob("test_*.py"))]
    far = [path for path in sorted((ROOT / "tests").rglob("test_*.py")) if path not in near]
    return [{p.relative_to(ROOT).as_posix(): p.read_text(encoding="utf-8") for p in paths} for paths in (near, far)]


def tested(names: list[str], tests: list[dict[str, str]]) -> str:
    """The file that speaks of the first of these names most."""
    for name in names:
        word = rf"\b({re.escape(name)}|{re.escape(name.replace('_', '-'))})\b"
        for group in tests:
            counts = {path: len(re.findall(word, text)) for path, text in group.items()}
            best = max(counts, key=lambda path: counts[path])
            if counts[best]:
                return best
    return ""


def page() -> str:
    """The page."""
    where, tests = definitions(), trials()
    lines, section = [HEAD], ""
    for row in (Path(__file__).parent / "equations.tsv").read_text(encoding="utf-8").splitlines():
        document, equation, given, theorem, known = row.split("\t")
        if document != section:
            section = document
            lines += ["", f"## {document}", "", "| equation | function | file | test |", "|---|---|---|---|"]
        if given.startswith("="):  # in words
            lines.append(f"| {equation} | {given[1:]} |  |  |".replace("\\|", "|"))
            continue
        names = [name for name in given.split() if name in where]
        shown = ", ".join(f"`{name}`" for name in names)
        if theorem:
            shown += f"{'; ' if shown else ''}theorem `{theorem}`"
        file = where[names[0]].removeprefix("src/dalembert/") if names else "proof/theorems" if theorem else ""
        trial = known or tested(names, tests) or ("tests/proof/test_theorems.py" if theorem else "")
        if theorem and names:
            trial = f"{trial}, tests/proof/test_theorems.py".lstrip(", ")
        cells = (equation, shown or "-", file and f"`{file}`", trial and f"`{trial.replace(', ', '`, `')}`")
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    (ROOT / "docs" / "sources" / "map.md").write_text(page(), encoding="utf-8")
