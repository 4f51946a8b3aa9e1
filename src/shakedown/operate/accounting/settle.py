"""What is one job, one attempt, one row too many: decided once all sources are read, in the order below.

1. A row that comes twice counts once: the same job with the same submission and start. Of a look while it ran and one after
   it ended, the later look holds; a row of a job that waited gives way to one that ran.
2. A run without an end goes on to the last time that its source knows of. Jobs that still wait are left out.
3. Rows that end before they begin (a clock was set) count for what the engine says they ran, else for nothing.
4. Rows of one job number are attempts where one begins (or is taken back) when the one before ended, or where they share a
   submission; a number that comes again later is another job.
5. Memory, energy and CPU time of steps go to the run that they lie in.
6. Where a cluster's rows name no GPU at all, its GPUs are not recorded.
"""

from __future__ import annotations

from ... import times
from . import plausible
from .loading import Store

#: How long after the end of an attempt the next may be submitted and still be the same job: a stamp may be an hour off where
#: the clocks go back, and a number comes again after days at the earliest.
_AGAIN_S = 7200
#: Runs in a partition, and the share of them with GPUs, from which earlier ones without are doubted.
_DOUBT_RUNS, _DOUBT_SHARE = 20, 0.9
#: Rows j of the jobs s that have several.
_SEVERAL = "coalesce(j.cluster, '') = s.cluster AND j.job = s.job"


def settle(store: Store) -> None:
    """Settle the jobs of all sources; what was found is said in notices."""
    plausible.take_out(store)
    _once(store)
    _open(store)
    _backwards(store)
    _attempts(store)
    _steps(store)
    _gpus(store)
    plausible.say(store)


def _once(store: Store) -> None:
    store.db.execute(
        "CREATE OR REPLACE TEMP TABLE several AS SELECT coalesce(cluster, '') AS cluster, job FROM jobs GROUP BY ALL "
        "HAVING count(*) > 1"
    )
    same = "PARTITION BY s.cluster, j.job, coalesce(j.submit_s, j.start_s, -1)"
    store.db.execute(
        f"""CREATE OR REPLACE TEMP TABLE extra AS SELECT rid FROM (
        SELECT j.rowid AS rid, start_s, submit_s, bool_or(j.start_s IS NOT NULL) OVER ({same}) AS ran_too,
          bool_or(j.start_s IS NOT NULL) OVER (PARTITION BY s.cluster, j.job) AS ran_once,
          row_number() OVER ({same}, j.start_s
            ORDER BY coalesce(j.open, false), j.end_s DESC NULLS LAST, j.source DESC, j.ran_s DESC,
              j.cpus DESC, j.gpus DESC, j.nodes DESC, j.state) AS place
        FROM jobs j JOIN several s ON {_SEVERAL})
        WHERE place > 1 OR (start_s IS NULL AND (ran_too OR (submit_s IS NULL AND ran_once)))"""
    )
    twice = store.one("SELECT count(*) FROM extra")[0]
    if twice:
        store.db.execute("DELETE FROM jobs WHERE rowid IN (SELECT rid FROM extra)")
    if twice and not store.overlapping:
        store.notice("twice", f"{twice} rows came more than once, as from files that overlap: each job is counted once")


def _open(store: Store) -> None:
    store.db.execute("UPDATE jobs SET open = false WHERE open IS NULL")
    store.db.execute(
        """UPDATE jobs SET end_s = greatest(start_s, s.last)
        FROM (SELECT source, max(greatest(submit_s, start_s, end_s)) AS last FROM jobs GROUP BY source) s
        WHERE s.source = jobs.source AND jobs.open AND jobs.end_s IS NULL"""
    )
    store.db.execute("UPDATE jobs SET ran_s = end_s - start_s WHERE open AND ran_s IS NULL")
    running, waiting = store.one(
        "SELECT count(*) FILTER (WHERE open), count(*) FILTER (WHERE start_s IS NULL AND state = 'queued') FROM jobs"
    )
    if running:
        store.notice("open", f"{running} runs had not ended when the records were written: they are counted up to then")
    if waiting:
        store.notice("waiting", f"{waiting} jobs were still waiting when the records were written: they are left out")
    lost = store.one("SELECT count(*) FROM jobs WHERE open AND ran_s > limit_s + 86400")[0]
    if lost:
        store.notice(
            "runaway",
            f"{lost} of these have run a day longer than their time limit: the engine may have lost their ends",
            "sacctmgr show runawayjobs lists and fixes them",
        )


def _backwards(store: Store) -> None:
    backwards = "start_s IS NOT NULL AND end_s < start_s"
    wrong, idle = store.one(
        f"SELECT count(*), count(*) FILTER (WHERE coalesce(ran_s, 0) = 0) FROM jobs WHERE {backwards}"
    )
    if wrong:
        store.db.execute(f"UPDATE jobs SET end_s = start_s + coalesce(ran_s, 0) WHERE {backwards}")
        store.notice(
            "ends-before-start",
            f"{wrong} runs end before they begin, as when a clock is set: they count for the time that the engine says they "
            f"ran, {idle} of them for none",
            "look at the clocks of the controller and the nodes (chronyc tracking)",
        )
    longer = store.one("SELECT count(*) FROM jobs WHERE ran_s > end_s - start_s")[0]
    if longer:
        store.db.execute("UPDATE jobs SET ran_s = end_s - start_s WHERE ran_s > end_s - start_s")
        store.notice(
            "ran-longer",
            f"{longer} runs are said to have run longer than from their start to their end: the latter holds",
        )


