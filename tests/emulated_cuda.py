"""Generated CUDA on the processor: every thread of a block is a fiber, barriers are real, copies arrive late.

Fibers run in a random order up to their next barrier. What is copied to shared memory without waiting arrives there
when it is waited for, not before; shared memory is NaN at first, and must be untouched behind its end.
"""

import ctypes
import re
import subprocess

import numpy as np

BEFORE = r"""
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>
#include <ucontext.h>
using std::fma;
struct Place { unsigned x; };
static Place threadIdx, blockIdx, gridDim, blockDim;
struct alignas(16) int4 { int x, y, z, w; };
#define __device__
#define __global__
#define __constant__
#define __shared__
#define __noinline__ __attribute__((noinline))
#define __forceinline__ inline
#define __align__(n)
#define __launch_bounds__(...)
#define __restrict__
template <class To, class From> static To bits(From x) { To y; memcpy(&y, &x, sizeof y); return y; }
static float __int_as_float(int x) { return bits<float>(x); }
static int __float_as_int(float x) { return bits<int>(x); }
static double __longlong_as_double(long long x) { return bits<double>(x); }
static int __double2loint(double x) { return (int)bits<long long>(x); }
static int __double2hiint(double x) { return (int)(bits<long long>(x) >> 32); }
static double __hiloint2double(int h, int l)
{ return bits<double>((unsigned long long)(unsigned)h << 32 | (unsigned)l); }
static float roughly(float x) { return nextafterf(1 / x, 3e38f); } /* a reciprocal as inexact as that of a card */
static double roughly(double x) { return std::isfinite(1 / x) ? __hiloint2double(__double2hiint(1 / x), 0) : 1 / x; }
struct Copy { void *to; const void *from; size_t size; };
enum State { READY, BLOCK, WARP, DONE };
struct Fiber { ucontext_t context; State state; std::vector<Copy> open; std::vector<std::vector<Copy>> underway; };
static std::vector<Fiber> *fibers;
static ucontext_t scheduler;
static int me;
static void stop(State state)
{ Fiber &own = (*fibers)[me]; own.state = state; swapcontext(&own.context, &scheduler); }
#define __syncthreads() stop(BLOCK)
#define __syncwarp() stop(WARP)
static void fetch(void *to, const void *from, size_t size)
{
    if (((size_t)to | (size_t)from) % size) { fprintf(stderr, "a copy is not aligned\n"); abort(); }
    (*fibers)[me].open.push_back({to, from, size});
}
static void commit() { Fiber &own = (*fibers)[me]; own.underway.push_back(std::move(own.open)); own.open.clear(); }
static void arrive(size_t left)
{
    auto &underway = (*fibers)[me].underway;
    for (; underway.size() > left; underway.erase(underway.begin()))
        for (Copy &copy : underway.front()) memcpy(copy.to, copy.from, copy.size);
}
#define FETCH(to, from) fetch(to, from, sizeof *(to))
#define FETCH16(to, from) fetch(to, from, 16)
#define COMMIT() commit()
"""

AFTER = r"""
static void **given;
static unsigned flags;
static long long count;
static void thread() { KERNEL(ARGUMENTS); stop(DONE); }

static bool block(int threads)
{
    const size_t stack = 1 << 18;
    std::vector<Fiber> all(threads);
    std::vector<char> stacks(stack * threads);
    std::vector<int> order(threads);
    fibers = &all;
    for (int t = 0; t < threads; ++t) {
        order[t] = t;
        getcontext(&all[t].context);
        all[t].context.uc_stack.ss_sp = &stacks[stack * t];
        all[t].context.uc_stack.ss_size = stack;
        makecontext(&all[t].context, thread, 0);
    }
    for (;;) {
        bool ran = false, freed = false;
        for (int t = threads - 1; t > 0; --t) std::swap(order[t], order[rand() % (t + 1)]);
        for (int t : order)
            if (all[t].state == READY) { me = threadIdx.x = t; ran = true; swapcontext(&scheduler, &all[t].context); }
        int at[4] = {0, 0, 0, 0};
        for (Fiber &fiber : all) ++at[fiber.state];
        if (at[DONE] == threads) return true;
        if (at[BLOCK] == threads) { for (Fiber &fiber : all) fiber.state = READY; continue; }
        for (int first = 0; first < threads; first += 32) {
            bool whole = true;
            for (int t = first; t < first + 32; ++t) whole = whole && all[t].state == WARP;
            if (whole) { freed = true; for (int t = first; t < first + 32; ++t) all[t].state = READY; }
        }
        if (!ran && !freed) return false;
    }
}

extern "C" int launch(void **arrays, unsigned shared, long long n, int blocks, int threads)
{
    given = arrays; flags = shared; count = n; gridDim.x = blocks; blockDim.x = threads;
    for (int b = 0; b < blocks; ++b) {
        blockIdx.x = b;
        for (auto &x : memory) x = NAN;
        if (!block(threads)) return 1; /* threads wait for each other for ever */
        for (size_t k = WORDS; k < WORDS + 64; ++k) if (memory[k] == memory[k]) return 2;
    }
    return 0;
}
"""


