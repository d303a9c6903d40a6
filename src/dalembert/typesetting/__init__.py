"""Formulas as people write them: names and letters, closed forms, polynomials and trigonometric identities."""
