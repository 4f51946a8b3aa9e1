"""shakedown radio links: the loss of every pair of radios, sorted, and what the usable links make of a network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..document import terminal
from ..errors import BadInput, CannotMeasure
from . import _radio_scene

if TYPE_CHECKING:
    from ..radio.pages.links import LinkTable
    from ..radio.pages.network import Connectivity
    from ..radio.scene import LinkBudget, Radio

#: Above so many radios all pairs are kept as one array of losses alone.
SHOWN = 40


def command(
    ctx: typer.Context,
    below_db: Annotated[
        float | None, typer.Option(help="Only links with a loss below this, in dB. Default: all pairs.")
    ] = None,
    rows: Annotated[int, typer.Option(min=0, help="How many links are printed.")] = SHOWN,
    html: Annotated[Path | None, typer.Option(help="Write the page with its map here.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write all links here, as CSV.")] = None,
    parquet: Annotated[Path | None, typer.Option(help="Write all links here, as Parquet.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """The loss between all radios, sorted: which links the link budget can use, and whether they make one network.

    Exit code 3 where no link has a loss.
    """
    from ..radio.pages import links as pages

    _radio_scene.check_names({"--csv": csv, "--parquet": parquet}, {"--csv": ".csv", "--parquet": ".parquet"})
    with _radio_scene.opened(ctx) as scene:
        if len(scene.radios) < 2:
            raise BadInput("a link is between two radios, and there is one", hint="give a file of two or more")
        found, unknown = scene.links(below_db)
    table = pages.table(scene.radios, *found, scene.made.budget, unknown)
    parts = pages.connectivity(table, len(scene.radios))
    for path in (csv, parquet):
        if path:
            pages.write(path, table, scene.radios)
            terminal.say(f"links: {path}")
    if html:
        _radio_scene.write_page(
            html, lambda version: pages.document(table, parts, scene.radios, scene.made, version=version)
        )
    if json:
        _print_json(table, parts, scene.radios, scene.made.budget)
    else:
        _print(table, parts, scene, rows)
    if not len(table.a) and below_db is None:
        raise CannotMeasure("no link has a loss", hint="look at where the radios stand on the terrain")


def _print(table: LinkTable, parts: Connectivity, scene: _radio_scene.Scene, rows: int) -> None:
    from ..radio.pages import links as pages

    budget = scene.made.budget
    for sentence in pages.sentences(table, parts, scene.radios, budget.usable_loss_db):
        terminal.print_sentence(sentence)
    for sentence in scene.made.left_out:
        terminal.print_sentence(sentence)
    terminal.print_table(
        pages.HEADINGS, pages.rows(table, scene.radios, rows), "Links by loss", ("SNR, dB", "distance")
    )
    if (more := len(table.a) - rows) > 0:
        print(f"  {more:,} more: --rows {len(table.a)}, --csv FILE, --parquet FILE")


def _print_json(table: LinkTable, parts: Connectivity, radios: tuple[Radio, ...], budget: LinkBudget) -> None:
    from ..radio.pages import links as pages

    length_m = pages.distances_m(table, radios).tolist()
    columns = (table.a.tolist(), table.b.tolist(), length_m, table.loss_db.tolist(), table.snr_db.tolist())
    terminal.print_json(
        {
            "usable_loss_db": budget.usable_loss_db,
            "possible": table.possible,
            "unknown": table.unknown,
            "usable": int(table.usable.sum()),
            "parts": parts.sizes.tolist(),
            "radios": [
                {
                    "id": one.id,
                    "name": one.name,
                    **{name: getattr(one.place, name) for name in ("latitude_deg", "longitude_deg", "height_m")},
                    "usable_links": near,
                    "part": part,
                    "splits": splits,
                }
                for one, near, part, splits in zip(
                    radios, parts.neighbours.tolist(), parts.part.tolist(), parts.splits.tolist(), strict=True
                )
            ],
            "links": [
                {
                    "a": radios[a].id,
                    "b": radios[b].id,
                    "distance_m": round(distance, 3),
                    "loss_db": round(loss, 4),
                    "snr_db": round(snr, 4),
                    "usable": loss <= budget.usable_loss_db,
                }
                for a, b, distance, loss, snr in zip(*columns, strict=True)
            ],
        }
    )
