"""HTML: the Document as one file that works without a network.

Figures are drawn into the page as SVG, so that it is whole without a script, on paper too. The one script, of a few
lines, shows the words of the mark under the pointer and dims the lines that are not chosen. A content security policy
forbids every request and every script but that one, by its hash: text from outside could not run even if it were not
escaped, which it is.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ...document import charts, heat_map
from ...document.model import TONES, Document, Drawing, Heat
from ...document.text import without_controls
from ...records import Analysis
from ...units import show
from .. import ReportFormat
from .._sections import document

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

FOLDER = Path(__file__).parent / "templates"
_SIGNS = {"good": "✓", "bad": "✗", "doubt": "?", "plain": ""}
_PATHS = {
    "circle": "M10 8a4 4 0 1 1 8 0a4 4 0 1 1-8 0",
    "square": "M10.5 4.5h7v7h-7z",
    "triangle-up": "M14 3.5l4.5 8h-9z",
    "cross": "M12.5 3.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z",
    "triangle-down": "M14 12.5l4.5-8h-9z",
    "triangle-right": "M18.5 8l-8-4.5v9z",
    "triangle-left": "M9.5 8l8-4.5v9z",
    "wedge": "M14 3.5l3 9h-6z",
}


def tone(state: str) -> str:
    """What a word of state means."""
    return TONES.get(state, "plain")


def sign(state: str) -> str:
    """The sign that stands beside a word of state, for those who do not see its colour."""
    return _SIGNS[tone(state)]


def _drawing(figure: charts.Drawn) -> Markup:
    """The figure as SVG; its strings were escaped by vl-convert, the summary is escaped here."""
    from markupsafe import Markup, escape

    text = charts.svg(figure)
    head = Markup('<svg role="img" aria-label="{}" ').format(f"{figure.title}. {figure.summary}")
    return head + Markup(text.removeprefix("<svg ")) if text.startswith("<svg ") else escape(text)


def _swatch(key: charts.Key) -> Markup:
    from markupsafe import Markup

    line = Markup('<svg class="swatch" viewBox="0 0 28 16" aria-hidden="true">{}</svg>')
    if key.look == "area":
        return line.format(Markup('<path d="M4 2h20v12h-20z" fill="{}"/>').format(key.colour))
    if key.look in ("dot", "ring"):
        fill = key.colour if key.look == "dot" else "none"
        mark = Markup('<circle cx="14" cy="8" r="4.5" fill="{}" stroke="{}" stroke-width="2"/>')
        return line.format(mark.format(fill, key.colour))
    if key.look in _PATHS:
        return line.format(
            Markup('<path d="M2 8h24" stroke="{0}" stroke-width="2"/><path d="{1}" fill="{0}"/>').format(
                key.colour, _PATHS[key.look]
            )
        )
    if key.look == "published":
        diamond = Markup('<path d="M14 2.5l5.5 5.5l-5.5 5.5l-5.5-5.5z" fill="none" stroke="{}" stroke-width="2"/>')
        return line.format(diamond.format(key.colour))
    dash = " ".join(map(str, charts.DASHES.get(key.look, charts.ANYWHERE))) if key.look != "derived" else "none"
    return line.format(
        Markup('<path d="M2 8h24" stroke="{0}" stroke-width="2" stroke-dasharray="{1}"/>').format(key.colour, dash)
    )


@cache
def environment(*folders: Path) -> Environment:
    """The templates of pages, those of other ``folders`` first, with the filters that draw and mark."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader([*folders, FOLDER]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "tone": tone,
        "sign": sign,
        "drawing": _drawing,
        "legend": charts.legend,
        "swatch": _swatch,
        "percent": lambda value: show(value, "%"),
        "heat_key": heat_map.key,
        "kind": lambda block: type(block).__name__.lower(),
    }
    made.tests |= {
        "drawn": lambda figure: isinstance(figure, Drawing),
        "heat": lambda figure: isinstance(figure, Heat),
        "wide": heat_map.is_wide,
    }
    return made


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def render(analysis: Analysis) -> str:
    """The whole report as one HTML file."""
    return render_document(document(analysis))


def render_document(page: Document) -> str:
    """A Document as one HTML file."""
    from markupsafe import Markup

    text = (
        environment()
        .get_template("page.html.j2")
        .render(
            page=page,
            script=Markup(script()),
            style=Markup(style()),
            script_hash=_hash(script()),
            contents=[(section.id, section.short or section.title) for section in page.sections],
        )
    )
    return without_controls(text)


def script() -> str:
    """What a page does under the pointer."""
    return (FOLDER / "page.js").read_text()


def style() -> str:
    """How pages look, light, dark and on paper, with the colours of their figures."""
    dark = charts.dark_rules(":is(.drawing, .swatch)") + "\n" + _heat_colours(dark=True)
    text = (FOLDER / "page.css").read_text().replace("/* dark figures */", dark)
    return text.replace("/* heat colours */", _heat_colours())


def _heat_colours(*, dark: bool = False) -> str:
    """The steps of a heat map's key. The dark ones outweigh the others by their selector."""
    scope = ":root .scale" if dark else ".scale"
    return "\n".join(
        f"{scope} i:nth-of-type({step}){{background:{charts.PALETTE[f'heat{step}'][dark]}}}" for step in range(1, 8)
    )


REPORT = ReportFormat(name="html", suffix="html", render=render)
