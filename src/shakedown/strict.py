"""Reading TOML and JSON strictly: what is wrong is named with its place, and a misspelt key with the nearest right one.

What a text can cost is bounded here, for all readers: its size, how deep it nests, how many parts a key has, how many
digits a number. A number is finite and fits 64 bits; a name that becomes a part of a path is one part of it.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

import msgspec

from .errors import UNREADABLE as UNREADABLE
from .errors import BadInput, unknown

_T = TypeVar("_T", bound=msgspec.Struct)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
#: Keys of tables and, from 0, places in lists.
_Path = tuple[str | int, ...]
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")

#: Numbers of files and what they may be: ``convert`` names the one that is not, with its place. None may be NaN or infinite.
Positive = Annotated[float, msgspec.Meta(gt=0)]
NotNegative = Annotated[float, msgspec.Meta(ge=0)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Count = Annotated[int, msgspec.Meta(ge=1)]
CountOrNone = Annotated[int, msgspec.Meta(ge=0)]
_BOUNDS = {">=": "at least", ">": "above", "<=": "at most", "<": "below"}


def read_text(
    path: Path, *, hint: str = "give the path of a file that can be read", most_bytes: int | None = None
) -> str:
    """The text of a user's file. Raises BadInput where it cannot be read, has more than ``most_bytes``, or is not UTF-8."""
    try:
        if most_bytes is not None and (size := path.stat().st_size) > most_bytes:
            what = f"has {size:,} bytes, and at most {most_bytes:,} are read"
            raise BadInput(what, where=str(path), hint="cut a part out, or split the file")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", where=str(path), hint=hint) from None
    except UnicodeDecodeError as error:
        raise BadInput(f"is not UTF-8: {error.reason}", where=str(path), hint="save the file as UTF-8") from None


#: What a TOML text may be: the largest files of ours (plans, published systems) are a hundredth of that.
MOST_TOML_BYTES = 8 * 2**20
#: How deep tables and lists may nest, and how many parts a dotted key may have.
MOST_DEPTH = 64
_LONG_KEY = re.compile(rf"(?<![\w.-])[\w-]++(?:[ \t]*+\.[ \t]*+[\w-]++){{{MOST_DEPTH}}}")
_LARGEST = 2**63


def read_toml(text: str, file: str) -> dict[str, Any]:
    """The tables of a TOML text. Raises BadInput with the line, or the place of a number that is out of range."""

    if len(text) > MOST_TOML_BYTES:
        raise BadInput(
            f"has {len(text):,} characters, and at most {MOST_TOML_BYTES:,} are read", where=file, hint="split the file"
        )
    if found := _LONG_KEY.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise BadInput(f"has a name of more than {MOST_DEPTH} parts (at line {line})", where=file, hint="fix that line")
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"is not TOML: {error}", where=file, hint="fix that line") from None
    except RecursionError:
        raise _too_deep(file) from None
    except ValueError as error:  # a number of thousands of digits
        raise BadInput(f"is not TOML: {error}", where=file, hint="write a number that can be one") from None
    check_numbers(tables, file)
    return tables


def _too_deep(file: str) -> BadInput:
    return BadInput(f"nests deeper than {MOST_DEPTH} levels", where=file, hint="no file read here is nested so deeply")


def check_numbers(value: object, file: str, to: type[msgspec.Struct] = msgspec.Struct) -> None:
    """Raises BadInput where a number is NaN, infinite or a whole one beyond 64 bits, or where tables and lists nest too
    deep. ``to`` names the places of what will become one."""
    waiting: list[tuple[object, _Path]] = [(value, ())]
    while waiting:
        one, path = waiting.pop()
        if len(path) > MOST_DEPTH:
            raise _too_deep(file)
        if isinstance(one, Mapping):
            waiting += [(held, (*path, str(key))) for key, held in reversed(list(one.items()))]
        elif isinstance(one, list | tuple):
            waiting += [(held, (*path, index)) for index, held in reversed(list(enumerate(one)))]
        elif wrong := _no_entry(one):
            where, _ = _resolve(value, to, path)
            raise BadInput(wrong, where=f"{file}: {where}", hint=_FITTING)


_FITTING = "give a finite one, a whole one between -2^63 and 2^63"


