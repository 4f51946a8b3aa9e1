"""What a cluster needs of this machine: programs, by the Debian package that brings each, and namespaces."""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Iterable

from ..errors import BadInput, Unavailable
from ..hosts.access import LocalHost
from . import namespaces
from .settings import Engine, Layout

_ALWAYS = {"unshare": "util-linux", "nsenter": "util-linux", "setsid": "util-linux", "env": "coreutils"}
_NETWORK = {"ip": "iproute2", "tc": "iproute2"}
_SSH = {"sshd": "openssh-server", "ssh-keygen": "openssh-client", "ssh": "openssh-client"}
_ENGINES: dict[str, dict[str, str]] = {
    "slurm": {
        "munged": "munge",
        "mariadbd": "mariadb-server",
        "mariadb-install-db": "mariadb-server",
        "mariadb": "mariadb-client",
        "slurmctld": "slurmctld",
        "slurmd": "slurmd",
        "slurmdbd": "slurmdbd",
        "sinfo": "slurm-client",
    },
    "gridengine": {
        "sge_qmaster": "gridengine-master",
        "sge_execd": "gridengine-exec",
        "qsub": "gridengine-client",
    },
}
#: Plug-ins that a Slurm without them starts without, and then has no accounting.
_PLUGINS = {"accounting_storage_mysql.so": "slurm-wlm-mysql-plugin", "auth_munge.so": "slurm-wlm-basic-plugins"}
_PLUGIN_FOLDERS = (
    "/usr/lib/*/slurm*",
    "/usr/lib64/slurm",
    "/usr/lib/slurm",
    "/usr/local/lib/slurm",
    "/opt/slurm/lib*/slurm",
)


def missing(engines: Iterable[Engine], *, network: bool, ssh: bool = False) -> dict[str, str]:
    """What is not on this machine, and the package of each."""
    wanted = dict(_ALWAYS) | (_NETWORK if network else {}) | (_SSH if ssh else {})
    for engine in engines:
        wanted |= _ENGINES[engine]
    path = namespaces.search_path()
    found = {name: package for name, package in wanted.items() if shutil.which(name, path=path) is None}
    if "slurm" in engines and "slurmctld" not in found:
        for name, package in _PLUGINS.items():
            if not any(glob.glob(f"{folder}/{name}") for folder in _PLUGIN_FOLDERS):
                found[name] = package
    return found


def check(engines: Iterable[Engine], *, network: bool = True, ssh: bool = False) -> None:
    """Raise Unavailable, naming every package, where something is missing."""
    if absent := missing(engines, network=network, ssh=ssh):
        raise Unavailable(
            f"not on this machine: {', '.join(sorted(absent))}",
            hint="sudo apt-get install --no-install-recommends " + " ".join(sorted(set(absent.values()))),
        )


def layout(asked: Layout | None, engines: Iterable[Engine]) -> tuple[Layout, str]:
    """The fullest layout that this machine allows, and why no fuller one; or the one that was asked for. Raises
    Unavailable where that cannot be made."""
    if asked == "plain":
        found, reason = "plain", "plain was requested"
    elif asked is not None:
        found, reason = asked, _refusal(asked)
        if reason:
            raise Unavailable(f"layout {asked}: {reason}", hint="leave --layout out to have what this machine allows")
    else:
        found, reason = _fullest()
    if found == "plain" and "gridengine" in engines:
        raise Unavailable(
            f"Grid Engine needs hosts with names and addresses of their own, and here: {reason}",
            hint="as root, or where an ordinary user may make user namespaces",
        )
    return found, reason  # type: ignore[return-value]


def _fullest() -> tuple[Layout, str]:
    first: Layout = "root" if os.geteuid() == 0 else "user"
    reason = _refusal(first)
    if not reason:
        return first, "" if first == "root" else "made by an ordinary user: its only user is that user"
    return "plain", f"no namespaces can be made here ({reason}): all nodes share this host's name, network and disks"


def _refusal(layout: Layout) -> str:
    if layout == "root" and os.geteuid() != 0:
        return "only root makes it"
    return namespaces.probe(layout)


def versions(engines: Iterable[Engine]) -> dict[str, str]:
    """Engine -> its version, as it says itself."""
    found: dict[str, str] = {}
    env = {"PATH": namespaces.search_path()}
    if "slurm" in engines:
        found["slurm"] = LocalHost().run(("slurmctld", "-V"), env=env).out.strip()
        found["mariadb"] = (
            "mariadb "
            + LocalHost().run(("mariadbd", "--version"), env=env).out.strip().partition("Ver ")[2].partition(" for ")[0]
        )
    if "gridengine" in engines:
        found["gridengine"] = (LocalHost().run(("qstat", "-help"), env=env).out.splitlines() or [""])[0].strip()
    return {name: text for name, text in found.items() if text}


def engine(word: str) -> Engine:
    """The engine of that name. Raises BadInput."""
    if word in ("slurm", "gridengine"):
        return word  # type: ignore[return-value]
    raise BadInput(f"{word!r} is not an engine that can be rehearsed", hint="slurm, gridengine")
