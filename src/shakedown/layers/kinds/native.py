"""As it is, without anything in between: what every layer is compared with."""

from __future__ import annotations

from ..model import Kind, Place, Sample

KIND = Kind(
    name="native",
    title="as it is",
    words=lambda place: (),
    samples=(Sample(place=Place(folder="/scratch/run"), words=()),),
)
