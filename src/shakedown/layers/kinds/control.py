"""Natively a second time: nothing beside nothing. Its factor must not be distinguished from 1, and how wide its interval is
shows which overheads the other pairs of the same session can show."""

from __future__ import annotations

from ..model import Kind, Place, Sample

KIND = Kind(
    name="control",
    title="as it is, a second time",
    words=lambda place: (),
    samples=(Sample(place=Place(folder="/scratch/run"), words=()),),
)
