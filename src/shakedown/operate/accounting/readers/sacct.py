"""Slurm: what ``sacct --parsable2`` (or ``-p``) prints, with its head, any delimiter, any choice and order of columns.

Ask for it with ``sacct --allusers --duplicates --parsable2`` and a window; ``--duplicates`` shows the attempts that a requeue
ended. Steps may be there: they are not counted, but give memory, and energy and CPU time where the job's own row has none.

What bites, besides what ``text`` tells of: stamps are local times of the host that sacct ran on, and those of one hour a year
come twice: the elapsed time tells which is meant. NCPUS of a job that never started is what it asked for. A job that was
cancelled before it started has the start None, Unknown or, in old versions, its end. Energy and CPU time of zero mean that
nothing measured them. ``Reserved`` is called ``Planned`` since 21.08; ReqMem had an n (of a node) or c (of a CPU) until then.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from ....errors import BadInput
from ....schedulers._slurm_rows import STATES, state_of
from .. import text, values, zones
from ..loading import Store
from . import Reader

_KNOWN = ("JobID", "JobIDRaw", "AllocTRES", "AllocCPUS", "NCPUS", "ElapsedRaw", "Eligible", "Partition", "Account", "Submit")
#: Columns that hold anybody's words, the likeliest first.
_FREE = ("JobName", "SubmitLine", "Comment", "WorkDir", "AdminComment", "SystemComment", "Extra", "Reason", "Constraints", "WCKey")
_STAMP = r"|Unknown|None|N/A|\d{9,13}|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?"
_CHECKS = {
    "JobID": r"\d+(?:_(?:\d+|\[[^|]*\]))?(?:\+\d+)?(?:\.[\w+-]+)?|JobID",
    "JobIDRaw": r"\d+(?:\.[\w+-]+)?|JobIDRaw",
    "State": r"|State|[A-Z][A-Z_]+\+?(?: by \S+)?",
    **dict.fromkeys(("Submit", "Eligible", "Start", "End"), _STAMP + "|Submit|Eligible|Start|End"),
    **dict.fromkeys(("ElapsedRaw", "TimelimitRaw", "CPUTimeRAW", "UID", "GID", "AssocID"), r"\d*|Partition_Limit|UNLIMITED|[A-Z]\w+"),
}
_STEP_COLUMNS = ("MaxRSS", "NTasks", "TRESUsageInTot", "ConsumedEnergyRaw", "TotalCPU")
_ENOUGH = "--format=JobID,User,Account,Partition,Submit,Eligible,Start,End,ElapsedRaw,Suspended,State,ExitCode,NNodes,NCPUS,AllocTRES"


def _mine(head: str) -> bool:
    line = head.partition("\n")[0]
    found = text.told(line, _KNOWN)
    return found is not None and len(set(found.columns) & {*_KNOWN, "Start", "End", "State"}) >= 3


class _Columns:
    """Where each of sacct's columns lies, as SQL; NULL where it is not there."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.at = {name: place for place, name in reversed(list(enumerate(names))) if name}
        self.used: set[int] = set()

    def has(self, name: str) -> bool:
        return name in self.at

    def sql(self, *choices: str) -> str:
        """The first of these that is there."""
        for name in choices:
            if name in self.at:
                self.used.add(self.at[name])
                return f"c{self.at[name]}"
        return "NULL::VARCHAR"


def form_of(path: Path) -> text.Form:
    """What the rows of a file look like, from its head. Raises BadInput."""
    head = text.first_lines(path).partition("\n")[0]
    found = text.told(head, _KNOWN)
    if found is None:
        raise BadInput("has no head line of sacct", where=str(path), hint="run sacct without --noheader, with --parsable2")
    lacking = [name for name in ("JobID", "Start", "State") if name not in found.columns]
    if "End" not in found.columns and "ElapsedRaw" not in found.columns:
        lacking.append("End")
    if lacking:
        raise BadInput(f"lacks the columns {', '.join(lacking)}", where=str(path), hint=f"ask sacct for {_ENOUGH}")
    place = {name: at for at, name in enumerate(found.columns)}
    return text.Form(
        delimiter=found.delimiter,
        columns=found.columns,
        free=tuple(place[name] for name in _FREE if name in place),
        checks={place[name]: pattern for name, pattern in _CHECKS.items() if name in place},
    )


