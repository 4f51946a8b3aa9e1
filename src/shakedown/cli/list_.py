"""shakedown list: workloads, campaigns, published systems, metrics; and one workload with all of its parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..document import terminal
from ..errors import BadInput, unknown

if TYPE_CHECKING:
    from ..workloads import Param, Workload

KINDS = ("campaigns", "workloads", "published", "metrics")


def command(
    kind: Annotated[
        str, typer.Argument(help="campaigns, workloads, published or metrics; all where none is given.")
    ] = "",
    name: Annotated[
        str, typer.Argument(help="With workloads: the one to show with its parameters and metrics.", show_default=False)
    ] = "",
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """List what can be run and what it can be compared with. `list workloads NAME` shows one with its parameters."""
    if kind and kind not in KINDS:
        from .. import workloads

        if name or kind not in workloads.names():
            raise unknown("kind", kind, KINDS)
        kind, name = "workloads", kind
    if name:
        _one(kind, name, json=json)
        return
    if json:
        terminal.print_json({one: _LISTS[one]() for one in ((kind,) if kind else KINDS[:3])})
        return
    for one in (kind,) if kind else KINDS[:3]:
        columns = _COLUMNS[one]
        rows = [[text.format(**entry) for text in columns.values()] for entry in _LISTS[one]()]
        terminal.print_table(tuple(columns), rows, "" if kind else one)
    if kind == "workloads":
        terminal.say(
            "\n`shakedown list workloads NAME` shows its parameters, `shakedown run NAME [PARAMETER=VALUE]...` runs it"
        )


def _one(kind: str, name: str, *, json: bool) -> None:
    from .. import workloads

    if kind != "workloads":
        raise BadInput(
            f"`list {kind}` takes no name", hint=f"`shakedown list {kind}`; only workloads are shown one by one"
        )
    found = workloads.get(name)
    if json:
        terminal.print_json(_workload(found))
        return
    print(f"{found.name}: {found.title}")
    rows = [(one, _kind(param), _default(param), _says(param)) for one, param in found.params.items()]
    terminal.print_table(("parameter", "kind", "default", "what it is"), rows, "parameters")
    metrics = [(one.name, one.unit, one.better, one.title, one.limit or "-") for one in found.metrics]
    terminal.print_table(("metric", "unit", "better", "what it is", "bounded by"), metrics, "metrics", ("bounded by",))
    terminal.print_sentence(f"Sources: {'; '.join(dict.fromkeys(one.source for one in found.metrics))}", "\n", "  ")


def _kind(param: Param) -> str:
    """``integer``, ``integer or auto``, ``list``."""
    return " or ".join((param.kind, *param.words))


def _default(param: Param) -> str:
    return str(param.default).lower() if isinstance(param.default, bool) else str(param.default) or "-"


def _says(param: Param) -> str:
    """The meaning, and what it may be."""
    words = [param.help]
    if param.choices and not all(one in param.help for one in param.choices):
        words.append(f"one of {', '.join(param.choices)}")
    if param.items and not all(one in param.help for one in param.items):
        words.append(f"of {', '.join(param.items)}")
    unit = f" {param.unit}" if param.unit else ""
    if param.low is not None and param.high is not None:
        words.append(f"{param.low:g} to {param.high:g}{unit}")
    elif param.low is not None:
        words.append(f"at least {param.low:g}{unit}")
    elif param.high is not None:
        words.append(f"at most {param.high:g}{unit}")
    elif unit:
        words.append(f"in{unit}")
    return "; ".join(words)


def _workload(one: Workload) -> dict[str, Any]:
    return {"name": one.name, "title": one.title, "parameters": dict(one.params), "metrics": tuple(one.metrics)}


def _campaigns() -> list[dict[str, Any]]:
    from .. import campaign

    found = [campaign.parse(*campaign.text_of(name)) for name in campaign.names()]
    return [
        {"name": one.name, "title": one.title, "summary": one.summary, "workloads": [run.workload for run in one.runs]}
        for one in found
    ]


def _workloads() -> list[dict[str, Any]]:
    from .. import workloads

    return [_workload(workloads.get(name)) for name in workloads.names()]


def _published() -> list[dict[str, Any]]:
    from .. import published

    return [
        {"id": one.id, "name": one.name, "site": one.site, "year": one.year, "values": len(one.values)}
        for one in published.systems()
    ]


def _metrics() -> list[dict[str, Any]]:
    from .. import published, workloads
    from ..campaign import plan

    own = plan.metrics(set(workloads.names()))
    found = [*own.values(), *published.metrics(own).values()]
    keys = ("name", "unit", "better", "title")
    return sorted(({key: getattr(one, key) for key in keys} for one in found), key=lambda one: str(one["name"]))


#: Of each kind: all that there is, as JSON has it; and the columns of its table, each with the text of its cells.
_LISTS = {"campaigns": _campaigns, "workloads": _workloads, "published": _published, "metrics": _metrics}
_COLUMNS = {
    "campaigns": {"campaign": "{name}", "what it does": "{title}"},
    "workloads": {"workload": "{name}", "what it measures": "{title}"},
    "published": {"system": "{id}", "name": "{name}, {site}", "year": "{year}", "values": "{values}"},
    "metrics": {"metric": "{name}", "unit": "{unit}", "better": "{better}", "title": "{title}"},
}
