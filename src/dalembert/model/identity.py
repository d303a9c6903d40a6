"""What a function or an object is by value: a digest that is the same in every process and changes when the answer may.

A pickle does not serve: it names functions instead of describing them, and has sets in another order in every process.
So values are walked. Functions count by their instructions, constants, defaults and by what they refer to - variables
around them, other functions, classes, the names of modules they use - each by value again; instances by what they
would be pickled from. What belongs to Python or to an installed package counts by its name and the version of the
package. What cannot be known - a file that is read, the environment, an object that does not say what it holds - is
listed, so that somebody can be asked.
"""

from __future__ import annotations

import copyreg
import dis
import functools
import hashlib
import importlib
import os
import re
import sys
import sysconfig
import types
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import resolve_name
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from dalembert.algebra import scalar
from dalembert.installation import code_digest

PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented), range)
"""Types whose ``repr`` says all."""

READERS = frozenset(
    [
        "open",
        "environ",
        "getenv",
        "input",
        "eval",
        "exec",
        "load",
        "loadtxt",
        "genfromtxt",
        "fromfile",
        "memmap",
        "read_text",
        "read_bytes",
        "read_csv",
        "read_parquet",
        "read_excel",
        "read_hdf",
        "read_json",
        "open_dataset",
        "open_zarr",
        "urlopen",
    ]
)
"""Names of what brings in files, the environment or code that nothing here refers to."""

DYNAMIC = frozenset({"getattr", "vars", "globals", "dir", "__dict__"})
"""With one of these beside it, any name of a module may be used."""

GENERATED = frozenset(
    [
        "__dict__",
        "__weakref__",
        "__doc__",
        "__module__",
        "__annotations__",
        "__annotate__",
        "__annotate_func__",
        "__annotations_cache__",
        "__firstlineno__",
        "__static_attributes__",
        "__dataclass_fields__",
        "__dataclass_params__",
        "__match_args__",
        "_abc_impl",
        "__abstractmethods__",
        "__parameters__",
        "__orig_bases__",
        "__subclasshook__",
        "__slotnames__",
    ]
)
"""Names in a class that say nothing beyond its other ones."""

SHOWN = 60
"""Characters of a value in a description of what changed."""


@dataclass(frozen=True)
class Identity:
    """Who a value is.

    Args:
        digest: changes with everything it depends on, versions of packages included.
        core: the same without versions.
        parts: what it depends on, by name: a short text each that changes with the part.
        unknown: what could not be known, in words.
    """

    digest: str
    core: str
    parts: dict[str, str]
    unknown: tuple[str, ...]


def identify(value: Any, name: str = "task") -> Identity:
    """The identity of a function, an object, or tuples, lists and dicts of these.

    Args:
        name: what it is called in descriptions.
    """
    walk = _Walk()
    try:
        core = walk.of(value, name)
    except RecursionError:
        walk.unknown.append(f"{name} is nested too deeply")
        core = ""
    versions = sorted(walk.versions.items())
    return Identity(_hash(core, versions), core, walk.parts | dict(versions), tuple(dict.fromkeys(walk.unknown)))


def _hash(*items: Any) -> str:
    return hashlib.sha256(repr(items).encode("utf-8", "surrogatepass")).hexdigest()


