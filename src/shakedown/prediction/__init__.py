"""The forecast of an HPL run from what was measured on a few nodes or by probes.

    Config, Rates -> seconds -> Estimate          one configuration, rates known: microseconds to milliseconds (model.py)
    Target, Observed, Prior -> forecast           many unknowns: the median and the interval of an ensemble (forecast.py)

``seconds`` is pure and cheap: a search over configurations may call it for each candidate.
"""

from __future__ import annotations

from .inputs import BROADCASTS, Config, Estimate, Rates
from .model import seconds

__all__ = ["BROADCASTS", "Config", "Estimate", "Rates", "seconds"]
