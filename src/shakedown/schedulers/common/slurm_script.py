"""The batch script of a request for Slurm. Pure."""

from __future__ import annotations

from ...errors import BadInput
from .. import Component, Request
from .words import HOST_LIST, Word, body, checked, label, minutes, place, refuse_unknown, told

#: What a part of a job has, the whole job beyond that, and what tells of nodes.
OF_PART = {field: Word(f"--{field}={{}}", r"[\w.,@/+-]+") for field in ("account", "qos", "reservation")}
OF_JOB = {**OF_PART, "slots": Word("--mincpus={}", r"\d+"), "after": Word("--dependency=afterany:{}", r"\d+(_\d+)?")}
OF_NODES = {
    "partition": Word("--partition={}", r"[\w.,-]+"),
    "constraint": Word("--constraint={}", r"[\w.,&|*()\[\]!:=-]+"),
    "gres": Word("--gres={}", r"[\w.,:/=-]+"),
    "exclude": Word("--exclude={}", HOST_LIST),
}


def line(*words: str) -> str:
    """One line of options. sbatch takes both quotes, a backslash before any letter, and # for a comment."""
    escaped = (word.replace("\\", "\\\\").replace('"', '\\"') for word in words)
    return " ".join(["#SBATCH", *(f'"{word}"' for word in escaped)])


def option(name: str, value: str = "") -> str:
    """The line of one long option."""
    return line(f"--{name}={value}" if value else f"--{name}")


def _nodes(of: Request | Component) -> list[str]:
    """The options that one component of a job has for itself."""
    if of.nodes < 1 or (of.hosts and len(of.hosts) != of.nodes):
        raise BadInput(f"{of.nodes} nodes and {len(of.hosts)} named hosts", hint="as many nodes as there are hosts")
    lines = [option("nodes", str(of.nodes))]
    if of.hosts:
        lines.append(option("nodelist", ",".join(checked("host", host) for host in of.hosts)))
    lines += map(line, told(of, OF_NODES))
    return lines


def script(request: Request) -> str:
    """The batch script. Raises BadInput."""
    refuse_unknown(request, "Slurm", (*OF_JOB, *OF_NODES, "components"))
    whole = [option("exclusive"), option("mem", "0")] if request.exclusive else []
    folder = place(request.folder)
    output = folder.replace("%", "%%")
    lines = [
        "#!/bin/bash",
        option("job-name", label(request.name)),
        option("chdir", folder),
        option("output", f"{output}/stdout"),
        option("error", f"{output}/stderr"),
        option("open-mode", "append"),
        option("requeue" if request.requeue else "no-requeue"),
    ]
    if request.time_limit_s is not None:
        lines.append(option("time", str(minutes(request.time_limit_s))))
    lines += [*map(line, told(request, OF_JOB)), *_nodes(request), *whole]
    for word in request.extra:
        if not word.isprintable():
            raise BadInput(
                f"the argument {word!r} for sbatch holds a control character", hint="one argument, as --licenses=foo"
            )
    if request.extra:
        lines.append(line(*request.extra))
    for component in request.components:
        lines += ["#SBATCH hetjob", *map(line, told(component, OF_PART)), *_nodes(component), *whole]
    return "\n".join([*lines, "", body(request.folder, request.env, request.argv)])


def overriding(request: Request) -> tuple[str, ...]:
    """The variables that sbatch would obey before the script's own lines."""
    given = {
        **{f"SBATCH_{field.upper()}": getattr(request, field) for field in (*OF_JOB, *OF_NODES)},
        "SBATCH_TIMELIMIT": request.time_limit_s,
        "SBATCH_EXCLUSIVE": request.exclusive,
        "SBATCH_MEM_PER_NODE": request.exclusive,
        "SBATCH_MEM_PER_CPU": request.exclusive,
        "SBATCH_MEM_PER_GPU": request.exclusive,
    }
    always = (
        "SBATCH_JOB_NAME",
        "SBATCH_OPEN_MODE",
        "SBATCH_REQUEUE",
        "SBATCH_NO_REQUEUE",
        "SBATCH_ARRAY_INX",
        "SBATCH_OUTPUT",
        "SBATCH_ERROR",
        "SBATCH_WAIT",
    )
    return (*always, *(name for name, value in given.items() if value))
