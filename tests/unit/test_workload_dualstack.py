"""The dual-stack demonstration: the kernel is understood, the network is chosen alike, and every check can fail."""

from __future__ import annotations

import io
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.errors import BadInput, CannotMeasure, Unavailable
from shakedown.functional_tests import _addresses, _meeting, _servers, dualstack
from shakedown.functional_tests._addresses import Address, Chosen
from shakedown.programs import emitter
from shakedown.records import Params, Residual, Value
from shakedown.workloads import dualstack as workload
from support.machines import host, over_hosts
from support.workloads import params_of

WORKLOAD = workload.WORKLOAD


def address(text: str, interface: str = "eth0", mtu: int = 1500, fault: str = "") -> Address:
    own, _, prefix = text.partition("/")
    family: _addresses.Family = "ipv6" if ":" in own else "ipv4"
    return Address(interface, family, own, int(prefix), mtu, interface == "lo", fault)


# ------------------------------------------------------------------------------------------------------------ addresses


def message(family: int, index: int, prefix: int, flags: int, attributes: Sequence[tuple[int, bytes]]) -> bytes:
    body = struct.pack("=BBBBI", family, prefix, flags & 0xFF, 0, index)
    for kind, value in attributes:
        body += struct.pack("=HH", 4 + len(value), kind) + value + b"\0" * (-len(value) % 4)
    return struct.pack("=IHHII", 16 + len(body), 20, 2, 1, 0) + body


DONE = struct.pack("=IHHII", 20, 3, 2, 1, 0) + b"\0" * 4


def test_the_kernels_answer_is_understood() -> None:
    four, far = socket.inet_aton("10.0.0.1"), socket.inet_aton("10.0.0.2")
    six = socket.inet_pton(socket.AF_INET6, "fd77::1")
    data = (
        message(socket.AF_INET, 2, 24, 0x80, [(1, far), (2, four), (3, b"eth0\0")])
        + message(socket.AF_INET6, 3, 64, 0, [(1, six), (8, struct.pack("=I", 0x248))])
        + message(99, 3, 64, 0, [(1, six)])
        + DONE
        + message(socket.AF_INET, 9, 8, 0, [(1, four)])
    )
    assert list(_addresses.parse(data)) == [
        _addresses.Raw(2, "ipv4", "10.0.0.1", 24, 0x80),  # our end of a link, not the other
        _addresses.Raw(3, "ipv6", "fd77::1", 64, 0x248),
    ]


@given(st.sampled_from((b"", b"\2\x18\0\0\1\0\0\0", b"\n@\0\0\1\0\0\0")), st.binary(max_size=200))
def test_no_answer_breaks_the_reader(head: bytes, rest: bytes) -> None:
    data = head + rest
    for raw in _addresses.parse(struct.pack("=IHHII", 16 + len(data), 20, 2, 1, 0) + data):
        assert raw.family in _addresses.FAMILIES


def test_this_hosts_addresses_hold_its_loopback() -> None:
    found = _addresses.ask()
    assert all(one.interface and 0 <= one.prefix <= 128 for one in found)
    loopback = [one for one in found if one.loopback and one.family == "ipv4"]
    assert not loopback or any(one.address == "127.0.0.1" and one.mtu > 1000 for one in loopback)


LOOPBACK = (address("127.0.0.1/8", "lo"), address("::1/128", "lo"))


def several(number: int) -> tuple[Address, ...]:
    return (
        *LOOPBACK,
        address(f"192.168.1.{number}/24", "eth0"),
        address("172.17.0.1/16", "docker0"),
        address(f"10.0.0.{number}/16", f"eth{number}"),
        address(f"fe80::{number}/64", f"eth{number}"),
        address(f"fd77::{number}/64", f"eth{number}"),
    )


def test_the_network_with_both_families_that_all_share_is_chosen() -> None:
    chosen = _addresses.choose([several(1), several(2), several(3)], "auto")
    assert [one.interface for one in chosen] == ["eth1", "eth2", "eth3"], "by network, whatever the names"
    assert [one.ipv6.address for one in chosen if one.ipv6] == ["fd77::1", "fd77::2", "fd77::3"]
    only_four = [tuple(one for one in each if one.family == "ipv4") for each in (several(1), several(2))]
    first = _addresses.choose(only_four, "auto")[0]
    assert first.ipv4 and first.ipv6 is None and first.interface != "docker0", (
        "the same address everywhere leads nowhere"
    )


