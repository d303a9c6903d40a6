"""The gallery: a page for every example, story and notebook, with its picture, its code, what it prints, and downloads.

``pages()`` gives Markdown and files by path. What ``make docs`` made is shown: pictures and printed text of scripts in
``out/``, executed notebooks in ``out/notebooks/``. Without these, pages have the code alone.
"""

from __future__ import annotations

import ast
import base64
import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
EXAMPLES, OUT = ROOT / "examples", ROOT / "out"

THEMES: dict[str, tuple[str, ...]] = {
    "Equations": (
        "double_pendulum", "stacker_derivation", "report_stacker", "from_sympy_model", "agreement", "operation_counts",
        "puma560_counts",
    ),
    "Robots in numbers": (
        "inverse_dynamics_batch", "dh_arm", "kinematic_tree", "workspace", "trajectory_feasibility", "compare_models",
        "export_c",
    ),
    "Motion": ("heavy_top", "tumbling", "spacecraft", "floating_base", "energy_drift", "sweep_basin"),
    "Loops, rolling, rules": (
        "four_bar", "rolling_disc", "bicycle", "constraints_andrews", "constraints_bearing_forces",
        "constraints_own_rules", "legged_stance",
    ),
    "Contact": (
        "contact_ball", "contact_box", "contact_billiard", "contact_dominoes", "contact_gripper", "contact_hopper",
        "contact_page", "contact_rimless_wheel", "contact_walker", "contact_humanoid", "contact_slider_crank",
        "contact_trot",
    ),
    "Control and learning": (
        "cart_pole", "gravity_compensation", "computed_torque", "operational_space", "batched_rollout",
        "casadi_swing_up",
    ),
    "Identification": ("identify_payload", "payload_identification"),
}  # fmt: skip
"""Examples by what they are about, in the order of the gallery."""

NAMES = {
    "sympy": "SymPy", "casadi": "CasADi", "puma560": "Puma 560", "dh": "DH", "c": "C", "andrews": "Andrews' squeezer",
}  # fmt: skip
"""Words in the names of scripts that are written in another way."""

ALONE = """\
import matplotlib.pyplot as plt

SHORT = False


def save(name, draw, size=(8, 4.5)):
    figure = plt.figure(figsize=size, layout="constrained")
    drawn = draw(figure)
    if drawn is not None and drawn is not figure:
        plt.close(figure)
        display(drawn)
    plt.show()
"""
"""What notebooks have in the place of ``_pictures.py``."""


def scripts() -> dict[str, tuple[Path, ...]]:
    """Scripts by heading, stories first."""
    stories = {"Stories": tuple(sorted((EXAMPLES / "stories").glob("*.py")))}
    return stories | {theme: tuple(EXAMPLES / f"{name}.py" for name in names) for theme, names in THEMES.items()}


def notebooks() -> list[Path]:
    """The notebooks for teaching."""
    return sorted((EXAMPLES / "notebooks").glob("*.ipynb"))


def told(source: str) -> tuple[str, str, str]:
    """Headline and text of a script's docstring, and the code below it.

    Args:
        source: of the script.
    """
    headline, _, rest = (ast.get_docstring(ast.parse(source)) or "").partition("\n")
    return headline, rest.strip(), source.split('"""', 2)[2].lstrip("\n")


def title(path: Path) -> str:
    """A name to show: the first heading of a notebook, the beginning of a story, the name of any other script."""
    if path.suffix == ".ipynb":
        first = "".join(json.loads(path.read_text(encoding="utf-8"))["cells"][0]["source"])
        return first.partition("\n")[0].lstrip("# ")
    if path.parent.name == "stories":
        return told(path.read_text(encoding="utf-8"))[0].partition(":")[0]
    words = path.stem.removeprefix("contact_").removeprefix("constraints_").split("_")
    shown = " ".join(NAMES.get(word, word) for word in words)
    return shown[0].upper() + shown[1:]


def as_notebook(source: str) -> str:
    """A script as a notebook: its docstring and comments with rules become text, the code between them cells.

    Args:
        source: of the script.
    """
    headline, rest, code = told(source)
    cells: list[dict[str, Any]] = []

    def add(kind: str, text: str) -> None:
        if text.strip():
            more = {"outputs": [], "execution_count": None} if kind == "code" else {}
            lines = text.strip("\n").splitlines(keepends=True)
            cells.append({"cell_type": kind, "id": f"cell-{len(cells):02}", "metadata": {}, "source": lines} | more)

    add("markdown", f"# {headline}\n\n{rest}")
    if "from _pictures import" in code:
        code = re.sub(r"^from _pictures import .*\n", "", code, flags=re.MULTILINE)
        add("code", ALONE)
    for piece in re.split(r"^(# -{2,} .*\n(?:# .*\n)*)", code, flags=re.MULTILINE):
        if piece.startswith("# --"):
            lines = [line.lstrip("#- ") for line in piece.splitlines()]
            add("markdown", "## " + " ".join(lines))
        else:
            add("code", piece)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return json.dumps(
        {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}, indent=1
    )


