"""`shakedown checkpoint list`, `verify`, `prune`, `paths` on checkpoints that the library made, whole, damaged and torn."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from shakedown.checkpoint import library
from shakedown.checkpoint.library import Entry
from shakedown.cli.app import app
from shakedown.errors import BadInput, CannotMeasure, Unavailable
from support import checkpoints


def asked(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["checkpoint", *map(str, words)])


def read(*words: str | Path) -> Any:
    return json.loads(asked(*words, "--json").stdout)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Levels 1, 4, 1, 4, 1, as generations 1 to 5."""
    place = tmp_path_factory.mktemp("job")
    for name in ("local", "global"):
        (place / name).mkdir()
    checkpoints.save((1, 4, 1, 4, 1), local=place / "local", shared=place / "global")
    return place


@pytest.fixture
def job(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "job with a space"))


def data(folder: Path, generation: int) -> Path:
    return next(folder.glob(f"gen-*{generation}/rank-*.data"))


def spoil(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


def files(place: Path) -> set[str]:
    return {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file() and path.name != "LOCK"}


def test_all_generations_are_listed_folder_by_folder(job: Path) -> None:
    found = read("list", job)
    assert [(Path(one["folder"]).name, one["generation"], one["level"]) for one in found] == [
        ("global", 2, 4),
        ("global", 4, 4),
        *(("local", number, 4 if number in (2, 4) else 1) for number in range(1, 6)),
    ]
    assert all(one["ranks"] == one["ranks_whole"] == 1 and one["bytes"] == 2_400_000 for one in found)
    assert "gen" not in asked("list", job).stderr and "not committed" not in asked("list", job).stdout
    assert found == read("list", job / "global", job / "local")


def test_what_is_whole_can_be_restored(job: Path) -> None:
    done = asked("verify", job)
    assert done.exit_code == 0 and done.stdout.count("yes") == 5
    newest = read("verify", job)["generations"][0]
    assert (newest["generation"], newest["state"]) == (5, "whole")
    assert newest["why"] == f"1 rank in {job / 'local'}"


@pytest.mark.parametrize("at", [0, 1 << 20, 2_399_999])
def test_one_flipped_bit_is_found_and_named_with_its_block(job: Path, at: int) -> None:
    spoil(data(job / "local", 5), at)
    assert [one for one in read("list", job) if one.get("problems")] == [], "listing reads no data"
    done = asked("verify", job)
    assert done.exit_code == 4 and f"generation 5: block {at >> 20} of rank 0: its checksum is wrong" in done.stdout
    states = {one["generation"]: one["state"] for one in read("verify", job)["generations"]}
    assert states == {5: "lost", 4: "whole", 3: "whole", 2: "whole", 1: "whole"}


def test_a_damaged_local_part_leaves_the_global_one(job: Path) -> None:
    spoil(data(job / "local", 4), 7)
    fourth = read("verify", job)["generations"][1]
    assert (fourth["state"], fourth["why"]) == ("whole", f"1 rank in {job / 'global'}")


def test_nothing_left_is_exit_code_1(job: Path) -> None:
    for path in job.rglob("*.data"):
        path.write_bytes(b"")
    done = asked("verify", job)
    assert done.exit_code == 1 and "yes" not in done.stdout


def test_a_generation_without_its_commit_record_was_never_committed(job: Path) -> None:
    for path in job.glob("local/gen-*5/COMMIT"):
        path.unlink()
    done = asked("verify", job)
    assert done.exit_code == 0, "the newest that was committed is whole"
    newest = read("verify", job)["generations"][0]
    assert (newest["generation"], newest["state"]) == (5, "lost") and "never committed" in newest["why"]


def test_prune_removes_what_newer_ones_make_superfluous_and_no_more(job: Path) -> None:
    before = files(job)
    dry = read("prune", job, "--dry-run")
    assert files(job) == before
    assert [(Path(one["folder"]).name, one["generation"]) for one in dry] == [("local", 1), ("local", 3)]
    gone = read("prune", job)
    assert gone == dry
    removed = {name for name in before - files(job) if "gen-" in name}
    assert {Path(name).parts[:2] for name in removed} == {("local", f"gen-{number:020}") for number in (1, 3)}
    left = {(Path(one["folder"]).name, one["generation"]) for one in read("list", job)}
    assert left == {("global", 2), ("global", 4), ("local", 2), ("local", 4), ("local", 5)}
    assert asked("verify", job).exit_code == 0 and read("prune", job) == []
    one = read("prune", job, "--keep", "1")
    assert {(Path(entry["folder"]).name, entry["generation"]) for entry in one} == {("global", 2), ("local", 2)}
    assert asked("verify", job).exit_code == 0


def test_prune_removes_nothing_where_what_stays_is_damaged(job: Path) -> None:
    spoil(data(job / "global", 4), 99)
    before = files(job)
    for more in ([], ["--dry-run"]):
        done = asked("prune", job, "--keep", "1", *more)
        assert isinstance(done.exception, CannotMeasure) and "generation 4 is damaged" in done.exception.what
    assert files(job) == before


def test_prune_is_refused_while_a_job_writes(tmp_path: Path) -> None:
    place = tmp_path / "local"
    place.mkdir()
    running = checkpoints.job_of((1, 1, 1), local=place)
    try:
        assert running.stdout and running.stdout.readline() == "saved\n"
        done = asked("prune", place)
        assert isinstance(done.exception, CannotMeasure) and done.exception.hint == "wait until the job has ended"
        assert len(read("list", place)) == 3
    finally:
        running.communicate("\n", timeout=300)
    assert asked("prune", place).exit_code == 0


@pytest.mark.parametrize("spoilt", ["COMMIT", "rank-000000.manifest", "rank-000000.data"])
@pytest.mark.parametrize("size", [0, 1, 40])
def test_torn_files_are_named_and_never_whole(job: Path, spoilt: str, size: int) -> None:
    path = next(job.glob(f"local/gen-*5/{spoilt}"))
    path.write_bytes(path.read_bytes()[:size])
    newest = read("verify", job)["generations"][0]
    assert (newest["generation"], newest["state"]) == (5, "lost")
    assert read("list", job)[-1]["generation"] == 5, "a torn one is still listed"


def test_folders_that_cannot_be_are_refused(tmp_path: Path) -> None:
    for place, what in ((tmp_path / "gone", "is not a folder"), (tmp_path, "holds no checkpoint")):
        for verb in ("list", "verify", "prune"):
            done = asked(verb, place)
            assert isinstance(done.exception, BadInput) and done.exception.what == what and done.exception.hint


@pytest.mark.needs("cc")
def test_a_program_is_compiled_with_the_line_that_is_printed(tmp_path: Path) -> None:
    found = library.paths()
    (tmp_path / "program.c").write_text(
        "#include <shakedown/checkpoint.h>\n#include <stdio.h>\n"
        "int main(void) { puts(shakedown_ckpt_error_name(SHAKEDOWN_CKPT_LOST)); return 0; }\n"
    )
    subprocess.run(f"{found.compile} -o program", shell=True, check=True, cwd=tmp_path)
    done = subprocess.run([tmp_path / "program"], capture_output=True, text=True, check=True)
    assert done.stdout == "lost\n"
    assert found.compile in asked("paths").stdout
    assert found.compile_static in asked("paths", "--static").stdout


@pytest.mark.needs("cc")
def test_the_program_of_the_page_is_compiled_without_a_warning_and_heeds_what_fails(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/checkpoint.md").read_text()
    source = page.split("```c\n")[1].split("```")[0]
    assert source.count('"/tmp/job"') == 1
    (tmp_path / "program.c").write_text(source.replace('"/tmp/job"', f'"{tmp_path}/job"'))
    command = f"{library.paths().compile} -std=c99 -Wall -Wextra -Werror -o program"
    subprocess.run(command, shell=True, check=True, cwd=tmp_path)
    done = subprocess.run([tmp_path / "program"], capture_output=True, text=True, check=True)
    assert done.stdout == "1000\n" and done.stderr == ""
    shutil.rmtree(tmp_path / "job")  # a file in its place: the library cannot begin
    (tmp_path / "job").write_text("")
    refused = subprocess.run([tmp_path / "program"], capture_output=True, text=True, check=False)
    assert refused.returncode == 3 and refused.stdout == "" and refused.stderr.startswith("checkpoint: ")


def test_without_the_library_the_next_step_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHAKEDOWN_CHECKPOINT", raising=False)
    monkeypatch.setenv("SHAKEDOWN_NATIVE", str(tmp_path))
    with pytest.raises(Unavailable, match="checkpoint library was not built"):
        library.paths()


# ---------------------------------------------------------------------------------------------------------- many nodes


def part(folder: str, whole: int, **more: Any) -> Entry:
    plain = {"generation": 7, "ranks": 8, "copies": 0, "parities": 0, "committed": True, "level": 1}
    return Entry(
        **{**plain, "folder": folder, "ranks_whole": whole, "bytes": 1, "unix_s": 0.0, "removable": False, **more}
    )


@pytest.mark.parametrize(
    ("parts", "state", "why"),
    [
        ([part("a", 4), part("b", 4)], "whole", "8 ranks over 2 folders"),
        ([part("a", 4)], "lost", "4 of 8 ranks whole"),
        ([part("a", 4), part("b", 4, problems=("block 0",))], "lost", "4 of 8 ranks whole (block 0)"),
        ([part("a", 4), part("shared", 8, level=4)], "whole", "8 ranks in shared"),
        ([part("a", 4, copies=4, level=2)], "perhaps", "4 of 8 ranks whole; 4 partner copies may replace the rest"),
        ([part("a", 4, parities=1, level=3)], "perhaps", "4 of 8 ranks whole; 1 part of parity may replace the rest"),
        ([part("a", 4, committed=False), part("b", 4, committed=False)], "lost", "it was never committed"),
        ([part("a", 4, committed=False), part("b", 4)], "whole", "8 ranks over 2 folders"),
    ],
)
def test_folders_of_many_nodes_are_judged_together(parts: list[Entry], state: str, why: str) -> None:
    (found,) = library.judged(parts)
    assert found.state == state and found.why.startswith(why)
