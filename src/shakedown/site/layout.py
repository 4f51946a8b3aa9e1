"""What a page of the site is made of: the blocks of a report, tables whose cells lead elsewhere, the grid of nodes.

A page is a record, so that one that did not change is not rendered again. Paths are relative to the site's folder, and every
link is made relative to its page when it is rendered.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

import msgspec

from ..document.model import Block
from ..times import utc_day

#: Rows from which a table is filtered by a field above it (with a script).
FILTER_FROM = 20


class Cell(msgspec.Struct, frozen=True, omit_defaults=True):
    """``link``: a path in the site with its anchor; ``away``: a path outside of it. ``drawing``: SVG of ``document.strips``.
    ``tone`` colours the text. ``key`` is what a column is sorted by, where that is not the text."""

    text: str = ""
    small: str = ""
    link: str = ""
    away: str = ""
    tone: str = ""
    drawing: str = ""
    key: float | None = None


class SiteTable(Block, frozen=True, kw_only=True):
    """``columns``: title, and kind: text, number, state, code or sketch (a drawing of ``document.strips``). ``ids``: the
    anchors of the rows, as many or none."""

    title: str
    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[Cell, ...], ...]
    ids: tuple[str, ...] = ()
    caption: str = ""
    folded: bool = False


class GridCell(msgspec.Struct, frozen=True):
    name: str
    link: str
    state: str
    says: str


class Grid(Block, frozen=True, kw_only=True):
    """One cell a node."""

    cells: tuple[GridCell, ...]
    counts: tuple[tuple[str, int], ...]


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A section of a page."""

    id: str
    title: str
    blocks: tuple[Block, ...]


class SitePage(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    kind: str  # what the page is of: "Node", "Metric"
    title: str
    subtitle: str = ""
    state: str = ""
    lead: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    rows_in: str = ""  # as of a Document


#: The pages that every page leads to: path, title.
PLACES = (
    ("index.html", "Fleet"),
    ("nodes.html", "Nodes"),
    ("metrics.html", "Metrics"),
    ("published.html", "Published systems"),
    ("acceptances.html", "Acceptance and health"),
    ("runs.html", "Runs"),
    ("notes.html", "Notes"),
)


def signed(share: float) -> str:
    """A share that something is more or less, in percent with its sign."""
    words = f"{100 * share:+.1f}"
    return f"{'0.0' if float(words) == 0 else words.replace('-', MINUS)} %"


def between(times_s: Iterable[float]) -> str:
    """The days of the first and the last of these times: ``2026-11-01 to 2026-11-28``, or the one day."""
    return " to ".join(dict.fromkeys(map(utc_day, times_s)))


MINUS = "\N{MINUS SIGN}"

_PLAIN = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,78}[a-z0-9_-])?")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?")
_OTHER = re.compile(r"[^a-z0-9_-]+")


def slug(name: str) -> str:
    """A name as a part of a path: itself where it is plain, else what of it is, and a hash; the same each time, and two
    names never alike, also where a file system takes upper and lower case for the same."""
    if _PLAIN.fullmatch(name) and not _RESERVED.fullmatch(name) and "--" not in name:
        return name
    short = _OTHER.sub("-", name.lower()).strip("-")[:40].strip("-")
    return f"{short or 'name'}--{_digest(name)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def node_path(name: str) -> str:
    return f"node/{slug(name)}.html"


def metric_path(workload: str, metric: str) -> str:
    return f"metric/{slug(workload)}/{slug(metric)}.html"


def system_path(system: str) -> str:
    return f"published/{slug(system)}.html"


def figure_id(params: str, circumstances: str) -> str:
    """The anchor of a figure on its metric's page and on those of nodes."""
    return f"f{_digest(f'{params} {circumstances}')}"
