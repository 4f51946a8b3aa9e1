"""Property: whatever the circumstances, a rank needs all of them alike on both sides, and neither side's order matters."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shakedown.analysis import circumstances
from shakedown.records import Circumstances, Metric

FIELDS = ("device", "nodes", "extent", "virtual", "level", "placement", "link", "rail", "n")
words = st.sampled_from(["", "a", "b"])
counts = st.sampled_from([None, 1, 2])
flags = st.sampled_from([None, False, True])
settings = st.builds(
    Circumstances,
    device=st.sampled_from(["cpu", "gpu"]),
    devices=counts,
    nodes=counts,
    cores=counts,
    whole=flags,
    virtual=flags,
    link=words,
    level=words,
    placement=words,
    rail=words,
    params=st.sampled_from([{}, {"n": 1}, {"n": 2}]),
).filter(lambda one: one.whole is not False or one.cores is not None)  # that it is a part follows from the cores alone


@given(settings, settings, st.sets(st.sampled_from(FIELDS)))
def test_alike_is_symmetric_and_fewer_conditions_never_part_more(
    one: Circumstances, other: Circumstances, names: set[str]
) -> None:
    metric = Metric(name="m", title="M", unit="1", better="higher", ranked_by=tuple(sorted(names)))
    every = Metric(name="m", title="M", unit="1", better="higher", ranked_by=FIELDS)
    assert circumstances.alike(one, other, metric) == circumstances.alike(other, one, metric)
    assert circumstances.alike(one, one, every)
    assert not circumstances.alike(one, other, every) or circumstances.alike(one, other, metric)
    assert (circumstances.distance(one, other, metric)[0] == 0) == circumstances.alike(one, other, metric)
    for name in names - {"extent", "n"}:
        if getattr(one, name) != getattr(other, name):
            assert not circumstances.alike(one, other, metric)
