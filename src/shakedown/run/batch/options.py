"""What a person asks of a batch engine for a campaign: one frozen record, from the command line to the job and back.

The fields are declared here and in ``schedulers.common.options``, each with its option; this module alone reads them from a
command line and writes them as one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from ... import campaign
from ...errors import BadInput
from ...hosts import hostlist
from ...schedulers.common.options import JobOptions, Option, declared


class BatchOptions(JobOptions, frozen=True, kw_only=True):
    """What is asked of which engine. It lies beside each job, in jobs/N/asked.json."""

    engine: Annotated[
        str,
        Option(
            "Submit one job to this batch engine and run in its allocation: slurm, gridengine, pbs, torque, lsf, flux.",
            name="--on",
        ),
    ]
    attempts: Annotated[
        int,
        Option(
            "How often a job that was cut short (time limit, failed node) is submitted again. Default: 1.", "number"
        ),
    ] = 1
    shape: str = ""  # the kind of node, where the campaign has several
    retry_failed: bool = False  # measure again what failed in an earlier job


#: From a command line to a field, by the kind of the option: (what was given, the option's name) -> value.
_READ: dict[str, Callable[[Any, str], Any]] = {
    "word": lambda given, name: given,
    "number": lambda given, name: given,
    "duration": campaign.seconds,
    "hosts": lambda given, name: hostlist.expand(given),
    "words": lambda given, name: tuple(given),
}
#: And back: (the option's name, value) -> words.
_WRITE: dict[str, Callable[[str, Any], list[str]]] = {
    "word": lambda name, value: [name, value],
    "number": lambda name, value: [name, str(value)],
    "duration": lambda name, value: [name, f"{value:.10g} s"],
    "hosts": lambda name, value: [name, hostlist.fold(value)],
    "words": lambda name, value: [f"{name}={word}" for word in value],
}


def read(given: Mapping[str, Any]) -> BatchOptions | None:
    """What is asked of an engine, from what a command line gave (field -> value; None and empty: not given); None where the
    campaign runs here. Raises BadInput, also for options that need --on."""
    options = declared(BatchOptions)
    said = {field: value for field, value in given.items() if value or (field == "attempts" and value is not None)}
    if not said.get("engine"):
        if wrong := [options[field].name for field in options if field in said and field != "hosts"]:
            raise BadInput(
                f"{', '.join(wrong)} belong{'s' * (len(wrong) == 1)} to --on", hint="name the engine: --on slurm"
            )
        return None
    values = {field: _READ[options[field].kind](value, options[field].name) for field, value in said.items()}
    nodes, hosts = values.get("nodes", 0), values.get("hosts", ())
    if nodes < 0 or (nodes and hosts and nodes != len(hosts)):
        raise BadInput(
            f"--nodes {nodes}" + (f" and --hosts with {len(hosts)} names" if hosts else ""),
            hint="give how many nodes, or which",
        )
    if values.get("attempts", 1) < 1:
        raise BadInput(f"--attempts {values['attempts']}", hint="1 submits once")
    return BatchOptions(**{**values, "nodes": nodes or len(hosts) or 1})


def words(options: BatchOptions) -> tuple[str, ...]:
    """The options of a command line that ask for the same."""
    defaults = BatchOptions(engine=options.engine)
    found = ["--on", options.engine]
    for field, option in declared(BatchOptions).items():
        value = getattr(options, field)
        is_said = value != getattr(defaults, field) if field != "nodes" else not options.hosts
        if is_said:
            found += _WRITE[option.kind](option.name, value)
    return tuple(found)
