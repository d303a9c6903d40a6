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
"""Threads of a block with one thread per trajectory.

Few, large blocks stay together, so that all warps of a multiprocessor read the same long code at the same time."""

LAUNCH_NODES = 2e12
"""Nodes evaluated in one launch of a recurrence, a fraction of a second: between launches Ctrl-C is handled, and a
screen can be drawn."""
