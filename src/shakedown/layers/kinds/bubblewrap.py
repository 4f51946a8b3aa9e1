"""Bubblewrap: the sandbox of Flatpak, with the whole file system of the host inside."""

from __future__ import annotations

from ..model import Kind, Place, Sample


def _words(place: Place) -> tuple[str, ...]:
    return (
        place.program,
        *("--unshare-user", "--unshare-pid", "--die-with-parent"),
        *("--dev-bind", "/", "/", "--proc", "/proc"),
        *("--chdir", place.folder, "--"),
    )


KIND = Kind(
    name="bubblewrap",
    title="a sandbox of Bubblewrap around the host's file system",
    words=_words,
    programs=("bwrap",),
    install="sudo apt-get install bubblewrap",
    changes=("user", "mnt", "pid"),
    samples=(
        Sample(
            place=Place(program="/usr/bin/bwrap", folder="/scratch/run"),
            words=(
                "/usr/bin/bwrap",
                *("--unshare-user", "--unshare-pid", "--die-with-parent", "--dev-bind", "/", "/"),
                *("--proc", "/proc", "--chdir", "/scratch/run", "--"),
            ),
        ),
    ),
)
