"""shakedown meter characterise: what a meter does to the truth, found by a load that we drive."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..document import terminal
from ..errors import BadInput, CannotMeasure
from . import common

if TYPE_CHECKING:
    from ..energy.characterise.experiments import Experiment, MeterKnowledge
    from ..energy.characterise.session import Findings, Recorded
    from ..metering.character import Character
    from ..metering.meters import Channel, Target

Name = Annotated[
    str,
    typer.Argument(metavar="TARGET", help="The meter, as `shakedown meter list` writes it. Not needed with --from."),
]
ChannelId = Annotated[
    str, typer.Option("--channel", help="Which of its channels, by id. Default: its only one of power.")
]
Reference = Annotated[
    str,
    typer.Option(
        help="A better meter on the same load, as TARGET or TARGET#CHANNEL: gain and offset are relative to it. Without "
        "one they stay unknown. With --from: the id of its channel."
    ),
]
Load = Annotated[
    str,
    typer.Option(
        help="A program that drives what the meter sees instead of the cores, such as a GPU: it takes --schedule FILE and "
        "prints the events of native/load (see docs/characterise.md)."
    ),
]
Minutes = Annotated[
    float,
    typer.Option(
        callback=common.not_negative, help="How long it may take. 10 minutes do for most; slow meters need 60."
    ),
]
From = Annotated[
    Path | None, typer.Option("--from", help="Take the recordings of this folder, and record nothing more.")
]
Directory = Annotated[
    Path | None,
    typer.Option(help="Where recordings go, and are gone on from. Default: meter-NAME in the working directory."),
]
Store = Annotated[
    Path | None, typer.Option(help="Where characters are kept. Default: $XDG_STATE_HOME/shakedown/meters.")
]
Keep = Annotated[bool, typer.Option("--keep/--no-keep", help="Keep the character, for runs with this meter.")]
Output = Annotated[
    Path | None, typer.Option(help="The page with figures. Default: character.html beside the recordings.")
]
Json = Annotated[bool, typer.Option("--json", help="Print the character as JSON.")]


def command(
    target: Name = "",
    channel: ChannelId = "",
    reference: Reference = "",
    load: Load = "",
    minutes: Minutes = 10.0,
    recordings: From = None,
    directory: Directory = None,
    output: Output = None,
    store: Store = None,
    keep: Keep = True,
    json: Json = False,
) -> None:
    """Find a meter's refresh, window, delay, gain, offset, resolution, noise and drift, by a load that is driven."""
    import time

    from ..energy.characterise import session
    from ..metering import character_store as known

    if recordings is not None:
        folder = recordings
        recorded = session.read(folder, channel, reference)
        if not recorded:
            raise BadInput(
                "there is no recording in this folder", where=str(folder), hint="name a folder with experiments"
            )
        findings = session.analyse(recorded)
    else:
        if not target:
            raise BadInput("no meter is named", where="TARGET", hint="`shakedown meter list` shows what there is")
        folder, recorded, findings = _record(target, channel, reference, load, minutes, directory)
    made_ns = recorded[-1].edges_ns[-1] if recordings is not None else time.time_ns()
    character = session.character(recorded, findings, made_ns=made_ns)
    if json:
        terminal.print_json(character)
    else:
        _print(character)
    if keep:
        terminal.say(f"\nkept: {known.save(character, store)}")
    if output or not json:
        path = output or folder / "character.html"
        _write_page(path, character, findings, recorded)
        terminal.say(f"page: {path}")


def _record(
    target: str, channel: str, reference: str, load: str, minutes: float, directory: Path | None
) -> tuple[Path, list[Recorded], Findings]:
    """Record what is missing. Raises BadInput, Unavailable, CannotMeasure."""
    import re

    from ..energy.characterise import driving, session
    from ..energy.characterise.experiments import Limits
    from ..hosts.access import LocalHost
    from ..metering import meters

    if not 1 <= minutes <= 24 * 60:
        raise BadInput(f"{minutes:g} minutes", where="--minutes", hint="give from 1 to 1440")
    door = LocalHost()
    asked = meters.parse_target(target)
    common.warn_of_passwords([target])
    targets = [asked]
    wanted = _channel(asked, channel, target)
    beside = ""
    if reference:
        name, _, of = reference.partition("#")
        better = meters.parse_target(name)
        if str(better) != str(asked):
            targets.append(better)
        beside = meters.channel_key(_channel(better, of, name))
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", meters.channel_key(wanted)).strip("-")
    folder = directory or Path(f"meter-{slug}")
    least = max(meters.get(asked.meter).least_poll_s, 0.001)
    _say_what_is_known(wanted)
    terminal.say(f"recording into {folder}, at most {minutes:g} minutes; the machine should do nothing else")
    recorded, findings = session.run(
        folder,
        driving.recorder(targets, door, load=load),
        Limits(60 * minutes, least),
        channel=meters.channel_key(wanted),
        reference=beside,
        progress=_progress,
    )
    return folder, recorded, findings


def _channel(target: Target, wanted: str, where: str) -> Channel:
    """Open the meter once, to know its channels. Raises what opening raises, and BadInput for an unknown channel."""
    from ..energy.characterise import session
    from ..hosts.access import LocalHost
    from ..metering import meters
    from ..metering.meters import Status

    source = meters.get(target.meter).open(target, LocalHost())
    try:
        chosen = session.choose(source.channels, wanted)
        answer = [one for one in source.read() if one.channel == chosen]
        if answer and all(one.status in (Status.REFUSED, Status.UNSUPPORTED) for one in answer):
            raise CannotMeasure(
                f"{source.channels[chosen].id} cannot be read: {answer[0].status.name.lower()}",
                where=where,
                hint="see `shakedown meter read` for why",
            )
        return source.channels[chosen]
    finally:
        source.close()


def _say_what_is_known(channel: Channel) -> None:
    from ..metering import character_store as known

    before = known.find(channel)
    for notice in before.notices:
        terminal.say(f"{notice.text}; {notice.advice}" if notice.advice else notice.text)


def _progress(step: Experiment, known: MeterKnowledge) -> None:
    from ..units import show_seconds

    terminal.say(f"  {step.name}: {show_seconds(step.seconds)}, for {step.why}")


def _print(character: Character) -> None:
    from ..energy.characterise import page as character_page

    print(f"{character.channel.title or character.channel.id}\n")
    for sentence in character_page.lead(character):
        print(f"  {sentence}")
    terminal.print_table(("what", "value", "95 % interval"), character_page.rows(character), "Character")
    for notice in character.notices:
        terminal.say(f"\n{notice.text}" + (f"\n  next: {notice.advice}" if notice.advice else ""))


def _write_page(path: Path, character: Character, findings: Findings, recorded: list[Recorded]) -> None:
    from .. import __version__
    from ..energy.characterise import page as character_page
    from ..files import atomic
    from ..report.formats import html

    page = character_page.document(character, findings, recorded, version=__version__)
    atomic.write(path, html.render_document(page))
