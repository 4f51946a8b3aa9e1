"""Draining: on k of n, never what is somebody else's, and only our own is given back."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.errors import BadInput, CannotMeasure
from shakedown.hosts.access import Result
from shakedown.operate.health import drain
from shakedown.operate.health.drain import ENGINES, DrainStep, Node, decide
from shakedown.operate.health.plan import Rules
from shakedown.operate.health.records import Drained, Finding, HealthReport, KeptState, Verdict

IDLE = Node(True, False, False, "", "idle")
ILL = Finding(check="gpus", item="GPU 0000:9b:00", severity="CRITICAL", what="gone")
REASON = "shakedown: gpus GPU 0000:9b:00"
OURS = Drained(reason=REASON, at_s=1.0)


def calls(*ill: bool) -> tuple[Verdict, ...]:
    return tuple(Verdict(at_s=n, critical=(ILL.key,) if one else ()) for n, one in enumerate(ill))


def taken(reason: str) -> Node:
    return Node(True, True, False, reason, "drained")


def step(node: Node, verdicts: Sequence[Verdict], *, ours: Drained | None = None, resume: bool = False) -> DrainStep:
    return decide(node, verdicts, Rules(), [ILL], ours, resume)


def test_a_node_is_drained_on_the_second_of_three() -> None:
    assert step(IDLE, calls(True)).action == "nothing"
    assert step(IDLE, calls(True, False)).action == "nothing"
    assert step(IDLE, calls(True, True)) == DrainStep("drain", REASON, "1 critical, confirmed 2/3")
    assert step(IDLE, calls(True, False, True)).action == "drain"
    assert step(IDLE, calls(True, False, False, True)).action == "nothing"
    assert step(IDLE, calls(True, True, False)).action == "nothing"  # it is well now


def test_two_different_faults_do_not_confirm_each_other() -> None:
    verdicts = (Verdict(at_s=1, critical=("a:",)), Verdict(at_s=2, critical=("b:",)))
    assert step(IDLE, verdicts).action == "nothing"


def test_unknown_does_not_drain_unless_the_plan_says_so() -> None:
    verdicts = (Verdict(at_s=1, unknown=("clock:",)),) * 3
    assert drain.confirmed(verdicts, Rules()) == ()
    assert drain.confirmed(verdicts, Rules(unknown=True)) == ("clock:",)
    assert drain.confirmed(calls(True, True), Rules(ignore=("gpus",))) == ()


@pytest.mark.parametrize(
    "reason", ["reboot, Jan", "NHC: gpus", "HC: x", "", "shakedown: of another time", "Shakedown: gpus"]
)
def test_what_others_have_drained_is_left_alone(reason: str) -> None:
    for resume in (False, True):
        for ill in (True, False):
            assert step(taken(reason), calls(ill, ill, ill), ours=OURS, resume=resume).action == "nothing"
            assert step(taken(reason), calls(ill, ill, ill), resume=resume).action == "nothing"


def test_a_word_that_somebody_adds_makes_it_theirs() -> None:
    assert step(
        taken(REASON + " // riser changed, Jan"), calls(False, False, False), ours=OURS, resume=True
    ).action == ("nothing")


def test_our_own_is_given_back_only_when_asked_and_well_for_long_enough() -> None:
    well = calls(True, False, False, False)
    assert step(taken(REASON), well, ours=OURS).action == "nothing"
    assert step(taken(REASON), well, ours=OURS, resume=True).action == "resume"
    assert step(taken(REASON), calls(True, False, False), ours=OURS, resume=True).action == "nothing"
    assert step(taken(REASON), calls(False, False), ours=OURS, resume=True).action == "nothing"  # too few calls
    unsure = (*calls(False, False), Verdict(at_s=3, unknown=("clock:",)))
    assert step(taken(REASON), unsure, ours=OURS, resume=True).action == "nothing"


def test_a_drain_of_ours_keeps_its_date_while_it_says_the_same() -> None:
    assert step(taken(REASON), calls(True, True, True), ours=OURS).action == "nothing"
    more = Finding(check="mounts", item="/scratch", severity="CRITICAL", what="hangs")
    verdicts = tuple(Verdict(at_s=n, critical=(ILL.key, more.key)) for n in range(3))
    found = decide(taken(REASON), verdicts, Rules(), [ILL, more], OURS, False)
    assert found.action == "drain" and found.reason == f"{REASON}; mounts /scratch"


def test_a_node_that_is_down_or_not_known_is_not_touched() -> None:
    assert step(Node(True, False, True, "", "down*"), calls(True, True)).action == "nothing"
    assert step(Node(False, False, False, "", "Invalid node name"), calls(True, True)).action == "nothing"


@given(
    st.lists(st.booleans(), max_size=12),
    st.integers(1, 4),
    st.integers(0, 4),
    st.sampled_from((IDLE, taken("Jan"), taken(REASON), Node(True, False, True, "", "down"))),
    st.booleans(),
    st.booleans(),
)
def test_never_more_than_was_confirmed(
    ill: list[bool], k: int, more: int, node: Node, mine: bool, resume: bool
) -> None:
    rules = Rules(confirm=f"{k}/{k + more}")
    found = decide(node, calls(*ill), rules, [ILL], OURS if mine else None, resume)
    recent = ill[-(k + more) :]
    if found.action == "drain":
        assert recent[-1] and sum(recent) >= k and not node.drained and not node.down
    if found.action == "resume":
        assert resume and mine and node == taken(REASON) and not any(recent) and len(recent) == k + more


@pytest.mark.parametrize("words", ["0/3", "4/3", "x", "2/101", "2"])
def test_a_confirmation_that_cannot_be_is_refused(words: str) -> None:
    with pytest.raises(BadInput, match="k/n"):
        _ = Rules(confirm=words).counts


def test_a_reason_is_one_line_and_short() -> None:
    many = [Finding(check="mounts", item=f"/a\n|b{n}", severity="CRITICAL", what="x") for n in range(60)]
    text = drain.reason(many, [one.key for one in many])
    assert text.startswith("shakedown: mounts /a /b0;") and len(text) <= 160 and "\n" not in text


# ---------------------------------------------------------------------------------------------------------- the engines


class Slurm:
    """Answers sinfo from a list, one answer a call, the last for ever; keeps what scontrol was told."""

    def __init__(self, *answers: str, code: int = 0) -> None:
        self.answers, self.told, self.code = list(answers), [], code
        self.told: list[tuple[str, ...]]

    def __call__(self, argv: Sequence[str]) -> Result:
        if argv[0] == "sinfo":
            return Result(0, self.answers.pop(0) if len(self.answers) > 1 else self.answers[0], "")
        self.told.append(tuple(argv))
        return Result(self.code, "", "slurm_update error: Access denied" if self.code else "")


def report() -> HealthReport:
    return HealthReport(host="n1", at_s=9.0, took_s=0.1, boot="b", severity="CRITICAL", findings=(ILL,))


def act(slurm: Slurm, kept: KeptState, *, resume: bool = False) -> tuple[KeptState, DrainStep]:
    return drain.act("slurm", "n1", Rules(), report(), kept, resume=resume, run=slurm)


def test_words_go_to_slurm_as_they_are() -> None:
    slurm = Slurm("idle|none\n")
    kept, found = act(slurm, KeptState(verdicts=calls(True, True)))
    assert slurm.told == [("scontrol", "update", "NodeName=n1", "State=DRAIN", f"Reason={REASON}")]
    assert found.action == "drain" and kept.drained == Drained(reason=REASON, at_s=9.0)


def test_a_person_who_comes_between_the_look_and_the_act_wins() -> None:
    slurm = Slurm("idle|none\n", "drained|Jan: riser\n")
    kept, found = act(slurm, KeptState(verdicts=calls(True, True)))
    assert slurm.told == [] and found.action == "nothing" and kept.drained is None


def test_what_was_resumed_by_others_is_no_longer_ours() -> None:
    kept, _ = act(Slurm("idle|none\n"), KeptState(drained=OURS))
    assert kept.drained is None
    kept, _ = act(Slurm("idle|none\n"), msgspec.structs.replace(KeptState(), verdicts=calls(False)))
    assert kept.drained is None


def test_an_engine_that_refuses_is_told() -> None:
    with pytest.raises(CannotMeasure, match="Access denied"):
        act(Slurm("idle|none\n", code=1), KeptState(verdicts=calls(True, True)))
    with pytest.raises(BadInput, match="unknown engine"):
        drain.act("slurn", "n1", Rules(), report(), KeptState(), resume=False)


@pytest.mark.parametrize(
    ("engine", "printed", "node"),
    [
        ("slurm", "draining|Jan: a|b\n", Node(True, True, False, "Jan: a|b", "draining")),
        (
            "slurm",
            "drained*|shakedown: gpus\ndrained*|shakedown: gpus\n",
            Node(True, True, False, "shakedown: gpus", "drained*"),
        ),
        ("slurm", "down*|Not responding\n", Node(True, False, True, "Not responding", "down*")),
        ("slurm", "mixed|none\n", IDLE._replace(word="mixed")),
        ("slurm", "", Node(False, False, False, "", "no answer")),
        (
            "pbs",
            "n1\n     Mom = n1\n     state = offline\n     comment = Jan\n",
            Node(True, True, False, "Jan", "offline"),
        ),
        ("pbs", "n1\n     state = free\n", IDLE._replace(word="free")),
        ("pbs", "n1\n     state = down,offline\n", Node(True, True, True, "", "down,offline")),
    ],
)
def test_what_engines_say_of_a_node(engine: str, printed: str, node: Node) -> None:
    assert ENGINES[engine].read(Result(0, printed, "")) == node


def test_an_engine_that_does_not_answer_knows_no_node() -> None:
    for engine in ENGINES.values():
        found = engine.read(Result(1, "", "slurm_load_node: Unable to contact slurm controller"))
        assert not found.known and "Unable" in found.word
