"""Each check on trees as kernels make them: well, ill, broken, refused."""

from __future__ import annotations

import math
import subprocess
from pathlib import Path

import pytest

from shakedown.operate.health.checks import _mountinfo
from shakedown.operate.health.node_access import NodeAccess, Space
from support.health_nodes import NOW, Node


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


# ------------------------------------------------------------------------------------------------------------------- cpu


def _cpus(node: Node, sockets: int = 2, cores: int = 4, threads: int = 2) -> None:
    number = sockets * cores * threads
    node.put({"/sys/devices/system/cpu/online": f"0-{number - 1}"})
    for cpu in range(number):
        folder = f"/sys/devices/system/cpu/cpu{cpu}/topology"
        physical = cpu % (sockets * cores)
        node.put({f"{folder}/physical_package_id": physical // cores, f"{folder}/core_id": physical % cores})


def test_processors_are_counted_and_held_against_the_plan(node: Node) -> None:
    _cpus(node)
    assert node.check("cpu").learnt == {"sockets": 2, "cores": 8, "cpus": 16}
    assert node.wrong("cpu", {"sockets": 2, "cores": 8, "cpus": 16}) == {}
    wrong = node.wrong("cpu", {"sockets": 4, "cores": 8, "cpus": 15})
    assert {item: one.severity for item, one in wrong.items()} == {"sockets": "CRITICAL", "cpus": "CRITICAL"}
    assert wrong["sockets"].what == "sockets: 2 instead of 4" and wrong["sockets"].action


def test_governors_and_clocks_that_are_set_differently_are_told(node: Node) -> None:
    _cpus(node)
    for n, (governor, allowed) in enumerate((("performance", 2600000), ("powersave", 1200000))):
        folder = f"/sys/devices/system/cpu/cpufreq/policy{n}"
        node.put(
            {
                f"{folder}/scaling_governor": governor,
                f"{folder}/scaling_max_freq": allowed,
                f"{folder}/cpuinfo_max_freq": 2600000,
            }
        )
    assert set(node.wrong("cpu")) == {"governor", "clock"}
    assert node.wrong("cpu")["clock"].value == 1200


def test_a_planned_governor_that_cannot_be_seen_is_unknown(node: Node) -> None:
    _cpus(node)
    assert node.wrong("cpu", {"governor": "performance"})["governor"].severity == "UNKNOWN"


# ---------------------------------------------------------------------------------------------------------------- memory


def test_memory_is_held_against_the_plan_with_what_the_kernel_keeps(node: Node) -> None:
    node.put({"/proc/meminfo": "MemTotal: 65000000 kB\nMemAvailable: 60000000 kB\nHardwareCorrupted: 0 kB"})
    assert node.wrong("memory", {"total": "66000000 KiB"}) == {}
    assert node.wrong("memory", {"total": "70000000 KiB"})["size"].severity == "CRITICAL"
    node.put({"/proc/meminfo": "MemTotal: 65000000 kB\nMemAvailable: 1000000 kB\nHardwareCorrupted: 4 kB"})
    assert {item: one.severity for item, one in node.wrong("memory").items()} == {
        "available": "CRITICAL",
        "broken": "WARNING",
    }


def test_memory_that_the_kernel_does_not_tell_is_unknown(node: Node) -> None:
    node.put({"/proc/meminfo": "MemTotal: 65000000 kB"})
    assert node.wrong("memory")["available"].severity == "UNKNOWN"
    node.put({"/proc/meminfo": ""})
    assert [one.severity for one in node.check("memory").findings] == ["UNKNOWN"]


# ------------------------------------------------------------------------------------------------------------------- ecc


def _edac(node: Node, corrected: int, uncorrected: int = 0, since_s: int = 864000) -> None:
    folder = "/sys/devices/system/edac/mc/mc0"
    for n in range(2):
        node.put(
            {
                f"{folder}/dimm{n}/dimm_ce_count": corrected if n else 0,
                f"{folder}/dimm{n}/dimm_ue_count": uncorrected if n else 0,
                f"{folder}/dimm{n}/dimm_label": f"DIMM_{'AB'[n]}1",
            }
        )
    node.put({f"{folder}/seconds_since_reset": since_s, f"{folder}/ce_count": corrected})


def test_memory_errors_are_judged_by_module_and_rate(node: Node) -> None:
    _edac(node, 900)
    assert node.wrong("ecc") == {}  # 90 a day over ten days
    _edac(node, 950)
    assert node.wrong("ecc", now_s=NOW + 3600) == {}
    _edac(node, 1100)
    assert node.wrong("ecc", now_s=NOW + 7200)["DIMM_B1 corrected"].severity == "WARNING"
    _edac(node, 5000)
    assert node.wrong("ecc", now_s=NOW + 9000)["DIMM_B1 corrected"].severity == "CRITICAL"
    assert node.wrong("ecc", now_s=NOW + 3 * 86400) == {}


def test_one_uncorrected_error_is_critical(node: Node) -> None:
    _edac(node, 0, uncorrected=1)
    assert node.wrong("ecc")["DIMM_B1 uncorrected"].severity == "CRITICAL"


def test_corrected_errors_a_day_are_over_the_true_age_of_the_counter(node: Node) -> None:
    _edac(node, 1000, since_s=4 * 86400)
    told = node.wrong("ecc")["DIMM_B1 corrected"]
    assert (told.value, told.severity) == (250, "WARNING")
    assert "(1000 in all)" in told.what and "on average over 4.0 days" in told.what
    _edac(node, 1250, since_s=8 * 86400)  # the next call comes four days later
    assert node.wrong("ecc", now_s=NOW + 4 * 86400) == {}  # 62.5 a day, and not 250


@pytest.mark.parametrize(("uptime", "severity"), [("345600.0 1.0", None), (None, "UNKNOWN")])
def test_a_counter_whose_age_the_driver_does_not_tell_is_as_old_as_the_machine(
    node: Node, uptime: str | None, severity: str | None
) -> None:
    _edac(node, 250, since_s=0)
    if uptime:
        node.put({"/proc/uptime": uptime})
    wrong = {item: one.severity for item, one in node.wrong("ecc").items()}
    assert wrong.get("DIMM_B1 corrected") == severity
    _edac(node, 250 + 200, since_s=0)
    assert node.wrong("ecc", now_s=NOW + 3600)["DIMM_B1 corrected"].value == 200  # from then on it is seen


def test_a_counter_that_was_reset_counts_in_full(node: Node) -> None:
    _edac(node, 5000, since_s=86400 * 365)
    assert node.wrong("ecc") == {}
    _edac(node, 150, since_s=60)  # the machine was started anew
    assert node.wrong("ecc", now_s=NOW + 60)["DIMM_B1 corrected"].value == 150


def test_no_edac_is_told_and_is_unknown_where_the_plan_wants_it(node: Node) -> None:
    assert "EDAC" in node.check("ecc").absent
    assert node.wrong("ecc", {"controllers": 2})["controllers"].severity == "UNKNOWN"


def test_rows_of_old_kernels_are_read(node: Node) -> None:
    folder = "/sys/devices/system/edac/mc/mc0/csrow0"
    node.put({f"{folder}/ce_count": 0, f"{folder}/ue_count": 2})
    assert set(node.wrong("ecc")) == {"mc0 csrow0 uncorrected"}
    node.put({"/sys/devices/system/edac/mc/mc0/csrow1/ue_count": 0})  # without its count of corrected errors
    assert "csrow1" not in str(node.check("ecc")), "what tells no count has none of zero"


def test_a_counter_that_may_not_be_read_is_unknown(node: Node) -> None:
    _edac(node, 0)
    node.senses.errors = {
        "/sys/devices/system/edac/mc/mc0/dimm0/dimm_ce_count": PermissionError(13, "Permission denied")
    }
    assert node.wrong("ecc")["mc0"].severity == "UNKNOWN"


# ------------------------------------------------------------------------------------------------------------------- mce


def test_machine_checks_are_counted_over_all_cpus(node: Node) -> None:
    node.put({"/proc/interrupts": "     CPU0 CPU1\nMCE:    1    2   Machine check exceptions\nMCP: 5 5 polls"})
    assert node.wrong("mce")["MCE"].value == 3
    assert node.wrong("mce", now_s=NOW + 60) == {}  # none since: the increase is judged, not what is long known
    node.put({"/proc/interrupts": "MCE:    2    2   Machine check exceptions"})
    assert node.wrong("mce", now_s=NOW + 120)["MCE"].severity == "CRITICAL"


def test_the_taint_of_a_machine_check_is_told(node: Node) -> None:
    node.put({"/proc/sys/kernel/tainted": 4096})
    assert node.wrong("mce") == {}
    node.put({"/proc/sys/kernel/tainted": 4096 + 16})
    assert node.wrong("mce")["taint"].severity == "WARNING"


# ---------------------------------------------------------------------------------------------------------------- mounts

MOUNTS = r"""22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
25 22 0:20 / /sys rw - sysfs sysfs rw
40 22 0:43 / /home rw,relatime - nfs4 nas:/home rw,vers=4
41 22 8:2 / /scratch rw,relatime - xfs /dev/sda2 rw
42 41 8:2 /x /scratch/again rw,relatime - xfs /dev/sda2 rw
43 22 0:50 / /with\040space rw - tmpfs tmpfs rw
44 22 7:0 / /snap/x ro - squashfs /dev/loop0 ro"""


def test_mounts_that_are_worth_it_are_looked_at_once(node: Node) -> None:
    mounts = _mountinfo.parse(MOUNTS)
    assert "/with space" in mounts
    assert [one.point for one in _mountinfo.worth(mounts)] == ["/", "/home", "/scratch"]


def test_remote_mounts_get_a_child_each(node: Node) -> None:
    node.put({"/proc/self/mountinfo": MOUNTS})
    found = node.check("mounts")
    assert found.more == ("/home",) and not [one for one in found.findings if one.severity != "OK"]
    assert node.check("mounts", part="/home").findings[0].severity == "OK"
    node.senses.spaces = {"/home": OSError(116, "Stale file handle")}
    (stale,) = node.check("mounts", part="/home").findings
    assert stale.severity == "CRITICAL" and "Stale" in stale.what
    assert node.check("mounts", part="/gone").findings[0].what == "is not mounted"


def test_a_plan_of_mounts(node: Node) -> None:
    node.put({"/proc/self/mountinfo": MOUNTS})
    plan = {"mounts": [{"path": "/scratch", "type": "xfs"}, {"path": "/", "type": "ext4"}], "others": False}
    assert node.wrong("mounts", plan) == {}
    plan["mounts"] = [{"path": "/lustre"}, {"path": "/scratch", "type": "ext4", "source": "/dev/sdb1"}]
    wrong = [one for one in node.check("mounts", plan).findings if one.severity != "OK"]
    assert {(one.item, one.severity) for one in wrong} == {("/lustre", "CRITICAL"), ("/scratch", "CRITICAL")}
    assert len(wrong) == 3


def test_a_file_system_that_the_kernel_made_read_only(node: Node) -> None:
    node.put({"/proc/self/mountinfo": "41 22 8:2 / /scratch rw,relatime - ext4 /dev/sda2 ro"})
    assert "read-only" in node.wrong("mounts")["/scratch"].what
    node.put({"/proc/self/mountinfo": "41 22 8:2 / /scratch ro,relatime - ext4 /dev/sda2 ro"})
    assert node.wrong("mounts") == {}  # nobody says that it should be otherwise
    assert node.wrong("mounts", {"mounts": [{"path": "/scratch"}]})["/scratch"].severity == "CRITICAL"


def test_full_file_systems(node: Node) -> None:
    node.put({"/proc/self/mountinfo": MOUNTS})
    node.senses.spaces = {"/": Space(1000, 10, 1000, 3), "/home": Space(1000, 1, 0, 0)}
    wrong = node.wrong("mounts")
    assert {item: one.severity for item, one in wrong.items()} == {"/": "CRITICAL", "/ inodes": "CRITICAL"}
    (home,) = node.check("mounts", part="/home").findings
    assert home.severity == "WARNING"  # every node sees that: it drains none
    plan = {"mounts": [{"path": "/home", "full": 0.99}]}
    (home,) = node.check("mounts", plan, part="/home").findings
    assert home.severity == "CRITICAL"


def test_what_is_in_use_is_what_df_shows(node: Node) -> None:
    """Blocks that are kept back for root are neither used nor free: 4 GiB of 17 are in use."""
    node.put({"/proc/self/mountinfo": MOUNTS})
    node.senses.spaces = {"/": Space(68 << 30, 13 << 30, 100, 90, 4 << 30)}
    (metric,) = [one for one in node.check("mounts").metrics if one.labels == {"mount": "/"}]
    assert metric.value == pytest.approx(4 / 17)
    shown = subprocess.run(("df", "--output=pcent", "/"), capture_output=True, text=True, check=True).stdout.split()[-1]
    assert math.ceil(100 * NodeAccess().space("/").used_ratio) in range(int(shown[:-1]) - 1, int(shown[:-1]) + 2)


def test_a_mount_is_written_to_where_the_plan_says_so(node: Node, tmp_path: Path) -> None:
    node.put({"/proc/self/mountinfo": MOUNTS})
    plan = {"mounts": [{"path": "/scratch", "write": True}], "others": False}
    assert "cannot be written" in node.wrong("mounts", plan)["/scratch"].what  # there is no such folder yet
    (tmp_path / "scratch").mkdir()
    assert node.wrong("mounts", plan) == {}
    assert list((tmp_path / "scratch").iterdir()) == []
