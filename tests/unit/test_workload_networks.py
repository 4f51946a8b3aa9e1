"""perftest, ucx_perftest and iperf3: units, columns that run into each other, both sides in one log, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shakedown.workloads import Garbage, iperf3, perftest, ucx_perftest

FORMS = Path(__file__).parents[1] / "recordings"
READ = (FORMS / "perftest/read-bw-mb.txt").read_text()
RXE = (FORMS / "perftest/send-latency-rxe-merged.txt").read_text()
LATENCY = (FORMS / "ucx_perftest/tag-lat-1.13.1.txt").read_text()
BANDWIDTH = (FORMS / "ucx_perftest/tag-bw-1.13.1.txt").read_text()
TCP, UDP = ((FORMS / f"iperf3/{name}-3.12-loopback.json").read_text() for name in ("tcp", "udp"))
GBITS = READ.replace("[MB/sec]", "[Gb/sec]").replace("11709.18            11708.31", "98.22               98.22")


@pytest.mark.parametrize("text", [READ, READ.replace("MB/sec", "MiB/sec"), GBITS])
def test_perftests_units_are_those_that_its_message_rate_says(text: str) -> None:
    (case,) = perftest.parse(text, {})
    assert case.work["bytes"] == pytest.approx(12277052866.56, rel=1e-4)


def test_a_log_of_both_sides_counts_once() -> None:
    assert perftest.parse(READ + READ, {}) == perftest.parse(READ, {})
    row = READ.splitlines()[-2]
    assert perftest.parse(READ.replace(row, f"{row}\n{row}"), {}) == perftest.parse(READ, {})


def test_numbers_that_ran_into_each_other_are_parted() -> None:
    (case,) = perftest.parse(RXE, {})
    assert case.seconds == pytest.approx((692.41e-6,)) and case.work["p99_s"] == pytest.approx(1216.65e-6)
    assert case.params["statistic"] == "median"


def test_a_bidirectional_test_is_one() -> None:
    (case,) = perftest.parse(READ.replace("RDMA_Read BW", "RDMA_Read Bidirectional BW"), {})
    assert case.kernel == "bidirectional"


def test_clocks_that_differ_are_said() -> None:
    told = perftest.notices("Conflicting CPU frequency values detected: 1 != 2. CPU Frequency is not max.\n" + READ, {})
    assert [one.code for one in told] == ["perftest-clock"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hello\n", "not output of perftest"),
        (READ[: READ.index(" 65536 ")] + "Unable to find the Infiniband/RoCE device\n", "Unable to find"),
        (READ.replace("0.187333", "0.287333"), "M messages/s of 65536 B"),
        (READ.replace("11708.31", "nan"), "has not 5 numbers"),
        (READ[: READ.index("0.187333") + 5], "ends within"),
        (RXE.replace("692.41", "92.41"), "not between its extremes"),
        (READ.replace("[MB/sec]", "[KB/sec]"), "is not known"),
    ],
)
def test_what_perftest_does_not_print_when_it_works_is_refused(text: str, said: str) -> None:
    with pytest.raises(Garbage, match=said):
        perftest.parse(text, {})


def test_ucx_counts_in_mib_and_its_size_follows() -> None:
    (case,) = ucx_perftest.parse(BANDWIDTH, {})
    assert case.params["bytes"] == 65536 and case.work["bytes"] == pytest.approx(1669.09 * 2**20, rel=1e-4)
    (case,) = ucx_perftest.parse(LATENCY, {"size": 8, "test": "tag_lat"})
    assert case.seconds == pytest.approx((0.481e-6,)) and case.work["median_s"] == pytest.approx(0.421e-6)
    assert len(ucx_perftest.parse(LATENCY * 3, {})[0].seconds) == 3


@pytest.mark.parametrize(
    ("text", "params", "said"),
    [
        (LATENCY, {"size": 16}, "which are not of 16 B"),
        (LATENCY.replace("2080637     2080637", "2080637"), {}, "has not 8 numbers"),
        (LATENCY.replace("Final:", "final"), {}, "no last line"),
        (LATENCY.replace("50.0%ile", "99.0%ile"), {}, "not medians"),
        (LATENCY[: len(LATENCY) - 4], {}, "has not 8 numbers"),
        (BANDWIDTH.replace("1669.09    1669.09", "1669.09    1.e308"), {}, "which no network has"),
        (LATENCY.replace("latency (usec)", "latency (msec)"), {}, "not output of ucx_perftest"),
    ],
)
def test_what_ucx_perftest_does_not_print_when_it_works_is_refused(
    text: str, params: dict[str, Any], said: str
) -> None:
    with pytest.raises(Garbage, match=said):
        ucx_perftest.parse(text, params)


def test_rows_below_other_headings_in_one_test_are_refused() -> None:
    row = READ.splitlines()[-2]
    with pytest.raises(Garbage, match="below different headings"):
        perftest.parse(READ.replace(row, f"{row}\n #bytes #iterations BW average[MB/sec]\n"), {})


def changed(text: str, part: str, **values: object) -> str:
    whole = json.loads(text)
    whole["end"][part].update(values)
    return json.dumps(whole)


def test_iperf3_counts_what_was_received() -> None:
    slower = changed(TCP, "sum_received", bytes=5_000_000_000, bits_per_second=8 * 5e9 / 2.000229)
    (case,) = iperf3.parse(slower, {})
    assert case.work["bytes"] == 5e9 and case.params["direction"] == "to the server"
    (back,) = iperf3.parse((FORMS / "iperf3/reverse-2-streams-3.12.json").read_text(), {})
    assert back.params["direction"] == "from the server" and back.params["streams"] == 2
    assert back.work["bytes"] == 2308964352, "not the 2318663680 that were sent"


def test_lost_packets_are_not_received_where_there_is_one_sum_of_both_sides() -> None:
    whole = json.loads(UDP)
    del whole["end"]["sum_sent"], whole["end"]["sum_received"]  # as before 3.10
    whole["end"]["sum"] |= {"lost_packets": 191, "lost_percent": 50.0}
    (case,) = iperf3.parse(json.dumps(whole), {})
    assert case.work["loss"] == 0.5 and case.work["bytes"] == 12517376 / 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"start": {}, "end": {}, "error": "unable to connect to server: Connection refused"}', "Connection refused"),
        (TCP[:-3], "not the JSON of iperf3"),
        (changed(TCP, "sum_received", bits_per_second=1e9), "bit/s for"),
        (changed(TCP, "sum_received", bytes=6e9, bits_per_second=8 * 6e9 / 2.000229), "more was received"),
        (changed(TCP, "sum_received", seconds=0), "no time"),
        (changed(TCP, "sum_received", bytes="many"), "not a number"),
        (changed(UDP, "sum", lost_packets=1000), "lost 1000 of 382"),
        (changed(UDP, "sum", lost_percent=7.5), "7.5 % for 0 of 382"),
        (TCP.replace('"TCP"', '"SCTP"'), "SCTP"),
        ("[" * 100_000, "not the JSON of iperf3"),
    ],
)
def test_what_iperf3_does_not_print_when_it_works_is_refused(text: str, said: str) -> None:
    with pytest.raises(Garbage, match=said):
        iperf3.parse(text, {})


def test_the_host_and_the_time_of_iperf3_are_read() -> None:
    said = iperf3.stated(TCP)
    assert said.host and said.begin is not None
