"""health.toml: what should be there, by host.

schema = 1
[[hosts]]
match = ["thufirg-*", "gpu[01-16]"]     # "*" where it is left out; all that match apply, a later one over an earlier
skip = ["processes"]                    # checks that are not made
[hosts.drain]
confirm = "2/3"                         # drains on two critical of three calls
[hosts.gpus]                            # one table a check; its keys are the check's own (shakedown health list)
count = 4
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from ...errors import BadInput, unknown
from ...records import Record
from ...units import whole_number

#: Where a plan is looked for unless one is named.
PLACES = ("/etc/shakedown/health.toml",)
#: A name of a host has at most 253 characters, and fnmatch takes time with the square of a pattern's length.
_LONGEST_PATTERN = 1000
_OWN = ("match", "skip", "drain")


class Rules(Record, frozen=True, kw_only=True):
    """When a node is drained: ``confirm`` k/n, critical in k of the last n calls."""

    confirm: str = "2/3"
    unknown: bool = False  # whether what could not be looked at counts like what is critical
    ignore: tuple[str, ...] = ()  # checks that never drain

    @property
    def counts(self) -> tuple[int, int]:
        """k and n. Raises BadInput."""
        k, n = (whole_number(word, 1, 100) for word in self.confirm.partition("/")[::2])
        if k is None or n is None or k > n:
            raise BadInput(
                f"{self.confirm[:40]!r} is not of the form k/n",
                where="drain, confirm",
                hint="as in 2/3, with n at most 100",
            )
        return k, n


class HealthPlan(Record, frozen=True, kw_only=True):
    """What applies to one host."""

    file: str = ""  # empty: there is none, and checks judge only what needs no plan
    sections: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict)
    skip: tuple[str, ...] = ()
    drain: Rules = Rules()
    matched: tuple[str, ...] = ()  # the patterns that applied


def matches(pattern: str, host: str) -> bool:
    """Whether a host's name, full or up to its first dot, is meant: ``*`` and ``?`` as in a shell, else a folded list."""
    names = {host, host.partition(".")[0]}
    if any(sign in pattern for sign in "*?"):
        from fnmatch import fnmatchcase

        return any(fnmatchcase(name, pattern) for name in names)
    if "[" in pattern or "," in pattern:
        from ...hosts.hostlist import expand

        return not names.isdisjoint(expand(pattern))
    return pattern in names


def parse(text: str, file: str, host: str, known: Iterable[str]) -> HealthPlan:
    """What a plan says of one host. Raises BadInput for what is wrong anywhere in it, for whichever host."""
    from ... import strict

    raw = strict.read_toml(text, file)
    if raw.get("schema") != 1:
        raise BadInput("the key 'schema' must be 1", where=file, hint="begin the file with: schema = 1")
    for key in raw:
        if key not in ("schema", "hosts"):
            raise unknown("key", key, ("schema", "hosts"), where=file)
    tables = raw.get("hosts", [])
    if not isinstance(tables, list) or not all(isinstance(one, dict) for one in tables):
        raise BadInput("'hosts' must be tables", where=file, hint="write [[hosts]], and [hosts.CHECK] below it")
    names = set(known)
    sections: dict[str, dict[str, Any]] = {}
    skip: dict[str, None] = {}
    drain: dict[str, Any] = {}
    matched: list[str] = []
    for number, table in enumerate(tables, 1):
        where = f"{file}: hosts {number}"
        patterns, skipped = _check(table, names, where)
        found = [one for one in patterns if matches(one, host)]
        if not found:
            continue
        matched += found
        skip |= dict.fromkeys(skipped)
        drain |= table.get("drain", {})
        for name, section in table.items():
            if name not in _OWN:
                sections[name] = {**sections.get(name, {}), **section}
    rules = strict.convert(drain, Rules, f"{file}: drain", hint="see docs/health.md")
    _ = rules.counts
    return HealthPlan(file=file, sections=sections, skip=tuple(skip), drain=rules, matched=tuple(matched))


def _check(table: Mapping[str, Any], names: set[str], where: str) -> tuple[list[str], list[str]]:
    """The patterns and the skipped checks of one table. Raises BadInput."""
    lists: list[list[str]] = []
    for key, default in (("match", ["*"]), ("skip", [])):
        value = table.get(key, default)
        value = [value] if isinstance(value, str) else value
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise BadInput(f"{key!r} must be a list of texts", where=where, hint='as in match = ["node*"]')
        lists.append(value)
    if long := [one for one in lists[0] if len(one) > _LONGEST_PATTERN and any(sign in one for sign in "*?")]:
        raise BadInput(
            f"the pattern {long[0][:40]!r}... has {len(long[0])} characters", where=where, hint="use several"
        )
    for name in lists[1]:
        if name not in names:
            raise unknown("check", name, names, where=f"{where}, skip")
    for name, section in table.items():
        if name in _OWN and name != "drain":
            continue
        if name != "drain" and name not in names:
            raise unknown("key", name, {*names, *_OWN}, where=where)
        if not isinstance(section, dict):
            raise BadInput(f"{name!r} must be a table", where=where, hint=f"write [hosts.{name}]")
    return lists[0], lists[1]


def write(sections: Mapping[str, Mapping[str, Any]], patterns: Iterable[str], heading: str) -> str:
    """A plan as text: what ``learn`` gives out."""
    from ...strict import to_toml, toml_key

    lines = [*(f"# {line}" for line in heading.splitlines()), "schema = 1", "", "[[hosts]]"]
    lines.append(f"match = {to_toml(list(patterns))}")
    for name, section in sections.items():
        if not section:
            continue
        lines += ["", f"[hosts.{toml_key(name)}]"]
        lines += [f"{toml_key(key)} = {to_toml(value)}" for key, value in section.items() if not _tables(value)]
        for key, value in section.items():
            for one in value if _tables(value) else ():
                lines += ["", f"[[hosts.{toml_key(name)}.{toml_key(key)}]]"]
                lines += [f"{toml_key(inner)} = {to_toml(held)}" for inner, held in one.items()]
    return "\n".join(lines) + "\n"


def _tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)
