"""Starting the cluster's Grid Engine: spool, qmaster, configuration, one execd a node."""

from __future__ import annotations

from pathlib import Path

from ..errors import CannotMeasure
from ..hosts.access import LocalHost, Result
from . import daemons, entering, files, gridengine, namespaces
from .settings import CONTROLLER, Description, node_names

#: Where Debian puts what other installations keep below SGE_ROOT.
_TOOLS, _ROOT, _SHARE = Path("/usr/lib/gridengine"), Path("/var/lib/gridengine"), Path("/usr/share/gridengine")
_LIMIT_S = 300.0


def start(directory: Path, description: Description) -> None:
    """Start everything and wait until each host's queue is well. Raises CannotMeasure."""
    home = directory / "ge"
    fresh = not (home / "default" / "common" / "bootstrap").exists()
    _folders(directory)
    if fresh:
        _spool(directory, description)
    start_qmaster(directory, description)
    _configure(directory, description)
    for node in node_names(description.settings.nodes):
        start_execd(directory, description, node, wait=False)
    _wait(directory, description, node_names(description.settings.nodes))


def _folders(directory: Path) -> None:
    home = directory / "ge"
    for name in ("default/common", "qmaster/job_scripts", "execd", "wanted"):
        (home / name).mkdir(parents=True, exist_ok=True)
    for name in ("bin", "lib", "utilbin", "util"):
        link = home / name
        if not link.is_symlink():
            link.symlink_to(_ROOT / name)


def _spool(directory: Path, description: Description) -> None:
    """Make the spool, as the installation's own script does. ``bootstrap`` goes again where this fails."""
    home = directory / "ge"
    common, admin = home / "default" / "common", files.service_user(description)
    (common / "act_qmaster").write_text(f"{CONTROLLER}\n")
    (common / "cluster_name").write_text("rehearsal\n")
    default = (_SHARE / "default-configuration").read_text()
    (home / "configuration").write_text(gridengine.configuration(default, directory, description, admin))
    text = gridengine.bootstrap(directory, admin)
    (common / "bootstrap").write_text(text)
    try:
        for argv in (
            ("spoolinit", "classic", "libspoolc", gridengine.spooling(directory), "init"),
            ("spooldefaults", "configuration", f"{home}/configuration"),
            ("spooldefaults", "complexes", f"{_SHARE}/util/resources/centry"),
            ("spooldefaults", "usersets", f"{_SHARE}/util/resources/usersets"),
            ("spooldefaults", "managers", admin),
        ):
            _must(directory, description, (str(_TOOLS / argv[0]), *argv[1:]))
    except BaseException:
        (common / "bootstrap").unlink()
        raise


def start_qmaster(directory: Path, description: Description) -> None:
    """Start sge_qmaster and wait until it answers."""
    env = {"SGE_MASTER_PIDFILE": f"{directory}/run/sge_qmaster.pid"}
    daemons.launch(directory, description, ("/usr/sbin/sge_qmaster",), host=CONTROLLER, env=env, log="sge_qmaster.out")
    if not daemons.until(lambda: _ask(directory, description, "qconf", "-sh").ok, _LIMIT_S, 0.1):
        raise CannotMeasure(
            f"sge_qmaster does not answer within {_LIMIT_S:g} s: {daemons.last_lines(directory, 'sge_qmaster.out')}",
            where=str(directory / "ge" / "qmaster" / "messages"),
        )


def start_execd(directory: Path, description: Description, node: str, *, wait: bool = True) -> None:
    """Start a node's sge_execd, and wait until its queue is well."""
    env = {"SGE_EXECD_PIDFILE": f"{directory}/run/sge_execd.{node}.pid"}
    daemons.launch(directory, description, ("/usr/sbin/sge_execd",), host=node, env=env, log=f"sge_execd@{node}.out")
    if wait and "sge_qmaster" in daemons.running(directory, description):
        _wait(directory, description, (node,))


def _configure(directory: Path, description: Description) -> None:
    asked, wanted = description.settings, directory / "ge" / "wanted"
    nodes = node_names(asked.nodes)

    def put(kind: str, name: str, text: str) -> None:
        """Add an object, or change the one that is there from the last time."""
        path = wanted / name.lstrip("@")
        path.write_text(text)
        if not _ask(directory, description, "qconf", f"-A{kind}", str(path)).ok:
            _must(directory, description, ("qconf", f"-M{kind}", str(path)))

    _ask(directory, description, "qconf", "-ah", ",".join(nodes))
    _ask(directory, description, "qconf", "-as", ",".join((CONTROLLER, *nodes)))
    text = gridengine.scheduler(_must(directory, description, ("qconf", "-ssconf")))
    (wanted / "scheduler").write_text(text)
    _must(directory, description, ("qconf", "-Msconf", str(wanted / "scheduler")))
    (wanted / "complexes").write_text(gridengine.complexes(_must(directory, description, ("qconf", "-sc")), asked.gpus))
    _must(directory, description, ("qconf", "-Mc", str(wanted / "complexes")))
    put("hgrp", gridengine.HOSTS, gridengine.host_group(description))
    for name, environment in gridengine.environments(description).items():
        put("p", name, environment)
    put("q", gridengine.QUEUE, gridengine.queue(directory, description))
    for node in nodes:
        values = gridengine.host_values(asked.gpus)
        _must(directory, description, ("qconf", "-rattr", "exechost", "complex_values", values, node))


def queues(directory: Path, description: Description) -> dict[str, str]:
    """Node -> the letters of its queue's state; empty where qmaster does not answer."""
    done = _ask(directory, description, "qstat", "-f", "-q", gridengine.QUEUE)
    return gridengine.parse_queues(done.out) if done.ok else {}


def _wait(directory: Path, description: Description, nodes: tuple[str, ...]) -> None:
    def well() -> bool:
        states = queues(directory, description)
        return all(states.get(node, "?") == "" for node in nodes)

    if not daemons.until(well, _LIMIT_S, 0.2):
        states = queues(directory, description)
        raise CannotMeasure(
            "queues with errors: " + ", ".join(f"{node} {states.get(node, 'not known')}" for node in nodes),
            where=str(directory / "ge" / "execd"),
        )


def _ask(directory: Path, description: Description, *argv: str) -> Result:
    words = entering.words(directory, description, argv, folder=str(directory))
    return LocalHost().run(words, limit_s=300, env={"PATH": namespaces.search_path()})


def _must(directory: Path, description: Description, argv: tuple[str, ...]) -> str:
    done = _ask(directory, description, *argv)
    if not done.ok:
        said = (done.err.strip() or done.out.strip()).splitlines() or ["no reason given"]
        raise CannotMeasure(f"{' '.join(argv[:3])}: {said[-1]}", where=str(directory / "ge"))
    return done.out
