"""The reference, written from docstrings: every public name with its signature, its text and its arguments.

``pages()`` gives Markdown by path. It needs nothing but the package itself, so that tests can read the reference
without building the site.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import re
import typing
from collections.abc import Iterator
from typing import Any, NamedTuple

import dalembert

WIDTH = 100
"""Signatures longer than this are broken into lines, one argument each."""


class Page(NamedTuple):
    """A page of the reference: its title, and the modules whose public names it lists."""

    title: str
    modules: tuple[str, ...]


SPECIFIED = {
    "dynamics": Page(
        "Dynamics and kernels",
        (
            "dynamics", "dynamics.facade", "dynamics.frame_quantity", "dynamics.linearization", "dynamics.reactions",
            "dynamics.drives", "kernels", "native.kernel", "native.calls", "tracing.cost", "cuda.kernel",
        ),
    ),
    "model": Page(
        "Mechanisms",
        (
            "model", "model.mechanism", "model.body", "model.joint", "model.inertia", "model.constraint", "model.force",
            "model.contact", "model.ground",
        ),
    ),
    "operations": Page(
        "Operations on mechanisms",
        ("model.operations", "model.reroot", "model.parameters"),
    ),
    "formats": Page(
        "Files and tables",
        (
            "formats", "formats.loading", "formats.urdf", "formats.urdf_writer", "formats.toml", "formats.toml_writer",
            "formats.mjcf", "formats.sdf", "formats.srdf", "formats.xacro", "formats.dh",
        ),
    ),
    "algebra": Page(
        "Algebra",
        (
            "algebra", "algebra.transform", "algebra.rotations", "algebra.quaternions", "algebra.euler",
            "algebra.attitude", "algebra.vectors", "algebra.tensors", "algebra.inertia", "algebra.kronecker",
            "algebra.scalar", "algebra.arrays",
        ),
    ),
    "loops": Page("Loops, comparisons and choices", ("algebra.loops", "algebra.comparisons")),
    "linalg": Page("Linear equations", ("algebra.linalg",)),
    "random": Page("Random numbers", ("algebra.random",)),
    "tracing": Page(
        "Tracing",
        ("tracing", "tracing.trace", "tracing.program", "tracing.passes.optimise", "tracing.derivatives"),
    ),
    "errors": Page("Errors", ("errors",)),
}  # fmt: skip
"""Pages with a choice of modules. Under its own name a room lists what is in its ``__all__`` and in no other module of
the page. Every other room gets a page with the names of its ``__all__``."""

ONLY = {
    "native.kernel": ("Kernel",),
    "native.calls": ("BoundKernel",),
    "tracing.cost": ("Cost", "cost"),
    "cuda.kernel": ("CudaKernel", "BoundCudaKernel"),
    "model.operations": ("with_gravity", "with_base", "lock", "merge_fixed", "attach", "add_payload", "subtree"),
    "model.parameters": ("parameters", "symbolise", "substitute"),
    "formats.urdf": ("read_urdf",),
    "formats.urdf_writer": ("write_urdf",),
    "formats.toml": ("read_toml",),
    "formats.toml_writer": ("write_toml",),
    "formats.mjcf": ("read_mjcf",),
    "formats.sdf": ("read_sdf",),
    "formats.srdf": ("read_srdf",),
    "formats.xacro": ("read_xacro",),
    "formats.dh": ("from_dh",),
    "model.contact": ("Contact",),
}
"""Modules of which only some names matter to users."""

TITLES = {
    "algorithms": "Algorithms",
    "autodiff": "Automatic differentiation",
    "comparison": "Comparison with other libraries",
    "constraints": "Constraints and forces",
    "contact": "Contact",
    "control": "Control",
    "costs": "Published operation counts",
    "conventions": "Conventions of other libraries",
    "formulations": "Formulations",
    "identification": "Identification",
    "kinematics": "Kinematics",
    "pictures": "Pictures",
    "planning": "Planning",
    "proof": "Proof",
    "report": "Reports",
    "simulation": "Simulation",
    "viewer": "Viewer",
}

WHOLE = ("algorithms", "autodiff")
"""Rooms of which every module is listed, not only the names of ``__all__``."""

HIDDEN = (
    "cli", "tracing", "native", "printing", "cuda", "fmi", "text", "typesetting", "model", "formats", "algebra",
    "dynamics",
)  # fmt: skip
"""Rooms without an automatic page: they are on the pages above, have one of another kind, or serve other rooms."""


# -------------------------------------------------------------------------------------------------- what a page lists


def rooms() -> list[str]:
    """Packages that get a page from their ``__all__``, present ones only."""
    found = [info.name for info in pkgutil.iter_modules(dalembert.__path__) if info.ispkg or info.name == "pictures"]
    return [name for name in found if name not in HIDDEN]


def public_names(package: Any) -> list[str]:
    """The names a package offers: its ``__all__``, or what it defines itself if it has none.

    Args:
        package: an imported package.
    """
    return list(getattr(package, "__all__", None) or (name for name, _ in own_members(package)))


def members(page: str) -> Iterator[tuple[Any, list[tuple[str, Any]]]]:
    """Modules of a page, each with its public classes, functions and tables.

    Args:
        page: name of the page.
    """
    if page in SPECIFIED:
        modules = [importlib.import_module(f"dalembert.{name}") for name in SPECIFIED[page].modules]
        found = {module: _chosen(module) for module in modules}
        listed = {anchor(value, name, module) for module, chosen in found.items() for name, value in chosen}
        for module, chosen in found.items():
            offered = [(name, getattr(module, name)) for name in getattr(module, "__all__", ())]
            yield module, [*chosen, *(x for x in offered if anchor(x[1], x[0], module) not in listed)]
        return
    package = importlib.import_module(f"dalembert.{page}")
    if page not in WHOLE:
        yield package, [(name, getattr(package, name)) for name in public_names(package)]
        return
    yield package, list(own_members(package))
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        module = importlib.import_module(info.name)
        found = list(own_members(module))
        if found:
            yield module, found


def _chosen(module: Any) -> list[tuple[str, Any]]:
    wanted = ONLY.get(module.__name__.removeprefix("dalembert."))
    return [(name, value) for name, value in own_members(module) if wanted is None or name in wanted]


def own_members(module: Any) -> Iterator[tuple[str, Any]]:
    """Public classes and functions that a module defines, in the order of its text."""
    for name, value in vars(module).items():
        own = getattr(value, "__module__", None) == module.__name__ and not name.startswith("_")
        if own and (inspect.isclass(value) or inspect.isfunction(value)):
            yield name, value


def anchor(value: Any, name: str, module: Any) -> str:
    """The full name of a member: where it is defined."""
    home = getattr(value, "__module__", None)
    told = inspect.isclass(value) or inspect.isfunction(value)
    return f"{home if told and home else module.__name__}.{getattr(value, '__qualname__', name) if told else name}"


# --------------------------------------------------------------------------------------------------- docstring to text


def escaped(text: str) -> str:
    """Text with ``<`` and ``*`` harmless outside of code."""
    parts = re.split(r"(``.+?``|`[^`]+`)", text)
    return "".join(p if p.startswith("`") else p.replace("<", "&lt;").replace("*", r"\*") for p in parts)


def linked(text: str, places: dict[str, str], here: str) -> str:
    """Roles such as ``:func:`name` `` as links where the name is in the reference, as code where it is not."""

    def link(match: re.Match[str]) -> str:
        target = match.group(1).lstrip("~")
        shown = target.rpartition(".")[2] if match.group(1).startswith("~") else target
        found = next((a for a in places if a == target or a.endswith(f".{target}")), None)
        if found is None:
            return f"`{shown}`"
        page = places[found]
        return f"[`{shown}`]({'' if page == here else f'{page}.md'}#{found})"

    return re.sub(r":\w+:`([^`]+)`", link, text)


def body(text: str) -> Iterator[str]:
    """Paragraphs; indented ones and tables become code blocks, sections of arguments become lists."""
    lines = inspect.cleandoc(text).splitlines()
    section, code, margin = "", False, 4
    for number, line in enumerate(lines):
        table = bool(re.match(r"\S+ {2,}\S", line) or (code and margin == 0 and line and lines[number - 1]))
        indented = line.startswith("    ") or table
        if re.fullmatch(r"(Args|Attributes|Returns|Raises|Yields):", line):
            section = line[:-1]
            yield from ("", f"**{ {'Args': 'Arguments'}.get(section, section) }**", "")
        elif section and (line.startswith("    ") or not line):
            yield _item(line, section)
        elif indented and (code or (number > 0 and not lines[number - 1])):
            if not code:
                yield "```text"
                code, margin = True, 0 if table else 4
            yield line[margin:]
        else:
            if code and line:
                yield from ("```", "")
                code = False
            section = "" if line else section
            yield line if code else escaped(line)
    if code:
        yield "```"


def _item(line: str, section: str) -> str:
    named = re.match(r"    (\*{0,2}\w+)(?: \([^)]*\))?: (.*)", line)
    if named and section != "Returns":
        return f"- `{named.group(1)}`: {escaped(named.group(2))}"
    return f"  {escaped(line.strip())}" if line else ""


def signature(value: Any, name: str) -> str:
    """How to call it, as Python writes it."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return name
    parameters = []
    for p in found.parameters.values():
        if p.name in ("self", "cls"):
            continue
        if isinstance(p.annotation, typing.ForwardRef):  # of a named tuple
            p = p.replace(annotation=p.annotation.__forward_arg__)
        if repr(p.default) == "<factory>":
            p = p.replace(default=inspect.Parameter.empty)
            parameters.append(f"{p} = ...")
        else:
            parameters.append(re.sub(r"'([^']+)'", r"\1", str(p), count=1) if isinstance(p.annotation, str) else str(p))
    pieces = _with_marks(found, parameters)
    result = found.return_annotation
    arrow = "" if result is inspect.Signature.empty or inspect.isclass(value) else f" -> {result}"
    one = f"{name}({', '.join(pieces)}){arrow}"
    if len(one) <= WIDTH:
        return one
    return "\n".join([f"{name}(", *(f"    {piece}," for piece in pieces), f"){arrow}"])


