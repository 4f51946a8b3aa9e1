"""User, mount and process namespaces of Linux by unshare(1) of util-linux: what containers are made of, without an image."""

from __future__ import annotations

from ..model import Kind, Place, Sample

_FLAGS = ("--user", "--map-current-user", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--")


def _words(place: Place) -> tuple[str, ...]:
    return place.program, *_FLAGS


KIND = Kind(
    name="namespaces",
    title="user, mount and process namespaces (unshare)",
    words=_words,
    programs=("unshare",),
    install="sudo apt-get install util-linux",
    changes=("user", "mnt", "pid"),
    samples=(
        Sample(
            place=Place(program="/usr/bin/unshare", folder="/scratch/run"),
            words=("/usr/bin/unshare", *_FLAGS),
        ),
    ),
)
