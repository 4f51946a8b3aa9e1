"""Any words survive the way through a batch script, and no word of ours is taken for an option of the engine."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shakedown import schedulers
from shakedown.errors import BadInput
from shakedown.schedulers import Component, Request
from shakedown.schedulers.common.words import clock, join, label, minutes, quote

#: Every text that a program can be given: surrogates stand for bytes that are no UTF-8.
WORDS = st.text(
    st.characters(exclude_characters="\0", exclude_categories=("Cs",))
    | st.sampled_from("'\"\\$`!#\n\r\t \udcff\udc80"),
    max_size=12,
)
ENGINES = schedulers.names()
#: How each engine marks its options.
MARKS = {
    "slurm": "#SBATCH",
    "gridengine": "#$",
    "pbs": "#PBS",
    "torque": "#PBS",
    "lsf": "#BSUB",
    "flux": "# flux:",
}


def request(**more: object) -> Request:
    return Request(**{"name": "acceptance", "argv": ("true",), "folder": "/shared/run", **more})  # type: ignore[arg-type]


@given(st.lists(WORDS, max_size=4))
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_any_words_come_through_bash_unchanged(words: list[str]) -> None:
    text = f"printf '%s\\0' x {join(words)}"
    assert "\n" not in text and "\r" not in text
    ran = subprocess.run(["bash", "-c", os.fsencode(text)], capture_output=True, check=True)
    assert [os.fsdecode(word) for word in ran.stdout.split(b"\0")[1:-1]] == words


def test_plain_words_stay_readable() -> None:
    assert join(("python3", "-m", "shakedown", "a b")) == "python3 -m shakedown 'a b'"
    with pytest.raises(BadInput, match="NUL"):
        quote("a\0b")


@pytest.mark.parametrize("engine", ENGINES)
@given(words=st.lists(WORDS, min_size=1, max_size=4), value=WORDS)
@settings(max_examples=25, deadline=None)
def test_no_word_becomes_an_option_of_the_engine(engine: str, words: list[str], value: str) -> None:
    """Whatever the program's words hold, the lines with the engine's mark are the same as for a harmless program."""

    def marked(text: str) -> list[str]:
        return [line for line in text.split("\n") if line.lstrip().startswith(MARKS[engine])]

    script = schedulers.get(engine).script
    assert marked(script(request(argv=("true", *words), env={"A": value}))) == marked(script(request()))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_script_is_bash_and_does_what_was_asked(engine: str, tmp_path: Path) -> None:
    words = ("it's", "a\nb", "$HOME", "#x", '"', "\udcff")
    folder = tmp_path / "run"
    folder.mkdir()
    asked = request(argv=("printf", "%s\\0", *words), folder=str(folder), env={"KEPT": "1 \n2"}, time_limit_s=90)
    text = schedulers.get(engine).script(asked)
    assert text.startswith("#!/bin/bash\n") and text.endswith("\n") and text.isascii()
    assert "\r" not in text
    ran = subprocess.run(["bash", "-c", f"{text}"], capture_output=True, check=True, cwd="/")
    assert [os.fsdecode(word) for word in ran.stdout.split(b"\0")[:-1]] == list(words)
    assert "hold" not in text


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "wrong",
    [
        {"partition": "a b"},
        {"partition": "x\n#SBATCH --uid=0"},
        {"account": "$(id)"},
        {"account": "-x"},
        {"constraint": "a;b\nc"},
        {"gres": "gpu:4 --uid=0"},
        {"hosts": ("node1\nx",)},
        {"hosts": ("node1; id",)},
        {"folder": "relative"},
        {"folder": "/a\nb"},
        {"folder": "/a\\b"},
        {"env": {"A B": "c"}},
        {"argv": ()},
        {"argv": ("a\0",)},
        {"time_limit_s": 0.0},
        {"time_limit_s": float("nan")},
        {"extra": ("--x\n--y",)},
    ],
    ids=repr,
)
def test_what_cannot_be_said_safely_is_refused(engine: str, wrong: dict[str, object]) -> None:
    with pytest.raises(BadInput) as caught:
        schedulers.get(engine).script(request(**wrong))
    assert caught.value.hint


def test_slurm_is_told_all_that_was_asked() -> None:
    asked = request(
        folder='/shared/50% of/it\'s "it"',
        nodes=2,
        hosts=("node3", "node4"),
        time_limit_s=61,
        partition="batch",
        account="accept",
        qos="high",
        reservation="acceptance",
        constraint="[rack1|rack2]&nvme",
        gres="gpu:h200:4",
        extra=("--licenses=foo", "-L", 'a "b"'),
        components=(Component(nodes=3, partition="gpu", gres="gpu:8"),),
    )
    lines = schedulers.get("slurm").script(asked).split("\n")
    first, second = lines[: lines.index("#SBATCH hetjob")], lines[lines.index("#SBATCH hetjob") :]
    for line in (
        '#SBATCH "--job-name=acceptance"',
        '#SBATCH "--chdir=/shared/50% of/it\'s \\"it\\""',
        '#SBATCH "--output=/shared/50%% of/it\'s \\"it\\"/stdout"',
        '#SBATCH "--time=2"',
        '#SBATCH "--nodes=2"',
        '#SBATCH "--nodelist=node3,node4"',
        '#SBATCH "--partition=batch"',
        '#SBATCH "--account=accept"',
        '#SBATCH "--qos=high"',
        '#SBATCH "--reservation=acceptance"',
        '#SBATCH "--constraint=[rack1|rack2]&nvme"',
        '#SBATCH "--gres=gpu:h200:4"',
        '#SBATCH "--exclusive"',
        '#SBATCH "--no-requeue"',
        '#SBATCH "--licenses=foo" "-L" "a \\"b\\""',
    ):
        assert line in first, line
    assert '#SBATCH "--nodes=3"' in second and '#SBATCH "--gres=gpu:8"' in second
    assert '#SBATCH "--requeue"' in schedulers.get("slurm").script(request(requeue=True))
    with pytest.raises(BadInput, match="2 nodes and 1 named"):
        schedulers.get("slurm").script(request(nodes=2, hosts=("node1",)))


def test_what_a_request_sets_is_taken_out_of_the_environment_and_nothing_else() -> None:
    """sbatch obeys SBATCH_PARTITION before the script's own line."""
    overriding = schedulers.get("slurm").overriding
    assert {"SBATCH_PARTITION", "SBATCH_NO_REQUEUE"} <= set(overriding(request(partition="batch")))
    assert "SBATCH_ACCOUNT" not in overriding(request(partition="batch"))


