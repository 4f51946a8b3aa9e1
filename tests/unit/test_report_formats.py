"""The formats: the same content in each, whatever stands in it, and the same bytes for the same analysis."""

from __future__ import annotations

import csv
import html.parser
import io
import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from shakedown import report
from shakedown.document import charts
from shakedown.document.model import Bars, Block, Document, Facts, Figures, Logs, Section, Table, Text
from shakedown.errors import BadInput, StoreFailed
from shakedown.records import Analysis, Finding, Machine, Metric, Notice, Outcome
from shakedown.report._sections import document
from shakedown.report.formats import html as html_format
from shakedown.units import show
from support import analyses


class Reader(html.parser.HTMLParser):
    """Collects the words of a page, the tags and their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.unclosed: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "br", "img"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.unclosed.append(tag)

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def unescaped(markdown: str) -> str:
    """Markdown with its escapes taken back, as a reader sees it."""
    plain = re.sub(r"\\([\\`*_\[\]<>|~#])", r"\1", markdown)
    plain = re.sub(r"`([^`\n]+)`", r"\1", plain)
    return plain.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def texts_of(page: Document) -> set[str]:
    """Every text that a page must show, as single lines."""
    found: set[str] = {page.title, page.subtitle, page.footer, *page.lead}
    for section in page.sections:
        found.add(section.title)
        for block in section.blocks:
            found |= _texts_of_block(block)
    return {line for text in found for line in text.split("\n") if line.strip()}


def _texts_of_block(block: Block) -> set[str]:
    match block:
        case Text():
            return {block.text}
        case Facts():
            return {block.title} | {word for pair in block.pairs for word in pair}
        case Table():
            return {
                block.title,
                block.caption,
                *block.notes,
                *(one.title for one in block.columns if block.rows),
                *(cell for row in block.rows for cell in row),
            }
        case Bars():
            words = ((bar.title, bar.detail, bar.value, bar.interval) for bar in block.bars)
            return {block.title, *(word for bar in words for word in bar)}
        case Logs():
            return {block.title, *(log.title for log in block.logs), *(log.text for log in block.logs)}
        case Figures():
            return {figure.caption for figure in block.figures} | {figure.title for figure in block.figures}
    raise AssertionError(block)


@pytest.mark.parametrize("make", [analyses.one_machine, lambda: analyses.many_hosts(12), analyses.nothing])
def test_html_and_markdown_say_everything_that_the_document_says(make: object) -> None:
    analysis = make()  # type: ignore[operator]
    page = document(analysis)
    html_text = Reader(html_format.render_document(page)).text
    markdown_text = " ".join(unescaped(report.get("markdown").render(analysis)).split())  # type: ignore[arg-type]
    for text in texts_of(page):
        words = " ".join(text.split())
        assert words in html_text
        assert words in markdown_text


def test_csv_holds_every_finding_in_full_precision() -> None:
    analysis = analyses.one_machine()
    text = report.get("csv").render(analysis)
    assert isinstance(text, str)
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == len(analysis.findings)
    for row, finding in zip(rows, analysis.findings, strict=True):
        assert (row["metric"], row["host"], row["unit"]) == (finding.metric, finding.host, finding.unit)
        assert (float(row["value"]) if row["value"] else None) == finding.value
        assert {name: row[f"param.{name}"] for name in finding.params} == {
            name: str(value) for name, value in finding.params.items()
        }
        for fraction in finding.fractions:
            assert float(row[f"fraction.{fraction.kind}"]) == fraction.fraction


def test_csv_companions_hold_the_rest() -> None:
    analysis = analyses.one_machine()
    files = report.get("csv").companions(analysis)
    tables = {name: list(csv.reader(io.StringIO(str(text)))) for name, text in files.items()}
    lengths = {name.removeprefix("report_").removesuffix(".csv"): len(rows) - 1 for name, rows in tables.items()}
    assert lengths["verdicts"] == len(analysis.verdicts)
    assert lengths["published"] == len(analysis.beside)
    assert lengths["runs"] == len(analysis.outcomes)
    assert lengths["metrics"] == len(analysis.metrics)
    assert set(analysis.summary) <= {row[1] for row in tables["report_notes.csv"]}
    peaks = [row for row in tables["report_machine.csv"] if row[1] == "peak"]
    assert [float(row[3]) for row in peaks] == [peak.value for peak in analysis.machine.hosts[0].peaks]


def test_csv_gives_no_formula_to_a_spreadsheet() -> None:
    analysis = analyses.one_machine(host_name="=cmd|' /C calc'!A0")
    text = report.get("csv").render(analysis)
    assert isinstance(text, str)
    assert all(row["host"].startswith("'=") for row in csv.DictReader(io.StringIO(text)))


def test_json_reads_back_as_the_same_analysis() -> None:
    from shakedown.report.formats import json

    analysis = analyses.one_machine()
    data = report.get("json").render(analysis)
    assert isinstance(data, bytes)
    assert json.read(data) == analysis


HOSTILE = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(2)>&amp;\x00\x1b[31m|`*_#"


def hostile() -> Analysis:
    """An analysis in which everything from outside is hostile."""
    analysis = analyses.one_machine(title=HOSTILE, host_name=HOSTILE)
    notice = Notice(code=HOSTILE, text=HOSTILE, advice=HOSTILE)
    metric = Metric(name=HOSTILE, title=HOSTILE, unit="s", better="lower", kernel=HOSTILE, source=HOSTILE, per=HOSTILE)
    findings = tuple(
        Finding(
            metric=HOSTILE,
            unit="s",
            better="lower",
            workload=HOSTILE,
            host=HOSTILE,
            value=float(n),
            low=n * 0.9,
            high=n * 1.1,
            params={HOSTILE: HOSTILE, "word": f"{HOSTILE}{n % 2}", "n": n},
            notices=(notice,),
        )
        for n in (1, 2, 3)
    )
    return msgspec.structs.replace(
        analysis,
        findings=(*analysis.findings, *findings),
        metrics=(*analysis.metrics, metric),
        notices=(notice,),
        outcomes=(
            Outcome(
                run=HOSTILE,
                repeat=0,
                workload=HOSTILE,
                label=HOSTILE,
                host=HOSTILE,
                state="failed",
                reason=HOSTILE,
                tail=HOSTILE,
                provenance={HOSTILE: {HOSTILE: [HOSTILE]}},
            ),
        ),
        summary=(HOSTILE,),
    )


def test_nothing_from_outside_becomes_markup() -> None:
    text = html_format.render(hostile())
    page = Reader(text)
    assert page.unclosed == [] and page.open == []
    assert [tag for tag, _ in page.tags].count("script") == 1
    assert not [tag for tag, _ in page.tags if tag in ("img", "iframe", "object", "embed")]
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
    assert "\x00" not in text and "\x1b" not in text


def test_nothing_from_outside_becomes_markup_in_markdown() -> None:
    text = report.get("md").render(hostile())
    assert isinstance(text, str)
    outside_fences = re.sub(r"(?ms)^(`{3,})\n.*?^\1\n", "", text)
    without_code = re.sub(r"`[^`\n]*`", "", outside_fences)
    assert not re.search(r"<\w|</", without_code)
    assert "\x00" not in text and "\x1b" not in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    bars = [len(re.findall(r"(?<!\\)\|", line)) for line in rows]
    for row, above, this in zip(rows[1:], bars, bars[1:], strict=False):  # a table's rule line tells its columns
        if re.fullmatch(r"[|:-]+", row):
            assert this == above
    assert min(bars) >= 2


def test_the_page_asks_for_nothing() -> None:
    text = html_format.render(analyses.one_machine())
    page = Reader(text)
    policy = next(tag for _, tag in page.tags if tag.get("http-equiv") == "Content-Security-Policy")["content"] or ""
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy and "script-src 'unsafe-inline'" not in policy
    for tag, attributes in page.tags:
        for name in ("src", "href", "srcset", "poster", "data", "action", "xlink:href"):
            value = attributes.get(name)
            assert value is None or value.startswith(("#", "data:")), (tag, name, value)
    assert "url(" not in text and "@import" not in text


def test_the_same_analysis_gives_the_same_bytes() -> None:
    for name in report.names():
        first = report.get(name).render(analyses.one_machine())
        assert report.get(name).render(analyses.one_machine()) == first
        assert dict(report.get(name).companions(analyses.one_machine())) == dict(
            report.get(name).companions(analyses.one_machine())
        )


def test_a_value_that_was_not_measured_says_so_with_its_reason() -> None:
    page = Reader(html_format.render(analyses.one_machine()))
    assert "not measured" in page.text
    assert "the kernel refuses AMX to this process" in page.text
    row = next(
        row
        for section in document(analyses.one_machine()).sections
        if section.id == "workload-probe"
        for block in section.blocks
        if isinstance(block, Table) and block.title.startswith("All values")
        for row in block.rows
        if "amx" in row
    )
    assert "not measured" in row and not any(cell.startswith("0 ") for cell in row)


def test_a_number_stands_as_units_show_it() -> None:
    analysis = analyses.one_machine()
    text = Reader(html_format.render(analysis)).text
    for finding in analysis.findings:
        assert show(finding.value, finding.unit) in text


def test_an_unknown_format_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="htlm") as caught:
        report.write(analyses.nothing(), tmp_path, ("json", "htlm"))
    assert "html" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_write_gives_the_path_of_each_format_and_leaves_nothing_else(tmp_path: Path) -> None:
    paths = report.write(analyses.one_machine(), tmp_path)
    assert {name: path.name for name, path in paths.items()} == {
        "html": "report.html",
        "md": "report.md",
        "csv": "report.csv",
        "json": "report.json",
    }
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith(".")]
    pictures = re.findall(r"\]\((figures/[^)]+)\)", paths["md"].read_text())
    assert pictures and all((tmp_path / picture).is_file() for picture in pictures)


def test_a_folder_that_cannot_be_written_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreFailed, match="cannot be written"):
        report.write(analyses.nothing(), tmp_path / "file" / "below", ("json",))


def test_reports_are_loaded_when_asked_for() -> None:
    code = "import sys, shakedown.report; print(sorted({'vl_convert', 'jinja2', 'markupsafe'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def luminance(colour: str) -> float:
    """Relative luminance, WCAG 2.2."""
    channels = [int(colour[index : index + 2], 16) / 255 for index in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    bright, dim = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


@pytest.mark.parametrize("look", [0, 1], ids=["light", "dark"])
def test_text_and_lines_can_be_told_from_their_ground(look: int) -> None:
    style = (html_format.FOLDER / "page.css").read_text()
    blocks = re.findall(r":root \{(.*?)\}", style, re.S)
    names = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", blocks[look]))
    for ink, ground in (
        ("ink", "page"),
        ("ink", "raised"),
        ("muted", "page"),
        ("muted", "raised"),
        ("accent", "page"),
        ("good", "good-bg"),
        ("bad", "bad-bg"),
        ("doubt", "doubt-bg"),
        ("plain", "plain-bg"),
    ):
        assert contrast(names[ink], names[ground]) >= 4.5, (ink, ground)
    for name, colours in charts.PALETTE.items():
        if name.startswith(("series", "published", "limit")):
            assert contrast(colours[look], names["page"]) >= 3, name
        if name in ("ink", "muted"):
            assert contrast(colours[look], names["page"]) >= 4.5, name


def test_every_colour_of_the_drawings_is_told_from_the_others() -> None:
    lights = [light for light, _ in charts.PALETTE.values()]
    assert len(set(lights)) == len(lights)


def test_an_analysis_without_hosts_or_findings_still_makes_every_format(tmp_path: Path) -> None:
    paths = report.write(analyses.nothing(), tmp_path)
    assert "Nothing was measured." in paths["html"].read_text()
    assert isinstance(document(analyses.nothing()).sections[0], Section)
    assert analyses.nothing().machine == Machine(hosts=(), discovered_ns=analyses.CREATED_NS, version="0.1.0")
