"""The files of requirements/: what CI and `make run` install, by version and hash, and the programs that are built first."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
#: Where a build runs; markers of requirements are asked for each.
PLACES = [
    {
        "python_version": python,
        "python_full_version": f"{python}.1",
        "platform_machine": machine,
        "sys_platform": "linux",
    }
    for python in ("3.11", "3.12", "3.13", "3.14")
    for machine in ("x86_64", "aarch64")
]


def locked(name: str) -> list[tuple[Requirement, int]]:
    """Each requirement of a file, and how many hashes it has."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return [
        (Requirement(line.split("--hash")[0]), len(re.findall(r"--hash=sha256:[0-9a-f]{64}\b", line))) for line in lines
    ]


@pytest.mark.parametrize("name", ["run", "test", "build", "cuda"])
def test_every_requirement_has_one_version_and_its_hashes(name: str) -> None:
    for one, hashes in locked(name):
        assert hashes > 0 and re.fullmatch(r"==[^,*]+", str(one.specifier)), one
    for place in PLACES:
        names = [one.name for one, _ in locked(name) if one.marker is None or one.marker.evaluate(place)]
        assert len(names) == len(set(names)), f"two versions of one library on {place}"


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("run", PROJECT["project"]["dependencies"]),
        ("test", PROJECT["project"]["dependencies"] + PROJECT["project"]["optional-dependencies"]["test"]),
        ("build", PROJECT["build-system"]["requires"]),
    ],
)
def test_all_that_is_asked_for_is_locked_within_its_bounds(name: str, wanted: list[str]) -> None:
    for place in PLACES:
        versions = {
            one.name.lower(): str(one.specifier).removeprefix("==")
            for one, _ in locked(name)
            if one.marker is None or one.marker.evaluate(place)
        }
        for asked in map(Requirement, wanted):
            if asked.marker is None or asked.marker.evaluate(place):
                assert asked.name.lower() in versions, f"{asked.name}: run scripts/lock"
                assert SpecifierSet(str(asked.specifier)).contains(versions[asked.name.lower()]), asked


def test_tests_run_with_the_libraries_that_users_get() -> None:
    run = {(one.name, str(one.marker)): one.specifier for one, _ in locked("run")}
    test = {(one.name, str(one.marker)): one.specifier for one, _ in locked("test")}
    assert {key: test.get(key) for key in run} == run


def test_the_programs_that_are_built_first_are_those_of_quick() -> None:
    campaign = tomllib.loads((ROOT / "src/shakedown/campaign/shipped/quick.toml").read_text())
    wanted = {run["workload"] for run in campaign["run"]}
    found = re.search(r'STREQUAL "quick"\)\s*set\(SHAKEDOWN_PROGRAMS ([^)]*)\)', (ROOT / "CMakeLists.txt").read_text())
    assert found is not None and set(found[1].split()) == wanted
