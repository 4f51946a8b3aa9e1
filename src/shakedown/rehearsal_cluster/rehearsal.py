"""A cluster that is up, as an object: run commands in it, break it, fix it, end it."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from ..errors import BadInput, CannotMeasure
from ..hosts.access import LocalHost, Result
from ..records import Record
from . import daemons, entering, files, hosts, links, namespaces, network, starting, stopping
from . import status as asking
from .settings import CONTROLLER, Description, Link, Settings, address4, address6, check_link, load, node_names, save

Action = Literal["stop", "start", "kill"]


class NodeStatus(Record, frozen=True, kw_only=True):
    """One node as it is now."""

    name: str
    address4: str = ""
    address6: str = ""
    on: bool
    state: str = ""  # as Slurm says: idle, mixed, drained, down*
    reason: str = ""
    link: Link = Link()
    method: str = "none"  # what shapes the link: none, netem, tbf, tap


class Status(Record, frozen=True, kw_only=True):
    """A cluster as it is now."""

    directory: str
    up: bool
    engines: tuple[str, ...]
    layout: str
    layout_reason: str = ""
    versions: dict[str, str] = msgspec.field(default_factory=dict)
    users: tuple[str, ...] = ()
    nodes: tuple[NodeStatus, ...] = ()
    #: Name -> process id as this machine counts; None: it does not run.
    daemons: dict[str, int | None] = msgspec.field(default_factory=dict)


class RehearsalCluster:
    """A rehearsal cluster. ``up`` and ``open_`` make these."""

    def __init__(self, directory: Path, description: Description) -> None:
        self.directory = directory
        self._description = description

    # --------------------------------------------------------------------------------------------------- what it is

    @property
    def description(self) -> Description:
        return self._description

    @property
    def settings(self) -> Settings:
        return self._description.settings

    @property
    def nodes(self) -> tuple[str, ...]:
        """``node1`` ..."""
        return node_names(self.settings.nodes)

    @property
    def namespaced(self) -> bool:
        """Whether each node has a network, a name and a /dev/shm of its own."""
        return self._description.layout != "plain"

    @property
    def users(self) -> tuple[str, ...]:
        """Who may submit; the first administers."""
        return files.users(self._description)

    @property
    def user(self) -> str:
        """An ordinary account where there is one."""
        return self.users[-1] if len(self.users) == 1 else self.users[1]

    @property
    def shared(self) -> Path:
        """A folder that every user may write to and every node sees."""
        return self.directory / "shared"

    def hooks(self, kind: Literal["healthcheck", "prolog", "epilog"]) -> Path:
        """The folder whose executables are run, in the order of their names, at each of these."""
        return self.directory / "hooks" / f"{kind}.d"

    def address(self, host: str, family: Literal[4, 6] = 4) -> str:
        """The address of a node or of ``ctl``; this host's own in layout plain."""
        entering.check_host(self._description, host)
        if not self.namespaced:
            return "127.0.0.1" if family == 4 else "::1"
        return address4(host) if family == 4 else address6(host)

    # --------------------------------------------------------------------------------------------------- commands

    def argv(
        self,
        argv: Sequence[str],
        *,
        node: str | None = None,
        user: str | None = None,
        env: Mapping[str, str] | None = None,
        cwd: Path | str | None = None,
    ) -> tuple[str, ...]:
        """The words that start a command in the cluster, for whoever wants to hold its process: on the controller or on a
        node, as root (or who made the cluster) or another of ``users``. Start it in a session of its own and end the whole
        group: the first process only waits for the one inside."""
        return entering.words(
            self.directory,
            self._description,
            argv,
            host=node or CONTROLLER,
            user=user or "",
            env=env,
            folder=str(cwd or ""),
        )

    def run(
        self,
        argv: Sequence[str],
        node: str | None = None,
        *,
        user: str | None = None,
        env: Mapping[str, str] | None = None,
        cwd: Path | str | None = None,
        limit_s: float = 300.0,
    ) -> Result:
        """Run a command in the cluster and keep what it prints. Raises only for a node or user that there is not."""
        words = self.argv(argv, node=node, user=user, env=env, cwd=cwd)
        return LocalHost().run(words, limit_s=limit_s, env={"PATH": namespaces.search_path()})

    def door(self, node: str | None = None, *, user: str | None = None) -> LabDoor:
        """The cluster as a HostAccess: commands run in it; files are this machine's, which it shares."""
        return LabDoor(self, node, user)

    def slurm_nodes(self) -> dict[str, tuple[str, str]]:
        """Node -> (state, reason) as slurmctld says; empty where it does not answer."""
        return asking.slurm_nodes(self.directory, self._description)

    # --------------------------------------------------------------------------------------------------- nodes and links

    def fail(self, node: str) -> None:
        """Power failure: everything on the node ends at once, and its link goes down."""
        self._check_node(node)
        if self.namespaced:
            hosts.kill_node(self.directory, self._description, node)
        else:
            stopping.kill_plain_node(self.directory, node)

    def start(self, node: str, *, limit_s: float = 300.0) -> None:
        """Switch a node on again and wait until the engines hear it."""
        self._check_node(node)
        with self._change():
            if self._is_on(node):
                raise BadInput(f"{node} is on", hint=f"shakedown cluster node kill {node}")
            began_s = time.time()
            method = starting.start_node(self.directory, self._description, node)
            self._keep(methods={**self._description.methods, node: method})
        starting.start_engines(self.directory, self._description, node)
        self._heard(node, began_s, limit_s)

    def cut(self, node: str) -> None:
        """Take the node's link away; it runs on alone."""
        self._set_link(node, cut=True)

    def mend(self, node: str) -> None:
        """Give the link back, as fast as when the cluster was brought up."""
        link = self.settings.link
        self._set_link(node, cut=False, rate_bit_s=link.rate_bit_s, delay_s=link.delay_s, loss=link.loss)

    def slow(
        self, node: str, *, rate_bit_s: float | None = None, delay_s: float = 0.0, loss: float = 0.0
    ) -> network.Method:
        """Shape the node's link, each direction alike: rate, one-way delay, fraction of frames lost. Returns by which
        means. Raises Unavailable where this kernel has none."""
        return self._set_link(node, rate_bit_s=rate_bit_s, delay_s=delay_s, loss=loss)

    def _set_link(self, node: str, **changed: float | bool | None) -> network.Method:
        self._check_node(node)
        with self._change():
            link = msgspec.structs.replace(self._description.links.get(node, Link()), **changed)
            check_link(link)
            description = msgspec.structs.replace(self._description, links={**self._description.links, node: link})
            method = links.shape(self.directory, description, node)
            self._description = description
            self._keep(methods={**description.methods, node: method})
        return method

    def _check_node(self, node: str) -> None:
        if node == CONTROLLER:
            raise BadInput("the controller is not a node", hint="shakedown cluster daemon kill slurmctld, or down")
        entering.check_host(self._description, node)

    def _is_on(self, node: str) -> bool:
        if self.namespaced:
            return bool(entering.host_pid(self.directory, self._description, node))
        return f"slurmd@{node}" in daemons.running(self.directory, self._description)

    def _heard(self, node: str, since_s: float, limit_s: float) -> None:
        link = self._description.links.get(node, Link())
        if not link.cut and "slurmctld" in daemons.running(self.directory, self._description):
            asking.wait_for_nodes(self.directory, self._description, since_s, (node,), limit_s)

    # --------------------------------------------------------------------------------------------------- daemons

    def daemon(self, name: str, action: Action) -> None:
        """Stop (and wait for its end), kill, or start (and wait for its answer) one daemon: ``slurmctld``, ``slurmdbd``,
        ``munged``, ``mariadbd``, ``slurmd@node2``, ``sge_qmaster``, ``sge_execd@node2``."""
        daemons.check(name, self._description)
        pid = daemons.running(self.directory, self._description).get(name)
        if action == "start":
            if pid:
                raise BadInput(f"{name} runs already (process {pid})")
            starting.start_daemon(self.directory, self._description, name)
        elif not pid:
            raise BadInput(f"{name} does not run", hint=f"shakedown cluster daemon start {name}")
        elif not daemons.end(pid, 120, signal.SIGTERM if action == "stop" else signal.SIGKILL):
            raise CannotMeasure(f"{name} (process {pid}) does not end", hint=f"shakedown cluster daemon kill {name}")

    # --------------------------------------------------------------------------------------------------- the whole

    def status(self) -> Status:
        """What is up, as it is now."""
        description = self._description
        lives = asking.is_up(self.directory, description)
        running = daemons.running(self.directory, description) if lives else {}
        states = self.slurm_nodes() if "slurmctld" in running else {}
        nodes = [
            NodeStatus(
                name=node,
                address4=self.address(node, 4),
                address6=self.address(node, 6),
                on=lives and self._is_on(node),
                state=states.get(node, ("", ""))[0],
                reason=states.get(node, ("", ""))[1],
                link=description.links.get(node, Link()),
                method=self._method(node),
            )
            for node in self.nodes
        ]
        return Status(
            directory=str(self.directory),
            up=lives,
            engines=self.settings.engines,
            layout=description.layout,
            layout_reason=description.layout_reason,
            versions=description.versions,
            users=self.users,
            nodes=tuple(nodes),
            daemons={name: running.get(name) for name in daemons.names(description)},
        )

    def _method(self, node: str) -> str:
        """What shapes a link; a process of ours that is gone carries nothing, and that is said."""
        method = self._description.methods.get(node, "none")
        here = entering.host_pid(self.directory, self._description, CONTROLLER)
        return "tap, which is gone" if method == "tap" and not links.carrier(self._description, here, node) else method

    def restore(self, limit_s: float = 300.0) -> None:
        """Make everything as it was when the cluster came up: jobs cancelled, daemons and nodes started, links repaired,
        nodes resumed. What is well already is left alone."""
        running = daemons.running(self.directory, self._description)
        for name in daemons.names(self._description):
            if "@" not in name and name not in running:
                self.daemon(name, "start")
        for node in self.nodes:
            if not self._is_on(node):
                self.start(node, limit_s=limit_s)
            if self.namespaced and self._description.links.get(node, Link()) != self.settings.link:
                self.mend(node)
        running = daemons.running(self.directory, self._description)
        for name in daemons.names(self._description):
            if name not in running:
                self.daemon(name, "start")
        stopping.clear_engines(self.directory, self._description, limit_s)

    def down(self, *, hard: bool = False, keep: bool = False) -> None:
        """End it. ``hard``: at once, as a power failure would; else daemons may write what they hold, if anyone is to read
        it (``keep``). Everything goes, the directory too, unless ``keep``."""
        stopping.down(self.directory, hard=hard, keep=keep)

    def _keep(self, *, methods: dict[str, str]) -> None:
        self._description = msgspec.structs.replace(self._description, methods=methods)
        save(self.directory, self._description)

    @contextlib.contextmanager
    def _change(self) -> Iterator[None]:
        """Hold the cluster while it is changed, and take over what others have changed of it."""
        with starting.locked(self.directory):
            self._description = load(self.directory) or self._description
            yield

    def __enter__(self) -> RehearsalCluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.down()


