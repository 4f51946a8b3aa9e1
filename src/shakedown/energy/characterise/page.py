"""A meter's character in words, and as a page with the figures that show the fit."""

from __future__ import annotations

from collections.abc import Sequence

from ...document.model import Column, Document, Facts, Figures, Section, Table, Text
from ...metering.character import Character, Estimate
from ...metering.meters import channel_key
from ...units import round_to, show, show_seconds
from .figures import figures, interval, value
from .findings import Findings, Recorded
from .identify import Fit

# ---------------------------------------------------------------------------------------------------------------- in words


def lead(character: Character) -> list[str]:
    """What it means for whoever measures with it, a sentence each."""
    key = channel_key(character.channel)
    words = []
    refresh, window, delay = character.refresh_s, character.window_s, character.delay_s
    if refresh:
        words.append(f"{key} makes a new value every {show(refresh.value, 's', 4)}.")
    if character.kernel == "point":
        words.append("Each value is the power at one moment: what happens in between is never seen.")
    elif character.kernel == "boxcar" and window:
        seen = f", so it sees {character.covered:.0%} of the time" if (character.covered or 1) < 0.98 else ""
        words.append(f"Each value is the mean over {value(window, 's')}{seen}.")
    elif character.tau_s:
        boxcar = f" of the mean over {value(window, 's')}" if window and window.value > 0 else ""
        words.append(
            f"Each value is a lagged response{boxcar}: it follows with a time constant of {value(character.tau_s, 's')}, "
            "and needs four of them to settle to 2 %."
        )
    if delay:
        late = "is stamped" if delay.value >= 0 else "carries a stamp"
        side = "after the end of what it saw" if delay.value >= 0 else "before it: the meter's clock is behind"
        words.append(f"It {late} {value(amount(delay), 's')} {side}.")
    if character.gain and character.offset:
        error = character.gain.value - 1
        words.append(
            f"Against {character.reference} it reads {error:+.2%} of the value and "
            f"{character.offset.value:+.3g} {character.channel.unit}."
        )
    else:
        words.append("Gain and offset are not known: there was no better meter beside it (--reference).")
    return words


def amount(estimate: Estimate) -> Estimate:
    """The estimate of the amount."""
    if estimate.value >= 0:
        return estimate
    return Estimate(value=-estimate.value, low=-estimate.high, high=-estimate.low)


def rows(character: Character) -> list[tuple[str, str, str]]:
    """(what, value, 95 % interval), for the terminal and the page."""
    unit = character.channel.unit
    out: list[tuple[str, str, str]] = [("kernel", character.kernel, "")]
    for name, estimate, of in (
        ("refresh period", character.refresh_s, "s"),
        ("window", character.window_s if "boxcar" in character.kernel else None, "s"),
        ("time constant", character.tau_s, "s"),
        ("delay", character.delay_s, "s"),
        ("gain", character.gain, "1"),
        ("offset", character.offset, unit),
    ):
        if estimate is not None:
            out.append((name, value(estimate, of), interval(estimate, of)))
        elif name in ("gain", "offset"):
            out.append((name, "not known (no reference)", ""))
    if character.covered is not None:
        out.append(("share of time seen", f"{character.covered:.0%}", ""))
    for name, number in (
        ("resolution", character.resolution),
        ("noise of one reading", character.noise),
        ("largest departure from a line", character.nonlinearity),
        ("warm-up, rise", character.warm_up_rise),
    ):
        if number is not None:
            out.append((name, show(number, unit), ""))
    if character.warm_up_tau_s is not None:
        out.append(("warm-up, time constant", show_seconds(character.warm_up_tau_s), ""))
    return out


# ----------------------------------------------------------------------------------------------------------------- the page


def document(character: Character, findings: Findings, recorded: Sequence[Recorded], *, version: str) -> Document:
    """The whole page."""
    drawn = [figure for figure in figures(character, findings, recorded) if figure is not None]
    notices = tuple(Text(text=f"{one.text}. {one.advice[:1].upper()}{one.advice[1:]}.") for one in character.notices)
    channel = character.channel
    identity = (
        ("channel", channel_key(channel)),
        ("device", channel.device or "not reported"),
        ("firmware", channel.firmware or "not reported"),
        ("driver", channel.driver or "not reported"),
        ("reference", character.reference or "the commanded load"),
    )
    sections = [
        Section(
            id="character", title="Character", blocks=(_table(character), Facts(title="Holds for", pairs=identity))
        ),
        Section(id="fit", title="The fit", blocks=(Figures(figures=tuple(drawn)),)),
        Section(id="method", title="What was done", blocks=(_experiments(recorded), *_kernels(findings.fit))),
    ]
    if notices:
        sections.insert(1, Section(id="doubts", title="Doubts", blocks=notices))
    return Document(
        title=f"Meter: {channel.title or channel.id}",
        subtitle=channel_key(channel),
        state="measured",
        counts=(),
        lead=tuple(lead(character)),
        sections=tuple(sections),
        footer=f"Made by Shakedown {version}: {character.method}.",
    )


def _table(character: Character) -> Table:
    return Table(
        title="Values",
        columns=(Column("what"), Column("value", "number"), Column("95 % interval", "number")),
        rows=tuple(rows(character)),
        caption="Intervals by profile likelihood. The delay is between the end of the window and the stamp on this host's "
        "clock: what the meter's own clock is off is part of it.",
    )


def _experiments(recorded: Sequence[Recorded]) -> Table:
    return Table(
        title="Experiments",
        columns=(Column("experiment"), Column("length", "number"), Column("read every", "number"), Column("shows")),
        rows=tuple(
            (
                one.experiment.name,
                show_seconds(one.experiment.seconds),
                show(one.experiment.interval_s, "s"),
                one.experiment.why,
            )
            for one in recorded
        ),
    )


def _kernels(fit: Fit | None) -> tuple[Table, ...]:
    if fit is None:
        return ()
    least = min(fit.aic.values())
    return (
        Table(
            title="Kernels",
            columns=(Column("kernel"), Column("AIC above the least", "number"), Column("taken")),
            rows=tuple(
                (name, round_to(aic - least, 3) if aic > least else "0", "yes" if name == fit.kernel else "")
                for name, aic in sorted(fit.aic.items(), key=lambda pair: pair[1])
            ),
            caption="A kernel with one parameter more is taken only where it is better by 10.",
        ),
    )
