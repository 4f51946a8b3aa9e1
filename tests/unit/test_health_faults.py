"""Faults in the kernel's log: what is one, how often it came, for how long it holds, what is to be done."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.operate.health import faults, kernellines
from shakedown.operate.health.kernellines import Cursor, Line
from shakedown.operate.health.records import Finding, Occasion

NOW = 1_700_000_000.0
HOUR, DAY = 3600.0, 86400.0


def xid(code: int, gpu: str = "0000:9b:00", tail: str = "pid=1, x") -> str:
    return f"NVRM: Xid (PCI:{gpu}): {code}, {tail}"


def told(*lines: tuple[float, str], boot: str = "b", now_s: float = NOW) -> list[Occasion]:
    found = [faults.recognise(Line(text, at_s), boot, "", now_s) for at_s, text in lines]
    return [one for one in found if one is not None]


def judged(*lines: tuple[float, str], boot: str = "b", now_s: float = NOW) -> tuple[Finding, ...]:
    return faults.judge(faults.gather((), told(*lines, boot=boot), now_s), "b", now_s)


# ------------------------------------------------------------------------------------------------------ reading the log


def test_the_recorded_log_of_a_gpu_whose_firmware_hangs(recordings: Path) -> None:
    lines = kernellines.text_log((recordings / "health/dmesg-with-xid-119.log").read_text())
    end_s = max(line.at_s for line in lines if line.at_s is not None)
    occasions = faults.gather((), told(*((line.at_s or 0, line.text) for line in lines)), end_s)
    (one,) = (occasion for occasion in occasions if occasion.kind == "xid")
    assert (one.code, one.item, one.lines) == (119, "GPU 0000:9b:00", 5)
    assert one.last_s - one.first_s == 355  # 16:24:18 to 16:30:13
    (finding,) = (found for found in faults.judge(occasions, "b", end_s) if found.severity == "CRITICAL")
    assert finding.item == "GPU 0000:9b:00 Xid 119" and "reset the GPU" in finding.action and "5 lines" in finding.what


@pytest.mark.parametrize(
    ("line", "at_s", "micros"),
    [
        ("3,901,345600000100,-;hello", 345601.0001 - 1, 345600000100),
        ("[   15.000001] hello", 15.000001, 15000001),
        ("<3>[   15.000001] hello", 15.000001, 15000001),
        ("[   15.000001][ T1234] hello", 15.000001, 15000001),
        ("2025-02-23T16:24:18+0100 node7 kernel: hello", 1740324258.0, -1),
        ("2025-02-23T16:24:18.5Z node7 kernel: [  1.5] hello", 1740327858.5, -1),
        ('{"MESSAGE":"hello","__REALTIME_TIMESTAMP":"1740327858000000"}', 1740327858.0, -1),
        ('{"MESSAGE":[104,101,108,108,111],"_SOURCE_MONOTONIC_TIMESTAMP":"7"}', None, 7),
    ],
)
def test_every_shape_of_the_log_is_read(line: str, at_s: float | None, micros: int) -> None:
    (found,) = kernellines.text_log(line, boot_s=0.0)
    assert found.text == "hello" and found.since_boot_us == micros
    assert found.at_s == (pytest.approx(at_s) if at_s is not None else None)


def test_a_syslog_line_has_no_year_and_lies_in_the_past() -> None:
    january = 1736899200.0  # 2025-01-15
    december, new_year = kernellines.text_log("Dec 31 23:59:59 n kernel: a\nJan  1 00:00:00 n kernel: b", now_s=january)
    assert december.at_s is not None and new_year.at_s is not None
    assert new_year.at_s - december.at_s == 1 and new_year.at_s < january


def test_a_time_that_no_clock_can_hold_is_not_known() -> None:
    far = "9" * 18
    (held,) = kernellines.kmsg([f"3,1,{far},-;{xid(79)}"], 0.0)
    assert held.at_s is None
    (held,) = kernellines.text_log(f"[999999999999.000000] {xid(79)}", boot_s=0.0)
    assert held.at_s is None


def test_what_a_process_wrote_into_the_log_is_no_fault() -> None:
    records = ["3,1,5,-;" + xid(79), f"{8 | 3},2,6,-;" + xid(79), " DEVICE=+pci", "garbage"]
    assert [line.sequence for line in kernellines.kmsg(records, 0.0)] == [1]


@pytest.mark.parametrize(
    "text",
    [
        'audit: comm="NVRM: Xid (PCI:0000:9b:00): 79"',
        "Memory cgroup out of memory: Killed process 1 (NVRM: Xid (PCI)",
        "INFO: task NVRM: Xid (PCI:7:88 blocked for more than 120 seconds.",
    ],
)
def test_a_process_cannot_forge_a_fault_by_its_name(text: str) -> None:
    assert all(one.kind != "xid" for one in told((NOW, text)))


@given(st.lists(st.booleans(), max_size=30), st.booleans())
def test_no_line_counts_twice_and_none_is_lost_however_the_log_is_read(calls: list[bool], numbered: bool) -> None:
    """Each step a line comes (two at one microsecond now and then); at some steps the log is read, whole as ever."""
    log: list[Line] = []
    seen: list[Line] = []
    cursor = Cursor()
    for step, reads in enumerate([*calls, True]):
        log.append(Line(f"line {step}", None, step if numbered else -1, step // 2))
        if reads:
            new, cursor = kernellines.news(log, cursor)
            seen += new
    assert seen == log


def test_a_log_that_began_anew_is_read_from_its_begin() -> None:
    _, cursor = kernellines.news([Line("a", None, 900, 5)], Cursor())
    again = [Line("b", None, 3, 1)]
    assert kernellines.news(again, cursor)[0] == again


# ---------------------------------------------------------------------------------------------------------- what it means


@pytest.mark.parametrize(
    ("text", "kind", "item"),
    [
        (xid(31), "xid", "GPU 0000:9b:00"),
        ("NVRM: Xid (0000:03:00): 13, Graphics Exception", "xid", "GPU 0000:03:00"),
        ("NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.", "gpu-lost", "GPU 0000:3b:00"),
        ("NVRM: GPU at PCI:0000:3b:00: GPU has fallen off the bus.", "gpu-lost", "GPU 0000:3b:00"),
        ("NVRM: The NVIDIA GPU 0000:89:00.0\n has fallen off the bus", "", ""),
        ("NVRM: GPU 0000:3b:00.0: RmInitAdapter failed! (0x26:0xffff:1290)", "gpu-init", "GPU 0000:3b:00"),
        ("nvidia-nvswitch3: SXid (PCI:0000:c5:00.0): 12028, Non-fatal, Link 32", "sxid", "3"),
        ("nvidia-nvswitch3: SXid (PCI:0000:c5:00.0): 20034, Fatal, Link 30", "sxid-fatal", "3"),
        ("EDAC MC1: 1 CE memory read error on CPU_SrcID#1_Ha#0_Chan#2_DIMM#0", "memory-corrected", "MC1"),
        ("EDAC MC0: 1 UE memory scrubbing error on CPU_SrcID#0", "memory-uncorrected", "MC0"),
        ("mce: [Hardware Error]: Machine check events logged", "mce", ""),
        ("{1}[Hardware Error]: event severity: recoverable", "mce", ""),
        ("mce: CPU3: Package temperature above threshold, cpu clock throttled", "thermal", "CPU3"),
        ("watchdog: BUG: soft lockup - CPU#7 stuck for 22s! [kworker]", "lockup", "CPU#7"),
        ("INFO: task lustre rd:4711 blocked for more than 120 seconds.", "hung-task", "lustre rd"),
        ("Out of memory: Killed process 99 (slurmd) total-vm:1kB", "oom", "slurmd"),
        ("Memory cgroup out of memory: Killed process 99 (a.out)", "oom-job", ""),
        ("blk_update_request: I/O error, dev sda, sector 12345", "disk", "sda"),
        ("I/O error, dev nvme0n1, sector 0 op 0x0", "disk", "nvme0n1"),
        ("EXT4-fs error (device sda2): ext4_find_entry:1455", "filesystem", "sda2"),
        ("EXT4-fs (sda2): Remounting filesystem read-only", "filesystem", ""),
        ("nfs: server nas1 not responding, still trying", "nfs-silent", "nas1"),
        ("ixgbe 0000:01:00.0 eth0: NIC Link is Down", "link-down", "eth0"),
        ("e1000e: eth1 NIC Link is Down", "", ""),
        ("BUG: unable to handle page fault for address: 00000010", "panic", ""),
        ("pcieport 0000:00:02.0: AER: Corrected error received: 0000:03:00.0", "pcie-corrected", "0000:00:02.0"),
        ("pcieport 0000:00:02.0: PCIe Bus Error: severity=Uncorrected (Fatal)", "pcie-fatal", "0000:00:02.0"),
        ("br0: port 1(vnode1) entered disabled state", "", ""),
    ],
)
def test_lines_of_the_kernel_are_told_apart(text: str, kind: str, item: str) -> None:
    found = told((NOW, text))
    assert [(one.kind, one.item) for one in found] == ([(kind, item)] if kind else [])


def test_every_rule_of_the_tables_has_one_action_where_it_is_no_ok() -> None:
    known, otherwise = faults.xids()
    rules = [*faults.tables().rules.values(), *known.values(), otherwise]
    for rule in rules:
        for severity, action in (
            (rule.severity, rule.action),
            *((m.severity, m.action) for m in [rule.recurring] if m),
        ):
            assert severity == "OK" or action, rule
    for code in (8, 13, 31, 43, 45, 46, 48, 54, 62, 63, 64, 74, 79, 92, 94, 95, 109, 119, 120, 121, 140, 145, 154, 160):
        assert code in known
    assert known[79].severity == known[48].severity == "CRITICAL" and known[13].severity == "OK"


def test_a_code_that_nobody_knows_is_taken_for_fatal() -> None:
    (one,) = judged((NOW - 5, xid(999)))
    assert one.severity == "CRITICAL" and "catalogue" in one.action


def test_the_driver_says_itself_what_is_needed() -> None:
    text = "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"
    (one,) = judged((NOW - 5, xid(154, tail=text)))
    assert one.severity == "CRITICAL" and one.action.endswith("Node Reboot Required")
    (one,) = judged((NOW - 5, xid(154, tail="GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)")))
    assert one.severity == "OK"


def test_a_fault_of_a_program_alarms_nobody_until_it_comes_again_and_again() -> None:
    once = judged((NOW - HOUR, xid(13)))
    assert [one.severity for one in once] == ["OK"]
    often = judged(*((NOW - n * HOUR, xid(13)) for n in (9, 7, 5, 3, 1)))
    assert [(one.severity, one.value) for one in often] == [("WARNING", 5)] and "dcgmi diag" in often[0].action
    spread = judged(*((NOW - n * HOUR, xid(13, gpu=f"0000:0{n}:00")) for n in (9, 7, 5, 3, 1)))
    assert {one.severity for one in spread} == {"OK"}  # five GPUs, once each


def test_lines_within_minutes_are_one_occasion() -> None:
    close = faults.gather((), told(*((NOW + n * faults.GAP_S, xid(79)) for n in range(4))), NOW + 9000)
    assert [(one.lines, one.last_s - one.first_s) for one in close] == [(4, 3 * faults.GAP_S)]
    apart = faults.gather((), told((NOW, xid(79)), (NOW + faults.GAP_S + 1, xid(79))), NOW + 9000)
    assert [one.lines for one in apart] == [1, 1]


def test_a_gpu_that_fell_off_the_bus_stays_ill_until_the_machine_is_started_anew() -> None:
    occasions = faults.gather((), told((NOW - 9 * DAY, xid(79))), NOW)
    (one,) = faults.judge(occasions, "b", NOW)
    assert one.severity == "CRITICAL" and "switch the node off" in one.action
    assert faults.judge(occasions, "another start", NOW) == ()


def test_it_comes_again_after_a_restart_and_the_advice_is_another() -> None:
    first = faults.gather((), told((NOW - 9 * DAY, xid(79)), boot="one"), NOW)
    both = faults.gather(first, told((NOW - DAY, xid(79)), boot="two"), NOW)
    (one,) = faults.judge(both, "three", NOW)  # the machine has been started since: it is still not trusted
    assert one.severity == "CRITICAL" and one.value == 2 and "out of service" in one.action
    assert faults.judge(both, "three", NOW + 40 * DAY) == ()


def test_what_has_been_seen_to_is_quiet_but_counted() -> None:
    import msgspec

    held = faults.gather((), told((NOW - DAY, xid(79)), boot="one"), NOW)
    seen = tuple(msgspec.structs.replace(one, cleared=True) for one in held)
    assert faults.judge(seen, "one", NOW) == ()
    again = faults.gather(seen, told((NOW - 60, xid(79)), boot="one"), NOW)
    (one,) = faults.judge(again, "one", NOW)
    assert one.value == 2 and "out of service" in one.action


def test_an_old_line_of_this_start_does_not_keep_a_passing_fault_in_force() -> None:
    assert judged((NOW - 3 * HOUR, "nfs: server nas1 not responding, still trying")) == ()
    (one,) = judged((NOW - HOUR / 2, "nfs: server nas1 not responding, still trying"))
    assert one.severity == "WARNING"


@given(st.permutations([(NOW - n * 100.0, xid(code)) for n, code in enumerate((79, 79, 13, 48, 79, 13))]))
def test_the_order_of_lines_of_one_moment_changes_no_finding(lines: list[tuple[float, str]]) -> None:
    usual = {(one.item, one.severity, one.action) for one in judged(*sorted(lines))}
    assert {(one.item, one.severity, one.action) for one in judged(*lines)} == usual


def test_a_storm_stays_small() -> None:
    lines = told(*((NOW + n, xid(119)) for n in range(5000)))
    assert len(faults.gather((), lines, NOW + 6000)) == 1
    apart = told(*((NOW + n * 700, xid(119)) for n in range(2000)))
    assert len(faults.gather((), apart, NOW + 2000 * 700)) == faults.MOST
