"""What mkdocs does beyond Markdown: adds the reference and the gallery, and puts measured tables into pages."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import reference
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "out"
INCLUDE = re.compile(r"^<!-- include: (\S+) from `([^`]+)` -->$", re.MULTILINE)


def on_config(config: Any) -> Any:
    """Put the pages that are written here into the navigation.

    Args:
        config: of mkdocs.
    """
    config["written"] = {**reference.pages(), "examples/index.md": gallery()}
    for section in config["nav"]:
        if isinstance(section, dict) and "Reference" in section:
            section["Reference"] = [path for path in config["written"] if path.startswith("reference/")]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add them, and the pictures of the examples.

    Args:
        files: of the site.
        config: of mkdocs.
    """
    for path, text in config["written"].items():
        files.append(File.generated(config, path, content=text))
    for picture in sorted(PICTURES.glob("*.png")):
        if (ROOT / "examples" / f"{picture.stem}.py").exists():
            files.append(File.generated(config, f"examples/{picture.name}", abs_src_path=str(picture)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Put the output of benchmarks where a page asks for it.

    Args:
        markdown: of the page.
        page: of mkdocs.
    """
    return INCLUDE.sub(lambda match: measured(*match.groups()), markdown)


def measured(path: str, command: str) -> str:
    """The text a benchmark printed, or how to make it.

    Args:
        path: below docs/.
        command: what prints it.
    """
    file = ROOT / "docs" / path
    if not file.exists():
        return f'!!! note "Not measured in this copy"\n    `{command} > docs/{path}` prints this table.'
    return f"``` {{ .text .measured }}\n{file.read_text(encoding='utf-8').rstrip()}\n```\n\nPrinted by `{command}`."


def gallery() -> str:
    """The examples, each with what it shows, its picture where it was made, and its source."""
    lines = [
        "# Examples",
        "",
        "Complete scripts in `examples/`, each a few seconds long. Every one checks what it claims, and writes a",
        "picture to `out/` if matplotlib is installed (`pip install 'dalembert[plot]'`):",
        "",
        "```sh",
        "python examples/double_pendulum.py",
        "```",
        "",
        "`examples/stacker_notebook.ipynb` is a notebook for a class: the equations of the stacker derived by hand,",
        "every stage compared, then compiled and simulated.",
        "",
    ]
    for path in sorted((ROOT / "examples").glob("[!_]*.py")):
        source = path.read_text(encoding="utf-8")
        headline, _, rest = (ast.get_docstring(ast.parse(source)) or "").partition("\n")
        lines += [f"## {path.stem.replace('_', ' ')}", "", f"**{headline}**", *rest.splitlines(), ""]
        if (PICTURES / f"{path.stem}.png").exists():
            lines += [f"![{path.stem}]({path.stem}.png)", ""]
        lines += [f'??? example "examples/{path.name}"', "", "    ```python"]
        lines += [f"    {line}" for line in source.splitlines()] + ["    ```", ""]
    return "\n".join(lines)
