"""The form of a manual test on a terminal: the steps, then one question a field, asked again until the answer fits."""

from __future__ import annotations

import sys

from ..errors import BadInput
from ..units import whole_number
from . import forms
from .plan import FieldEntry, ManualTest


def ask(
    test: ManualTest, given: dict[str, str], files: list[str], *, subject: str, by: str, witness: str
) -> tuple[str, str, str]:
    """Fill in ``given`` and ``files`` with what was not said on the command line; return subject, by and witness.

    Talks on standard error, so that standard output stays for data. Raises EOFError where the terminal closes.
    """
    _say(f"{test.title or test.id}" + (f" (by {test.by})" if test.by else ""))
    for number, step in enumerate(test.steps, 1):
        _say(f"  {number}. {step}")
    if test.note:
        _say(f"  Note: {test.note}")
    if test.subjects and not subject:
        subject = _choice("Done with", test.subjects)
    for field in test.fields:
        if field.name not in given:
            text = _field(field)
            if text:
                given[field.name] = text
    named = {word.partition("=")[0] for word in files}
    for one in test.attachments:
        if one.name not in named:
            path = _line(f"{one.title} (a file{'' if one.required else '; empty: none'})", required=one.required)
            if path:
                files.append(f"{one.name}={path}")
    by = by or _line("Your name", required=True)
    asked = f"Witness ({test.witness})" if test.witness else "Witness (empty: none)"
    return subject, by, witness or _line(asked, required=bool(test.witness))


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _line(question: str, *, required: bool) -> str:
    while True:
        print(f"{question}: ", file=sys.stderr, end="", flush=True)
        line = sys.stdin.readline()
        if not line:
            raise BadInput("the terminal was closed", hint="give the answers with --set FIELD=VALUE --by NAME")
        if line.strip() or not required:
            return line.strip()


def _choice(question: str, choices: tuple[str, ...]) -> str:
    """One of several, by its number or its word."""
    for number, word in enumerate(choices, 1):
        _say(f"    {number}  {word}")
    while True:
        answer = _line(question, required=True)
        if answer in choices:
            return answer
        if (place := whole_number(answer, 1, len(choices))) is not None:
            return choices[place - 1]
        _say(f"  a number from 1 to {len(choices)}")


def _field(field: FieldEntry) -> str:
    if field.type == "choice" and field.required:
        return _choice(field.title, field.choices)
    hint = {"yes-no": " (yes or no)", "time": " (2026-11-20T15:45+01:00)"}.get(field.type, "")
    hint += f" [{field.unit}]" if field.unit and field.unit != "1" else ""
    while True:
        text = _line(f"{field.title}{hint}", required=field.required)
        if not text:
            return ""
        try:
            forms.answer(field, text)
        except BadInput as error:
            _say(f"  {error.what}: {error.hint}")
        else:
            return text
