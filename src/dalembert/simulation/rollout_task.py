"""Rollouts as the task of a sweep."""

from __future__ import annotations

import math
import uuid
from collections.abc import Mapping
from inspect import signature
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError
from dalembert.model.checks import expect
from dalembert.model.names import position_names, velocity_names
from dalembert.model.record import content, fingerprint
from dalembert.simulation.rollout import rollout
from dalembert.simulation.stabiliser import Moving, stabilised
from dalembert.simulation.stepping import function_digest

_live: dict[str, RolloutTask] = {}
"""Tasks that this process has compiled: a cluster sends a new copy of the same task with every piece."""


class RolloutTask:
    """Motions of a mechanism from points of a sweep: final states, summaries and, if wanted, records.

    A point may name ``q.hinge`` or ``v.hinge`` (single initial positions and velocities; others are neutral or zero),
    ``q0`` or ``v0`` (whole vectors), ``gains`` (for a compiled policy), ``control`` (n constant forces a point, or rows
    of them) and any parameter of the mechanism. Results are ``q`` and ``v`` after the last step, every summary, and
    with ``record=True`` or ``every`` also ``t``, ``records_q`` and ``records_v``.

    Args:
        mechanism: the mechanism, or its dynamics.
        steps: how many.
        step: length of a step, s.
        parameters: values of parameters that the points do not name.
        options: of :func:`~dalembert.simulation.rollout`: ``method``, ``control``, ``summaries``, ``every``, ...
    """

    def __init__(
        self,
        mechanism: Moving,
        steps: int,
        step: float = 1e-3,
        *,
        parameters: dict[str, float] | None = None,
        **options: Any,
    ):
        threads = None if options.get("device") == "cuda" else 1
        self.options = {"record": "every" in options, "threads": threads, **options}
        own_values = {} if parameters is None else expect(parameters, Mapping, "RolloutTask, parameters")
        self.token = uuid.uuid4().hex  # copies of it have the same
        self.steps, self.step, self.parameters = steps, step, dict(own_values)
        wrenches = tuple(self.options.get("wrenches") or ())
        include = self.options.pop("include", ())
        known = set(signature(rollout).parameters) - {"mechanism", "q0", "v0", "steps", "step", "gains", "parameters"}
        unknown = [name for name in options if name not in known]
        if unknown:
            raise ArgumentError(f"rollout has no option {unknown[0]!r}; there are {', '.join(sorted(known))}")
        drift = self.options.pop("drift", None), self.options.pop("stabilisation", 0.0)
        acting = self.options.pop("constraints", "all"), self.options.pop("elements", "all")
        contacts = self.options.pop("limits", None), self.options.get("law")
        self.system = stabilised(mechanism, include, wrenches, *acting, self.parameters, None, *drift, *contacts)

    def identity(self, points: Mapping[str, tuple[int, ...]]) -> dict[str, str]:
        """What the results depend on, by name: texts that change with it, the same in every process. Functions count
        by the programs that they are traced to.

        Args:
            points: the shape of one value of every coordinate of the points.
        """
        system, own = self.system, {"relaxation": self.system.relaxation, "steps": self.steps, "step": self.step}
        gains = math.prod(points["gains"]) if "gains" in points else 0
        found = {"dynamics": f"{system.dynamics} {system.dynamics.digest}", "parameters": fingerprint(self.parameters)}
        for name, value in {**own, **self.options}.items():
            if name == "control" and callable(value):
                found[name] = function_digest(system, value, (len(system.dynamics.input_names),), gains)
            elif name == "summaries" and value:
                known = {key: [kind, function_digest(system, f)] for key, (kind, f) in value.items()}
                found[name] = fingerprint(known)
            elif name not in ("threads", "progress"):
                found[name] = fingerprint(content(value))
        return found

    def __call__(self, points: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The results for some points.

        Args:
            points: by name, (n, ...) each.
        """
        if len(_live) > 16:
            _live.clear()
        return _live.setdefault(self.token, self)._results(points)

    def _results(self, points: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        model = self.system.mechanism
        count = len(next(iter(points.values())))
        q, v = np.tile(model.neutral, (count, 1)), np.zeros((count, model.nv))
        places = {f"q.{name}": (q, k) for k, name in enumerate(position_names(model))}
        places |= {f"v.{name}": (v, k) for k, name in enumerate(velocity_names(model))}
        parameters: dict[str, Any] = dict(self.parameters)
        options = dict(self.options)
        for name, values in points.items():
            if name in ("q0", "v0"):
                whole = q if name == "q0" else v
                if np.shape(values) != whole.shape:
                    raise ArgumentError(f"{name} has shape {np.shape(values)}, expected {whole.shape}")
                whole[:] = values
            elif name in places:
                array, k = places[name]
                array[:, k] = values
            elif name == "gains":
                options["gains"] = np.reshape(values, (count, -1))
            elif name == "control":
                options["control"] = np.reshape(values, (count, *([1] * (3 - np.ndim(values))), *np.shape(values)[1:]))
            elif name[:2] in ("q.", "v."):
                raise ArgumentError(f"there is no coordinate {name!r}; there are {', '.join(places)}")
            else:
                parameters[name] = values
        found = rollout(
            self.system,
            q,
            v,
            self.steps,
            self.step,
            parameters=parameters or None,
            **options,
        )
        results = {"q": found.final_q, "v": found.final_v, **found.summaries}
        if options["record"]:
            times = np.tile(found.t, (count, 1))
            results |= {"t": times, "records_q": found.q, "records_v": found.v}
        return results
