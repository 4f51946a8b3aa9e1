"""shakedown radio models: the models of path loss, and one with its ranges, settings and terms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ..document import terminal

if TYPE_CHECKING:
    from ..radio.models import Addition, Model, ModelTable


def command(
    name: Annotated[
        str, typer.Argument(help="The model, or what is added to one, to show alone.", show_default=False)
    ] = "",
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """List the models that --model knows, and what + adds to them; with a name that one, its settings and its terms."""
    from ..radio import models

    table = models.table()
    if json:
        terminal.print_json(table.get(name) if name else table)
    elif name:
        _one(table, table.get(name))
    else:
        _all(table)


def _all(table: ModelTable) -> None:
    rows = [
        (
            entry.name,
            entry.title,
            entry.frequency_mhz.valid_words("MHz"),
            entry.distance_m.valid_words("km", 1e-3),
            "yes" if entry.uses_profile else "no",
        )
        for entry in table.models
    ]
    terminal.print_table(("model", "what it is", "frequency", "distance", "terrain"), rows)
    added = [(f"+{entry.name}", entry.title, entry.frequency_mhz.valid_words("MHz")) for entry in table.additions]
    terminal.print_table(("added", "what it is", "frequency"), added, "Added to a model: itm+gas")
    terminal.say(
        "\n`shakedown radio models NAME` shows one with its settings and terms. Outside these ranges a loss has a warning."
    )


def _one(table: ModelTable, entry: Model | Addition) -> None:
    from ..radio.models import Model

    print(f"{entry.name}: {entry.title}")
    terminal.print_sentence(f"{entry.about}.", "  ", "  ")
    ranges = [("frequency", entry.frequency_mhz.valid_words("MHz"))]
    if isinstance(entry, Model):
        ranges += [
            ("distance", entry.distance_m.valid_words("km", 1e-3)),
            ("higher antenna", entry.higher_m.valid_words("m")),
            ("lower antenna", entry.lower_m.valid_words("m")),
        ]
    terminal.print_table(("of", "made for"), ranges, "ranges")
    settings = [(one.name, one.unit, _shown(one.default), one.possible, one.help) for one in table.read_by(entry)]
    terminal.print_table(("setting", "unit", "default", "from", "what it is"), settings, "settings")
    terms = entry.terms if isinstance(entry, Model) else (entry.term,)
    rows = [(one.name, "yes" if one.summand else "no", one.meaning, one.source) for one in terms]
    terminal.print_table(("term", "added up", "what it is", "source"), rows, "terms of its loss")
    terminal.print_sentence(f"Source: {entry.source}", "\n", "  ")


def _shown(default: float | str) -> str:
    return default if isinstance(default, str) else f"{default:.10g}"
