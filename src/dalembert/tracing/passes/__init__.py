"""Rewrite a program to do less work, without changing what it computes; ``optimise`` runs all passes."""

from dalembert.tracing.passes.chunk import Chunks, Piece, chunk
from dalembert.tracing.passes.optimise import absorb_signs, optimise, reduce_strength
from dalembert.tracing.passes.rebuild import rebuild
from dalembert.tracing.passes.regroup import factor, share
from dalembert.tracing.passes.schedule import schedule

__all__ = [
    "Chunks",
    "Piece",
    "absorb_signs",
    "chunk",
    "factor",
    "optimise",
    "rebuild",
    "reduce_strength",
    "schedule",
    "share",
]
