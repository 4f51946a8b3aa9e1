"""The table beside a workload, ``NAME.toml``: its metrics and parameters, one line each, the program that takes them, and
transcripts with what must be read from them.

    [program]
    name = "gpu_stream"               our native program; or module = "shakedown.functional_tests.batch", one in Python
    other_options = ["no-verify"]     those that no parameter gives (the contract tests hold both against its --help)
    [every_metric]
    better = "higher"                 what all metrics have alike, where their line says nothing else
    [metrics]
    "gpu_stream.copy.bandwidth" = { title = "...", unit = "B/s", kernel = "copy", per = "bytes/s", source = "..." }
    [params]
    shape = { kind = "word", default = "auto", help = "..." }
    samples = { like = "gpu", default = 5 }     the line of that name in gpu.toml, there or in this folder, and what differs

    [[samples]]                       a real transcript below tests/recordings, and the values that must come out of it
    recording = "gpu/gpu-stream-host.jsonl"
    source = "the host backend on two virtual CPUs"
    expect = { "gpu_stream.copy.bandwidth[index=1]" = 27260087001.2 }

A metric's keys are the fields of `records.Metric`, a parameter's those of `Param`, a sample's those of `Sample`. A table
is read when it is first asked for, strictly: what is wrong in it is named with its file and line.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeVar, overload

import msgspec

from ... import programs, strict
from ...errors import BadInput, unknown
from ...launchers import Command
from ...records import Case, Host, Machine, Metric, Notice, Params
from .. import Param, Parsed, Sample, Stated, Workload
from . import lists

_T = TypeVar("_T", bound=msgspec.Struct)
_Line = dict[str, Any]
_HINT = "docs: CONTRIBUTING.md, 'Add a workload'; workloads/common/table.py says what may stand in a table"


class Program(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What takes a workload's parameters as options: a native program or a module, and its options for use by hand."""

    name: str = ""
    module: str = ""
    other_options: tuple[str, ...] = ()


class _Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table as it is written."""

    program: Program | None = None
    every_metric: _Line = {}
    metrics: dict[str, _Line] = {}
    params: dict[str, _Line] = {}
    samples: tuple[Sample, ...] = ()


class _Contents(msgspec.Struct, frozen=True):
    """A table with what its lines are like, as it is written and as records."""

    source: _Source
    metrics: tuple[Metric, ...]
    params: dict[str, Param]


def table_of(module_file: str) -> Table:
    """The table of a workload: ``table_of(__file__)``."""
    return Table(Path(module_file).with_suffix(".toml"))


class Table:
    """A table that is read when one of its lines is first asked for. Raises BadInput then."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.metrics: Sequence[Metric] = _Deferred(lambda: self.contents.metrics)
        self.params: Mapping[str, Param] = _Params(self)
        self.samples: Sequence[Sample] = _Deferred(lambda: self.contents.source.samples)

    @cached_property
    def contents(self) -> _Contents:
        return _read(self.path)

    @property
    def program(self) -> Program | None:
        return self.contents.source.program

    def selection(self, params: Params, name: str, *, allow_empty: bool = False) -> tuple[str, ...]:
        """The words of a list, each once; "all", and of two "both", are all of them. Raises BadInput for one that is not
        among the parameter's ``items``, and where there is none, unless there may be."""
        known = self.params[name].items
        every = ("all", "both") if len(known) == 2 else ("all",)
        found = lists.words(params[name])
        for word in found:
            if word not in known and word not in every:
                raise unknown(f"word of {self.path.stem}.{name}", word, (*known, *every))
        if not found and not allow_empty:
            raise BadInput(
                f"{self.path.stem}.{name} is empty: it names none", hint=f"known: {', '.join((*known, *every))}"
            )
        return known if set(found) & set(every) - set(known) else found

    def numbers(self, params: Params, name: str, high: int | None = None) -> tuple[int, ...]:
        """The whole numbers of a list, each once, within the parameter's ``low`` and ``high``. Raises BadInput."""
        param = self.params[name]
        most = high or int(param.high or 2**31 - 1)
        return lists.whole(params[name], f"{self.path.stem}.{name}", int(param.low or 0), most, about=param.help)

    def option(self, name: str) -> str:
        """What the program calls a parameter; empty where it takes none of that meaning."""
        given = self.params[name].option
        return name.replace("_", "-") if given is None else given

    def options(self, params: Params, *, omit: Collection[object] = ("",), **instead: object) -> list[str]:
        """The words of a command line: ``--option value`` for each parameter, in the order of the table.

        ``instead`` has values that take the place of those in ``params``; None leaves the option out, as do those of
        ``omit`` where they stand in ``params``. Tuples are lists separated by commas. Flags come last, each an option alone:
        given where it is set, or where it is not if it is called ``no-...``.
        """
        words: list[str] = []
        flags: list[str] = []
        for name, param in self.params.items():
            option, value = self.option(name), instead.get(name, params[name])
            if not option or value is None or (name not in instead and value in omit):
                continue
            if param.kind == "flag":
                flags += [f"--{option}"] if bool(value) is not option.startswith("no-") else []
                continue
            if param.items and name not in instead:
                value = self.selection(params, name, allow_empty=True)
            text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
            # What begins with a dash would be taken for an option of its own.
            words += [f"--{option}={text}"] if text.startswith("-") else [f"--{option}", text]
        return words + flags

    def argv(self, params: Params, *, omit: Collection[object] = ("",), **instead: object) -> tuple[str, ...]:
        """The program with its `options`. Raises Unavailable where a native program was not built."""
        assert self.program is not None, self.path
        name, module = self.program.name, self.program.module
        start = (programs.path(name),) if name else (sys.executable, "-m", module)
        return (*start, *self.options(params, omit=omit, **instead))

    def workload(
        self,
        *,
        title: str,
        estimate_s: Callable[[Params, Host], float],
        command: Callable[[Params, Host], Command] | None = None,
        resolve: Callable[[Params, Machine], tuple[Params, ...]] = lambda params, machine: (params,),
        parse: Callable[[str, Params], Parsed] | None = None,
        notices: Callable[[str, Params], tuple[Notice, ...]] | None = None,
        totals: Callable[[Sequence[Case]], tuple[tuple[Case, ...], tuple[Notice, ...]]] | None = None,
        stated: Callable[[str], Stated] | None = None,
        label: Callable[[Params], str] | None = None,
        marks: tuple[str, ...] | Callable[[Params], tuple[str, ...]] = (),
        network: bool = False,
    ) -> Workload:
        """The `Workload` that this table stands beside, called by the file's name. Without ``command`` the program is
        started with its options as the parameters are."""
        return Workload(
            name=self.path.stem,
            title=title,
            metrics=self.metrics,
            params=self.params,
            samples=self.samples,
            command=command or (lambda params, host: Command(argv=self.argv(params))),
            estimate_s=estimate_s,
            resolve=resolve,
            parse=parse,
            notices=notices,
            totals=totals,
            stated=stated,
            label=label,
            marks=marks,
            network=network,
        )