def test_one_host_takes_a_real_interface_before_its_loopback() -> None:
    (chosen,) = _addresses.choose([several(1)], "auto")
    assert chosen.interface == "eth1" and chosen.ipv4 and chosen.ipv6
    (chosen,) = _addresses.choose([LOOPBACK], "auto")
    assert chosen.interface == "lo" and chosen.ipv4 and chosen.ipv6


def test_hosts_without_a_common_network_are_told() -> None:
    with pytest.raises(CannotMeasure, match="no network in common"):
        _addresses.choose([several(1), LOOPBACK], "auto")
    with pytest.raises(CannotMeasure, match="host 2 of the job has no interface 'eth1'"):
        _addresses.choose([several(1), several(2)], "eth1")


# --------------------------------------------------------------------------------------------------------------- checks


def failing(checks: Sequence[dualstack.Check]) -> list[tuple[str, str]]:
    return [(one.what, one.family) for one in checks if one.why]


def test_an_address_that_is_missing_or_faulty_fails() -> None:
    good = Chosen("eth0", address("10.0.0.1/24"), address("fd77::1/64"))
    assert failing(dualstack.check_addresses("a", good)) == []
    assert failing(dualstack.check_addresses("a", Chosen("eth0", good.ipv4))) == [("address", "ipv6")]
    double = Chosen("eth0", good.ipv4, address("fd77::1/64", fault="another host has it, too"))
    assert failing(dualstack.check_addresses("a", double)) == [("address", "ipv6")]
    small = Chosen("eth0", address("10.0.0.1/24", mtu=1200), address("fd77::1/64", mtu=1200))
    assert failing(dualstack.check_addresses("a", small)) == [("address", "ipv6")], "1280 bytes at least"


def test_a_name_must_give_both_families_and_only_that_hosts_addresses() -> None:
    has = (address("10.0.0.1/24"), address("fd77::1/64"))
    both = {"ipv4": ("10.0.0.1",), "ipv6": ("fd77::1",)}
    assert failing(dualstack.check_names("a", "b", both, has)) == []
    assert failing(dualstack.check_names("a", "b", {**both, "ipv6": ()}, has)) == [("names", "ipv6")]
    assert failing(dualstack.check_names("a", "b", {**both, "ipv4": ("10.0.0.1", "10.0.0.9")}, has)) == [
        ("names", "ipv4")
    ]
    local = {**both, "ipv4": ("127.0.1.1",)}
    assert failing(dualstack.check_names("a", "a", local, has)) == [], "a host may know itself by its loopback"
    assert failing(dualstack.check_names("a", "b", local, has)) == [("names", "ipv4")], "others may not"


def test_a_host_whose_mtu_differs_from_the_others_fails() -> None:
    chosen = [Chosen("eth0", address(f"10.0.0.{i}/24", mtu=9000 if i != 2 else 1500)) for i in range(4)]
    checks = dualstack.check_mtus(["a", "b", "c", "d"], chosen)
    assert [one.host for one in checks if one.why] == ["c"] and len(checks) == 4


@given(st.integers(1, 60), st.integers(1, 60))
def test_every_host_asks_and_is_asked_as_often_as_the_others(size: int, most: int) -> None:
    asked = [dualstack.partners(rank, size, most) for rank in range(size)]
    if size == 1:
        assert asked == [[0]]
        return
    counts = [sum(rank in each for each in asked) for rank in range(size)]
    assert all(rank not in each and len(set(each)) == len(each) for rank, each in enumerate(asked))
    assert set(counts) == {min(most, size - 1)}


LOCAL = address("127.0.0.1/8", "lo", mtu=65536)


