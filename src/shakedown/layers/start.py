"""The words of a layer in front of a program, with a witness on both sides of them.

    witness (outside)  unshare ...  witness (inside)  PROGRAM          before each rank
    witness (outside)  COMMAND  mpirun ...  witness (inside)  PROGRAM  around the whole job

Both witnesses leave a record in the run's folder and become what follows them, so that they cost a few milliseconds before
the program begins and nothing afterwards.
"""

from __future__ import annotations

import getpass
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from .. import programs
from ..errors import Unavailable
from ..hosts.access import HostAccess
from .asked import Asked, kind
from .model import Place

#: The folder of the witnesses' records, in that of the run.
FOLDER = "witness"


class Words(NamedTuple):
    """What stands before each rank's program, and around the launcher; what is set in the environment."""

    before: tuple[str, ...]
    around: tuple[str, ...] = ()
    env: Mapping[str, str] = MappingProxyType({})


def words(asked: Asked, program: str, folder: Path, door: HostAccess, *, ranks: int = 0, hosts: int = 1) -> Words:
    """What starts a program on so many ranks (0: without MPI), of the run whose folder this is. Raises Unavailable where the
    layer is not here."""
    image = _image(asked, door)
    place = Place(
        program=_program(asked, door),
        image=image,
        folder=str(folder),
        binds=_binds(asked, image, _needed(folder, program), door),
        user=_user(door),
        of_ranks=ranks > 0 and not asked.whole_job,
    )
    if asked.whole_job and hosts > 1:
        raise Unavailable(
            f"{asked.label} goes around one launcher on one host, and this job is over {hosts}",
            hint=f"{_before_ranks(asked)} puts it before each rank instead",
        )
    witness = (programs.path("witness"), "--to", str(folder / FOLDER), "--side")
    outside, inside = (*witness, "outside", "--"), (*witness, "inside", "--")
    layer = kind(asked.kind).words(place) if asked.kind else _of_site(asked, place)
    if asked.whole_job:
        return Words(inside, (*outside, *layer))
    env = kind(asked.kind).env_of_ranks if asked.kind and place.of_ranks else {}
    return Words((*outside, *layer, *inside), (), {name: text for name, text in env.items() if door.env(name) is None})


def _before_ranks(asked: Asked) -> str:
    return f"--under {asked.text.replace('@job', '', 1)}" if asked.kind else f"--under {asked.label}=COMMAND"


def missing(asked: Asked, door: HostAccess) -> Unavailable | None:
    """Why a layer cannot be here; None where nothing speaks against it."""
    try:
        _program(asked, door)
        _image(asked, door)
    except Unavailable as error:
        return error
    return None


def _program(asked: Asked, door: HostAccess) -> str:
    if not asked.kind:
        if door.which(asked.command[0]) is None and "{" not in asked.command[0]:
            raise Unavailable(
                f"{asked.label}: there is no program {asked.command[0]}", hint="load its module, or give its whole path"
            )
        return ""
    found = kind(asked.kind)
    if not found.programs:
        return ""
    for name in found.programs:
        if path := door.which(name):
            return path
    raise Unavailable(f"{asked.kind} needs {' or '.join(found.programs)}, which is not here", hint=found.install)


def _image(asked: Asked, door: HostAccess) -> str:
    """The image as the kind's program is to be given it; folders and files by their whole path."""
    if not asked.image:
        return ""
    wants = kind(asked.kind).image
    if wants == "name" or "://" in asked.image:
        return asked.image
    path = os.path.abspath(os.path.expanduser(asked.image))
    is_file = os.path.basename(path) in door.list(os.path.dirname(path))
    if not door.list(path) and (wants == "folder" or not is_file):
        raise Unavailable(
            f"the image {asked.image} of {asked.kind} is not a {wants} here",
            hint="make it (docs/overhead.md), or give its whole path on the hosts that the run is on",
        )
    return path


def _needed(folder: Path, program: str) -> list[str]:
    """The folders that must be seen inside: the run's own, the native programs, and for others than those Python with this
    package."""
    native = str(programs.folder().resolve())
    package = Path(__file__).resolve().parents[2]
    python = (Path(sys.prefix), Path(sys.base_prefix), package)
    found = [str(folder)]
    for one in (
        native,
        *([] if program.startswith(str(programs.folder())) else [str(path.resolve()) for path in python]),
    ):
        if one not in ("/", "/usr", "/usr/local") and not any(Path(one).is_relative_to(had) for had in found):
            found.append(one)
    return found


def _binds(asked: Asked, image: str, needed: Sequence[str], door: HostAccess) -> tuple[str, ...]:
    """The folders of the host to show inside; of an image that needs mount points the nearest that it has. Raises
    Unavailable where it has none."""
    if not asked.kind or not kind(asked.kind).mount_points:
        return tuple(needed)
    found: list[str] = []
    for folder in needed:
        if Path(folder).is_relative_to("/tmp"):
            continue  # shown as it is
        above = [folder, *map(str, Path(folder).parents)][:-1]
        point = next((one for one in above if Path(one).name in door.list(f"{image}{Path(one).parent}")), "")
        if not point or door.list(f"{image}{point}"):
            raise Unavailable(
                f"the image {asked.image} has no empty folder at which {folder} could be shown",
                hint=f"mkdir -p {image}{above[-1]}",
            )
        if point not in found:
            found.append(point)
    return tuple(found)


def _user(door: HostAccess) -> str:
    try:
        return door.env("USER") or getpass.getuser()
    except (KeyError, OSError):  # an account without a name
        return str(os.getuid())


def _of_site(asked: Asked, place: Place) -> tuple[str, ...]:
    """The site's command with ``{folder}`` and ``{native}`` in it replaced."""
    known = {"{folder}": place.folder, "{native}": str(programs.folder().resolve())}

    def filled(word: str) -> str:
        for name, value in known.items():
            word = word.replace(name, value)
        return word

    return tuple(map(filled, asked.command))
