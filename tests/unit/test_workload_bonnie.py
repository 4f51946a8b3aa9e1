"""bonnie++'s CSV of every version: units, what was not measured, what is in doubt."""

from __future__ import annotations

from pathlib import Path

import pytest

from shakedown.errors import BadInput
from shakedown.workloads import Garbage, bonnie, check_params
from support.machines import machine

KIB, GIB = 1024, 2**30
#: A whole line of 1.96 and 1.97, which do not say how often was sought: 48 words.
OLDER = (
    "1.97,1.97,n1,1,1339175489,63G,,1006,99,169424,7,96106,8,4769,98,313000,12,420.5,9,16,,,,,20283,15,+++++,+++,26011,17,"
    "22001,16,+++++,+++,25990,16,9219us,1203ms,2s,4390us,120ms,331ms,419us,382us,403us,412us,15us,401us"
)


@pytest.fixture
def line(recordings: Path) -> str:
    return (recordings / "bonnie/bonnie-2.00a-ext4-2G.csv").read_text()


def replaced(text: str, old: str, new: str) -> str:
    assert old in text, old
    return text.replace(old, new, 1)


def rates(text: str) -> dict[str, float]:
    found = {}
    for case in bonnie.parse(text, {}):
        amount = case.work.get("bytes", case.work.get("op", 0.0))
        found[case.kernel] = amount / case.seconds[0] if case.seconds else case.work["op_per_s"]
    return found


def test_its_k_is_1024_bytes_and_plus_signs_are_no_figure(line: str) -> None:
    assert rates(line) == pytest.approx(
        {
            "putc": 1305 * KIB, "write": 849797 * KIB, "rewrite": 1014075 * KIB, "getc": 1620 * KIB, "read": 2934262 * KIB,
            "seek": 9188, "create": 7634, "unlink": 322, "random_create": 2557, "random_unlink": 340,
        }
    )  # fmt: skip
    (told,) = (one for one in bonnie.notices(line, {}) if one.code == "bonnie-part-left-out")
    assert "nothing of stat, random_stat" in told.text


def test_the_csv_counts_and_not_the_table_beside_it(line: str) -> None:
    """The table of the same run says 4096 files a second made and removed; they were 7634 and 322."""
    table = "     4:65536:1024/4  4096  45 +++++ +++  4096   1  4096  56 +++++ +++  4096   1\n"
    assert rates(table + line)["unlink"] == 322
    with pytest.raises(Garbage, match="no line of bonnie"):
        bonnie.parse(table, {})


@pytest.mark.parametrize("version", ["1.96", "1.97"])
def test_older_lines_have_two_words_less(version: str) -> None:
    found = rates(OLDER.replace("1.97", version))
    assert found["read"] == 313000 * KIB and found["seek"] == pytest.approx(420.5) and found["create"] == 20283
    cases = {case.kernel: case for case in bonnie.parse(OLDER, {})}
    assert cases["write"].work["bytes"] == pytest.approx(63 * GIB) and cases["create"].params["files"] == 16384
    longest = {
        kernel: case.work["latency_max_s"]
        for kernel, case in cases.items()
        if kernel in ("putc", "write", "rewrite", "random_unlink")
    }
    assert longest == pytest.approx({"putc": 9.219e-3, "write": 1.203, "rewrite": 2.0, "random_unlink": 401e-6})


def test_each_part_alone_is_read(recordings: Path) -> None:
    files = rates((recordings / "bonnie/bonnie-2.00a-files-alone.csv").read_text())
    assert files == {"create": pytest.approx(289), "random_create": pytest.approx(297)}
    direct = rates((recordings / "bonnie/bonnie-2.00a-direct-no-files.txt").read_text())
    assert direct.keys() == {"write", "rewrite", "seek"}
    old = rates((recordings / "bonnie/bonnie-1.96-files-alone.txt").read_text())
    assert old == pytest.approx(
        {
            "create": 1702,
            "stat": 2025,
            "unlink": 1332,
            "random_create": 1873,
            "random_stat": 2047,
            "random_unlink": 1266,
        }
    )


def test_several_lines_are_several_samples(recordings: Path) -> None:
    found = bonnie.parse((recordings / "bonnie/bonnie-2.00a-twice.txt").read_text(), {})
    samples = {case.kernel: len(case.seconds) for case in found}
    assert len(found) == len(samples) and samples["read"] == 2 and samples["create"] == 1, "of one +++++"


def test_what_fits_into_memory_is_in_doubt(line: str) -> None:
    cases = {case.kernel: case.params for case in bonnie.parse(line, {"memory_bytes": 24 * GIB})}
    assert cases["read"]["doubt"] == cases["getc"]["doubt"] == "page cache" and "doubt" not in cases["create"]
    assert cases["write"]["cache"] == "synced" and "doubt" not in cases["write"], "each file is closed after its fsync"
    (told,) = (one for one in bonnie.notices(line, {"memory_bytes": 24 * GIB}) if one.code == "in-doubt")
    assert "page cache" in told.text
    for params in ({"memory_bytes": GIB}, {"memory_bytes": 24 * GIB, "direct": True}):
        assert "doubt" not in {case.kernel: case.params for case in bonnie.parse(line, params)}["read"]
    fast = {case.kernel: case.params for case in bonnie.parse(line, {"memory_bytes": GIB, "device_rate": 2.4e9})}
    assert fast["read"]["doubt"] == "above the device's rate" and "doubt" not in fast["write"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("849797", "84x797", "not a number"),
        ("849797", "-849797", "not a number"),
        (",27549us", "", "words; whole ones"),
        ("27549us", "27549", "latencies"),
        ("27549us", "27", "latencies"),
        (",2G,", ",much,", "how large"),
        ("1.98,2.00a", "1.93c,1.93c", "format '1.93c'"),
        ("vm,1,", "vm,none,", "concurrency"),
        (",4,65536", ",0,65536", "number of files"),
    ],
)
def test_a_line_that_is_cut_or_spoiled_is_refused(line: str, old: str, new: str, said: str) -> None:
    with pytest.raises(Garbage, match=said):
        bonnie.parse(replaced(line, old, new), {})


def test_every_cut_of_a_line_is_refused(line: str) -> None:
    for end in range(len(line.strip())):
        with pytest.raises(Garbage):
            bonnie.parse(line[:end], {})


def test_a_file_smaller_than_bonnie_takes_is_said_before_it_is_started() -> None:
    found = machine(4)
    memory = found.hosts[0].memory.total_bytes
    (auto,) = bonnie.WORKLOAD.resolve(check_params(bonnie.WORKLOAD, {}), found)
    assert int(auto["size"]) >= 2 * memory
    with pytest.raises(BadInput, match="twice the memory"):
        bonnie.WORKLOAD.resolve(check_params(bonnie.WORKLOAD, {"size": memory}), found)
    (small,) = bonnie.WORKLOAD.resolve(check_params(bonnie.WORKLOAD, {"size": 64 * 2**20, "memory": False}), found)
    argv = bonnie.WORKLOAD.command(small, found.hosts[0]).argv
    assert "64:8192" in argv and argv[argv.index("-r") + 1] == "0"


def test_the_host_is_the_name_that_was_given(line: str) -> None:
    assert bonnie.stated(line).host == "vm" and bonnie.stated(line).begin is None
    assert bonnie.stated("nothing").host == ""
