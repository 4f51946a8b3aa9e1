"""Prometheus: power, energy and temperature that a monitoring server has scraped, live or from its history.

    prometheus://SERVER[:9090]?query=node_hwmon_power_watts{instance="n1:9100"}
    prometheus://SERVER?query=pdu_energy_joules_total&since=15m

Only raw samples are read, by a range vector (``metric[30s]``) at /api/v1/query, with the stamps of the scrapes. A range
query (/api/v1/query_range) re-samples to its step and repeats old values for five minutes; rate() and increase() extrapolate
to the edges of their window: neither is a measurement. The stamp is the scrape's, which is later than the measurement by
whatever the exporter waited: up to the scrape interval, unless ?refresh= says how often the exporter makes a new value.
What an exporter averages, it does not report.

Every series that the selector matches is a channel. A counter that falls has been reset (the exporter restarted): a RESET
stands between. A series without a new sample for three scrapes is STALE.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from ...errors import BadInput
from ...hosts.access import HostAccess
from . import Channel, Meter, Quantity, Reading, Source, Status, Target, secret
from ._http import OPTIONS as HTTP_OPTIONS
from ._http import Http, HttpLost
from ._network import OPTIONS, Bounded, Lost, Polled, choice, connect, limit_s, measured, number, place, switch

PORT = 9090
_LOOK_BACK_S = 300.0
_SCRAPE_S = 15.0  # the usual scrape interval, where a series shows none yet
_QUANTITIES = ("power", "energy", "temperature", "flow", "speed", "ratio")
_UNITS = {"power": "W", "energy": "J", "temperature": "degC", "flow": "m3/s", "speed": "Hz", "ratio": "1"}
#: How names of metrics end -> quantity and factor to SI. The naming rules of Prometheus ask for base units.
_NAMES = (
    (r"joules(_total)?$", "energy", 1.0),
    (r"(kwh|kilowatt_hours|kilowatthours)(_total)?$", "energy", 3.6e6),
    (r"(watt_hours|watthours|_wh)(_total)?$", "energy", 3600.0),
    (r"milliwatts?$", "power", 1e-3),
    (r"microwatts?$", "power", 1e-6),
    (r"(kilowatts?|_kw)$", "power", 1e3),
    (r"watts?$", "power", 1.0),
    (r"celsius$", "temperature", 1.0),
)


class Series(NamedTuple):
    """One series with its raw samples: stamp in Unix nanoseconds, value as it was scraped."""

    labels: dict[str, str]
    samples: list[tuple[int, float]]


def parse_matrix(body: Any) -> list[Series]:
    """The series of an answer to a range vector. Raises Lost where it is something else."""
    try:
        if body["status"] != "success" or body["data"]["resultType"] != "matrix":
            raise Lost(f"no range vector: {str(body)[:120]}", broken=False)
        return [
            Series(
                {str(key): str(value) for key, value in one["metric"].items()},
                [(round(float(stamp) * 1000) * 1_000_000, float(value)) for stamp, value in one["values"]],
            )
            for one in body["data"]["result"]
        ]
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise Lost(f"no answer of Prometheus: {error!r}", broken=False) from None


def duration_s(text: str) -> float:
    """``15m``, ``90s``, ``2h``, ``1d`` or seconds. Raises BadInput."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|w|)", text.strip())
    if found is None:
        raise BadInput(f"{text!r} is not a valid duration", hint="write 15m, 90s or 2h")
    sizes = {"ms": 1e-3, "s": 1.0, "": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
    return float(found[1]) * sizes[found[2]]


def _tls(target: Target) -> bool:
    return switch(target, "tls") or bool(target.options.get("ca")) or switch(target, "insecure")


class _Server:
    """One server and one selector."""

    def __init__(self, target: Target, door: HostAccess) -> None:
        self._selector = target.options.get("query", "")
        if not self._selector:
            raise BadInput("which series?", where=str(target), hint='?query=metric{label="value"}')
        password = secret(target, door)
        tls = _tls(target)
        self._http = Http(target, PORT, tls=tls, auth=(target.user, password) if target.user else None)
        self._headers = {"Authorization": f"Bearer {password}"} if password and not target.user else {}

    def samples(self, span_s: float, limit: float) -> list[Series]:
        """All raw samples of the last ``span_s`` seconds. Raises Lost."""
        query = {
            "query": f"{self._selector}[{max(1, round(span_s * 1000))}ms]",
            "timeout": f"{max(1, round(limit * 1000))}ms",
        }
        try:
            return parse_matrix(self._http.send("/api/v1/query", limit, query=query, headers=self._headers).body)
        except HttpLost as lost:
            if lost.code in (400, 422):
                raise Lost(
                    f"the server takes no range of {self._selector!r}: give the selector of a series, not an expression",
                    Status.UNSUPPORTED,
                    broken=False,
                ) from None
            raise

    def close(self) -> None:
        self._http.close()


def guess(name: str) -> tuple[str, float] | None:
    """Quantity and factor to SI by a metric's name; None where it does not tell."""
    for pattern, quantity, factor in _NAMES:
        if re.search(pattern, name):
            return quantity, factor
    return None


class _Watch:
    """The series of a selector, in the order of the channels."""

    def __init__(self, server: _Server, target: Target, door: HostAccess, limit: float) -> None:
        self.server = server
        self._target = target
        self._door = door
        self._limit = limit
        self._keys: list[tuple[tuple[str, str], ...]] = []
        self.channels: list[Channel] = []
        self._scales: list[float] = []
        self._scrapes_s: list[float] = []  # the usual time between the samples of each
        self._stamps: list[int] = []  # of the last sample of each that was handed out
        self._last: list[Reading | None] = []  # and the last that had a value
        self._fresh: list[float] = []  # when each had its last new sample, by the monotonic clock
        since = target.options.get("since")
        self._span_s = duration_s(since) if since is not None else 0.0

    def discover(self) -> list[Channel]:
        """The series that there are now. Raises Lost where there is none."""
        found = self.server.samples(max(_LOOK_BACK_S, self._span_s), self._limit)
        if not found:
            raise Lost(f"no series matches {self._target.options['query']!r}", broken=False)
        found.sort(key=lambda series: sorted(series.labels.items()))
        differ = {key for series in found for key in series.labels if len({s.labels.get(key) for s in found}) > 1}
        for series in found:
            self._add(series, differ)
        return self.channels

    def _add(self, series: Series, differ: set[str]) -> None:
        name = series.labels.get("__name__", "series")
        told = guess(name)
        kind = choice(self._target, "quantity", _QUANTITIES, told[0] if told else "")
        factor = told[1] if told and told[0] == kind and "scale" not in self._target.options else 1.0
        node = next((key for key in ("node", "hostname", "host", "instance") if series.labels.get(key)), "")
        host = (
            self._target.options.get("host")
            or _without_port(series.labels.get(node, ""))
            or measured(self._target, PORT)
        )
        words = [
            series.labels[key] for key in sorted(differ - {"__name__", node} - {"instance"}) if key in series.labels
        ]
        gaps = sorted(b[0] - a[0] for a, b in zip(series.samples, series.samples[1:], strict=False))
        labels = ",".join(f"{key}={value}" for key, value in sorted(series.labels.items()) if key != "__name__")
        channel = Channel(
            id="/".join(["prometheus", name, *words]),
            title=f"{name}{{{labels}}}",
            quantity=cast(Quantity, kind),
            unit=_UNITS[kind],
            scope="counter" if kind == "energy" else "last",
            place=place(self._target, "node"),
            host=host,
            refresh_s=number(self._target, "refresh", 0.0) or None,
            stamped="scrape",
            note="scraped: the stamp is the scrape's; how old the value was by then, and over what the exporter averages, "
            "is not reported",
        )
        self._keys.append(tuple(sorted(series.labels.items())))
        self.channels.append(channel)
        self._scrapes_s.append(gaps[len(gaps) // 2] / 1e9 if gaps else _SCRAPE_S)
        self._scales.append(number(self._target, "scale", factor, least=-math.inf))
        self._stamps.append(0)
        self._last.append(None)
        self._fresh.append(time.monotonic())

    def ask(self, out: list[Reading]) -> None:
        """What is new since the last time, of every series; at first the latest sample, or all of ?since=."""
        first = not any(self._stamps)
        interval_s = max(self._scrapes_s, default=_SCRAPE_S)
        quiet_s = time.monotonic() - min(self._fresh)
        span_s = self._span_s if first and self._span_s else min(quiet_s + 3 * interval_s + 5.0, 3600.0)
        before = self._door.now_ns()
        found = {tuple(sorted(one.labels.items())): one for one in self.server.samples(span_s, self._limit)}
        after = self._door.now_ns()
        for index, key in enumerate(self._keys):
            series = found.get(key)
            samples = series.samples if series else []
            if not self._stamps[index] and not self._span_s:
                samples = samples[-1:]
            out += self.readings(index, samples, before, after)

    def readings(self, index: int, samples: Sequence[tuple[int, float]], before: int, after: int) -> list[Reading]:
        """The readings of the samples that are new; the last again, or STALE, where none is."""
        last = self._last[index]
        fresh = [one for one in samples if one[0] > self._stamps[index]]
        channel = self.channels[index]
        if not fresh:
            if time.monotonic() - self._fresh[index] > max(3 * self._scrapes_s[index], 1.0):
                return [Reading(index, before, after, None, None, Status.STALE)]
            if last is None:
                return [Reading(index, before, after, None, None, Status.GAP)]
            return [last._replace(before_ns=before, after_ns=after)]
        out: list[Reading] = []
        for one in fresh:
            reading = self._reading(index, one, before, after)
            if channel.scope == "counter" and last is not None and _fell(last.value, reading.value):
                out.append(Reading(index, before, after, one[0], None, Status.RESET))
            out.append(reading)
            last = reading if reading.status == Status.OK else last
        return out

    def taken(self, readings: Sequence[Reading]) -> None:
        """Remember what was handed out."""
        for reading in readings:
            if reading.device_ns is not None and reading.device_ns > self._stamps[reading.channel]:
                self._stamps[reading.channel] = reading.device_ns
                self._fresh[reading.channel] = time.monotonic()
            if reading.status == Status.OK:
                self._last[reading.channel] = reading

    def _reading(self, index: int, sample: tuple[int, float], before: int, after: int) -> Reading:
        stamp, value = sample
        if math.isnan(value):
            return Reading(index, before, after, stamp, None, Status.GAP)
        if math.isinf(value):
            return Reading(index, before, after, stamp, None, Status.OVERRANGE)
        return Reading(index, before, after, stamp, value * self._scales[index])


def _fell(before: float | None, now: float | None) -> bool:
    return before is not None and now is not None and now < before


def _without_port(text: str) -> str:
    return re.sub(r":\d+$", "", text)


def _open(target: Target, door: HostAccess) -> Source:
    limit = limit_s(target, 5.0)
    server = _Server(target, door)
    watch = _Watch(server, target, door, limit)
    thread = Bounded(f"prometheus {target.address}")
    channels = connect(target, thread, watch.discover, server.close, limit)
    return Polled(channels, watch.ask, server.close, door=door, limit=limit, thread=thread, taken=watch.taken)


METER = Meter(
    name="prometheus",
    title="Prometheus: what a monitoring server has scraped",
    address="prometheus://SERVER[:9090]?query=SELECTOR",
    open=_open,
    options={
        **OPTIONS,
        **{key: help for key, help in HTTP_OPTIONS.items() if key != "plain"},
        "tls": "1 speaks HTTPS",
        "query": 'selector of the series: metric{label="value"}',
        "quantity": "what it is, where its name does not show it: " + ", ".join(_QUANTITIES),
        "scale": "what one unit of it is in SI units",
        "refresh": "seconds between two values that the exporter makes; default: the scrape interval at most",
        "since": "begin with all samples of so long ago: 15m",
    },
    poll_s=5.0,
    least_poll_s=0.1,
    exposes=lambda target: not _tls(target),
)
