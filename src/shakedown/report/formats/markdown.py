"""Markdown: the Document as GitHub-flavoured markdown, with its figures as SVG files beside it."""

from __future__ import annotations

import re

from ...document.model import Alert, Bars, Block, Document, Facts, Figures, Logs, Section, Table, Text
from ...document.text import without_controls
from ...records import Analysis
from ...units import show
from .. import ReportFormat
from .._sections import document

_SPECIAL = re.compile(r"([\\`*_\[\]<>|~#])")


def _plain(text: str) -> str:
    """Text from outside, with nothing in it that markdown or HTML would take for markup; on one line."""
    one_line = " ".join(text.split())
    return _SPECIAL.sub(r"\\\1", one_line.replace("&", "&amp;")).replace("\\<", "&lt;").replace("\\>", "&gt;")


def _code(text: str) -> str:
    """A span of code; a backtick or a bar within it would end it or the cell."""
    words = " ".join(text.split())
    return f"`{words}`" if words and "`" not in words and "|" not in words else _plain(words)


def _table(table: Table) -> list[str]:
    lines = [f"### {_plain(table.title)}", ""]
    if table.caption:
        lines += [_plain(table.caption), ""]
    if table.rows:
        lines.append("| " + " | ".join(_plain(column.title) for column in table.columns) + " |")
        lines.append("|" + "|".join("--:" if column.kind == "number" else "---" for column in table.columns) + "|")
    for row in table.rows:
        cells = (
            _code(cell) if column.kind == "code" else _plain(cell.replace("\n", "; "))
            for column, cell in zip(table.columns, row, strict=True)
        )
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", *(f"{number}. {_plain(note)}" for number, note in enumerate(table.notes, 1))]
    return lines


def _bars(bars: Bars) -> list[str]:
    lines = [f"### {_plain(bars.title)}", ""]
    if bars.caption:
        lines += [_plain(bars.caption), ""]
    for bar in bars.bars:
        shares = "".join(f"; {show(fraction, '%')} {_plain(words)}" for words, fraction in bar.fractions)
        detail = f" ({_plain(bar.detail)})" if bar.detail else ""
        interval = f" {_plain(bar.interval)}" if bar.interval else ""
        lines.append(f"- {_plain(bar.title)}: **{_plain(bar.value)}**{interval}{detail}{shares}")
    return lines


def _logs(logs: Logs) -> list[str]:
    lines = [f"### {_plain(logs.title)}"]
    for log in logs.logs:
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", log.text)), default=0))
        lines += ["", f"{_plain(log.title)}: {log.state}", "", fence, log.text, fence]
    return lines


def _block(block: Block, pictures: list[str]) -> list[str]:
    match block:
        case Text():
            return [_plain(block.text)]
        case Alert():
            return [f"> **{_plain(block.text)}**"]
        case Facts():
            head = [f"### {_plain(block.title)}", ""] if block.title else []
            return head + [f"- {_plain(name)}: {_plain(value)}" for name, value in block.pairs]
        case Table():
            return _table(block)
        case Bars():
            return _bars(block)
        case Logs():
            return _logs(block)
        case Figures():
            lines = []
            for figure in block.figures:
                lines += [
                    f"![{_plain(figure.title)}. {_plain(figure.summary)}]({pictures.pop(0)})",
                    "",
                    *([_plain(figure.caption), ""] if figure.caption else []),
                ]
            return lines[:-1] if lines else lines
    raise TypeError(f"markdown has no form for a {type(block).__name__}")


def picture_names(section: Section) -> list[str]:
    """The paths of the section's figures, relative to the report."""
    number = sum(len(block.figures) for block in section.blocks if isinstance(block, Figures))
    return [f"figures/{section.id}-{index}.svg" for index in range(1, number + 1)]


def render(analysis: Analysis) -> str:
    """The whole report as markdown."""
    return render_document(document(analysis))


def render_document(page: Document) -> str:
    """A Document as markdown."""
    counts = ", ".join(f"{number} {state}" for state, number in page.counts)
    lines = [
        f"# {_plain(page.title)}",
        "",
        _plain(page.subtitle),
        "",
        f"**{page.state.capitalize()}**{f' ({counts})' if counts else ''}. {' '.join(map(_plain, page.lead))}",
    ]
    for section in page.sections:
        pictures = picture_names(section)
        lines += ["", f"## {_plain(section.title)}"]
        for block in section.blocks:
            lines += ["", *_block(block, pictures)]
    return without_controls("\n".join([*lines, "", _plain(page.footer), ""]))


def _companions(analysis: Analysis) -> dict[str, str | bytes]:
    from ...document import charts

    files: dict[str, str | bytes] = {}
    for section in document(analysis).sections:
        figures = [figure for block in section.blocks if isinstance(block, Figures) for figure in block.figures]
        for name, figure in zip(picture_names(section), figures, strict=True):
            files[name] = charts.svg(figure, standalone=True)
    return files


REPORT = ReportFormat(name="markdown", suffix="md", render=render, companions=_companions)
