"""Every kind of layer, found by discovery: it says what it is, makes the words that its file states, and is believed only
where the witness saw what the kind promises."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from shakedown.errors import BadInput, Unavailable
from shakedown.hosts.access import ReplayHost
from shakedown.layers import asked, start
from shakedown.layers.model import NAMESPACES, Kind
from shakedown.layers.witness import Seen, Witnessed, refusal

ROOT = Path(__file__).resolve().parents[2]
ALL = [asked.kind(name) for name in asked.names()]
IDS = [one.name for one in ALL]


def written(kind: Kind) -> str:
    return f"{kind.name}:/images/x" if kind.image else kind.name


def seen(side: str, changed: tuple[str, ...] = ()) -> Seen:
    """A witness that sees these to be others than the outer one sees them."""
    return Seen(
        schema=1,
        side=side,  # type: ignore[arg-type]
        host="n1",
        kernel="6.1",
        boot_id="b",
        pid=7,
        uid=1000,
        namespaces={name: 100 + 100 * (name in changed) for name in NAMESPACES},
        root="1:2" if "root" not in changed else "3:4",
    )


def test_there_are_the_kinds_that_the_help_names() -> None:
    assert {"native", "control", "namespaces", "bubblewrap", "charliecloud", "apptainer", "podman"} <= set(IDS)


@pytest.mark.parametrize("kind", ALL, ids=IDS)
def test_a_kind_is_whole(kind: Kind) -> None:
    assert kind.title and kind.samples, "a kind states the words that it makes"
    assert bool(kind.programs) == bool(kind.install), "what is needed, and what brings it"
    assert set(kind.changes) | set(kind.alone) <= {*NAMESPACES, "root"}
    assert bool(kind.changes) == bool(kind.programs), "what starts something changes something, which can be proven"
    for sample in kind.samples:
        assert kind.words(sample.place) == sample.words
    page = (ROOT / "docs" / "overhead.md").read_text()
    assert f"`{kind.name}" in page, "the page has a line for each kind"


@pytest.mark.parametrize("kind", ALL, ids=IDS)
def test_the_words_hold_the_folder_and_the_image(kind: Kind) -> None:
    place = msgspec.structs.replace(kind.samples[0].place, folder="/scratch/a b", binds=("/scratch/a b",), image="IMG")
    words = kind.words(place)
    assert ("IMG" in words) == bool(kind.image)
    if kind.image:
        assert any("/scratch/a b" in word for word in words), "the run's folder is seen inside"


@pytest.mark.parametrize("kind", ALL, ids=IDS)
def test_what_is_absent_says_what_brings_it(kind: Kind, tmp_path: Path) -> None:
    found = start.missing(asked.read(written(kind)), ReplayHost(tmp_path))
    if not kind.programs:
        assert found is None
    else:
        assert isinstance(found, Unavailable) and found.hint == kind.install and kind.programs[0] in found.what


@pytest.mark.parametrize("kind", ALL, ids=IDS)
def test_an_image_is_given_exactly_where_one_is_taken(kind: Kind) -> None:
    assert asked.read(written(kind)).kind == kind.name
    with pytest.raises(BadInput, match="needs an image" if kind.image else "takes no image"):
        asked.read(kind.name if kind.image else f"{kind.name}:/images/x")


@pytest.mark.parametrize("kind", ALL, ids=IDS)
def test_it_is_believed_exactly_where_the_witness_saw_it(kind: Kind) -> None:
    layer = asked.read(written(kind))
    whole = (*kind.changes, *kind.alone)

    def judged(changed: tuple[str, ...], ranks: int = 0) -> str:
        both = (seen("outside"), seen("inside", changed))
        return refusal(layer, Witnessed(both * max(1, ranks), "", ranks))

    assert judged(whole) == ""
    assert judged(kind.changes, ranks=2) == ""
    for name in whole:
        assert judged(tuple(one for one in whole if one != name)), f"the same {name} as outside"
    if not whole:
        for name in (*NAMESPACES, "root"):
            assert "saw another" in judged((name,))
    assert "left no record" in refusal(layer, Witnessed((seen("outside"),), "", 0))
    assert "was not started" in refusal(layer, Witnessed((), "", 0))
    assert "of 2 ranks 1" in refusal(layer, Witnessed((seen("outside"), seen("inside", whole)), "", 2))
    other = msgspec.structs.replace(seen("inside", whole), boot_id="another")
    assert "another kernel" in refusal(layer, Witnessed((seen("outside"), other), "", 0))
