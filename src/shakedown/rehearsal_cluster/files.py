"""What lies in the cluster's directory: folders, keys, configuration, accounts, dummy devices, hooks.

D/  cluster.json  lock
    etc/      configuration, hosts, passwd, group
    log/      one file a daemon
    run/      marks of process 1 of each host
    munge/  mysql/  state/  spool/  ge/    the daemons' own
    bin/      the hooks' runner        hooks/{healthcheck,prolog,epilog}.d    what the user puts there
    dev/      dummy GPUs
    nodes/NODE/scratch    each host's own, seen inside as D/scratch
    shared/   the shared file system, for all     home/USER
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import stat
from pathlib import Path

from ..errors import BadInput, CannotMeasure, Unavailable
from ..units import whole_number
from . import namespaces, slurm, ssh
from .settings import CONTROLLER, USERS, Description, address4, address6, node_names

_HOOKS = ("healthcheck", "prolog", "epilog")
#: Device numbers for the dummies: NVIDIA's, then those that are left to local use (Documentation/admin-guide/devices.txt).
#: Where no driver holds one, open says ENXIO if the device is granted, and EPERM if a fence forbids it.
_MAJORS = (195, *range(240, 255))


def service_user(description: Description) -> str:
    """Who runs the daemons: root, or the ordinary user who made the cluster."""
    return "root" if os.geteuid() == 0 else own_name()


def own_name() -> str:
    """The name of this process's user. Raises Unavailable where the system has none."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        raise Unavailable(
            f"the user {os.geteuid()} has no name on this machine, and the engines need one", hint="useradd"
        ) from None


def users(description: Description) -> tuple[str, ...]:
    """Who may submit; the first administers."""
    first = service_user(description)
    return (first, *USERS) if description.layout == "root" else (first,)


def database_user() -> str:
    """Who runs MariaDB: its own account, where root makes the cluster and may give its files away."""
    if os.geteuid() != 0:
        return own_name()
    try:
        return pwd.getpwnam("mysql").pw_name
    except KeyError:
        return "root"


def prepare(directory: Path) -> None:
    """Make the directory or take the one that is there. Raises BadInput where it is not ours or others can write to it:
    what lies in it is executed."""
    try:
        directory.mkdir(mode=0o755, parents=True, exist_ok=True)
        directory.chmod(directory.stat().st_mode | 0o111)  # daemons and users of other accounts pass through
        found = directory.lstat()
    except OSError as error:
        raise CannotMeasure(f"cannot be made: {error.strerror}", where=str(directory), hint="--directory") from None
    for parent in directory.parents:
        mode = parent.stat().st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            raise BadInput(
                f"everyone may replace what lies in {parent}", where=str(directory), hint="--directory elsewhere"
            )
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise BadInput(
            "is not a folder of yours alone: a cluster runs programs from it",
            where=str(directory),
            hint="--directory with a new path, or one that only you can write to",
        )


def write_all(directory: Path, description: Description) -> None:
    """Make or renew everything that is not a daemon's own state."""
    if description.layout != "plain":
        _passable(directory)
    _folders(directory, description)
    etc = directory / "etc"
    key = etc / "munge.key"
    if not key.exists():
        _secret(key, secrets.token_bytes(128), 0o400)
    _write(etc / "hosts", hosts(description))
    if description.layout == "root":
        _write(etc / "passwd", accounts(Path("/etc/passwd").read_text(), directory))
        _write(etc / "group", groups(Path("/etc/group").read_text()))
    if description.settings.ssh:
        ssh.write(directory, description, users(description))
        accounts_of = etc / "passwd" if description.layout == "root" else Path("/etc/passwd")
        _secret(etc / "shadow", ssh.shadow(accounts_of.read_text()).encode(), 0o600)
    else:
        shutil.rmtree(etc / ssh.FOLDER, ignore_errors=True)
        (etc / "shadow").unlink(missing_ok=True)
    _devices(directory, description)
    _hook_runner(directory)
    if "slurm" in description.settings.engines:
        _slurm(directory, description)


def _passable(directory: Path) -> None:
    """Ordinary accounts and daemons must come through to it."""
    if os.geteuid() != 0:
        return
    for parent in (directory, *directory.parents):
        if not parent.stat().st_mode & stat.S_IXOTH:
            raise BadInput(
                f"{parent} lets only its owner through, and the cluster's database and users are others",
                where=str(directory),
                hint="--directory below a folder that everyone may pass, such as /tmp or /var/tmp",
            )


