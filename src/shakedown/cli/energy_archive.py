"""shakedown energy archive: what jobs, nodes and hours used, from months of readings of many nodes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import times
from ..document import terminal
from ..errors import BadInput, unknown

if TYPE_CHECKING:
    from ..energy.archive.energies import Totals
    from ..energy.archive.jobs import Jobs

BY = ("job", "node", "hour")
SEMANTICS = ("last", "next", "point")
SHARED = ("equal", "weight")
#: Names of so many jobs are told when they have no readings.
MOST_NAMED = 10


def command(
    traces: Annotated[list[Path], typer.Argument(help="Parquet files with node, t_ns and value, or folders of them.")],
    jobs: Annotated[
        Path | None, typer.Option(help="CSV or Parquet: job, nodes, begin, end (and weight); sacct --parsable2 too.")
    ] = None,
    by: Annotated[str, typer.Option(help="job, node or hour; several separated by commas.")] = "job",
    semantics: Annotated[
        str, typer.Option(help="What a reading stands for: last (up to its stamp), next (from it), point (trapezoids).")
    ] = "last",
    most_gap: Annotated[
        str, typer.Option(help="Readings further apart leave what is between unknown. Default: five times the usual.")
    ] = "",
    shared: Annotated[str, typer.Option(help="Jobs that share a node: equal parts, or by weight (cores).")] = "equal",
    begin: Annotated[str, typer.Option(help="Of the period: ISO 8601 or Unix seconds. Default: the archive's.")] = "",
    end: Annotated[str, typer.Option(help="Of the period.")] = "",
    zone: Annotated[
        str, typer.Option(help="Of times without an offset in readings, jobs and options. Default: UTC.")
    ] = "UTC",
    unit: Annotated[
        str, typer.Option(help="Of the values: W, kW, mW; a counter: J, Wh, kWh. Default: the column's name, else W.")
    ] = "",
    time_unit: Annotated[str, typer.Option(help="Of stamps that are numbers: s, ms, us, ns. Default: by size.")] = "",
    output: Annotated[Path | None, typer.Option(help="Write the table here: .parquet, .csv or .json.")] = None,
    csv: Annotated[bool, typer.Option("--csv", help="Print the table as CSV.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Energy per job, per node and per hour from an archive of power readings."""
    from .. import times
    from ..energy.archive import energies, layout
    from ..energy.archive import jobs as accounting
    from ..energy.archive.segments import Rules

    wanted = _chosen(by)
    for option, word, known in (("--semantics", semantics, SEMANTICS), ("--shared", shared, SHARED)):
        if word not in known:
            raise unknown("value", word, known, where=option)
    if "job" in wanted and jobs is None:
        raise BadInput("energy by job needs the jobs", where="--jobs", hint="job,nodes,begin,end as CSV, or --by node")
    if (csv or output) and len(wanted) > 1:
        raise BadInput("one table at a time can be written", where="--by", hint="ask for one of job, node, hour")
    times.checked_zone(zone, "--zone")
    there = layout.open_archive(traces, zone=zone, time_unit=time_unit, unit=unit)
    for text in (there.understood, *there.notices):
        terminal.say(text)
    begin_ns, end_ns = (_time(text, zone, option) for text, option in ((begin, "--begin"), (end, "--end")))
    last = end_ns if end_ns is not None else max(group.end_ns for group in there.groups)
    work = accounting.read(jobs, zone=zone, until_ns=last) if jobs else accounting.none()
    rules = Rules(scope=semantics, gap_s=_gap(most_gap), shared=shared)  # type: ignore[arg-type]
    found = energies.totals(there, work, rules, begin_ns=begin_ns, end_ns=end_ns)
    tables = {f"{one}s": _rows(one, found) for one in wanted}
    _warn(found, work)
    if output:
        _write(output, next(iter(tables.values())))
        terminal.say(f"written: {output}")
    if json:
        terminal.print_json({"summary": _summary(found, rules, there), **tables})
    elif csv:
        print(_csv(next(iter(tables.values()))), end="")
    elif not output:
        _print(found, tables, rules, there)


def _chosen(by: str) -> list[str]:
    words = [word.strip() for word in by.split(",") if word.strip()]
    for word in words:
        if word not in BY:
            raise unknown("grouping", word, BY, where="--by")
    if not words:
        raise BadInput("nothing is requested", where="--by", hint=", ".join(BY))
    return list(dict.fromkeys(words))


def _time(text: str, zone: str, option: str) -> int | None:
    from .. import times

    return times.parse(text, times.checked_zone(zone, "--zone"), option) if text else None


def _gap(text: str) -> float | None:
    from ..energy.facility.plant import in_si

    if not text:
        return None
    seconds = in_si(text, "s", "--most-gap")
    if seconds <= 0:
        raise BadInput("a gap has a length", where="--most-gap", hint="such as 10 s or 5 min")
    return seconds


# ----------------------------------------------------------------------------------------------------------- the tables


def _rows(kind: str, found: Totals) -> list[dict[str, Any]]:
    return {"job": _jobs, "node": _nodes, "hour": _hours}[kind](found)


def _share(covered: float, span: float) -> float | None:
    return covered / span if span > 0 else None


def _mean(energy: float, covered: float) -> float | None:
    return energy / covered if covered > 0 else None


def _jobs(found: Totals) -> list[dict[str, Any]]:
    """``mean_w`` is of one node, while it was covered; None where nothing was."""
    return [
        {
            "job": name,
            "energy_j": float(found.job_j[at]) if found.job_covered_s[at] > 0 else None,
            "covered": _share(float(found.job_covered_s[at]), float(found.job_span_s[at])),
            "node_s": float(found.job_span_s[at]),
            "mean_w": _mean(float(found.job_j[at]), float(found.job_covered_s[at])),
            "nodes_missing": list(found.job_missing[at]),
        }
        for at, name in enumerate(found.job_ids)
    ]