def _with_marks(found: inspect.Signature, texts: list[str]) -> list[str]:
    """The marker before the arguments that must be named."""
    listed = [p for p in found.parameters.values() if p.name not in ("self", "cls")]
    result, marked = [], any(p.kind is p.VAR_POSITIONAL for p in listed)
    for p, text in zip(listed, texts):
        if p.kind is p.KEYWORD_ONLY and not marked:
            result.append("*")
            marked = True
        result.append(text)
    return result


# --------------------------------------------------------------------------------------------------------------- pages


def pages() -> dict[str, str]:
    """Markdown of every page of the reference by path, the overview first."""
    names = [*SPECIFIED, *rooms()]
    places = {
        anchor(value, name, module): page for page in names for module, found in members(page) for name, value in found
    }
    written = {f"reference/{page}.md": _page(page, places) for page in names}
    return {
        "reference/index.md": _overview(places),
        "reference/quantities.md": _quantities(),
        **written,
        "reference/command-line.md": _command_line(),
        "reference/SUMMARY.md": _summary(names),
    }


def title(page: str) -> str:
    """Title of a page of names."""
    return SPECIFIED[page].title if page in SPECIFIED else TITLES.get(page, page.replace("_", " ").capitalize())


def _summary(names: list[str]) -> str:
    """The navigation."""
    titles = {"index": "Overview", "quantities": "Quantities"} | {name: title(name) for name in names}
    titles["command-line"] = "Command line"
    return "".join(f"* [{shown}]({name}.md)\n" for name, shown in titles.items())


