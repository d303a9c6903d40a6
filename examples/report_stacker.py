"""A handout: the stacker derived by Kane's method, as a page to open in a browser and as LaTeX to be edited.

The page holds the figure, every step with its equation, the comparison of all routes and the operation counts. It is
one file that needs no network; formulas are MathML.
"""

from pathlib import Path

import dalembert as da
from dalembert.errors import MissingExtraError
from dalembert.report import report

stacker = da.load("stacker")
for suffix in ("html", "tex", "md"):
    try:
        path = report(stacker, Path("out") / f"stacker.{suffix}", "kane", title="The stacker by Kane's method")
    except MissingExtraError as missing:
        print(missing)
    else:
        print(f"{path}: {path.stat().st_size / 1024:.0f} KB")
