"""The rules of the EE HPC WG, aspect by aspect: each function holds one level's parameters against what was measured.

An aspect's function returns what it saw (with numbers) and the rules that fail. A rule's id begins with its aspect.
"""

from __future__ import annotations

from collections.abc import Callable

from .aspect_case import Case, Failure
from .aspect_meters import accuracy, location
from .aspect_sound import sound
from .aspect_system import fraction, subsystems
from .aspect_time import granularity, report, timing

__all__ = ["ASPECTS", "Case", "Failure"]

#: The aspects in the order of the summary table: id, title, what checks it.
ASPECTS: tuple[tuple[str, str, Callable[[Case, int], tuple[list[str], list[Failure]]]], ...] = (
    ("0", "sound readings", sound),
    ("1a", "granularity", granularity),
    ("1b", "timing", timing),
    ("1c", "reported values", report),
    ("2", "machine fraction", fraction),
    ("3", "subsystems", subsystems),
    ("4a", "point of measurement", location),
    ("4b", "meter accuracy", accuracy),
)
