"""The section of runs that failed, with what they printed last, and of what was not possible. Pure."""

from __future__ import annotations

from ..document.model import FOLD_FROM, MOST_ROWS, Block, Log, Logs, Section, Text
from ..document.tables import table
from ..document.text import count, rest
from ..records import Analysis
from ..units import show

MOST_LOGS = 50


def section(analysis: Analysis) -> Section:
    bad = [one for one in analysis.outcomes if one.state != "ok"]
    ended = count(len(analysis.outcomes), "run")
    blocks: list[Block] = []
    if not analysis.outcomes:
        blocks.append(Text(text="No run was recorded."))
    elif not bad:
        several = len(analysis.outcomes) > 1
        blocks.append(Text(text=f"All {ended} ended successfully." if several else "The one run ended successfully."))
    else:
        kept = sum(one.state == "partial" for one in bad)
        which = (
            "they have no values above" if not kept else "those that are partial have values of the other devices above"
        )
        blocks.append(Text(text=f"{len(bad):,} of {ended} did not end successfully; {which}."))
        blocks.append(
            table(
                "Runs that did not end successfully",
                bad[:MOST_ROWS],
                (
                    ("Run", "text", lambda one: one.label),
                    ("State", "state", lambda one: one.state),
                    ("Reason", "text", lambda one: one.reason or "no reason was recorded"),
                    ("Host", "code", lambda one: one.host),
                    ("Time", "number", lambda one: show(one.seconds, "s")),
                    ("Output", "code", lambda one: one.log),
                ),
                caption=rest(len(bad), MOST_ROWS, "run"),
                fold_from=FOLD_FROM,
            )
        )
        logs = tuple(Log(title=f"{one.label} ({one.host})", state=one.state, text=one.tail) for one in bad if one.tail)
        if logs:
            blocks.append(Logs(title="What they printed last", logs=logs[:MOST_LOGS]))
    if analysis.not_begun:
        blocks.append(
            table(
                "Not begun: interrupted, or no time was left",
                analysis.not_begun,
                (("Run", "text", lambda label: label),),
                fold_from=FOLD_FROM,
            )
        )
    if analysis.skipped:
        blocks.append(
            table(
                "Requested and not possible here",
                analysis.skipped,
                (("What", "text", lambda one: one.what), ("Why", "text", lambda one: one.why)),
            )
        )
    return Section(id="failures", title="Runs that failed or were not possible", short="Failures", blocks=tuple(blocks))
