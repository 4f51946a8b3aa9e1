"""Slurm: what ``sacct --parsable2`` (or ``-p``) prints, with its head, any delimiter, any choice and order of columns.

Ask for it with ``sacct --allusers --duplicates --parsable2`` and a window; ``--duplicates`` shows the attempts that a
requeue ended. Steps may be there: they are not counted, but give memory, and energy and CPU time where the job's own
row has none.

What bites, besides what ``text`` tells of: stamps are local times of the host that sacct ran on, and those of one hour
a year come twice: the elapsed time tells which is meant. NCPUS of a job that never started is what it asked for. A job
that was cancelled before it started has the start None, Unknown or, in old versions, its end. Energy and CPU time of
zero mean that nothing measured them. ``Reserved`` is called ``Planned`` since 21.08; ReqMem had an n (of a node) or c
(of a CPU) until then.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ....errors import BadInput
from ....schedulers.common import delimited
from ....schedulers.common.slurm_rows import JOB_ID, state_of
from ....units import whole_number
from .. import text, values
from ..loading import Store
from . import Reader
from ._folded import STAMPS, Stamps
from ._unread import ENDED, NOTHING, USED, Unread, odd

_KNOWN = (
    "JobID", "JobIDRaw", "AllocTRES", "AllocCPUS", "NCPUS", "ElapsedRaw", "Eligible", "Partition", "Account", "Submit",
)  # fmt: skip
#: Columns that hold anybody's words, the likeliest first.
_FREE = (
    "JobName", "SubmitLine", "Comment", "WorkDir", "AdminComment", "SystemComment", "Extra", "Reason", "Constraints",
    "WCKey",
)  # fmt: skip
_STAMP = r"|Unknown|None|N/A|\d{9,13}|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?"
_NUMBERS = ("ElapsedRaw", "TimelimitRaw", "CPUTimeRAW", "UID", "GID", "AssocID")
_CHECKS = {
    "JobID": JOB_ID + "|JobID",
    "JobIDRaw": r"\d+(?:\.[\w+-]+)?|JobIDRaw",
    "State": r"|State|[A-Z][A-Z_]+\+?(?: by \S+)?",
    **dict.fromkeys(STAMPS, _STAMP + "|Submit|Eligible|Start|End"),
    **dict.fromkeys(_NUMBERS, r"\d*|Partition_Limit|UNLIMITED|[A-Z]\w+"),
}
_ENOUGH = (
    "--format=JobID,User,Account,Partition,Submit,Eligible,Start,End,ElapsedRaw,Suspended,State,ExitCode,NNodes,NCPUS"
)


def _mine(head: str) -> bool:
    found = delimited.told(head.partition("\n")[0], _KNOWN)
    return found is not None and len(set(found.columns) & {*_KNOWN, "Start", "End", "State"}) >= 3


class _Columns:
    """Where each of sacct's columns lies, as SQL; NULL where it is not there."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.at = {name: place for place, name in reversed(list(enumerate(names))) if name}

    def has(self, name: str) -> bool:
        return name in self.at

    def sql(self, *choices: str) -> str:
        """The first of these that is there."""
        return next((f"c{self.at[name]}" for name in choices if name in self.at), NOTHING)


def form_of(path: Path) -> delimited.Form:
    """What the rows of a file look like, from its head. Raises BadInput."""
    head = text.first_lines(path).partition("\n")[0]
    found = delimited.told(head, _KNOWN)
    if found is None:
        raise BadInput(
            "has no head line of sacct", where=str(path), hint="run sacct without --noheader, with --parsable2"
        )
    lacking = [name for name in ("JobID", "Start", "State") if name not in found.columns]
    if "End" not in found.columns and not {"ElapsedRaw", "Elapsed"} & set(found.columns):
        lacking.append("End")
    if lacking:
        hint = f"ask sacct for {_ENOUGH},AllocTRES"
        raise BadInput(f"lacks the columns {', '.join(lacking)}", where=str(path), hint=hint)
    place = {name: at for at, name in enumerate(found.columns)}
    return delimited.Form(
        delimiter=found.delimiter,
        columns=found.columns,
        free=tuple(place[name] for name in _FREE if name in place),
        checks={place[name]: pattern for name, pattern in _CHECKS.items() if name in place},
        numbered=found.columns[0] in ("JobID", "JobIDRaw"),
    )


