"""What the network meters share: pauses that grow, calls that end in time, a source whose failures are statuses."""

from __future__ import annotations

import threading
import time

import pytest

from shakedown.errors import BadInput, Unavailable
from shakedown.hosts.access import LocalHost
from shakedown.metering.meters import Channel, Reading, Status, Target
from shakedown.metering.meters._http import refusal, retry_after_s
from shakedown.metering.meters._network import (
    Bounded,
    Lost,
    Pauses,
    Polled,
    choice,
    endpoint,
    library,
    measured,
    number,
    switch,
)


def channel(name: str) -> Channel:
    return Channel(id=name, title=name, quantity="power", unit="W", scope="point", place="node")


def test_pauses_double_up_to_a_minute_and_end_with_a_success() -> None:
    now = [0.0]
    pauses = Pauses(clock=lambda: now[0])
    waited = []
    for _ in range(12):
        pauses.failed()
        begin = now[0]
        while not pauses.over():
            now[0] += 0.25
        waited.append(now[0] - begin)
    assert waited == [0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0, 60.0]
    pauses.worked()
    pauses.failed()
    assert pauses.over()


def test_a_device_that_asks_for_quiet_gets_it() -> None:
    now = [0.0]
    pauses = Pauses(clock=lambda: now[0])
    pauses.failed(7.0)
    now[0] = 6.9
    assert not pauses.over()
    now[0] = 7.0
    assert pauses.over()


def test_a_call_that_hangs_holds_nobody_up() -> None:
    go = threading.Event()
    thread = Bounded("test")
    try:
        begin = time.monotonic()
        with pytest.raises(TimeoutError):
            thread.call(lambda: go.wait(30), 0.05)
        with pytest.raises(TimeoutError, match="still unanswered"):
            thread.call(lambda: 1, 10.0)
        assert time.monotonic() - begin < 9
        go.set()
        deadline = time.monotonic() + 300
        while True:  # once the old call has ended the thread is free again, and its late result is nobody's
            try:
                assert thread.call(lambda: 2, 1.0) == 2
                break
            except TimeoutError:
                assert time.monotonic() < deadline
    finally:
        go.set()
        thread.close(1.0)


def source(ask: object, limit: float = 0.2) -> Polled:
    thread = Bounded("test")
    return Polled(
        [channel("a"), channel("b")],
        ask,
        lambda: None,
        door=LocalHost(),
        limit=limit,
        thread=thread,  # type: ignore[arg-type]
    )


def test_channels_that_were_not_reached_get_the_status_of_the_failure() -> None:
    def ask(out: list[Reading]) -> None:
        out.append(Reading(0, 1, 2, None, 5.0))
        raise Lost("no", Status.REFUSED, broken=False)

    polled = source(ask)
    assert [(one.channel, one.value, one.status) for one in polled.read()] == [(0, 5.0, 0), (1, None, Status.REFUSED)]
    assert polled.trouble == "no"
    polled.close()
    polled.close()
    assert {one.status for one in polled.read()} == {Status.GAP}


def test_what_answers_after_the_limit_is_a_gap_and_is_never_taken_later() -> None:
    go = threading.Event()
    asked = []

    def ask(out: list[Reading]) -> None:
        asked.append(len(asked))
        if len(asked) == 1:
            go.wait(30)
        out += [Reading(0, 1, 2, None, float(len(asked))), Reading(1, 1, 2, None, float(len(asked)))]

    polled = source(ask, limit=0.05)
    assert {one.status for one in polled.read()} == {Status.GAP}
    go.set()
    time.sleep(0.5)
    assert [one.value for one in polled.read()] == [2.0, 2.0]
    polled.close()


def test_a_mistake_of_ours_is_not_hidden_as_a_gap() -> None:
    def ask(out: list[Reading]) -> None:
        raise KeyError("ours")

    polled = source(ask)
    with pytest.raises(KeyError):
        polled.read()
    polled.close()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("3", 3.0),
        ("0.5", 0.5),
        ("Thu, 01 Jan 1970 00:01:40 GMT", 90.0),
        ("-4", 0.0),
        ("99999", 3600.0),
        ("soon", 0.0),
        ("", 0.0),
        ("nan", 0.0),
    ],
)
def test_retry_after(text: str, seconds: float) -> None:
    assert retry_after_s(text, 10.0) == seconds


@pytest.mark.parametrize(
    ("code", "status"),
    [(401, "REFUSED"), (403, "REFUSED"), (404, "UNSUPPORTED"), (429, "GAP"), (500, "GAP"), (503, "GAP"), (301, "GAP")],
)
def test_what_an_http_status_makes_of_a_reading(code: int, status: str) -> None:
    assert refusal("/x", code, {}).status is Status[status]
    assert refusal("/x", code, {"retry-after": "5"}).wait_s == (5.0 if code in (429, 503) else 0.0)


def test_options_are_read_strictly() -> None:
    target = Target(
        meter="snmp", address="[::1]:1161", options={"timeout": "soon", "insecure": "perhaps", "auth": "sha25"}
    )
    assert endpoint(target, 161) == ("::1", 1161)
    assert measured(target, 161) == "::1:1161" and measured(target, 1161) == "::1"
    for wrong in (
        lambda: number(target, "timeout", 1.0),
        lambda: number(Target(meter="x", options={"timeout": "-1"}), "timeout", 1.0),
        lambda: number(Target(meter="x", options={"timeout": "nan"}), "timeout", 1.0),
        lambda: switch(target, "insecure"),
        lambda: endpoint(Target(meter="snmp", address="host:99999"), 161),
        lambda: endpoint(Target(meter="snmp"), 161),
    ):
        with pytest.raises(BadInput):
            wrong()
    with pytest.raises(BadInput, match=r"(?s)auth.*did you mean 'sha256'"):
        choice(target, "auth", ("md5", "sha256"), "md5")


def test_a_library_that_is_absent_is_named_with_its_command() -> None:
    with pytest.raises(Unavailable, match="pip install pyghmi"):
        library("there_is_no_such_module", "pyghmi")


def test_what_is_remembered_is_what_was_handed_out() -> None:
    go = threading.Event()
    asked: list[int] = []
    handed: list[float | None] = []

    def ask(out: list[Reading]) -> None:
        asked.append(1)
        if len(asked) == 2:
            go.wait(30)
        out += [Reading(0, 1, 2, None, float(len(asked))), Reading(1, 1, 2, None, float(len(asked)))]

    thread = Bounded("test")
    polled = Polled(
        [channel("a"), channel("b")],
        ask,
        lambda: None,
        door=LocalHost(),
        limit=0.1,
        thread=thread,
        taken=lambda readings: handed.extend(one.value for one in readings),
    )
    polled.read()
    polled.read()
    go.set()
    time.sleep(0.5)
    polled.read()
    assert handed == [1.0, 1.0, 3.0, 3.0]
    polled.close()
