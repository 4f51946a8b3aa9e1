"""Each check on trees as kernels make them: well, ill, broken, refused."""

from __future__ import annotations

import math
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shakedown.operate.health import calling
from shakedown.operate.health.checks import _mountinfo, _proc
from shakedown.operate.health.node_access import NodeAccess, Space, Timex
from shakedown.operate.health.records import CheckContext, Finding, Outcome

NOW = 1_700_000_000.0


class Faked(NodeAccess):
    """A tree, and what is no file."""

    spaces: Mapping[str, Space | OSError] = {}
    clock: Timex | OSError = Timex(0x2001, 0, 1e-4, 0.01, 0.001)
    sockets: Mapping[str, str] = {}
    errors: Mapping[str, OSError] = {}
    uids: Mapping[str, int] = {}

    def text(self, path: str) -> str | None:
        if path in self.errors:
            raise self.errors[path]
        return super().text(path)

    def space(self, path: str) -> Space:
        found = self.spaces.get(path, Space(100, 50, 100, 50))
        if isinstance(found, OSError):
            raise found
        return found

    def timex(self) -> Timex:
        if isinstance(self.clock, OSError):
            raise self.clock
        return self.clock

    def connect(self, path: str) -> str:
        return self.sockets.get(path, "No such file or directory")

    def which(self, name: str) -> str | None:
        return None

    def owner(self, path: str) -> int | None:
        return self.uids.get(path, 0)

    def nvml(self) -> Any:
        return None