def _folders(directory: Path, description: Description) -> None:
    for name in ("etc", "log", "run", "munge", "state", "spool", "dev", "bin", "mysql", "home", "hooks"):
        (directory / name).mkdir(exist_ok=True)
    for name in _HOOKS:
        (directory / "hooks" / f"{name}.d").mkdir(exist_ok=True)
    for name in (CONTROLLER, *node_names(description.settings.nodes)):
        (directory / "nodes" / name).mkdir(parents=True, exist_ok=True)
        _open_folder(directory / "nodes" / name / "scratch")
    _open_folder(directory / "scratch")
    _open_folder(directory / "shared")
    for mark in (directory / "run").iterdir():
        mark.unlink()
    for name in ("data", "tmp"):
        (directory / "mysql" / name).mkdir(exist_ok=True)
    if os.geteuid() == 0:
        for path in (directory / "mysql", directory / "mysql" / "data", directory / "mysql" / "tmp"):
            shutil.chown(path, database_user())
        for name, uid in USERS.items() if description.layout == "root" else ():
            home = directory / "home" / name
            home.mkdir(exist_ok=True)
            os.chown(home, uid, uid)


def _open_folder(path: Path) -> None:
    path.mkdir(exist_ok=True)
    path.chmod(0o1777)


def hosts(description: Description) -> str:
    """/etc/hosts of the cluster; both families for each host."""
    lines = ["127.0.0.1 localhost", "::1 localhost ip6-localhost ip6-loopback"]
    for host in (CONTROLLER, *node_names(description.settings.nodes)):
        lines += [f"{address4(host)} {host}", f"{address6(host)} {host}"]
    return "\n".join(lines) + "\n"


def accounts(passwd: str, directory: Path) -> str:
    """The host's passwd with the cluster's ordinary users, whose homes are on its shared file system."""
    kept = [line for line in passwd.splitlines() if line.split(":")[0] not in USERS]
    added = [f"{name}:x:{uid}:{uid}:rehearsal:{directory}/home/{name}:/bin/bash" for name, uid in USERS.items()]
    return "\n".join([*kept, *added]) + "\n"


def groups(group: str) -> str:
    """The host's group file with one group for each of the cluster's users."""
    kept = [line for line in group.splitlines() if line.split(":")[0] not in USERS]
    return "\n".join([*kept, *(f"{name}:x:{uid}:" for name, uid in USERS.items())]) + "\n"


def _devices(directory: Path, description: Description) -> None:
    for index in range(description.settings.gpus):
        path = directory / "dev" / f"nvidia{index}"
        if path.is_symlink() or path.exists():
            continue
        try:
            os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(_free_major(), index))
            path.chmod(0o666)
        except PermissionError:
            path.symlink_to("/dev/null")  # an ordinary user makes no devices; Slurm takes what leads to one


def _free_major() -> int:
    """A number that no driver of this machine holds: behind a dummy there must be no real GPU."""
    text = Path("/proc/devices").read_text().partition("Block devices")[0]
    held = {whole_number(line.split()[0]) for line in text.splitlines() if line.strip()}
    free: list[int] = [number for number in _MAJORS if number not in held]
    return free[0] if free else _MAJORS[-1]


def _hook_runner(directory: Path) -> None:
    text = (Path(__file__).parent / "hooks.py").read_text()
    for name in _HOOKS:
        path = directory / "bin" / name
        _write(path, f"#!{namespaces.python()} -IS\n{text}")
        path.chmod(0o755)


def _slurm(directory: Path, description: Description) -> None:
    etc = directory / "etc"
    user = service_user(description)
    host = CONTROLLER if description.layout != "plain" else os.uname().nodename.split(".")[0]
    password_file = etc / "database.password"
    if not password_file.exists():
        _secret(password_file, secrets.token_hex(16).encode(), 0o600)
    password = password_file.read_text()
    _write(etc / "slurm.conf", slurm.slurm_conf(directory, description, user=user, host=host))
    _write(etc / "gres.conf", slurm.gres_conf(directory, description))
    _write(etc / "cgroup.conf", slurm.cgroup_conf())
    _write(etc / "mpi.conf", slurm.mpi_conf())
    _secret(
        etc / "slurmdbd.conf",
        slurm.slurmdbd_conf(directory, description, user=user, host=host, password=password).encode(),
        0o600,
    )
    _write(etc / "my.cnf", slurm.my_cnf(directory, database_user()))


def _write(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o644)


def _secret(path: Path, data: bytes, mode: int) -> None:
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
