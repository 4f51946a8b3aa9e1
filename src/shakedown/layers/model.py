"""What a kind of layer is."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

#: Ranks whose user namespaces differ cannot read each other's memory. Open MPI 4 says so, and messages of some size then
#: never arrive, unless it is told from the start.
WITHOUT_CMA = {"OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
#: The kinds of namespaces, as /proc/PID/ns names them.
NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts")


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where the words of a layer are to stand."""

    program: str = ""  # the path of the layer's own program, as it was found here
    image: str = ""
    folder: str  # the run's own folder, absolute: the working directory, inside as well
    binds: tuple[str, ...] = ()  # folders of the host that must be seen inside under the same path
    user: str = "nobody"
    of_ranks: bool = False  # in front of each rank of an MPI program


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """What a kind must make of a place; a contract test compares them."""

    place: Place
    words: tuple[str, ...]


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of layer."""

    name: str
    title: str
    words: Callable[[Place], tuple[str, ...]]
    """What stands in front of a program."""
    programs: tuple[str, ...] = ()
    """Its own program, by the names that it may have on PATH; the first found is taken. Empty: it needs none."""
    install: str = ""
    """What brings it."""
    image: str = ""
    """How an image is named, for messages: empty where the kind takes none. ``folder``: it must be there as a folder."""
    mount_points: bool = False
    """Whether a folder of the host can only be shown where the image has an empty one."""
    changes: tuple[str, ...] = ()
    """What must differ from outside: namespaces, and ``root`` for the file system. Empty: nothing may differ."""
    alone: tuple[str, ...] = ()
    """What must differ besides, but where the layer stands before each rank."""
    env_of_ranks: dict[str, str] = {}
    """What is set in the environment, unless it is set there, where the layer stands before each rank."""
    samples: tuple[Sample, ...] = ()
