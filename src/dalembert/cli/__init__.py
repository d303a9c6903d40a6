"""The command line, ``dalembert show|view|derive|verify|...``: one file per command.

application     finds the command, turns errors into messages and exit codes
terminal        text, tables, colour, JSON
options         arguments that several commands share
model           from the arguments to a mechanism
"""

from dalembert.cli.application import main

__all__ = ["main"]
