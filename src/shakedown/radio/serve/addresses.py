"""Where positions come from and where losses go, as they are written on the command line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal, NamedTuple

from ...errors import BadInput
from ...units import whole_number
from ..scene import FIRST_ID, LAST_ID
from ..wire import emane

FROM_HELP = (
    "emane[:GROUP:PORT[@INTERFACE]], nmea:udp:PORT[-PORT][=ID], nmea:tcp:HOST:PORT[=ID], json:udp:PORT, "
    "json:tcp:HOST:PORT, json:listen:[HOST:]PORT, json:- or trace:FILE"
)
TO_HELP = "emane[:GROUP:PORT[@INTERFACE]], eel:FILE, json:HOST:PORT or json:/PATH"
_HOST = r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^:@=\[\]]+)"
_GROUP = re.compile(rf"emane(?::{_HOST}:(?P<port>[0-9]+))?(?:@(?P<interface>[\w.:-]+))?")
_UDP = re.compile(r"(?P<kind>nmea|json):udp:(?P<port>[0-9]+)(?:-(?P<last>[0-9]+))?(?:=(?P<radio>[0-9]+))?")
_STREAM = re.compile(rf"(?P<kind>nmea|json):(?P<way>tcp|listen):(?:{_HOST}:)?(?P<port>[0-9]+)(?:=(?P<radio>[0-9]+))?")
_SOCKET = re.compile(rf"json:{_HOST}:(?P<port>[0-9]+)")


class Input(NamedTuple):
    """Where positions come from. ``radio``: that of sentences that name none, on a port; those of the ports after it
    follow."""

    kind: Literal["emane", "nmea", "json", "trace"]
    way: Literal["multicast", "udp", "tcp", "listen", "stdin", "file"]
    host: str = ""
    port: int = 0
    interface: str = ""
    radio: int | None = None
    path: str = ""


class Output(NamedTuple):
    """Where losses go."""

    kind: Literal["emane", "eel", "json"]
    host: str = ""
    port: int = 0
    interface: str = ""
    path: str = ""


def inputs(text: str) -> tuple[Input, ...]:
    """What a word of ``--from`` says: one, or one for each port of a range. Raises BadInput."""
    if found := _GROUP.fullmatch(text):
        return (Input("emane", "multicast", *_group(found, text)),)
    if found := _UDP.fullmatch(text):
        return _ports(found, text)
    if found := _STREAM.fullmatch(text):
        kind, way = found["kind"], found["way"]
        if way == "tcp" and not found["host"]:
            raise _wrong(text, "--from", f"name the host, as in {kind}:tcp:localhost:2947")
        host = (found["host"] or "localhost").strip("[]")
        return (Input(_kind(kind), "tcp" if way == "tcp" else "listen", host, _port(found["port"], text),
                      radio=_radio(found["radio"], text)),)  # fmt: skip
    if text in ("json:-", "nmea:-"):
        return (Input(_kind(text[:4]), "stdin"),)
    if text.startswith("trace:") and len(text) > 6:
        return (Input("trace", "file", path=text[6:]),)
    raise _wrong(text, "--from", FROM_HELP)


def output(text: str) -> Output:
    """What a word of ``--to`` says. Raises BadInput."""
    if found := _GROUP.fullmatch(text):
        return Output("emane", *_group(found, text))
    if text.startswith("eel:") and len(text) > 4:
        return Output("eel", path=text[4:])
    if text.startswith(("json:/", "json:./")):
        return Output("json", path=str(Path(text[5:])))
    if found := _SOCKET.fullmatch(text):
        return Output("json", found["host"].strip("[]"), _port(found["port"], text, least=0))
    raise _wrong(text, "--to", TO_HELP)


def _group(found: re.Match[str], text: str) -> tuple[str, int, str]:
    host = (found["host"] or emane.GROUP).strip("[]")
    return host, _port(found["port"] or str(emane.PORT), text), found["interface"] or ""


def _ports(found: re.Match[str], text: str) -> tuple[Input, ...]:
    first = _port(found["port"], text)
    last = _port(found["last"], text) if found["last"] else first
    radio = _radio(found["radio"], text)
    if last < first or last - first >= 1024:
        raise _wrong(text, "--from", "give at most 1,024 ports, the lowest first")
    if radio is not None and radio + last - first > LAST_ID:
        raise _wrong(text, "--from", f"the last of its ids would be above {LAST_ID}")
    return tuple(
        Input(_kind(found["kind"]), "udp", port=port, radio=None if radio is None else radio + port - first)
        for port in range(first, last + 1)
    )


def _kind(word: str) -> Literal["nmea", "json"]:
    return "nmea" if word == "nmea" else "json"


def _port(word: str, text: str, least: int = 1) -> int:
    number = whole_number(word, least, 65535)
    if number is None:
        raise BadInput(f"{word[:40]!r} is not a port", where=text, hint=f"give {least} to 65535")
    return number


def _radio(word: str | None, text: str) -> int | None:
    if word is None:
        return None
    number = whole_number(word, FIRST_ID, LAST_ID)
    if number is None:
        raise BadInput(f"{word[:40]!r} is not the id of a radio", where=text, hint=f"give {FIRST_ID} to {LAST_ID}")
    return number


def _wrong(text: str, option: str, hint: str) -> BadInput:
    return BadInput(f"{text!r} is not understood", where=option, hint=hint)
