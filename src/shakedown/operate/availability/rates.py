"""Mean times between, to, and to mend failures, with intervals; shares with intervals. Pure; scipy.

Failures are taken as a Poisson process over the time in which they could have happened (the exposure), so 2 T / MTBF is
chi-square distributed. Observed until a time and not until a failure, r failures in T give, at a level of 1 - a,
2T/chi2(1-a/2; 2r+2) to 2T/chi2(a/2; 2r), and no failure a one-sided bound 2T/chi2(1-a; 2): MIL-HDBK-338B, section 8.3.2.5.2;
NIST/SEMATECH e-Handbook of Statistical Methods, section 8.4.5.1. Repairs are taken as exponential; those that were not over
add their time and no repair (Lawless, Statistical Models and Methods for Lifetime Data, section 4.1).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .records import Rate

LEVEL = 0.95
_POISSON = "MIL-HDBK-338B, section 8.3.2.5.2; NIST/SEMATECH e-Handbook, section 8.4.5.1"


def _chi2(share: float, freedom: float) -> float:
    """The quantile of the chi-square distribution. scipy.stats would take longer to load than all else here."""
    from scipy.special import gammaincinv

    return 2 * float(gammaincinv(freedom / 2, share))


def _mean(total_h: float, events: int, level: float, more: int) -> tuple[float | None, float | None, float | None]:
    """Time over events with its interval; without an event a lower bound alone. ``more``: by how many degrees of freedom
    the lower end has more than the upper (2 where a time ended the observation, 0 where an event did)."""
    if total_h <= 0:
        return None, None, None
    if not events:
        return None, 2 * total_h / _chi2(level, 2), None
    tail = (1 - level) / 2
    low, high = _chi2(1 - tail, 2 * events + more), _chi2(tail, 2 * events)
    return total_h / events, 2 * total_h / low, 2 * total_h / high


def between(name: str, title: str, exposure_h: float, events: int, *, formula: str, level: float = LEVEL) -> Rate:
    """Exposure over events with its chi-square interval; the value is None without an event."""
    mean = _mean(exposure_h, events, level, 2)
    return Rate(name, title, *mean, events, exposure_h, level=level, formula=formula, source=_POISSON)


def to_mend(seconds: NDArray[np.int64], censored: NDArray[np.bool_], level: float = LEVEL) -> Rate:
    """Mean time to repair: all time in repair within the stretch over the repairs that ended in it. ``censored`` are
    those that had not ended. What had begun before counts from the begin of the stretch on: the exponential has no
    memory, and so a long repair is not counted more for being long."""
    total_h, ended, open_ = float(seconds.sum()) / 3600, int((~censored).sum()), int(censored.sum())
    mean = _mean(total_h, ended, level, 0)
    formula = "time in repair / repairs that ended; what was not over adds its time and no repair"
    source = "Lawless, Statistical Models and Methods for Lifetime Data, section 4.1"
    return Rate("MTTR", "mean time to repair a node", *mean, ended, total_h, open_, level, formula, source)


def share(events: int, of: int, level: float = LEVEL) -> tuple[float, float, float]:
    """A share with its exact interval (Clopper and Pearson 1934)."""
    from scipy.special import betaincinv

    if not of:
        return 0.0, 0.0, 1.0
    tail = (1 - level) / 2
    low = float(betaincinv(events, of - events + 1, tail)) if events else 0.0
    high = float(betaincinv(events + 1, of - events, 1 - tail)) if events < of else 1.0
    return events / of, low, high


def per(events: int, exposure: float, level: float = LEVEL) -> tuple[float, float, float]:
    """Events per unit of exposure with its exact Poisson interval (Garwood 1936)."""
    tail = (1 - level) / 2
    low = (_chi2(tail, 2 * events)) / 2 if events else 0.0
    high = (_chi2(1 - tail, 2 * events + 2)) / 2
    return events / exposure, low / exposure, high / exposure


def beyond_the_others(
    failed: NDArray[np.int64], jobs: NDArray[np.int64], level: float = 0.01
) -> list[tuple[int, float, float]]:
    """Which of several shares are greater than what the others make expect: (index, expected, p by Holm 1979), by p.

    Each is held against the share of all others (a binomial tail), so that one that is very bad does not hide itself.
    """
    from scipy.special import betainc

    total, every = int(failed.sum()), int(jobs.sum())
    others = np.where(every > jobs, (total - failed) / np.maximum(every - jobs, 1), 0.0)
    others = np.maximum(others, 0.5 / np.maximum(every - jobs, 1))  # no failure elsewhere is not a share of zero
    # P(Binomial(n, q) >= k) = I_q(k, n - k + 1)
    tails = betainc(np.maximum(failed, 1), np.maximum(jobs - failed, 0) + 1, np.minimum(others, 1.0))
    p = np.where(failed > 0, tails, 1.0)
    order = np.argsort(p, kind="stable")
    found: list[tuple[int, float, float]] = []
    worst = 0.0
    for rank, at in enumerate(order.tolist()):
        worst = max(worst, min(1.0, float(p[at]) * (len(p) - rank)))
        if worst >= level:
            break
        found.append((at, float(others[at] * jobs[at]), worst))
    return found


def words(one: Rate) -> str:
    """``412 h [260, 700]``, or the bound."""
    if one.value_h is None:
        return f"above {one.low_h:.4g} h" if one.low_h is not None else "not known"
    return f"{one.value_h:.4g} h [{one.low_h:.4g}, {one.high_h:.4g}]"