def read(store: Store, path: Path) -> None:
    """Put the jobs of a file into the store. Raises BadInput."""
    form = form_of(path)
    of = _Columns(form.columns)
    stamps = Stamps(store, local=_is_local(path, form))
    store.db.execute("CREATE OR REPLACE TEMP TABLE words (word VARCHAR, state VARCHAR)")
    store.db.execute(
        "CREATE OR REPLACE TEMP TABLE tres (text VARCHAR, cpus BIGINT, nodes BIGINT, gpus BIGINT, gpu_type VARCHAR, "
        "memory BIGINT)"
    )
    has_steps, unread = [False], Unread()
    jobs = _jobs_statement(store.source, lean=store.lean)

    def piece() -> None:
        _learn(store, "words", "state", lambda word: (state_of(word),))
        _learn(store, "tres", "alloc", _tres_row)
        stamps.view()
        unread.count(store)
        steps = bool(store.one("SELECT count(*) FROM raw WHERE step")[0])
        has_steps[0] |= steps
        store.db.execute(_STEPS if steps else _NO_STEPS)
        store.db.execute(jobs)
        if steps:  # what has no job in this piece waits for it
            store.db.execute(
                f"INSERT INTO steps SELECT {store.source}, cluster, id, job, start_u, memory, energy, cpu FROM piece_steps "
                "WHERE NOT taken"
            )

    columns = {**stamps.parsed(of.sql), **_parsed(of, lean=store.lean)}
    mended = store.text(path, form, piece, {**columns, "odd": odd(of.sql, columns)})
    stamps.notices(path.name)
    lost = unread.notices(store, path.name)
    jobs_read = store.one(f"SELECT count(*) FROM jobs WHERE source = {store.source}")[0]
    steps_read = mended.rows - jobs_read - lost if has_steps[0] else 0
    store.done(str(path), "sacct", rows=mended.rows, steps=steps_read, mended=mended)


def _is_local(path: Path, form: delimited.Form) -> bool:
    """Whether stamps are local times, which the first of them tells."""
    places = [at for at, name in enumerate(form.columns) if name in STAMPS]
    for line in text.first_lines(path, 1 << 20).split("\n")[1:]:
        row = delimited.aligned(line, form)
        for at in places if row else ():
            if row and len(row[at]) >= 9:
                return values.is_local(row[at])
    return True


# ------------------------------------------------------------------------------------------------------------ one piece


def _learn(store: Store, table: str, column: str, of: Callable[[str], tuple[object, ...]]) -> None:
    """Words that come again and again are read once, in Python."""
    key = "word" if table == "words" else "text"
    new = store.rows(
        f"SELECT DISTINCT {column} FROM raw WHERE {column} IS NOT NULL AND {column} NOT IN (SELECT {key} FROM {table})"
    )
    if not new:
        return
    rows = [(word, *of(word)) for (word,) in new]
    names = [f"v{place}" for place in range(len(rows[0]))]
    lists = {name: list(column_) for name, column_ in zip(names, zip(*rows, strict=True), strict=True)}
    store.db.execute(f"INSERT INTO {table} SELECT {', '.join(f'unnest(${name})' for name in names)}", lists)


def _tres_row(word: str) -> tuple[int | None, int | None, int | None, str, int | None]:
    named = values.tres(word)
    gpus, kind = values.gpus_of(word)
    cpus, nodes = (whole_number(named.get(name), most=10**9 - 1) for name in ("cpu", "node"))
    memory = values.memory_bytes(named.get("mem", ""))
    return cpus, nodes, gpus, kind, memory or None  # mem=0: all of the nodes, whatever that is


def _parsed(of: _Columns, *, lean: bool) -> dict[str, str]:
    """The columns of ``raw``: each text read once, and not kept where its number is enough."""
    job, idle = of.sql("JobID"), of.sql("Suspended")
    elapsed = (
        values.counted(of.sql("ElapsedRaw"))
        if of.has("ElapsedRaw")
        else f"{values.duration_ms(of.sql('Elapsed'))} // 1000"
    )
    limit = (
        f"60 * {values.whole(of.sql('TimelimitRaw'))}"
        if of.has("TimelimitRaw")
        else f"{values.duration_ms(of.sql('Timelimit'))} // 1000"
    )
    # Memory of a step: of all of its tasks where Slurm added them up, else the greatest task times their number, as
    # seff(1) does.
    added = f"regexp_extract({of.sql('TRESUsageInTot')}, '(?:^|,)mem=(\\d+\\w?)', 1)"
    most = f"{values.memory(of.sql('MaxRSS'))} * coalesce({values.whole(of.sql('NTasks'))}, 1)"
    found = {
        "job": job,
        "step": f"contains({job}, '.')",
        "cluster": of.sql("Cluster"),
        "user": f"coalesce({of.sql('User')}, 'uid ' || {of.sql('UID')})",
        "project": of.sql("Account"),
        "unix_group": f"coalesce({of.sql('Group')}, 'gid ' || {of.sql('GID')})",
        "partition": of.sql("Partition"),
        "qos": of.sql("QOS"),
        "state": of.sql("State"),
        "alloc": of.sql("AllocTRES"),
        "nobody": f"coalesce({of.sql('NodeList')}, '') = 'None assigned'",
        "elapsed_s": elapsed,
        "idle_s": f"CASE WHEN {idle} <> '00:00:00' THEN {values.duration_ms(idle)} // 1000 ELSE 0 END",
        "cpus": f"nullif({values.small(of.sql('AllocCPUS', 'NCPUS'))}, 0)",
        "nodes": f"nullif({values.small(of.sql('NNodes', 'AllocNodes'))}, 0)",
        "asked": of.sql("ReqMem"),
        "busy_ms": f"nullif({values.duration_ms(of.sql('TotalCPU'))}, 0)",
        "joules": f"nullif({values.whole(of.sql('ConsumedEnergyRaw'))}, 0)",
        "limit_s": limit,
        "step_memory": f"CASE WHEN contains({job}, '.') THEN coalesce({values.memory(added)}, {most}) END",
    }
    if not lean:
        found |= {"exit_": of.sql("ExitCode"), "node_list": of.sql("NodeList"), "name": of.sql("JobName")}
    return found