def _page(page: str, places: dict[str, str]) -> str:
    lines, told = [f"# {title(page)}", ""], set()
    for module, found in members(page):
        short = module.__name__.removeprefix("dalembert.")
        lines += [f"## `dalembert.{short}`" if module is not dalembert else "## `dalembert`", ""]
        lines += [linked(line, places, page) for line in body(module.__doc__ or "")] + [""]
        for name, value in found:
            full = anchor(value, name, module)
            if full not in told and places.get(full) == page:
                told.add(full)
                lines += [linked(line, places, page) for line in _member(name, value, full)]
    return "\n".join(lines) + "\n"


def _member(name: str, value: Any, full: str) -> Iterator[str]:
    yield from (f"### {name} {{ #{full} }}", "")
    if not (inspect.isclass(value) or inspect.isfunction(value)):
        kind = type(value).__name__
        yield from (
            f"A `{kind}`" + (f" with {', '.join(f'`{k}`' for k in value)}." if isinstance(value, dict) else "."),
            "",
        )
        return
    keyword = "class " if inspect.isclass(value) else "def "
    yield from ("```python", keyword + signature(value, name), "```", "")
    yield from body(value.__doc__ or "")
    yield ""
    if inspect.isclass(value):
        yield from _class_members(value, full)


def _class_members(value: type, full: str) -> Iterator[str]:
    for name, member in vars(value).items():
        function = member.__func__ if isinstance(member, (staticmethod, classmethod)) else member
        getter = getattr(member, "fget", None) or getattr(member, "func", None)
        if name.startswith("_") and name != "__call__":
            continue
        if inspect.isfunction(function) and function.__doc__:
            yield from (
                f"#### {name} {{ #{full}.{name} }}",
                "",
                "```python",
                f"def {signature(function, name)}",
                "```",
                "",
            )
            yield from body(function.__doc__)
            yield ""
        elif getter is not None and getter.__doc__ and not dataclasses.is_dataclass(getter):
            yield from (f"#### {name} {{ #{full}.{name} }}", "", "*property*", "")
            yield from body(getter.__doc__)
            yield ""


