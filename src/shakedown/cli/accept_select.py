"""shakedown accept select: the smallest set of tests that would have found what earlier acceptances found."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..document import terminal
from ..errors import BadInput
from . import _accept

if TYPE_CHECKING:
    from ..acceptance.selection import Selection


def command(
    directories: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Acceptance directories.")],
    keep: Annotated[str, typer.Option(help="Which share of the findings must still be found.")] = "100 %",
    json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON on standard output.")] = False,
) -> None:
    """The fewest tests that would have found what these acceptances found: what to repeat when time is short."""
    from ..acceptance import checking, evaluating, selection
    from ..acceptance import directory as acceptances

    share = checking.quantity(keep, "1")
    if not 0 < share <= 1:
        raise BadInput(f"{keep!r} is not a share of the findings", where="--keep", hint="as 0.95 or '95 %'")
    results = {str(path): evaluating.evaluate(acceptances.open_(path)) for path in directories}
    found = selection.select(results, share)
    if json:
        terminal.print_json(found)
    else:
        _show(found)


def _show(found: Selection) -> None:
    """The tests to do, those that need not be done, and how much that rests on."""
    from ..document.text import count
    from ..units import show_seconds

    rows = [
        (
            "yes" if one.chosen else "no",
            one.test,
            str(one.found),
            str(one.alone),
            "not done" if one.seconds is None else show_seconds(one.seconds),
        )
        for one in found.tests
    ]
    lines = _accept.table(("do it", "test", "found", "alone", "takes"), rows, _accept.columns())
    chosen = sum(one.chosen for one in found.tests)
    lines += [
        "",
        f"{count(chosen, 'test')} of {len(found.tests)} found {found.kept} of {count(found.findings, 'finding')}.",
    ]
    if found.low is None:
        lines.append("All are of one session: nothing says what these tests would have missed in another.")
    else:
        lines += _accept.folded(
            f"With each of {found.sessions} sessions left out in turn, tests chosen from the others found "
            f"{found.held_out_found} of their {found.held_out} findings, and all of "
            f"{count(found.held_out_whole, 'session')}: {found.held_out_whole / found.sessions:.0%} "
            f"[{found.low:.0%}, {found.high:.0%}] of the sessions.",
            0,
            _accept.columns(),
        )
    for line in lines:
        print(line)
