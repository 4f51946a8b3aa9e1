"""What `run` and `plan` are asked for: a campaign by its name or file, or one workload with its parameters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import BadInput, nearest

if TYPE_CHECKING:
    from ..records import Value
    from ..workloads import Param, Workload

Settings = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME=VALUE]...",
        help="Of one workload: its parameters (`shakedown list workloads NAME` shows them; values separated by commas are "
        "runs of their own), nodes=each, nodes=4, repeat=3, limit=20min.",
        show_default=False,
    ),
]
Mpi = Annotated[
    str | None,
    typer.Option(
        "--mpi",
        metavar="all|NAME,...",
        help="With each of these MPIs in turn, six launches each unless repeat says otherwise: all that are found, or "
        "names (openmpi, mpich, intel). See docs/messages.md.",
        show_default=False,
    ),
]
Under = Annotated[
    list[str] | None,
    typer.Option(
        "--under",
        metavar="KIND[,KIND]",
        help="Under each of these layers: native, control, namespaces, bubblewrap, charliecloud:IMAGE, apptainer:IMAGE, "
        "podman:IMAGE, NAME=COMMAND; may be given again. With native each of the others is launched in pairs with it. See "
        "docs/overhead.md.",
        show_default=False,
    ),
]
#: Keys of a run that are no parameters of its workload.
_OF_RUN = ("nodes", "repeat", "limit")
_COUNT = re.compile(r"[0-9]{1,9}")


def campaign(
    name: str, settings: Sequence[str] = (), mpi: str | None = None, under: Sequence[str] | None = None
) -> tuple[str, str]:
    """The TOML text of the requested campaign, with the MPIs and the layers that were named, and what to call it in
    messages. Raises BadInput."""
    text, where = _campaign(name, settings)
    text = text if mpi is None else _with_mpis(text, where, mpi)
    return (with_layers(text, where, under) if under else text), where


def with_layers(text: str, where: str, under: Sequence[str]) -> str:
    """A campaign's text with the layers that its runs are to be under. Raises BadInput."""
    from .. import campaign as campaigns
    from ..layers import asked
    from ..strict import to_toml

    if campaigns.parse(text, where).under:
        raise BadInput(
            "the campaign names layers itself", where=where, hint="change `under` there, or leave --under out"
        )
    layers = asked.read_all(under, where="--under")
    if not layers:
        raise BadInput(f"--under {' '.join(under)!r} names none", where=where, hint="--under native,namespaces")
    return f"under = {to_toml([one.text for one in layers])}\n{text}"


def _with_mpis(text: str, where: str, asked: str) -> str:
    from .. import campaign as campaigns
    from .. import workloads
    from ..strict import to_toml

    read = campaigns.parse(text, where)
    if read.mpi:
        raise BadInput("the campaign names its MPIs itself", where=where, hint="change `mpi` there, or leave --mpi out")
    words = [word.strip() for word in asked.split(",") if word.strip()]
    if not words:
        raise BadInput(f"--mpi {asked!r} names none", where=where, hint="--mpi all, or --mpi openmpi,mpich")
    if not any("ranks" in workloads.get(entry.workload).params for entry in read.runs):
        raise BadInput("nothing of it has ranks, so that no MPI matters", where=where, hint="leave --mpi out")
    return f"mpi = {to_toml(words)}\n{text}"


def _campaign(name: str, settings: Sequence[str]) -> tuple[str, str]:
    from .. import campaign as campaigns
    from .. import workloads

    known = campaigns.names()
    if name in known or Path(name).suffix == ".toml" or name not in workloads.names():
        if name not in known and Path(name).suffix != ".toml" and not Path(name).exists():
            near = nearest(name, (*known, *workloads.names()))
            meant = f"did you mean {near!r}? " if near else ""
            hint = f"{meant}campaigns: {', '.join(known)}; `shakedown list workloads` names what runs alone"
            raise BadInput(f"unknown campaign {name!r}, and no workload of that name", hint=hint)
        if settings:
            raise BadInput(
                f"{settings[0]!r} is for a workload, and {name!r} is a campaign",
                hint="parameters of a campaign's runs stand in its TOML file: docs/campaigns.md",
            )
        return campaigns.text_of(name)
    return of_workload(workloads.get(name), settings), name


def of_workload(workload: Workload, settings: Sequence[str]) -> str:
    """The campaign that runs one workload. Raises BadInput for an unknown parameter."""
    from ..strict import to_toml

    params: dict[str, Value] = {}
    sweep: dict[str, list[Value]] = {}
    of_run: dict[str, str] = {}
    for setting in settings:
        name, sign, text = setting.partition("=")
        if not sign:
            raise BadInput(
                f"{setting!r} is not of the form NAME=VALUE", where=workload.name, hint="write it as n=20000"
            )
        if name in _OF_RUN and name not in workload.params:
            of_run[name] = text
            continue
        param = workload.params.get(name)
        if param is None:
            near = nearest(name, workload.params)
            meant = f"did you mean {near!r}? " if near else ""
            hint = f"{meant}`shakedown list workloads {workload.name}` shows them"
            raise BadInput(f"workload {workload.name!r} has no parameter {name!r}", hint=hint)
        parts = text.split(",") if _sweeps(param) else [text]
        if len(parts) > 1:
            sweep[name] = [value(param, part.strip()) for part in parts]
        else:
            params[name] = value(param, text)
    lines = [f"name = {to_toml(workload.name)}", f"title = {to_toml(workload.title)}"]
    lines += ["", "[[run]]", f"workload = {to_toml(workload.name)}", "optional = false", f"params = {to_toml(params)}"]
    lines += [f"sweep = {to_toml(sweep)}"] if sweep else []
    if "nodes" in of_run:
        lines.append(
            f"nodes = {to_toml(int(of_run['nodes']) if _COUNT.fullmatch(of_run['nodes']) else of_run['nodes'])}"
        )
    if "repeat" in of_run:
        times = _times(of_run["repeat"])
        lines.append(f"repeat = {{ min = {times}, max = {times} }}")
    if "limit" in of_run:
        lines.append(f"limit = {to_toml(of_run['limit'])}")
    return "\n".join([*lines, ""])


def _times(text: str) -> int:
    if not _COUNT.fullmatch(text) or int(text) < 1:
        raise BadInput(f"repeat={text} is not a valid number of times", hint="write repeat=3")
    return int(text)


def _sweeps(param: Param) -> bool:
    """Whether values separated by commas are runs of their own; a list is one value with commas in it."""
    return param.kind in ("integer", "real", "flag") or (param.kind == "word" and bool(param.choices or param.words))


def value(param: Param, text: str) -> Value:
    """What was typed, as the parameter's kind; what does not fit stays text, which is then refused with its reason."""
    if text in param.words:
        return text
    match param.kind:
        case "flag":
            return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get(text, text)
        case "integer" | "real":
            for convert in (int, float):
                try:
                    return convert(text)
                except ValueError:
                    continue
    return text
