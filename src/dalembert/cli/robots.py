"""List the robots that can be given by name instead of a file.

A few come with dalembert; the packages example-robot-data and robot_descriptions bring many more:
  pip install example-robot-data
  pip install robot_descriptions               downloads a robot when it is first used

examples:
  dalembert robots
  dalembert robots ur                          those with "ur" in their name
  dalembert show ur5_robot
"""

from __future__ import annotations

import argparse

from dalembert.cli.options import add_common
from dalembert.cli.terminal import Terminal

SUMMARY = "list the robots known by name"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("part", metavar="PART", nargs="?", default="", help="only names that contain this")
    parser.add_argument("--names", action="store_true", help="the names and nothing else, one on a line")
    add_common(parser)


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    from dalembert.formats import catalogue
    from dalembert.formats.loading import robots

    homes = {"dalembert": catalogue.packaged(), "example-robot-data": catalogue.example_robot_data()}
    groups: dict[str, list[str]] = {"dalembert": [], "example-robot-data": [], "robot_descriptions": []}
    for name in robots():
        if options.part.lower() in name.lower():
            groups[next((home for home, names in homes.items() if name in names), "robot_descriptions")].append(name)
    if options.json:
        terminal.json(groups)
        return 0
    if options.names:
        terminal.say("\n".join(name for names in groups.values() for name in names))
        return 0
    for home, names in groups.items():
        if names:
            terminal.say(f"{home}:", "bold")
            for name in names:
                terminal.say(f"  {name}")
    if not any(groups.values()):
        terminal.say(f"no robot has {options.part!r} in its name; `dalembert robots` lists all")
    return 0