def test_a_server_that_changes_what_it_was_sent_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    token = b"t" * _servers.TOKEN_BYTES
    monkeypatch.setattr(_servers, "_LIMIT_S", 60.0)
    with _servers.serving(token) as servers:
        _servers.ask_tcp(LOCAL, "127.0.0.1", servers.ports["tcp.ipv4"], token)
        _servers.ask_udp(LOCAL, "127.0.0.1", servers.ports["udp.ipv4"], token, 512)
        with pytest.raises((_servers.Wrong, OSError)):
            _servers.ask_tcp(LOCAL, "127.0.0.1", servers.ports["tcp.ipv4"], b"x" * _servers.TOKEN_BYTES)
        monkeypatch.setattr(_servers, "_LIMIT_S", 0.2)
        with pytest.raises(_servers.Wrong, match="no answer"):
            _servers.ask_udp(LOCAL, "127.0.0.1", servers.ports["udp.ipv4"], b"x" * _servers.TOKEN_BYTES, 512)
        monkeypatch.setattr(_servers, "_LIMIT_S", 60.0)
        frame = _servers._frame
        monkeypatch.setattr(_servers, "_frame", lambda data: frame(data[:-1] + b"!" if len(data) > 65000 else data))
        with pytest.raises(_servers.Wrong, match="not what was sent"):
            _servers.ask_tcp(LOCAL, "127.0.0.1", servers.ports["tcp.ipv4"], token)
        monkeypatch.setattr(_servers, "_frame", lambda data: frame(b"10.9.9.9" if len(data) < 20 else data))
        with pytest.raises(_servers.Wrong, match=r"saw 10\.9\.9\.9"):
            _servers.ask_tcp(LOCAL, "127.0.0.1", servers.ports["tcp.ipv4"], token)
    with pytest.raises(OSError):
        _servers.ask_tcp(LOCAL, "127.0.0.1", servers.ports["tcp.ipv4"], token)


# ---------------------------------------------------------------------------------------------------------- whole program


def start(folder: Path, *words: str, rank: int | None = None) -> subprocess.Popen[bytes]:
    environment = {name: value for name, value in os.environ.items() if name not in _meeting.RANKS}
    if rank is not None:
        environment["PMI_RANK"] = str(rank)
    argv = [sys.executable, "-m", "shakedown.functional_tests.dualstack", "--folder", str(folder), *words]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)


def case(out: bytes) -> dict[str, int]:
    (found,) = [event for event in map(json.loads, out.splitlines()) if event["event"] == "case"]
    work: dict[str, int] = found["work"]
    return work


def test_processes_meet_ask_one_another_and_only_the_first_speaks(tmp_path: Path) -> None:
    words = ("--hosts", "2", "--interface", "lo", "--names", "none", "--wait", "60")
    started = [start(tmp_path, *words, rank=rank) for rank in range(2)]
    (out, err), (quiet, _) = [one.communicate(timeout=300) for one in started]
    assert not quiet and b'"event":"end"' in out, err
    assert all(one["failed"] == 0 for name, one in _counts(out).items() if "ipv4" in name), err
    assert [one.returncode for one in started][1] == 0
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["dualstack-found-0.json", "dualstack-found-1.json"], "no token stays"


def _counts(out: bytes) -> dict[str, dict[str, int]]:
    facts: dict[str, dict[str, int]] = next(
        event["facts"]["checks"] for event in map(json.loads, out.splitlines()) if event["event"] == "facts"
    )
    return facts


def test_a_process_that_does_not_come_is_told(tmp_path: Path) -> None:
    process = start(tmp_path, "--hosts", "2", "--wait", "0.3", rank=0)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 3 and not out and b"1 of 2 processes did not come" in err and b"next:" in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(shutil.which("unshare") is None or shutil.which("ip") is None, reason="needs unshare and ip")
