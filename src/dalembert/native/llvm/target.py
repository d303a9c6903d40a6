"""The machine code is generated for: which processor, how wide its registers, whether it fuses products and sums.

It is the processor of this process. The environment variable ``DALEMBERT_CPU`` asks for code that other processors run,
too, so that several machines compute the same last digits, or one computes those of another: a level of the x86-64
architecture, or ``scalar`` for one state at a time. Kernels compiled before it changes stay as they are.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from dalembert.errors import ArgumentError, CompilerError

_V2 = ("cx16", "sahf", "popcnt", "sse3", "sse4.1", "sse4.2", "ssse3")
_V3 = (*_V2, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
_V4 = (*_V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
LEVELS = {"x86-64-v2": (_V2, 128), "x86-64-v3": (_V3, 256), "x86-64-v4": (_V4, 512)}
"""Level of the x86-64 architecture -> its features, and the width of its vector registers."""

SCALAR = "scalar"
"""The setting that asks for this processor's code without vector registers."""


@dataclass(frozen=True)
class Lanes:
    """How numbers lie in a register: ``width`` states of one scalar type side by side.

    Args:
        scalar: LLVM's name of the type, ``"double"`` or ``"float"``.
        width: number of states per register; 1 is scalar code.
    """

    scalar: str
    width: int

    @property
    def itemsize(self) -> int:
        """Bytes of one number."""
        return 8 if self.scalar == "double" else 4

    @property
    def bytes(self) -> int:
        """Bytes of one register."""
        return self.itemsize * self.width

    @property
    def vector(self) -> str:
        """LLVM's name of the register type."""
        return f"<{self.width} x {self.scalar}>"

    @property
    def integers(self) -> str:
        """LLVM's name of a register of integers of the same size."""
        return f"<{self.width} x i{8 * self.itemsize}>"

    @property
    def truths(self) -> str:
        """LLVM's name of a register of truth values."""
        return f"<{self.width} x i1>"

    @property
    def suffix(self) -> str:
        """What LLVM appends to the name of an intrinsic function on this register type."""
        return f"v{self.width}f{8 * self.itemsize}"

    def number(self, value: float) -> str:
        """A literal of the scalar type, rounded to it; LLVM wants the bits of the double even for floats."""
        if self.scalar == "float":
            with np.errstate(over="ignore"):  # beyond the range of float32 the nearest value is infinity
                value = float(np.float32(value))
        return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"

    def constant(self, value: float) -> str:
        """A literal register with the same number in every lane."""
        return "<" + ", ".join([f"{self.scalar} {self.number(value)}"] * self.width) + ">"

    def integer(self, value: int) -> str:
        """A literal register with the same integer in every lane."""
        return "<" + ", ".join([f"i{8 * self.itemsize} {value}"] * self.width) + ">"


@dataclass(frozen=True)
class Target:
    """A processor to generate code for.

    Args:
        triple: LLVM's name of architecture and system.
        cpu: LLVM's name of the processor.
        features: LLVM's feature string.
        bits: width of the vector registers to use; 0 asks for scalar code.
    """

    triple: str
    cpu: str
    features: str
    bits: int

    @staticmethod
    def host() -> Target:
        """The processor this process runs on, or what ``DALEMBERT_CPU`` asks for in its place."""
        return _host(os.environ.get("DALEMBERT_CPU", ""))

    @property
    def fused(self) -> bool:
        """Whether the processor has a fused multiply-add, which rounds once."""
        return "+fma" in self.features.split(",") or self.triple.startswith(("aarch64", "arm64"))

    def scalar(self) -> Target:
        """The same processor without vector registers: what is quickest for a single state."""
        return replace(self, bits=0)

    def lanes(self, dtype: np.dtype | type | str) -> Lanes:
        """The register type for numbers of ``dtype``, float64 or float32."""
        dtype = np.dtype(dtype)
        if dtype not in (np.float64, np.float32):
            raise CompilerError(f"no code can be generated for {dtype}: kernels compute in float64 or float32")
        return Lanes("double" if dtype == np.float64 else "float", max(1, self.bits // 8 // dtype.itemsize))


@cache
def _host(setting: str) -> Target:
    import llvmlite.binding as llvm

    triple, features = llvm.get_process_triple(), llvm.get_host_cpu_features()
    if struct.calcsize("P") != 8:
        raise CompilerError(f"kernels need a 64-bit process; this one runs on {triple}")
    if setting in LEVELS:
        needed, bits = LEVELS[setting]
        missing = [name for name in needed if not features.get(name)]
        if missing:
            raise CompilerError(
                f"the environment variable DALEMBERT_CPU is {setting!r}, whose code this processor, "
                f"{llvm.get_host_cpu_name()!r}, does not run: it has no {', '.join(missing)}"
            )
        return Target(triple, setting, _unsplit(",".join(f"+{name}" for name in needed), bits), bits)
    if setting not in ("", SCALAR):
        raise ArgumentError(
            f"the environment variable DALEMBERT_CPU is {setting!r}; it must be one of {', '.join(LEVELS)}, {SCALAR}, "
            "or not set for this processor"
        )
    if features.get("avx512f"):
        bits = 512
    elif features.get("avx"):
        bits = 256
    elif triple.startswith(("x86_64", "aarch64", "arm64")):
        bits = 128
    else:
        bits = 0
    host = Target(triple, llvm.get_host_cpu_name(), _unsplit(features.flatten(), bits), bits)
    return host.scalar() if setting == SCALAR else host


def _unsplit(features: str, bits: int) -> str:
    """A feature string for registers as wide as that; LLVM splits the widest in two on some processors."""
    return features + ",-prefer-256-bit" * (bits == 512)
