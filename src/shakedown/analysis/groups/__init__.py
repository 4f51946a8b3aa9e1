"""Group tests: from the values of collectives over many groups of places to the parts that are slow, with an error rate.

    design    which groups measure at the same time, round by round; who is measured again
    data      what was measured, as columns              read      run directories -> GroupTests
    parts     which nodes, GPUs, switches, links and rails each group uses
    fit       a group is as slow as its slowest part: several parts, robustly
    evidence  what chance explains: noise, healthy spread    judge     the story: verdict(tests) -> GroupVerdict
    simulate  fleets whose truth is known

What is assumed, and where it ends, stands in docs/groups.md.
"""

from .data import GroupTests
from .design import FEWEST_PLACES, first_rounds, group_size, most_rounds, next_rounds
from .judge import verdict
from .read import from_directories, from_findings
from .records import FailedPlace, GroupVerdict, SlowPart

__all__ = [
    "FEWEST_PLACES",
    "FailedPlace",
    "GroupTests",
    "GroupVerdict",
    "SlowPart",
    "first_rounds",
    "from_directories",
    "from_findings",
    "group_size",
    "most_rounds",
    "next_rounds",
    "verdict",
]
