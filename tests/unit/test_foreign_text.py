"""Text of others that is nearly right: digits that int() refuses, numbers and lists without end, records cut or nested."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest

from shakedown import schedulers, strict, times
from shakedown.acceptance import journal as acceptance
from shakedown.energy.archive import jobs
from shakedown.energy.green500 import submission
from shakedown.errors import BadInput, ShakedownError
from shakedown.hosts import hostlist
from shakedown.hosts.access import ReplayHost, Result
from shakedown.machine import gpu_query, gpus
from shakedown.metering import raw_files
from shakedown.metering.meters import _local, _redfish
from shakedown.operate.accounting import tariff
from shakedown.operate.accounting.readers import _lines
from shakedown.operate.accounting.readers import table as jobs_table
from shakedown.operate.availability import jobs as outage_jobs
from shakedown.operate.availability.reading import table
from shakedown.operate.burnin import journal as burnin
from shakedown.operate.health import kernellines, node_access, state
from shakedown.operate.health import plan as health
from shakedown.schedulers import gridengine
from shakedown.schedulers.common.slurm_rows import rows
from shakedown.tuning import journal as tuner
from shakedown.tuning import space
from shakedown.units import exact_number, leading_number, whole_number

ENDLESS = "9" * 5000
DEEP = b'{"a":' * 60_000
NOTHING = ReplayHost(Path("/nonexistent"))


@pytest.mark.parametrize("text", ["²", "٣", "1²", ENDLESS, "9" * 400, "", " 1", "1_0", "+1", "-1", "0x1", "1.0", None])
def test_what_is_no_whole_number(text: str | None) -> None:
    assert whole_number(text) is None


def test_whole_numbers_have_bounds() -> None:
    assert (whole_number("007"), whole_number("-5", -9), whole_number("9", 1, 8)) == (7, -5, None)
    assert whole_number(str(2**63 - 1)) == 2**63 - 1 and whole_number(str(2**63)) is None


def test_other_numbers_have_bounds() -> None:
    assert (leading_number("350.00 W"), leading_number("N/A"), leading_number(ENDLESS)) == (350.0, None, None)
    assert exact_number(" 1/4") == exact_number("0.25") == exact_number("25e-2")
    assert all(exact_number(one) is None for one in ("1e-99999999", "1/0", "nan", "inf", ENDLESS, ""))


REFUSED: dict[str, Callable[[], object]] = {
    "a grid of the tuner": lambda: space.pair("²x2"),
    "a grid of huge numbers": lambda: space.pair(f"{ENDLESS}x2"),
    "nodes of a job": lambda: jobs.expand("n[²]"),
    "nodes without end": lambda: jobs.expand("cn[1-999999999]"),
    "nodes of a submission": lambda: submission.expand(["cn[1-999999999]"]),
    "ranges that only together have no end": lambda: hostlist.expand(f"n[{','.join(['1-60000'] * 50)}]"),
    "a time in a table": lambda: table._time("²", "UTC", "t"),
    "a share in a table": lambda: table._share("1e-99999999", "t"),
    "an amount of a tariff": lambda: tariff.exact("1e-99999999", "rate"),
    "a time beyond all": lambda: times.parse("1e400", "UTC", "--begin"),
    "a stamp that is none": lambda: times.stamps(["nan", "1"], "UTC", "f"),
    "a stamp beyond 64 bits": lambda: times.stamps(["1e300", "1"], "UTC", "f"),
    "a pattern without end": lambda: health.parse(f'schema = 1\n[[hosts]]\nmatch = "*{"[" * 40_000}"', "h", "n", []),
    "a confirmation": lambda: health.Rules(confirm=f"{ENDLESS}/2").counts,
    "a number in a list below an odd name": lambda: strict.check_numbers({"-": [math.nan]}, "f"),
    "a number beyond 64 bits": lambda: strict.check_numbers({"a": [{"b": 2**64}]}, "f"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_is_refused_in_words(what: str) -> None:
    with pytest.raises(BadInput) as told:
        REFUSED[what]()
    assert told.value.what and told.value.hint and len(str(told.value)) < 400


def test_a_system_may_have_more_nodes_than_a_job() -> None:
    assert len(submission.expand(["cn[1-158976]"])) == 158_976


def test_an_engines_odd_numbers_cost_themselves_alone() -> None:
    lsf, flux, slurm = (schedulers.get(name) for name in ("lsf", "flux", "slurm"))
    given = lsf.inside({"LSB_JOBID": "7", "LSB_MCPU_HOSTS": "n1 ² n2 4"}, NOTHING)
    assert given is not None and given.hosts == ("n2",)
    said = json.dumps({"jobs": [{"id": "f7", "state": "RUN", "nodelist": "n1", "ncores": "²", "t_submit": 10**400}]})
    found = flux.queued(Result(0, said, ""))
    assert found is not None and (found[0].cpus, found[0].submit_s) == (None, None)
    for name in ("flux", "lsf", "pbs"):
        engine = schedulers.get(name)
        assert not engine.queued(Result(0, "[" * 60_000, ""))
    assert (
        slurm.inside({"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n1", "SLURM_GPUS_ON_NODE": "²"}, NOTHING) is not None
    )
    assert gridengine.epoch(ENDLESS) is None and _lines.signed(ENDLESS) is None


@pytest.mark.parametrize(
    ("name", "read"),
    [
        (burnin.PLAN, burnin.read_plan),
        (burnin.ENTRIES, lambda folder: list(burnin.entries(folder))),
        ("s.json", lambda folder: raw_files.read(folder / "s.json", raw_files.Header)),
    ],
)
def test_nested_without_end_is_damaged(tmp_path: Path, name: str, read: Callable[[Path], object]) -> None:
    (tmp_path / name).write_bytes(DEEP + b"\n")
    with pytest.raises(ShakedownError):
        read(tmp_path)


def test_nested_without_end_in_journals(tmp_path: Path) -> None:
    (tmp_path / acceptance.JOURNAL).write_bytes(DEEP + b"\n")
    with pytest.raises(acceptance.Tampered, match="entry 1 cannot be read"):
        acceptance.read(tmp_path)
    (tmp_path / "state.json").write_bytes(DEEP)
    with pytest.raises(ValueError, match="is damaged"):
        state.read(str(tmp_path / "state.json"))
    (tmp_path / tuner.TRIALS).write_bytes(DEEP + b"\n")
    journal = tuner.Journal(tmp_path)
    journal.close()
    assert journal.trials == [] and "line 1" in journal.notices[0].text


def test_a_gpu_tool_that_prints_something_else_costs_itself_alone(recordings: Path) -> None:
    xml = (recordings / "gpu/nvidia-smi-tesla-t4.xml").read_text()
    rocm = "{" + '"card0": {"a": ' + "[" * 60_000
    for nvml in (
        '{"driver": 1}',
        "[]",
        '{"driver": "1", "cuda": "1", "gpus": [{"index": "x", "name": []}]}',
        "[" * 60_000,
    ):
        door = ReplayHost(Path("/nonexistent"), commands={gpus.NVML: nvml, gpus.NVIDIA_SMI: xml, gpus.ROCM_SMI: rocm})
        found, absent = gpus.gpus(door)
        assert [one.name for one in found] == ["Tesla T4"] and "rocm-smi" in absent[-1].why
    for text in ("{}", "[" * 60_000, '{"devices": [{"index": 1e400}]}', '{"devices": 3}'):
        with pytest.raises(ValueError, match="printed no devices"):
            gpu_query.parse(text)


def test_a_gpus_endless_number_is_not_known(recordings: Path) -> None:
    text = (recordings / "gpu/nvidia-smi-tesla-t4.xml").read_text()
    (one,) = gpus.parse_nvidia_smi(text.replace("15360 MiB", f"{'9' * 400} MiB"))
    assert one.memory_bytes is None


def test_the_kernels_log_with_odd_stamps() -> None:
    odd = [f'{{"MESSAGE": "x", "__REALTIME_TIMESTAMP": {value}}}' for value in ('"NaN"', '"1N/A"', 10**400, "[]")]
    lines = kernellines.text_log("\n".join([*odd, "[1]", f"{ENDLESS},1,1,-;x", f"[{ENDLESS}.000001] x"]), 1.7e9, 1.7e9)
    assert all(line.at_s is None for line in lines) and len(lines) >= len(odd)


def test_numbers_of_devices_have_bounds(tmp_path: Path) -> None:
    (tmp_path / "n").write_text(ENDLESS)
    assert _local.number(ReplayHost(tmp_path), "/n") is None
    assert [_redfish.number(one) for one in (10**400, "nan", "1e400", True, "12.5")] == [None, None, None, None, 12.5]
    with pytest.raises(ValueError, match="not a list of CPUs"):
        node_access.cpu_list("0-99999999999")


def test_a_damaged_record_of_the_sampler_is_left_out() -> None:
    good, bad = (raw_files.RECORD.pack(1, 0, status, 0, 1, 2, 0, 3, 5.0) for status in (0, 91))
    assert len(raw_files.unpack(good + bad + good)) == 2


def test_a_table_of_jobs_with_a_line_break_in_its_head() -> None:
    assert not jobs_table._mine("job,start\rend,x\n1,2,3,4\n") and jobs_table._number(ENDLESS) is None


def test_rows_without_a_jobs_id_are_counted(tmp_path: Path) -> None:
    odd: list[str] = []
    found = rows("1|COMPLETED\n|FAILED\nrunaway\n2|FAILED\ncut", ("JobID", "State"), "|", odd=odd)
    assert [one["JobID"] for one in found] == ["1", "2"] and odd == ["|FAILED", "runaway", "cut"]
    file = tmp_path / "jobs"
    file.write_text("JobID|State|Start|End|AllocCPUS\n7|COMPLETED|1700000000|1700000600|4\n|FAILED|1|2|4\n")
    read = outage_jobs.read(file)
    assert [one.id for one in read.records] == ["7"] and read.unread == ("|FAILED|1|2|4",)
    odd = []
    assert gridengine.accounting("# head\n\nall.q:n1:half a line\n", odd) == () and odd == ["all.q:n1:half a line"]
