"""Health checks of a node's networks, sensors, clock, processes and daemons: well, ill, broken, refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shakedown.operate.health import calling
from shakedown.operate.health.checks import _proc
from shakedown.operate.health.node_access import NodeAccess, Timex
from shakedown.operate.health.records import CheckContext, Finding
from support.health_nodes import NOW, Node


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


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
