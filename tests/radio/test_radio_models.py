"""The table of path-loss models as Python reads it from the engine, and the verb that shows it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from shakedown import programs
from shakedown.errors import BadInput, CannotMeasure, Unavailable
from shakedown.radio import models

PAGE = Path(__file__).parents[2] / "docs/radio-models.md"


@pytest.fixture(autouse=True)
def _own_table() -> None:
    models.table.cache_clear()


@pytest.fixture(name="engine")
def _engine() -> None:
    try:
        programs.path("radio_engine")
    except Unavailable as error:
        pytest.fail(f"the engine is not built: {error}")


@pytest.mark.usefixtures("engine")
def test_the_engine_has_the_models_of_the_page() -> None:
    table = models.table()
    page = PAGE.read_text()
    assert {"itm", "free_space", "hata", "delta_bullington"} <= {model.name for model in table.models}
    entries: list[models.Model | models.Addition] = [*table.models, *table.additions]
    for entry in entries:
        assert f"`{entry.name}`" in page
        assert {one.name for one in table.read_by(entry)} == set(entry.parameters)
    for model in table.models:
        assert any(term.summand for term in model.terms)
        low, high = model.frequency_mhz.valid
        assert low is not None and high is not None and low < high


@pytest.mark.usefixtures("engine")
def test_a_range_is_read_as_a_person_says_it() -> None:
    table = models.table()
    hata = table.get("hata")
    assert isinstance(hata, models.Model)
    assert hata.frequency_mhz.valid_words("MHz") == "150 to 1,500 MHz"
    assert hata.distance_m.valid_words("km", 1e-3) == "1 to 20 km"
    free = table.get("free_space")
    assert isinstance(free, models.Model) and free.distance_m.valid_words("km", 1e-3) == "any"
    assert models.Range(valid=(0.1, None), possible=(0.1, None)).valid_words("m") == "from 0.1 m"


@pytest.mark.usefixtures("engine")
def test_a_misspelt_model_is_named_with_the_nearest() -> None:
    with pytest.raises(BadInput, match="'delta_bulington'") as caught:
        models.table().get("delta_bulington")
    assert "delta_bullington" in str(caught.value.hint)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", ["itm", "walfisch_ikegami", "+woodland", "terrain"]),
        ("hata", ["surroundings", "150 to 1,500 MHz", "M. Hata"]),
        ("gas", ["pressure_hpa", "gas_db"]),
    ],
)
def test_the_verb_shows_all_or_one(name: str, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    from shakedown.cli import radio_models

    radio_models.command(name)
    shown = capsys.readouterr().out
    assert [word for word in words if word not in shown] == []
    radio_models.command(name, json=True)
    assert msgspec.json.decode(capsys.readouterr().out)


@pytest.mark.parametrize("text", [b"", b"{}", b"[1]", b'{"models": [], "additions": []}', b"\xff", b'{"models": 1}'])
def test_a_table_of_another_version_is_an_error(text: bytes) -> None:
    with pytest.raises(CannotMeasure, match="cannot be read"):
        models.read(text, "radio_engine")


@pytest.fixture(name="program")
def _program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """A program of this shell text in the place of the engine."""
    monkeypatch.setenv("SHAKEDOWN_NATIVE", str(tmp_path))

    def write(text: str) -> None:
        (tmp_path / "radio_engine").write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "radio_engine").chmod(0o755)

    return write


def test_an_engine_that_fails_is_one_error(program: Callable[[str], None]) -> None:
    program("echo broken >&2; exit 3")
    with pytest.raises(CannotMeasure, match="broken"):
        models.table()
    program("echo '{'")
    with pytest.raises(CannotMeasure, match="cannot be read"):
        models.table()
