"""Slow parts of a fleet by group tests: rounds of collectives over chosen groups, each planned from what the last ones
showed.

``stages`` (what is asked; which rounds come next, purely) -> ``session`` measures them as run directories of
``collectives`` or ``gpu_collectives``, 1, 2, ... below one directory, and goes on from what lies there;
``analysis.groups`` judges all of them together.
"""

from .session import judge, measure
from .stages import GroupPlan

__all__ = ["GroupPlan", "judge", "measure"]
