"""ExaML, as a site has it: the search for the best tree of an alignment, its sites shared among MPI ranks.

The alignment is that of ``raxml``, generated from a size and a seed with a known tree, model and likelihood; the search
starts from another random tree. ``examl.time`` is the time of the inference by ExaML's log, ``examl.rate`` the patterns
times taxa that it went through a second.

Checked are the likelihood of the true tree (by a second, short run) against that of the truth by Wilks' theorem; that
the tree found is not less likely than the true one by more than a 1e-5 share; and that ExaML saw the ranks that were
requested, which each reports. Over 1, 2 and 8 ranks the likelihoods found differ by rounding alone.

Debian's program ``examl`` on PATH is a script that calls mpirun itself; the one behind it is taken.

Source: Kozlov, Aberer, Stamatakis, Bioinformatics 31 (2015) 2577; ExaML 3.0.22.
"""

from __future__ import annotations

import re

from ..launchers import Command
from ..records import Case, Host, Machine, Notice, Params, Residual
from . import Stated
from .common import application_log as log
from .common import phylogeny
from .common.application import Recipe, Step, command, resolved, workers
from .common.application_log import Part, Result
from .common.printed import NUMBER
from .common.table import table_of

TABLE = table_of(__file__)

SIZES = {
    "smoke": {"taxa": 24, "sites": 400},
    "small": {"taxa": 100, "sites": 4000},
    "medium": {"taxa": 218, "sites": 73408},
    "large": {"taxa": 218, "sites": 2349056},
}
#: Where Debian has them: ``examl`` on its PATH is a script that calls mpirun itself.
_FOLDER = "/usr/lib/examl/bin"
_BY_ISA = {
    "avx2": (f"{_FOLDER}/examl-avx2", "examl-AVX2"),
    "avx": (f"{_FOLDER}/examl-avx", "examl-AVX"),
    "": (f"{_FOLDER}/examl-sse3", "examl-SSE3"),
}


def programs(host: Host) -> dict[str, tuple[str, ...]]:
    """What the programs may be called: of the instruction sets that this processor has, the widest first."""
    names = [name for isa, some in _BY_ISA.items() if not isa or isa in host.cpu.isa for name in some]
    return {"examl": tuple(names), "parse": ("parse-examl", "parser"), **phylogeny.GENERATOR}


_SEARCH, _TRUTH = "search", "truth"


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    found = resolved(params, machine, SIZES, "sites", "examl")
    phylogeny.check_room("examl", found, machine.hosts[0])
    return (found,)


def _command(params: Params, host: Host) -> Command:
    ranks = int(params["ranks"])
    recipe = Recipe(
        application="examl",
        programs=programs(host),
        install="sudo apt-get install examl",
        steps=(
            phylogeny.generate(params),
            Step(name="parse", argv=("parse", "-s", "A.phy", "-n", "A", "-m", "DNA")),
            Step(
                name=_SEARCH,
                argv=("examl", "-t", "start.tree", "-m", "GAMMA", "-s", "A.binary", "-n", _SEARCH),
                ranks=ranks,
            ),
            Step(
                name=_TRUTH,
                argv=("examl", "-f", "e", "-t", "true.tree", "-m", "GAMMA", "-s", "A.binary", "-n", _TRUTH),
                ranks=ranks,
            ),
        ),
    )
    return command(recipe, params, host)


def parse(text: str, params: Params) -> tuple[Case, ...]:
    """The inference. Raises Garbage."""
    parts = log.parts(text, "examl", _SEARCH)
    search = parts[_SEARCH]
    best = _number(search, rf"^Likelihood of best tree: ({NUMBER})", "the likelihood of the best tree")
    total = _total(search)
    patterns = int(_number(search, r"^Alignment has (\d{1,12}) distinct alignment patterns", "the patterns"))
    truth = phylogeny.truth(parts)
    told = {**phylogeny.told(truth), "patterns": patterns}
    check = None
    more: tuple[Residual, ...] = ()
    work = {"patterns": float(patterns)}
    if truth is None:
        told["check"] = "not verified"
    else:
        found = _number(log.step(parts, _TRUTH), rf"^Likelihood tree 0: ({NUMBER})", "the likelihood of the true tree")
        check = phylogeny.best(best, found)
        more = (phylogeny.likelihood(truth, found),)
        work = {"characters": float(patterns * truth.taxa)}
    return log.cases(search, Result(told, work, total, total, {}, _ranks(search), check, more))


def _number(part: Part, pattern: str, what: str) -> float:
    return log.one_number(part.text, pattern, f"ExaML's log does not give {what}")


def _total(part: Part) -> float:
    return _number(part, rf"^Overall Time for 1 Inference ({NUMBER})", "the time of the inference")


def _ranks(part: Part) -> tuple[int, ...]:
    """Each rank reports its number; a file ExaML_info has none of it and says nothing of ranks."""
    found = re.findall(r"^This is ExaML FINE-GRAIN MPI Process Number: (\d{1,9})$", part.text, re.MULTILINE)
    copies = found.count("0")
    return (len(found) // copies,) * copies if copies else ()


def notices(text: str, params: Params) -> tuple[Notice, ...]:
    """Time that the log does not account for."""
    part = log.parts(text, "examl", _SEARCH)[_SEARCH]
    return log.outside(part, _total(part))


def _estimate_s(params: Params, host: Host) -> float:
    """4e-4 s a character of 24 taxa and 400 sites on a core, and more with the number of taxa."""
    taxa, sites = int(params["taxa"]), int(params["sites"])
    return 2.0 + 2e-4 * taxa * sites * (taxa / 24) / workers(host, int(params["ranks"]))


WORKLOAD = TABLE.workload(
    title="ExaML, as the site installed it: the best tree, over MPI ranks",
    command=_command,
    parse=parse,
    notices=notices,
    stated=lambda text: Stated(),
    resolve=_resolve,
    estimate_s=_estimate_s,
)
