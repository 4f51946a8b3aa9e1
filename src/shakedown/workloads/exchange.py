"""Files exchanged with another system and back: by rsync, scp and sftp over ssh, or by rsync and cp between two paths.

A tree of difficult files (from empty to 8 MiB; names with spaces, newlines, UTF-8 and signs that shells read; modes, times,
symbolic links, holes) is sent, its SHA-256 sums are taken on the far side, and it is fetched into another folder, where
content, names, modes, times, links and holes are compared as far as the tool promises to keep them. Then a large file of
random bytes goes there and back several times: its bytes over the time of the whole command are the bandwidth, start of the
connection included and the page caches of both sides not emptied. A sum that differs fails the run.

``target`` is ``[user@]host:folder`` or a folder of this host. ssh is used as the user has set it up, with keys or an agent;
nothing asks for a password, and none is taken. Both sides are cleaned up, also when the run is cut short.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ..errors import BadInput, unknown
from ..records import Host, Machine, Params
from .common import lists
from .common.table import table_of

TABLE = table_of(__file__)

TOOLS = ("rsync", "scp", "sftp", "cp")
#: Signs that no remote shell reads: the folder's name goes through one on its way.
_PLAIN = re.compile(r"[A-Za-z0-9_./~+@%=,-]*")
_LOGIN = re.compile(
    r"(?:[A-Za-z0-9_][A-Za-z0-9_.-]*@)?(?:[A-Za-z0-9_][A-Za-z0-9_.-]*|\[[0-9A-Fa-f:.]+(?:%[A-Za-z0-9_]+)?\])"
)
_HINT = "write user@host:folder, host:folder, or the absolute path of a folder of this host"


class Target(NamedTuple):
    """The other end. ``host`` is empty for a folder of this host."""

    user: str
    host: str
    path: str

    @property
    def login(self) -> str:
        """As ssh wants it: the brackets of an IPv6 address are scp's and rsync's."""
        host = self.host.strip("[]")
        return f"{self.user}@{host}" if self.user else host

    @property
    def place(self) -> str:
        return f"{self.user}@{self.host}" if self.user else self.host


def is_plain(path: str) -> bool:
    """Whether a path can go through a remote shell as it is."""
    return bool(_PLAIN.fullmatch(path)) and not path.startswith("-")


def parse_target(text: str) -> Target:
    """A target from its words. Raises BadInput for what ssh, or a remote shell, could take for something else."""
    head, colon, tail = _parted(text)
    if not colon:
        if not text.startswith("/") or any(ord(sign) < 32 for sign in text):
            raise BadInput(f"{text!r} is not a valid target", hint=_HINT)
        return Target("", "", text)
    if not _LOGIN.fullmatch(head):
        raise BadInput(f"{text!r}: {head!r} is not of the form USER@HOST", hint=_HINT)
    if not is_plain(tail):
        raise BadInput(
            f"{text!r}: the folder has signs that a remote shell would read", hint="letters, digits, / . _ - ~"
        )
    user, _, host = head.rpartition("@")
    return Target(user, host, tail)


def _parted(text: str) -> tuple[str, str, str]:
    """Host and folder: the first colon outside of brackets, before any slash."""
    end = text.find("]") + 1 if "[" in text.partition("/")[0] else 0
    colon = text.find(":", end)
    slash = text.find("/")
    if colon < 0 or (0 <= slash < colon):
        return text, "", ""
    return text[:colon], ":", text[colon + 1 :]


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    tools = lists.words(params["tools"])
    for word in tools:
        if word not in (*TOOLS, "auto"):
            raise unknown("tool of exchange", word, (*TOOLS, "auto"))
    if not params["target"]:
        raise BadInput("exchange.target is empty: with which system are files exchanged?", hint=_HINT)
    target = parse_target(str(params["target"]))
    if not tools or "auto" in tools:
        tools = ("rsync", "scp", "sftp") if target.host else ("rsync", "cp")
    return ({**params, "tools": ",".join(tools)},)


def _estimate_s(params: Params, host: Host) -> float:
    """At 50 MB/s, with two seconds for each journey of the tree."""
    tools = len(str(params["tools"]).split(","))
    return 3.0 + tools * (6.0 + 2 * int(params["samples"]) * int(params["large"]) / 50e6)


def _label(params: Params) -> str:
    return f"exchange with {params['target']} by {str(params['tools']).replace(',', ', ')}"


WORKLOAD = TABLE.workload(
    title="Files exchanged with another system",
    network=True,
    estimate_s=_estimate_s,
    resolve=_resolve,
    label=_label,
)
