"""Apptainer, or Singularity where a site still has that. The image must have the C library and the MPI that the program is
linked to."""

from __future__ import annotations

from ..model import WITHOUT_CMA, Kind, Place, Sample


def _words(place: Place) -> tuple[str, ...]:
    binds = ",".join(place.binds)
    return place.program, "exec", "--bind", binds, "--pwd", place.folder, place.image


KIND = Kind(
    name="apptainer",
    title="a container of Apptainer",
    words=_words,
    programs=("apptainer", "singularity"),
    install="the site's module, or the package of https://apptainer.org",
    image="file or folder",
    changes=("mnt", "root"),
    env_of_ranks=WITHOUT_CMA,
    samples=(
        Sample(
            place=Place(
                program="/usr/bin/apptainer",
                image="/images/d.sif",
                folder="/scratch/run",
                binds=("/scratch/run", "/opt/x"),
            ),
            words=(
                *("/usr/bin/apptainer", "exec", "--bind", "/scratch/run,/opt/x"),
                *("--pwd", "/scratch/run", "/images/d.sif"),
            ),
        ),
    ),
)
