"""What a user pays before the first line of work: seconds to import, bytes installed. No warning may be raised.

python .ci/facts.py        measures the dalembert that this Python imports
"""

import subprocess
import sys
from pathlib import Path

CLOCK = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"


def seconds(module: str) -> float:
    """Best of three fresh processes, warnings as errors."""
    command = [sys.executable, "-W", "error", "-c", CLOCK.format(module)]
    return min(float(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(3))


def main() -> None:
    import dalembert

    folder = Path(dalembert.__file__).parent
    files = [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    size = sum(path.stat().st_size for path in files)
    assert folder / "py.typed" in files, "type information is not shipped"
    print(
        f"dalembert {dalembert.__version__} on Python {sys.version.split()[0]}: "
        f"import {seconds('dalembert'):.3f} s (NumPy alone {seconds('numpy'):.3f} s), "
        f"{size / 1e6:.1f} MB in {len(files)} files, types shipped, no warnings"
    )


if __name__ == "__main__":
    main()
