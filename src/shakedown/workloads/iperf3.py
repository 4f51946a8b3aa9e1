"""iperf3, as a site has it: an adapter for TCP and UDP between two hosts, read from its JSON.

A server waits on one host (``iperf3 -s``), this side is the client. The figure is what the receiving side got over its own
time, not what the sending side handed to its kernel; retransmits, and for UDP the share of packets lost and the jitter,
stand beside it. Each direction of a bidirectional run is a case. Rates are computed from bytes and seconds; a printed one
that is not theirs is refused, and so is a run that iperf3 ended with an error. There is no interval: the intervals of a run
are one connection's, not samples of their own.

Source: esnet/iperf, iperf3(1); outputs of versions 3.1 to 3.17.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from .. import strict
from ..errors import BadInput
from ..launchers import Command
from ..records import Case, Host, Machine, Params, Value
from . import Garbage, Stated
from .common.table import table_of

TABLE = table_of(__file__)


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    if not params["server"]:
        raise BadInput(
            "iperf3.server is empty: with which host is traffic exchanged?",
            hint="start 'iperf3 -s' there, and name it: server=HOST",
        )
    return (params,)


def _command(params: Params, host: Host) -> Command:
    argv = [
        str(params["program"]),
        "-c",
        str(params["server"]),
        "-p",
        str(params["port"]),
        "-t",
        str(params["seconds"]),
    ]
    argv += ["-P", str(params["streams"]), "-J"]
    argv += ["-u", "-b", str(params["rate"])] if params["protocol"] == "udp" else []
    argv += {"to the server": [], "from the server": ["-R"], "both": ["--bidir"]}[str(params["direction"])]
    return Command(argv=(*argv, *str(params["arguments"]).split()))


def parse(text: str, params: Params) -> tuple[Case, ...]:
    """A case for each direction. Raises Garbage."""
    whole = _whole(text)
    if "error" in whole:
        raise Garbage(f"iperf3 ended with an error: {str(whole['error'])[:200]}")
    start, end = _object(whole, "start"), _object(whole, "end")
    test = _object(start, "test_start")
    protocol = str(test.get("protocol", ""))
    if protocol not in ("TCP", "UDP"):
        raise Garbage(f"iperf3's protocol {protocol[:20]!r} is not read: TCP and UDP are")
    told: dict[str, Value] = {
        "application": "iperf3",
        "version": str(start.get("version", "")).removeprefix("iperf ")[:20],
        "streams": int(_number(test, "num_streams", 1, 10**6)),
        "block": int(_number(test, "blksize", 0, 2**40)),
    }
    cases = list(_cases(end, protocol, told, backwards=bool(test.get("reverse"))))
    if not cases:
        raise Garbage("iperf3 has no sum of what was received: it is cut, or nothing arrived")
    return tuple(cases)


def _whole(text: str) -> dict[str, Any]:
    try:
        whole = json.loads(text)
        strict.check_numbers(whole, "iperf3")
    except (*strict.UNREADABLE, ValueError, RecursionError) as error:
        raise Garbage(f"this is not the JSON of iperf3 (-J): {str(error)[:120]}") from None
    if not isinstance(whole, dict) or "start" not in whole or "end" not in whole:
        raise Garbage("this is not the JSON of iperf3 (-J): it has no 'start' or no 'end'")
    return whole


def _cases(end: Mapping[str, Any], protocol: str, told: dict[str, Value], *, backwards: bool) -> Iterator[Case]:
    for suffix, reverse in (("", backwards), ("_bidir_reverse", True)):
        received = end.get(f"sum_received{suffix}", end.get("sum") if protocol == "UDP" and not suffix else None)
        if not isinstance(received, dict):
            continue
        direction = "from the server" if reverse else "to the server"
        params = {**told, "direction": direction}
        if protocol == "TCP":
            sent = end.get(f"sum_sent{suffix}")
            yield _tcp(received, sent if isinstance(sent, dict) else {}, params)
        else:
            # Lost packets are counted by the side that receives; before 3.10 there is one sum, of what was sent.
            counted = end["sum"] if not suffix and isinstance(end.get("sum"), dict) else received
            yield _udp(counted, received if f"sum_received{suffix}" in end else None, params)


def _tcp(received: Mapping[str, Any], sent: Mapping[str, Any], params: dict[str, Value]) -> Case:
    moved, seconds = _moved(received)
    work = {"bytes": moved}
    if "retransmits" in sent:
        work["retransmits"] = _number(sent, "retransmits", 0, 1e15)
    if "bytes" in sent and _number(sent, "bytes", 0, 1e19) < moved:
        raise Garbage("iperf3 says that more was received than was sent")
    return Case(kernel="tcp", params=params, work=work, seconds=(seconds,))


def _udp(counted: Mapping[str, Any], received: Mapping[str, Any] | None, params: dict[str, Value]) -> Case:
    packets, lost = _number(counted, "packets", 1, 1e15), _number(counted, "lost_packets", 0, 1e15)
    if lost > packets:
        raise Garbage(f"iperf3 lost {lost:.0f} of {packets:.0f} packets")
    percent = _number(counted, "lost_percent", 0, 100)
    if abs(percent - 100 * lost / packets) > 0.1:
        raise Garbage(f"iperf3 says {percent} % for {lost:.0f} of {packets:.0f} packets")
    moved, seconds = _moved(received if received is not None else counted)
    if received is None:
        moved *= 1 - lost / packets
    work = {"loss": lost / packets, "packets": packets, "jitter_s": _number(counted, "jitter_ms", 0, 1e9) * 1e-3}
    return Case(kernel="udp", params=params, work={**work, **({"bytes": moved} if moved else {})}, seconds=(seconds,))


def _moved(part: Mapping[str, Any]) -> tuple[float, float]:
    """Bytes and seconds. Raises Garbage where the rate beside them is not theirs."""
    moved, seconds = _number(part, "bytes", 0, 1e19), _number(part, "seconds", 0, 1e7)
    rate = _number(part, "bits_per_second", 0, 1e16)
    if seconds <= 0:
        raise Garbage("iperf3 measured for no time")
    if abs(rate - 8 * moved / seconds) > 1e-3 * max(rate, 8 * moved / seconds):
        raise Garbage(f"iperf3 says {rate:.6g} bit/s for {moved:.0f} bytes in {seconds} s")
    return moved, seconds


def _object(of: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = of.get(name)
    if not isinstance(found, dict):
        raise Garbage(f"the JSON of iperf3 has no {name!r}")
    return found


def _number(of: Mapping[str, Any], name: str, low: float, high: float) -> float:
    value = of.get(name)
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not low <= value <= high:
        raise Garbage(f"{name!r} in the JSON of iperf3 is not a number of {low:g} to {high:g}: {str(value)[:40]}")
    return float(value)


def stated(text: str) -> Stated:
    """The host of the client, and when it began."""
    try:
        start = _object(_whole(text), "start")
    except Garbage:
        return Stated()
    words = str(start.get("system_info", "")).split()
    stamp = start.get("timestamp")
    seconds = stamp.get("timesecs") if isinstance(stamp, dict) else None
    begin = None
    if isinstance(seconds, int) and not isinstance(seconds, bool) and 0 < seconds < 2**33:
        begin = datetime.fromtimestamp(seconds, UTC)
    return Stated(host=words[1][:255] if len(words) > 1 else "", begin=begin)


def _estimate_s(params: Params, host: Host) -> float:
    return 1.0 + int(params["seconds"])


WORKLOAD = TABLE.workload(
    title="iperf3: TCP and UDP between two hosts",
    network=True,
    command=_command,
    parse=parse,
    stated=stated,
    resolve=_resolve,
    marks=("server",),
    estimate_s=_estimate_s,
)
