"""Commands in the cluster: the words that start one on a host of it, as one of its users, with a clean environment."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..errors import BadInput, CannotMeasure, unknown
from ..hosts import process
from . import files, namespaces
from .settings import CONTROLLER, USERS, Description, node_names

#: What a command inherits of the caller's environment: how to show and find things, nothing of a batch engine around it.
_KEPT = ("LANG", "LC_ALL", "TERM", "COLORTERM", "VIRTUAL_ENV", "SHAKEDOWN_NATIVE", "PYTHONPATH")
_GE_PORTS = {"SGE_QMASTER_PORT": "6444", "SGE_EXECD_PORT": "6445"}


def host_pid(directory: Path, description: Description, host: str) -> int:
    """Process 1 of a host as this machine counts; 0 where the host is off. In layout plain there is none: 0."""
    if description.layout == "plain":
        return 0
    if host == CONTROLLER:
        pid = description.init_pid
        return pid if pid and process.alive(pid, description.init_start) else 0
    return namespaces.process_1(directory, host)


def check_host(description: Description, host: str) -> None:
    """Raise BadInput for a host that the cluster has not."""
    known = (CONTROLLER, *node_names(description.settings.nodes))
    if host not in known:
        raise unknown("node", host, known)


def environment(directory: Path, description: Description, user: str = "") -> dict[str, str]:
    """The variables of every command in the cluster."""
    found = {name: os.environ[name] for name in _KEPT if name in os.environ}
    found["PATH"] = namespaces.search_path()
    found["HOME"], found["USER"] = home(directory, description, user)
    found["LOGNAME"], found["SHELL"] = found["USER"], "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh"
    found["SHAKEDOWN_CLUSTER"] = str(directory)
    if "slurm" in description.settings.engines:
        found["SLURM_CONF"] = str(directory / "etc" / "slurm.conf")
    if "gridengine" in description.settings.engines:
        found |= {"SGE_ROOT": str(directory / "ge"), "SGE_CELL": "default", **_GE_PORTS}
    if description.layout == "plain":
        # All nodes have one name here, so Open MPI takes ranks on two of them for neighbours in shared memory and crashes.
        found["OMPI_MCA_btl"] = "self,tcp"
    else:
        found["TMPDIR"] = str(directory / "scratch")
    if found["USER"] == "root":
        found["OMPI_ALLOW_RUN_AS_ROOT"] = found["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    found["OMPI_MCA_mpi_yield_when_idle"] = "1"  # more ranks than this host has cores must not spin each other out
    return found


def home(directory: Path, description: Description, user: str) -> tuple[str, str]:
    """The home folder and the name of a user of the cluster. Raises BadInput for one that it has not."""
    caller = files.service_user(description)
    if not user or user == caller:
        return pwd.getpwuid(os.geteuid()).pw_dir, caller
    if description.layout != "root":
        raise BadInput(
            f"the user {user!r} cannot be entered: this cluster was made by {caller!r} and has no other",
            hint="a cluster that root makes with namespaces has the users " + " and ".join(USERS),
        )
    if user not in USERS:
        raise unknown("user", user, (caller, *USERS))
    return str(directory / "home" / user), user


def words(
    directory: Path,
    description: Description,
    argv: Sequence[str],
    *,
    host: str = CONTROLLER,
    user: str = "",
    env: Mapping[str, str] | None = None,
    folder: str = "",
    administer: bool = False,
) -> tuple[str, ...]:
    """The words that run ``argv`` on a host of the cluster, to be started by this process. ``folder`` is where, by default
    here where the host sees it. Raises BadInput for a host or user that there is not, CannotMeasure where it is off."""
    check_host(description, host)
    values = {**environment(directory, description, user), **(env or {})}
    folder = folder or (os.getcwd() if not user else values["HOME"])
    started = (*namespaces.environment(values, folder), *argv)
    if description.layout == "plain":
        return started
    pid = host_pid(directory, description, host)
    if not pid:
        raise CannotMeasure(
            f"{host} is off" if host != CONTROLLER else "the cluster is not up",
            where=str(directory),
            hint=f"shakedown cluster node start {host}" if host != CONTROLLER else "shakedown cluster up",
        )
    become = ("setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", "--") if user in USERS else ()
    return (*namespaces.enter(description.layout, pid, administer=administer), *become, *started)
