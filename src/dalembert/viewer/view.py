"""Show a mechanism in the browser, or write the page that shows it."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import tempfile
import time
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from dalembert.errors import ArgumentError, UnsupportedError
from dalembert.files import write_text
from dalembert.formats.loading import load
from dalembert.model import Mechanism
from dalembert.simulation import Trajectory
from dalembert.simulation.export import load_trajectory
from dalembert.viewer.inline import KINDS, ShownFile, in_notebook
from dalembert.viewer.motion import bodies_behind, of_bodies

if TYPE_CHECKING:
    from dalembert.formulations.equations import Equations
    from dalembert.viewer.live import LiveView


@overload
def view(
    mechanism: Mechanism | Trajectory | Equations | str | Path,
    trajectory: Any = None,
    *,
    to: str | Path | None = None,
    q: Any = None,
    equations: Mechanism | Equations | bool = True,
    folder: str | Path | None = None,
    consent: bool = False,
    live: Literal[False] = False,
    **drawn: Any,
) -> Path: ...


@overload
def view(
    mechanism: Mechanism | Trajectory | Equations | str | Path,
    trajectory: Any = None,
    *,
    q: Any = None,
    folder: str | Path | None = None,
    live: Literal[True],
    **drawn: Any,
) -> LiveView: ...


def view(
    mechanism: Mechanism | Trajectory | Equations | str | Path,
    trajectory: Any = None,
    *,
    to: str | Path | None = None,
    q: Any = None,
    equations: Mechanism | Equations | bool = True,
    folder: str | Path | None = None,
    consent: bool = False,
    live: bool = False,
    **drawn: Any,
) -> Path | LiveView:
    """Show a mechanism, and its motion if one is given; return the page, one HTML file that needs nothing else.

    The page has sliders for the joints, frames, centres of mass, inertia ellipsoids, the motion with its forces and
    energies, and the equations. It computes by itself, with programs made for this mechanism, and can be mailed. In a
    notebook the page is shown below the cell. Files that end in ``.png`` are pictures, those in ``.gif``, ``.mp4`` and
    ``.webm`` films of the motion; they are drawn without a browser.

    Args:
        mechanism: what to show; a file or the name of a robot is loaded; a trajectory brings its own mechanism, and so
            do equations that were derived from one.
        trajectory: a :class:`~dalembert.simulation.Trajectory`, a file written by its ``to_npz``, ``to_csv`` or
            ``to_parquet``, or a pair (times, positions).
        to: the file to write, ``.html``, ``.png``, ``.gif``, ``.mp4`` or ``.webm``; without it the page lies in a
            temporary folder and the browser opens it. Later calls remove such pages, a day after they were made.
        q: positions to begin with, an array or by joint name; a typical position by default.
        equations: what the panel of equations shows: those of the mechanism, of another mechanism (the same with
            symbols), equations that have been derived, or none (False).
        folder: where relative addresses of meshes start, and around which packages lie; that of the file by default.
        consent: take along meshes that lie outside the folder of the model and its package, too. A model may name any
            file of this machine; a page that is written gets them only with consent, one that is opened here does.
        live: show a running simulation or states that arrive, which the browser can push and move, by a server on this
            machine; returns a :class:`~dalembert.viewer.live.LiveView`. Needs the extra ``live``.
        drawn: for pictures and films ``size``, ``look`` and ``t`` or ``fps`` and ``speed``, see
            :func:`dalembert.viewer.picture` and :func:`dalembert.viewer.film`; for ``live=True`` see LiveView.
    """
    if isinstance(mechanism, Trajectory):
        if trajectory is not None:
            raise ArgumentError("the first argument is a trajectory already; give the mechanism, or no second one")
        trajectory = of_bodies(mechanism)
        if mechanism.dynamics.equations is not None and equations is True:
            equations = mechanism.dynamics.equations
        mechanism = trajectory.mechanism
    place = None if folder is None else Path(folder)
    if isinstance(mechanism, (str, Path)):
        file = path_of(mechanism)
        place = place or (file.parent if file is not None else None)
        mechanism, symbolic = _loaded(mechanism)
        equations = symbolic if equations is True else equations
    if not isinstance(mechanism, Mechanism):
        from dalembert.formulations.equations import Equations  # with SymPy, as below

        if not isinstance(mechanism, Equations):
            raise ArgumentError(
                f"view takes a Mechanism, a trajectory, equations or a file, got {type(mechanism).__name__}"
            )
        if isinstance(trajectory, (str, Path)) and Path(trajectory).suffix.lower() == ".npz":
            trajectory = of_bodies(load_trajectory(trajectory, mechanism))
        equations = mechanism if equations is True else equations
        mechanism = bodies_behind(mechanism)
    if live:
        if to is not None:
            raise ArgumentError("a live view is not written to a file; leave out to, or live", argument="to")
        from dalembert.viewer.live import LiveView

        return LiveView(mechanism, trajectory, q=q, folder=place, **drawn)
    suffix = ".html" if to is None else Path(to).suffix.lower()
    if to is not None and suffix in KINDS:
        return _drawn(mechanism, trajectory, Path(to), suffix, q, place, drawn)
    if suffix not in (".html", ".htm"):
        raise ArgumentError(f"cannot write {str(to)!r}: the suffix must be .html, {', '.join(KINDS)}")
    if drawn:
        raise ArgumentError(
            f"{', '.join(drawn)}: these are for pictures, films and live views; a page shows all of it",
            argument=next(iter(drawn)),
        )

    from dalembert.viewer.page import make  # with SymPy, which an import of the package must not load

    text = make(mechanism, trajectory, q, equations, place, consent or to is None)
    if to is not None:
        return ShownFile(_written(Path(to), text))
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", mechanism.name)[:60] or "mechanism"
    target = ShownFile(_written(_page_folder() / f"{name}.html", text))
    if not in_notebook() and not _opened(target):
        raise UnsupportedError(
            f"no browser was found; the page is {target}",
            argument="to",
            remedy="give {setting} to choose where it is written",
        )
    return target


def _drawn(
    mechanism: Mechanism, trajectory: Any, to: Path, suffix: str, q: Any, folder: Path | None, options: dict[str, Any]
) -> ShownFile:
    """A picture or a film, written."""
    from dalembert.viewer.picture import film, picture

    known = ("size", "look", "t") if suffix == ".png" else ("size", "look", "fps", "speed")
    if wrong := [name for name in options if name not in known]:
        raise ArgumentError(f"{', '.join(wrong)}: {suffix} files take {', '.join(known)}", argument=wrong[0])
    if suffix == ".png":
        picture(mechanism, trajectory, q=q, folder=folder, to=to, **options)
    elif q is not None:
        raise ArgumentError(
            "{argument} is where a mechanism stands that does not move", argument="q", remedy="leave it out"
        )
    else:
        film(mechanism, trajectory, to, folder=folder, **options)
    return ShownFile(to)


def path_of(source: str | Path) -> Path | None:
    """The file of a model that is loaded by path or by name; None if it comes from elsewhere.

    Args:
        source: what :func:`dalembert.load` takes.
    """
    from dalembert.formats.catalogue import example_robot_data, packaged

    file = {**example_robot_data(), **packaged()}.get(str(source), Path(source))
    try:
        return file if file.is_file() else None
    except (OSError, ValueError):  # a description given as text
        return None


def _loaded(source: str | Path) -> tuple[Mechanism, Mechanism]:
    """A model with the values that its file gives to symbols, where it gives any; and with the symbols."""
    from dalembert.formats.registry import format_of

    symbolic = load(source)
    if not symbolic.symbols:
        return symbolic, symbolic
    file = path_of(source)
    format = format_of(file) if file is not None else None
    values = format.default_values(file) if file and format else {}
    return (load(source, parameters=values) if values else symbolic), symbolic


PAGE_SECONDS = 86400.0
"""Seconds for which a page without a name of its own is kept; a browser may load it again meanwhile."""


def _page_folder() -> Path:
    """A new temporary folder for a page; those of earlier pages that are old by now are removed."""
    for old in Path(tempfile.gettempdir()).glob("dalembert-view-*"):
        with contextlib.suppress(OSError):
            status = old.lstat()
            own = not hasattr(os, "getuid") or status.st_uid == os.getuid()
            if own and stat.S_ISDIR(status.st_mode) and time.time() - status.st_mtime > PAGE_SECONDS:
                shutil.rmtree(old, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix="dalembert-view-"))


def _written(target: Path, text: str) -> Path:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_text(target, text, newline="\n")  # the policy holds for these very bytes
    except OSError as error:
        raise ArgumentError(f"{target} cannot be written: {error.strerror or error}") from error
    return target


def _opened(target: Path) -> bool:
    try:
        return webbrowser.open(target.resolve().as_uri())
    except webbrowser.Error:
        return False
