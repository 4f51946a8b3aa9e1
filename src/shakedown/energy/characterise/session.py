"""A meter's character from recordings of a load that we drive; and the driving.

FOLDER/<nn>-<name>/   schedule.txt  load.jsonl  power/ (the sampler's)   one experiment
                      experiment.json                                     last: its presence means that it is whole

``run`` asks ``experiments.following`` what to record next, records it and analyses again (``findings.analyse``), so that it
goes on from any folder that holds recordings. What records is a function, so that a simulated meter is characterised by the
same steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ...errors import BadInput, CannotMeasure, StoreFailed
from ...files import atomic
from ...metering.character import Character
from ...metering.meters import Channel, channel_key
from ...programs import events
from . import experiments
from .experiments import Experiment, Limits, MeterKnowledge
from .findings import FITTED, Findings, Recorded, analyse, memory_s

__all__ = ["Findings", "Progress", "Recorded", "Recorder", "analyse", "character", "choose", "known", "read", "run"]

#: Records one experiment into a folder: load.jsonl and power/; raises CannotMeasure where it cannot.
Recorder = Callable[[Experiment, Path], None]
#: Told of each experiment before it is recorded.
Progress = Callable[[Experiment, MeterKnowledge], None]
_DECIDING = ("irregular", "step")
_SEEN = 0.5  # of the readings' sum of squares: below it the load is not what the meter measures


# ------------------------------------------------------------------------------------------------------------ recordings


def read(folder: Path, channel: str = "", reference: str = "") -> list[Recorded]:
    """The whole experiments of a folder, in order. ``channel`` and ``reference`` are ids or keys of channels; without them
    the only channel of power is taken, and no reference. Raises StoreFailed for damage, BadInput for an unknown channel."""
    return [_read(path.parent, channel, reference) for path in sorted(folder.glob("*/experiment.json"))]


def _read(place: Path, channel: str, reference: str) -> Recorded:
    from ...metering import sampler

    made = atomic.read_record(place / "experiment.json", Experiment)
    traces = sampler.collect(place / "power")
    edges, levels = _edges(place / "load.jsonl")
    chosen = choose([one.channel for one in traces], channel)
    beside = choose([one.channel for one in traces], reference) if reference else None
    return Recorded(made, edges, levels, traces[chosen], None if beside is None else traces[beside])


def choose(channels: Sequence[Channel], wanted: str) -> int:
    """The index of a channel by its id or key; without a name that of the only power (or else energy) channel. Raises
    BadInput with the names."""
    names = [channel_key(one) for one in channels]
    if wanted:
        hits = [i for i, one in enumerate(channels) if wanted in (one.id, names[i])]
    else:
        hits = [i for i, one in enumerate(channels) if one.quantity == "power"]
        hits = hits or [i for i, one in enumerate(channels) if one.quantity == "energy"]
    if len(hits) == 1:
        return hits[0]
    what = f"no channel {wanted!r}" if wanted else f"{len(hits)} channels that could be meant"
    raise BadInput(what, where="--channel", hint=f"name one of: {', '.join(names) or 'none'}")


def _edges(path: Path) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """When the load really changed, and to which levels."""
    try:
        told = events.parse(path.read_bytes())
    except OSError as error:
        raise atomic.failed(error, path, "read") from None
    phases = [one for one in told.phases if one.name.startswith("load ")]
    if not told.ended or not phases:
        raise StoreFailed("the load's record was cut short", where=str(path), hint="remove this experiment's folder")
    levels = tuple(float(one.name.split()[1]) for one in phases)
    return (*(one.begin_ns for one in phases), phases[-1].end_ns), levels


def known(recorded: Sequence[Recorded], findings: Findings) -> MeterKnowledge:
    """What the plan needs of what was found."""
    done = tuple(one.experiment for one in recorded)
    if findings.refresh.period_s is None:
        return MeterKnowledge(done)
    fit = findings.fit
    period = findings.refresh.period_s.value
    tau = 4 * fit.tau_s.value if fit and fit.tau_s else 0.0
    window = fit.window_s.high + tau if fit else None
    return MeterKnowledge(done, period, findings.refresh.how == "bounded", window, memory_s(fit, period))


def character(recorded: Sequence[Recorded], findings: Findings, *, made_ns: int) -> Character:
    """The record to keep. Raises CannotMeasure where the recordings do not tell a kernel."""
    fit = findings.fit
    if fit is None or findings.refresh.period_s is None:
        why = "; ".join(one.text for one in findings.notices) or "too few readings"
        raise CannotMeasure(f"the meter could not be characterised: {why}", hint="record for longer: --minutes")
    if fit.explained < _SEEN:
        raise CannotMeasure(
            f"the meter does not see this load: it explains {fit.explained:.0%} of what the readings do",
            where=channel_key(recorded[-1].trace.channel),
            hint="load what it measures, with nothing else on the machine, and check whether the clocks agree",
        )
    covered = 1.0 if fit.tau_s else min(1.0, fit.window_s.value / findings.refresh.period_s.value)
    plateaus = findings.plateaus
    return Character(
        channel=recorded[-1].trace.channel,
        made_ns=made_ns,
        kernel=fit.kernel,
        refresh_s=findings.refresh.period_s,
        window_s=fit.window_s,
        tau_s=fit.tau_s,
        delay_s=fit.delay_s,
        gain=fit.gain if findings.absolute else None,
        offset=fit.offset if findings.absolute else None,
        gain_offset_covariance=fit.covariance if findings.absolute else None,
        reference=findings.reference,
        resolution=findings.resolution,
        noise=findings.noise,
        nonlinearity=max(abs(one.apart) for one in plateaus) if plateaus and findings.absolute else None,
        warm_up_tau_s=findings.warm_up.tau_s if findings.warm_up else None,
        warm_up_rise=findings.warm_up.rise if findings.warm_up else None,
        covered=covered,
        method=f"driven load, {len(recorded)} experiments, {fit.n} readings, {fit.kernel} by AIC",
        notices=findings.notices,
    )


# ------------------------------------------------------------------------------------------------------------- the driving


def run(
    folder: Path,
    record: Recorder,
    limits: Limits,
    *,
    channel: str = "",
    reference: str = "",
    progress: Progress | None = None,
) -> tuple[list[Recorded], Findings]:
    """Record what tells most next, until nothing is left that the time allows; whole experiments in the folder count.

    Raises BadInput where nothing can be recorded in the time, StoreFailed, and what ``record`` raises."""
    recorded = read(folder, channel, reference)
    so_far = _known(recorded)
    while (step := experiments.following(so_far, limits)) is not None:
        if progress:
            progress(step, so_far)
        place = folder / f"{len(recorded) + 1:02}-{step.name}"
        _record(place, step, record)
        recorded.append(_read(place, channel, reference))
        # The others tell nothing that decides what comes next.
        so_far = _known(recorded) if step.kind in _DECIDING else so_far._replace(done=(*so_far.done, step))
    if not recorded:
        raise BadInput(
            f"{limits.budget_s:.0f} s are too short for any experiment",
            where="--minutes",
            hint="give at least 2 minutes",
        )
    return recorded, analyse(recorded)


def _known(recorded: Sequence[Recorded]) -> MeterKnowledge:
    """What the plan needs of the recordings."""
    # Gain and offset decide nothing here: the commanded levels do.
    fitted = [one._replace(reference=None) for one in recorded if one.experiment.kind in FITTED]
    done = tuple(one.experiment for one in recorded)
    return known(fitted, analyse(fitted))._replace(done=done) if fitted else MeterKnowledge(done)


def _record(place: Path, step: Experiment, record: Recorder) -> None:
    """One experiment; what an interrupted one left is made room for."""
    import shutil

    if place.exists():
        shutil.rmtree(place)
    try:
        place.mkdir(parents=True)
    except OSError as error:
        raise atomic.failed(error, place, "make the folder") from None
    atomic.write(place / "schedule.txt", "".join(f"{seconds:.9f} {level:g}\n" for seconds, level in step.schedule))
    record(step, place)
    atomic.write_record(place / "experiment.json", step)
