"""What a card has, and every number that decides which kernel is generated for it.

The first section describes hardware of compute capability 9.0; where a device has less, callers say how much. The
second holds the limits by which :mod:`~dalembert.cuda.source` and its neighbours choose among the shapes of a kernel.
Where a comment names a measurement, it was made on an H200; the other limits are estimates that nobody has measured
one by one.
"""

from __future__ import annotations

# ------------------------------------------------------------------------------------------------------------ hardware

WARP = 32
"""Threads that execute one instruction together."""

NUMBER_BYTES = {"double": 8, "float": 4}
"""Bytes of a number."""

REGISTER_VALUES = {"double": 125, "float": 235}
"""Values that fit the 255 registers of a thread besides addresses."""

SHARED_BYTES = 227 * 1024
"""Shared memory of a multiprocessor that its blocks can use."""

RESERVED_BYTES = 1024
"""Shared memory that the system takes for each block."""

PLAIN_SHARED_BYTES = 48 * 1024
"""Shared memory that a block may use without asking for more."""

SMALL_SHARED_BYTES = 64 * 1024
"""Shared memory that a block can have on every card that CUDA supports."""

LOCAL_BYTES = 1 << 19
"""Memory that a thread may have for itself."""

# ---------------------------------------------------------------------------------------------- one thread per state

ONE_GROUP_VALUES = {"double": 125, "float": 290}
"""Live values, in the order of the program, up to which all outputs are computed in one round.

A compiler finds a better order for single precision. Derivatives of inverse dynamics, in G states a second: with 192
values (Panda) single precision spills nothing and gives 6.3 in one round, double precision 1.0 in one and 2.0 in two;
with 339 (nine joints) single precision gives 1.3 and 2.1."""

SPILL_PRICE = 5
"""How much dearer operations are when twice as many values are live as fit the registers."""

SPILLING_VALUES = {"double": 200, "float": 470}
"""Live values above which inputs are read straight from global memory.

Shared memory then serves better as the cache that holds what does not fit the registers, and more threads are
resident."""

WHOLE_NODES, PIECE_NODES = 60_000, 2_000
"""Programs with more nodes than the first are printed as functions of the second size, which pass values on through the
memory of the thread.

CUDA compilers take longer than anybody waits for one function of that length, and registers help it little: derivatives
of forward dynamics of Talos, 100,000 operations, gave 3.6 (double) and 4.5 million states a second in such pieces."""

SPILLING_NODES = 3_000
"""Nodes above which a program that spills is printed in pieces as well.

In one long function the compiler moves more values between registers and memory than pieces pass on."""

FUNCTION_NODES = 10 * PIECE_NODES
"""Largest function of all other programs."""

LIGHT_VALUES = 100
"""Live values in single precision up to which blocks have 256 threads; an estimate."""

LIGHT_THREADS, HEAVY_THREADS = 256, 128
"""Threads of a block with few live values, and with many."""

TILE_SHARED_BYTES = 110 * 1024
"""Most shared memory of a block; two blocks then fit one multiprocessor of a recent card."""

# --------------------------------------------------------------------------------------------------- cooperating warps

ONE_THREAD_VALUES = 110
"""Live values up to which one thread per state is faster than cooperating warps."""

MOST_WORKERS = 4
"""Most workers among which a program is divided; an estimate."""

BlockShape = tuple[int, int, int]
"""Warps of each worker, tiles of inputs that are held, blocks that a multiprocessor must be able to hold."""

BLOCK_SHAPES: dict[tuple[str, bool], tuple[BlockShape, ...]] = {
    ("double", False): ((3, 1, 1), (2, 1, 1), (1, 1, 1)),
    ("double", True): ((2, 1, 1), (1, 2, 1), (1, 1, 1)),
    ("float", False): ((2, 1, 2), (3, 1, 1), (2, 1, 1), (1, 1, 1)),
    ("float", True): ((2, 1, 1), (1, 2, 1), (1, 1, 1)),
}
"""Shapes of a block for narrow and for wide results, the fastest first."""

CROWDED_VALUES = 150
"""Live values of a worker above which three warps each leave a thread too few registers."""

LARGEST_SHARE = 0.6
"""Largest part of all operations that the busiest worker may have."""

WRITE_BOUND_OPERATIONS = 20
"""Operations per result below which writing takes longer than computing, so that the work need not be shared.

The Jacobian of a humanoid has 7 and became eight times as fast in double precision; matrices of dynamics have more."""

WIDE_ELEMENTS = 96
"""Elements of an output above which a block holds its different values instead of its elements."""

MOST_SLICES = 4
"""Most rounds in which a single output is computed; each repeats what it has in common with the others."""

# ------------------------------------------------------------------------------------------- columns and trajectories

COLUMN_THREADS = 128
"""Threads of a block with one thread per column, about; the columns of one state stay together."""

TRAJECTORY_THREADS = 256
"""Most threads of a block with one thread per trajectory.

Few, large blocks stay together, so that all warps of a multiprocessor read the same long code at the same time. Where
there are fewer trajectories than fill the card, blocks are smaller: 4096 steps of Go2 on its feet run at 189 million a
second in blocks of 256, which leave seven of eight multiprocessors idle, and at 270 to 278 in blocks of 32 to 128."""

WAITING_VALUES = 170
"""Live values beyond the registers, on average over a step, above which it is printed in functions that pass values on
through shared memory.

Million steps a second of 65,536 trajectories, in one function and so: single precision 651, 574 (126 values: Talos in
the air), 98, 111 (211: the same by Runge and Kutta), 133, 145 (249: Talos on eight points); double precision 267, 250
(99: Go2 on its feet), 146, 233 (219), 37, 62 (313), 38, 55 (349)."""

STEP_NODES = {"double": 1_000, "float": 2_000}
"""Nodes of such a function: about as many as compilers need no further memory for.

Talos on eight points: 140 with 1500, 146 with 2000 in single, 55 with 1000, 50 with 2000 in double precision. With
loops in the middle of functions, not in functions of their own, 138 instead of 146."""

NEAR_BYTES = 220 * 1024
"""Shared memory of a block for what they pass on: 220 numbers of a thread in single, 110 in double precision.

Talos gives 121 million steps a second without, 134 with 128 numbers, 136 with 200, 139 with 220. Half of all numbers
passed on are among these. The others lie together as they are read together: moving several at once gave another five
per cent."""

LAUNCH_NODES = 2e12
"""Nodes evaluated in one launch of a recurrence, a fraction of a second: between launches Ctrl-C is handled, and a
screen can be drawn."""