def read(store: Store, path: Path) -> None:
    """Put the jobs of a file into the store. Raises BadInput."""
    form = form_of(path)
    of = _Columns(form.columns)
    store.db.execute("CREATE OR REPLACE TEMP TABLE words (word VARCHAR, state VARCHAR)")
    store.db.execute(
        "CREATE OR REPLACE TEMP TABLE tres (text VARCHAR, cpus BIGINT, nodes BIGINT, gpus BIGINT, gpu_type VARCHAR, memory BIGINT)"
    )
    kind: list[Callable[[str], str] | None] = [None]
    odd = [0, 0]
    statement = _statement(of)
    wanted = _wanted(of)
    mended = store.text(path, form, lambda: _piece(store, of, statement, kind, odd), wanted)
    steps = store.one(f"SELECT count(*) FROM steps WHERE source = {store.source}")[0]
    if odd[0]:
        store.notice(
            "stamps-that-never-were",
            f"{odd[0]} stamps of {path.name} lie in an hour that the clocks of {store.zone} skipped",
            "the file was written in another time zone: name it with --written-in",
        )
    if odd[1]:
        store.notice(
            "hour-twice",
            f"{odd[1]} runs of {path.name} began and ended in the hour that came twice: the first is taken",
            "ask sacct with SLURM_TIME_FORMAT=%s where that matters",
        )
    store.done(str(path), "sacct", rows=mended.rows, steps=steps, mended=mended)


# ------------------------------------------------------------------------------------------------------------ one piece


def _wanted(of: _Columns) -> list[int]:
    return sorted(of.used)


def _piece(
    store: Store, of: _Columns, statement: str, kind: list[Callable[[str], str] | None], odd: list[int]
) -> None:
    _learn(store, "words", "word", of.sql("State"), lambda word: (state_of(word),))
    _learn(store, "tres", "text", of.sql("AllocTRES"), _tres_row)
    face = _faces(store, of)
    if face is None:
        store.db.execute("CREATE OR REPLACE TEMP VIEW stamped AS SELECT *, " + ", ".join(_plain(of)) + " FROM raw")
    else:
        low, high = face
        odd[0] += _skipped(store, of, low, high)
        odd[1] += _stamped(store, of, low, high)
    store.db.execute(statement.replace("$source", str(store.source)))
    if any(of.has(name) for name in _STEP_COLUMNS):
        store.db.execute(_step_statement(of).replace("$source", str(store.source)))


def _learn(store: Store, table: str, key: str, column: str, of: Callable[[str], tuple[object, ...]]) -> None:
    """Words that come again and again are read once, in Python."""
    if column.startswith("NULL"):
        return
    new = store.rows(
        f"SELECT DISTINCT {column} FROM raw WHERE {column} IS NOT NULL AND {column} NOT IN (SELECT {key} FROM {table})"
    )
    if not new:
        return
    rows = [(word, *of(word)) for (word,) in new]
    names = [f"v{place}" for place in range(len(rows[0]))]
    lists = {name: list(values_) for name, values_ in zip(names, zip(*rows, strict=True), strict=True)}
    store.db.execute(f"INSERT INTO {table} SELECT {', '.join(f'unnest(${name})' for name in names)}", lists)


def _tres_row(word: str) -> tuple[int | None, int | None, int | None, str, int | None]:
    named = values.tres(word)
    gpus, kind = values.gpus_of(word)
    cpus, nodes = (int(named[name]) if named.get(name, "").isdigit() else None for name in ("cpu", "node"))
    memory = values.memory_bytes(named.get("mem", ""))
    return cpus, nodes, gpus, kind, memory or None  # mem=0: all of the nodes, whatever that is


_STAMPS = ("Submit", "Eligible", "Start", "End")


def _plain(of: _Columns) -> list[str]:
    """Stamps that are Unix times or say their offset."""
    return [f"{values.unix(of.sql(name))} AS {name.lower()}_u" for name in _STAMPS]


def _faces(store: Store, of: _Columns) -> tuple[int, int] | None:
    """The first and last face of the clock in local stamps; None where stamps say their zone."""
    column = of.sql("Submit") if of.has("Submit") else of.sql("Start")
    word = store.rows(f"SELECT {column} FROM raw WHERE length({column}) >= 9 LIMIT 1")
    if word and not values.is_local(word[0][0]):
        return None
    parts = [values.face(of.sql(name)) for name in _STAMPS if of.has(name)]
    low, high = store.one(f"SELECT min(least({', '.join(parts)})), max(greatest({', '.join(parts)})) FROM raw")
    return (int(low or 0), int(high or 0))


