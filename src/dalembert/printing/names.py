"""Names that are safe in generated source, whatever the user called things."""

from __future__ import annotations

import keyword
import re

_LONGEST = 60

PYTHON_RESERVED = frozenset({*keyword.kwlist, *keyword.softkwlist, "np", "print", "self"})

_KEYWORDS_OF_C_AND_CPP = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept const
    consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete do
    double dynamic_cast else enum explicit export extern false float for friend goto if inline int long
    mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register
    reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast struct
    switch template this thread_local throw true try typedef typeid typename typeof union unsigned using
    virtual void volatile wchar_t while xor xor_eq linux unix
"""

_STANDARD_LIBRARY = """
    main abort abs acos acosh alloca asin asinh atan atan2 atanh bcmp bcopy bzero cabs cacos calloc carg
    cbrt ceil cexp cimag clog conj copysign cos cosh cpow cproj creal csin csqrt ctan drem erf erfc errno
    exit exp exp10 exp2 expm1 fabs fdim ffs fma fmax fmin fmod fprintf fputc fputs free frexp fscanf fwrite
    gamma hypot ilogb imaxabs index isalnum isalpha isfinite isinf isnan j0 j1 jn labs ldexp lgamma llabs
    llrint llround log log10 log1p log2 logb lrint lround malloc memchr memcmp memcpy memmove mempcpy memset
    modf nan nearbyint nextafter pow pow10 printf putchar puts realloc remainder remquo rindex rint round
    scalb scalbln scalbn scanf signbit signgam significand sin sincos sinh size_t snprintf sprintf sqrt sscanf stdin
    stdout stderr strcat strchr strcmp strcpy strdup strlen strncmp strncpy strstr tan tanh tgamma toascii
    tolower toupper trunc vprintf vsprintf y0 y1 yn
"""

_CUDA_AND_OUR_OWN = """
    blockDim blockIdx gridDim threadIdx dim3 warpSize min max i n k w state lane NULL INFINITY NAN
"""

C_RESERVED = frozenset(
    (_KEYWORDS_OF_C_AND_CPP + _CUDA_AND_OUR_OWN).split()
    + [word + precision for word in _STANDARD_LIBRARY.split() for precision in ("", "f", "l")]
)


def identifier(wish: str) -> str:
    """ASCII letters, digits and underscores only, beginning with a letter, not too long; never empty."""
    name = re.sub(r"[^A-Za-z0-9_]+", "_", str(wish))[:_LONGEST].strip("_")
    return name if re.match(r"[A-Za-z]", name) else f"x{name}"


class Names:
    """Gives out different identifiers.

    Args:
        reserved: words never to give out.
    """

    def __init__(self, reserved: frozenset[str]):
        self._taken = set(reserved)

    def scope(self) -> Names:
        """Names for the inside of a function: different from those given out so far, unknown outside."""
        return Names(frozenset(self._taken))

    def new(self, wish: str, instead: str = "") -> str:
        """An identifier like ``wish`` that was not given out before; if it was, ``instead`` is appended
        first."""
        name = identifier(wish)
        if name in self._taken:
            name += instead
        candidate, number = name, 1
        while candidate in self._taken:
            number += 1
            candidate = f"{name}_{number}"
        self._taken.add(candidate)
        return candidate
