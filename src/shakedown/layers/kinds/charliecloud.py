"""Charliecloud: a user's own container from an image that is a folder. The image must have the C library and the MPI that
the program is linked to."""

from __future__ import annotations

from ..model import WITHOUT_CMA, Kind, Place, Sample


def _words(place: Place) -> tuple[str, ...]:
    binds = [word for folder in place.binds for word in ("--bind", folder)]
    named = ("/usr/bin/env", f"USER={place.user}")  # ch-run refuses to start without the variable, which jobs may lack
    return (*named, place.program, "--no-passwd", *binds, "--cd", place.folder, place.image, "--")


KIND = Kind(
    name="charliecloud",
    title="a container of Charliecloud",
    words=_words,
    programs=("ch-run",),
    install="sudo apt-get install charliecloud-runtime",
    image="folder",
    mount_points=True,
    changes=("user", "mnt", "root"),
    env_of_ranks=WITHOUT_CMA,
    samples=(
        Sample(
            place=Place(
                program="/usr/bin/ch-run",
                image="/images/d",
                folder="/scratch/run",
                binds=("/scratch/run", "/opt/x"),
                user="ada",
            ),
            words=(
                *("/usr/bin/env", "USER=ada", "/usr/bin/ch-run", "--no-passwd"),
                *("--bind", "/scratch/run", "--bind", "/opt/x", "--cd", "/scratch/run", "/images/d", "--"),
            ),
        ),
    ),
)
