"""What a comparison found: differences in words, errors at random states, remarks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from textwrap import wrap
from typing import Any

from dalembert.comparison.contact_forces import ContactComparison
from dalembert.errors import Wording, worded
from dalembert.text.layout import aligned
from dalembert.text.tables import TextTable, as_html

TOPICS = (
    "joints", "topology", "joint type", "mimic", "joint axis", "placement", "zero position", "mass", "centre of mass",
    "inertia tensor", "gravity", "armature", "damping", "friction", "constraints", "force elements", "limits", "frames",
    "other forces", "unexplained",
)  # fmt: skip
"""What can differ, causes before effects: the order in which differences are reported."""

UNMEASURED = ("constraints", "force elements")
"""Topics that change the motion, but nothing that is measured."""

HARMLESS = ("limits", "frames")
"""Topics on which no force depends."""

WIDTH = 118


@dataclass(frozen=True)
class Difference:
    """One cause of different results.

    Args:
        topic: one of :data:`TOPICS`.
        where: the joint or body, as the mechanism here calls it; empty for the whole.
        text: what differs, in words and numbers.
        advice: what to do about it; empty if that is plain. ``{setting}`` in it stands for the argument and its value.
        argument: the argument that helps, if one does.
        value: what to give it.
    """

    topic: str
    where: str
    text: str
    advice: str = ""
    argument: str = ""
    value: Any = None

    @property
    def remedy(self) -> str:
        """What to do about it, in the words of Python."""
        return worded(self.advice, self.argument, self.value)

    def __str__(self) -> str:
        return f"{self.topic}: {self.text}" + (f". {self.remedy}" if self.remedy else "")

    def worded(self, wording: Wording) -> Difference:
        """The same with arguments as a front end calls them.

        Args:
            wording: its names for them.
        """
        return replace(
            self, advice=worded(wording.remedy(self.argument, self.advice), self.argument, self.value, wording)
        )


@dataclass(frozen=True)
class Measured:
    """A quantity on both sides at random states.

    Args:
        quantity: what was computed.
        error: worst difference relative to its largest entry; of forces that cancel, to a thousandth of what they
            consist of.
        where: the body or coordinate where it is worst.
    """

    quantity: str
    error: float
    where: str
    tolerance: float

    @property
    def ok(self) -> bool:
        """True if the error is within the tolerance; NaN is not."""
        return self.error <= self.tolerance


@dataclass(frozen=True)
class Comparison:
    """The outcome of :func:`dalembert.compare`; printed it explains itself.

    Args:
        subject: name of the mechanism.
        library: what it was compared with.
        differences: all that were found, causes before effects.
        measured: quantities at random states; none if the joints do not correspond.
        remarks: conventions that differ, which were mapped, and what took no part.
        states: how many random states.
        contacts: forces of contact on both sides, where they were compared.
    """

    subject: str
    library: str
    differences: tuple[Difference, ...]
    measured: tuple[Measured, ...]
    remarks: tuple[str, ...] = ()
    states: int = 0
    contacts: ContactComparison | None = None

    @property
    def agrees(self) -> bool:
        """True if poses, forces and inertia matrices agree at all states that were tried, and so do constraints and
        force elements where both sides are mechanisms of ours."""
        unmeasured = any(item.topic in UNMEASURED for item in self.differences)
        return bool(self.measured) and all(row.ok for row in self.measured) and not unmeasured

    @property
    def first(self) -> Difference | None:
        """The first difference in causal order; None if there is none."""
        return self.differences[0] if self.differences else None

    def _by_topic(self) -> dict[str, list[Difference]]:
        groups: dict[str, list[Difference]] = {}
        for item in self.differences:
            groups.setdefault(item.topic, []).append(item)
        return groups

    def __bool__(self) -> bool:
        return self.agrees

    @property
    def headline(self) -> str:
        """The verdict in one line."""
        verdict = "they agree" if self.agrees else "they differ"
        if self.agrees and self.differences:
            verdict = "results agree, although the data differ"
        return f"{self.subject} here and in {self.library}: {verdict}"

    def explanation(self) -> list[str]:
        """Lines about the differences, one paragraph per topic."""
        lines: list[str] = []
        for number, (topic, items) in enumerate(self._by_topic().items()):
            lines += ["", f"{'Then' if number else 'First difference'}, {topic}:", *_indented(f"{items[0].text}.")]
            lines += _indented(f"{items[0].remedy}.") if items[0].remedy else []
            more = ", ".join(dict.fromkeys(item.where for item in items[1:]))
            lines += _indented(f"The same topic: {more}.") if more else []
        return lines

    def notes(self) -> list[str]:
        """Lines about conventions that were mapped and what took no part."""
        if not self.remarks:
            return []
        return ["", "Remarks:", *(line for remark in self.remarks for line in _indented(f"{remark}.", "- "))]

    def __str__(self) -> str:
        lines = [self.headline, *self.explanation()]
        if self.measured:
            lines += ["", f"Worst relative difference at {self.states} random states:"]
            rows = [
                (row.quantity, f"{row.error:.1e}", "" if row.ok else f"> {row.tolerance:.0e} at {row.where}")
                for row in self.measured
            ]
            lines += aligned(rows, left=3, indent="  ")
        if self.contacts is not None:
            lines += ["", *self.contacts.lines()]
        return "\n".join([*lines, *self.notes()])

    def _repr_html_(self) -> str:
        parts: list[str | TextTable] = [self.headline]
        for item in self.differences:
            parts += [f"{item.text}. {item.remedy}." if item.remedy else f"{item.text}."]
        if self.measured:
            rows = [
                (x.quantity, f"{x.error:.1e}", "ok" if x.ok else f"> {x.tolerance:.0e}", x.where) for x in self.measured
            ]
            titles = (f"worst at {self.states} random states", "relative difference", "", "where")
            parts += [TextTable.of(titles, rows)]
        return as_html([*parts, *(f"{remark}." for remark in self.remarks)])

    def to_dict(self) -> dict[str, Any]:
        """Everything in the types of JSON."""
        return {
            "model": self.subject,
            "library": self.library,
            "agrees": self.agrees,
            "differences": [
                {"topic": item.topic, "where": item.where, "text": item.text, "remedy": item.remedy}
                for item in self.differences
            ],
            "measured": [vars(row) | {"ok": row.ok} for row in self.measured],
            "remarks": list(self.remarks),
            "states": self.states,
            "contacts": None if self.contacts is None else self.contacts.to_dict(),
        }


def _indented(text: str, mark: str = "") -> list[str]:
    return wrap(text, WIDTH, initial_indent="  " + mark, subsequent_indent="  " + " " * len(mark))
