"""Rewrite a program to do less work, without changing what it computes. One file per pass; ``optimise`` runs
them."""

from dalembert.tracing.passes.chunk import Chunk, Chunks, chunk
from dalembert.tracing.passes.factor import factor
from dalembert.tracing.passes.optimise import optimise
from dalembert.tracing.passes.rebuild import rebuild
from dalembert.tracing.passes.schedule import schedule
from dalembert.tracing.passes.share import share
from dalembert.tracing.passes.signs import absorb_signs
from dalembert.tracing.passes.strength import reduce_strength

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
