"""What can be run: one module per workload with one constant ``WORKLOAD``, and beside it a table, ``NAME.toml``.

The table says which parameters a workload takes and which metrics it gives, a line each, and has transcripts with what must
be read from them (``common/table.py``). The module says how parameters are resolved against a machine, how the workload is
started, and how what it prints becomes cases (samples, work, residual). All of it is pure: nothing here runs anything. A
workload with a program of its own prints native events (``native/README.md``) and needs no parser; one around an existing
program brings ``parse``. Each module's docstring is its entry in the methods page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Literal

import msgspec

from .. import plugins
from ..errors import BadInput, nearest
from ..launchers import Command
from ..records import Case, Host, Machine, Metric, Notice, Params, Value


class Param(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One parameter of a workload. ``default`` may be a word that ``resolve`` replaces ("auto", "all")."""

    kind: Literal["integer", "real", "word", "flag", "list"]  # list: words or numbers separated by commas, kept as text
    default: Value
    help: str
    unit: str = ""
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    #: Words that a number may also be: "auto", "all"; of a word, some of those that it may be.
    words: tuple[str, ...] = ()
    #: What the items of a list may be; "all", and of two "both", is all of them (`Table.selection`).
    items: tuple[str, ...] = ()
    #: What its program calls it; None: by its name, with - for _; empty: the program has none of that meaning.
    option: str | None = None


class Sample(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A real transcript and what it must parse to: the contract tests run over these.

    ``expect`` maps a metric's name, with parameters in brackets where needed (``stream.triad.bandwidth[threads=2]``),
    to its median value in SI units.
    """

    recording: str  # file below tests/recordings
    expect: dict[str, float]
    source: str = ""


Parsed = tuple[Case, ...]


class Stated(msgspec.Struct, frozen=True, kw_only=True):
    """Where and when something was measured, as its log states it; a time without a zone is the local one of that place."""

    host: str = ""
    begin: datetime | None = None
    end: datetime | None = None


class Workload(msgspec.Struct, frozen=True, kw_only=True):
    """One workload. The functions are pure; ``machine`` is what was discovered."""

    name: str
    title: str
    metrics: Sequence[
        Metric
    ]  # those of its table, which is read when they are asked for, or plain ones; parameters too
    params: Mapping[str, Param]
    command: Callable[[Params, Host], Command]
    """Parameters (resolved) and the host -> what to start. Raises Unavailable where the program is not there."""
    estimate_s: Callable[[Params, Host], float]
    """A first guess of the duration in seconds; the store's own history replaces it when there is one."""
    resolve: Callable[[Params, Machine], tuple[Params, ...]] = lambda params, machine: (params,)
    """Replace words ("auto", "all") by numbers; one request can become several runs (one for each library found).

    Raises BadInput for what cannot be (an array larger than memory), Unavailable for what this machine lacks."""
    parse: Callable[[str, Params], Parsed] | None = None
    """Standard output -> cases, for an existing program. None: the program prints native events.

    Raises ``Garbage`` where the text is not what the program prints when it works.
    """
    notices: Callable[[str, Params], tuple[Notice, ...]] | None = None
    """What a parsed text says besides its figures: parts that were left out, doubts of the program's own."""
    totals: Callable[[Sequence[Case]], tuple[tuple[Case, ...], tuple[Notice, ...]]] | None = None
    """Cases that follow from all of a run's, such as a score over its phases, and what is to be said of them."""
    stated: Callable[[str], Stated] | None = None
    """The host and the times that a log of an existing program states, for logs that users have."""
    label: Callable[[Params], str] | None = None
    marks: tuple[str, ...] | Callable[[Params], tuple[str, ...]] = ()
    """Parameters of the run that join those of its cases, where the program does not print them: two libraries apart. A
    function where it hangs on the others which of them matter."""
    samples: Sequence[Sample] = ()
    network: bool = False
    """Whether what it measures or shows is a network between hosts: within one host its figures are those of the kernel, and
    an acceptance takes no fewer than two hosts for it."""


class Garbage(ValueError):
    """The output is not what the program prints when it works; the message says what was missed, and where."""


def names() -> tuple[str, ...]:
    """The names of all workloads."""
    return plugins.names("workloads")


def get(name: str) -> Workload:
    """The workload of that name. Raises BadInput with the nearest name."""
    found = plugins.load("workloads", "WORKLOAD", name)
    assert isinstance(found, Workload)
    return found


def check_params(workload: Workload, given: Mapping[str, Value], *, where: str = "") -> Params:
    """``given`` with the defaults filled in, each checked for name, type, range and choice. Raises BadInput."""
    for name in given:
        if name not in workload.params:
            near = nearest(name, workload.params)
            hint = f"did you mean {near!r}? " if near else ""
            raise BadInput(
                f"workload {workload.name!r} has no parameter {name!r}",
                where=where,
                hint=f"{hint}known: {', '.join(sorted(workload.params))}",
            )
    return {
        name: _checked(workload.name, name, param, given.get(name, param.default), where)
        for name, param in workload.params.items()
    }


def _checked(workload: str, name: str, param: Param, value: Value, where: str) -> Value:
    def refuse(why: str) -> BadInput:
        return BadInput(f"{workload}.{name} = {value!r} {why}", where=where, hint=param.help)

    if isinstance(value, str) and value in param.words:
        return value
    match param.kind:
        case "flag":
            if not isinstance(value, bool):
                raise refuse("is not true or false")
        case "word" | "list":
            if isinstance(value, bool) or (param.kind == "word" and not isinstance(value, str)):
                raise refuse("is not a word")
            if value == "" and param.kind == "word" and param.default != "" and "" not in param.choices:
                raise refuse("is empty")
            if param.choices and str(value) not in param.choices:
                near = nearest(str(value), param.choices)
                raise refuse(f"is none of {', '.join(param.choices)}" + (f"; did you mean {near!r}?" if near else ""))
            return str(value)
        case "integer" | "real":
            if isinstance(value, bool) or not isinstance(value, int if param.kind == "integer" else (int, float)):
                words = f" or one of {', '.join(param.words)}" if param.words else ""
                raise refuse(f"is not {'a whole' if param.kind == 'integer' else 'a'} number{words}")
            assert isinstance(value, (int, float))
            if not -(2**63) <= value < 2**63:
                raise refuse("is not a number of 64 bits")
            if param.low is not None and value < param.low:
                raise refuse(f"is below {param.low:g} {param.unit}".rstrip())
            if param.high is not None and value > param.high:
                raise refuse(f"is above {param.high:g} {param.unit}".rstrip())
    return value
