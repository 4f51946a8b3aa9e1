"""Where the processors' time goes: with ``--processor-time N`` the N files and tests that took most of it, at the end.

User and system time of the worker and of the children that it waited for: it says the same on a busy machine, where seconds
of the clock do not.
"""

from __future__ import annotations

import resource
from collections import defaultdict
from collections.abc import Generator, Iterable

import pytest

_NAME = "processor_time_s"


def used_s() -> float:
    """Processor time of this process and its ended children so far, in seconds."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def lines(times_s: Iterable[tuple[str, float]], most: int) -> list[str]:
    """The table of (test, seconds): all, then the files and the tests that took most, with their share."""
    tests: dict[str, float] = defaultdict(float)
    files: dict[str, float] = defaultdict(float)
    for name, seconds in times_s:
        tests[name] += seconds
        files[name.partition("::")[0]] += seconds
    total = sum(tests.values())
    if total == 0:
        return []
    table = [f"{total:8.1f} s in all, {len(tests)} tests in {len(files)} files"]
    for counted in (files, tests):
        longest = sorted(counted.items(), key=lambda item: -item[1])[:most]
        table += [f"{seconds:8.1f} s {seconds / total:6.1%} {name}" for name, seconds in longest]
    return table


class ProcessorTime:
    """A plugin of pytest; each worker measures its tests, their reports carry it to the one that prints."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.times_s: list[tuple[str, float]] = []

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, None, None]:
        yield from self._measured(item)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, None, None]:
        yield from self._measured(item)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, None, None]:
        yield from self._measured(item)

    def _measured(self, item: pytest.Item) -> Generator[None, None, None]:
        before = used_s()
        try:
            yield
        finally:
            item.user_properties.append((_NAME, used_s() - before))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":  # its report has what was noted in all three
            self.times_s += [
                (report.nodeid, float(str(value))) for name, value in report.user_properties if name == _NAME
            ]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("processor time of tests")
        for line in lines(self.times_s, self.most):
            terminalreporter.write_line(line)
