"""Routing daemons of nodes, as Debian brings them."""

from __future__ import annotations

import shutil
from pathlib import Path

from ...errors import Unavailable
from .scenario import Routing

_PACKAGES = {"babeld": "babeld"}
#: Where daemons lie that an ordinary user's PATH may leave out.
_PATH = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"


def check(routing: Routing) -> None:
    """Raise Unavailable where the daemon is not installed."""
    if routing != "none" and shutil.which(routing, path=_PATH) is None:
        raise Unavailable(f"{routing} is not installed", hint=f"sudo apt-get install {_PACKAGES[routing]}")


def argv(routing: Routing, directory: Path, node: int) -> tuple[str, ...]:
    """The words that start a node's daemon; empty: there is none. babeld (RFC 8966) takes radio0 for a radio: split horizon
    off, costs by loss; it announces the node's own addresses, those of one host each."""
    if routing == "none":
        return ()
    words = (shutil.which(routing, path=_PATH) or routing, "-I", f"{directory}/run/babeld.{node}.pid")
    rules = (
        "interface radio0 type wireless hello-interval 2",
        "redistribute local if radio0",
        "redistribute local deny",
    )
    return (*words, "-S", "", *(word for rule in rules for word in ("-C", rule)), "radio0")
