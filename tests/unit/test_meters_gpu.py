"""The GPUs' meters: NVML over a small library of our own, AMD SMI over a stand-in of its Python package."""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from shakedown.errors import Unavailable
from shakedown.metering.meters import Status, amdsmi, nvml
from support import nvml as fake
from support.sources import by_id, channel, opened
from support.waiting import until

# ------------------------------------------------------------------------------------------------------------------ NVML


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fake.build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def says(library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file that the fake library answers from; the library is put where pynvml keeps its own."""
    import pynvml

    path = tmp_path / "says.txt"
    monkeypatch.setattr(pynvml, "nvmlLib", ctypes.CDLL(str(library)))
    monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {})
    monkeypatch.setenv("FAKE_NVML", str(path))
    fake.say(path, fake.H100)
    yield path


def test_nvml_reads_power_energy_and_temperature(says: Path) -> None:
    source = opened("nvml")
    got = {key: one.value for key, one in by_id(source).items()}
    assert got == pytest.approx(
        {
            "nvml/gpu0/average": 310.250,
            "nvml/gpu0/instant": 345.0,
            "nvml/gpu0/energy": 123_456.789,
            "nvml/gpu0/temperature": 61.0,
        }
    )
    instant, average = channel(source, "nvml/gpu0/instant"), channel(source, "nvml/gpu0/average")
    assert (instant.window_s, instant.refresh_s, average.window_s) == (0.025, 0.1, 1.0)
    assert "25 of 100 ms" in instant.note and instant.driver == "535.104.05" and "H100" in instant.device
    assert instant.most_w == 700.0
    energy = channel(source, "nvml/gpu0/energy")
    assert energy.scope == "counter" and energy.modulus is None and energy.resolution == 1e-3
    source.close()
    source.close()
    assert {one.status for one in source.read()} == {Status.GAP}


def test_nvml_refusals_and_losses_are_states(says: Path) -> None:
    source = opened("nvml")
    for word, status in (("refused", Status.REFUSED), ("lost", Status.GAP), (str(2**32 - 1), Status.UNSUPPORTED)):
        fake.say(says, fake.H100 | {"average": word, "energy": word, "temperature": "lost"})
        said = by_id(source)
        assert (said["nvml/gpu0/average"].status, said["nvml/gpu0/average"].value) == (status, None)
        assert said["nvml/gpu0/temperature"].status is Status.GAP
        assert said["nvml/gpu0/instant"].status is Status.OK
    fake.say(says, fake.H100)
    assert {one.status for one in source.read()} == {Status.OK}
    source.close()


def test_nvml_shows_a_gpu_that_fell_off_the_bus(says: Path) -> None:
    fake.say(says, fake.H100, fake.H100 | {"handle": "lost"})
    source = opened("nvml")
    lost = by_id(source)["nvml/gpu1/power"]
    assert lost.status is Status.GAP and lost.value is None
    assert "lost" in channel(source, "nvml/gpu1/power").note and "Xid" in channel(source, "nvml/gpu1/power").note
    source.close()


def test_nvml_module_scope_holds_the_gpu(says: Path) -> None:
    hopper = fake.H100 | {"name": "NVIDIA GH200 480GB", "module.average": 512_000, "module.instant": 530_000}
    fake.say(says, hopper)
    source = opened("nvml")
    module = channel(source, "nvml/module0/average")
    assert by_id(source)["nvml/module0/average"].value == 512.0 and module.place == "board" and module.within == ""
    assert channel(source, "nvml/gpu0/energy").within == channel(source, "nvml/gpu0/instant").within == module.id
    source.close()
    # The scope of the GPU may be refused while that of the module is not.
    fake.say(says, hopper | {"average": "refused", "instant": "refused"})
    source = opened("nvml")
    said = by_id(source)
    assert said["nvml/gpu0/average"].status is Status.REFUSED and said["nvml/module0/average"].value == 512.0
    source.close()


def test_nvml_without_the_fields_reads_what_its_chip_means(says: Path) -> None:
    old = {key: value for key, value in fake.H100.items() if key not in ("average", "instant", "energy")}
    fake.say(says, old | {"arch": 5, "name": "Tesla V100-SXM2-16GB", "usage": 250_000})
    source = opened("nvml")
    assert {key: one.value for key, one in by_id(source).items()} == {
        "nvml/gpu0/power": 250.0,
        "nvml/gpu0/temperature": 61.0,
    }
    assert channel(source, "nvml/gpu0/power").window_s == 0.010
    source.close()


@pytest.mark.parametrize(
    ("architecture", "name", "driver", "window_s"),
    [
        (7, "NVIDIA A100-SXM4-40GB", "535.1", 0.025),
        (7, "NVIDIA GeForce RTX 3090", "525.60", 1.0),
        (7, "NVIDIA GeForce RTX 3090", "530.30", 0.1),
        (7, "NVIDIA GeForce RTX 3090", "535.54", 1.0),
        (9, "NVIDIA H100 PCIe", "535.1", 1.0),
        (6, "Quadro RTX 8000", "535.1", 0.02),
        (6, "NVIDIA GeForce RTX 2080 Ti", "535.1", 0.1),
        (2, "Tesla K40m", "470.1", None),
    ],
)
def test_power_usage_means_what_the_study_found(
    architecture: int, name: str, driver: str, window_s: float | None
) -> None:
    assert nvml.usage(architecture, name, driver).window_s == window_s


def test_a_driver_that_hangs_costs_gaps_and_not_the_reader(says: Path) -> None:
    source = opened("nvml?limit=0.05")
    assert {one.status for one in source.read()} == {Status.OK}
    threads = threading.active_count()
    fake.say(says, fake.H100 | {"instant": "hang"})
    for _ in range(3):
        assert {(one.status, one.value) for one in source.read()} == {(Status.GAP, None)}
    assert threading.active_count() == threads  # one thread hangs, however often it is asked
    fake.say(says, fake.H100)
    until(lambda: {one.status for one in source.read()} == {Status.OK}, what="it never came back", every_s=0.01)
    source.close()


def test_a_driver_that_hangs_at_its_start_is_unavailable(says: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml, "_OPEN_LIMIT_S", 0.05)
    fake.say(says, fake.H100, driver="hang")
    with pytest.raises(Unavailable, match="does not answer"):
        opened("nvml")
    fake.say(says, fake.H100)  # lets the thread go


def test_nvml_finds_its_library_by_name(library: Path, tmp_path: Path) -> None:
    fake.say(tmp_path / "says.txt", fake.H100)
    code = (
        "from shakedown.metering import meters; from shakedown.hosts.access import LocalHost\n"
        "s = meters.get('nvml').open(meters.parse_target('nvml'), LocalHost()); print(len(s.read())); s.close()"
    )
    env = os.environ | {"LD_LIBRARY_PATH": str(library.parent), "FAKE_NVML": str(tmp_path / "says.txt")}
    env["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "4\n"), done.stderr


# --------------------------------------------------------------------------------------------------------------- AMD SMI


class Refused(Exception):
    """As amdsmi's AmdSmiLibraryException."""

    def __init__(self, err_code: int) -> None:
        super().__init__(f"Error code:\n\t{err_code}")
        self.err_code = err_code


def fake_amdsmi(*gpus: dict[str, Any]) -> ModuleType:
    """The functions of the package ``amdsmi`` that the meter calls, over dictionaries; an int in place of an answer is the
    library's error of that code."""

    def answer(key: str) -> Any:
        def ask(handle: dict[str, Any], *_: object) -> Any:
            said = handle.get(key, 2)
            if isinstance(said, int) and key != "temperature":
                raise Refused(said)
            return said

        return ask

    module = ModuleType("amdsmi")
    vars(module).update(
        AmdSmiException=Refused,
        AmdSmiTemperatureType=SimpleNamespace(HOTSPOT=1),
        AmdSmiTemperatureMetric=SimpleNamespace(CURRENT=0),
        amdsmi_init=lambda: None,
        amdsmi_shut_down=lambda: None,
        amdsmi_get_processor_handles=lambda: list(gpus),
        amdsmi_get_gpu_asic_info=answer("asic"),
        amdsmi_get_power_info=answer("power"),
        amdsmi_get_energy_count=answer("energy"),
        amdsmi_get_temp_metric=answer("temperature"),
        amdsmi_get_power_cap_info=answer("cap"),
        amdsmi_get_gpu_driver_info=answer("driver"),
        amdsmi_get_gpu_vbios_info=answer("bios"),
        amdsmi_get_gpu_device_bdf=answer("bdf"),
    )
    return module


MI300 = {
    "asic": {"market_name": "AMD Instinct MI300X"},
    "power": {"current_socket_power": 612, "average_socket_power": "N/A"},
    "energy": {"energy_accumulator": 10**12, "counter_resolution": 15.259, "timestamp": 1},
    "temperature": 61,
    "cap": {"max_power_cap": 750_000_000},
    "driver": {"driver_name": "amdgpu", "driver_version": "6.10.5"},
}


def test_amdsmi_current_power_and_accumulator_times_resolution(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "amdsmi", fake_amdsmi(MI300))
    source = opened("amdsmi")
    said = by_id(source)
    assert said["amdsmi/gpu0/current"].value == 612.0
    assert said["amdsmi/gpu0/energy"].value == pytest.approx(15_259_000.0)
    assert said["amdsmi/gpu0/temperature"].value == 61.0
    assert source.channels[0].most_w == 1500.0 and source.channels[0].driver == "amdgpu 6.10.5"
    source.close()
    source.close()


def test_amdsmi_one_reading_for_both_dies_of_an_mi250(monkeypatch: pytest.MonkeyPatch) -> None:
    first = MI300 | {
        "asic": {"market_name": "AMD Instinct MI250X"},
        "power": {"current_socket_power": "N/A", "average_socket_power": 489},
    }
    second = first | {
        "power": {"current_socket_power": "N/A", "average_socket_power": 0},
        "energy": {"energy_accumulator": 0, "counter_resolution": 15.3, "timestamp": 1},
    }
    monkeypatch.setitem(sys.modules, "amdsmi", fake_amdsmi(first, second))
    source = opened("amdsmi")
    said = by_id(source)
    assert said["amdsmi/gpu0/average"].value == 489.0 and channel(source, "amdsmi/gpu0/average").scope == "last"
    assert said["amdsmi/gpu1/average"].status is said["amdsmi/gpu1/energy"].status is Status.UNSUPPORTED
    assert "second die" in channel(source, "amdsmi/gpu1/average").note
    assert "both dies" in channel(source, "amdsmi/gpu0/average").note
    source.close()


@pytest.mark.parametrize("none", ["N/A", 0xFFFF, 0xFFFFFFFF, None])
def test_amdsmi_sentinels_are_unsupported(none: object, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = MI300 | {"power": {"current_socket_power": 300, "average_socket_power": none}}
    monkeypatch.setitem(sys.modules, "amdsmi", fake_amdsmi(gpu))
    source = opened("amdsmi")
    gpu["power"]["current_socket_power"] = none
    assert by_id(source)["amdsmi/gpu0/current"][4:] == (None, Status.UNSUPPORTED)
    for code, status in ((10, Status.REFUSED), (2, Status.UNSUPPORTED), (30, Status.GAP)):
        gpu["power"] = gpu["energy"] = code  # type: ignore[assignment]
        assert {by_id(source)[f"amdsmi/gpu0/{ask}"].status for ask in ("current", "energy")} == {status}
    source.close()


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("print('no libamd_smi.so here')\nraise KeyError('libamd_smi.so')", "no libamd_smi.so here"),
        ("raise OSError('bad ELF')", "bad ELF"),
        ("raise ImportError('x')", "not installed"),
    ],
)
def test_an_amdsmi_that_cannot_be_imported_is_unavailable_and_quiet(
    code: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "amdsmi.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "amdsmi", raising=False)
    with pytest.raises(Unavailable, match=why) as told:
        amdsmi.load()
    assert "ROCm" in told.value.hint
    assert capfd.readouterr() == ("", "")
    with contextlib.suppress(KeyError):
        del sys.modules["amdsmi"]


def test_amdsmi_without_gpus_or_driver_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "amdsmi", fake_amdsmi())
    with pytest.raises(Unavailable, match="no GPU"):
        opened("amdsmi")
    module = fake_amdsmi(MI300)

    def fail() -> None:
        raise Refused(34)

    vars(module)["amdsmi_init"] = fail
    monkeypatch.setitem(sys.modules, "amdsmi", module)
    with pytest.raises(Unavailable, match="Error code: 34"):
        opened("amdsmi")
