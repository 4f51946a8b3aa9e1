"""Reading TOML and JSON strictly: what is wrong is named with its place, and a misspelt key with the nearest right one."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin

import msgspec

from .errors import BadInput, unknown

_T = TypeVar("_T", bound=msgspec.Struct)


def read_text(path: Path, *, hint: str = "give the path of a file that can be read") -> str:
    """The text of a user's file. Raises BadInput where it cannot be read or is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", where=str(path), hint=hint) from None
    except UnicodeDecodeError as error:
        raise BadInput(f"is not UTF-8: {error.reason}", where=str(path), hint="save the file as UTF-8") from None


def read_toml(text: str, file: str) -> dict[str, Any]:
    """The tables of a TOML text. Raises BadInput with the line."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"is not TOML: {error}", where=file, hint="mend that line") from None


def convert(raw: object, to: type[_T], file: str, *, hint: str) -> _T:
    """``raw`` as a struct. Raises BadInput that says which entry of ``file`` is wrong and names the nearest right key."""
    try:
        return msgspec.convert(raw, to)
    except msgspec.ValidationError as error:
        what, _, path = str(error).partition(" - at `$")
        where, keys = _resolve(raw, to, path.rstrip("`"))
        place = f"{file}: {where}" if where else file
        if found := re.fullmatch(r"Object contains unknown field `(.*)`", what):
            raise unknown("key", found[1], keys, where=place) from None
        if found := re.fullmatch(r"Object missing required field `(.*)`", what):
            what = f"the key {found[1]!r} is missing"
        elif (found := re.fullmatch(r"Invalid enum value '(.*)'", what)) and (words := _words(to, path)):
            raise unknown("word", found[1], words, where=place) from None
        raise BadInput(what, where=place, hint=hint) from None


def _resolve(raw: Any, struct: type[msgspec.Struct], path: str) -> tuple[str, list[str]]:
    """Where msgspec's ``path`` leads, in words (``run 3 "stream", params``), and the keys that are known there."""
    words: list[str] = []
    known = [field.encode_name for field in msgspec.structs.fields(struct)]
    for name, index in re.findall(r"\.(\w+)|\[(\d+|\.\.\.)\]", path):
        if name:
            words.append(name)
            raw = raw.get(name) if isinstance(raw, dict) else None
            held = next((field.type for field in msgspec.structs.fields(struct) if field.encode_name == name), None)
            kind = next((one for one in (held, *get_args(held)) if _is_struct(one)), None)
            if kind is not None:
                struct = kind
                known = [field.encode_name for field in msgspec.structs.fields(struct)]
        elif index.isdigit():
            raw = raw[int(index)] if isinstance(raw, list) and int(index) < len(raw) else None
            label = next(
                (raw[key] for key in ("where", "name", "workload", "metric") if isinstance(raw, dict) and key in raw),
                None,
            )
            words[-1] += f" {int(index) + 1}" + (f' "{label}"' if label else "")
    return ", ".join(words), known


def _words(struct: object, path: str) -> list[str]:
    """The words that may stand at msgspec's ``path``, where it is one of some; else none."""
    kinds: list[object] = [struct]
    for name in re.findall(r"\.(\w+)", path):
        kinds = [
            field.type
            for kind in _inside(kinds)
            if isinstance(kind, type) and issubclass(kind, msgspec.Struct)
            for field in msgspec.structs.fields(kind)
            if field.encode_name == name
        ]
    return [word for kind in _inside(kinds) if get_origin(kind) is Literal for word in get_args(kind)]


def _inside(kinds: Sequence[object]) -> list[object]:
    """Types, and what they are containers or alternatives of."""
    found: list[object] = []
    for kind in kinds:
        found.append(kind)
        if get_origin(kind) is not Literal:
            found += _inside(get_args(kind))
    return found


def _is_struct(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)
