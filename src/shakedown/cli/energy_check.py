"""shakedown energy check, draw and bundle: the level of a power submission, the nodes to measure, what to hand in."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..document import terminal

if TYPE_CHECKING:
    from ..energy.green500.levels import Assessment
    from ..energy.green500.rules import Rules
    from ..energy.green500.submission import Submission

File = Annotated[Path, typer.Argument(help="The submission's description in TOML (docs/green500.md).")]
RuleSet = Annotated[str, typer.Option("--rules", help="Which rules: eehpcwg-2.0, eehpcwg-3.0-draft.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Wanted = Annotated[int | None, typer.Option("--level", min=1, max=3, help="The level that must be reached.")]


def check(file: File, rules: RuleSet = "eehpcwg-2.0", level: Wanted = None, json: Json = False) -> None:
    """Say which level each aspect of a power submission reaches, which rule fails, and what the next level needs."""
    from ..energy.green500 import levels

    _, found, _ = _assessed(file, rules)
    if json:
        terminal.print_whole_json(found)
    else:
        _print(found)
    code = levels.exit_code(found, level)
    if code:
        terminal.say(f"shakedown: Level {level or 1} is not reached")
        raise typer.Exit(code)


def draw(
    file: File,
    level: Annotated[int, typer.Option("--level", min=1, max=3, help="The level to draw for.")] = 1,
    seed: Annotated[int | None, typer.Option(help="Of the draw; default: a fresh one, which is recorded.")] = None,
    rules: RuleSet = "eehpcwg-2.0",
    output: Annotated[Path | None, typer.Option(help="Where to keep it. Default: DESCRIPTION.draw.toml.")] = None,
    json: Json = False,
) -> None:
    """Draw the nodes to measure at random: the fewest that a level needs, whole groups that share supplies."""
    from ..energy.green500 import node_sample as drawing
    from ..energy.green500 import rules as rule_sets
    from ..energy.green500 import submission
    from ..files import atomic

    chosen = secrets.randbits(32) if seed is None else seed
    found = drawing.draw(submission.read(file), rule_sets.load(rules), level, chosen)
    text = drawing.selection_toml(found)
    path = output or file.with_suffix(".draw.toml")
    atomic.write(path, text)
    if json:
        terminal.print_whole_json(found)
    else:
        print(text, end="")
    terminal.say(f"kept: {path}; put its [selection] into {file.name}, and meters on the nodes")


def bundle(
    file: File,
    output: Annotated[Path, typer.Option("--output", "-o", help="A folder, or a file that ends in .zip.")],
    rules: RuleSet = "eehpcwg-2.0",
    level: Wanted = None,
    json: Json = False,
) -> None:
    """Write what is handed in: series, summary, schematic, meters, losses, the evidence for every rule, checksums."""
    from ..energy.green500 import levels
    from ..energy.green500 import submission_package as bundles
    from ..strict import read_text

    given, found, chosen = _assessed(file, rules)
    contents = bundles.files(given, found, chosen, read_text(file))
    bundles.write(output, contents)
    if json:
        terminal.print_whole_json({"path": str(output), "files": sorted(contents), "level": found.level})
    else:
        print(levels.summary(found))
        for name in sorted(contents):
            print(f"  {name}")
    terminal.say(f"bundle: {output}")
    code = levels.exit_code(found, level)
    if code:
        terminal.say(f"shakedown: Level {level or 1} is not reached")
        raise typer.Exit(code)


def _assessed(file: Path, rules: str) -> tuple[Submission, Assessment, Rules]:
    from ..energy.green500 import levels, submission
    from ..energy.green500 import rules as rule_sets

    chosen = rule_sets.load(rules)
    given = submission.load(file)
    return given, levels.assess(given, chosen), chosen


def _print(found: Assessment) -> None:
    from ..energy.green500 import levels
    from ..energy.green500 import submission_package as bundle
    from ..energy.uncertainty.quantity import advice, gathered

    print(levels.summary(found))
    for aspect in found.aspects:
        print(f"\n  {aspect.id:<3} {aspect.title}: Level {aspect.level}")
        for text in aspect.evidence:
            print(f"        {text}")
        for text in levels.unmet(aspect):
            print(f"      - {text}")
    print()
    if found.doubt:
        print(f"  The power does not stand for the system: {found.doubt}")
    for name, value in (("core phase", found.core), ("full run", found.full_run), ("idle", found.idle)):
        if value is not None:
            print(f"  {name:<12} {bundle.with_u(value)}")
    if found.rmax is not None:
        print(f"  {'efficiency':<12} {bundle.efficiency_told(found)}")
    if words := advice(found.core):
        print(f"  {words}")
    if found.next:
        print(f"\nTo reach Level {found.level + 1}:")
        for sentence in found.next:
            print(f"  - {sentence}")
    for notice in gathered((*found.notices, *found.core.notices)):
        terminal.say(f"note: {notice.text}" + (f" -> {notice.advice}" if notice.advice else ""))
