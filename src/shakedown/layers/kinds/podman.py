"""Podman, with the network, the shared memory and the process numbers of the host, which ranks of MPI need to find each
other. The image must have the C library and the MPI that the program is linked to."""

from __future__ import annotations

from ..model import Kind, Place, Sample


def _words(place: Place) -> tuple[str, ...]:
    volumes = [word for folder in (*place.binds, "/tmp") for word in ("--volume", f"{folder}:{folder}")]
    return (
        place.program,
        *("run", "--rm", "--interactive", "--pull=never", "--env-host", "--network=host", "--ipc=host", "--pid=host"),
        *(*volumes, "--workdir", place.folder, "--entrypoint=", place.image),
    )


KIND = Kind(
    name="podman",
    title="a container of Podman",
    words=_words,
    programs=("podman",),
    install="sudo apt-get install podman",
    image="name",
    changes=("mnt", "root"),
    samples=(
        Sample(
            place=Place(
                program="/usr/bin/podman", image="debian:12", folder="/scratch/run", binds=("/scratch/run", "/opt/x")
            ),
            words=(
                *("/usr/bin/podman", "run", "--rm", "--interactive", "--pull=never", "--env-host"),
                *("--network=host", "--ipc=host", "--pid=host"),
                *("--volume", "/scratch/run:/scratch/run", "--volume", "/opt/x:/opt/x", "--volume", "/tmp:/tmp"),
                *("--workdir", "/scratch/run", "--entrypoint=", "debian:12"),
            ),
        ),
    ),
)
