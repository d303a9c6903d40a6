"""The manual: every block runs and prints what is shown, every public name is in the reference, the site builds.

What the marks of blocks mean is told in docs/hooks/blocks.py, which also rewrites the output that pages show.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest

import dalembert

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS / "hooks"))
manual = importlib.import_module("blocks")
reference = importlib.import_module("reference")
gallery = importlib.import_module("gallery")

PAGES = manual.pages()
NOT_RUN = {
    f"benchmarks/{name}.md": 1
    for name in (
        "bridges", "compilation", "constrained", "contact", "control", "cpu", "derivation", "gpu", "rollout",
    )
}  # fmt: skip
NOT_RUN |= {"howto/command-line.md": 1, "index.md": 1}
NOT_RUN |= {"howto/add/joint.md": 1, "howto/add/quantity.md": 1, "howto/add/constraint.md": 2}
NOT_RUN |= {f"howto/add/{name}.md": 1 for name in ("integrator", "file-format", "export-language")}
NOT_RUN |= {"howto/add/force-element.md": 2, "howto/add/contact-shape.md": 3}
"""Blocks of Python or shell that are shown only, by page; all others run."""


def blocks_of(page: str) -> list:
    return manual.blocks((DOCS / page).read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES)
def test_blocks_of_a_page_run_and_print_what_is_shown(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    ran, skipped = manual.run_page(page)
    for outcome in ran:
        shown = outcome.told.source.rstrip() if outcome.differs else ""
        message = f"docs/{page}:{outcome.block.line}; `python docs/hooks/blocks.py {page}` rewrites what is shown"
        assert not outcome.differs, f"{message}\n{outcome.printed.rstrip()}\n--- shown ---\n{shown}"
    if skipped and not ran:
        pytest.skip("; ".join(skipped))
    print(*skipped, sep="\n")


def test_blocks_that_do_not_run_are_known_and_have_reasons():
    shown = [(page, block) for page in PAGES for block in blocks_of(page) if "no-run" in block.marks]
    print(*(f"{page}:{block.line}: {block.marks['no-run']}" for page, block in shown), sep="\n")
    assert Counter(page for page, _ in shown) == NOT_RUN


def test_languages_are_ones_that_are_tested_or_data():
    assert {block.language for page in PAGES for block in blocks_of(page)} <= {"python", "sh", "text", "toml", "c"}


def test_every_fence_is_seen():
    """The pattern finds as many blocks as there are pairs of fences, and as many marks as there are comments."""
    for page in PAGES:
        text = (DOCS / page).read_text(encoding="utf-8")
        assert 2 * len(blocks_of(page)) == len(re.findall(r"^ *```", text, re.MULTILINE)), page
        marks = sum(len(block.marks) for block in blocks_of(page))
        assert marks == len(re.findall(r"<!-- (?:no-run|needs|varies)", text)), page


def test_pages_say_how_to_get_what_their_blocks_need():
    """Before the first block that needs a package, the page names an extra that brings it."""
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    called = {"pinocchio": "pin", "dask": "distributed", "mujoco.mjx": "mujoco"}
    called |= {"pydrake": "drake", "liecasadi": "adam"}
    for page in PAGES:
        text = (DOCS / page).read_text(encoding="utf-8")
        for block in blocks_of(page):
            if "needs" in block.marks:
                package = called.get(block.marks["needs"], block.marks["needs"])
                named = re.findall(r"dalembert\[(\w+)\]", text[: block.span[0]])
                brought = [re.split(r"[^\w-]", item)[0].split("-")[0] for extra in named for item in extras[extra]]
                assert package in brought, f"{page}:{block.line}: {package}"


def test_the_checker_sees_what_differs():
    text = "<!-- needs: no_such_package -->\n```python\n1 / 0\n```\n\n```python\nprint(1)\n```\n\n```text\n2\n```\n"
    first, second, told = manual.blocks(text)
    assert first.marks == {"needs": "no_such_package"}
    assert manual.missing("no_such_package") == "no_such_package is not installed"
    assert manual.Outcome(second, "1\n", told).differs
    assert not manual.Outcome(second, "2\n", told).differs
    assert text[slice(*told.span)] == "2\n"


# ----------------------------------------------------------------------------------------------------------- reference


@pytest.fixture(scope="module")
def written() -> dict[str, str]:
    return reference.pages()


def anchors(written: dict[str, str]) -> set[str]:
    return set(re.findall(r"\{ #([\w.]+) \}", "\n".join(written.values())))


def test_every_public_name_is_in_the_reference(written):
    told = anchors(written)
    absent = []
    for name in dalembert.__all__:
        value = getattr(dalembert, name)
        if type(value).__name__ == "module":
            known = f"reference/{name}.md" in written
        else:
            known = reference.anchor(value, name, dalembert) in told
        if not known:
            absent.append(name)
    assert absent == []
    assert all(f"`da.{name}`" in written["reference/index.md"] for name in dalembert.__all__)


def test_every_name_of_every_room_is_in_the_reference(written):
    told = anchors(written)
    for room in (*reference.rooms(), "dynamics", "model", "formats", "algebra", "tracing"):
        module = importlib.import_module(f"dalembert.{room}")
        assert [
            n for n in reference.public_names(module) if reference.anchor(getattr(module, n), n, module) not in told
        ] == []


def test_every_quantity_and_command_is_in_the_reference(written):
    from dalembert.cli.application import COMMANDS
    from dalembert.dynamics import ALL_QUANTITIES, CONSTRAINT_QUANTITIES

    named = (*ALL_QUANTITIES, *CONSTRAINT_QUANTITIES)
    assert all(f"| `{name}` |" in written["reference/quantities.md"] for name in named)
    for module in COMMANDS:
        assert f"## dalembert {module.__name__.rpartition('.')[2]}" in written["reference/command-line.md"]


def test_the_reference_has_no_traces_of_another_markup(written):
    text = "\n".join(written.values())
    assert re.findall(r":\w+:`", text) == []
    assert "<factory>" not in text and "ForwardRef" not in text


def test_tables_keep_their_lines():
    text = "A room.\n\nname       what it is\nlong_names what they are\n\nA sentence\nof two lines."
    table, rest = "name       what it is\nlong_names what they are", "A sentence\nof two lines."
    assert "\n".join(reference.body(text)) == f"A room.\n\n```text\n{table}\n\n```\n\n{rest}"


def test_arguments_become_a_list():
    def function(length, width=2):
        """An area.

        Args:
            length: along x, m;
                or whatever.
            width: along y, m.
        """

    text = "\n".join(reference.body(function.__doc__))
    assert "- `length`: along x, m;\n  or whatever.\n- `width`: along y, m." in text
    assert reference.signature(function, "area") == "area(length, width=2)"


# ------------------------------------------------------------------------------------------------------------- gallery


def test_every_example_story_and_notebook_has_a_page_with_downloads():
    made, examples = gallery.pages(), ROOT / "examples"
    scripts = [*examples.glob("[!_]*.py"), *(examples / "stories").glob("*.py")]
    for path in scripts:
        name = path.relative_to(examples).with_suffix("").as_posix()
        assert {f"examples/{name}{suffix}" for suffix in (".md", ".py", ".ipynb")} <= set(made), "list it in THEMES"
        assert f"]({name}.md)" in made["examples/index.md"]
    assert all(f"examples/notebooks/{path.name}" in made for path in gallery.notebooks())


def test_a_script_is_a_notebook_that_runs(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib").use("Agg")
    import json

    monkeypatch.chdir(tmp_path)
    notebook = json.loads(gallery.as_notebook((ROOT / "examples" / "tumbling.py").read_text(encoding="utf-8")))
    assert notebook["cells"][0]["source"][0].startswith("# Dzhanibekov's nut")
    names: dict = {"__name__": "__main__"}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]).replace("plt.show()", ""), names)  # our own text
    assert "flips in 20 s" in capsys.readouterr().out


# ---------------------------------------------------------------------------------------------------------------- site


BUILDS = all(importlib.util.find_spec(name) for name in ("material", "mkdocs_gen_files", "mkdocs_literate_nav"))


@pytest.mark.skipif(not BUILDS, reason="needs the extra docs")
def test_the_site_builds_strictly_and_asks_nobody_for_anything(tmp_path):
    """No warning, and no page loads a script, a style, a font or a picture from elsewhere."""
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    foreign = []
    for path in tmp_path.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        for tag in re.findall(r"<(?:script|link|img|iframe|source)\b[^>]*>", text):
            if re.search(r"""(?:src|href)=["']?(?:https?:)?//""", tag) and "canonical" not in tag:
                foreign.append(f"{path.name}: {tag}")
    assert foreign == []
    assert (tmp_path / "reference" / "dynamics.html").exists()
    _search_works_from_a_folder(tmp_path / "howto" / "toml.html")


def _search_works_from_a_folder(page: Path) -> None:
    """Words typed into the field of a page that no server sends find pages."""
    sys.path.insert(0, str(DOCS / "pictures"))
    browsers = importlib.import_module("chromium")
    if browsers.find_chromium() is None:
        return
    with browsers.Chromium(1000, 640) as browser:
        browser.open(page)
        browser.run("""(() => {
          const field = document.querySelector("input.md-search__input");
          field.focus(); field.value = "mimic"; field.dispatchEvent(new KeyboardEvent("keyup", { bubbles: true }));
        })()""")
        browser.until("document.querySelectorAll('.md-search-result__link').length > 0")
        assert any("reference/model.html" in link for link in browser.run(
            "[...document.querySelectorAll('.md-search-result__link')].map((link) => link.href)"
        ))  # fmt: skip
        assert browser.messages == []
