"""Forms of manual tests: what a person observed, checked against the fields, kept with what was attached.

Pure but for the copying of attachments. What an answer means for the verdict is verdict.py's.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from .. import times
from ..errors import BadInput, nearest
from ..files import atomic
from . import checking
from .plan import FieldEntry, ManualTest

FORM, ATTACHMENTS = "form.json", "attachments"


class Answer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One field as it was filled in; ``value`` is the number in SI units, or in the field's own where it has none."""

    name: str
    text: str
    value: float | None = None


class Form(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A form as it was filled in."""

    test: str
    subject: str = ""
    by: str
    witness: str = ""
    remark: str = ""
    observed_ns: int
    answers: tuple[Answer, ...]
    attachments: dict[str, str] = {}  # name in the plan, or of the file -> file in `attachments`


def subject_of(test: ManualTest, given: str) -> str:
    """The subject that a form is about. Raises BadInput naming those of the plan."""
    if not test.subjects:
        if given:
            raise BadInput(f"test {test.id!r} has no subjects", where="--subject", hint="leave it out")
        return ""
    if given in test.subjects:
        return given
    near = nearest(given, test.subjects) if given else None
    hint = (f"did you mean {near!r}? " if near else "") + f"one of: {', '.join(test.subjects)}"
    raise BadInput(
        f"{given!r} is not one of its subjects" if given else "it is done with several subjects: say which",
        where=f"test {test.id!r}, --subject",
        hint=hint,
    )


def answer(field: FieldEntry, text: str) -> Answer:
    """One answer, checked for its type. Raises BadInput."""
    words = text.strip()

    def refuse(why: str, hint: str) -> BadInput:
        return BadInput(f"{words!r} {why}", where=f"field {field.name!r} ({field.title})", hint=hint)

    if not words:
        raise refuse("is empty", "write what was observed")
    match field.type:
        case "number" | "integer":
            try:
                value = checking.quantity(words, field.unit)
            except BadInput as error:
                raise refuse(f"is not a number: {error.what}", error.hint) from None
            if value != value or abs(value) == float("inf"):
                raise refuse("is not a number", "write it in digits")
            if field.type == "integer" and value != int(value):
                raise refuse("is not a whole number", "write it without a fraction")
            return Answer(name=field.name, text=words, value=value)
        case "yes-no":
            word = {"y": "yes", "n": "no", "true": "yes", "false": "no"}.get(words.lower(), words.lower())
            if word not in ("yes", "no"):
                raise refuse("is neither yes nor no", "answer yes or no")
            return Answer(name=field.name, text=word)
        case "choice":
            if words not in field.choices:
                near = nearest(words, field.choices)
                hint = (f"did you mean {near!r}? " if near else "") + f"one of: {', '.join(field.choices)}"
                raise refuse("is not one of its choices", hint)
        case "time":
            when = times.iso(words)
            if when is None:
                raise refuse("is not a valid time", "ISO 8601 with its zone: 2026-11-20T15:45+01:00")
            if when.tzinfo is None:
                raise refuse("has no zone", "2026-11-20T15:45+01:00, or Z for UTC")
            return Answer(name=field.name, text=when.isoformat(), value=when.timestamp())
    return Answer(name=field.name, text=words)


def answers(test: ManualTest, given: Mapping[str, str]) -> tuple[Answer, ...]:
    """All answers, in the form's order. Raises BadInput for a field that there is not, or that is required and missing."""
    known = [field.name for field in test.fields]
    for name in given:
        if name not in known:
            near = nearest(name, known)
            hint = (f"did you mean {near!r}? " if near else "") + f"fields: {', '.join(known)}"
            raise BadInput(f"there is no field {name!r}", where=f"test {test.id!r}", hint=hint)
    missing = [field for field in test.fields if field.required and not given.get(field.name, "").strip()]
    if missing:
        named = ", ".join(f"{field.name} ({field.title})" for field in missing)
        raise BadInput(
            f"not filled in: {named}",
            where=f"test {test.id!r}",
            hint=" ".join(f"--set {field.name}=..." for field in missing),
        )
    found = tuple(answer(field, given[field.name]) for field in test.fields if given.get(field.name, "").strip())
    _refuse_order(test, found)
    return found


#: How far the clock of who fills in a form may be ahead of ours.
_CLOCKS_S = 300.0


def _refuse_order(test: ManualTest, given: Sequence[Answer]) -> None:
    """Raises BadInput for a time before the one that it must not be before, and for one that is still to come."""
    values = {one.name: one for one in given}
    for field in test.fields:
        mine, first = values.get(field.name), values.get(field.after)
        where = f"test {test.id!r}, field {field.name!r} ({field.title})"
        if field.type == "time" and mine and (mine.value or 0.0) > time.time() + _CLOCKS_S:
            raise BadInput(f"{mine.text} has not come yet", where=where, hint="give the time at which it was")
        if mine and first and mine.value is not None and first.value is not None and mine.value < first.value:
            raise BadInput(
                f"{mine.text} is before {first.text} ({field.after})", where=where, hint="one of both times is wrong"
            )


def refuse_unwatched(test: ManualTest, by: str, witness: str) -> None:
    """Raises BadInput where the plan asks for a witness and none is named, or it is who did it."""
    if not test.witness:
        return
    if not witness.strip():
        raise BadInput(
            f"{test.witness} must watch, and no witness is named", where=f"test {test.id!r}", hint="--witness NAME"
        )
    if witness.strip().casefold() == by.strip().casefold():
        raise BadInput("who did it cannot be its witness", where=f"test {test.id!r}", hint="--witness NAME of another")


def refuse_same(test: ManualTest, given: Sequence[Answer], earlier: Iterable[Mapping[str, str]]) -> None:
    """Raises BadInput where an answer that must differ each time was given before. ``earlier``: answers of the attempts
    with this subject that count."""
    names = [field for field in test.fields if field.distinct]
    mine = {one.name: one.text for one in given}
    if not names:
        return
    for before in earlier:
        if all(before.get(field.name) == mine.get(field.name) for field in names):
            words = ", ".join(f"{field.title}: {mine.get(field.name, '')}" for field in names)
            raise BadInput(
                f"was done already with the same ({words})",
                where=f"test {test.id!r}",
                hint="each time another; to repeat one: --again --by NAME --reason WHY",
            )


def attachments(test: ManualTest, given: Sequence[str]) -> dict[str, Path]:
    """Attachments by their name in the plan; one that the plan does not name goes by its file's name.

    ``given`` is NAME=FILE, or FILE alone. Raises BadInput for a file that is none, or a required one that is missing.
    """
    known = {one.name for one in test.attachments}
    found: dict[str, Path] = {}
    for word in given:
        name, sign, rest = word.partition("=")
        path = Path(rest) if sign and name in known else Path(word)
        label = name if sign and name in known else path.name
        if not path.is_file():
            names = f"; NAME=FILE with one of: {', '.join(sorted(known))}" if known else ""
            raise BadInput("there is no such file", where=str(path), hint=f"--attach FILE{names}")
        number, base = 2, label
        while label in found:
            label, number = f"{base}-{number}", number + 1
        found[label] = path
    missing = [one for one in test.attachments if one.required and one.name not in found]
    if missing:
        raise BadInput(
            f"not attached: {', '.join(f'{one.name} ({one.title})' for one in missing)}",
            where=f"test {test.id!r}",
            hint=" ".join(f"--attach {one.name}=FILE" for one in missing),
        )
    return found


def file_name(label: str, path: Path, taken: set[str]) -> str:
    """What an attachment is called in the evidence: plain characters, and no two alike."""
    stem = re.sub(r"[^A-Za-z0-9._-]+", "_", label if label != path.name else path.stem).strip("._") or "file"
    suffix = re.sub(r"[^A-Za-z0-9.]+", "", path.suffix)
    name, number = f"{stem}{suffix}", 2
    while name in taken:
        name, number = f"{stem}-{number}{suffix}", number + 1
    return name


def write(folder: Path, form: Form, files: Mapping[str, Path]) -> None:
    """The form and copies of what is attached, into an empty folder. Raises StoreFailed."""
    names: dict[str, str] = {}
    try:
        if files:
            (folder / ATTACHMENTS).mkdir()
        for label, path in files.items():
            names[label] = file_name(label, path, set(names.values()))
            shutil.copyfile(path, folder / ATTACHMENTS / names[label])
    except OSError as error:
        raise atomic.failed(error, folder / ATTACHMENTS, "copy what is attached") from None
    atomic.write_record(folder / FORM, msgspec.structs.replace(form, attachments=names))