class _Walk:
    def __init__(self) -> None:
        self.parts: dict[str, str] = {}
        self.versions: dict[str, str] = {}
        self.unknown: list[str] = []
        self._known: dict[int, tuple[Any, str]] = {}  # the value too, so that its place in memory stays its own
        self._above: dict[int, int] = {}
        self._modules: list[ModuleType] = []  # those that are being looked into; they may import each other

    def of(self, value: Any, label: str) -> str:
        """The digest of a value, or the value itself where that is plain."""
        if type(value) in PLAIN:
            return f"{type(value).__name__} {value!r}"
        place = id(value)
        if place in self._known:
            return self._known[place][1]
        if place in self._above:  # it refers to itself
            return f"{len(self._above) - self._above[place]} above"
        self._above[place] = len(self._above)
        found = _hash(*self._content(value, label))
        del self._above[place]
        self._known[place] = value, found
        return found

    def part(self, value: Any, label: str) -> str:
        """The same for what has a name of its own, kept among the parts; functions are there by their code."""
        found = self.of(value, label)
        spread = isinstance(value, (FunctionType, ModuleType, type)) or hasattr(type(value), "__identity__")
        if not spread and not _belongs_to_package(value):
            self._keep(label, repr(value) if type(value) in PLAIN else _text(value, found))
        return found

    def _keep(self, label: str, text: str) -> None:
        count, name = 1, label
        while self.parts.setdefault(name, text) != text:
            count += 1
            name = f"{label} ({count})"

    def _content(self, value: Any, label: str) -> Iterator[Any]:
        kind = type(value)
        if _belongs_to_package(value):
            self._version(value.__module__)
            self._check({value.__name__}, label)
            yield "of a package"
            yield value.__module__, value.__qualname__
        elif kind in (list, tuple):
            yield kind.__name__
            yield [self.of(item, f"{label}[{k}]") for k, item in enumerate(value)]
        elif kind is dict:
            yield "dict"
            yield [(self.of(key, label), self.of(item, f"{label}[{key!r}]")) for key, item in value.items()]
        elif kind in (set, frozenset):
            yield kind.__name__
            yield sorted(self.of(item, label) for item in value)
        elif kind is np.ndarray:
            yield "array"
            yield str(value.dtype), value.shape
            if value.dtype.hasobject:
                yield [self.of(item, label) for item in value.ravel().tolist()]
            else:
                yield hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        elif isinstance(value, np.generic):
            yield str(value.dtype)
            yield value.tobytes().hex()
        elif scalar.is_sympy(value):
            from sympy import srepr

            self._version("sympy")
            yield srepr(value)  # unlike its text, it has the kinds of symbols and all digits of numbers
        elif hasattr(kind, "__identity__"):
            yield kind.__qualname__
            self._version(kind.__module__)
            keep = self.of if "[" in label else self.part  # numbers of single bodies are too many to show
            for name, item in value.__identity__().items():
                yield name, keep(item, f"{label}.{name}")
        elif kind is FunctionType:
            yield from self._function(value, label)
        elif isinstance(value, np.ufunc):
            self._version("numpy")
            if getattr(np, value.__name__, None) is not value:
                self.unknown.append(f"{label} is a ufunc, which does not say what it computes")
            yield "ufunc"
            yield value.__name__
        elif isinstance(value, BuiltinFunctionType):
            yield "built in"
            yield value.__name__, self.of(value.__self__, label)
        elif isinstance(value, MethodType):
            yield "method"
            yield self.of(value.__func__, label), self.of(value.__self__, f"{label}, self")
        elif isinstance(value, ModuleType):
            yield from self._module(value, None, label)
        elif isinstance(value, type):
            yield from self._class(value, label)
        elif isinstance(value, (staticmethod, classmethod)):
            yield kind.__name__
            yield self.of(value.__func__, label)
        elif kind is property:
            yield "property"
            yield [self.of(item, label) for item in (value.fget, value.fset, value.fdel)]
        elif isinstance(value, functools.cached_property):
            yield "cached property"
            yield self.of(value.func, label)
        elif isinstance(value, (types.MemberDescriptorType, types.GetSetDescriptorType, types.WrapperDescriptorType)):
            yield value.__name__
        elif isinstance(value, types.MappingProxyType):
            yield "mapping"
            yield self.of(dict(value), label)
        elif isinstance(value, type(os.environ)):
            self.unknown.append(f"{label} is the environment")
        elif (inner := getattr(value, "__wrapped__", None)) is not None and callable(inner):  # as by lru_cache
            yield "around"
            yield self.of(inner, label)
        else:
            yield from self._instance(value, label)

    def _instance(self, value: Any, label: str) -> Iterator[Any]:
        kind = type(value)
        try:
            own = copyreg.dispatch_table.get(kind)
            made = own(value) if own else value.__reduce_ex__(4)
        except Exception:  # a class of anybody's choosing may fail in any way
            self.unknown.append(f"{label} is a {kind.__module__}.{kind.__qualname__}, which does not say what it holds")
            return
        if isinstance(made, str):  # a name in its module
            if _package(kind.__module__) is None:
                self.unknown.append(f"{label} is known by its name only")
            yield kind.__module__, made
            return
        callable_, arguments, *rest = made
        yield "object"
        yield self.of(callable_, label), self.of(arguments, label)
        for k, state in enumerate(rest):
            if state is None:
                yield None
            elif k == 0:
                yield self._state(kind, state, label)
            elif k == 1:
                yield [self.of(item, label) for item in state]
            elif k == 2:
                yield [(self.of(name, label), self.of(item, label)) for name, item in state]
            else:
                yield self.of(state, label)

    def _state(self, kind: type, state: Any, label: str) -> Any:
        """The state of an instance; what it keeps of its own answers says nothing more."""
        if isinstance(state, tuple) and len(state) == 2 and all(isinstance(x, dict | None) for x in state):
            return [self._state(kind, x, label) for x in state]
        if not isinstance(state, dict):
            return self.of(state, label)
        kept = {
            k: x for k, x in state.items() if not isinstance(getattr(kind, str(k), None), functools.cached_property)
        }
        named = sorted(kept.items(), key=lambda item: str(item[0]))
        return [(str(k), self.of(x, f"{label}.{k}")) for k, x in named] or None  # as of one that keeps nothing

    def _version(self, module: str | None) -> bool:
        """Whether a module belongs to a package, whose version is then kept."""
        found = _package(module or "builtins")
        if found is not None:
            self.versions.setdefault(*found)
        return found is not None

    def _function(self, function: FunctionType, label: str) -> Iterator[Any]:
        around = list(zip(function.__code__.co_freevars, function.__closure__ or ()))
        kept: set[str] = set()
        name = _own_name(function)
        if self._version(function.__globals__.get("__name__", function.__module__)):
            yield "made by a package"
            yield function.__module__, function.__qualname__
        else:
            code = code_of(function.__code__)
            self._keep(name, f"code {_hash(code)[:12]}")
            yield "function"
            yield code
            names = _names(function.__code__)
            self._check(names & READERS, name)
            defaults = function.__defaults__ or ()
            arguments = function.__code__.co_varnames[: function.__code__.co_argcount][-len(defaults) or None :]
            for argument, value in zip(arguments, defaults):
                yield argument, self.part(value, f"{argument} of {name}")
            for argument, value in sorted((function.__kwdefaults__ or {}).items()):
                yield argument, self.part(value, f"{argument} of {name}")
            module = function.__globals__.get("__name__", "__main__")
            prefix = "" if module == "__main__" else f"{module}."
            kept = _assigned(function.__code__)
            for used in sorted(kept):
                self.unknown.append(f"{name} assigns {used}, so that its results may depend on what ran before")
            for used in sorted(_globals(function.__code__) - kept):
                if used in function.__globals__:
                    yield used, self._variable(function.__globals__[used], prefix + used, names)
            for imported in _imports(function.__code__, function.__globals__):
                yield imported, self._imported(imported, names, name)
        for variable, cell in around:
            if variable in kept:
                continue
            try:
                value = cell.cell_contents
            except ValueError:  # it has no value yet
                continue
            yield variable, self._variable(value, f"{variable} of {name}", _names(function.__code__))

    def _variable(self, value: Any, label: str, names: frozenset[str]) -> Any:
        if isinstance(value, ModuleType):
            return list(self._module(value, names, label))
        return self.part(value, label)

    def _imported(self, name: str, names: frozenset[str], where: str) -> Any:
        if self._version(name):
            return name
        try:
            return list(self._module(importlib.import_module(name), names, name))
        except Exception as error:
            self.unknown.append(f"{where} imports {name}: {error}")
            return None

    def _module(self, module: ModuleType, names: frozenset[str] | None, label: str) -> Iterator[Any]:
        """A package by its version; of a module of the user's what is used, or all."""
        yield "module"
        yield module.__name__
        if self._version(module.__name__):
            return
        held = {name: value for name, value in vars(module).items() if not name.startswith("__")}
        used = set(held) if names is None or names & DYNAMIC else names & set(held)
        if module in self._modules:
            return
        self._modules.append(module)
        for name in sorted(used):
            yield name, self._variable(held[name], f"{module.__name__}.{name}", names or frozenset(held))
        self._modules.pop()

    def _class(self, kind: type, label: str) -> Iterator[Any]:
        yield "class"
        yield kind.__module__, kind.__qualname__
        if self._version(kind.__module__):
            return
        yield [self.of(base, base.__qualname__) for base in kind.__bases__]
        for name, value in sorted(vars(kind).items()):
            if name not in GENERATED:
                keep = self.of if hasattr(value, "__get__") else self.part  # methods and properties show their code
                yield name, keep(value, f"{kind.__qualname__}.{name}")

    def _check(self, names: set[str] | frozenset[str], label: str) -> None:
        for name in sorted(names & READERS):
            self.unknown.append(f"{label} uses {name}, and what that brings in is not known here")


