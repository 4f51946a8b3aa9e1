"""Records one experiment for real: the sampler in its own process, our load on the cores, both into one folder."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import msgspec

from ... import programs
from ...errors import CannotMeasure
from ...hosts.access import HostAccess, format_cpu_list, inherited
from ...metering import sampler as sampling
from ...metering.meters import Target
from .experiments import Experiment
from .session import Recorder

_SPARE_FROM = 4  # CPUs: with fewer, the sampler shares one with the load
_SLACK_S = 60.0


def recorder(targets: Sequence[Target], door: HostAccess, *, load: str = "") -> Recorder:
    """Reads ``targets`` while ``native/load`` drives all CPUs that this process may use, but one for the sampler where there
    are at least four. ``load`` is a program to run instead, for what the cores do not drive, such as a GPU: it takes
    ``--schedule FILE`` and prints the same events. What it returns raises CannotMeasure where a target is refused or the
    load fails."""
    # A target's own interval would go before the experiment's.
    asked = [
        msgspec.structs.replace(one, options={key: text for key, text in one.options.items() if key != "interval"})
        for one in targets
    ]
    cpus = door.affinity()
    spare = cpus[-1:] if len(cpus) >= _SPARE_FROM else ()
    driven = [cpu for cpu in cpus if cpu not in spare]
    program = load or programs.path("load")

    def record(step: Experiment, place: Path) -> None:
        with sampling.start(asked, place / "power", interval_s=step.interval_s, cpus=spare or None) as sampler:
            if sampler.refused:
                why = "; ".join(f"{one.what}: {one.why}" for one in sampler.refused)
                raise CannotMeasure(f"a meter cannot be read: {why}", hint="try it alone: shakedown meter read TARGET")
            words = (program, "--schedule", str(place / "schedule.txt"))
            own = () if load else ("--threads", str(len(driven)), "--cpus", format_cpu_list(driven))
            drive((*words, *own), place / "load.jsonl", step.seconds + _SLACK_S)
            if not sampler.alive:
                raise CannotMeasure(
                    "the sampler ended early", where=str(place / "power"), hint="see sampler.stderr there"
                )

    return record


def drive(argv: Sequence[str], output: Path, limit_s: float) -> None:
    """Run the native load with its events into a file. Raises CannotMeasure where it fails or does not end."""
    with open(output, "wb") as file:
        try:
            done = subprocess.run(
                argv, env=inherited(), stdout=file, stderr=subprocess.PIPE, timeout=limit_s, check=False
            )
        except OSError as error:
            raise CannotMeasure(f"the load cannot be started: {error.strerror}", where=argv[0]) from None
        except subprocess.TimeoutExpired:
            raise CannotMeasure(f"the load did not end within {limit_s:.0f} s", where=str(output)) from None
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise CannotMeasure(
            f"the load failed (exit {done.returncode})" + (f": {said[0]}" if said else ""), where=str(output)
        )
