"""User, mount and process namespaces of Linux by unshare(1) of util-linux: what containers are made of, without an image.

Before each rank of an MPI program without process namespaces: Open MPI takes two ranks for one where both have the same
process number. Around the whole job (``namespaces@job``) with them.
"""

from __future__ import annotations

from ..model import WITHOUT_CMA, Kind, Place, Sample

_ALWAYS = ("--user", "--map-current-user", "--mount")
_ALONE = ("--pid", "--fork", "--kill-child", "--mount-proc")


def _words(place: Place) -> tuple[str, ...]:
    return (place.program, *_ALWAYS, *(() if place.of_ranks else _ALONE), "--")


KIND = Kind(
    name="namespaces",
    title="user, mount and process namespaces (unshare)",
    words=_words,
    programs=("unshare",),
    install="sudo apt-get install util-linux",
    changes=("user", "mnt"),
    alone=("pid",),
    env_of_ranks=WITHOUT_CMA,
    samples=(
        Sample(
            place=Place(program="/usr/bin/unshare", folder="/scratch/run"),
            words=(
                *("/usr/bin/unshare", "--user", "--map-current-user", "--mount"),
                *("--pid", "--fork", "--kill-child", "--mount-proc", "--"),
            ),
        ),
        Sample(
            place=Place(program="/usr/bin/unshare", folder="/scratch/run", of_ranks=True),
            words=("/usr/bin/unshare", "--user", "--map-current-user", "--mount", "--"),
        ),
    ),
)