def test_grid_engine_counts_slots() -> None:
    script = schedulers.get("gridengine").script
    lines = script(request(nodes=3, slots=2, parallel_environment="mpi", gres="gpu:2", time_limit_s=3599)).split("\n")
    assert "#$ -pe mpi 6" in lines and "#$ -l h_rt=1:00:00,gpu=2" in lines and "#$ -r n" in lines
    assert not [line for line in lines if line.startswith("#$ -V")], "it would show the environment to everybody"
    for wrong in ({"nodes": 2}, {"nodes": 2, "slots": 4}, {"nodes": 2, "parallel_environment": "mpi"}):
        with pytest.raises(BadInput, match="slots"):
            script(request(**wrong))
    assert "#$ -N j4nodes" in script(request(name="4nodes")), "a name may not begin with a digit"


def test_pbs_and_torque_differ_in_what_a_node_is() -> None:
    asked = request(nodes=2, slots=8, gres="gpu:4", reservation="R123", time_limit_s=60)
    assert "#PBS -l select=2:ncpus=8:mpiprocs=8:ngpus=4" in schedulers.get("pbs").script(asked).split("\n")
    assert "#PBS -l nodes=2:ppn=8:gpus=4" in schedulers.get("torque").script(asked).split("\n")
    assert "#PBS -q R123" in schedulers.get("pbs").script(asked).split("\n"), "a reservation is a queue"
    named = schedulers.get("pbs").script(request(nodes=2, hosts=("a", "b"))).split("\n")
    assert "#PBS -l select=1:ncpus=1:mpiprocs=1:host=a+1:ncpus=1:mpiprocs=1:host=b" in named


def test_times_are_whole_minutes_and_never_shorter_than_asked() -> None:
    assert [minutes(seconds) for seconds in (1, 60, 61, 3600)] == [1, 1, 2, 60]
    assert clock(5400) == "1:30:00" and clock(90001) == "25:01:00"


@given(st.text(max_size=100))
def test_any_name_makes_a_label(name: str) -> None:
    found = label(name)
    assert found and len(found) <= 60 and found.isascii() and " " not in found
