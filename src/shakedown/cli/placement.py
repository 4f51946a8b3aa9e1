"""shakedown placement: where the ranks of any MPI program run, what is wrong with that, and what it costs."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..document import terminal
from ..errors import MET, NOT_MET, BadInput, CannotMeasure
from . import common

if TYPE_CHECKING:
    from ..placement.launch import Kept
    from ..placement.node_latency import NodePair
    from ..placement.price import Factor
    from ..placement.records import Diagnosis

_PARENT = Path("placement")


def command(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN | -- LAUNCHER...",
            help="A run directory ('latest' is the newest below ./runs) or a folder that this verb left; or, behind --, a "
            "command that starts MPI ranks: mpirun -n 4 ./a.out ARGUMENTS.",
            show_default=False,
        ),
    ],
    price: Annotated[
        bool, typer.Option("--price", help="Launch it again and again, as it is and arranged: what placement costs.")
    ] = False,
    rounds: Annotated[int, typer.Option(min=1, max=1000, help="Rounds of --price; fewer than 6 have no interval.")] = 9,
    arrange: Annotated[
        str, typer.Option(help="What --price compares with, of compact, spread and one-node, separated by commas.")
    ] = "compact,spread,one-node",
    threads: Annotated[
        int, typer.Option(min=1, max=65536, help="Busy threads of each rank: so many CPUs it gets in an arrangement.")
    ] = 1,
    limit: Annotated[
        float, typer.Option(callback=common.not_negative, help="Seconds after which a launch is ended.")
    ] = 600.0,
    keep: Annotated[
        Path | None,
        typer.Option(
            help="A new folder for what was seen, which all hosts see (default: placement/TIME).", show_default=False
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Show where MPI ranks run, what is wrong with that, and what it costs.

    Exit code 0: nothing is wrong; 1: something is; 2: no launcher that is known; 3: nothing could be seen.
    """
    known = words[0] == "latest" or Path(words[0]).is_dir()
    if len(words) == 1 and known:
        if price:
            raise BadInput("--price launches a command", hint="shakedown placement --price -- mpirun -n 4 ./a.out")
        diagnoses, factors, nodes = _read(common.latest_run(Path("runs")) if words[0] == "latest" else Path(words[0]))
    else:
        _require_something(words)
        diagnoses, factors, nodes = _launched(words, price, rounds, arrange, threads, limit, keep)
    if json:
        terminal.print_json({"diagnoses": diagnoses, "price": factors, "node_latency": nodes})
    else:
        _show(diagnoses, factors)
        _show_nodes(nodes)
    raise typer.Exit(NOT_MET if any(one.wrong for _, one in diagnoses) else MET)


Found = tuple[list[tuple[str, "Diagnosis"]], "tuple[Factor, ...]", "tuple[NodePair, ...]"]


def _require_something(words: Sequence[str]) -> None:
    """Raises BadInput for one word that is neither a folder nor a command: of a run directory that is misspelt."""
    if len(words) == 1 and not Path(words[0]).exists() and not shutil.which(words[0]):
        raise BadInput(
            "there is no such folder, and no command of that name",
            where=words[0],
            hint="give a folder of records, a run directory, or a launcher: shakedown placement -- mpirun -n 4 ./a.out",
        )


def _launched(
    words: list[str], price: bool, rounds: int, arrange: str, threads: int, limit: float, keep: Path | None
) -> Found:
    from ..errors import unknown
    from ..placement import launch
    from ..placement.price import ARRANGEMENTS

    names = tuple(dict.fromkeys(filter(None, (name.strip() for name in arrange.split(",")))))
    for name in names:
        if name not in ARRANGEMENTS:
            raise unknown("arrangement", name, ARRANGEMENTS)
    if not limit:
        raise BadInput("--limit 0 would end every launch at once", hint="give seconds, such as 600")
    request = launch.Request(
        command=tuple(words),
        arrangements=names if price else (),
        rounds=rounds if price else 1,
        limit_s=limit,
        threads=threads,
    )
    folder = keep or launch.free_name(_PARENT)
    if keep is not None and (not keep.parent.is_dir() or (keep.exists() and any(keep.iterdir()))):
        raise BadInput("this is not a folder that can be made new", where=str(keep), hint="give an empty or a new one")
    launch.carry_out(request, folder, terminal.say)
    terminal.note(f"what was seen lies in {folder}; what the program printed in {folder}/as-launched/1")
    return _of_folder(launch.read(folder), folder)


def _of_folder(kept: Kept, folder: Path) -> Found:
    from ..placement import diagnosis, launch, price

    if not kept.first.ranks:
        why = "; ".join(f"{one.what}: {one.why}" for one in kept.first.damaged)
        raise CannotMeasure(f"no record of a rank can be read ({why})", where=str(folder), hint="launch it again")
    for name, other in kept.same.items():
        terminal.note(f"{name}: {launch.SAME} {other}")
    limit_s = kept.request.limit_s if kept.request else 600.0
    priced = price.factors(kept.launches, limit_s) if kept.launches else ()
    return [(str(folder), diagnosis.diagnose(kept.first.ranks, kept.first.damaged))], priced, ()


def _read(path: Path) -> Found:
    from ..placement import launch, node_latency, recorded
    from ..results.run_directory import RunDirectory

    if not (path / "manifest.json").exists():
        return _of_folder(launch.read(path), path)
    directory = RunDirectory.open(path)
    hosts = directory.hosts()
    loaded = directory.load()
    for gap in loaded.damaged:
        terminal.say(f"shakedown: {gap.what}: {gap.why}")
    found = []
    for one in loaded.measurements:
        if (made := recorded.diagnose(one, hosts)) is not None:
            found.append((f"{one.workload}, run {one.run}, repeat {one.repeat}", made))
    nodes = node_latency.pairs(loaded.measurements, hosts)
    if not found and not nodes:
        raise CannotMeasure(
            "no run in it says where its ranks were",
            where=str(path),
            hint="pingpong, collectives and hydro do; for any other program: shakedown placement -- mpirun ...",
        )
    return found, (), nodes


def _show(diagnoses: list[tuple[str, Diagnosis]], factors: tuple[Factor, ...]) -> None:
    from ..report import placement as page

    for where, one in diagnoses:
        print(f"\n{where}")
        terminal.print_sentence(page.title(one), "  ", "  ")
        for text, before in page.lines(one):
            terminal.print_sentence(text, before, before + "  ")
    if factors:
        terminal.print_table(
            ("Arrangement", "Median", "As launched takes", "Rounds", "So"),
            page.price_rows(factors),
            title="The price of the placement: the slowest rank's time as launched, over that under each arrangement",
        )


def _show_nodes(nodes: tuple[NodePair, ...]) -> None:
    from ..placement.node_latency import words

    if nodes:
        print("\nNUMA nodes: the firmware's distance beside the latency that was measured")
    for one in nodes:
        terminal.print_sentence(words(one), "  ", "    ")
