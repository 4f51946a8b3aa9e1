"""What a rehearsal cluster may be asked to be, and what is kept of it."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.errors import BadInput
from shakedown.rehearsal_cluster import settings
from shakedown.rehearsal_cluster.settings import Description, Link, Settings


@pytest.mark.parametrize(
    ("text", "value"), [("1Gbit", 1e9), ("100 Mbit/s", 1e8), ("64kbit", 64e3), ("2.5Gbps", 2.5e9), ("9600bit", 9600.0)]
)
def test_rates(text: str, value: float) -> None:
    assert settings.parse_rate(text) == value


@pytest.mark.parametrize(("text", "value"), [("1ms", 1e-3), ("250us", 250e-6), ("0.5 s", 0.5)])
def test_delays(text: str, value: float) -> None:
    assert settings.parse_delay(text) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(("text", "value"), [("0.1%", 0.001), ("0.25", 0.25), ("0", 0.0)])
def test_losses(text: str, value: float) -> None:
    assert settings.parse_loss(text) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("text", ["", "fast", "1", "1 GB/s", "1..2Gbit", "Gbit", "nan bit"])
def test_what_is_no_rate_is_refused_with_examples(text: str) -> None:
    with pytest.raises(BadInput, match="100Mbit"):
        settings.parse_rate(text)


@pytest.mark.parametrize("text", ["1", "1m", "soon"])
def test_what_is_no_delay_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="1ms"):
        settings.parse_delay(text)


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        ({"nodes": 0}, "nodes 0"),
        ({"nodes": 201}, "nodes 201"),
        ({"gpus": -1}, "gpus -1"),
        ({"cpus": 0}, "cpus 0"),
        ({"gpu_type": "h200 Name=x"}, "gpu-type"),
        ({"engines": ()}, "no engine"),
        ({"link": Link(loss=1.0)}, "loss of 100"),
        ({"link": Link(delay_s=-1.0)}, "delay of -1"),
        ({"link": Link(rate_bit_s=1.0)}, "rate of 1"),
        ({"link": Link(rate_bit_s=float("nan"))}, "rate of nan"),
        ({"link": Link(delay_s=float("nan"))}, "delay of nan"),
    ],
)
def test_what_cannot_be_is_refused(asked: dict[str, object], what: str) -> None:
    with pytest.raises(BadInput, match=what):
        settings.check(Settings(**asked), Path("/tmp/lab"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "path", ["/tmp/" + "x" * 80, "/tmp/two words", "/tmp/a#b", "/tmp/a%nb", "/tmp/a,b", "/tmp/a\nb"]
)
def test_a_path_that_sockets_or_configuration_cannot_hold_is_refused(path: str) -> None:
    with pytest.raises(BadInput):
        settings.check_directory(Path(path))


@given(st.integers(1, settings.MOST_NODES))
def test_every_host_has_addresses_of_its_own(count: int) -> None:
    hosts = (settings.CONTROLLER, *settings.node_names(count))
    four = {ip_address(settings.address4(host)) for host in hosts}
    six = {ip_address(settings.address6(host)) for host in hosts}
    assert len(four) == len(six) == count + 1
    assert len({settings.mac(host) for host in hosts[1:]}) == count


def test_the_description_comes_back_as_it_was_written(tmp_path: Path) -> None:
    asked = Settings(nodes=3, engines=("gridengine", "slurm"), link=Link(rate_bit_s=1e9, loss=0.01))
    written = Description(version="1", settings=asked, layout="user", links={"node1": Link(cut=True)}, init_pid=7)
    settings.save(tmp_path, written)
    assert settings.load(tmp_path) == written


def test_no_description_is_none_and_a_wrong_one_is_an_error(tmp_path: Path) -> None:
    assert settings.load(tmp_path) is None
    for text in ('{"schema": 1', "[]", '{"schema":2,"version":"9","settings":{},"layout":"root"}'):
        (tmp_path / "cluster.json").write_text(text)
        with pytest.raises(BadInput, match=r"cluster\.json"):
            settings.load(tmp_path)


def test_a_link_is_repaired_also_by_the_old_name() -> None:
    from shakedown.cli.cluster import node

    named = {one.name: one for one in node.registered_commands}
    assert named["mend"].callback is named["repair"].callback
    assert named["mend"].hidden and not named["repair"].hidden
