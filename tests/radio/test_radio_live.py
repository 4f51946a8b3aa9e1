"""The live server over real sockets, in a network of its own: what goes in, what comes out, who is too slow, how it
ends."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from shakedown.errors import BadInput, CannotMeasure
from shakedown.radio.serve import addresses, sockets
from shakedown.radio.serve.loop import ServeConfig, Served, Server, Wake
from shakedown.radio.serve.updater import Settings
from shakedown.radio.wire import eel, emane, lines, losses, nmea, traces
from support.own_network import in_own_network
from support.radio_free_space import FreeSpace, flat
from support.waiting import until

pytestmark = [pytest.mark.needs("root", "ip")]

GROUP = "emane:224.1.2.8:45703@lo"
USABLE_DB = 110.0
UUID = b"a sender of ours"


def config(inputs: list[str], outputs: list[str], **more: object) -> ServeConfig:
    said = ServeConfig(
        tuple(one for text in inputs for one in addresses.inputs(text)),
        tuple(map(addresses.output, outputs)),
        Settings(above_db=0.2, usable_db=USABLE_DB),
        every_s=0.05,
        refresh_s=0.0,
        gather_s=0.0,
    )
    return said._replace(**more)  # type: ignore[arg-type]


class Serving:
    """A server in a thread of its own."""

    def __init__(self, asked: ServeConfig, engine: FreeSpace | None = None) -> None:
        terrain = flat()
        self.engine = engine or FreeSpace(terrain)
        self.wake = Wake()
        self.server = Server(asked, self.engine, terrain, self.wake)
        self.served: Served | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        self.served = self.server.run()

    def wait(self) -> Served:
        """Until it ends by itself."""
        self._thread.join(300)
        assert self.served is not None, "it has not ended"
        self.wake.close()
        return self.served

    def stop(self) -> Served:
        self.wake.stop()
        return self.wait()


@contextlib.contextmanager
def listening() -> Iterator[list[bytes]]:
    """All datagrams that come to the group, from now on and until the block ends, however many still come."""
    heard: list[bytes] = []
    with sockets.join(emane.GROUP, emane.PORT, "lo") as socket_:
        socket_.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        socket_.settimeout(0.05)
        over = threading.Event()

        def hear() -> None:
            while not over.is_set():
                with contextlib.suppress(TimeoutError):
                    heard.append(socket_.recv(65536))

        thread = threading.Thread(target=hear)
        thread.start()
        try:
            yield heard
        finally:
            over.set()
            thread.join()


def told(datagrams: list[bytes]) -> tuple[dict[tuple[int, int], float], int, list[int]]:
    """Losses by receiver and transmitter as told last, how many entries there were, and sequence numbers."""
    found: dict[tuple[int, int], float] = {}
    count, sequence = 0, []
    for datagram in datagrams:
        event = emane.decode(datagram)
        sequence.append(event.sequence)
        for one in event.serializations:
            assert one.event == emane.PATH_LOSS
            entries = losses.decode(one.data)
            count += entries.total
            found |= {
                (one.radio, other): loss
                for other, loss in zip(entries.transmitter.tolist(), entries.loss_db.tolist(), strict=True)
            }
    return found, count, sequence


def truth(serving: Serving) -> dict[tuple[int, int], float]:
    """Usable losses by ids, both ways."""
    ids = serving.server.radios.take().ids.tolist()
    table = serving.engine.losses()
    return {
        (ids[i], ids[j]): float(table[i, j])
        for i, j in zip(*np.nonzero(table <= USABLE_DB), strict=True)
        if i != j and np.isfinite(table[i, j])
    }


def same(found: dict[tuple[int, int], float], expected: dict[tuple[int, int], float], rounding_db: float = 0.0) -> None:
    """What was told is the truth within the threshold, and ``rounding_db``, which may also hide a link at the limit."""
    usable = {pair: loss for pair, loss in found.items() if loss <= USABLE_DB}
    assert all(abs(found[pair] - USABLE_DB) <= rounding_db for pair in usable.keys() ^ expected.keys())
    assert all(abs(loss - expected.get(pair, loss)) <= 0.2001 + rounding_db for pair, loss in usable.items())


def moving(path: Path, count: int, updates: int, share: float, every_s: float = 0.05) -> Path:
    """A trace: all radios at once, then a share of them elsewhere in each interval."""
    rng = np.random.Generator(np.random.PCG64(3))
    ids = rng.permutation(np.arange(1, 20_000))[:count].tolist()
    rows = []
    for number in range(updates):
        chosen = ids if not number else rng.choice(ids, max(1, round(share * count)), replace=False).tolist()
        for radio in chosen:
            latitude, longitude = (np.array([47.0, 11.0]) + rng.random(2)).tolist()
            rows.append(lines.Position(radio, latitude, longitude, height_m=2.0, time_s=number * every_s))
    traces.write(path, rows)
    return path


def test_a_reader_that_keeps_up_gets_every_event(tmp_path: Path) -> None:
    """200 radios, a tenth of them moving in each of 20 intervals: all entries are heard, once, in order, and what was
    told is the truth, by datagrams, by JSON and in the EEL file."""
    trace = moving(tmp_path / "t.jsonl", 200, 20, 0.1)

    def body() -> None:
        with listening() as heard:
            serving = Serving(config([f"trace:{trace}"], [GROUP, f"eel:{tmp_path}/t.eel", f"json:{tmp_path}/t.sock"]))
            report, error = serving.wait()
            until(lambda: len(heard) >= report.datagrams, every_s=0.02)
        found, count, sequence = told(heard)
        assert error is None and report.ended == "the end of its input" and report.entries_not_sent == 0
        assert count == report.entries and sequence == list(range(1, len(heard) + 1)) and len(heard) == report.datagrams
        assert (report.radios, report.positions, report.moves) == (200, 200 + 19 * 20, report.moves)
        expected = truth(serving)
        assert len(expected) > 1000
        same(found, expected)
        of_file: dict[tuple[int, int], float] = {}
        for batch in eel.batches((tmp_path / "t.eel").read_text(), "t.eel"):
            of_file |= {
                (radio, one): loss.forward_db for radio, each in batch.losses.items() for one, loss in each.items()
            }
        same(of_file, expected, 0.0051)
        assert not (tmp_path / "t.sock").exists()

    in_own_network(body)


def test_who_comes_late_is_told_everything_within_the_stated_time(tmp_path: Path) -> None:
    trace = moving(tmp_path / "t.jsonl", 60, 2, 0.1)

    def body() -> None:
        serving = Serving(config([f"trace:{trace}", "json:udp:5000"], [GROUP], refresh_s=0.3))
        until(lambda: serving.server.tally.updates > 3, every_s=0.02)
        with listening() as heard:
            until(lambda: told(list(heard))[0].keys() >= truth(serving).keys(), every_s=0.02)
        report, _ = serving.stop()
        same(told(heard)[0], truth(serving))
        assert report.entries_refreshed > 0 and report.ended == "a signal"

    in_own_network(body)


def test_positions_come_in_by_every_way_and_what_is_malformed_is_counted() -> None:
    def body() -> None:
        asked = config([GROUP, "nmea:udp:5001-5002=21", "json:udp:5003", "json:listen:127.0.0.1:5004",
                        "nmea:tcp:127.0.0.1:5005"], [GROUP])  # fmt: skip
        with socket.create_server(("127.0.0.1", 5005)) as gps:
            serving = Serving(asked)
            made, address = sockets.sender(emane.GROUP, emane.PORT, "lo")
            place = emane.encode_locations([emane.Location(11, 47.1, 11.1, 600), emane.Location(12, 47.2, 11.1, 600)])
            events = (emane.Serialization(0, emane.LOCATION, place), emane.Serialization(0, 103, b"?"))
            made.sendto(emane.encode(emane.Event(UUID, 1, events)), address)
            made.sendto(b"\x00\x01", address)
            udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            udp.sendto(nmea.write(None, 47.3, 11.1, 600).encode() + b"\r\n", ("127.0.0.1", 5001))
            udp.sendto(nmea.write(None, 47.3, 11.2, 600).encode(), ("127.0.0.1", 5002))
            udp.sendto(b"$GPGGA,*00", ("127.0.0.1", 5002))
            both = [lines.Position(31, 47.4, 11.1), lines.Position(32, 47.4, 11.2, height_m=5.0)]
            udp.sendto(b"".join(map(lines.write_position, both)), ("127.0.0.1", 5003))
            udp.sendto(b'{"id": 1}', ("127.0.0.1", 5003))
            with socket.create_connection(("127.0.0.1", 5004)) as feed:
                feed.sendall(lines.write_position(lines.Position(41, 47.5, 11.1)) + b"x" * 9000 + b"\n{\n")
                feed.sendall(lines.write_position(lines.Position(42, 95.0, 11.1)))
            accepted, _ = gps.accept()
            accepted.sendall(nmea.write(51, 47.6, 11.1, 600).encode() + b"\n")
            until(lambda: serving.server.radios.count == 8, every_s=0.02)
            until(lambda: sum(serving.server.tally.malformed.values()) == 5, every_s=0.02)
            accepted.close()
            until(lambda: serving.server.tally.sources_ended, every_s=0.02)
            report, error = serving.stop()
            made.close()
            udp.close()
        assert error is None and sum(report.positions_refused.values()) == 6
        assert report.positions_refused["a latitude that is not from -90 to 90"] == 1
        assert report.positions_refused["a line that is too long"] == 1

    in_own_network(body)


def test_a_flood_of_nonsense_keeps_no_sound_position_out() -> None:
    """Each datagram of the flood was read and refused, or is among those that the kernel says it lost."""

    def body() -> None:
        serving = Serving(config(["json:udp:5003", "emane@lo"], []))
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        for _ in range(20_000):
            udp.sendto(b"\x00nonsense", ("127.0.0.1", 5003))

        def sound_arrives() -> bool:
            udp.sendto(lines.write_position(lines.Position(7, 47.5, 11.5)), ("127.0.0.1", 5003))
            return serving.server.radios.count == 1

        until(sound_arrives, every_s=0.02)
        report, _ = serving.stop()
        udp.close()
        assert report.positions_refused["JSON: not JSON"] + report.positions_lost_in_kernel >= 20_000
        assert report.positions_refused["JSON: not JSON"] <= 20_000

    in_own_network(body)


def test_a_reader_that_stops_is_dropped_and_holds_up_nobody(tmp_path: Path) -> None:
    trace = moving(tmp_path / "t.jsonl", 150, 30, 0.5)
    path = f"{tmp_path}/t.sock"

    def body() -> None:
        asked = config([f"trace:{trace}", "json:udp:5003"], [f"json:{path}"], reader_bytes=20_000, patience_s=4.0)
        serving = Serving(asked)
        stopped, good = (socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) for _ in range(2))
        stopped.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        for one in (stopped, good):
            one.connect(path)
        good.settimeout(300)
        said: dict[tuple[int, int], float | None] = {}
        updates = []
        with good.makefile("rb") as file:
            while serving.server.tally.readers_dropped == 0 or len(updates) < 25 or not _settled(serving, said):
                line = lines.read_losses(file.readline())
                if line.whole and line.part == 1:
                    said.clear()
                said |= {link[:2]: link[2] for link in line.links}
                updates.append(line.update)
                assert len(updates) < 5000, "the good reader never agreed with the truth"
        report, _ = serving.stop()
        stopped.close()
        good.close()
        assert updates == sorted(updates)
        assert report.readers == 2 and report.readers_dropped == 1 and report.updates_skipped_for_readers > 0

    in_own_network(body)


def _settled(serving: Serving, said: dict[tuple[int, int], float | None]) -> bool:
    if serving.server.radios.count < 150 or serving.server.tally.updates < 35:
        return False
    usable = {pair for pair, loss in said.items() if loss is not None}
    return usable == {pair for pair in truth(serving) if pair[0] < pair[1]}


def test_an_engine_that_dies_ends_it_with_its_error_and_its_report(tmp_path: Path) -> None:
    trace = moving(tmp_path / "t.jsonl", 20, 40, 0.2)

    def body() -> None:
        terrain = flat()
        report, error = Serving(config([f"trace:{trace}"], [GROUP]), FreeSpace(terrain, die_at=4)).wait()
        assert isinstance(error, CannotMeasure) and "exit code 9" in str(error)
        assert (report.ended, report.updates, report.radios) == ("an error", 3, 20)

    in_own_network(body)


def test_as_fast_as_it_goes_every_interval_is_updated(tmp_path: Path) -> None:
    trace = moving(tmp_path / "t.jsonl", 50, 100, 0.1)

    def body() -> None:
        begun_s = time.monotonic()
        asked = config([f"trace:{trace}"], [f"eel:{tmp_path}/t.eel"], speed=0.0)
        report, error = Serving(asked).wait()
        assert error is None and (report.updates, report.skipped) == (100, 0)
        times_s = [batch.time_s for batch in eel.batches((tmp_path / "t.eel").read_text(), "t.eel")]
        assert times_s[0] == 0 and times_s[-1] == pytest.approx(99 * 0.05)
        assert time.monotonic() - begun_s < 300

    in_own_network(body)


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        (lambda folder: (["emane@nosuch0"], []), "no interface 'nosuch0'"),
        (lambda folder: (["emane:10.0.0.1:5000"], []), "not a multicast group"),
        (lambda folder: ([], ["emane:10.0.0.1:5000"]), "not a multicast group"),
        (lambda folder: (["trace:/nosuch.csv"], []), "cannot be read"),
        (lambda folder: ([], [f"eel:{folder}"]), "there already"),
        (lambda folder: ([], ["eel:/nosuch/x.eel"]), "cannot be opened"),
        (lambda folder: (["json:udp:5003", "json:udp:5003"], []), "cannot be opened"),
        (lambda folder: ([], ["json:127.0.0.1:5003", "json:127.0.0.1:5003"]), "cannot be opened"),
        (lambda folder: ([], ["json:/nosuch/x.sock"]), "cannot be opened"),
    ],
)
def test_what_cannot_be_opened_is_named(
    tmp_path: Path, asked: Callable[[Path], tuple[list[str], list[str]]], what: str
) -> None:
    def body() -> None:
        wake = Wake()
        with pytest.raises((BadInput, CannotMeasure)) as error:
            Server(config(*asked(tmp_path)), FreeSpace(flat()), flat(), wake)
        wake.close()
        assert what in str(error.value) and error.value.hint

    in_own_network(body)


def test_multicast_over_ipv6() -> None:
    def body() -> None:
        link = ["ip", "link", "add", "a0", "type", "veth", "peer", "name", "b0"]
        for words in (link, ["ip", "link", "set", "a0", "up"], ["ip", "link", "set", "b0", "up"]):
            if subprocess.run(words, capture_output=True).returncode:
                pytest.skip("this kernel has no veth")
        until(lambda: b"fe80" in subprocess.check_output(["ip", "-6", "address", "show", "a0", "-tentative"]))
        made, address = sockets.sender("ff02::7", 5000, "a0")
        with sockets.join("ff02::7", 5000, "b0") as receiver, made:
            receiver.settimeout(300)
            made.sendto(b"hello", address)
            assert receiver.recv(100) == b"hello"

    in_own_network(body)
