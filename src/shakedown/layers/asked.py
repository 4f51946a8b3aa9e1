"""What a user writes behind ``--under``, read strictly:

- ``native``, ``control``, ``namespaces``, ``bubblewrap``: kinds without an image
- ``charliecloud:/images/deb12``: a kind and its image
- ``numa=numactl --interleave=all``: a command of the site's under a name of its own, before each rank
- ``guest@job=/opt/site/in-guest {folder}``, ``namespaces@job``: once around the whole of mpirun
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .. import plugins
from ..errors import BadInput, unknown
from .model import Kind

NATIVE, CONTROL = "native", "control"
_OF_SITE = re.compile(r"([A-Za-z][A-Za-z0-9_.-]{0,39})(@job)?=(.*)", re.DOTALL)
_HINT = "docs/overhead.md has the kinds; a command of your own is written NAME=COMMAND"


class Asked(NamedTuple):
    """One layer as it was asked for."""

    text: str  # as it was written: what names the run
    label: str  # for a person, and among the parameters of cases
    kind: str = ""  # empty: the site's command
    image: str = ""
    command: tuple[str, ...] = ()
    whole_job: bool = False  # once around the launcher, not before each rank


def names() -> tuple[str, ...]:
    """The names of all kinds."""
    return plugins.names("layers.kinds")


def kind(name: str) -> Kind:
    """The kind of that name. Raises BadInput with the nearest."""
    found = plugins.load("layers.kinds", "KIND", name)
    assert isinstance(found, Kind)
    return found


def read(text: str, where: str = "") -> Asked:
    """One of them. Raises BadInput."""
    if of_site := _OF_SITE.fullmatch(text):
        return _of_site(text, of_site, where)
    written, colon, image = text.partition(":")
    name, whole_job = written.removesuffix("@job"), written.endswith("@job")
    if name not in names():
        error = unknown("kind", name, names(), where=where)
        raise BadInput(f"{error.what} of layer", where=where, hint=f"{error.hint}; {_HINT}")
    found = kind(name)
    if found.image and not image:
        raise BadInput(f"{name} needs an image ({found.image})", where=where, hint=f"write it as --under {name}:IMAGE")
    if colon and not found.image:
        raise BadInput(f"{name} takes no image", where=where, hint=f"write {name} alone")
    if whole_job and not found.changes:
        raise BadInput(f"{name} is around nothing", where=where, hint=f"write {name} alone")
    return Asked(text, text, name, image, (), whole_job)


def _of_site(text: str, match: re.Match[str], where: str) -> Asked:
    name, whole_job, line = match[1], bool(match[2]), match[3]
    if name in names():
        raise BadInput(
            f"{name!r} is a kind of its own, and not a name for a command", where=where, hint="give another name"
        )
    try:
        words = tuple(shlex.split(line))
    except ValueError as error:
        raise BadInput(f"{line!r} cannot be split into words: {error}", where=where, hint="close the quotes") from None
    if not words:
        raise BadInput(f"{name}= has no command", where=where, hint=f"write it as {name}='numactl --interleave=all'")
    return Asked(text, name, "", "", words, whole_job)


def split(text: str) -> list[str]:
    """The parts between commas. A command has all that follows it: it may have commas of its own."""
    found: list[str] = []
    rest = text.strip()
    while rest and not _OF_SITE.fullmatch(rest):
        first, _, rest = rest.partition(",")
        found.append(first.strip())
        rest = rest.strip()
    return [one for one in (*found, rest) if one]


def read_all(texts: Iterable[str], where: str = "") -> tuple[Asked, ...]:
    """All of them, each once. Raises BadInput, also where two have the same name."""
    found = [read(part, where) for text in texts for part in split(text)]
    unique = list(dict.fromkeys(found))
    labels = [one.label for one in unique]
    if twice := next((label for label in labels if labels.count(label) > 1), ""):
        raise BadInput(f"{twice!r} names two commands", where=where, hint="give each a name of its own")
    return tuple(unique)


class Turn(NamedTuple):
    """One launch of a round: under what, and of which pair it is part."""

    under: str = ""
    pair: str = ""  # the label of the layer that a native launch stands beside; empty: of no pair


#: A launch that is asked for under nothing.
NO_LAYER = Turn()


def turns(layers: Sequence[Asked]) -> tuple[Turn, ...]:
    """What a round launches: with ``native`` among the layers each of the others has a native launch beside it."""
    others = [one for one in layers if one.label != NATIVE]
    if len(others) == len(layers) or not others:
        return tuple(Turn(one.text) for one in layers) or (NO_LAYER,)
    return tuple(turn for one in others for turn in (Turn(NATIVE, one.label), Turn(one.text, one.label)))


def label(text: str) -> str:
    """How the layer that was written so is called; empty for none."""
    match = _OF_SITE.fullmatch(text)
    return match[1] if match else text
