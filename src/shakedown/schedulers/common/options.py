"""What a person may ask of a batch engine for a job: one field for each option, with how it is asked for beside it.

A new option is one field here. The options of `shakedown run --on` and `shakedown accept run --on`, the command that an
unfinished job says next, what a campaign may say for a kind of node, the job's record and the job's script follow from it.
An engine that has such a thing names the field and its own word for it in its own file (``WORDS``); one that has not
refuses it, and says which have.
"""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from ...records import Record


class Option(NamedTuple):
    """How a field is asked for on a command line."""

    help: str
    kind: Literal["word", "number", "duration", "hosts", "words"] = "word"  # "words": may be given again
    name: str = ""  # where it is not the field's, with dashes


class NodeOptions(Record, frozen=True, kw_only=True):
    """What may differ from one kind of node to the next. Empty: the engine's default."""

    partition: Annotated[str, Option("The partition or queue.")] = ""
    account: Annotated[str, Option("The account that is charged.")] = ""
    qos: Annotated[str, Option("The quality of service.")] = ""
    constraint: Annotated[str, Option("Features that the nodes must have.")] = ""
    reservation: Annotated[str, Option("The reservation that the nodes are taken from.")] = ""
    gres: Annotated[str, Option("Generic resources of each node: gpu:4.")] = ""
    exclude: Annotated[str, Option("Hosts that the job must not get, as node[1-4] or a,b.")] = ""


class JobOptions(NodeOptions, frozen=True, kw_only=True):
    """What is asked of an engine for a job of whole nodes. Empty and None: the engine's default. The names by which two of
    them are stored are those of version 0.1.0."""

    nodes: Annotated[int, Option("How many nodes the job gets.", "number")] = 1
    hosts: Annotated[
        tuple[str, ...],
        Option("These hosts, as node[1-4] or a,b: with --on the nodes of the job; without, reached by ssh.", "hosts"),
    ] = ()
    parallel_environment: Annotated[str, Option("Grid Engine's parallel environment.")] = ""
    slots: Annotated[
        int | None, Option("Slots of each node, where the engine counts slots: Grid Engine; CPUs for PBS.", "number")
    ] = None
    time_limit_s: Annotated[
        float | None,
        Option(
            "The job's time limit, as in '2 h'. Default: three times the estimate and ten minutes.",
            "duration",
            "--job-limit",
        ),
    ] = msgspec.field(default=None, name="limit_s")
    after: Annotated[str, Option("The ID of a job that must have ended, however it did, before this one starts.")] = ""
    extra: Annotated[
        tuple[str, ...],
        Option("A further word for the engine's submit command, as the site wants it.", "words", "--engine-option"),
    ] = msgspec.field(default=(), name="options")


#: What every engine has, and is told in lines of its own.
EVERYWHERE = ("nodes", "hosts", "time_limit_s", "extra")


def declared(record: type[Record]) -> dict[str, Option]:
    """The options of a record: field -> how it is asked for, in the order of the fields."""
    hints = get_type_hints(record, include_extras=True)
    found = {}
    for field in record.__struct_fields__:
        hint = hints[field]
        option = next((one for one in get_args(hint)[1:] if isinstance(one, Option)), None)
        if get_origin(hint) is Annotated and option is not None:
            found[field] = option._replace(name=option.name or f"--{field.replace('_', '-')}")
    return found
