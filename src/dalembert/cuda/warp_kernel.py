"""The source of a kernel of cooperating warps: a block carries tiles of states through the phases of its workers.

Every worker is several warps, which do the same for different states of a tile at the same time: the instructions, of
which large programs have more than the caches near the arithmetic units hold, are then fetched once for all of them.

Shared memory is laid out by :mod:`dalembert.cuda.warp_plan`. Of wide results it holds each different value once, and a
table maps elements to values. The block writes whole states to global memory, neighbouring threads neighbouring
elements: memory is slow where it receives parts of its sectors. Results that are too many for that are computed one
output after the other.
"""

from __future__ import annotations

from dalembert.cuda.tiles import copy_macros
from dalembert.cuda.tuning import WARP
from dalembert.cuda.warp_plan import BlockLayout, OutputGroup
from dalembert.cuda.warps import EXCHANGE
from dalembert.printing.c_family import Flavour, Interface, statement_line
from dalembert.printing.names import Names
from dalembert.printing.statements import FunctionBody
from dalembert.tracing.cost import count_uses
from dalembert.tracing.program import Port, Program


class WarpKernel:
    """Source of the workers' functions and of the kernel.

    Args:
        blocks: how many blocks a multiprocessor must be able to hold.
    """

    def __init__(self, layout: BlockLayout, face: Interface, names: Names, flavour: Flavour, kernel: str, blocks: int):
        self.layout, self.face, self.names, self.flavour = layout, face, names, flavour
        self.kernel, self.blocks, self.real = kernel, blocks, flavour.kind
        self.program = layout.program

    def source(self) -> str:
        """The text."""
        text = [copy_macros(self.layout.width, self.layout.buffers - 1)]
        calls = []
        for number, group in enumerate(self.layout.groups):
            functions = [self.names.new(f"{self.face.function}_worker{number}_{w}") for w in range(group.division.size)]
            text += [self._worker(group, name, phases) for name, phases in zip(functions, group.division.phases)]
            tables = {}
            for p, slots in self.layout.slots(group).items():
                tables[p] = (
                    self.names.new(f"{self.face.function}_slots"),
                    self.names.new(f"{self.face.function}_elements"),
                )
                elements, row = group.elements(p), group.program.results[p]
                text.append(_table(tables[p][0], [slots[row[e]] for e in elements]))
                if len(elements) < len(row):
                    text.append(_table(tables[p][1], elements))
            calls.append((group, functions, tables))
        return "\n".join([*text, "", *self._kernel(calls)])

    # ---------------------------------------------------------------------------------------------------- workers

    def _worker(self, group: OutputGroup, function: str, phases: tuple[Program | None, ...]) -> str:
        """The function of one worker: its phases, and the barriers between them."""
        scope = self.names.scope()
        kept: dict[int, str] = {}
        lines: list[str] = []
        for phase, own in enumerate(phases):
            if any(self._receives(worker[phase]) for worker in group.division.phases):
                lines.append("    __syncthreads();")
            if own is not None:
                lines += self._phase(group, own, scope, kept)
        arguments = [
            *(f"const {self.real} *__restrict__ {name}" for name in self.face.inputs),
            *(f"{self.real} *__restrict__ {name}" for name in self.face.outputs),
            f"{self.real} *{EXCHANGE}", f"{self.real} *values",
        ]  # fmt: skip
        voids = [f"    (void){name};" for name in (*self.face.inputs, *self.face.outputs, EXCHANGE, "values")]
        return "\n".join([f"{self.flavour.head} {function}({', '.join(arguments)})", "{", *voids, *lines, "}", ""])

    def _receives(self, own: Program | None) -> bool:
        """Whether a worker needs values of others in a phase."""
        port = len(self.program.inputs)
        return own is not None and any(node.op == "input" and node.args[0] == port for node in own.nodes)

    def _phase(self, group: OutputGroup, own: Program, scope: Names, kept: dict[int, str]) -> list[str]:
        """The statements of one phase; each result is stored where it belongs as soon as it is known."""
        inputs, outputs, tile = len(self.program.inputs), self.program.outputs, self.layout.tile

        def read(port: int, element: int) -> str:
            if port == inputs:
                return f"{EXCHANGE}[{element * tile}]"
            return kept[element] if port == inputs + 1 else f"{self.face.inputs[port]}[{element}]"

        goals: dict[int, list[tuple[int, int]]] = {}
        for number, row in enumerate(own.results):
            for element, k in enumerate(row):
                if k >= 0:
                    goals.setdefault(k, []).append((number, element))
        body = FunctionBody(own, self.flavour.dialect, scope, read, keep=frozenset(goals), uses=count_uses(own))
        wide = self.layout.slots(group)
        lines: list[str] = []

        def deliver(k: int) -> None:
            source = body.text(k).source
            slots = set()
            for number, element in goals.pop(k, ()):
                if number == len(outputs):
                    lines.append(f"    {EXCHANGE}[{element * tile}] = {source};")
                elif number > len(outputs):
                    kept[element] = source
                elif number in wide:
                    slots.add(wide[number][group.program.results[number][element]])
                else:
                    lines.append(f"    {self.face.outputs[number]}[{element}] = {source};")
            lines.extend(f"    values[{slot * (tile + 1)}] = {source};" for slot in sorted(slots))

        partners = {node.args: k for k, node in enumerate(own.nodes) if node.op == "cos"}
        for k in [k for k in goals if own.nodes[k].op in ("const", "input")]:
            deliver(k)
        for statement in body.statements:
            lines.append(statement_line(own, self.flavour, statement))
            deliver(statement.node)
            if statement.cosine:
                deliver(partners[own.nodes[statement.node].args])
        return lines

    # ----------------------------------------------------------------------------------------------------- kernel

    def _kernel(self, calls: list[tuple[OutputGroup, list[str], dict[int, tuple[str, str]]]]) -> list[str]:
        layout, face, real = self.layout, self.face, self.real
        tile = layout.tile
        inputs, outputs, exchange, values, _ = layout.offsets
        given = [
            f"s_{name} + buffer * {layout.room(port)} + state * {layout.step(port)}"
            for name, port in zip(face.inputs, self.program.inputs)
        ]
        taken = [
            name if at < 0 else f"s_{name} + state * {layout.step(port)}"
            for name, port, at in zip(face.outputs, self.program.outputs, outputs)
        ]
        arguments = ", ".join([*given, *taken, f"memory + {exchange} + state", f"memory + {values} + state"])
        body = []
        for group, functions, tables in calls:
            body += [
                f"        switch (threadIdx.x / {WARP} % {layout.workers}) {{",
                *(f"        case {w}: {function}({arguments}); break;" for w, function in enumerate(functions)),
                "        }",
                "        __syncthreads();",
                *(line for p in group.ports if p not in tables for line in self._flush(p)),
                *(line for p, own in tables.items() for line in self._write(group, p, own, values)),
                *(["        __syncthreads();"] if group is not calls[-1][0] else []),
            ]
        count = f"n - first < {tile} ? (int)(n - first) : {tile}"
        parameters = ", ".join([*face.parameters(real, "__restrict__"), "unsigned shared_inputs", "long long n"])
        starts = [(name, at) for name, at in zip((*face.inputs, *face.outputs), (*inputs, *outputs)) if at >= 0]
        fetch = self._fetch()
        following = [
            f"        if ((tile + gridDim.x) * {tile} < n) {{",
            f"            const long long first = (tile + gridDim.x) * {tile};",
            f"            const int rows = {count};",
            *fetch,
            "        }",
            "        COMMIT();",
        ]
        ahead = layout.buffers == 2
        aligned = [f"(unsigned long long){name}" for name, _ in starts]
        return [
            f'extern "C" __global__ void __launch_bounds__({layout.threads}, {self.blocks})',
            f"{self.kernel}({parameters})",
            "{",
            f"    extern __shared__ __align__(16) {real} memory[];",
            *(f"    {real} *const s_{name} = memory + {at};" for name, at in starts),
            f"    const int state = threadIdx.x / {WARP * layout.workers} * {WARP} + threadIdx.x % {WARP};",
            f"    const bool whole = shared_inputs == 0 && (({' | '.join(aligned)}) & 15) == 0;",
            "    int buffer = 0;",
            "    long long tile = blockIdx.x;",
            f"    if (tile * {tile} < n) {{",
            f"        const long long first = tile * {tile};",
            f"        const int rows = {count};",
            *fetch,
            "    }",
            "    COMMIT();",
            f"    for (; tile * {tile} < n; tile += gridDim.x) {{",
            *(["        buffer ^= 1;", *following, "        buffer ^= 1;"] if ahead else []),
            f"        const long long first = tile * {tile};",
            f"        const int rows = {count};",
            "        WAIT();",
            "        __syncthreads();",
            *body,
            *(["        buffer ^= 1;"] if ahead else following),
            "    }",
            "}",
            "",
        ]

    def _loop(self, count: str, statement: str) -> str:
        loop = f"              for (int k = threadIdx.x; k < {count}; k += {self.layout.threads}) {statement}"
        return f'              _Pragma("unroll 1")\n{loop}' if "rows" in count else loop  # rare, so short

    def _pieces(self, port: Port) -> int:
        """In how many pieces of sixteen bytes a tile can be copied; zero if its rows lie differently."""
        same = self.layout.step(port) == port.size
        return port.size * self.layout.tile * self.layout.width // 16 if same else 0

    def _fetch(self) -> list[str]:
        """Statements that bring a tile of inputs to shared memory, all threads of the block together."""
        layout, quick, slow = self.layout, [], []
        for number, (port, name) in enumerate(zip(self.program.inputs, self.face.inputs)):
            if not port.size:
                continue
            place, per, pieces = layout.place(port), 16 // layout.width, self._pieces(port)
            shared = f"(shared_inputs & {1 << number}u)"
            to = f"          {self.real} *const to = s_{name} + buffer * {layout.room(port)};"
            quick += [
                f"        {{ const {self.real} *const from = {name} + first * {port.size};",
                to,
                self._loop(f"{pieces}", f"FETCH16(to + k * {per}, from + k * {per});")
                if pieces
                else self._loop(f"{port.size * layout.tile}", f"FETCH(to + ({place}), from + k);"),
                "        }",
            ]
            slow += [
                f"        {{ const {self.real} *const from = {name} + ({shared} ? 0 : first * {port.size});",
                to,
                self._loop(f"rows * {port.size}", f"to[{place}] = from[{shared} ? k % {port.size} : k];"),
                "        }",
            ]
        return [f"        if (whole && rows == {layout.tile}) {{", *quick, "        } else {", *slow, "        }"]

    def _flush(self, number: int) -> list[str]:
        """Statements that write a narrow output of the tile to global memory."""
        port, name, layout = self.program.outputs[number], self.face.outputs[number], self.layout
        if not port.size:
            return []
        per, pieces = 16 // layout.width, self._pieces(port)
        lines = [f"        {{ {self.real} *const to = {name} + first * {port.size};"]
        if pieces:
            lines += [
                f"          if (whole && rows == {layout.tile})",
                self._loop(f"{pieces}", f"*(int4 *)(to + k * {per}) = *(const int4 *)(s_{name} + k * {per});"),
                "          else",
            ]
        return [*lines, self._loop(f"rows * {port.size}", f"to[k] = s_{name}[{layout.place(port)}];"), "        }"]

    def _write(self, group: OutputGroup, number: int, tables: tuple[str, str], values: int) -> list[str]:
        """Statements that write a wide output of the tile, or what a group computes of it, to global memory."""
        size, tile, threads = self.program.outputs[number].size, self.layout.tile, self.layout.threads
        count = len(group.elements(number))
        slots, elements = tables
        copy = f"to[(long long)s * {size}] = from[s];"
        return [
            f"        for (int e = threadIdx.x; e < {count}; e += {threads}) {{",
            f"            {self.real} *const to = {self.face.outputs[number]} + first * {size}"
            f" + {'e' if count == size else f'{elements}[e]'};",
            f"            const {self.real} *const from = memory + {values} + {slots}[e] * {tile + 1};",
            f"            if (rows == {tile}) {{",
            "                #pragma unroll 8",
            f"                for (int s = 0; s < {tile}; ++s) {copy}",
            "            } else {",
            f"                for (int s = 0; s < rows; ++s) {copy}",
            "            }",
            "        }",
        ]


def _table(name: str, entries: list[int]) -> str:
    """A table of numbers, short ones where these suffice."""
    kind = "short" if max(entries) < 1 << 15 else "int"
    return f"static __device__ const {kind} {name}[] = {{{', '.join(map(str, entries))}}};"
