"""ucx_perftest, as a site has it: an adapter for UCX's own benchmark between two hosts or two processes.

A server waits on one host (``ucx_perftest``), this side is the client and names the test. Of its last line are taken the
median time of an operation (50.0 %ile), which stands where a mean is moved by single late operations, and the overall mean;
for tests of bandwidth the overall rate, whose "MB/s" are MiB of 2^20 bytes: the message rate beside it gives the size, and
where the size is known the two must agree. A latency test's time is half a round trip, an overhead the time of one call.

Source: openucx/ucx, contrib and src/tools/perf; outputs of versions 1.13 and later.
"""

from __future__ import annotations

import math
import re

from ..errors import BadInput
from ..launchers import Command
from ..records import Case, Host, Machine, Params, Value
from . import Garbage
from .common.passes import joined
from .common.printed import NUMBER, Span, span
from .common.table import table_of

TABLE = table_of(__file__)

_HEAD = re.compile(
    r"^\|[ |]*\| +(latency|overhead) \(usec\) +\| +bandwidth \(MB/s\) +\| +message rate \(msg/s\)", re.MULTILINE
)
_FINAL = re.compile(r"^(?:Final:|(?P<test>\w{2,30}))? *(?P<numbers>\d[\d.e+ \t]{20,200})$", re.MULTILINE)
_PERCENTILE = re.compile(r"(\d{1,2}\.\d)%ile")
_TEST = re.compile(r"^\| Test: +(\S[^|]{0,60}?) *\|", re.MULTILINE)
_MIB = float(2**20)
_COLUMNS = 8  # iterations, three times, two rates of bytes, two of messages


def _resolve(params: Params, machine: Machine) -> tuple[Params, ...]:
    if not params["server"]:
        raise BadInput(
            "ucx_perftest.server is empty: with which host are messages exchanged?",
            hint="start ucx_perftest there without a host, and name it: server=HOST",
        )
    return (params,)


def _command(params: Params, host: Host) -> Command:
    argv = [str(params["program"]), str(params["server"]), "-t", str(params["test"]), "-s", str(params["size"])]
    argv += ["-n", str(params["iterations"]), "-p", str(params["port"])]
    return Command(argv=(*argv, *str(params["arguments"]).split()))


def parse(text: str, params: Params) -> tuple[Case, ...]:
    """A case for each test in the text. Raises Garbage."""
    heads = list(_HEAD.finditer(text))
    if not heads:
        raise Garbage(
            "this is not output of ucx_perftest: there is no heading '| latency (usec) | bandwidth (MB/s) | ...'"
        )
    cases = []
    for head, after in zip(heads, [*heads[1:], None], strict=True):
        part = text[head.start() : after.start() if after else len(text)]
        names = _TEST.findall(text[: head.start()])
        cases.append(_case(part, head[1], names[-1] if names else "", params))
    return joined(cases)


def _case(part: str, kind: str, name: str, params: Params) -> Case:
    percentile = _PERCENTILE.search(part)
    if percentile is None or percentile[1] != "50.0":
        raise Garbage(
            f"the times of ucx_perftest are not medians: its column is {percentile[0] if percentile else 'not there'}"
        )
    # With stages the rows before the last are on the way; without (-f) there is one for each test.
    staged = re.search(r"^\| +Stage +\|", part, re.MULTILINE)
    finals = [found for found in _FINAL.finditer(part) if not staged or found[0].startswith("Final:")]
    if not finals:
        raise Garbage("ucx_perftest has no last line ('Final: ...'): it is cut, or the other side broke off")
    words = finals[-1]["numbers"].split()
    if len(words) != _COLUMNS or not all(re.fullmatch(NUMBER, word) for word in words) or not part.endswith("\n"):
        raise Garbage(f"the last line of ucx_perftest has not {_COLUMNS} numbers: {finals[-1][0].strip()[:100]!r}")
    told: dict[str, Value] = {"application": "ucx_perftest"}
    test = str(params.get("test", "")) or finals[-1]["test"] or name
    told |= {"test": test} if test else {}
    asked = params.get("size")
    size = _size(words, int(asked) if asked else None)
    told |= {"bytes": size} if size is not None else {}
    median, overall = (float(words[at]) * 1e-6 for at in (1, 3))
    rate, messages = float(words[5]) * _MIB, float(words[7])
    if not overall:
        raise Garbage("ucx_perftest says that an operation took no time")
    if kind == "latency":
        work = {"messages": 1.0, "median_s": median}
        return Case(kernel="latency", params=told, work=work, seconds=(overall,))
    work = {"bytes": messages * size if size is not None else rate, "messages": messages, "median_s": median}
    return Case(kernel="bandwidth", params=told, work=work, seconds=(1.0,))


def _size(words: list[str], asked: int | None) -> int | None:
    """The bytes of a message, as both rates give it; None where their digits leave several. Raises Garbage where the rates
    are not those of the size that was asked for."""
    rate, messages = span(words[5], _MIB), span(words[7])
    if messages.low <= 0:
        return asked
    fits = Span(rate.low / messages.high, rate.high / messages.low)
    if not math.isfinite(fits.high):
        raise Garbage(f"ucx_perftest says {words[5]} MB/s and {words[7]} messages/s, which no network has")
    if asked is not None:
        if not fits.low * (1 - 1e-6) <= asked <= fits.high * (1 + 1e-6):
            raise Garbage(f"ucx_perftest says {words[5]} MB/s and {words[7]} messages/s, which are not of {asked} B")
        return asked
    power = 1 << max(0, int(fits.high).bit_length() - 1) if fits.high < 2**62 else 0
    if power and fits.low <= power <= fits.high:
        return power
    whole = round((fits.low + fits.high) / 2)
    return whole if fits.high - fits.low < 1 and fits.low <= whole <= fits.high else None


def _estimate_s(params: Params, host: Host) -> float:
    return 5.0 + int(params["iterations"]) * (2e-6 + int(params["size"]) / 5e9)


WORKLOAD = TABLE.workload(
    title="ucx_perftest: messages of UCX between two hosts",
    network=True,
    command=_command,
    parse=parse,
    resolve=_resolve,
    marks=("server", "test"),
    estimate_s=_estimate_s,
)
