"""Pages as files: those that changed are rendered, what is no longer there is removed, and nothing else is touched."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from .. import __version__
from ..document.text import without_controls
from ..errors import UNREADABLE, BadInput
from ..files import atomic
from ..report.formats import html
from .layout import FILTER_FROM, PLACES, Cell, SitePage, SiteTable

if TYPE_CHECKING:
    from markupsafe import Markup

TEMPLATES = Path(__file__).parent / "templates"
#: What says that a folder is a site of ours, and which pages it has.
STATE = "site.json"
#: Summaries of run directories that have none.
CACHE = "cache"
STYLE, SCRIPT, SEARCH = "style.css", "site.js", "search.js"


class SiteState(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``pages``: path -> digest of what it says. ``look``: the digest of all that pages look like."""

    site: str
    look: str = ""
    pages: dict[str, str] = {}


#: The clock of files may lag behind the other one by so much.
_CLOCKS_NS = 2 * 10**9
_NAME = "made by shakedown site"


def prepare(output: Path) -> SiteState:
    """The folder of the site, and what it holds already. Raises BadInput where it holds something else, StoreFailed."""
    if output.exists() and not output.is_dir():
        raise BadInput("is a file", where=str(output), hint="name a folder for the site: -o DIR")
    if not output.exists() or not any(output.iterdir()):
        try:
            output.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise atomic.failed(error, output, "create the folder of the site") from None
        state = SiteState(site=_NAME)
        atomic.write(output / STATE, msgspec.json.encode(state), flush=False)  # from here on it is known as ours
        return state
    try:
        state = msgspec.json.decode((output / STATE).read_bytes(), type=SiteState)
    except (OSError, *UNREADABLE):
        state = SiteState(site="")
    if state.site != _NAME:
        raise BadInput(
            "the folder holds something else: shakedown site did not make it",
            where=str(output),
            hint="name a new folder: -o DIR",
        )
    return state if state.look == look() else SiteState(site=_NAME, pages=dict.fromkeys(state.pages, ""))


@cache
def look() -> str:
    """The digest of everything that decides how a page looks, but for what it says."""
    digest = hashlib.sha256(__version__.encode())
    for folder in (TEMPLATES, html.FOLDER):
        for path in sorted(folder.iterdir()):
            digest.update(path.read_bytes())
    digest.update(Path(__file__).read_bytes())
    return digest.hexdigest()


def digest_of(page: SitePage) -> str:
    return hashlib.sha256(msgspec.json.encode(page)).hexdigest()[:32]


def begin(output: Path, state: SiteState, paths: Iterable[str]) -> None:
    """Leave word that these pages are about to be written: where that is cut short, each is written again next time, and
    none that is no longer wanted is forgotten. Raises StoreFailed."""
    pages = dict.fromkeys(sorted({*state.pages, *paths}), "")
    atomic.write(output / STATE, msgspec.json.encode(SiteState(site=_NAME, pages=pages)), flush=False)


def write_page(output: Path, page: SitePage, known: str) -> tuple[str, str, bool]:
    """The path of a page, its digest, and whether it was written: not where it says what the file there says."""
    digest = digest_of(page)
    file = output / page.path
    if digest == known and file.exists():
        return page.path, digest, False
    file.parent.mkdir(parents=True, exist_ok=True)
    atomic.replace(file, rendered(page), mode=0o644, flush=False)
    return page.path, digest, True


def finish(
    output: Path, state: SiteState, pages: dict[str, str], search: Iterable[tuple[str, str, str]], begun_ns: int
) -> int:
    """Style, script and search, and away with what is no longer a page and with summaries that were of no use since the site
    was begun; returns how many pages were removed. Raises StoreFailed."""
    script = html.script() + (TEMPLATES / SCRIPT).read_text()
    found = msgspec.json.encode(list(search)).decode("utf-8")
    for name, text in (
        (STYLE, html.style() + (TEMPLATES / STYLE).read_text()),
        (SCRIPT, script),
        (SEARCH, f"window.shakedownSearch = {found};\n"),
    ):
        file = output / name
        if not file.exists() or file.read_text("utf-8") != text:
            atomic.write(file, text, flush=False)
    gone = [
        path
        for path in state.pages
        if path not in pages and not Path(path).is_absolute() and ".." not in Path(path).parts
    ]
    for path in gone:
        with contextlib.suppress(OSError):  # a folder that somebody put in its place is not ours to remove
            (output / path).unlink(missing_ok=True)
    for old in (output / CACHE).glob("*.json"):
        with contextlib.suppress(OSError):
            if old.stat().st_mtime_ns < begun_ns - _CLOCKS_NS:
                old.unlink()
    kept = SiteState(site=_NAME, look=look(), pages=dict(sorted(pages.items())))
    atomic.write(output / STATE, msgspec.json.format(msgspec.json.encode(kept), indent=1), flush=False)
    return len(gone)


# -------------------------------------------------------------------------------------------------------------- rendering


def rendered(page: SitePage) -> str:
    """A page as HTML."""
    up = "../" * page.path.count("/")
    environment = html.environment(TEMPLATES)
    environment.tests["folds"] = lambda block: getattr(block, "folded", False)
    template = environment.get_template("site.html.j2")
    return without_controls(
        template.render(
            page=page, up=up, places=PLACES, body=_body, filtered=lambda table: len(table.rows) >= FILTER_FROM
        )
    )


def _body(table: SiteTable, up: str) -> Markup:
    """The rows of a table. In Python and not in the template, where it takes five times as long."""
    from markupsafe import Markup

    rows = []
    for at, row in enumerate(table.rows):
        anchor = f' id="{escape(table.ids[at])}"' if table.ids else ""
        cells = [
            _cell(cell, column, up, first=not place)
            for place, (cell, column) in enumerate(zip(row, table.columns, strict=True))
        ]
        rows.append(f"<tr{anchor}>{''.join(cells)}</tr>")
    return Markup("\n".join(rows))


def _cell(cell: Cell, column: tuple[str, str], up: str, *, first: bool) -> str:
    title, kind = column
    key = "" if cell.key is None else f' data-key="{cell.key:.13g}"'
    inner = cell.drawing + _words(cell, kind, up)
    if cell.small:
        inner += f"<small>{escape(cell.small)}</small>"
    if first:
        return f'<th scope="row" class="{kind}"{key}>{inner}</th>'
    return f'<td class="{kind}" data-of="{escape(title)}"{key}>{inner}</td>'


def _words(cell: Cell, kind: str, up: str) -> str:
    text = escape(cell.text)
    if not text:
        return ""
    if kind == "state":
        tone, sign = html.tone(cell.text), html.sign(cell.text)
        mark = f'<span aria-hidden="true">{sign}</span> ' if sign else ""
        return f'<span class="chip {tone}">{mark}{text}</span>'
    if kind == "code":
        return f"<code>{text}</code>"
    if cell.link or cell.away:
        return f'<a href="{escape(up + cell.link if cell.link else cell.away)}">{text}</a>'
    return f'<span class="{escape(cell.tone)}">{text}</span>' if cell.tone else text
