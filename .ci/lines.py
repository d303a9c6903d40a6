"""Print how many files and lines every room has, and its longest file: size is a cost. No package is needed."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "dalembert"


def main() -> None:
    rooms: defaultdict[str, dict[Path, int]] = defaultdict(dict)
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE)
        room = place.parts[0] if len(place.parts) > 1 else "(top)"
        rooms[room][place] = len(path.read_text(encoding="utf-8").splitlines())
    print(f"{'room':<16}{'files':>6}{'lines':>9}  longest")
    for room, files in sorted(rooms.items(), key=lambda item: -sum(item[1].values())):
        longest = max(files, key=files.__getitem__)
        print(f"{room:<16}{len(files):>6}{sum(files.values()):>9,}  {longest} {files[longest]}")
    everything = [lines for files in rooms.values() for lines in files.values()]
    print(f"{'total':<16}{len(everything):>6}{sum(everything):>9,}")


if __name__ == "__main__":
    main()
