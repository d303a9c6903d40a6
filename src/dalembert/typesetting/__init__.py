"""Formulas as people write them: SymPy expressions in textbook shape, as LaTeX, on a page.

names           names of symbols: rates recognised, clashes avoided, identifiers for programs
notation        symbols, numbers and expressions as LaTeX, no two symbols alike
exact_numbers   floats that were fractions, roots or multiples of pi
polynomials     exact polynomials in symbols, sines and cosines: the arithmetic behind closed forms
trigonometry    the shortest among equal sums of sines and cosines
closed_form     programs -> simplified SymPy expressions
layout          matrices and sums that fit a page
forms           written out if that is short, a sequence of named values if not
mathml, escape  for browsers; text from anywhere made harmless
"""
