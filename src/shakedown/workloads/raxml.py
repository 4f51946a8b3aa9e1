"""RAxML, as a site has it: the comprehensive analysis (rapid bootstraps, then a search for the best tree) of an alignment.

The alignment is generated from a size and a seed: a random tree, letters that evolve along it by GTR with four classes
of rates, so that tree, model and likelihood of the truth are known (``functional_tests/alignment.py``). ``raxml.time``
is the time that RAxML's log gives for the full analysis, ``raxml.phase`` that of the bootstraps, which are independent
of each other and scale, and of the three searches, which do not; ``raxml.bootstraps`` counts bootstraps a second.

Three things are checked. The likelihood that RAxML finds for the true tree must lie above that of the truth, which we
compute, by half the number of free parameters within six standard deviations (Wilks): a wrong likelihood, or an
alignment that is not the generated one, fails. The best tree that it finds must not be less likely than the true one,
by more than a 1e-5 share. The threads that it started must be those requested: Debian's build is of threads only and
runs two where one is requested, which is why ``threads`` begins at 2 there. Threads that outnumber the cores are
refused, since they spin: such a run takes hundreds of times as long. A log of one's own analysis has no such truth and
is read as not verified.

Source: RAxML 8.2 manual; Stamatakis, Bioinformatics 30 (2014) 1312.
"""

from __future__ import annotations

import re

from ..errors import BadInput
from ..launchers import Command
from ..launchers.mpirun import cores
from ..records import Case, Host, Machine, Notice, Params, Residual
from . import Garbage, Stated
from .common import application_log as log
from .common import phylogeny
from .common.application import Recipe, Step, command, sized
from .common.application_log import Part, Result
from .common.printed import NUMBER
from .common.table import table_of

TABLE = table_of(__file__)

#: Of one of the two sizes beyond a node more bootstraps are the work: RAxML's threads do not leave a node.
SIZES = {
    "smoke": {"taxa": 24, "sites": 400, "bootstraps": 4},
    "small": {"taxa": 60, "sites": 1200, "bootstraps": 20},
    "medium": {"taxa": 218, "sites": 2294, "bootstraps": 100},
    "large": {"taxa": 218, "sites": 73408, "bootstraps": 100},
}
_THREADED = ("raxmlHPC-PTHREADS-AVX2", "raxmlHPC-PTHREADS-AVX", "raxmlHPC-PTHREADS-SSE3", "raxmlHPC-PTHREADS")
_SERIAL = ("raxmlHPC-AVX2", "raxmlHPC-AVX", "raxmlHPC-SSE3")
_SEARCH, _TRUTH = "search", "truth"


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    most = cores(machine.hosts[0])
    threads = max(2, most) if params["threads"] == "all" else int(params["threads"])
    if threads > most and threads > 2:
        what = f"raxml.threads = {threads}: {most} cores are here, and threads of RAxML that wait for a core spin"
        raise BadInput(what, hint=f"at most threads = {most}; more ranks: examl")
    found = {**sized(params, SIZES, threads, "bootstraps"), "threads": threads}
    phylogeny.check_room("raxml", found, machine.hosts[0])
    return (found,)


def _command(params: Params, host: Host) -> Command:
    threads = int(params["threads"])
    words = ("-T", str(threads)) if threads > 1 else ()
    analysis = ("-f", "a", "-m", "GTRCAT", "-p", "1", "-x", "1", "-N", str(params["bootstraps"]))
    recipe = Recipe(
        application="raxml",
        programs={"raxml": _THREADED if threads > 1 else _SERIAL, **phylogeny.GENERATOR},
        install="sudo apt-get install raxml" if threads > 1 else "threads=2, since Debian's package has threads alone",
        steps=(
            phylogeny.generate(params),
            Step(name=_SEARCH, argv=("raxml", *words, *analysis, "-s", "A.phy", "-n", _SEARCH)),
            Step(
                name=_TRUTH,
                argv=("raxml", *words, "-f", "e", "-m", "GTRGAMMA", "-s", "A.phy", "-t", "true.tree", "-n", _TRUTH),
            ),
        ),
    )
    return command(recipe, params, host)


