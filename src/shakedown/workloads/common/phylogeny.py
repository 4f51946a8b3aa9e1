"""What ``raxml`` and ``examl`` share: the generated alignment, and the bounds by which its likelihoods are judged.

Wilks' theorem: twice the logarithm of the ratio of the optimised to the true likelihood is distributed as chi-squared
with as many degrees of freedom k as there are free parameters, so that the difference of the logarithms is k/2 with a
standard deviation of sqrt(k/2).

Source: Wilks, Ann Math Stat 9 (1938) 60.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping
from typing import NamedTuple

from ...records import Host, Params, Residual
from .. import Garbage
from .application import Step
from .application_log import Part
from .memory import check_room as _check_room
from .printed import NUMBER

#: The module that writes the alignment, started by the Python that runs us.
GENERATOR = {"python": (sys.executable,)}
CASE = "generated alignment"
_STEP = "generate"
#: Standard deviations within which the optimised likelihood of the true tree must lie, and what optimisers leave.
_DEVIATIONS, _LEFT = 6.0, 5.0
#: The share of its logarithm by which the best tree's likelihood may be below the true tree's.
SHARE = 1e-5
_MADE = re.compile(
    rf"^alignment of (\d{{1,9}}) taxa and (\d{{1,12}}) sites, seed (\d{{1,9}}): log-likelihood ({NUMBER})$",
    re.MULTILINE,
)


class Truth(NamedTuple):
    """The alignment that was generated, and the log-likelihood of tree and model that it came from."""

    taxa: int
    sites: int
    seed: int
    log_likelihood: float


def generate(params: Params) -> Step:
    """The step that writes A.phy, true.tree and start.tree."""
    words = ("--taxa", str(params["taxa"]), "--sites", str(params["sites"]), "--seed", str(params["seed"]))
    return Step(name=_STEP, argv=("python", "-m", "shakedown.functional_tests.alignment", *words))


def check_room(who: str, params: Params, host: Host) -> None:
    """Raises BadInput where the conditional likelihoods (4 letters x 4 classes of a double, an inner node) do not fit."""
    need = int(params["taxa"]) * int(params["sites"]) * 16 * 8 + 2**28
    _check_room(f"{who}.sites", "likelihoods of so many taxa and sites", need, host, "fewer sites, or a smaller size")


def truth(parts: Mapping[str, Part]) -> Truth | None:
    """What was generated; None in a user's own log. Raises Garbage where the transcript does not say."""
    if _STEP not in parts:
        return None
    found = _MADE.search(parts[_STEP].text)
    if found is None:
        raise Garbage("the transcript does not say which alignment was generated")
    return Truth(int(found[1]), int(found[2]), int(found[3]), float(found[4]))


def told(found: Truth | None) -> Params:
    """The parameters of a case that say which alignment it is."""
    if found is None:
        return {"case": "own alignment"}
    return {"case": CASE, "taxa": found.taxa, "sites": found.sites, "seed": found.seed}


def likelihood(found: Truth, optimised: float) -> Residual:
    """Whether the optimised log-likelihood of the true tree is where Wilks' theorem puts it: branches, GTR, alpha."""
    free = 2 * found.taxa - 3 + 5 + 3 + 1
    limit = _DEVIATIONS * math.sqrt(free / 2) + _LEFT
    value = abs(optimised - found.log_likelihood - free / 2)
    kind = f"difference of the true tree's log-likelihood ({optimised:.2f}) from what is expected"
    return Residual(value=value, limit=limit, kind=kind)


def best(found: float, true: float) -> Residual:
    """How much less likely the best tree is than the true one, as a share of the logarithm; 0 where it is more likely."""
    value = max(0.0, true - found) / abs(true) if true else None
    return Residual(
        value=value, limit=SHARE, kind="share of the log-likelihood by which the tree found is worse than the true one"
    )