_NO_STEPS = (
    "CREATE OR REPLACE TEMP TABLE ofsteps AS SELECT NULL::BIGINT AS rid, NULL::BIGINT AS memory, NULL::BIGINT AS energy, "
    "NULL::BIGINT AS cpu WHERE false"
)
_MEETS = (
    "j.job = s.job AND coalesce(j.cluster, '') = coalesce(s.cluster, '') AND NOT j.step "
    "AND s.start_u >= j.start_u - 1 AND (j.end_u IS NULL OR s.start_u <= j.end_u)"
)
#: Tables of a piece: its steps, and what they come to for each job of the piece that they lie in.
_STEPS = f"""
CREATE OR REPLACE TEMP TABLE piece_steps AS SELECT DISTINCT cluster, job AS id, split_part(job, '.', 1) AS job, start_u,
  step_memory AS memory, joules AS energy, busy_ms AS cpu, false AS taken FROM stamped WHERE step;
CREATE OR REPLACE TEMP TABLE ofsteps AS SELECT j.rid, max(s.memory) AS memory, sum(s.energy) AS energy, sum(s.cpu) AS cpu
  FROM piece_steps s JOIN stamped j ON {_MEETS} GROUP BY j.rid;
UPDATE piece_steps s SET taken = true FROM stamped j WHERE {_MEETS}
"""


def _jobs_statement(source: int, *, lean: bool) -> str:
    """What puts the jobs (and no steps) of a piece into the table."""
    never = "(start_u IS NULL OR (start_u = end_u AND nobody))"
    cpus, nodes = "coalesce(stamped.cpus, tres.cpus)", "coalesce(stamped.nodes, tres.nodes)"
    times = f"CASE right(asked, 1) WHEN 'n' THEN {nodes} WHEN 'c' THEN {cpus} ELSE 1 END"
    fields = {
        "source": str(source),
        "cluster": "cluster",
        "job": "job",
        "attempt": "0",
        **{name: name for name in ("user", "project", "unix_group", "partition", "qos")},
        "submit_s": "submit_u",
        "eligible_s": "eligible_u",
        "start_s": f"CASE WHEN NOT {never} THEN start_u END",
        "end_s": f"coalesce(end_u, CASE WHEN NOT {never} THEN start_u + elapsed_s + idle_s END)",
        "open": f"end_u IS NULL AND NOT {never} AND NOT {ENDED}",
        "ran_s": f"CASE WHEN {never} THEN 0 ELSE greatest(0, coalesce(elapsed_s, end_u - start_u - idle_s)) END",
        "state": "words.state",
        "nodes": f"CASE WHEN NOT {never} THEN {nodes} END",
        "cpus": f"CASE WHEN NOT {never} THEN {cpus} END",
        "gpus": f"CASE WHEN {never} THEN 0 WHEN alloc IS NOT NULL THEN coalesce(tres.gpus, 0) END",
        "gpu_type": "nullif(tres.gpu_type, '')",
        "memory_asked_bytes": f"coalesce(tres.memory, nullif({values.memory('asked')}, 0) * {times})",
        "memory_used_bytes": "ofsteps.memory",
        "cpu_used_ms": "coalesce(busy_ms, ofsteps.cpu)",
        "energy_j": "coalesce(joules, ofsteps.energy)",
        "limit_s": "limit_s",
    }
    if not lean:
        fields |= {
            "task": "nullif(split_part(job, '_', 2), '')",
            "word": "stamped.state",
            "exit_code": "try_cast(split_part(exit_, ':', 1) AS INTEGER)",
            "signal": "nullif(try_cast(split_part(exit_, ':', 2) AS INTEGER), 0)",
            "node_list": "nullif(node_list, 'None assigned')",
            "name": "name",
        }
    return (
        f"INSERT INTO jobs ({', '.join(fields)}) SELECT {', '.join(fields.values())} FROM stamped LEFT JOIN words ON "
        "words.word = stamped.state LEFT JOIN tres ON tres.text = alloc LEFT JOIN ofsteps USING (rid) "
        f"WHERE NOT step AND job <> 'JobID' AND {USED}"
    )


READER = Reader(
    name="sacct",
    title="sacct --parsable2",
    mine=_mine,
    read=read,
    gpus="AccountingStorageTRES=gres/gpu in slurm.conf, then restart slurmctld: jobs that start from then on have them",
    samples=(
        "sample-sacct-multiple-multiline.txt",
        "sample-sacct-output-invalid-utf8.txt",
        "sample-sacct-output.txt",
        "slurm-22.05-sacct-all.txt",
        "slurm-22.05-sacct-epochs.txt",
    ),
)
