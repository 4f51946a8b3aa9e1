"""The report of an acceptance in its formats, written beside its evidence and sealed like it.

The content is one JSON record; its hash stands in every format, since no file can hold its own. The same directory gives
the same bytes: no clock is read.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec

from ..errors import unknown
from ..files import atomic
from . import directory, evaluating, page, sealing
from .directory import Acceptance
from .journal import Reported
from .results import Result

FORMATS = ("html", "pdf", "md", "json")


def content(result: Result) -> bytes:
    """The report's content: what its hash is of, and the JSON format."""
    return msgspec.json.format(msgspec.json.encode(result), indent=1) + b"\n"


def render(result: Result, name: str) -> bytes:
    """The report in one format. Raises BadInput for a format that there is not."""
    data = content(result)
    sha256 = hashlib.sha256(data).hexdigest()
    if name == "json":
        return data
    if name == "pdf":
        from . import pdf

        return pdf.render(result, sha256)
    document = page.document(result, sha256)
    if name == "html":
        from ..report.formats import html

        return html.render_document(document).encode()
    if name == "md":
        from ..report.formats import markdown

        return markdown.render_document(document).encode()
    raise unknown("report format", name, FORMATS)


def write(acceptance: Acceptance, formats: Iterable[str]) -> tuple[Result, list[Path]]:
    """Judge everything anew and write the report; its files are sealed in the journal. Raises BadInput, StoreFailed."""
    asked = list(dict.fromkeys(formats))
    for name in asked:
        if name not in FORMATS:
            raise unknown("report format", name, FORMATS)
    result = evaluating.evaluate(acceptance)
    pages = {name: render(result, name) for name in asked}
    folder = acceptance.path / sealing.REPORTS
    paths = []
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise atomic.failed(error, folder, "create the folder of the report") from None
    for name, data in pages.items():
        paths.append(folder / f"report.{name}")
        atomic.write(paths[-1], data)
    sha256 = hashlib.sha256(content(result)).hexdigest()
    with directory.writing(acceptance.path) as (_, book):
        book.append(Reported(files=sealing.seal(acceptance.path, paths), content_sha256=sha256), time.time_ns())
    return result, paths
