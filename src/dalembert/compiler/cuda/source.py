"""Programs as CUDA: a device function over one state, and a kernel with one thread per state.

    extern "C" __global__ void name_kernel(const double *q, const double *v, double *tau,
                                           unsigned shared_inputs, long long n);

Arrays are row-major, states one after the other, as users have them. An input with one value for all states is passed
once, with its bit in ``shared_inputs`` set.

Every warp works on tiles of 32 states on its own. The inputs of the next tile are on their way from global to shared
memory while the present one is computed; outputs go through shared memory too, so that global memory sees whole lines
whatever the shape of a state. Rows of shared memory have an odd length, which keeps its banks free of conflicts.
"""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.compiler.cuda.functions import reciprocal_source, sincos_source
from dalembert.compiler.llvm.trigonometry import LIMIT
from dalembert.compiler.printers.c_family import (
    Flavour,
    Interface,
    Real,
    c_number,
    c_templates,
    check_real,
    comment,
    functions,
    interface,
)
from dalembert.compiler.printers.names import C_RESERVED, Names
from dalembert.compiler.printers.statements import PRODUCT, Infix, Text
from dalembert.compiler.program import Node, Port, Program

SHARED = 110 * 1024
"""Most bytes of shared memory a block takes; two blocks then fit on one multiprocessor of a recent card."""

TILE = 32
"""States of a tile: the threads of a warp."""


@dataclass(frozen=True)
class CudaSource:
    """Generated CUDA.

    Args:
        function: name of the device function.
        kernel: name of the kernel.
        source: the text.
        threads: threads of a block.
        shared: bytes of shared memory of a block.
    """

    function: str
    kernel: str
    source: str
    threads: int
    shared: int


@dataclass(frozen=True)
class _Row:
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
        return self.stride * TILE * self.buffers if self.staged else 0

    def place(self, i: str) -> str:
        """Where element i of a tile lies."""
        return i if self.stride == self.size else f"({i}) / {self.size} * {self.stride} + ({i}) % {self.size}"


class _Cuda(Infix):
    """C with a reciprocal of our own: the division of the language branches."""

    def __init__(self, number, templates: dict[str, str], reciprocal: str):
        super().__init__(number, templates, pairs=True)
        self._reciprocal = reciprocal

    def operation(self, op: str, args: list[Text]) -> Text:
        if op != "div":
            return super().operation(op, args)
        inverse = Text(f"{self._reciprocal}({args[1].source})")
        if args[0].source in ("1.0", "1.0f"):
            return inverse
        return Text(f"{super().operation('mul', [args[0], inverse]).source}", PRODUCT)


