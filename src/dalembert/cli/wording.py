"""What the library says about its arguments, said about the options of the command line.

Messages of the library speak to those who call it from Python. Here the few that name an argument name the option.
"""

from __future__ import annotations

import re

PHRASES: tuple[tuple[str, str], ...] = (
    (r"dalembert\.robots\(\) lists", "`dalembert robots` lists"),
    (r"include=\['(\w+)'\], here and in da\.Dynamics", r"--include \1"),
    (r"Leave '(\w+)' out of include", r"Leave out --include \1"),
    (r"include = \['([^']*)'\]", r"--include \1"),
    (r"include = \[(.*?)\]:", r"--include \1:"),
    (r"Pass joints=\{name here: name there\}", "Give --joint HERE=THERE"),
    (r"da\.with_base\(mechanism, '(\w+)'\)", r"--base \1"),
    (r"^da\.with_gravity", "In Python, da.with_gravity"),
    (r"^([qv])0\b", r"--\1"),
    (r"method='([\w-]+)'", r"--method \1"),
    (r"give reference=, positions", "give --q, positions"),
    (r"^reference(?=: | = )", "--q"),
    (r"give to= \(or --to\)", "give --to"),
    (r"^q(?= has shape|\[| is where a mechanism stands)", "--at"),
    (r"say where the model lies by folder=", "put the description into a file beside its meshes"),
    (r" \(strict=True refuses it\)", ""),
    (
        r"URDF has no place for (.*?); write TOML, or leave them out with replace\(\w+=\(\)\)",
        r"another library gets a TOML model as URDF, which has no place for \1; give its own description of the "
        "mechanism as a second file, or compare two TOML files without --with",
    ),
    (
        r"(joint '.*?' is \w+); URDF knows only (.*?) joints; write TOML instead",
        r"\1, and another library gets a TOML model as URDF, which knows only \2 joints; give its own description of "
        "the mechanism as a second file, or its model to da.compare in Python",
    ),
    (r"\n  kept: .* in \.partial", ""),
    (r"^(rtol|step) belongs", r"--\1 belongs"),
    (r" chooses its steps by rtol and atol; max_step bounds them", " chooses its steps by --rtol"),
    (r" takes steps of the length step$", " takes steps of the length --step"),
    (
        r"with_base\(body=None\): name one of the root bodies of (.*)",
        r"--base is for a mechanism with one root body, and these are those of \1; in Python, da.with_base names one",
    ),
    (r"coordinates = '([^']*)';", r"--coordinates \1:"),
    (r"for example by load\(\.\.\., parameters='default'\)", "for example by --set NAME=VALUE"),
)
"""Regular expression of a phrase of the library -> what the command line says."""


def in_options(text: str) -> str:
    """The message with the names of options in place of those of arguments.

    Args:
        text: what the library says.
    """
    for phrase, said in PHRASES:
        text = re.sub(phrase, said, text)
    return text
