"""The site in a real browser: no error, no request that leaves its folder, nothing that sticks out; search, sorting."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.browser import Page, browser, overflowing
from support.command import called

from support.bench import BENCH  # isort: skip  # lets the module below be found

from peers import site as fleet

assert BENCH
pytestmark = pytest.mark.needs("chromium")
NODE, METRIC = "node/node0007.html", "metric/stream/stream.triad.bandwidth.html"
PAGES = ("index.html", NODE, METRIC, "published/comet.html", "notes.html")


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    fleet.generate(folder / "runs", 10, 12, 14, 2)
    assert called("site", folder / "runs", "-o", folder / "site").returncode == 0
    return folder / "site"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [480, 1600])
def test_every_kind_of_page_opens_without_error_and_fits(page: Page, site: Path, width: int, dark: bool) -> None:
    for name in PAGES:
        seen = page.open(site / name, width=width, dark=dark)
        assert seen.problems == []
        assert {Path(one).name for one in seen.requests} <= {"style.css", "site.js"}, (
            "nothing else, and nothing from elsewhere"
        )
        assert all(one.startswith(site.as_uri()) for one in seen.requests)
        assert overflowing(page) == [], name
        folder = os.environ.get("SHAKEDOWN_SCREENSHOTS")
        if folder:
            height = page.evaluate("document.documentElement.scrollHeight")
            page.open(site / name, width=width, height=min(height, 16000), dark=dark)
            picture = base64.b64decode(page.call("Page.captureScreenshot")["data"])
            look = "dark" if dark else "light"
            Path(folder, f"site-{Path(name).stem}-{width}-{look}.png").write_bytes(picture)


def test_the_search_leads_to_a_node_and_a_metric(page: Page, site: Path) -> None:
    page.open(site / METRIC, width=1600)
    found = page.evaluate("""(async () => {
      const input = document.querySelector('.search input');
      const links = async (words) => {
        input.focus(); input.value = words; input.dispatchEvent(new Event('input'));
        while (!window.shakedownSearch) await new Promise((done) => setTimeout(done, 10));
        await new Promise((done) => setTimeout(done, 10));
        return [...document.querySelectorAll('.search li a')].map((one) => one.href);
      };
      return JSON.stringify([await links('node0007'), await links('TRIAD memory nothing'), await links('triad')]);
    })()""")
    nodes, nothing, metrics = json.loads(found)
    assert nodes == [(site / NODE).as_uri()] and nothing == [] and (site / METRIC).as_uri() in metrics


def test_heads_sort_their_columns_by_value(page: Page, site: Path) -> None:
    page.open(site / METRIC, width=1600)
    found = page.evaluate("""(() => {
      const table = document.querySelector('#by-node table'), head = table.tHead.rows[0].cells[1];
      const keys = () => [...table.tBodies[0].rows].map((row) => Number(row.cells[1].dataset.key));
      head.querySelector('button').click();
      const up = keys(), said = head.getAttribute('aria-sort');
      head.querySelector('button').click();
      return JSON.stringify([up, said, keys(), head.getAttribute('aria-sort')]);
    })()""")
    up, ascending, down, descending = json.loads(found)
    assert up == sorted(up) and down == up[::-1] and len(set(up)) > 5
    assert (ascending, descending) == ("ascending", "descending")


def test_an_address_unfolds_its_row(page: Page, site: Path) -> None:
    page.open(site / NODE, width=1600)
    anchor = page.evaluate("document.querySelector('details.table tr[id]').id")
    assert page.evaluate(f"location.hash = '#{anchor}', new Promise((done) => setTimeout(done, 50))") is None
    assert page.evaluate(f"document.getElementById('{anchor}').closest('details').open")


def test_on_paper_the_way_about_the_site_is_left_out(page: Page, site: Path) -> None:
    page.open(site / NODE, width=695, media="print")
    assert page.evaluate("getComputedStyle(document.querySelector('.top')).display") == "none"
    assert base64.b64decode(page.call("Page.printToPDF", preferCSSPageSize=True)["data"]).startswith(b"%PDF")
