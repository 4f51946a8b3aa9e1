"""ssh between the nodes of a cluster: a server on each, with keys and a configuration of the cluster's own.

    etc/ssh/  host_NODE{,.pub}     each node's key          known_hosts   all of them
              key_USER{,.pub}      each user's key          authorized_USER
              sshd_NODE            the server's configuration
              client               bind-mounted over /etc/ssh/ssh_config, so that plain ``ssh node2`` works

Nothing of the machine's own ssh is read, started or changed. The text is pure; ``write`` makes the keys.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from ..errors import CannotMeasure
from ..hosts.access import LocalHost
from . import namespaces
from .settings import USERS, Description, address4, address6, node_names

PORT = 22
FOLDER = "ssh"


def write(directory: Path, description: Description, users: Sequence[str]) -> None:
    """Make the folder of keys and configurations, or what is missing of it. Raises CannotMeasure."""
    folder = directory / "etc" / FOLDER
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)
    nodes = node_names(description.settings.nodes)
    for name in (*(f"host_{node}" for node in nodes), *(f"key_{user}" for user in users)):
        _key(folder / name)
    known = "".join(known_line(node, (folder / f"host_{node}.pub").read_text()) for node in nodes)
    _write(folder / "known_hosts", known)
    _write(folder / "client", client(folder))
    for node in nodes:
        _write(folder / f"sshd_{node}", server(directory, description, node))
    for user in users:
        _write(folder / f"authorized_{user}", (folder / f"key_{user}.pub").read_text())
        if user in USERS:
            os.chown(folder / f"key_{user}", USERS[user], USERS[user])


def _key(path: Path) -> None:
    if path.exists():
        return
    words = ("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", path.name, "-f", str(path))
    made = LocalHost().run(words, limit_s=120, env={"PATH": namespaces.search_path()})
    if not made.ok:
        raise CannotMeasure(f"no key can be made: {made.err.strip()[-200:]}", where=str(path))


def known_line(node: str, public: str) -> str:
    """A line of known_hosts (sshd(8)) for a node: by its name and by both addresses."""
    kind, key = public.split()[:2]
    return f"{node},{address4(node)},{address6(node)} {kind} {key}\n"


def client(folder: Path) -> str:
    """ssh_config(5) of the cluster. ``%u`` is the local user: each has a key."""
    return (
        "Host node* 10.77.0.* fd77::*\n"
        f"    Port {PORT}\n"
        f"    IdentityFile {folder}/key_%u\n"
        "    IdentitiesOnly yes\n"
        f"    UserKnownHostsFile {folder}/known_hosts\n"
        "    GlobalKnownHostsFile /dev/null\n"
        "    StrictHostKeyChecking yes\n"
        "    ForwardX11 no\n"
    )


def server(directory: Path, description: Description, node: str) -> str:
    """sshd_config(5) of a node: keys alone, no PAM, nothing below /etc or /var.

    StrictModes would refuse a cluster below /tmp, which everybody may write to. Commands get what the cluster's other
    ways in give as well, so that an engine is found and the node's processes are known as its own.
    """
    folder = directory / "etc" / FOLDER
    given = {"SHAKEDOWN_CLUSTER": str(directory), "TMPDIR": str(directory / "scratch")}
    if "slurm" in description.settings.engines:
        given["SLURM_CONF"] = str(directory / "etc" / "slurm.conf")
    return (
        f"Port {PORT}\n"
        f"HostKey {folder}/host_{node}\n"
        f"AuthorizedKeysFile {folder}/authorized_%u\n"
        "StrictModes no\n"
        "UsePAM no\n"
        "PasswordAuthentication no\n"
        "KbdInteractiveAuthentication no\n"
        "PermitRootLogin prohibit-password\n"
        "PidFile none\n"
        "PrintMotd no\n"
        "UseDNS no\n"
        "Subsystem sftp internal-sftp\n"
        f"SetEnv {' '.join(f'{name}={value}' for name, value in given.items())}\n"
    )


def shadow(passwd: str) -> str:
    """shadow(5) for these accounts: no password, and not locked, which sshd without PAM would refuse."""
    return "".join(f"{line.split(':')[0]}:*:::::::\n" for line in passwd.splitlines() if ":" in line)


def command(directory: Path, node: str) -> tuple[str, ...]:
    """What starts a node's server, in the foreground. It wants to be called by its whole path."""
    program = shutil.which("sshd", path=namespaces.search_path()) or "sshd"
    return (program, "-D", "-e", "-f", str(directory / "etc" / FOLDER / f"sshd_{node}"))


def _write(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o644)
