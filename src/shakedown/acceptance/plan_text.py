"""A plan as TOML text: what ``plan.parse`` reads back as the same plan."""

from __future__ import annotations

import msgspec

from ..strict import to_toml, toml_key
from .plan import AcceptancePlan

#: Keys whose entries are tables of their own, in this order behind the others.
_TABLES = ("limit", "value", "field", "attachment")


def text(plan: AcceptancePlan) -> str:
    """The plan's text, without what says the default."""
    head = {name: getattr(plan, name) for name in ("name", "title", "document", "summary", "signatories")}
    lines = [f"{name} = {to_toml(value)}" for name, value in head.items() if value]
    for requirement in plan.requirements:
        lines += ["", "[[requirement]]", *_lines(requirement)]
    for test in plan.tests:
        lines += ["", "[[test]]", *_lines(test)]
        for field in msgspec.structs.fields(type(test)):
            if field.encode_name in _TABLES:
                for one in getattr(test, field.name):
                    lines += ["", f"[[test.{field.encode_name}]]", *_lines(one)]
    return "\n".join([*lines, ""])


def _lines(entry: msgspec.Struct) -> list[str]:
    """``key = value`` of everything that is not as it is by default. TOML has no null: None is always such a default."""
    found = []
    for field in msgspec.structs.fields(type(entry)):
        value = getattr(entry, field.name)
        default = field.default_factory() if field.default_factory is not msgspec.NODEFAULT else field.default
        if field.encode_name not in _TABLES and value != default:
            plain = msgspec.to_builtins(value)
            plain = {name: one for name, one in plain.items() if one is not None} if isinstance(plain, dict) else plain
            found.append(f"{toml_key(field.encode_name)} = {to_toml(plain)}")
    return found