def parse(text: str, params: Params) -> tuple[Case, ...]:
    """The analysis with its phases. Raises Garbage."""
    parts = log.parts(text, "raxml", _SEARCH)
    search = parts[_SEARCH]
    best = _number(search.text, rf"^Final ML Optimization Likelihood: ({NUMBER})", "the likelihood of the best tree")
    total = _number(
        search.text, rf"^Overall execution time for full ML analysis: ({NUMBER}) secs", "the time of the full analysis"
    )
    phases = {
        name: _number(search.text, pattern, f"the time of the {name}")
        for name, pattern in (
            ("bootstraps", rf"^Overall Time for \d+ Rapid Bootstraps ({NUMBER}) seconds"),
            ("fast search", rf"^Fast ML search Time: ({NUMBER}) seconds"),
            ("slow search", rf"^Slow ML search Time: ({NUMBER}) seconds"),
            ("thorough search", rf"^Thorough ML search Time: ({NUMBER}) seconds"),
        )
    }
    if sum(phases.values()) > total * (1 + log.CLOCKS):
        raise Garbage("the phases in the log take longer than the analysis")
    count = int(_number(search.text, r"^Overall Time for (\d{1,9}) Rapid Bootstraps", "the number of bootstraps"))
    patterns = int(_number(search.text, r"^Alignment has (\d{1,12}) distinct alignment patterns", "patterns"))
    truth, seen = phylogeny.truth(parts), _threads(search)
    if not seen:
        raise Garbage("the log does not say on how many threads the program ran")
    told = {**phylogeny.told(truth), "patterns": patterns, "bootstraps": count, "threads": seen[0]}
    check = None
    more: tuple[Residual, ...] = ()
    if truth is None:
        told["check"] = "not verified"
    else:
        found = _number(
            log.step(parts, _TRUTH).text, rf"^Final GAMMA +likelihood: ({NUMBER})", "the likelihood of the true tree"
        )
        check = phylogeny.best(best, found)
        more = (phylogeny.likelihood(truth, found),)
    asked = params.get("threads")
    part = search._replace(ranks=asked if isinstance(asked, int) and search.wall_s is not None else 0)
    result = Result(told, {"bootstraps": float(count)}, total, total, phases, seen, check, more)
    work = Case(
        kernel="bootstraps",
        params=told,
        work={"bootstraps": float(count)},
        seconds=(phases["bootstraps"],),
        residual=check,
    )
    return (*log.cases(part, result, seen_what="threads"), work)


def _number(text: str, pattern: str, what: str) -> float:
    value: float = log.one_number(text, pattern, f"RAxML's log does not give {what}")
    return value


def _threads(part: Part) -> tuple[int, ...]:
    """The threads of each copy that ran, as they report; in a file RAxML_info, as it was called."""
    masters = len(re.findall(r"^This is the RAxML Master Pthread", part.text, re.MULTILINE))
    workers = len(re.findall(r"^This is RAxML Worker Pthread Number:", part.text, re.MULTILINE))
    if masters:
        return (workers // masters + 1,) * masters
    calls = re.findall(r"^RAxML was called as follows:\n\n([^\n]*)", part.text, re.MULTILINE)
    found = [re.search(r" -T (\d{1,6})", one) for one in calls]
    return tuple(int(one[1]) if one else 1 for one in found)


def notices(text: str, params: Params) -> tuple[Notice, ...]:
    """Time that the log does not account for."""
    part = log.parts(text, "raxml", _SEARCH)[_SEARCH]
    total = _number(part.text, rf"^Overall execution time for full ML analysis: ({NUMBER}) secs", "the time")
    return log.outside(part, total)


def _estimate_s(params: Params, host: Host) -> float:
    """A bootstrap costs 1.5e-5 s a character for 24 taxa on a core, a search as much as six of them."""
    each: float = 1.5e-5 * int(params["taxa"]) * int(params["sites"]) * (int(params["taxa"]) / 24) ** 0.5
    return 2.0 + each * (int(params["bootstraps"]) + 20) / int(params["threads"])


WORKLOAD = TABLE.workload(
    title="RAxML, as the site installed it: bootstraps and the best tree",
    command=_command,
    parse=parse,
    notices=notices,
    stated=lambda text: Stated(),
    resolve=_resolve,
    estimate_s=_estimate_s,
)
