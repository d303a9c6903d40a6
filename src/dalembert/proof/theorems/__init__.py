"""The propositions, lemmas and theorems of the source documents, as named statements that prove themselves.

    from dalembert.proof import THEOREMS

    print(THEOREMS)                                   # all of them, one line each
    print(THEOREMS["THESIS Proposition 3.6"])         # in words and symbols
    THEOREMS["THESIS Proposition 3.6"].prove()        # holds, with the probability of an error

A claim draws vectors, tensors or a whole chain from a field and yields both sides of the formula, computed with the
operators of :mod:`dalembert.algebra` and :mod:`dalembert.algorithms`. It takes a sign: 1 gives the theorem, -1 changes
one term, and the formula must then be false; a claim that nothing can falsify would prove nothing.

``u~`` is the dual tensor of u (u~ v = u x v), a dot a time derivative, ``d`` a partial one; derivatives are exact, by
dual numbers. Three operators of the library cannot run on exact scalars: ``norm_frobenius`` takes a square root,
``spectral_decomposition`` compares numbers, ``khang_derivative`` differentiates SymPy expressions. Statements about
them are written without them: squares for norms, derivatives by dual numbers in the order of Khang's columns.
"""

from dalembert.proof.theorems.differentiation import DERIVATIVES
from dalembert.proof.theorems.forbes import FORBES
from dalembert.proof.theorems.links import LINKS
from dalembert.proof.theorems.nguyen import NGUYEN
from dalembert.proof.theorems.one_algorithm import ONE_ALGORITHM
from dalembert.proof.theorems.parsa import PARSA
from dalembert.proof.theorems.rigid_body import RIGID_BODY
from dalembert.proof.theorems.tensors import TENSORS
from dalembert.proof.theorems.theorem import Theorem, Theorems

THEOREMS = TENSORS | RIGID_BODY | LINKS | ONE_ALGORITHM | DERIVATIVES | PARSA | FORBES | NGUYEN
"""Every theorem by name, in the order of the documents."""

__all__ = ["THEOREMS", "Theorem", "Theorems"]