def _skipped(store: Store, of: _Columns, low: int, high: int) -> int:
    spans = zones.skipped(store.zone, low, high)
    if not spans:
        return 0
    column = values.face(of.sql("Start"))
    inside = " OR ".join(f"{column} >= {first} AND {column} < {last}" for first, last in spans)
    return int(store.one(f"SELECT count(*) FROM raw WHERE {inside}")[0])


def _need(of: _Columns) -> str:
    """How long after its start a run ended, by the engine's own count; NULL where it is not told."""
    elapsed = values.whole(of.sql("ElapsedRaw")) if of.has("ElapsedRaw") else f"{values.duration_ms(of.sql('Elapsed'))} // 1000"
    if not of.has("ElapsedRaw") and not of.has("Elapsed"):
        return "NULL::BIGINT"
    return f"({elapsed} + coalesce({values.duration_ms(of.sql('Suspended'))} // 1000, 0))"


def _stamped(store: Store, of: _Columns, low: int, high: int) -> int:
    """The view ``stamped``: raw with Unix times. Where the clocks went back in between, the elapsed time tells which of the two
    hours a stamp means; eligible and submit lie as near before the start as they can. Returns how many stay undecided."""
    years = 366 * zones.DAY_S
    low, high = low // years * years, (high // years + 1) * years  # few different texts: the changes are kept
    first = partial(zones.unix_sql, zone=store.zone, begin_s=low, end_s=high)
    faces = ", ".join(f"{values.face(of.sql(name))} AS {name}_l" for name in _STAMPS)
    if not zones.twice(store.zone, low, high):
        stamps = ", ".join(f"{first(f'{name}_l')} AS {name.lower()}_u" for name in _STAMPS)
        store.db.execute(f"CREATE OR REPLACE TEMP VIEW stamped AS SELECT *, {stamps} FROM (SELECT *, {faces} FROM raw)")
        return 0
    both = ", ".join(
        f"{first(f'{name}_l')} AS {name}0, {first(f'{name}_l', later=True)} AS {name}1" for name in _STAMPS
    )
    store.db.execute(
        f"""CREATE OR REPLACE TEMP VIEW stamped AS SELECT *,
        CASE WHEN Submit1 <= eligible_u THEN Submit1 ELSE Submit0 END AS submit_u
        FROM (SELECT *, CASE WHEN Eligible1 <= coalesce(start_u, Eligible0) THEN Eligible1 ELSE Eligible0 END AS eligible_u,
          CASE WHEN start_u + need_s IN (End0, End1) THEN start_u + need_s WHEN End0 >= start_u THEN End0 ELSE End1 END AS end_u
        FROM (SELECT *, CASE WHEN Start0 <> Start1 AND Start0 + need_s NOT IN (End0, End1) AND Start1 + need_s IN (End0, End1)
          THEN Start1 ELSE Start0 END AS start_u
        FROM (SELECT *, {both} FROM (SELECT *, {faces}, {_need(of)} AS need_s FROM raw))))"""
    )
    return int(
        store.one(
            "SELECT count(*) FROM stamped WHERE Start0 <> Start1 AND End0 <> End1 AND Start0 + need_s = End0 "
            f"AND NOT contains({of.sql('JobID')}, '.')"
        )[0]
    )


