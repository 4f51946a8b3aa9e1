"""Reading TOML and JSON strictly: what is wrong is named with its place, and a misspelt key with the nearest right one.

What a text can cost is bounded here, for all readers: its size, how deep it nests, how many parts a key has, how many
digits a number. A number is finite and fits 64 bits; a name that becomes a part of a path is one part of it.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

import msgspec

from .errors import BadInput, unknown

_T = TypeVar("_T", bound=msgspec.Struct)

#: Numbers of files and what they may be: ``convert`` names the one that is not, with its place. None may be NaN or infinite.
Positive = Annotated[float, msgspec.Meta(gt=0)]
NotNegative = Annotated[float, msgspec.Meta(ge=0)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Count = Annotated[int, msgspec.Meta(ge=1)]
CountOrNone = Annotated[int, msgspec.Meta(ge=0)]
_BOUNDS = {">=": "at least", ">": "above", "<=": "at most", "<": "below"}


def read_text(path: Path, *, hint: str = "give the path of a file that can be read") -> str:
    """The text of a user's file. Raises BadInput where it cannot be read or is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", where=str(path), hint=hint) from None
    except UnicodeDecodeError as error:
        raise BadInput(f"is not UTF-8: {error.reason}", where=str(path), hint="save the file as UTF-8") from None


#: What a TOML text may be: the largest files of ours (plans, published systems) are a hundredth of that.
MOST_TOML_BYTES = 8 * 2**20
#: How deep tables and lists may nest, and how many parts a dotted key may have.
MOST_DEPTH = 64
#: What JSON that cannot be decoded raises: msgspec's own errors, which are ValueErrors, and depth.
UNREADABLE = (ValueError, RecursionError)
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
    _refuse_not_finite(tables, msgspec.Struct, file)
    return tables


def _too_deep(file: str) -> BadInput:
    return BadInput(f"nests deeper than {MOST_DEPTH} levels", where=file, hint="no file read here is nested so deeply")


def check_numbers(value: object, file: str) -> None:
    """Raises BadInput where a whole number does not fit 64 bits, or where tables and lists nest too deep."""
    waiting: list[tuple[object, str, int]] = [(value, "", 0)]
    while waiting:
        one, path, depth = waiting.pop()
        if depth > MOST_DEPTH:
            raise _too_deep(file)
        if isinstance(one, Mapping):
            waiting += [(held, f"{path}.{key}" if path else str(key), depth + 1) for key, held in one.items()]
        elif isinstance(one, (list, tuple)):
            waiting += [(held, f"{path}[{index + 1}]", depth + 1) for index, held in enumerate(one)]
        elif isinstance(one, int) and not -_LARGEST <= one < _LARGEST:
            raise BadInput(f"{path} is beyond 64 bits", where=file, hint="write a number between -2^63 and 2^63")


def convert(raw: object, to: type[_T], file: str, *, hint: str) -> _T:
    """``raw`` as a struct. Raises BadInput that says which entry of ``file`` is wrong and names the nearest right key."""
    try:
        _refuse_not_finite(raw, to, file)
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
        elif found := re.fullmatch(r"Expected `(?:int|float)` (>=|>|<=|<) (\S+)", what):
            held = _held(raw, path.rstrip("`"))
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


def _refuse_not_finite(raw: object, to: type[msgspec.Struct], file: str) -> None:
    for path, value in _not_finite(raw, "$"):
        where, _ = _resolve(raw, to, path)
        raise BadInput(
            f"{value} is not a number that an entry can have", where=f"{file}: {where}", hint="give a finite one"
        )


def _not_finite(raw: object, path: str) -> Iterator[tuple[str, float]]:
    """Floats that are NaN or infinite, each with its place as msgspec would write it."""
    if isinstance(raw, float) and not math.isfinite(raw):
        yield path, raw
    elif isinstance(raw, dict):
        for key, value in raw.items():
            yield from _not_finite(value, f"{path}.{key}")
    elif isinstance(raw, list | tuple):
        for index, value in enumerate(raw):
            yield from _not_finite(value, f"{path}[{index}]")


def _held(raw: Any, path: str) -> Any:
    """What stands at msgspec's ``path``."""
    for name, index in re.findall(r"\.(\w+)|\[(\d+|\.\.\.)\]", path):
        if name and isinstance(raw, dict):
            raw = raw.get(name)
        elif index.isdigit() and isinstance(raw, list | tuple) and int(index) < len(raw):
            raw = raw[int(index)]
    return raw


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
