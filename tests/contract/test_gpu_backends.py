"""Every workload that can run on something else than GPUs: its cases say so, and no metric takes them for a GPU's."""

from __future__ import annotations

import pytest

from shakedown import workloads
from shakedown.analysis.values import void
from shakedown.records import Params, Value

BACKED = [one for one in map(workloads.get, workloads.names()) if "backend" in one.params]


def marked(workload: workloads.Workload, **given: Value) -> Params:
    """What the parameters of a run add to those of its cases."""
    params = workloads.check_params(workload, given)
    names = workload.marks(params) if callable(workload.marks) else workload.marks
    return {name: params[name] for name in names if params[name] != ""}


def test_they_are_found() -> None:
    assert len(BACKED) >= 9


@pytest.mark.parametrize("workload", BACKED, ids=lambda one: one.name)
def test_what_the_host_gave_is_no_figure_of_a_gpu(workload: workloads.Workload) -> None:
    for metric in workload.metrics:
        for backend in ("host", "host:2"):
            assert void(metric, marked(workload, backend=backend)), f"{metric.name} takes backend {backend} for a GPU"
        assert not void(metric, marked(workload)), f"{metric.name} does not take its default backend"


@pytest.mark.parametrize("name", ["hpl_gpu", "hpl_mxp"])
def test_ranks_that_share_a_device_and_results_that_no_check_saw_are_none_either(name: str) -> None:
    workload = workloads.get(name)
    for metric in workload.metrics:
        assert "share a device" in void(metric, marked(workload, share_devices=True))
        assert "not verified" in void(metric, marked(workload, check="not verified"))
