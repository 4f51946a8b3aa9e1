"""ssh to hosts that no batch engine gave, one at a time: for a harness on each, not for ranks of MPI.

ssh asks nothing: a host that wants a password, or whose key is not known, is an error at once and not a question that no
one hears. A host that is down is given up after ``CONNECT_S``, one that dies in the middle after a minute of silence.
What the harness needs of this environment goes along in the command, since a server passes on little else; every word of
it is quoted, for there it meets the user's login shell.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from ..errors import BadInput
from . import Launcher, Start, Started

#: Until a host has taken the call.
CONNECT_S = 10
_SILENCE_S, _SILENCES = 15, 4
_QUIET = Path(__file__).with_name("quiet-ssh")
_OPTIONS = ("-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECT_S}")
_HELD = (
    *_OPTIONS,
    *("-T", "-x", "-o", f"ServerAliveInterval={_SILENCE_S}", "-o", f"ServerAliveCountMax={_SILENCES}"),
)
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:%@-]*")


def agent(script: Path = _QUIET) -> str:
    """ssh for an Open MPI that reaches hosts by itself, in one text that it splits at the blanks: a script that keeps what
    a login prints out of the program's output. Where the script's own path has blanks: ssh as it is."""
    return " ".join(("ssh", *_OPTIONS)) if " " in str(script) else f"/bin/sh {script}"


def check_name(name: str) -> str:
    """The name of a host; raises BadInput for one that ssh would take for an option, or that is none."""
    if not _NAME.fullmatch(name):
        raise BadInput(
            f"{name!r} is not a valid host name", hint="letters, digits and . - _ : %, as in node1 or 10.0.0.7"
        )
    return name


def _refusal(start: Start) -> str:
    if not start.whole:
        return "it starts no ranks of MPI"
    if not start.spread:
        return "it runs on this host alone"
    if start.allocation is None or start.allocation.engine:
        return "a batch engine starts what runs in its allocations"
    return ""


def _start(start: Start) -> Started:
    name = check_name(start.hosts[0])
    words = ("exec", "env", *(f"{key}={value}" for key, value in sorted(start.inherited.items())), *start.argv)
    remote = " ".join((words[0], *map(shlex.quote, words[1:])))
    if start.rsh:
        return (*shlex.split(start.rsh), name, remote), {}
    return ("ssh", *_HELD, "--", name, remote), {}


LAUNCHER = Launcher(
    name="ssh", title="ssh, host by host", order=30, refusal=_refusal, start=_start, fed=True, single=True
)