def test_a_host_without_ipv6_fails_by_name(tmp_path: Path) -> None:
    script = 'ip link set lo up && ip -6 addr flush dev lo && exec "$0" "$@"'
    own = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    argv = [sys.executable, "-m", "shakedown.functional_tests.dualstack", "--folder", str(tmp_path), "--names", "none"]
    done = subprocess.run(["unshare", *own, "--net", "sh", "-c", script, *argv], capture_output=True, timeout=300)
    if b'"event":"start"' not in done.stdout:
        pytest.skip(f"no network namespace can be made here: {done.stderr.decode().strip()}")
    counts = _counts(done.stdout)
    assert done.returncode == 1 and case(done.stdout)["failed"] == sum(one["failed"] for one in counts.values())
    assert {name for name, one in counts.items() if one["failed"]} == {
        f"{what} ipv6" for what in ("address", "tcp", "udp", "path-mtu")
    }
    assert counts["tcp ipv4"]["passed"] == 1


# ------------------------------------------------------------------------------------------------------------- emitting


def test_the_emitter_prints_the_contracts_events_and_judges() -> None:
    def body(argv: Sequence[str], emit: emitter.Emitter) -> None:
        emit.start({"answer": 42})
        with emit.phase("measure", "one"):
            emit.case("a", {"n": 1}, {"checks": 2}, [0.5], Residual(value=0, limit=0, kind="x"), 1, 2)
            emit.case("b", residual=Residual(value=float("nan"), limit=0, kind="x"))
            emit.progress(0.5, "half")
            emit.progress(0.6, "too soon")
        emit.notice("code", "text", "advice")
        emit.facts({"more": [1]})

    from shakedown.programs import events

    out = io.BytesIO()
    assert emitter.run("try", body, [], out) == 1, "NaN passes no check"
    found = events.parse(out.getvalue())
    assert found.started and found.ended and not found.garbage
    assert found.provenance["program"] == "try" and found.provenance["facts"] == {"answer": 42, "more": [1]}
    assert [one.name for one in found.phases] == ["measure one"] and found.notices[0].advice == "advice"
    assert found.cases[0].work == {"checks": 2} and found.cases[1].residual and not found.cases[1].residual.passed
    assert out.getvalue().count(b'"progress"') == 1


@pytest.mark.parametrize(
    ("error", "code"), [(BadInput("bad"), 2), (CannotMeasure("cannot"), 3), (Unavailable("absent", hint="do"), 3)]
)
def test_a_foreseen_error_is_one_line_and_no_end(
    error: Exception, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    def body(argv: Sequence[str], emit: emitter.Emitter) -> None:
        emit.start({})
        raise error

    out = io.BytesIO()
    assert emitter.run("try", body, [], out) == code
    assert b'"end"' not in out.getvalue() and capsys.readouterr().err.startswith(f"try: {error.args[0]}")


def test_words_that_are_none_are_usage(capsys: pytest.CaptureFixture[str]) -> None:
    def body(argv: Sequence[str], emit: emitter.Emitter) -> None:
        emitter.ProgramArguments("try", "about").parse_args(argv)

    assert emitter.run("try", body, ["--nonsense"], io.BytesIO()) == 2
    assert "next: try --help" in capsys.readouterr().err


# ------------------------------------------------------------------------------------------------------------- workload


def resolve(count: int = 1, **given: Value) -> Params:
    return params_of(WORKLOAD, over_hosts(count, 2), given)


def test_one_host_needs_no_launcher_and_several_get_a_process_each() -> None:
    alone = WORKLOAD.command(resolve(interface="eth1"), host(2))
    assert alone.ranks == 0 and alone.argv[:3] == (sys.executable, "-m", "shakedown.functional_tests.dualstack")
    assert alone.argv[alone.argv.index("--interface") + 1] == "eth1"
    many = WORKLOAD.command(resolve(7), host(2))
    assert many.ranks == 7 and many.argv[many.argv.index("--hosts") + 1] == "7"
    assert WORKLOAD.label is not None and WORKLOAD.label(resolve(7)).endswith("7 hosts")
    assert WORKLOAD.estimate_s(resolve(500), host(2)) > WORKLOAD.estimate_s(resolve(), host(2)) > 0


@pytest.mark.parametrize("given_words", [{"hosts": 0}, {"names": "all"}, {"partners": 0}])
def test_what_cannot_be_is_refused(given_words: dict[str, Value]) -> None:
    with pytest.raises(BadInput) as caught:
        resolve(**given_words)
    assert caught.value.hint