def _overview(places: dict[str, str]) -> str:
    lines = [
        "# Reference",
        "",
        "Written from the docstrings. These names are public: `import dalembert as da`, then `da.NAME`.",
        "",
        "| name | what it is |",
        "|---|---|",
    ]
    for name in sorted(dalembert.__all__, key=str.lower):
        value = getattr(dalembert, name)
        if inspect.ismodule(value):
            target = f"{name}.md"
        else:
            full = anchor(value, name, dalembert)
            target = f"{places[full]}.md#{full}"
        first = inspect.cleandoc(value.__doc__ or "").partition("\n")[0]
        text = linked(escaped(first), {}, "").replace("|", r"\|")
        lines.append(f"| [`da.{name}`]({target}) | {text} |")
    lines += [
        "",
        "Further rooms are imported by their own name, such as `from dalembert.formulations import derive`:",
        "",
    ]
    lines += [f"- [`dalembert.{room}`]({room}.md)" for room in rooms()]
    return "\n".join(lines) + "\n"


def _quantities() -> str:
    from dalembert.dynamics import CONSTRAINT_QUANTITIES, QUANTITIES, TASK_QUANTITIES

    lines = [
        "# Quantities",
        "",
        "What `Dynamics` computes. Every quantity is an attribute of it: `dyn.mass_matrix(q)`; those with options take",
        'them as keywords: `dyn.pose(q, frame="tool")`. Inputs have any batch shape before their last dimension.',
        "`n` is the number of velocities `nv`; `packed` is nv (nv + 1) / 2; `nonzeros` depends on the mechanism;",
        "`rows` is the number of constraint rows.",
        "",
    ]
    tables = {
        "Of any mechanism": QUANTITIES,
        "In the coordinates of a frame": TASK_QUANTITIES,
        "Of constraints and force elements": CONSTRAINT_QUANTITIES,
    }
    for heading, table in tables.items():
        lines += [f"## {heading}", "", "| quantity | inputs | gives | options | what it is |", "|---|---|---|---|---|"]
        for name, spec in table.items():
            gives = ", ".join(f"{k} ({', '.join(map(str, size))})" if size else k for k, size in spec.outputs.items())
            options = ", ".join(spec.options) or ""
            doc = spec.doc.replace("|", r"\|")
            lines.append(f"| `{name}` | {', '.join(spec.inputs)} | {gives} | {options} | {escaped(doc)} |")
        lines.append("")
    lines += ['These are asked for by name: `dyn.evaluate("element_forces", q, v, 0.0)`.', ""]
    return "\n".join(lines)


def _command_line() -> str:
    import argparse

    from dalembert.cli.application import build_parser

    parser = build_parser()
    lines = ["# Command line", "", "```text", _help(parser), "```", ""]
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, sub in action.choices.items():
                lines += [f"## dalembert {name}", "", "```text", _help(sub), "```", ""]
    return "\n".join(lines)


def _help(parser: Any) -> str:
    """Help as it is printed on a terminal of 100 columns, without colour."""
    formatter = parser.formatter_class
    parser.formatter_class = lambda prog: formatter(prog, width=WIDTH)
    if hasattr(parser, "color"):
        parser.color = False
    try:
        return parser.format_help().rstrip()
    finally:
        parser.formatter_class = formatter
