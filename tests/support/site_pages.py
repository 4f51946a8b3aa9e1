"""Sites that tests make, and what is read of their pages."""

from __future__ import annotations

import html.parser
import json
from pathlib import Path

from support import trends
from support.command import called

T0_NS = 1_735_700_000 * 10**9
VOID = {"meta", "link", "input", "br", "img"}


class Reader(html.parser.HTMLParser):
    """Links, ids and text; raises where tags are not closed in their order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"an attribute of {tag} is there twice"
        assert not (tag == "a" and "a" in self.open), "a link in a link"
        found = dict(attrs)
        self.links += [value for name in ("href", "src") if (value := found.get(name)) is not None]
        if found.get("id"):
            self.ids.append(str(found["id"]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        self.text += data


def read(path: Path) -> Reader:
    reader = Reader()
    reader.feed(path.read_text("utf-8"))
    reader.close()
    assert reader.open == [], f"{path}: {reader.open} are not closed"
    return reader


def pages(site: Path) -> list[Path]:
    return sorted(site.rglob("*.html"))


def files(site: Path) -> dict[str, bytes]:
    return {str(one.relative_to(site)): one.read_bytes() for one in sorted(site.rglob("*")) if one.is_file()}


def made(folder: Path, *words: str | Path) -> dict[str, object]:
    """What `shakedown site --json` prints."""
    done = called("site", folder / "in", "-o", folder / "site", "--json", *words)
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


def small(folder: Path, nodes: int = 3) -> Path:
    for node in range(nodes):
        for at in range(3):
            host = trends.node(f"n{node}")
            trends.run(folder / "in" / f"r{node}-{at}", T0_NS + at * trends.DAY_NS, [2e10 + node * 1e7], host)
    return folder
