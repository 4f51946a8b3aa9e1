"""Options that are declared as data, as typer makes them of a function's parameters: for verbs that share some."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import typer


def params(parameters: Sequence[inspect.Parameter], keep: Callable[[Any, Any, Any], Any]) -> list[Any]:
    """The options of these parameters, by their annotations. A verb is not called with them: ``keep`` (click's callback:
    context, option, value) has what was given."""

    def nothing(**given: Any) -> None:
        del given

    nothing.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    nothing.__annotations__ = {one.name: one.annotation for one in parameters}
    app = typer.Typer(add_completion=False)
    app.command()(nothing)
    made = typer.main.get_command(app).params
    for param in made:
        param.expose_value = False
        param.callback = keep
    return list(made)