def _statement(of: _Columns) -> str:
    """What puts the jobs (and no steps) of a piece into the table."""
    job, state = of.sql("JobID"), of.sql("State")
    elapsed = (
        values.whole(of.sql("ElapsedRaw")) if of.has("ElapsedRaw") else f"{values.duration_ms(of.sql('Elapsed'))} // 1000"
    )
    idle = f"coalesce({values.duration_ms(of.sql('Suspended'))} // 1000, 0)"
    alloc = of.sql("AllocTRES")
    nodes_list = of.sql("NodeList")
    never = f"(start_u IS NULL OR (start_u = end_u AND coalesce({nodes_list}, '') = 'None assigned'))"
    user = of.sql("User")
    uid = of.sql("UID")
    asked = of.sql("ReqMem")
    cpus = f"coalesce(nullif({values.whole(of.sql('AllocCPUS', 'NCPUS'))}, 0), tres.cpus)"
    nodes = f"coalesce(nullif({values.whole(of.sql('NNodes', 'AllocNodes'))}, 0), tres.nodes)"
    limit = (
        f"60 * {values.whole(of.sql('TimelimitRaw'))}"
        if of.has("TimelimitRaw")
        else f"{values.duration_ms(of.sql('Timelimit'))} // 1000"
    )
    exit_ = of.sql("ExitCode")
    fields = {
        "source": "$source",
        "cluster": of.sql("Cluster"),
        "job": job,
        "task": f"nullif(split_part({job}, '_', 2), '')",
        "user": f"coalesce({user}, 'uid ' || {uid})",
        "project": of.sql("Account"),
        "unix_group": f"coalesce({of.sql('Group')}, 'gid ' || {of.sql('GID')})",
        "partition": of.sql("Partition"),
        "qos": of.sql("QOS"),
        "submit_s": "submit_u",
        "eligible_s": "eligible_u",
        "start_s": f"CASE WHEN NOT {never} THEN start_u END",
        "end_s": f"coalesce(end_u, CASE WHEN NOT {never} THEN start_u + {elapsed} + {idle} END)",
        "open": f"end_u IS NULL AND NOT {never}",
        "ran_s": f"CASE WHEN {never} THEN 0 ELSE greatest(0, coalesce({elapsed}, end_u - start_u - {idle})) END",
        "state": "words.state",
        "word": state,
        "exit_code": f"try_cast(split_part({exit_}, ':', 1) AS INTEGER)",
        "signal": f"nullif(try_cast(split_part({exit_}, ':', 2) AS INTEGER), 0)",
        "nodes": f"CASE WHEN NOT {never} THEN {nodes} END",
        "cpus": f"CASE WHEN NOT {never} THEN {cpus} END",
        "gpus": f"CASE WHEN {never} THEN 0 WHEN {alloc} IS NOT NULL THEN coalesce(tres.gpus, 0) END",
        "gpu_type": "nullif(tres.gpu_type, '')",
        "memory_asked_bytes": f"coalesce(tres.memory, nullif({values.memory(asked)}, 0) * CASE right({asked}, 1) "
        f"WHEN 'n' THEN {nodes} WHEN 'c' THEN {cpus} ELSE 1 END)",
        "cpu_used_ms": f"nullif({values.duration_ms(of.sql('TotalCPU'))}, 0)",
        "energy_j": f"nullif({values.whole(of.sql('ConsumedEnergyRaw'))}, 0)",
        "limit_s": limit,
        "node_list": f"nullif({nodes_list}, 'None assigned')",
        "name": of.sql("JobName"),
    }
    tres = f"LEFT JOIN tres ON tres.text = {alloc}" if not alloc.startswith("NULL") else "LEFT JOIN tres ON false"
    for name in (*_STAMPS, *_STEP_COLUMNS):
        of.sql(name)
    return (
        f"INSERT INTO jobs ({', '.join(fields)}) SELECT {', '.join(fields.values())} FROM stamped "
        f"LEFT JOIN words ON words.word = {state} {tres} WHERE NOT contains({job}, '.') AND {job} <> 'JobID'"
    )


def _step_statement(of: _Columns) -> str:
    """Memory of a step: of all of its tasks where Slurm added them up, else the greatest task times their number, as seff(1)
    does."""
    added = f"regexp_extract({of.sql('TRESUsageInTot')}, '(?:^|,)mem=(\\d+\\w?)', 1)"
    most = f"{values.memory(of.sql('MaxRSS'))} * coalesce({values.whole(of.sql('NTasks'))}, 1)"
    return (
        f"INSERT INTO steps SELECT $source, split_part({of.sql('JobID')}, '.', 1), start_u, "
        f"coalesce({values.memory(added)}, {most}), nullif({values.whole(of.sql('ConsumedEnergyRaw'))}, 0), "
        f"nullif({values.duration_ms(of.sql('TotalCPU'))}, 0) FROM stamped WHERE contains({of.sql('JobID')}, '.')"
    )


assert all(re.fullmatch(r"[A-Z_]+", word) for word in STATES)

READER = Reader(
    name="sacct",
    title="sacct --parsable2",
    mine=_mine,
    read=read,
    gpus="AccountingStorageTRES=gres/gpu in slurm.conf, then restart slurmctld: jobs that start from then on have them",
    samples=("sacct-multiline.txt", "sacct-invalid-utf8.txt", "sacct-steps.txt"),
)
