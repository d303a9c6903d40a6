"""Proof instead of sampling: algorithms and derivations run on an exact field, and agree for every robot of a topology.

field      elements of a prime field or fractions, angles as points of a circle, dual numbers
degree     the same code run on degrees, which bounds the probability of an error
generic    the generic mechanism of a topology
laws       what is proved: algorithms that agree, laws of mechanics
routes     whole-system derivations on exact scalars
prove      the proof, its table and its certificate
symbolic   small mechanisms in SymPy
verify     one door to comparison and proof
theorems   the propositions, lemmas and theorems of the source documents
"""

from dalembert.proof.prove import Proof, ProofRow, check, prove
from dalembert.proof.symbolic import SymbolicProof, prove_symbolically
from dalembert.proof.theorems import THEOREMS, Theorem
from dalembert.proof.verify import verify

__all__ = [
    "THEOREMS", "Proof", "ProofRow", "SymbolicProof", "Theorem", "check", "prove", "prove_symbolically", "verify",
]  # fmt: skip
