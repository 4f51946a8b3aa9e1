"""What holds for every verb."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from shakedown.cli import app

#: They print what others read (a plan, a script), or what another program prints.
WITHOUT_JSON = {"accept show", "health wrapper", "radio emulate exec", "radio emulate run"}


def verbs(group: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Each verb that does something, with its name: of the groups those that are called without another word, too."""
    context = group.make_context(name, [], resilient_parsing=True)
    for word in group.list_commands(context):
        below, whole = group.get_command(context, word), f"{name} {word}".strip()
        if not hasattr(below, "list_commands") or below.invoke_without_command:
            yield whole, below
        if hasattr(below, "list_commands"):
            yield from verbs(below, whole)


def test_every_verb_that_answers_with_data_of_its_own_has_json() -> None:
    found = dict(verbs(typer.main.get_command(app.app)))
    assert len(found) > 80
    without = {name for name, one in found.items() if not any("--json" in param.opts for param in one.params)}
    assert without == WITHOUT_JSON
