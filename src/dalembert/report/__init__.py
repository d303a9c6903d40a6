"""Derivations as documents.

report      a mechanism or its equations -> a file in HTML (MathML, self-contained), LaTeX or Markdown
document    the same as data
"""

from dalembert.report.report import document, report

__all__ = ["document", "report"]
