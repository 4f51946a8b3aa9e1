"""Rounds of groups that measure at the same time, as a parameter has them and as a program reads them from a file."""

from __future__ import annotations

from ...errors import BadInput
from ...records import Value

#: The file that a program gets with ``--rounds``, in the run's own folder.
FILE = "rounds.txt"

Rounds = tuple[tuple[tuple[str, ...], ...], ...]  # the rounds, of each its groups, of each its members


def parse(value: Value, where: str) -> Rounds:
    """Members between commas, groups between spaces, rounds between semicolons. Raises BadInput for a group of fewer than
    two."""
    found = []
    for text in filter(None, map(str.strip, str(value).split(";"))):
        groups = tuple(tuple(filter(None, word.split(","))) for word in text.split())
        for group in groups:
            if len(group) < 2:
                raise BadInput(
                    f"{where}: {','.join(group) or text!r} is not a group of two or more members",
                    hint="members between commas, groups between spaces, rounds between semicolons: 0,1 2,3; 0,2 1,3",
                )
        found.append(groups)
    return tuple(found)


def text(rounds: Rounds) -> str:
    """The file: a round a line, a group a word."""
    return "".join(" ".join(map(",".join, groups)) + "\n" for groups in rounds)
