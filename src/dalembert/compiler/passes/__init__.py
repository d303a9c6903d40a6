"""Rewrite a program to do less work, without changing what it computes. One file per pass; ``optimise`` runs
them."""

from .chunk import Chunk, Chunks, chunk
from .factor import factor
from .optimise import optimise
from .rebuild import rebuild
from .schedule import schedule
from .share import share
from .signs import absorb_signs
from .strength import reduce_strength

__all__ = [
    "Chunk",
    "Chunks",
    "absorb_signs",
    "chunk",
    "factor",
    "optimise",
    "rebuild",
    "reduce_strength",
    "schedule",
    "share",
]