class LabDoor(LocalHost):
    """A HostAccess into a cluster: commands run there, names are looked up there."""

    def __init__(self, lab: RehearsalCluster, node: str | None, user: str | None) -> None:
        self._lab, self._node, self._user = lab, node, user

    def run(self, argv: Sequence[str], *, limit_s: float = 60.0, env: Mapping[str, str] | None = None) -> Result:
        return self._lab.run(argv, self._node, user=self._user, env={"LC_ALL": "C", **(env or {})}, limit_s=limit_s)

    def env(self, name: str) -> str | None:
        return entering.environment(self._lab.directory, self._lab.description, self._user or "").get(name)

    def which(self, name: str) -> str | None:
        return shutil.which(name, path=namespaces.search_path())

    def name(self) -> str:
        return self._node or CONTROLLER


def default_directory() -> Path:
    """Where a cluster lies if no one says: in the user's runtime folder, else in the temporary one, by the user's number.
    Root's lies in the temporary folder: its users must come through."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if os.geteuid() and runtime and os.access(runtime, os.W_OK):
        return Path(runtime) / "shakedown-cluster"
    return Path(tempfile.gettempdir()) / f"shakedown-cluster-{os.geteuid()}"


def _silent(text: str) -> None:
    pass


def up(
    directory: Path | str | None = None,
    settings: Settings | None = None,
    *,
    say: Callable[[str], None] = _silent,
    **asked: object,
) -> RehearsalCluster:
    """Bring a cluster up and return it. ``asked`` are fields of Settings (``nodes=4``, ``engines=("slurm",)``...) beyond
    ``settings``, or beyond those of the cluster that was in this directory before. Raises as ``starting.up``."""
    path = Path(directory).absolute() if directory else default_directory()
    earlier = load(path)
    basis = settings or (earlier.settings if earlier else Settings())
    try:
        wanted = msgspec.convert({**msgspec.structs.asdict(basis), **asked}, Settings, from_attributes=True)
    except msgspec.ValidationError as error:
        raise BadInput(f"such a cluster cannot be set up: {error}") from None
    return RehearsalCluster(path, starting.up(path, wanted, say))


def open_(directory: Path | str | None = None) -> RehearsalCluster:
    """The cluster that is up in a directory. Raises BadInput where there is none."""
    path = Path(directory).absolute() if directory else default_directory()
    description = load(path)
    if description is None or not asking.is_up(path, description):
        raise BadInput(
            "no cluster is up here" if description else "there is no cluster here",
            where=str(path),
            hint=f"shakedown cluster up --directory {path}" if directory else "shakedown cluster up",
        )
    return RehearsalCluster(path, description)
