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

_KNOWN = (
    "JobID",
    "JobIDRaw",
    "AllocTRES",
    "AllocCPUS",
    "NCPUS",
    "ElapsedRaw",
    "Eligible",
    "Partition",
    "Account",
    "Submit",
)
#: Columns that hold anybody's words, the likeliest first.
_FREE = (
    "JobName",
    "SubmitLine",
    "Comment",
    "WorkDir",
    "AdminComment",
    "SystemComment",
    "Extra",
    "Reason",
    "Constraints",
    "WCKey",
)
_STAMP = r"|Unknown|None|N/A|\d{9,13}|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?"
_CHECKS = {
    "JobID": r"\d+(?:_(?:\d+|\[[^|]*\]))?(?:\+\d+)?(?:\.[\w+-]+)?|JobID",
    "JobIDRaw": r"\d+(?:\.[\w+-]+)?|JobIDRaw",
    "State": r"|State|[A-Z][A-Z_]+\+?(?: by \S+)?",
    **dict.fromkeys(("Submit", "Eligible", "Start", "End"), _STAMP + "|Submit|Eligible|Start|End"),
    **dict.fromkeys(
        ("ElapsedRaw", "TimelimitRaw", "CPUTimeRAW", "UID", "GID", "AssocID"), r"\d*|Partition_Limit|UNLIMITED|[A-Z]\w+"
    ),
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
        raise BadInput(
            "has no head line of sacct", where=str(path), hint="run sacct without --noheader, with --parsable2"
        )
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


class _Reading:
    """One file while it is read: its columns, the statements that its pieces go through, what was odd."""

    def __init__(self, store: Store, form: text.Form) -> None:
        self.store = store
        self.of = _Columns(form.columns)
        self.local: bool | None = None  # whether stamps are local times; told by the first
        self.never_were = self.undecided = 0
        self.parsed = _parsed(self.of)
        self.jobs = _jobs_statement(self.of, lean=store.lean)
        self.has_steps = any(self.of.has(name) for name in _STEP_COLUMNS)
        self.steps = _steps_select(self.of)

    def piece(self) -> None:
        """Put the jobs and steps of the table ``raw`` into the store."""
        store, of = self.store, self.of
        _learn(store, "words", "word", of.sql("State"), lambda word: (state_of(word),))
        _learn(store, "tres", "text", of.sql("AllocTRES"), _tres_row)
        if self.local is None:
            column = of.sql("Submit") if of.has("Submit") else of.sql("Start")
            word = store.rows(f"SELECT {column} FROM raw WHERE length({column}) >= 9 AND {column} <> 'Unknown' LIMIT 1")
            self.local = bool(word) and values.is_local(word[0][0])
        if self.local:
            self._local()
        else:
            stamps = ", ".join(f"{values.unix(of.sql(name))} AS {name.lower()}_u" for name in _STAMPS)
            store.db.execute(f"CREATE OR REPLACE TEMP VIEW stamped AS SELECT *, rowid AS rid, {stamps} FROM raw")
        store.db.execute(_OF_STEPS if not self.has_steps else _steps_tables(of, self.steps))
        store.db.execute(self.jobs.replace("$source", str(store.source)))
        if self.has_steps:  # what has no job in this piece waits for it
            store.db.execute(
                f"INSERT INTO steps SELECT {store.source}, job, start_u, memory, energy, cpu FROM piece_steps WHERE NOT taken"
            )

    def _local(self) -> None:
        """The view ``stamped``: raw with Unix times. Where the clocks went back in between, the elapsed time tells which of the
        two hours a stamp means; eligible and submit lie as near before the start as they can."""
        store = self.store
        low, high = store.one(f"SELECT {_least('min')}, {_least('max')} FROM raw")
        low, high = int(low or 0), int(high or 0)
        spans = zones.skipped(store.zone, low, high)
        if spans:
            inside = " OR ".join(f"start_l >= {first} AND start_l < {last}" for first, last in spans)
            self.never_were += int(store.one(f"SELECT count(*) FROM raw WHERE {inside}")[0])
        first = partial(
            zones.unix_sql, zone=store.zone, begin_s=low // 86400 * 86400, end_s=(high // 86400 + 1) * 86400
        )
        twice = zones.twice(store.zone, low, high)
        if not twice:
            stamps = ", ".join(f"{first(f'{name}_l')} AS {name}_u" for name in map(str.lower, _STAMPS))
            store.db.execute(f"CREATE OR REPLACE TEMP VIEW stamped AS SELECT *, rowid AS rid, {stamps} FROM raw")
            return
        both = ", ".join(
            f"{first(f'{name}_l')} AS {name}0, {first(f'{name}_l', later=True)} AS {name}1"
            for name in map(str.lower, _STAMPS)
        )
        store.db.execute(_FOLDED.replace("$both", both))
        inside = " OR ".join(
            f"(start_l >= {low} AND start_l < {high} AND end_l >= {low} AND end_l < {high})" for low, high in twice
        )
        job = self.of.sql("JobID")
        self.undecided += int(
            store.one(
                f"SELECT count(*) FROM raw WHERE ({inside}) AND end_l - start_l = need_s AND NOT contains({job}, '.')"
            )[0]
        )


def _least(how: str) -> str:
    function = "least" if how == "min" else "greatest"
    return f"{how}({function}(submit_l, start_l, end_l))"


_FOLDED = """CREATE OR REPLACE TEMP VIEW stamped AS SELECT *,
    CASE WHEN submit1 <= eligible_u THEN submit1 ELSE submit0 END AS submit_u
  FROM (SELECT *, CASE WHEN eligible1 <= coalesce(start_u, eligible0) THEN eligible1 ELSE eligible0 END AS eligible_u,
    CASE WHEN start_u + need_s IN (end0, end1) THEN start_u + need_s WHEN end0 >= start_u THEN end0 ELSE end1 END AS end_u
  FROM (SELECT *, CASE WHEN start0 <> start1 AND start0 + need_s NOT IN (end0, end1) AND start1 + need_s IN (end0, end1)
    THEN start1 ELSE start0 END AS start_u
  FROM (SELECT *, rowid AS rid, $both FROM raw)))"""


def read(store: Store, path: Path) -> None:
    """Put the jobs of a file into the store. Raises BadInput."""
    form = form_of(path)
    store.db.execute("CREATE OR REPLACE TEMP TABLE words (word VARCHAR, state VARCHAR)")
    store.db.execute(
        "CREATE OR REPLACE TEMP TABLE tres (text VARCHAR, cpus BIGINT, nodes BIGINT, gpus BIGINT, gpu_type VARCHAR, memory BIGINT)"
    )
    reading = _Reading(store, form)
    mended = store.text(path, form, reading.piece, sorted(reading.of.used), reading.parsed)
    steps = store.one(f"SELECT count(*) FROM steps WHERE source = {store.source}")[0]
    if reading.never_were:
        store.notice(
            "stamps-that-never-were",
            f"{reading.never_were} stamps of {path.name} lie in an hour that the clocks of {store.zone} skipped",
            "the file was written in another time zone: name it with --written-in",
        )
    if reading.undecided:
        store.notice(
            "hour-twice",
            f"{reading.undecided} runs of {path.name} began and ended in the hour that came twice: the first is taken",
            "ask sacct with SLURM_TIME_FORMAT=%s where that matters",
        )
    store.done(
        str(path),
        "sacct",
        rows=mended.rows,
        steps=mended.rows - _own(store) if reading.has_steps else steps,
        mended=mended,
    )


def _own(store: Store) -> int:
    """The rows of this source that are jobs."""
    return int(store.one(f"SELECT count(*) FROM jobs WHERE source = {store.source}")[0])


# ------------------------------------------------------------------------------------------------------------ one piece


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


def _parsed(of: _Columns) -> dict[str, str]:
    """Columns of ``raw`` that are read from others once, since much refers to them."""
    elapsed = (
        values.whole(of.sql("ElapsedRaw"))
        if of.has("ElapsedRaw")
        else f"{values.duration_ms(of.sql('Elapsed'))} // 1000"
    )
    idle = of.sql("Suspended")
    return {
        **{f"{name.lower()}_l": values.face(of.sql(name)) for name in _STAMPS},
        "elapsed_s": elapsed,
        "idle_s": "0"
        if idle.startswith("NULL")
        else f"CASE WHEN {idle} <> '00:00:00' THEN {values.duration_ms(idle)} // 1000 ELSE 0 END",
        "need_s": "elapsed_s + idle_s",
        "busy_ms": f"nullif({values.duration_ms(of.sql('TotalCPU'))}, 0)",
        "joules": f"nullif({values.whole(of.sql('ConsumedEnergyRaw'))}, 0)",
        "step": f"contains({of.sql('JobID')}, '.')",
    }


_OF_STEPS = (
    "CREATE OR REPLACE TEMP TABLE ofsteps AS SELECT NULL::BIGINT AS rid, NULL::BIGINT AS memory, NULL::BIGINT AS energy, "
    "NULL::BIGINT AS cpu WHERE false"
)


def _steps_select(of: _Columns) -> str:
    """Memory of a step: of all of its tasks where Slurm added them up, else the greatest task times their number, as seff(1)
    does."""
    added = f"regexp_extract({of.sql('TRESUsageInTot')}, '(?:^|,)mem=(\d+\w?)', 1)"
    most = f"{values.memory(of.sql('MaxRSS'))} * coalesce({values.whole(of.sql('NTasks'))}, 1)"
    job = of.sql("JobID")
    return (
        f"SELECT DISTINCT {job} AS id, split_part({job}, '.', 1) AS job, start_u, coalesce({values.memory(added)}, {most}) AS memory, "
        "joules AS energy, busy_ms AS cpu, false AS taken FROM stamped WHERE step"
    )


def _steps_tables(of: _Columns, steps: str) -> str:
    """Tables of a piece: its steps, and what they come to for each job of the piece that they lie in."""
    job = of.sql("JobID")
    meets = (
        f"j.{job} = s.job AND s.start_u >= j.start_u - 1 AND (j.end_u IS NULL OR s.start_u <= j.end_u) AND NOT j.step"
    )
    return (
        f"CREATE OR REPLACE TEMP TABLE piece_steps AS {steps}; "
        f"CREATE OR REPLACE TEMP TABLE ofsteps AS SELECT j.rid, max(s.memory) AS memory, sum(s.energy) AS energy, sum(s.cpu) AS cpu "
        f"FROM piece_steps s JOIN stamped j ON {meets} GROUP BY j.rid; "
        f"UPDATE piece_steps s SET taken = true FROM stamped j WHERE {meets}"
    )


def _jobs_statement(of: _Columns, *, lean: bool) -> str:
    """What puts the jobs (and no steps) of a piece into the table."""
    job, state, alloc = of.sql("JobID"), of.sql("State"), of.sql("AllocTRES")
    nodes_list, asked, exit_ = of.sql("NodeList"), of.sql("ReqMem"), of.sql("ExitCode")
    never = f"(start_u IS NULL OR (start_u = end_u AND coalesce({nodes_list}, '') = 'None assigned'))"
    cpus = f"coalesce(nullif({values.whole(of.sql('AllocCPUS', 'NCPUS'))}, 0), tres.cpus)"
    nodes = f"coalesce(nullif({values.whole(of.sql('NNodes', 'AllocNodes'))}, 0), tres.nodes)"
    limit = (
        f"60 * {values.whole(of.sql('TimelimitRaw'))}"
        if of.has("TimelimitRaw")
        else f"{values.duration_ms(of.sql('Timelimit'))} // 1000"
    )
    fields = {
        "source": "$source",
        "cluster": of.sql("Cluster"),
        "job": job,
        "attempt": "0",
        "user": f"coalesce({of.sql('User')}, 'uid ' || {of.sql('UID')})",
        "project": of.sql("Account"),
        "unix_group": f"coalesce({of.sql('Group')}, 'gid ' || {of.sql('GID')})",
        "partition": of.sql("Partition"),
        "qos": of.sql("QOS"),
        "submit_s": "submit_u",
        "eligible_s": "eligible_u",
        "start_s": f"CASE WHEN NOT {never} THEN start_u END",
        "end_s": f"coalesce(end_u, CASE WHEN NOT {never} THEN start_u + need_s END)",
        "open": f"end_u IS NULL AND NOT {never}",
        "ran_s": f"CASE WHEN {never} THEN 0 ELSE greatest(0, coalesce(elapsed_s, end_u - start_u - idle_s)) END",
        "state": "words.state",
        "nodes": f"CASE WHEN NOT {never} THEN {nodes} END",
        "cpus": f"CASE WHEN NOT {never} THEN {cpus} END",
        "gpus": f"CASE WHEN {never} THEN 0 WHEN {alloc} IS NOT NULL THEN coalesce(tres.gpus, 0) END",
        "gpu_type": "nullif(tres.gpu_type, '')",
        "memory_asked_bytes": f"coalesce(tres.memory, nullif({values.memory(asked)}, 0) * CASE right({asked}, 1) "
        f"WHEN 'n' THEN {nodes} WHEN 'c' THEN {cpus} ELSE 1 END)",
        "memory_used_bytes": "ofsteps.memory",
        "cpu_used_ms": "coalesce(busy_ms, ofsteps.cpu)",
        "energy_j": "coalesce(joules, ofsteps.energy)",
        "limit_s": limit,
    }
    if not lean:
        fields |= {
            "task": f"nullif(split_part({job}, '_', 2), '')",
            "word": state,
            "exit_code": f"try_cast(split_part({exit_}, ':', 1) AS INTEGER)",
            "signal": f"nullif(try_cast(split_part({exit_}, ':', 2) AS INTEGER), 0)",
            "node_list": f"nullif({nodes_list}, 'None assigned')",
            "name": of.sql("JobName"),
        }
    tres = f"LEFT JOIN tres ON tres.text = {alloc}" if not alloc.startswith("NULL") else "LEFT JOIN tres ON false"
    return (
        f"INSERT INTO jobs ({', '.join(fields)}) SELECT {', '.join(fields.values())} FROM stamped LEFT JOIN words ON "
        f"words.word = {state} {tres} LEFT JOIN ofsteps USING (rid) WHERE NOT step AND {job} <> 'JobID'"
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
