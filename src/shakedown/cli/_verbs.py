"""The verbs by name, each loaded when it is asked for: a command pays for the imports and the options of its own verb alone,
not for those of all others (0.3 s of processor time of every call)."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

#: How every verb behaves.
SETTINGS: dict[str, Any] = {"add_completion": False, "pretty_exceptions_enable": False, "rich_markup_mode": None}


class Verb(NamedTuple):
    """A verb, or a group of verbs (``attribute`` is then ``app``): the file of this folder that has it, and under which
    name; the class that gives it options which it shares with others; what other files hang into the group."""

    module: str
    attribute: str = "command"
    options: Callable[[], type[TyperCommand]] | None = None
    parts: tuple[tuple[str, Verb], ...] = ()


def _of_batches() -> type[TyperCommand]:
    from . import _batch

    return _batch.Command


def _of_radio(*groups: str) -> type[TyperCommand]:
    from . import _radio

    return _radio.options(*groups)


_LINKS = partial(_of_radio, "radios", "ground", "town", "model", "budget", "engine")

#: In the order of the help.
VERBS: dict[str, Verb] = {
    "machine": Verb("machine"),
    "gpu": Verb("gpu"),
    "run": Verb("run", options=_of_batches),
    "plan": Verb("plan"),
    "report": Verb("report"),
    "import": Verb("import_"),
    "compare": Verb("compare"),
    "reproduce": Verb("reproduce", options=_of_batches),
    "predict": Verb("predict"),
    "pairs": Verb("pairs"),
    "scaling": Verb("scaling"),
    "overhead": Verb("overhead", options=_of_batches),
    "bigdata": Verb("bigdata", options=_of_batches),
    "trend": Verb("trend"),
    "site": Verb("site"),
    "groups": Verb("groups", options=_of_batches),
    "placement": Verb("placement"),
    "list": Verb("list_"),
    "native": Verb("native"),
    "tune": Verb("tune", "app"),
    "accept": Verb("accept", "app", parts=(("select", Verb("accept_select")),)),
    "cluster": Verb("cluster", "app"),
    "meter": Verb("meter", "app", parts=(("characterise", Verb("meter_characterise")),)),
    "energy": Verb(
        "energy",
        "app",
        parts=(
            ("check", Verb("energy_check", "check")),
            ("draw", Verb("energy_check", "draw")),
            ("bundle", Verb("energy_check", "bundle")),
            ("archive", Verb("energy_archive")),
            ("import", Verb("energy_import")),
        ),
    ),
    "facility": Verb("facility", "app"),
    "availability": Verb("availability", "app"),
    "burnin": Verb("burnin", "app"),
    "health": Verb("health", "app"),
    "accounting": Verb("accounting", "app"),
    "checkpoint": Verb("checkpoint", "app", parts=(("plan", Verb("checkpoint_plan")),)),
    "radio": Verb(
        "radio",
        "app",
        parts=(
            ("models", Verb("radio_models")),
            ("links", Verb("radio_links", options=_LINKS)),
            ("coverage", Verb("radio_coverage", options=_LINKS)),
            ("explain", Verb("radio_explain", options=_LINKS)),
            ("serve", Verb("radio_serve", options=partial(_of_radio, "ground", "town", "model", "budget", "engine"))),
            ("emulate", Verb("radio_emulate", "app")),
        ),
    ),
}


@cache
def _loaded(verb: Verb) -> Any:
    """The verb's function, or its group with all that hangs in it."""
    found = getattr(importlib.import_module(f"{__package__}.{verb.module}"), verb.attribute)
    for name, part in verb.parts:
        _hang(found, name, part)
    return found


def _hang(group: typer.Typer, name: str, verb: Verb) -> None:
    if verb.attribute == "app":
        group.add_typer(_loaded(verb), name=name)
    else:
        group.command(name, cls=verb.options() if verb.options else None)(_loaded(verb))


class Commands(Mapping[str, Any]):
    """All verbs by name; the command line of one is made when it is looked up."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            holder = typer.Typer(**SETTINGS)
            _hang(holder, name, VERBS[name])
            self._made[name] = typer.main.get_group(holder).commands[name]
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(VERBS)

    def __len__(self) -> int:
        return len(VERBS)


class Group(TyperGroup):
    """``shakedown``: the verbs above."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = Commands()  # type: ignore[assignment]

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names, in the order of the help, and nothing loaded."""
        del ctx
        return list(VERBS)