class Emulated:
    """A kernel compiled for the processor.

    Args:
        source: a CudaSource.
        arrays: how many arrays it takes and gives.
        real: the type of its numbers.
        folder: where to compile.
    """

    def __init__(self, source, arrays, real, folder):
        self.threads, self.states = source.threads, source.states
        words = source.shared // (8 if real == "double" else 4)
        waiting = re.search(r"wait_group (\d+)", source.source)
        copies = f"#define WAIT() arrive({waiting[1] if waiting else 0})"
        text = re.sub(r"#if !defined\(__CUDA_ARCH__\).*?#endif", copies, source.source, flags=re.S)
        text = re.sub(r'asm\("rcp[^;]*;"[^;]*;', "r = roughly(x);", text)
        text = re.sub(r'#pragma unroll.*|_Pragma\("unroll 1"\)', "", text)
        given = [f"({real} *)given[{k}]" for k in range(arrays)]
        defined = f"#define KERNEL {source.kernel}\n#define ARGUMENTS {', '.join(given)}, flags, count\n"
        room = f"alignas(16) {real} memory[{words + 64}];\n#define WORDS {words}\n"
        (folder / f"{source.kernel}.cpp").write_text("\n".join([BEFORE, room, text, defined, AFTER]))
        command = ["g++", "-std=c++17", "-O0", "-w", "-mfma", "-fPIC", "-shared", f"{source.kernel}.cpp", "-o"]
        done = subprocess.run([*command, f"{source.kernel}.so"], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        self._library = ctypes.CDLL(str(folder / f"{source.kernel}.so"))

    def __call__(self, inputs, outputs, shared, count, blocks=2):
        """Compute states; outputs are written."""
        arrays = [*inputs, *outputs]
        assert all(x.flags.c_contiguous for x in arrays)
        pointers = (ctypes.c_void_p * len(arrays))(*(x.ctypes.data for x in arrays))
        blocks = min(blocks, -(-count // self.states))
        result = self._library.launch(pointers, ctypes.c_uint(shared), ctypes.c_longlong(count), blocks, self.threads)
        assert result == 0, ("", "threads wait for each other", "shared memory is written behind its end")[result]


class EmulatedSteps:
    """A stepping loop compiled for the processor; its threads never wait for each other, so one runs after the other.

    Args:
        source: a StepperSource.
        made: the recurrence that it is of, without driven inputs and with the length of a step as all that is held.
        dtype: of its numbers.
        folder: where to compile.
    """

    def __init__(self, source, made, dtype, folder):
        self.dtype, self.state = np.dtype(dtype), made.state
        real = "double" if self.dtype.itemsize == 8 else "float"
        ports = len(made.state)
        text = re.sub(r'asm\("rcp[^;]*;"[^;]*;', "r = roughly(x);", source.source)
        text = re.sub(r'#pragma unroll.*|_Pragma\("unroll 1"\)', "", text)
        given = ", ".join([*(f"a[{k}]" for k in range(2 * ports + 1)), *["nullptr"] * ports])
        shared = re.search(r"extern __shared__ \w+ (\w+)\[", text)
        room = f"alignas(16) {real} {shared[1] if shared else 'memory'}[{source.shared // self.dtype.itemsize + 1}];"
        run = f"""
extern "C" void run({real} **a, long long n, long long count, int blocks, int threads)
{{
    gridDim.x = blocks; blockDim.x = threads;
    for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)
        for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x)
            {source.kernel}({given}, {1 << ports}u, n, 0, count, count + 1, count + 1, 1);
}}
"""
        whole = "\n".join([BEFORE, room, text, run])
        (folder / "steps.cpp").write_text(whole.replace("#define __align__(n)", "#define __align__(n) alignas(n)"))
        command = ["g++", "-std=c++17", "-O1", "-w", "-mfma", "-fPIC", "-shared", "steps.cpp", "-o", "steps.so"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        self._library = ctypes.CDLL(str(folder / "steps.so"))

    def __call__(self, start, h, count, blocks, threads):
        """The states after so many steps."""
        given = [np.ascontiguousarray(x, self.dtype) for x in (*start, np.array([h]))]
        final = [np.full_like(x, np.nan) for x in given[:-1]]
        arrays = [*given, *final]
        pointers = (ctypes.c_void_p * len(arrays))(*(x.ctypes.data for x in arrays))
        self._library.run(pointers, ctypes.c_longlong(len(start[0])), ctypes.c_longlong(count), blocks, threads)
        return final


def guarded(count, shape, dtype, shift=0):
    """An array of NaN with more of them around it, and the whole; it may begin off the alignment of copies."""
    size = count * int(np.prod(shape, dtype=int))
    whole = np.full(size + 64, np.nan, dtype)
    start = 32 + (-whole.ctypes.data // whole.itemsize) % 4 + shift
    return whole[start : start + size].reshape(count, *shape), whole
