"""Native events: whole output, output that was cut short, and output that is not an event at all."""

from __future__ import annotations

from shakedown.programs import events

START = b'{"event":"start","program":"x","schema":1,"facts":{"isa":"avx2"}}\n'
CASE = (
    b'{"event":"case","kernel":"k","params":{"n":2},"work":{"flop":4},"seconds":[0.5,0.25],'
    b'"residual":{"value":0.1,"limit":1,"kind":"error"},"begin_ns":1,"end_ns":2}\n'
)
END = b'{"event":"end","ok":true,"unix_ns":5,"max_rss_bytes":7}\n'


def test_whole_output_is_understood() -> None:
    phases = (
        b'{"event":"phase","name":"measure","edge":"begin","unix_ns":10,"label":"k"}\n'
        b'{"event":"phase","name":"measure","edge":"end","unix_ns":20,"label":"k"}\n'
    )
    found = events.parse(START + phases + CASE + END)
    assert found.started and found.ended and not found.garbage
    assert found.cases[0].seconds == (0.5, 0.25)
    assert found.cases[0].residual is not None and found.cases[0].residual.passed
    assert (found.phases[0].name, found.phases[0].begin_ns, found.phases[0].end_ns) == ("measure k", 10, 20)
    assert found.provenance["facts"] == {"isa": "avx2"} and found.provenance["max_rss_bytes"] == 7


def test_what_was_measured_before_the_cut_is_kept() -> None:
    found = events.parse(START + CASE + CASE[:40])
    assert len(found.cases) == 1 and not found.ended
    assert "line 3" in found.garbage


def test_garbage_is_named_with_its_line_and_the_rest_counts() -> None:
    found = events.parse(START + b"WARNING: something\n" + CASE + END)
    assert "line 2" in found.garbage and "WARNING: something" in found.garbage
    assert len(found.cases) == 1 and found.ended


def test_a_residual_that_is_nan_does_not_pass() -> None:
    found = events.parse(START + CASE.replace(b'"value":0.1', b'"value":null') + END)
    assert found.cases[0].residual is not None and not found.cases[0].residual.passed


def test_events_of_the_wrong_shape_are_garbage_not_a_crash() -> None:
    for line in (
        b'{"event":"case","kernel":"k","seconds":"fast"}',
        b'{"event":"case"}',
        b'{"event":7}',
        b"[1,2]",
        b"\xff\xfe",
    ):
        found = events.parse(START + line + b"\n" + END)
        assert found.garbage, line
        assert found.cases == ()