def to_cuda(
    program: Program, real: Real = "double", threads: int = 128, staged: str = "auto", longest: int = 20_000
) -> CudaSource:
    """A program as CUDA source.

    Args:
        program: what to print.
        real: the type of all numbers.
        threads: threads of a block, a multiple of 32; fewer are taken if shared memory demands it.
        staged: which arrays go through shared memory: ``"all"``, ``"outputs"``, ``"none"`` or ``"auto"``.
        longest: most nodes in one function.
    """
    check_real(real)
    names = Names(C_RESERVED)
    face = interface(program, names)
    kernel, exact, far, pair, reciprocal = (
        names.new(f"{face.function}_{part}") for part in ("kernel", "exact", "far", "sincos", "reciprocal")
    )
    for local in ("n", "shared_inputs", "memory", "lane", "tile", "next", "step", "first", "rows", "buffer", "k"):
        names.new(local)
    templates, helpers = c_templates(real, names, program)
    quick = Flavour(
        real, "bool", "__restrict__", "static __device__ __forceinline__ void",
        "static __device__ __noinline__ void", _Cuda(_number(real), templates, reciprocal), sincos=pair,
    )  # fmt: skip
    parts = [comment(program, face), "", sincos_source(real, pair), reciprocal_source(real, reciprocal)]
    parts += [f"static __device__ __forceinline__ {helper}" for helper in helpers]
    parts.append(functions(program, face, names, quick, face.function, longest))
    angles = angle_check(program)
    if angles is not None:
        careful = Flavour(
            real, "bool", "__restrict__", "static __device__ __noinline__ void",
            "static __device__ __noinline__ void", Infix(_number(real), templates, pairs=True),
        )  # fmt: skip
        parts.append(functions(program, face, names, careful, exact, longest))
        check = Interface(far, face.inputs, ("far_out",))
        parts.append(functions(angles, check, names, quick, far, longest))
    rows, threads = _rows(program, face, 8 if real == "double" else 4, threads, staged)
    call = _Call(face, exact if angles is not None else "", far)
    parts.append(_kernel(program, call, kernel, real, rows, threads))
    shared = sum(row.words for row in rows) * (threads // TILE) * (8 if real == "double" else 4)
    return CudaSource(face.function, kernel, "\n".join(parts), threads, shared)


def angle_check(program: Program) -> Program | None:
    """A program whose one result is 1 if an angle is too large for the quick sine and cosine; None without angles."""
    angles = sorted({node.args[0] for node in program.nodes if node.op in ("sin", "cos", "tan")})
    if not angles:
        return None
    needed: set[int] = set()
    waiting = list(angles)
    while waiting:
        k = waiting.pop()
        if k not in needed:
            needed.add(k)
            if program.nodes[k].op != "input":
                waiting.extend(program.nodes[k].args)
    place: dict[int, int] = {}
    nodes: list[Node] = []
    for k in sorted(needed):
        op, args, value = program.nodes[k]
        place[k] = len(nodes)
        nodes.append(Node(op, args if op == "input" else tuple(place[a] for a in args), value))

    def add(op: str, *args: int, value: float = 0.0) -> int:
        nodes.append(Node(op, args, value))
        return len(nodes) - 1

    limit, near = add("const", value=LIMIT), -1
    for k in angles:
        small = add("le", add("abs", place[k]), limit)
        near = small if near < 0 else add("and", near, small)
    result = add("select", near, add("const", value=0.0), add("const", value=1.0))
    outputs = (Port("far", ()),)
    return Program(program.name, program.inputs, outputs, tuple(nodes), ((result,),), {})


def _rows(program: Program, face: Interface, width: int, threads: int, staged: str) -> tuple[list[_Row], int]:
    """Which arrays are staged, and how many threads then fit a block."""
    inputs = len(program.inputs)
    rows = []
    for k, (name, port) in enumerate(zip((*face.inputs, *face.outputs), (*program.inputs, *program.outputs))):
        wanted = port.size > 1 and (staged in ("all", "auto") or (staged == "outputs" and k >= inputs))
        rows.append(_Row(name, port.size, wanted, 2 if k < inputs else 1))
    while sum(row.words for row in rows) * width > SHARED // 2:
        # Too wide even for two warps: the widest array goes straight to global memory.
        widest = max((row for row in rows if row.staged), key=lambda row: row.words)
        rows = [_Row(r.name, r.size, r.staged and r is not widest, r.buffers) for r in rows]
    need = sum(row.words for row in rows) * width
    while threads > 2 * TILE and need * (threads // TILE) > SHARED:
        threads //= 2
    return rows, threads


@dataclass(frozen=True)
class _Call:
    """How a state is computed: names of the functions, ``exact`` empty if no angle can be too large."""

    face: Interface
    exact: str
    far: str

    def lines(self, inputs: list[str], outputs: list[str], real: str) -> list[str]:
        plain = f"{self.face.function}({', '.join([*inputs, *outputs])});"
        if not self.exact:
            return [f"            {plain}"]
        return [
            f"            {real} far;",
            f"            {self.far}({', '.join([*inputs, '&far'])});",
            f"            if (far == 0) {plain}",
            f"            else {self.exact}({', '.join([*inputs, *outputs])});",
        ]


def _kernel(program: Program, call: _Call, kernel: str, real: str, rows: list[_Row], threads: int) -> str:
    inputs, outputs = rows[: len(program.inputs)], rows[len(program.inputs) :]
    width = 8 if real == "double" else 4
    words = sum(row.words for row in rows)
    parameters = ", ".join([*call.face.parameters(real, "__restrict__"), "unsigned shared_inputs", "long long n"])
    memory, offset = [], 0
    for row in rows:
        if row.staged:
            memory.append(f"    {real} *const s_{row.name} = memory + (threadIdx.x / {TILE}) * {words} + {offset};")
            offset += row.words
    staged = [(k, row) for k, row in enumerate(inputs) if row.staged]
    fetch = []
    for k, row in staged:
        fetch += [
            f"            {{ const {real} *from = {row.name} + ((shared_inputs & {1 << k}u) ? 0 : first * {row.size});",
            f"              {real} *const to = s_{row.name} + buffer * {row.stride * TILE};",
            f"              if (shared_inputs & {1 << k}u) {{",
            f"                  for (int k = lane; k < {row.size * TILE}; k += {TILE})",
            f"                      to[{row.place('k')}] = from[k % {row.size}];",
            f"              }} else if (rows == {TILE}) {{",
            "                  #pragma unroll",
            f"                  for (int k = 0; k < {row.size}; ++k)",
            f"                      FETCH(to + {row.place(f'(k * {TILE} + lane)')}, from + (k * {TILE} + lane));",
            "              } else {",
            f"                  for (int k = lane; k < rows * {row.size}; k += {TILE}) to[{row.place('k')}] = from[k];",
            "              } }",
        ]
    given = []
    for k, row in enumerate(inputs):
        if row.staged:
            given.append(f"s_{row.name} + buffer * {row.stride * TILE} + lane * {row.stride}")
        else:
            given.append(f"{row.name} + ((shared_inputs & {1 << k}u) ? 0 : (first + lane) * {row.size})")
    taken = [
        f"s_{row.name} + lane * {row.stride}" if row.staged else f"{row.name} + (first + lane) * {row.size}"
        for row in outputs
    ]
    flush = []
    for row in outputs:
        if row.staged:
            flush += [
                f"        {{ {real} *const to = {row.name} + first * {row.size};",
                f"          if (rows == {TILE}) {{",
                "              #pragma unroll",
                f"              for (int k = 0; k < {row.size}; ++k)",
                f"                  to[k * {TILE} + lane] = s_{row.name}[{row.place(f'(k * {TILE} + lane)')}];",
                "          } else {",
                f"              for (int k = lane; k < rows * {row.size}; k += {TILE})",
                f"                  to[k] = s_{row.name}[{row.place('k')}];",
                "          } }",
            ]
    fetch_macro = (
        f'#define FETCH(to, from) asm volatile("cp.async.ca.shared.global [%0], [%1], {width};" \\\n'
        '    :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory")'
    )
    rows_of = f"n - first < {TILE} ? (int)(n - first) : {TILE}"
    return "\n".join(
        [
            fetch_macro,
            "",
            f'extern "C" __global__ void __launch_bounds__({threads}, 1) {kernel}({parameters})',
            "{",
            *([f"    extern __shared__ {real} memory[];"] if words else []),
            *memory,
            f"    const int lane = threadIdx.x % {TILE};",
            f"    const long long step = (long long)gridDim.x * {threads // TILE};",
            f"    long long tile = (long long)blockIdx.x * {threads // TILE} + threadIdx.x / {TILE};",
            "    int buffer = 0;",
            *(
                [
                    f"    if (tile * {TILE} < n) {{",
                    f"        const long long first = tile * {TILE};",
                    f"        const int rows = {rows_of};",
                    *(line[4:] for line in fetch),
                    "    }",
                    '    asm volatile("cp.async.commit_group;" ::: "memory");',
                ]
                if staged
                else []
            ),
            f"    for (; tile * {TILE} < n; tile += step) {{",
            *(
                [
                    f"        if ((tile + step) * {TILE} < n) {{",
                    f"            const long long first = (tile + step) * {TILE};",
                    f"            const int rows = {rows_of};",
                    "            buffer ^= 1;",
                    *fetch,
                    "            buffer ^= 1;",
                    "        }",
                    '        asm volatile("cp.async.commit_group;" ::: "memory");',
                    '        asm volatile("cp.async.wait_group 1;" ::: "memory");',
                    "        __syncwarp();",
                ]
                if staged
                else []
            ),
            f"        const long long first = tile * {TILE};",
            f"        const int rows = {rows_of};",
            "        if (lane < rows) {",
            *call.lines(given, taken, real),
            "        }",
            "        __syncwarp();",
            *flush,
            "        __syncwarp();",
            *(["        buffer ^= 1;"] if staged else []),
            "    }",
            "}",
            "",
        ]
    )


def _number(real: str):
    """As in C; infinity and NaN without a header."""
    plain = c_number(real)
    suffix = "f" if real == "float" else ""
    special = {
        "INFINITY": f"(1.0{suffix} / 0.0{suffix})",
        "-INFINITY": f"(-1.0{suffix} / 0.0{suffix})",
        "NAN": f"(0.0{suffix} / 0.0{suffix})",
    }
    return lambda value: special.get(plain(value), plain(value))