class _Deferred(Sequence[_T]):
    """What is read when it is first looked at."""

    def __init__(self, read: Callable[[], Sequence[_T]]) -> None:
        self._read = read

    @overload
    def __getitem__(self, index: int) -> _T: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[_T]: ...

    def __getitem__(self, index: int | slice) -> _T | Sequence[_T]:
        return self._read()[index]

    def __len__(self) -> int:
        return len(self._read())


class _Params(Mapping[str, Param]):
    def __init__(self, table: Table) -> None:
        self._table = table

    def __getitem__(self, name: str) -> Param:
        return self._table.contents.params[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._table.contents.params)

    def __len__(self) -> int:
        return len(self._table.contents.params)


#: The tables that are being read, each like the next.
_reading: list[Path] = []


@cache
def _read(path: Path) -> _Contents:
    """A table, each line with what it is like. Raises BadInput, naming the file and the line."""
    if path in _reading:
        raise BadInput("tables are like each other in a circle", where=str(path), hint=_HINT)
    _reading.append(path)
    try:
        return _contents(path)
    finally:
        _reading.pop()


def _contents(path: Path) -> _Contents:
    text = strict.read_text(path, hint="a workload's metrics and parameters stand beside its module")
    given = strict.convert(strict.read_toml(text, str(path)), _Source, str(path), hint=_HINT)

    def record(section: str, name: str, line: _Line, to: type[_T]) -> _T:
        try:
            return strict.convert(line, to, "", hint=_HINT)
        except BadInput as error:
            raise BadInput(
                error.what, where=f"{_place(path, text, section, name)}{error.where}", hint=error.hint
            ) from None

    def whole(section: str, name: str, line: _Line) -> _Line:
        """A line, with that of the same name in the tables that it is like."""
        found: _Line = {}
        likes = line.get("like", [])
        for table in [likes] if isinstance(likes, str) else likes:
            other = next((one for one in _named(path, str(table)) if one.exists()), None)
            lines = getattr(_read(other).source, section) if other else {}
            if other is None or (name and name not in lines):
                what = f"has no line {name!r}" if other else "is not a table of a workload"
                raise BadInput(f"{table}.toml {what}", where=_place(path, text, section, name), hint=_HINT)
            found = _merged(found, lines[name] if name else lines)
        return _merged(found, {key: value for key, value in line.items() if key != "like"})

    every = whole("every_metric", "", given.every_metric)
    # What is wrong in the part that all have is said of it, not of a metric.
    record("every_metric", "", {"name": "", "title": "", "unit": "1", "better": "none", **every}, Metric)
    metrics = {name: _merged(every, whole("metrics", name, line)) for name, line in given.metrics.items()}
    params = {name: whole("params", name, line) for name, line in given.params.items()}
    return _Contents(
        source=msgspec.structs.replace(given, every_metric=every, metrics=metrics, params=params),
        metrics=tuple(record("metrics", name, {"name": name, **line}, Metric) for name, line in metrics.items()),
        params={name: record("params", name, line, Param) for name, line in params.items()},
    )


def _named(path: Path, table: str) -> tuple[Path, ...]:
    """Where a table of that name may lie: beside the one that names it, among the workloads, in this folder."""
    here = Path(__file__).parent
    return tuple(folder / f"{table}.toml" for folder in (path.parent, here.parent, here))


def _merged(every: _Line, line: _Line) -> _Line:
    """A line with what all have; tables within (``only``, ``titles``) are joined, too."""
    both = [
        name for name in every.keys() & line.keys() if isinstance(every[name], dict) and isinstance(line[name], dict)
    ]
    return {**every, **line, **{name: {**every[name], **line[name]} for name in both}}


def _place(path: Path, text: str, section: str, name: str) -> str:
    """The file and the line of an entry, or of its section's head where it has no line of its own."""
    found, within = 0, False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("["):
            within = line.startswith(f"[{section}]")
            found = number if within else found
        elif within and name and re.match(rf"""["']?{re.escape(name)}["']?\s*=""", line):
            found = number
    return f"{path}:{found}"
