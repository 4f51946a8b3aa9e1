"""Process 1 of the cluster's, and of each node's, process namespace. Started by ``namespaces``, never imported.

    python -I -S init.py DIRECTORY HOST

It mounts what is this host's own (its name, /dev/shm, its scratch, /etc/hosts, the accounts), says so by a file
``run/HOST.mounted``, and then only reaps processes. Its death is the host's power failure: the kernel ends all that lives
in the namespace, and what was mounted goes with it. Only the standard library: it stays in memory once a node.
"""

import ctypes
import os
import signal
import socket
import sys

MS_BIND, MS_NOSUID, MS_NODEV = 4096, 2, 4


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    words = [text.encode() or None for text in (source, target, kind)]
    if libc.mount(*words, ctypes.c_ulong(flags), data.encode() or None):
        error = ctypes.get_errno()
        raise OSError(error, f"mount {source} on {target}: {os.strerror(error)}")


def become(directory: str, host: str) -> None:
    """Make these namespaces the host's."""
    socket.sethostname(host)
    mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777")
    mount(f"{directory}/nodes/{host}/scratch", f"{directory}/scratch", flags=MS_BIND)
    if host == "ctl":  # the nodes' mount namespaces are copies of this one
        if os.path.exists(f"{directory}/etc/fence"):
            with open(f"{directory}/etc/fence") as file:
                for group in file.read().split():
                    mount(group, os.path.dirname(group), flags=MS_BIND)
        own = {name: f"/etc/{name}" for name in ("hosts", "passwd", "group", "shadow")}
        for name, target in {**own, "ssh/client": "/etc/ssh/ssh_config"}.items():
            if os.path.exists(f"{directory}/etc/{name}") and os.path.exists(target):
                mount(f"{directory}/etc/{name}", target, flags=MS_BIND)
    elif os.path.exists(f"{directory}/etc/ssh") and os.geteuid() == 0 and not os.path.isdir("/run/sshd"):
        mount("tmpfs", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755")  # sshd wants an empty folder there
        os.mkdir("/run/sshd", 0o755)


def main() -> None:
    directory, host = sys.argv[1], sys.argv[2]
    os.umask(0o022)
    become(directory, host)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
    with open(f"{directory}/run/{host}.mounted", "w") as file:
        file.write("1\n")
    while True:
        signal.sigwait({signal.SIGCHLD})
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass


if __name__ == "__main__":
    main()