class Node:
    """A node made of files, on which checks are made one after the other."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.senses = Faked(str(root))
        self.kept: dict[str, dict[str, Any]] = {}

    def put(self, files: Mapping[str, object]) -> None:
        for path, text in files.items():
            place = self.root / path.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(f"{text}\n")

    def check(self, name: str, plan: Mapping[str, Any] | None = None, now_s: float = NOW, part: str = "") -> Outcome:
        one = calling.check(name)
        section = msgspec.convert(plan or {}, one.plan)
        outcome = one.run(CheckContext(self.senses, section, self.kept.get(name, {}), now_s, "b", part))
        if outcome.kept is not None:
            self.kept[name] = outcome.kept
        return outcome

    def wrong(self, name: str, plan: Mapping[str, Any] | None = None, now_s: float = NOW) -> dict[str, Finding]:
        return {one.item: one for one in self.check(name, plan, now_s).findings if one.severity != "OK"}


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


# ------------------------------------------------------------------------------------------------------------- networks

IB = "/sys/class/infiniband/mlx5_0"


def _port(node: Node, **counters: int) -> None:
    node.put({f"{IB}/ports/1/state": "4: ACTIVE", f"{IB}/ports/1/phys_state": "5: LinkUp"})
    node.put({f"{IB}/ports/1/rate": "200 Gb/sec (4X HDR)", f"{IB}/fw_ver": "20.31"})
    node.put({f"{IB}/ports/1/counters/{name}": value for name, value in counters.items()})


def test_a_port_as_planned_is_well(node: Node) -> None:
    _port(node, symbol_error=3)
    plan = {"ports": [{"name": "mlx5_0:1", "gbit_s": 200, "firmware": "20.31"}]}
    assert node.wrong("infiniband", plan) == {}
    assert node.check("infiniband").learnt == {"ports": [{"name": "mlx5_0:1", "state": "active", "gbit_s": 200.0}]}


def test_a_port_that_is_slow_down_or_gone(node: Node) -> None:
    _port(node)
    wrong = node.wrong("infiniband", {"ports": [{"name": "mlx5_0:1", "gbit_s": 400}, {"name": "mlx5_1:1"}]})
    assert {item: one.severity for item, one in wrong.items()} == {
        "mlx5_0:1 rate": "CRITICAL",
        "mlx5_1:1": "CRITICAL",
    }
    node.put({f"{IB}/ports/1/state": "2: INIT"})
    one = node.wrong("infiniband", {"ports": [{"name": "mlx5_0:1"}]})["mlx5_0:1"]
    assert "subnet manager" in one.action


def test_errors_of_a_port_are_judged_by_what_came_within_an_hour(node: Node) -> None:
    _port(node, symbol_error=40000, port_rcv_errors=0)
    assert node.wrong("infiniband") == {}  # old ones: nobody knows when
    _port(node, symbol_error=40050, port_rcv_errors=0)
    assert node.wrong("infiniband", now_s=NOW + 300)["mlx5_0:1 symbol_error"].value == 50
    assert node.wrong("infiniband", now_s=NOW + 9000) == {}
    _port(node, symbol_error=40050, port_rcv_errors=200)
    assert node.wrong("infiniband", now_s=NOW + 9300)["mlx5_0:1 port_rcv_errors"].severity == "CRITICAL"


def test_a_counter_that_stands_where_it_stops_is_unknown_and_a_wider_one_is_read(node: Node) -> None:
    _port(node, symbol_error=65535, link_downed=255)
    wrong = node.wrong("infiniband")
    assert {one.severity for one in wrong.values()} == {"UNKNOWN"} and len(wrong) == 2
    node.put({f"{IB}/ports/1/counters_ext/symbol_error": 70000, f"{IB}/ports/1/counters_ext/link_downed": 0})
    node.kept = {}
    assert node.wrong("infiniband") == {}


def test_a_port_of_an_ethernet_card(node: Node) -> None:
    net = "/sys/class/net/eth0"
    node.put({f"{net}/type": 1, f"{net}/operstate": "up", f"{net}/speed": 10000, f"{net}/duplex": "full"})
    node.put({f"{net}/device/vendor": "0x15b3", f"{net}/carrier_changes": 2, f"{net}/statistics/rx_crc_errors": 0})
    node.put({"/sys/class/net/br0/type": 1, "/sys/class/net/br0/operstate": "down"})  # no hardware behind it
    assert node.wrong("ethernet", {"interfaces": [{"name": "eth0", "mbit_s": 10000}]}) == {}
    wrong = node.wrong("ethernet", {"interfaces": [{"name": "eth0", "mbit_s": 25000}, {"name": "eth1"}]})
    assert set(wrong) == {"eth0 speed", "eth1"}
    node.put({f"{net}/statistics/rx_crc_errors": 500, f"{net}/carrier_changes": 12})
    wrong = node.wrong("ethernet", now_s=NOW + 60)
    assert wrong["eth0 rx_crc_errors"].severity == "CRITICAL" and wrong["eth0 carrier_changes"].severity == "WARNING"
    node.put({f"{net}/operstate": "down"})
    assert node.wrong("ethernet", {"interfaces": [{"name": "eth0"}]}, now_s=NOW + 9000)["eth0"].severity == "CRITICAL"


# --------------------------------------------------------------------------------------------------------------- thermal


def test_a_temperature_that_nobody_watches_is_told(node: Node) -> None:
    node.put({"/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count": 0})
    one = node.wrong("thermal")["temperatures"]
    assert one.severity == "UNKNOWN" and "no temperature is watched" in one.what and "driver" in one.action


HWMON = "/sys/class/hwmon/hwmon0"


@pytest.mark.parametrize(
    ("value", "severity"),
    [
        (60000, None),
        (96000, "WARNING"),
        (100001, "CRITICAL"),
        (-128000, "UNKNOWN"),
        (255000, "UNKNOWN"),
        ("x", "UNKNOWN"),
    ],
)
def test_temperatures_against_the_limit_that_the_sensor_states(node: Node, value: object, severity: str | None) -> None:
    node.put({f"{HWMON}/name": "coretemp", f"{HWMON}/temp1_input": value, f"{HWMON}/temp1_crit": 100000})
    node.put({f"{HWMON}/temp1_label": "Package id 0"})
    wrong = node.wrong("thermal")
    assert {item: one.severity for item, one in wrong.items()} == (
        {"coretemp Package id 0": severity} if severity else {}
    )


def test_a_sensor_that_gives_an_error_is_unknown(node: Node) -> None:
    node.put({f"{HWMON}/name": "nct", f"{HWMON}/temp1_input": 40000})
    node.senses.errors = {f"{HWMON}/temp1_input": OSError(5, "Input/output error")}
    one = node.wrong("thermal")["nct temp1"]
    assert one.severity == "UNKNOWN" and "Input/output error" in one.what
    assert node.wrong("thermal", {"ignore": ["nct temp1"]}) == {}


def test_fans_and_throttling(node: Node) -> None:
    node.put({f"{HWMON}/name": "nct", f"{HWMON}/fan1_input": 0, f"{HWMON}/fan1_min": 1000, f"{HWMON}/fan2_input": 0})
    throttle = "/sys/devices/system/cpu/cpu{}/thermal_throttle/{}_throttle_count"
    for cpu in range(2):
        node.put({throttle.format(cpu, "core"): 7, throttle.format(cpu, "package"): 9})
    assert set(node.wrong("thermal")) == {"nct fan1"}  # fan2 has no limit, perhaps no fan
    node.put({throttle.format(1, "core"): 8})
    assert node.wrong("thermal", now_s=NOW + 60)["core"].value == 1


# ----------------------------------------------------------------------------------------------------------------- clock


@pytest.mark.parametrize(
    ("clock", "plan", "severity"),
    [
        (Timex(0x2001, 0, 1e-4, 0.01, 0.001), {}, "OK"),
        (Timex(0x2001, 0, -0.2, 0.01, 0.001), {}, "WARNING"),
        (Timex(0x2001, 0, 2.0, 0.01, 0.001), {}, "CRITICAL"),
        (Timex(0x2041, 5, 0.0, 16.0, 16.0), {}, "WARNING"),
        (Timex(0x2041, 5, 0.0, 16.0, 16.0), {"synchronised": False}, "OK"),
        (OSError(1, "Operation not permitted"), {}, "UNKNOWN"),
    ],
)
def test_the_clock(node: Node, clock: Timex | OSError, plan: dict[str, Any], severity: str) -> None:
    node.senses.clock = clock
    assert [one.severity for one in node.check("clock", plan).findings] == [severity]


def test_this_machine_tells_of_its_clock() -> None:
    found = NodeAccess().timex()
    assert 0 <= found.state <= 5 and abs(found.offset_s) < 1


# ------------------------------------------------------------------------------------------------------------- processes


def _process(
    node: Node, pid: int, name: str, *, parent: int = 1, uid: int = 0, state: str = "S", group: str = ""
) -> None:
    node.put({f"/proc/{pid}/stat": f"{pid} ({name}) {state} {parent} 0 0"})
    node.put({f"/proc/{pid}/cgroup": group or "0::/user.slice"})
    node.senses.uids = {**node.senses.uids, f"/proc/{pid}": uid}


def test_a_user_without_a_job_is_seen_on_a_node_that_runs_jobs(node: Node) -> None:
    _process(node, 10, "sshd")
    _process(node, 11, "a.out (x) y", uid=1001)
    assert node.wrong("processes") == {}  # nothing here runs jobs
    _process(node, 12, "slurmd")
    one = node.wrong("processes")["users"]
    assert one.value == 1 and "a.out (x) y (11)" in one.what
    assert node.wrong("processes", {"users": ["1001"]}) == {}


def test_jobs_are_told_by_their_starter_or_their_control_group(node: Node) -> None:
    _process(node, 12, "slurmd")
    _process(node, 20, "slurmstepd", parent=1)
    _process(node, 21, "bash", parent=20, uid=1001)
    _process(node, 22, "a.out", parent=21, uid=1001)
    _process(node, 23, "screen", parent=1, uid=1001)  # a user with a job is left alone
    _process(node, 30, "b.out", parent=1, uid=1002, group="0::/system.slice/slurmstepd.scope/job_77/step_0/user")
    _process(node, 31, "c.out", parent=1, uid=1003, group="4:memory:/slurm/uid_1003/job_78/step_0")
    assert node.wrong("processes") == {}
    _process(node, 40, "d.out", parent=1, uid=1004, group="0::/user.slice/my_job_1")
    assert node.wrong("processes")["users"].value == 1
    assert len(_proc.processes(node.senses)) == 8


def test_a_process_that_hangs_over_two_calls_is_told(node: Node) -> None:
    _process(node, 50, "kworker/nfs", state="D")
    assert node.wrong("processes") == {}  # it may just read a disk
    one = node.wrong("processes", now_s=NOW + 300)["stuck"]
    assert one.severity == "WARNING" and "kworker/nfs (50)" in one.what


# ----------------------------------------------------------------------------------------------------- daemons and others


def test_daemons_by_socket_port_and_process(node: Node) -> None:
    assert node.check("daemons").absent
    node.put({"/run/systemd/system/x": "", "/etc/systemd/system/multi-user.target.wants/munge.service": ""})
    assert node.wrong("daemons")["munged"].severity == "CRITICAL"
    node.put({"/proc/net/tcp": "sl local rem st\n 0: 00000000:1AA2 00000000:0000 0A\n 1: 0100007F:1F90 0 01"})
    _process(node, 12, "slurmd")
    node.senses.sockets = {"/run/munge/munge.socket.2": ""}
    daemons = [
        {"name": "munged", "socket": "/run/munge/munge.socket.2"},
        {"name": "slurmd", "port": 6818, "process": "slurmd"},
        {"name": "other", "port": 8080},
        {"name": "sssd", "process": "sssd", "severity": "WARNING"},
        {"name": "nslcd", "socket": "/run/nslcd/socket"},
    ]
    wrong = node.wrong("daemons", {"daemons": daemons})
    assert {item: one.severity for item, one in wrong.items()} == {
        "other": "CRITICAL",
        "sssd": "WARNING",
        "nslcd": "CRITICAL",
    }
    node.senses.sockets = {"/run/munge/munge.socket.2": "Permission denied"}
    assert node.wrong("daemons", {"daemons": daemons[:1]})["munged"].severity == "UNKNOWN"


def test_starts_of_the_machine_are_counted(node: Node) -> None:
    check = calling.check("uptime")
    kept: dict[str, Any] = {}
    findings: tuple[Finding, ...] = ()
    for n in range(5):
        node.put({"/proc/uptime": "100.0 1.0"})
        outcome = check.run(CheckContext(node.senses, check.plan(), kept, NOW + n * 3600, f"boot {n}"))
        assert outcome.kept is not None
        kept, findings = outcome.kept, outcome.findings
    assert {one.item: one.value for one in findings}["restarts"] == 4 and findings[1].severity == "WARNING"


def test_load_far_above_the_cpus(node: Node) -> None:
    node.put({"/sys/devices/system/cpu/online": "0-3", "/proc/loadavg": "1.0 2.0 20.0 1/2 3"})
    found = node.check("load")
    assert found.findings[0].severity == "WARNING" and found.load == {"cpus": 4.0, "load_1min": 1.0}
    node.put({"/proc/loadavg": "1.0 2.0 200.0 1/2 3"})
    assert node.check("load").findings[0].severity == "CRITICAL"


TABLES = {
    "/proc/sys/fs/file-nr": "850\t0\t1000",
    "/proc/loadavg": "1.0 2.0 3.0 1/300 3",
    "/proc/sys/kernel/pid_max": "32768",
    "/proc/sys/kernel/threads-max": "400",
    "/proc/net/stat/arp_cache": "entries  allocs\n000003f0 00000040\n000003f0 00000001\n",
    "/proc/sys/net/ipv4/neigh/default/gc_thresh3": "1024",
}


def test_tables_of_the_kernel_that_fill_up(node: Node) -> None:
    node.put(TABLES)
    wrong = {item: (one.severity, one.value) for item, one in node.wrong("kerneltables").items()}
    assert wrong == {"files": ("WARNING", 0.85), "arp": ("CRITICAL", 1008 / 1024)}
    assert "1008 of 1024" in node.wrong("kerneltables")["arp"].what
    assert set(node.wrong("kerneltables", {"warning": 0.7})) == {"files", "arp", "tasks"}
    assert [one.labels["table"] for one in node.check("kerneltables").metrics] == ["files", "tasks", "arp"]
    node.put({"/proc/sys/net/netfilter/nf_conntrack_count": "9", "/proc/sys/net/netfilter/nf_conntrack_max": "9"})
    assert node.wrong("kerneltables")["conntrack"].severity == "CRITICAL"


def test_a_table_that_cannot_be_read_is_unknown_and_the_others_are_judged(node: Node) -> None:
    node.put(TABLES)
    node.senses.errors = {"/proc/sys/fs/file-nr": PermissionError(13, "Permission denied")}
    node.put({"/proc/loadavg": "1.0 2.0 3.0 1/x 3"})
    wrong = {item: one.severity for item, one in node.wrong("kerneltables").items()}
    assert wrong == {"files": "UNKNOWN", "tasks": "UNKNOWN", "arp": "CRITICAL"}