def _nodes(found: Totals) -> list[dict[str, Any]]:
    span = (found.end_ns - found.begin_ns) / 1e9
    return [
        {
            "node": name,
            "energy_j": float(found.node_j[at]) if found.node_covered_s[at] > 0 else None,
            "covered": _share(float(found.node_covered_s[at]), span),
            "mean_w": _mean(float(found.node_j[at]), float(found.node_covered_s[at])),
            "idle_j": float(found.node_idle_j[at]),
            "readings": int(found.node_rows[at]),
            "gap_s": float(found.node_gap_s[at]),
        }
        for at, name in enumerate(found.nodes)
    ]


def _hours(found: Totals) -> list[dict[str, Any]]:

    return [
        {
            "hour": times.stamp(int(begin) // 10**9, "UTC").replace(" ", "T"),
            "energy_j": float(found.hour_j[at]) if found.hour_covered_s[at] > 0 else None,
            "covered": _share(float(found.hour_covered_s[at]), float(found.hour_span_s[at])),
            "mean_w": _mean(float(found.hour_j[at]), float(found.hour_covered_s[at])),
        }
        for at, begin in enumerate(found.hour_ns)
    ]


def _summary(found: Totals, rules: Any, there: Any) -> dict[str, Any]:
    return {
        "begin_ns": found.begin_ns,
        "end_ns": found.end_ns,
        "nodes": len(found.nodes),
        "readings": found.rows,
        "energy_j": float(found.node_j.sum()),
        "idle_j": float(found.node_idle_j.sum()),
        "covered": _share(float(found.node_covered_s.sum()), (found.end_ns - found.begin_ns) / 1e9 * len(found.nodes)),
        "semantics": "counter" if there.values.counter else rules.scope,
        "read_as": there.understood,
        "shared": rules.shared,
    }


def _warn(found: Totals, work: Jobs) -> None:
    lacking = sorted({node for one in found.job_missing for node in one})
    if lacking:
        more = f" and {len(lacking) - MOST_NAMED} more" if len(lacking) > MOST_NAMED else ""
        terminal.say(f"no readings of {', '.join(lacking[:MOST_NAMED])}{more}: their jobs' covered share lacks them")
    if work.open_ids:
        terminal.say(f"{len(work.open_ids)} jobs have no end: they count to the end of the period")


def _csv(rows: list[dict[str, Any]]) -> str:
    import csv
    import io

    text = io.StringIO()
    if rows:
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({key: " ".join(cell) if isinstance(cell, list) else cell for key, cell in row.items()})
    return text.getvalue()


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    import msgspec

    from ..files import atomic

    suffix = path.suffix.lower()
    if suffix == ".csv":
        atomic.write(path, _csv(rows))
    elif suffix == ".json":
        atomic.write(path, msgspec.json.encode(rows))
    elif suffix == ".parquet":
        _write_parquet(path, rows)
    else:
        raise BadInput(
            f"{path.suffix or 'a file without suffix'} is not a known format",
            where="--output",
            hint=".parquet, .csv, .json",
        )


def _write_parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    """By way of JSON, which DuckDB reads with its types."""
    import tempfile

    import duckdb
    import msgspec

    from ..errors import StoreFailed
    from ..files import parquet

    try:
        with tempfile.TemporaryDirectory() as folder, duckdb.connect() as db:
            lines = Path(folder, "rows.json")
            lines.write_bytes(b"\n".join(msgspec.json.encode(row) for row in rows))
            query = f"select * from read_json(?, format = 'newline_delimited', columns = {_types(rows)})"
            parquet.write(db, query, path, [str(lines)])
    except (OSError, duckdb.Error) as error:
        why = error.strerror if isinstance(error, OSError) else "check that the disk is not full"
        raise StoreFailed(f"the table cannot be written: {why}", where=str(path)) from None


def _types(rows: list[dict[str, Any]]) -> str:
    text = {
        "job": "VARCHAR",
        "node": "VARCHAR",
        "hour": "TIMESTAMPTZ",
        "nodes_missing": "VARCHAR[]",
        "readings": "BIGINT",
    }
    first = rows[0] if rows else {"energy_j": None}
    return "{" + ", ".join(f"'{name}': '{text.get(name, 'DOUBLE')}'" for name in first) + "}"


def _print(found: Totals, tables: dict[str, list[dict[str, Any]]], rules: Any, there: Any) -> None:
    from ..units import show

    told = _summary(found, rules, there)
    print(
        f"{told['readings']:,} readings of {told['nodes']} nodes, {show(told['energy_j'], 'J', 4)}, of which "
        f"{show(told['idle_j'], 'J', 4)} while no job ran; {_percent(told['covered'])} of the time covered."
    )
    for name, rows in tables.items():
        if not rows:
            terminal.print_table((name,), [], f"By {name[:-1]}")
            continue
        keys = [key for key in rows[0] if key != "readings"]
        terminal.print_table(keys, [[_cell(key, row[key]) for key in keys] for row in rows], f"By {name[:-1]}")


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.2f} %"


def _cell(key: str, value: Any) -> str:
    from ..units import show, show_seconds

    if value is None:
        return "-"
    if key == "covered":
        return _percent(value)
    if key.endswith("_j"):
        return show(value, "J", 4)
    if key.endswith("_w"):
        return show(value, "W", 4)
    if key.endswith("_s"):
        return show_seconds(value)
    return " ".join(value) if isinstance(value, list) else str(value)