def _attempts(store: Store) -> None:
    order = "ORDER BY coalesce(submit_s, start_s), start_s NULLS LAST, end_s"
    of_job, of_chain = f"PARTITION BY cluster, job {order}", f"PARTITION BY cluster, job, chain {order}"
    store.db.execute(
        f"""CREATE OR REPLACE TEMP TABLE numbered AS SELECT rid, row_number() OVER ({of_chain}) - 1 AS attempt,
          lag(CASE WHEN start_s IS NOT NULL THEN end_s END) OVER ({of_chain}) AS before_s
        FROM (SELECT *, sum(anew) OVER ({of_job}) AS chain FROM (SELECT *,
          CASE WHEN submit_s = lag(submit_s) OVER ({of_job}) OR submit_s <= lag(end_s) OVER ({of_job}) + {_AGAIN_S}
            THEN 0 ELSE 1 END AS anew
        FROM (SELECT j.rowid AS rid, s.cluster, j.job, j.submit_s, j.start_s, j.end_s
          FROM jobs j JOIN several s ON {_SEVERAL})))"""
    )
    store.db.execute(
        """UPDATE jobs SET attempt = n.attempt, before_end_s = n.before_s,
          eligible_s = greatest(coalesce(eligible_s, submit_s), n.before_s) FROM numbered n WHERE n.rid = jobs.rowid"""
    )


def _steps(store: Store) -> None:
    steps = store.one("SELECT count(*) FROM steps")[0]
    if not steps:
        return
    store.db.execute(
        """CREATE OR REPLACE TEMP TABLE ofsteps AS SELECT j.rowid AS rid, max(s.memory_used_bytes) AS memory,
          sum(s.energy_j) AS energy, sum(s.cpu_used_ms) AS cpu FROM (SELECT DISTINCT * EXCLUDE (source) FROM steps) s
        JOIN jobs j ON j.job = s.job AND coalesce(j.cluster, '') = coalesce(s.cluster, '')
          AND s.start_s >= j.start_s - 1 AND s.start_s <= j.end_s GROUP BY ALL"""
    )
    store.db.execute(
        """UPDATE jobs SET memory_used_bytes = coalesce(memory_used_bytes, s.memory),
          energy_j = coalesce(energy_j, s.energy), cpu_used_ms = coalesce(cpu_used_ms, s.cpu)
        FROM ofsteps s WHERE s.rid = jobs.rowid"""
    )
    alone, jobs = store.one("SELECT count(*), count(DISTINCT job) FROM steps WHERE job NOT IN (SELECT job FROM jobs)")
    if alone:
        store.notice(
            "steps-without-job",
            f"{alone} steps of {jobs} jobs have no row of their job: these jobs are not counted",
            "export the jobs too: sacct with a longer window, or the whole file",
        )


def _gpus(store: Store) -> None:
    """GPUs of a cluster (per reader's kind of file) that no row names are not recorded, and neither are those of the time
    before the first row that does, in partitions where nearly all later runs have some."""
    for cluster, some in store.rows(
        "SELECT coalesce(cluster, ''), bool_or(coalesce(gpus, 0) > 0) FROM jobs GROUP BY ALL ORDER BY 1"
    ):
        name = cluster.replace("'", "''")
        here = f"coalesce(cluster, '') = '{name}'"
        if not some:
            store.db.execute(f"UPDATE jobs SET gpus = NULL WHERE {here} AND start_s IS NOT NULL")
            continue
        first = store.one(f"SELECT min(start_s) FROM jobs WHERE {here} AND gpus > 0")[0]
        if first is None:  # they have lost their starts
            continue
        since = f"count(*) FILTER (WHERE start_s >= {first})"
        with_gpus = f"count(*) FILTER (WHERE start_s >= {first} AND gpus > 0)"
        doubtful = store.rows(
            f"SELECT partition FROM jobs WHERE {here} AND start_s IS NOT NULL AND partition IS NOT NULL GROUP BY partition "
            f"HAVING count(*) FILTER (WHERE start_s < {first}) >= {_DOUBT_RUNS} AND {with_gpus} >= {_DOUBT_RUNS} "
            f"AND {with_gpus} >= {_DOUBT_SHARE} * {since} ORDER BY partition"
        )
        for (partition,) in doubtful:
            store.db.execute(
                f"UPDATE jobs SET gpus = NULL WHERE {here} AND partition = $partition AND start_s < {first} AND gpus = 0",
                {"partition": partition},
            )
            store.notice(
                "gpus-since",
                f"partition {partition}: no run before {times.stamp(first, store.zone)} names a GPU, and nearly "
                "all later ones do: the GPUs of the earlier ones were not recorded",
            )