def _no_entry(value: object) -> str:
    """A number that no entry can have, in words; empty for everything else."""
    if isinstance(value, float) and not math.isfinite(value):
        return f"{value} is not a number that an entry can have"
    return "a whole number is beyond 64 bits" if isinstance(value, int) and not -_LARGEST <= value < _LARGEST else ""


def convert(raw: object, to: type[_T], file: str, *, hint: str) -> _T:
    """``raw`` as a struct. Raises BadInput that says which entry of ``file`` is wrong and names the nearest right key."""
    try:
        check_numbers(raw, file, to)
        return msgspec.convert(raw, to)
    except msgspec.ValidationError as error:
        what, _, path = str(error).partition(" - at `$")
        where, keys = _resolve(raw, to, _path(path))
        place = f"{file}: {where}" if where else file
        if found := re.fullmatch(r"Object contains unknown field `(.*)`", what):
            raise unknown("key", found[1], keys, where=place) from None
        if found := re.fullmatch(r"Object missing required field `(.*)`", what):
            what = f"the key {found[1]!r} is missing"
        elif (found := re.fullmatch(r"Invalid enum value '(.*)'", what)) and (words := _words(to, path)):
            raise unknown("word", found[1], words, where=place) from None
        elif found := re.fullmatch(r"Expected `(?:int|float)` (>=|>|<=|<) (\S+)", what):
            held = _held(raw, _path(path))
            what = f"{held!r} is not {_BOUNDS[found[1]]} {float(found[2]):g}"
        raise BadInput(in_words(what), where=place, hint=hint) from None
    except RecursionError:
        raise _too_deep(file) from None


def in_words(what: str) -> str:
    """msgspec's message, where a name is no part of a path, as a sentence."""
    return _NO_PART.sub("a name that is not one part of a path (no /, no control characters, not . or ..)", what)


_NO_PART = re.compile(r"Expected `str` (?:matching regex '.*'|of length [<>]= \d+)")


def finite(value: float, what: str, where: str, *, least: float = -math.inf) -> float:
    """A number that a user gave outside a file, if it is finite and not below ``least``. Raises BadInput."""
    if not math.isfinite(value) or value < least:
        above = "a number" if least == -math.inf else f"a number from {least:g} on"
        raise BadInput(f"{what} = {value:g}", where=where, hint=f"give {above}")
    return value


def _path(text: str) -> _Path:
    """The place that msgspec writes as ``$.runs[2].params``."""
    return tuple(name or int(index) for name, index in _STEP.findall(text))


def _held(raw: Any, path: _Path) -> Any:
    """What stands at a place."""
    for step in path:
        if isinstance(step, str) and isinstance(raw, dict):
            raw = raw.get(step)
        elif isinstance(step, int) and isinstance(raw, list | tuple) and step < len(raw):
            raw = raw[step]
    return raw


def _resolve(raw: Any, struct: type[msgspec.Struct], path: _Path) -> tuple[str, list[str]]:
    """Where a place is, in words (``run 3 "stream", params``), and the keys that are known there."""
    words: list[str] = []
    known = [field.encode_name for field in msgspec.structs.fields(struct)]
    for step in path:
        if isinstance(step, str):
            words.append(step)
            raw = raw.get(step) if isinstance(raw, dict) else None
            held = next((field.type for field in msgspec.structs.fields(struct) if field.encode_name == step), None)
            kind = next((one for one in (held, *get_args(held)) if _is_struct(one)), None)
            if kind is not None:
                struct = kind
                known = [field.encode_name for field in msgspec.structs.fields(struct)]
        else:
            raw = raw[step] if isinstance(raw, list) and step < len(raw) else None
            label = next(
                (raw[key] for key in ("where", "name", "workload", "metric") if isinstance(raw, dict) and key in raw),
                None,
            )
            words.append(f"{words.pop() if words else 'entry'} {step + 1}" + (f' "{label}"' if label else ""))
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


def to_toml(value: object) -> str:
    """A value of JSON's kinds as TOML, in one line. A text is a basic string: JSON's escapes are among its own, but for
    DEL."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return msgspec.json.encode(value).decode().replace("\x7f", "\\u007F")
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{toml_key(name)} = {to_toml(one)}" for name, one in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(to_toml, value)) + "]"
    raise TypeError(f"TOML has no {type(value).__name__}")


def toml_key(key: str) -> str:
    """A key as TOML, in quotes where it needs them."""
    return key if _BARE_KEY.fullmatch(key) else to_toml(key)
