"""Quantities in several kernels on a device, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dalembert.cuda.stages import Stage
from dalembert.dynamics.arrays import parts, ports
from dalembert.model import Mechanism
from dalembert.quantities import Quantity, Setting
from dalembert.quantities.stages import Step
from dalembert.tracing.program import Port, Program
from dalembert.tracing.trace import trace

Build = Callable[[str, Quantity, tuple[Port, ...], tuple[Port, ...]], Program]


def stages(
    mechanism: Mechanism, steps: Sequence[Step], wrenches: Sequence[str], parameters: Sequence[str], build: Build
) -> list[Stage]:
    """The programs of all steps.

    Args:
        mechanism: the mechanism.
        steps: what is computed.
        wrenches: names of the frames on which external wrenches act.
        parameters: names of the numbers that stay inputs.
        build: the program of a quantity, by name, with given inputs and outputs.
    """
    found = []
    for step in steps:
        if step.columns:
            found.append(Stage(_column(mechanism, step), step.gives, columns=mechanism.nv))
            continue
        inputs, outputs = ports(mechanism, step.quantity, {}, wrenches, parameters)
        program = build(step.name, step.quantity, inputs, outputs)
        found.append(Stage(program, step.gives, parts(mechanism, inputs, outputs, wrenches)))
    return found


def _column(mechanism: Mechanism, step: Step) -> Program:
    """As it was written down: matrices side by side share what they read."""
    inputs, outputs = ports(mechanism, step.quantity, {}, (), ())
    setting = Setting(mechanism)
    return trace(
        lambda *arrays: step.quantity.compute(setting, *arrays),
        {port.name: port.shape for port in inputs},
        step.name,
        [port.name for port in outputs],
    )
