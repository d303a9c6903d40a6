"""The kernel around a device function: warps that carry tiles of states through shared memory.

Every warp works on tiles of 32 states on its own. The inputs of the next tile are on their way from global to shared
memory while the present one is computed; outputs go through shared memory too, so that global memory sees whole lines
whatever the shape of a state. Rows of shared memory have an odd length, which keeps its banks free of conflicts.
"""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.cuda.tuning import NUMBER_BYTES, TILE_SHARED_BYTES, WARP
from dalembert.printing.c_family import Interface, Real
from dalembert.tracing.program import Program


@dataclass(frozen=True)
class StagedArray:
    """How one array reaches the threads: through shared memory, or straight from global memory."""

    name: str
    size: int
    staged: bool
    buffers: int

    @property
    def stride(self) -> int:
        return self.size | 1

    @property
    def words(self) -> int:
        """Numbers of shared memory a warp needs for it."""
        return self.stride * WARP * self.buffers if self.staged else 0

    def shift(self, width: int) -> str:
        """Where a thread begins to copy a tile, if that goes in pieces of 16 bytes."""
        return f" + lane * {16 // width}" if self.stride == self.size else ""

    def place(self, i: str) -> str:
        """Where element i of a tile lies."""
        return i if self.stride == self.size else f"({i}) / {self.size} * {self.stride} + ({i}) % {self.size}"


@dataclass(frozen=True)
class TileLayout:
    """Where the arrays of a warp lie in shared memory; groups of outputs that are not alive together share a place.

    Args:
        rows: inputs, then outputs.
        groups: output ports that are computed together.
        inputs: how many of the rows are inputs.
    """

    rows: list[StagedArray]
    groups: list[tuple[int, ...]]
    inputs: int

    @property
    def words(self) -> int:
        """Numbers of shared memory a warp needs."""
        own = sum(row.words for row in self.rows[: self.inputs])
        return own + max(sum(self.rows[self.inputs + p].words for p in group) for group in self.groups)

    def offsets(self) -> dict[str, int]:
        """Offset of every staged array."""
        found, place = {}, 0
        for row in self.rows[: self.inputs]:
            found[row.name], place = place, place + row.words
        for group in self.groups:
            here = place
            for p in group:
                row = self.rows[self.inputs + p]
                found[row.name], here = here, here + row.words
        return found


