"""shakedown checkpoint: what lies in folders of checkpoints; `app.py` hangs the plan in from a file of its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..document import terminal
from ..errors import MET, NOT_MET, UNDECIDED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..checkpoint.library import Entry

app = typer.Typer(
    name="checkpoint",
    no_args_is_help=True,
    help="Checkpoints of applications: how often and at which level, what lies in a folder of checkpoints, and what of it "
    "can be restored. docs/checkpoint.md has the levels, the verbs and the library.",
)

Folders = Annotated[
    list[Path],
    typer.Argument(
        metavar="DIRECTORY...",
        help="Folders of one application: each node's own and the shared one, or a folder that holds them.",
        show_default=False,
    ),
]


@app.command("list")
def list_(
    directory: Folders, json: Annotated[bool, typer.Option("--json", help="Print the generations as JSON.")] = False
) -> None:
    """List the generations in folders of checkpoints, by their manifests; data are not read."""
    from ..checkpoint import library

    found = library.entries(library.folders_of(directory))
    if json:
        terminal.print_json(found)
    else:
        _print(found, "Generations")


@app.command("verify")
def verify(
    directory: Folders, json: Annotated[bool, typer.Option("--json", help="Print the verdicts as JSON.")] = False
) -> None:
    """Read all data, compare every checksum, and say which generation can be restored from which level, and why not.

    Exit code 0 the newest committed one can, 4 only with repairs or an older one, 1 none can, 3 a folder cannot be read.
    """
    from .. import times
    from ..checkpoint import library
    from ..units import show

    entries = library.entries(library.folders_of(directory), verify=True)
    found = library.judged(entries)
    if json:
        terminal.print_json({"generations": found, "entries": entries})
    else:
        rows = [
            (
                str(one.generation),
                times.utc(one.unix_s),
                show(one.bytes, "B"),
                f"L{one.level}" if one.level else "-",
                {"whole": "yes", "perhaps": "perhaps", "lost": "no"}[one.state],
                one.why,
            )
            for one in found
        ]
        terminal.print_table(("generation", "written", "size", "level", "can be restored", "why"), rows, "Generations")
        for entry in entries:
            for problem in entry.problems:
                terminal.print_sentence(f"{entry.folder}, generation {entry.generation}: {problem}", "  ", "    ")
    committed = {one.generation for one in entries if one.committed}
    states = [one.state for one in found if one.generation in committed]
    if states and states[0] == "whole":
        raise typer.Exit(MET)
    raise typer.Exit(NOT_MET if all(state == "lost" for state in states) else UNDECIDED)


@app.command("prune")
def prune(
    directory: Folders,
    keep: Annotated[int, typer.Option(help="Committed generations that stay at each level.", min=1)] = 2,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Remove nothing; print what would go.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print what went as JSON.")] = False,
) -> None:
    """Remove generations that newer committed ones, at least as safe, make superfluous, and what killed runs left.

    What stays is read first: where it is damaged, nothing is removed. Refused while a job writes there.
    """
    from ..checkpoint import library
    from ..document.text import count
    from ..units import show

    found = library.prune(library.folders_of(directory), keep=keep, dry_run=dry_run)
    if json:
        terminal.print_json(found)
    elif found:
        _print(found, "Would go" if dry_run else "Removed")
    words = "would be removed" if dry_run else "removed"
    terminal.say(f"{words}: {count(len(found), 'generation')}, {show(float(sum(one.bytes for one in found)), 'B')}")


@app.command("paths")
def paths(
    static: Annotated[bool, typer.Option("--static", help="The line that puts the library into the program.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Print where the library and its headers lie, with a line that compiles a program."""
    from ..checkpoint import library

    found = library.paths()
    if json:
        terminal.print_json(found)
        return
    terminal.print_pairs((("include", found.include), ("library", found.library)))
    print(f"  compile  {found.compile_static if static else found.compile}")


def _print(found: Sequence[Entry], title: str) -> None:
    from .. import times
    from ..units import show

    rows = [
        (
            one.folder,
            str(one.generation),
            times.utc(one.unix_s),
            f"L{one.level}" if one.committed else "not committed",
            f"{one.ranks_whole} of {one.ranks}",
            str(one.copies),
            str(one.parities),
            show(float(one.bytes), "B"),
            "; ".join(one.problems),
        )
        for one in found
    ]
    headings = ("folder", "generation", "written", "level", "ranks here", "copies", "parity", "size", "problem")
    terminal.print_table(headings, rows, title, spare=("parity", "copies", "written"))
