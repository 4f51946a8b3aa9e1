"""Folders -> a site: the story from the first to the last step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from .. import published, workloads
from ..errors import BadInput, CannotMeasure
from ..published import MetricDef, System
from ..records import Absent, Metric
from . import metric_page, node_page, others_page, overview, published_pages, write
from .beside import beside
from .find import Found, find
from .gather import in_processes, read
from .judge import judged
from .layout import PLACES, SitePage, metric_path, node_path, system_path
from .others import read_acceptances, read_health
from .view import View, shown


class Built(NamedTuple):
    """What a site came to."""

    output: Path
    runs: int
    nodes: int
    figures: int
    pages: int
    written: int
    removed: int
    left_out: list[Absent]


class _Task(NamedTuple):
    """What the processes that make pages know: they are copies of this one."""

    view: View
    systems: Sequence[System]
    metrics: dict[str, Metric | MetricDef]
    known: dict[str, str]


_task: list[_Task] = []
#: Pages that a process makes at once.
_TOGETHER = 8


def build(
    folders: Sequence[Path],
    output: Path,
    *,
    title: str,
    least: float,
    now_ns: int,
    processes: int,
    say: Callable[[str], None] = lambda text: None,
) -> Built:
    """Make the site, or what changed of it. Raises BadInput, CannotMeasure where nothing could be read, StoreFailed."""
    found = find(folders, output)
    if not (found.runs or found.acceptances):
        raise BadInput(
            "nothing here is a run directory or an acceptance",
            where=", ".join(map(str, folders)),
            hint="give the folder that holds the folders which shakedown run made",
        )
    state = write.prepare(output)
    view, systems = _view(found, output, title, least, now_ns, processes, say)
    say(f"{len(view.fleet.nodes):,} nodes, {len(view.fleet.figures):,} figures: writing pages")
    metrics: dict[str, Metric | MetricDef] = {**published.metrics()}
    metrics |= {one.name: one for name in workloads.names() for one in workloads.get(name).metrics}
    _task[:] = [_Task(view, systems, metrics, state.pages)]
    asked = list(_asked(view, systems))
    _ = view.states, view.times  # once, and not in each process
    write.begin(output, state, (_path(kind, what) for kind, what in asked))
    try:
        groups = [asked[at : at + _TOGETHER] for at in range(0, len(asked), _TOGETHER)]
        done = [one for group in in_processes(_write, groups, processes) for one in group]
    finally:
        _task.clear()
    pages = {path: digest for path, digest, _ in done}
    removed = write.finish(output, state, pages, _search(view, systems), now_ns)
    return Built(
        output,
        len(view.fleet.runs),
        len(view.fleet.nodes),
        len(view.fleet.figures),
        len(done),
        sum(one[2] for one in done),
        removed,
        view.fleet.left_out,
    )


def _view(
    found: Found, output: Path, title: str, least: float, now_ns: int, processes: int, say: Callable[[str], None]
) -> tuple[View, Sequence[System]]:
    cache = output / write.CACHE
    fleet = read(
        found.runs, now_ns, cache, processes, lambda done, all_: say(f"{done:,} of {all_:,} run directories read")
    )
    acceptances, not_read = read_acceptances(found.acceptances)
    health, not_health = read_health(found.records)
    fleet = fleet._replace(left_out=[*found.left_out, *fleet.left_out, *not_read, *not_health])
    if not fleet.runs and not acceptances:
        first = fleet.left_out[0] if fleet.left_out else Absent(what="", why="there is none")
        raise CannotMeasure(
            f"no run could be read: {first.why}", where=first.what, hint="shakedown report RUN says more of one"
        )
    systems = published.systems()
    compared = beside(fleet, systems, cache)
    say("looking for what stands out")
    return View(
        title, fleet, judged(fleet, processes, least), acceptances, health, compared, str(output.absolute())
    ), systems


# ------------------------------------------------------------------------------------------------------------------ pages

_OVER_ALL: dict[str, Callable[[View], SitePage]] = {
    "index.html": overview.overview,
    "nodes.html": overview.nodes,
    "metrics.html": overview.metrics,
    "acceptances.html": others_page.acceptances,
    "runs.html": overview.runs,
    "notes.html": overview.notes,
}

_Asked = tuple[str, object]


def _asked(view: View, systems: Sequence[System]) -> Iterator[_Asked]:
    """Every page, those that take longest first."""
    yield from (("metric", tuple(figures)) for figures in metric_page.by_metric(view).values())
    yield from (("all", path) for path in _OVER_ALL)
    yield from (("node", node) for node in range(len(view.fleet.nodes)))
    yield ("systems", None)
    yield from (("system", at) for at in range(len(systems)))


def _path(kind: str, what: object) -> str:
    """Where a page will lie."""
    task = _task[0]
    if isinstance(what, tuple):
        key = task.view.fleet.figures[what[0]].key
        return metric_path(key.workload, key.metric)
    if isinstance(what, int):
        return node_path(task.view.fleet.nodes[what]) if kind == "node" else system_path(task.systems[what].id)
    return published_pages.INDEX if what is None else str(what)


def _page(kind: str, what: object) -> SitePage:
    task = _task[0]
    if kind == "metric":
        assert isinstance(what, tuple)
        return metric_page.metric_page(task.view, what)
    if kind == "all":
        assert isinstance(what, str)
        return _OVER_ALL[what](task.view)
    if kind == "systems":
        return published_pages.index(task.view, task.systems)
    assert isinstance(what, int)
    if kind == "node":
        return node_page.node_page(task.view, what)
    return published_pages.system_page(task.view, task.systems[what], task.metrics)


def _write(asked: Sequence[_Asked]) -> list[tuple[str, str, bool]]:
    task = _task[0]
    output = Path(task.view.output)
    made = [_page(kind, what) for kind, what in asked]
    return [write.write_page(output, page, task.known.get(page.path, "")) for page in made]


def _search(view: View, systems: Sequence[System]) -> Iterator[tuple[str, str, str]]:
    """What can be searched for: its name, its kind, its path."""
    yield from ((title, "page", path) for path, title in PLACES)
    yield from ((shown(name), "node", node_path(name)) for name in view.fleet.nodes)
    for (workload, metric), figures in metric_page.by_metric(view).items():
        title = view.fleet.figures[figures[0]].metric.title
        yield (f"{title} ({metric})", "metric", metric_path(workload, metric))
    yield from ((one.name, "published system", system_path(one.id)) for one in systems)
