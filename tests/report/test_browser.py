"""The report in a real browser: no script error, no request, nothing that sticks out, in every window and on paper."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from shakedown import report
from support import analyses
from support.browser import Page, browser, overflowing

pytestmark = pytest.mark.needs("chromium")
PAPER = 695  # CSS pixels of A4 less the margins of the print style
HOSTILE = "</script><script>window.hostile=1</script><img src=x onerror=window.hostile=1>"


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    made = {
        "one": analyses.one_machine(),
        "many": analyses.many_hosts(40),
        "hostile": analyses.one_machine(title=HOSTILE, host_name=HOSTILE),
        "empty": analyses.nothing(),
    }
    return {
        name: report.write(analysis, tmp_path_factory.mktemp(name), ("html",))["html"]
        for name, analysis in made.items()
    }


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1400, 400])
@pytest.mark.parametrize("name", ["one", "many", "hostile", "empty"])
def test_the_report_opens_without_error_or_request(
    page: Page, reports: dict[str, Path], name: str, width: int, dark: bool
) -> None:
    seen = page.open(reports[name], width=width, dark=dark)
    assert seen.problems == []
    assert seen.requests == []
    assert overflowing(page) == []
    assert page.evaluate("document.querySelectorAll('section').length") >= 5
    assert page.evaluate("typeof window.hostile") == "undefined"


def test_folded_tables_scroll_in_their_own_box(page: Page, reports: dict[str, Path]) -> None:
    page.open(reports["one"], width=400)
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert overflowing(page) == []
    assert page.evaluate("[...document.querySelectorAll('.scroll.long')].every((e) => e.clientHeight < 700)")


@pytest.mark.parametrize("name", ["one", "many"])
def test_the_report_fits_on_paper(page: Page, reports: dict[str, Path], name: str) -> None:
    page.open(reports[name], width=PAPER, media="print")
    assert page.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
    wide = page.evaluate(
        "Math.max(...[...document.querySelectorAll('table')].map((e) => e.getBoundingClientRect().right))"
    )
    assert wide <= PAPER + 1
    printed = base64.b64decode(page.call("Page.printToPDF", preferCSSPageSize=True)["data"])
    assert printed.startswith(b"%PDF")


MOST_PAGES = 6  # of a quick look on paper


def pages(printed: bytes) -> int:
    """The pages of a PDF as Chromium writes it."""
    return len(re.findall(rb"/Type\s*/Page\b", printed))


def printed(page: Page) -> bytes:
    return base64.b64decode(page.call("Page.printToPDF", preferCSSPageSize=True)["data"])


def test_a_quick_look_is_a_few_pages_and_what_is_unfolded_is_printed(page: Page, reports: dict[str, Path]) -> None:
    page.open(reports["one"], width=PAPER, media="print")
    few = pages(printed(page))
    assert 1 < few <= MOST_PAGES
    shown = "getComputedStyle(document.querySelector('#provenance')).display"
    assert page.evaluate(shown) == "none"
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert page.evaluate(shown) != "none" and pages(printed(page)) > few


def test_the_first_page_holds_the_verdict_its_cause_and_the_first_results(page: Page, reports: dict[str, Path]) -> None:
    page.open(reports["one"], width=PAPER, media="print")
    paper_height = 1013  # CSS pixels of A4 less the margins of the print style
    end = page.evaluate("document.querySelector('.lead').getBoundingClientRect().bottom")
    requirements = page.evaluate("document.querySelector('#verdict table').getBoundingClientRect().bottom")
    assert end < requirements < paper_height
    text = page.evaluate("document.querySelector('.lead').textContent")
    assert all(word in text for word in ("Asked:", "Not met:", "ause", "Whether it counts:"))


def test_the_address_of_a_folded_section_unfolds_it(page: Page, reports: dict[str, Path]) -> None:
    page.open(reports["one"], width=1400)
    assert not page.evaluate("document.querySelector('#methods > details').open")
    page.evaluate("document.querySelector('nav a[href=\"#methods\"]').click()")
    assert page.evaluate(
        "window.dispatchEvent(new HashChangeEvent('hashchange')) && document.querySelector('#methods > details').open"
    )


def test_dark_changes_the_drawings_and_the_ground(page: Page, reports: dict[str, Path]) -> None:
    colours = {}
    for dark in (False, True):
        page.open(reports["one"], width=1400, dark=dark)
        colours[dark] = page.evaluate("""JSON.stringify([
          getComputedStyle(document.body).backgroundColor,
          getComputedStyle(document.querySelector('.drawing .role-axis-label text')).fill,
          getComputedStyle(document.querySelector('.drawing .mark-line path')).stroke])""")
    light, dark_ones = json.loads(colours[False]), json.loads(colours[True])
    assert all(one != other for one, other in zip(light, dark_ones, strict=True))


def test_the_pointer_finds_the_value_of_a_point(page: Page, reports: dict[str, Path]) -> None:
    page.open(reports["one"], width=1400)
    said = page.evaluate("""(() => {
      const point = document.querySelector('.drawing .mark-symbol [aria-label]');
      point.scrollIntoView({block: "center"});
      const box = point.getBoundingClientRect();
      point.closest('.drawing').dispatchEvent(new PointerEvent('pointermove',
        {clientX: box.left + box.width / 2, clientY: box.top + box.height / 2, bubbles: true}));
      const tip = document.getElementById('tip');
      return JSON.stringify([tip.hidden, tip.textContent]);
    })()""")
    hidden, text = json.loads(said)
    assert not hidden
    assert "GB/s" in text and "16 KiB" in text


def test_choosing_a_line_dims_the_others(page: Page, reports: dict[str, Path]) -> None:
    page.open(reports["one"], width=1400)
    weights = json.loads(
        page.evaluate("""(() => {
      const figure = document.querySelector('figure');
      const keys = [...figure.querySelectorAll('[data-colour]')];
      keys[0].click();
      const weight = (key) => getComputedStyle(figure.querySelector(
        `.mark-line [stroke="${key.dataset.colour}"]`)).opacity;
      return JSON.stringify([weight(keys[0]), weight(keys[1])]);
    })()""")
    )
    assert float(weights[0]) == 1 and float(weights[1]) < 0.5


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("<script>throw new Error('seen')</script>", "problems"),
        ("<script>console.error('seen')</script>", "problems"),
        ("<img src='https://example.org/seen.png'>", "requests"),
        ("<link rel=stylesheet href='seen.css'>", "requests"),
    ],
)
def test_the_check_can_fail(page: Page, tmp_path: Path, content: str, kind: str) -> None:
    path = tmp_path / "bad.html"
    path.write_text(f"<!doctype html><link rel=icon href='data:,'><p>{content}")
    seen = page.open(path, width=1400)
    assert any("seen" in text for text in getattr(seen, kind))


def test_the_policy_stops_a_script_that_was_not_escaped(page: Page, reports: dict[str, Path], tmp_path: Path) -> None:
    broken = tmp_path / "broken.html"
    broken.write_text(
        reports["one"]
        .read_text()
        .replace("<footer>", "<footer><script>window.hostile=1</script><img src='https://example.org/seen.png'>")
    )
    page.open(broken, width=1400)
    assert page.evaluate("typeof window.hostile") == "undefined"


def test_screenshots_for_a_person(page: Page, reports: dict[str, Path]) -> None:
    """Write pictures of every look where SHAKEDOWN_SCREENSHOTS names a folder; a picture has the height of its page."""
    folder = os.environ.get("SHAKEDOWN_SCREENSHOTS")
    for width, dark in ((1400, False), (400, True)):
        page.open(reports["one"], width=width, dark=dark)
        height = page.evaluate("document.documentElement.scrollHeight")
        page.open(reports["one"], width=width, height=min(height, 16000), dark=dark)
        picture = base64.b64decode(page.call("Page.captureScreenshot")["data"])
        assert picture.startswith(b"\x89PNG")
        if folder:
            Path(folder, f"report-{width}-{'dark' if dark else 'light'}.png").write_bytes(picture)
