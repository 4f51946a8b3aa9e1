"""Names stay inside their folder, readers are bounded, what nobody foresaw ends with 3, terminals and passwords are safe."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import sys
from pathlib import Path

import msgspec
import pytest

from shakedown import campaign, strict, units, workloads
from shakedown.cli import _chosen, app
from shakedown.errors import BadInput, CannotMeasure, ShakedownError, StoreFailed, plain
from shakedown.files import packed
from shakedown.files.atomic import read_record, write_record
from shakedown.hosts import hostlist
from shakedown.hosts.access import LocalHost, inherited
from shakedown.hosts.process import Process
from shakedown.metering.meters import exposed, parse_target, secret
from shakedown.programs import events
from shakedown.records import Job, Measurement, Plan, Run
from shakedown.results.outcome import last_line
from shakedown.results.run_directory import Manifest, RunDirectory
from shakedown.run import harness
from shakedown.schedulers import Allocation
from support.machines import machine

CAMPAIGN = 'name = {name}\ntitle = "t"\n[[run]]\nworkload = "empty"\n'
WRONG = (
    "../up",
    "a/b",
    "/abs",
    "..",
    ".",
    "-",
    "",
    "--option",
    "a\x00b",
    "a\nb",
    "a\x1b[2J",
    "x" * 300,
    "a\\b",
    "a\u2028b",
)


@pytest.mark.parametrize("name", WRONG)
def test_a_campaigns_name_is_one_part_of_a_path(name: str) -> None:
    text = CAMPAIGN.format(name=msgspec.json.encode(name).decode())
    with pytest.raises(BadInput):
        campaign.parse(text, "c.toml")


@pytest.mark.parametrize("name", ["quick", "my campaign", "N°7", "a.b", "größe_2", "v1-2"])
def test_other_names_are_as_good(name: str) -> None:
    assert campaign.parse(CAMPAIGN.format(name=f'"{name}"'), "c.toml").name == name


def run(id: str = "a1", host: str = "n1") -> tuple[Run, Measurement]:
    made = Run(id=id, workload="empty", params={}, label="l", estimate_s=1, limit_s=1)
    return made, Measurement(run=id, repeat=1, workload="empty", params={}, host=host, state="ok", begin_ns=1, end_ns=2)


@pytest.mark.parametrize("name", [one for one in WRONG if one])
def test_ids_and_hosts_of_a_crafted_run_directory_are_refused_where_they_are_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / "x.json"
    crafted = [
        (Plan(campaign="c", title="t", runs=(run(id=name)[0],)), Plan),
        (Plan(campaign=name, title="t", runs=()), Plan),
        (run(id=name)[1], Measurement),
        (Job(run=name, repeat=1, argv=()), Job),
        (Manifest(schema=1, campaign=name, created_ns=1, version="1", host="h"), Manifest),
    ]
    if len(name) < 200:  # the hosts of one job may be many
        crafted += [
            (run(host=name)[1], Measurement),
            (Job(run="a", repeat=1, argv=(), host=name), Job),
            (Allocation(engine="", job="", hosts=("n1", name)), Allocation),
        ]
    for record, kind in crafted:
        path.write_bytes(msgspec.json.encode(record))
        with pytest.raises(StoreFailed, match="is damaged") as error:
            read_record(path, kind)
        assert "regex" not in str(error.value) and "\x1b" not in str(error.value)


def test_a_plan_that_leaves_its_directory_is_not_gone_on_with(tmp_path: Path) -> None:
    made = Plan(campaign="c", title="t", runs=(run()[0],))
    opened = RunDirectory.create(
        tmp_path / "run",
        manifest=Manifest(schema=1, campaign="c", created_ns=1, version="1", host="h"),
        campaign_toml="",
        machine=machine(1),
        plan=made,
    )
    text = (opened.path / "plan.json").read_text().replace('"a1"', '"../../../escaped"')
    (opened.path / "plan.json").write_text(text)
    with pytest.raises(StoreFailed, match="not one part of a path"):
        opened.plan()


def test_a_folder_that_is_no_repeat_is_passed_over(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path)
    for name in ("1", "2@n1", "²", "x", "9" * 40):
        (tmp_path / "runs" / "a1" / name).mkdir(parents=True)
    assert [number for _, number, _ in directory.repeats()] == [1, 2]


@pytest.mark.parametrize("text", ["../x", "n1,/etc", "-oProxyCommand=x", "n\x00", "n[1-2]/x", "n[1-2],..", "n[1-²]"])
def test_names_of_hosts_are_no_paths_and_no_options(text: str) -> None:
    with pytest.raises(BadInput):
        hostlist.expand(text)


# ------------------------------------------------------------------------------------------------------------- readers


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 100_000,
        "a = " + "[" * 80 + "]" * 80,
        ".".join(["a"] * 50_000) + " = 1",
        "[" + ".".join(["a"] * 50_000) + "]",
        "a = " + "9" * 5000,
        "a = 99999999999999999999",
        "a = 1e400",
        "a = nan",
        "b = [1, { c = -inf }]",
        "a = '" + "x" * (9 * 2**20) + "'",
    ],
    ids=lambda text: str(text)[:14],
)
def test_toml_is_bounded(text: str) -> None:
    with pytest.raises(BadInput):
        strict.read_toml(text, "c.toml")


def test_toml_that_is_large_and_sound_is_read() -> None:
    text = "".join(f'[t{number}]\n"a.b.c" = 1\nc.d.e = {number}\nf = "{"w." * 30}"\n' for number in range(2000))
    assert len(strict.read_toml(text, "c.toml")) == 2000


def test_json_without_end_is_no_event_and_no_record(tmp_path: Path) -> None:
    assert events.parse_line(b'{"event":"facts","facts":' + b"[" * 100_000) is None
    (tmp_path / "plan.json").write_bytes(b"[" * 100_000)
    with pytest.raises(StoreFailed):
        read_record(tmp_path / "plan.json", Plan)


@pytest.mark.parametrize("text", ["1e400 s", "9e999 GB/s", "-1e400 W"])
def test_a_quantity_is_finite(text: str) -> None:
    with pytest.raises(ValueError, match="too large"):
        units.parse_quantity(text)


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 10**30])
def test_a_parameter_is_a_number_that_can_be_counted_with(value: float) -> None:
    with pytest.raises(BadInput):
        workloads.check_params(workloads.get("empty"), {"seconds": value})


def test_a_packed_file_that_is_cut_or_damaged_is_told(tmp_path: Path) -> None:
    text = b"T/V  N  NB\n" * 5000
    for number, pack in enumerate((gzip.compress, lzma.compress, bz2.compress)):
        whole = pack(text)
        path = tmp_path / str(number)
        path.write_bytes(whole)
        assert packed.read_text(path, most_bytes=1 << 20).encode() == text
        for spoiled in (whole[: len(whole) // 2], whole[:7], whole[:-8] + b"\x00" * 8):
            path.write_bytes(spoiled)
            with pytest.raises(BadInput, match="packed by"):
                packed.read_text(path, most_bytes=1 << 20)
        path.write_bytes(whole)
        with pytest.raises(BadInput, match="more than"):
            packed.read_text(path, most_bytes=1000)


def test_an_hpl_log_that_is_cut_behind_its_stamps_still_holds_them(recordings: Path) -> None:
    from shakedown.energy.green500 import stamps

    text = (recordings / "hpl/netlib-2.3-1-rank.log").read_text()
    (whole,) = stamps.hpl_log(text)
    (found,) = stamps.hpl_log(text[: text.index("End of Tests.")])
    assert (found.begin, found.end, found.rate) == (whole.begin, whole.end, None)
    with pytest.raises(BadInput, match="not a time as HPL prints it"):
        stamps.hpl_log(text.replace("Mar 13 23:18:09", "Feb 31 23:18:09"))


# ---------------------------------------------------------------------------------------------------------- exit codes


def ended(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> int:
    """The exit code of a verb that meets this error."""

    def verb(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("shakedown.campaign.names", verb)
    monkeypatch.setattr(sys, "argv", ["shakedown", "list", "campaigns"])
    with pytest.raises(SystemExit) as end:
        app.main()
    return int(str(end.value.code))


@pytest.mark.parametrize(
    "error",
    [RecursionError("deep"), OverflowError("1e400"), KeyError("x"), EOFError("cut"), MemoryError(), OSError(5, "I/O")],
)
def test_what_nobody_foresaw_is_one_sentence_and_exit_code_3(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, error: Exception
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert ended(monkeypatch, error) == 3
    said = capsys.readouterr().err
    assert "Traceback" not in said and "Aborted" not in said and type(error).__name__ in said
    (details,) = tmp_path.glob("shakedown-error-*.txt")
    assert str(details) in said and "Traceback" in details.read_text()


def test_foreseen_ends_keep_their_codes(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(monkeypatch, BadInput("x")) == 2
    assert ended(monkeypatch, CannotMeasure("x")) == 3
    assert ended(monkeypatch, KeyboardInterrupt()) == 130
    assert "interrupted" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["shakedown", "list", "--nonsense"])
    with pytest.raises(SystemExit) as end:
        app.main()
    assert end.value.code == 2 and "nonsense" in capsys.readouterr().err


# ------------------------------------------------------------------------------------------------- campaigns and hosts


def test_a_published_system_that_there_is_none_of_is_named() -> None:
    text = CAMPAIGN.format(name='"c"')
    with pytest.raises(BadInput, match="commet") as error:
        campaign.parse('compare_with = ["commet"]\n' + text, "c.toml")
    assert "'comet'" in error.value.hint
    assert campaign.parse('compare_with = ["comet"]\n' + text, "c.toml").compare_with == ("comet",)


def test_a_choice_takes_several() -> None:
    text = _chosen.of_workload(workloads.get("stream"), ["placement=local,interleave,node:0"])
    (entry,) = campaign.parse(text, "stream").runs
    assert entry.sweep == {"placement": ("local", "interleave", "node:0")}


def test_refused_hosts_leave_no_run_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shakedown.machine.machine", lambda door: machine(2))
    text = CAMPAIGN.format(name='"c"').replace('"empty"', '"empty"\nnodes = "each"')

    def no_answer(path: Path, *_: object) -> None:
        (path / "hosts").mkdir(parents=True)
        raise CannotMeasure("1 of 2 hosts do not answer")

    for hosts in (("elsewhere1", "elsewhere2"), ("node1", "silent")):
        if "silent" in hosts:
            monkeypatch.setattr("shakedown.run.multihost.fanout.machines", no_answer)
        with pytest.raises(CannotMeasure):
            harness.new(tmp_path / "runs" / "x", text, "c", Allocation(engine="", job="", hosts=hosts))
        assert not (tmp_path / "runs" / "x").exists()


# -------------------------------------------------------------------------------------------- terminals and passwords

EVIL = "\x1b]0;title\x07\x1b[2J\x1b[31mred\x1b[0m \x9b1m\x08\x1b]8;;http://x\x1b\\link \u202eright"


def test_a_programs_words_steer_no_terminal() -> None:
    said = last_line(f"first\n{EVIL}\n".encode())
    assert "red" in said and "link" in said
    for text in (said, plain(EVIL), str(ShakedownError(EVIL, where=EVIL, hint=EVIL))):
        assert not any((ord(letter) < 32 and letter != "\n") or 127 <= ord(letter) < 160 for letter in text)
        assert "\u202e" not in text
    event = msgspec.json.encode({"event": "notice", "code": "c", "text": EVIL, "advice": EVIL})
    (notice,) = events.parse(event + b"\n").notices
    assert "\x1b" not in notice.text + notice.advice


def test_measured_programs_do_not_inherit_meters_passwords(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHAKEDOWN_REDFISH_PASSWORD", "s3cret")
    monkeypatch.setenv("SHAKEDOWN_SNMP_PRIV_PASSWORD", "s3cret")
    monkeypatch.setenv("SHAKEDOWN_NATIVE", "/native")
    child = Process(["/usr/bin/env"], {"MORE": "1"}, tmp_path)
    done = child.wait(20, 1, lambda fraction, text: None)
    assert b"s3cret" not in done.stdout and b"SHAKEDOWN_NATIVE=/native" in done.stdout and b"MORE=1" in done.stdout
    assert "SHAKEDOWN_REDFISH_PASSWORD" not in inherited() and os.environ["SHAKEDOWN_REDFISH_PASSWORD"] == "s3cret"


def test_a_password_file_that_others_may_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHAKEDOWN_REDFISH_PASSWORD", raising=False)
    path = tmp_path / "password"
    path.write_text("s3cret\n")
    target = parse_target(f"redfish://me@bmc?password_file={path}")
    for mode in (0o644, 0o640, 0o604, 0o666):
        path.chmod(mode)
        with pytest.raises(BadInput, match="may be read by others"):
            secret(target, LocalHost())
    path.chmod(0o600)
    assert secret(target, LocalHost()) == "s3cret"


def test_a_password_that_goes_unencrypted_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("REDFISH", "PROMETHEUS", "SNMP"):
        monkeypatch.setenv(f"SHAKEDOWN_{name}_PASSWORD", "s3cret12")
    for text in (
        "redfish://me@bmc?plain=1",
        "prometheus://me@server?query=x",
        "prometheus://server?query=x",
        "snmp://pdu",
    ):
        said = exposed(parse_target(text), LocalHost())
        assert "unencrypted" in said and "s3cret" not in said
    for text in (
        "redfish://me@bmc",
        "redfish://bmc?plain=1",
        "prometheus://me@server?query=x&tls=1",
        "snmp://me@pdu?priv=aes",
    ):
        assert exposed(parse_target(text), LocalHost()) == ""
    monkeypatch.delenv("SHAKEDOWN_PROMETHEUS_PASSWORD")
    assert exposed(parse_target("prometheus://server?query=x"), LocalHost()) == ""


def test_a_record_is_written_and_read_as_it_is(tmp_path: Path) -> None:
    """The names of many hosts as one, as jobs over a cluster have them."""
    long = hostlist.fold([f"rack{number}-node{number * 7}x" for number in range(900)])
    record = run(host=long)[1]
    write_record(tmp_path / "m.json", record)
    assert read_record(tmp_path / "m.json", Measurement) == record
