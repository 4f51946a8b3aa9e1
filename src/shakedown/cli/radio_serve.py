"""shakedown radio serve: positions of radios in, their losses out, every half second."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..document import terminal
from ..errors import COULD_NOT_MEASURE, MET, BadInput, unknown

if TYPE_CHECKING:
    from ..radio.serve.loop import ServeConfig

_ALTITUDES = ("sea", "ground", "nothing")
From = Annotated[
    list[str],
    typer.Option(
        "--from",
        metavar="SOURCE",
        help="Where positions come from; may be given again. emane[:GROUP:PORT[@INTERFACE]] (location events), "
        "nmea:udp:PORT[-PORT][=ID], nmea:tcp:HOST:PORT[=ID], json:udp:PORT, json:tcp:HOST:PORT, json:listen:[HOST:]PORT, "
        "json:- (standard input), trace:FILE (.csv, .jsonl, .eel, .nmea).",
    ),
]
To = Annotated[
    list[str],
    typer.Option(
        "--to",
        metavar="TARGET",
        help="Where losses go; may be given again. emane[:GROUP:PORT[@INTERFACE]] (path loss events), eel:FILE, "
        "json:HOST:PORT or json:/PATH (a socket that readers connect to). Without one, nothing is sent.",
    ),
]


def command(
    ctx: typer.Context,
    sources: From,
    targets: To = [],  # noqa: B006 -- typer copies it
    every: Annotated[float, typer.Option(help="Seconds from one update to the next.")] = 0.5,
    above_db: Annotated[float, typer.Option(help="A loss is sent where it changed by more than this, in dB.")] = 1.0,
    refresh: Annotated[
        float, typer.Option(help="Seconds within which everybody is sent all again, for who came late; 0: never.")
    ] = 10.0,
    antenna_m: Annotated[
        float, typer.Option(help="Height above ground, in m, where none is known; no altitude gives less.")
    ] = 2.0,
    altitudes: Annotated[
        str, typer.Option(help="What altitudes of events and NMEA are above: sea, ground, or nothing (unused).")
    ] = "sea",
    most_radios: Annotated[int, typer.Option(help="Radios beyond that are refused.")] = 5000,
    datagram_bytes: Annotated[int, typer.Option(help="The longest datagram of events, in bytes.")] = 1400,
    most_mbit: Annotated[float, typer.Option(help="Events are sent at up to so many Mbit/s.")] = 100.0,
    speed: Annotated[float, typer.Option(help="Of a trace: 1 is real time; 0 is as fast as it goes.")] = 1.0,
    gather: Annotated[float, typer.Option(help="Seconds in which positions come in before the first update.")] = 2.0,
    seconds: Annotated[float, typer.Option(help="How long; 0: until Ctrl-C or the end of all input.")] = 0.0,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON on standard output.")] = False,
) -> None:
    """Take positions of radios as they come and send the losses that changed: live, for an emulator.

    At the end (Ctrl-C, SIGTERM, the end of all input) it reports how late updates were, which intervals were skipped, and
    what was left out. Exit code 3 where no update was made.
    """
    from ..radio.serve.updater import Settings
    from . import _radio

    said = _radio.given(ctx)
    if altitudes not in _ALTITUDES:
        raise unknown("word", altitudes, _ALTITUDES, where="--altitudes")
    numbers = {"every": every, "above_db": above_db, "refresh": refresh, "antenna_m": antenna_m, "gather": gather,
               "most_mbit": most_mbit, "speed": speed, "seconds": seconds, "most_radios": most_radios,
               "datagram_bytes": datagram_bytes}  # fmt: skip
    _check(numbers)
    settings = Settings(above_db, _radio.budget(said).usable_loss_db, antenna_m, altitudes)  # type: ignore[arg-type]
    _serve(said, _config(sources, targets, settings, numbers), json=json)


#: Numbers of the command line: the least and the most that they may be.
_RANGES = {
    "every": (0.01, 3600.0),
    "above_db": (0.0, 100.0),
    "refresh": (0.0, 86400.0),
    "antenna_m": (0.5, 3000.0),
    "gather": (0.0, 3600.0),
    "most_mbit": (0.001, 1e6),
    "speed": (0.0, 1e6),
    "seconds": (0.0, 1e9),
    "most_radios": (2, 65534),
    "datagram_bytes": (100, 65507),
}


def _check(numbers: dict[str, float]) -> None:
    """Raises BadInput for a number that is out of its range."""
    for name, value in numbers.items():
        least, most = _RANGES[name]
        if not least <= value <= most:
            option = f"--{name.replace('_', '-')}"
            raise BadInput(f"{option} = {value:g}", where="the command line", hint=f"give {least:g} to {most:g}")


def _config(sources: list[str], targets: list[str], settings: Any, numbers: dict[str, float]) -> ServeConfig:
    from ..radio.serve import addresses
    from ..radio.serve.loop import ServeConfig

    return ServeConfig(
        inputs=tuple(one for text in sources for one in addresses.inputs(text)),
        outputs=tuple(map(addresses.output, targets)),
        settings=settings,
        every_s=numbers["every"],
        refresh_s=numbers["refresh"],
        most_radios=int(numbers["most_radios"]),
        limit_bytes=int(numbers["datagram_bytes"]),
        most_bytes_per_s=numbers["most_mbit"] * 1e6 / 8,
        speed=numbers["speed"],
        gather_s=numbers["gather"],
        seconds=numbers["seconds"],
    )


def _serve(said: dict[str, Any], config: ServeConfig, *, json: bool) -> None:
    """Serves to the end and reports, whatever the end was. Raises the error that ended it."""
    from ..radio.serve import tally
    from ..radio.serve.loop import Server, Wake
    from . import _radio, _radio_scene

    terrain, town = _radio.ground_and_town(said)
    with _radio_scene.engine(said, terrain, _radio.setting(said), town) as engine:
        wake = Wake()
        try:
            with wake.on_signals():  # before anything is told: who hears of it may send one
                server = Server(config, engine, terrain, wake)
                for one in server.readers:
                    terminal.say(f"shakedown: losses as lines of JSON at {one.address}")
                report, error = server.run(lambda text: terminal.say(f"shakedown: {text}"))
        finally:
            wake.close()
    if json:
        terminal.print_whole_json(report)
    else:
        terminal.print_pairs(tally.pairs(report))
    if error is not None:
        raise error
    if not report.updates:
        terminal.note("shakedown: no update was made: positions of two radios are needed\n  next: look at --from")
    raise typer.Exit(MET if report.updates else COULD_NOT_MEASURE)
