"""Bubblewrap: the sandbox of Flatpak, with the whole file system of the host inside.

Before each rank of an MPI program without process namespaces, as ``namespaces``.
"""

from __future__ import annotations

from ..model import WITHOUT_CMA, Kind, Place, Sample


def _words(place: Place) -> tuple[str, ...]:
    processes = () if place.of_ranks else ("--unshare-pid",)
    proc = () if place.of_ranks else ("--proc", "/proc")
    return (
        *(place.program, "--unshare-user", *processes, "--die-with-parent"),
        *("--dev-bind", "/", "/", *proc, "--chdir", place.folder, "--"),
    )


KIND = Kind(
    name="bubblewrap",
    title="a sandbox of Bubblewrap around the host's file system",
    words=_words,
    programs=("bwrap",),
    install="sudo apt-get install bubblewrap",
    changes=("user", "mnt"),
    alone=("pid",),
    env_of_ranks=WITHOUT_CMA,
    samples=(
        Sample(
            place=Place(program="/usr/bin/bwrap", folder="/scratch/run"),
            words=(
                *("/usr/bin/bwrap", "--unshare-user", "--unshare-pid", "--die-with-parent"),
                *("--dev-bind", "/", "/", "--proc", "/proc", "--chdir", "/scratch/run", "--"),
            ),
        ),
        Sample(
            place=Place(program="/usr/bin/bwrap", folder="/scratch/run", of_ranks=True),
            words=(
                *("/usr/bin/bwrap", "--unshare-user", "--die-with-parent"),
                *("--dev-bind", "/", "/", "--chdir", "/scratch/run", "--"),
            ),
        ),
    ),
)