def rows_of(
    program: Program, face: Interface, groups: list[tuple[int, ...]], width: int, threads: int, staged: str, room: int
) -> tuple[list[StagedArray], int]:
    """Which arrays are staged, and how many threads then fit a block that may have so many bytes of shared memory."""
    inputs, most = len(program.inputs), min(TILE_SHARED_BYTES, room)
    rows = []
    for k, (name, port) in enumerate(zip((*face.inputs, *face.outputs), (*program.inputs, *program.outputs))):
        wanted = port.size > 1 and (staged in ("all", "auto") or (staged == "outputs" and k >= inputs))
        rows.append(StagedArray(name, port.size, wanted, 2 if k < inputs else 1))
    while TileLayout(rows, groups, inputs).words * width > most // 2:
        # Too wide even for two warps: the widest array goes straight to global memory.
        widest = max((row for row in rows if row.staged), key=lambda row: row.words)
        rows = [StagedArray(r.name, r.size, r.staged and r is not widest, r.buffers) for r in rows]
    need = TileLayout(rows, groups, inputs).words * width
    while threads > 2 * WARP and need * (threads // WARP) > most // 2:
        threads //= 2
    return rows, threads


def fits(program: Program, width: int, room: int) -> bool:
    """Whether two warps can stage the inputs and any one output; threads write what is not staged far apart."""
    inputs = sum(StagedArray(port.name, port.size, True, 2).words for port in program.inputs)
    widest = max(StagedArray(port.name, port.size, True, 1).words for port in program.outputs)
    return (inputs + widest) * width <= min(TILE_SHARED_BYTES, room) // 2


def _stages(stages: list[str], inputs: list[str], outputs: list[str]) -> list[str]:
    """The calls that compute one state.

    The empty statement between them keeps the compiler from carrying values from one to the next in registers.
    """
    calls = [f"            {stage}({', '.join([*inputs, *outputs])});" for stage in stages]
    return '\n            asm volatile("" ::: "memory");\n'.join(calls).split("\n")


def kernel_text(
    layout: TileLayout, face: Interface, stages: list[list[str]], kernel: str, real: Real, threads: int, blocks: int
) -> str:
    rows = layout.rows
    inputs, outputs = rows[: layout.inputs], rows[layout.inputs :]
    width = NUMBER_BYTES[real]
    words, offsets = layout.words, layout.offsets()
    parameters = ", ".join([*face.parameters(real, "__restrict__"), "unsigned shared_inputs", "long long n"])
    memory = [
        f"    {real} *const s_{row.name} = memory + (threadIdx.x / {WARP}) * {words} + {offsets[row.name]};"
        for row in rows
        if row.staged
    ]
    staged = [(k, row) for k, row in enumerate(inputs) if row.staged]
    fetch = []
    if staged:
        fetch += [f"            if (whole && rows == {WARP}) {{"]
        for _, row in staged:
            fetch += [
                f"                {{ const {real} *const from = {row.name} + first * {row.size}{row.shift(width)};",
                f"                  {real} *const to = s_{row.name} + buffer * {row.stride * WARP}{row.shift(width)};",
                *_tile(row, width, "FETCH16(to + {i}, from + {i});", "FETCH(to + {place}, from + {i});", " " * 18),
                "                }",
            ]
        fetch += ["            } else {"]
        for k, row in staged:
            shared = f"(shared_inputs & {1 << k}u)"
            fetch += [
                f"                {{ const {real} *const from = {row.name} + ({shared} ? 0 : first * {row.size});",
                f"                  {real} *const to = s_{row.name} + buffer * {row.stride * WARP};",
                "                  #pragma unroll 1",
                f"                  for (int k = lane; k < rows * {row.size}; k += {WARP})",
                f"                      to[{row.place('k')}] = from[{shared} ? k % {row.size} : k];",
                "                }",
            ]
        fetch += ["            }"]
    given = []
    for k, row in enumerate(inputs):
        if row.staged:
            given.append(f"s_{row.name} + buffer * {row.stride * WARP} + lane * {row.stride}")
        else:
            given.append(f"{row.name} + ((shared_inputs & {1 << k}u) ? 0 : (first + lane) * {row.size})")
    taken = [
        f"s_{row.name} + lane * {row.stride}" if row.staged else f"{row.name} + (first + lane) * {row.size}"
        for row in outputs
    ]
    flush: dict[str, list[str]] = {}
    for row in outputs:
        if row.staged:
            wide = "*(int4 *)(to + {i}) = *(const int4 *)(from + {i});"
            flush[row.name] = [
                f"        {{ if (whole && rows == {WARP}) {{",
                f"              {real} *const to = {row.name} + first * {row.size}{row.shift(width)};",
                f"              const {real} *const from = s_{row.name}{row.shift(width)};",
                *_tile(row, width, wide, "to[{i}] = from[{place}];", " " * 14),
                "          } else {",
                f"              {real} *const to = {row.name} + first * {row.size};",
                "              #pragma unroll 1",
                f"              for (int k = lane; k < rows * {row.size}; k += {WARP})",
                f"                  to[k] = s_{row.name}[{row.place('k')}];",
                "          } }",
            ]
    aligned = " | ".join(f"(unsigned long long){row.name}" for row in rows if row.staged)
    whole = [f"    const bool whole = shared_inputs == 0 && (({aligned}) & 15) == 0;"] if aligned else []
    fetch_macro = copy_macros(width)
    body = []
    for group, calls in zip(layout.groups, stages):
        body += ["        if (lane < rows) {", *_stages(calls, given, taken), "        }", "        __syncwarp();"]
        body += [line for p in group for line in flush.get(outputs[p].name, [])]
        body.append("        __syncwarp();")
    count = f"n - first < {WARP} ? (int)(n - first) : {WARP}"
    return "\n".join(
        [
            fetch_macro,
            "",
            f'extern "C" __global__ void __launch_bounds__({threads}, {blocks}) {kernel}({parameters})',
            "{",
            *([f"    extern __shared__ __align__(16) {real} memory[];"] if words else []),
            *memory,
            f"    const int lane = threadIdx.x % {WARP};",
            *whole,
            f"    const long long step = (long long)gridDim.x * (blockDim.x / {WARP});",
            f"    long long tile = (long long)blockIdx.x * (blockDim.x / {WARP}) + threadIdx.x / {WARP};",
            *(
                [
                    "    int buffer = 0;",
                    f"    if (tile * {WARP} < n) {{",
                    f"        const long long first = tile * {WARP};",
                    f"        const int rows = {count};",
                    *(line[4:] for line in fetch),
                    "    }",
                    "    COMMIT();",
                ]
                if staged
                else []
            ),
            f"    for (; tile * {WARP} < n; tile += step) {{",
            *(
                [
                    f"        if ((tile + step) * {WARP} < n) {{",
                    f"            const long long first = (tile + step) * {WARP};",
                    f"            const int rows = {count};",
                    "            buffer ^= 1;",
                    *fetch,
                    "            buffer ^= 1;",
                    "        }",
                    "        COMMIT();",
                    "        WAIT();",
                    "        __syncwarp();",
                ]
                if staged
                else []
            ),
            f"        const long long first = tile * {WARP};",
            f"        const int rows = {count};",
            *body,
            *(["        buffer ^= 1;"] if staged else []),
            "    }",
            "}",
            "",
        ]
    )


MACROS = ("FETCH", "FETCH16", "COMMIT", "WAIT")
"""What :func:`copy_macros` defines."""


def copy_macros(width: int, waiting: int = 1) -> str:
    """Copies from global to shared memory that do not wait; on cards before compute capability 8.0 plain ones.

    Args:
        waiting: how many tiles may still be on their way when ``WAIT`` returns.
    """
    fetches = []
    for name, level, size in (("FETCH", "ca", width), ("FETCH16", "cg", 16)):
        fetches += [
            f'#define {name}(to, from) asm volatile("cp.async.{level}.shared.global [%0], [%1], {size};" \\',
            '    :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory")',
        ]
    return "\n".join(
        [
            "#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800",
            *fetches,
            '#define COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")',
            f'#define WAIT() asm volatile("cp.async.wait_group {waiting};" ::: "memory")',
            "#else",
            "#define FETCH(to, from) (*(to) = *(from))",
            "#define FETCH16(to, from) (*(int4 *)(to) = *(const int4 *)(from))",
            "#define COMMIT()",
            "#define WAIT()",
            "#endif",
        ]
    )


def _tile(row: StagedArray, width: int, wide: str, narrow: str, indent: str) -> list[str]:
    """Statements that copy a whole tile, in pieces of 16 bytes where rows lie as in global memory, else one by one."""
    if row.stride != row.size:
        index = f"(k * {WARP} + lane)"
        copy = narrow.format(i=index, place=row.place(index))
        return [f"{indent}#pragma unroll", f"{indent}for (int k = 0; k < {row.size}; ++k) {copy}"]
    pieces, per = row.size * WARP * width // 16, 16 // width
    turns, rest = divmod(pieces, WARP)
    index, last = f"k * {WARP * per}", f"{turns * WARP * per}"
    return [
        f"{indent}#pragma unroll",
        f"{indent}for (int k = 0; k < {turns}; ++k) {{ {wide.format(i=index)} }}",
        *([f"{indent}if (lane < {rest}) {{ {wide.format(i=last)} }}"] if rest else []),
    ]