def _own_name(function: FunctionType) -> str:
    module = function.__globals__.get("__name__", "__main__")
    name = function.__qualname__.replace("<locals>.", "")
    return name if module == "__main__" else f"{module}.{name}"


def _text(value: Any, found: str) -> str:
    """Numbers and texts in small containers as they are, what else by kind and digest."""
    text = f"{type(value).__name__} {found[:12]}"
    if isinstance(value, (list, tuple, dict, set, np.generic)) or (isinstance(value, np.ndarray) and value.size < 10):
        written = " ".join(repr(value).split())
        if len(written) <= SHOWN and not re.search(r" at 0x|<", written):
            text = written
    return text


def _belongs_to_package(value: Any) -> bool:
    """Whether a function or class is found in an installed package under its own name, which then says all."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not (callable(value) and isinstance(module, str) and isinstance(name, str)) or _package(module) is None:
        return False
    found: Any = sys.modules.get(module)
    for step in name.split("."):
        found = getattr(found, step, None)
    return found is value and not hasattr(type(value), "__identity__")


@cache
def _package(module: str) -> tuple[str, str] | None:
    """The package that a module belongs to, and its version; None for modules of the user."""
    root = module.partition(".")[0]
    if root == "dalembert":
        return root, f"code {code_digest()[:12]}"
    file = getattr(sys.modules.get(root), "__file__", None) or _place(root)
    if root in sys.builtin_module_names or (root in sys.stdlib_module_names and _in_standard_library(file)):
        return "Python", f"{sys.version_info.major}.{sys.version_info.minor}"
    if file is None or not _is_installed(Path(file)):
        return None
    version = getattr(sys.modules.get(root), "__version__", None)
    return root, str(version or _distributed_version(root))


def _place(root: str) -> str | None:
    from importlib.util import find_spec

    try:
        spec = find_spec(root) if root != "__main__" else None
    except (ImportError, ValueError):
        return None
    places = (
        [spec.origin] if spec and spec.has_location else list(getattr(spec, "submodule_search_locations", ()) or ())
    )
    return places[0] if places else None


def _is_installed(file: Path) -> bool:
    """Whether a package lies where installers put packages, and not where somebody works on it."""
    place = file.parent.parent if file.stem == "__init__" else file.parent
    return bool({"site-packages", "dist-packages"} & set(file.parts)) or any(place.glob("*.dist-info"))


def _in_standard_library(file: str | None) -> bool:
    places = {Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib")}
    return file is None or any(place in Path(file).resolve().parents for place in places)


def _distributed_version(root: str) -> str:
    from importlib import metadata

    try:
        return metadata.version((metadata.packages_distributions().get(root) or [root])[0])
    except metadata.PackageNotFoundError:
        return "unknown"


# ------------------------------------------------------------------------------------------------------- code


def code_of(code: CodeType) -> tuple[Any, ...]:
    """Instructions and constants; those of inner functions too, instead of their places in memory."""
    constants = [code_of(item) if isinstance(item, CodeType) else _constant(item) for item in code.co_consts]
    signature = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    return code.co_code.hex(), code.co_exceptiontable.hex(), signature, names, constants


def _constant(value: Any) -> str:
    """A constant of a function; a set is written in an order of its own in every process."""
    return f"{{{', '.join(sorted(map(repr, value)))}}}" if isinstance(value, frozenset) else repr(value)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Code and that of the functions inside it."""
    yield code
    for item in code.co_consts:
        if isinstance(item, CodeType):
            yield from _codes(item)


def _names(code: CodeType) -> frozenset[str]:
    """Every global, attribute and module that code names."""
    return frozenset(name for item in _codes(code) for name in item.co_names)


def _globals(code: CodeType) -> set[str]:
    """Global variables that code uses."""
    steps = (step for item in _codes(code) for step in dis.get_instructions(item))
    return {step.argval for step in steps if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}


def _assigned(code: CodeType) -> set[str]:
    """Variables outside code that it assigns itself."""
    steps = [step for item in _codes(code) for step in dis.get_instructions(item)]
    found = {step.argval for step in steps if step.opname == "STORE_GLOBAL"}
    return found | {step.argval for step in steps if step.opname == "STORE_DEREF"} & set(code.co_freevars)


def _imports(code: CodeType, around: dict[str, Any]) -> list[str]:
    """Modules that code imports while it runs, by their full names."""
    found = set()
    for item in _codes(code):
        steps = list(dis.get_instructions(item))
        for k, step in enumerate(steps):
            if step.opname == "IMPORT_NAME":
                level = steps[k - 2].argval  # the statement gives the level, then the names, then imports
                name = "." * (level if isinstance(level, int) else 0) + step.argval
                found.add(resolve_name(name, around.get("__package__") or ""))
    return sorted(found)