def pages() -> dict[str, str | bytes]:
    """Everything below ``examples/`` of the site, by path; the last is ``SUMMARY.md`` for the navigation."""
    found: dict[str, str | bytes] = {}
    index, summary = [INTRODUCTION], ["* [Gallery](index.md)"]
    for heading, paths in {"Notebooks": tuple(notebooks()), **scripts()}.items():
        index += [f"## {heading}", "", '<div class="grid cards gallery" markdown>', ""]
        summary.append(f"* {heading}")
        for path in paths:
            name = path.relative_to(EXAMPLES).with_suffix("").as_posix()
            made = _notebook(path, name) if path.suffix == ".ipynb" else _script(path, name)
            found |= made
            shown = next((x for x in made if x.endswith(".png")), None)
            picture = f"[![{title(path)}]({shown.removeprefix('examples/')})]({name}.md)" if shown else ""
            index += [f"-   {picture}", "", f"    [**{title(path)}**]({name}.md)", "", f"    {_headline(path)}", ""]
            summary.append(f"    * [{title(path)}]({name}.md)")
        index += ["</div>", ""]
    found["examples/index.md"] = "\n".join(index)
    found["examples/SUMMARY.md"] = "\n".join(summary) + "\n"
    return found


INTRODUCTION = """\
# Examples

Every script and notebook here runs in continuous integration and checks what it claims. Scripts write a picture to
`out/`, with matplotlib (`pip install 'dalembert[plot]'`); each can be downloaded as a notebook, too.
"""


def _headline(path: Path) -> str:
    if path.suffix == ".ipynb":
        text = "".join(json.loads(path.read_text(encoding="utf-8"))["cells"][0]["source"])
        return re.split(r"(?<=[.?!])\s", text.partition("\n")[2].strip())[0].replace("\n", " ")
    headline = told(path.read_text(encoding="utf-8"))[0]
    before, colon, after = headline.partition(": ")
    return after[0].upper() + after[1:] if colon and len(before) < 45 else headline


def _downloads(path: Path, script: bool) -> str:
    links = [f"[Notebook :material-download:]({path.stem}.ipynb){{ .md-button download }}"]
    if script:
        links.insert(0, f"[Script :material-download:]({path.name}){{ .md-button download }}")
    return " ".join(links)


def _script(path: Path, name: str) -> dict[str, str | bytes]:
    source = path.read_text(encoding="utf-8")
    headline, rest, code = told(source)
    lines = [f"# {title(path)}", "", f"**{headline}**", "", rest, "", _downloads(path, True), ""]
    made: dict[str, str | bytes] = {
        f"examples/{path.relative_to(EXAMPLES).as_posix()}": source,
        f"examples/{name}.ipynb": as_notebook(source),
    }
    if (OUT / f"{path.stem}.png").exists():
        made[f"examples/{name}.png"] = (OUT / f"{path.stem}.png").read_bytes()
        lines += [f"![{headline}]({path.stem}.png)", ""]
    lines += [f'```python title="examples/{path.relative_to(EXAMPLES).as_posix()}"', code.rstrip(), "```", ""]
    if (OUT / f"{path.stem}.txt").exists():
        lines += [
            "It prints:",
            "",
            "```text",
            (OUT / f"{path.stem}.txt").read_text(encoding="utf-8").rstrip(),
            "```",
            "",
        ]
    return {**made, f"examples/{name}.md": "\n".join(lines)}


def _notebook(path: Path, name: str) -> dict[str, str | bytes]:
    """The notebook as a page, with the results of its cells if it was executed."""
    made: dict[str, str | bytes] = {f"examples/{name}.ipynb": path.read_text(encoding="utf-8")}
    executed = OUT / "notebooks" / path.name
    cells = json.loads((executed if executed.exists() else path).read_text(encoding="utf-8"))["cells"]
    lines: list[str] = []
    for number, cell in enumerate(cells):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            lines += [source, ""]
            if number == 0:
                lines += [_downloads(path, False), ""]
            continue
        lines += ["```python", source, "```", ""]
        for output in cell["outputs"]:
            data = output.get("data", {})
            if output["output_type"] == "stream" and output["name"] == "stdout":
                lines += ["```text", "".join(output["text"]).rstrip(), "```", ""]
            elif "image/png" in data:
                picture = f"{path.stem}-{number}.png"
                made[f"examples/notebooks/{picture}"] = base64.b64decode("".join(data["image/png"]))
                lines += [f"![Result of the cell above]({picture})", ""]
            elif "text/html" in data:
                shown = re.sub(r"\n\s*\n", "\n", "".join(data["text/html"])).strip()
                lines += [f'<div class="result">{shown}</div>', ""]
            elif "text/latex" in data:
                lines += ["$$", "".join(data["text/latex"]).strip().strip("$"), "$$", ""]
            elif "text/plain" in data:
                lines += ["```text", "".join(data["text/plain"]).rstrip(), "```", ""]
    return {**made, f"examples/{name}.md": "\n".join(lines)}
