"""shakedown radio explain: one link with every step of its loss."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..document import terminal
from ..errors import COULD_NOT_MEASURE, BadInput
from . import _radio_scene


def command(
    ctx: typer.Context,
    a: Annotated[str, typer.Argument(metavar="A", help="A radio, by its name or id.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another one.")],
    html: Annotated[Path | None, typer.Option(help="Write the page with the profile here.")] = None,
    png: Annotated[Path | None, typer.Option(help="Write the profile alone here, as a picture.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON, with the profile.")] = False,
) -> None:
    """The loss between two radios with every step: profile, horizons, Fresnel zone, each term with its source, warnings.

    Exit code 3 where the link has no loss.
    """
    from ..radio import radios as reading
    from ..radio.pages import explain as pages
    from ..radio.pages import profile

    _radio_scene.check_names({"--png": png}, {"--png": ".png"})
    with _radio_scene.opened(ctx) as scene:
        one, other = (reading.find(scene.radios, word) for word in (a, b))
        if one == other:
            raise BadInput(f"{a} and {b} are the same radio", hint="name two")
        low, high = min(one, other), max(one, other)  # losses of pairs are those from the lower index to the higher
        link = pages.Explained(scene.radios[low], scene.radios[high], scene.engine.explain(low, high))
    path = pages.path_of(link, scene.made.setting.frequency_mhz)
    if html:
        _radio_scene.write_page(html, lambda version: pages.document(link, scene.made, version=version))
    if png:
        if path is None or path.length_m == 0:
            raise BadInput("the link has no profile to be drawn", where=str(png), hint="leave --png out")
        _radio_scene.write_picture(png, profile.drawing(path))
    if json:
        terminal.print_json({"a": link.a, "b": link.b, **link.said})
    else:
        for sentence in pages.sentences(link, scene.made.budget, path):
            terminal.print_sentence(sentence)
        terminal.print_table(pages.HEADINGS, pages.rows(link), "Terms of the loss", ("source", "meaning"))
    if link.loss_db is None:
        raise typer.Exit(COULD_NOT_MEASURE)
