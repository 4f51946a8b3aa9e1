"""What the verbs share: numbers and passwords on the command line, finding a run directory, the exit code of verdicts."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

import typer

from ..document.terminal import note
from ..errors import COULD_NOT_MEASURE, MET, NOT_MET, UNDECIDED, BadInput


def warn_of_passwords(targets: Iterable[str]) -> None:
    """Say on standard error for which meters a password goes over the network unencrypted. Raises BadInput for a file of
    passwords that others may read."""
    from ..hosts.access import LocalHost
    from ..metering import meters

    for target in targets:
        if text := meters.exposed(meters.parse_target(target), LocalHost()):
            note(f"shakedown: {text}")


def not_negative(param: typer.CallbackParam, value: float | None) -> float | None:
    """The callback of an option that is a number: finite and not below zero. Raises BadInput with the option's name."""
    from .. import strict

    return value if value is None else strict.finite(value, param.opts[0], "the command line", least=0.0)


def latest_run(parent: Path) -> Path:
    """The newest run directory below ``parent``. Raises BadInput where there is none."""
    found = sorted(path.parent for path in parent.glob("*/manifest.json"))
    if not found:
        raise BadInput("there is no run directory", where=str(parent), hint="shakedown run makes one")
    return found[-1]


def share(option: str, text: str) -> float:
    """A share that an option gives: "5 %" or 0.05. Raises BadInput with the option's name."""
    from ..units import UnknownUnit, parse_quantity

    try:
        value, unit = parse_quantity(text)
    except (UnknownUnit, ValueError) as error:
        raise BadInput(f"{option} {text!r}: {error}", hint="write a share such as '5 %' or 0.05") from None
    if unit != "1" or not 0 <= value < 1:
        raise BadInput(f"{option} {text!r} is not a share from 0 to 100 %", hint="write a share such as '5 %' or 0.05")
    return value


def check_rate(rate: float) -> None:
    """Raises BadInput where ``--rate`` is no share of false names that a test can keep."""
    if not 0 < rate < 0.5:
        raise BadInput(f"--rate {rate:g} is not a valid share of false names", hint="give a number such as 0.01")


def exit_code(states: Collection[str], damaged: bool) -> int:
    """Of verdicts on who is slow, the worst first: something slow or failed, damaged records, too little to decide."""
    if "slow" in states:
        return NOT_MET
    if damaged:
        return COULD_NOT_MEASURE
    return UNDECIDED if "undecided" in states else MET
