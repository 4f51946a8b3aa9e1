"""What `shakedown radio serve` decides, without a clock and without a socket."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shakedown.radio.serve.book import NO_LINK_DB, Book, Links, entries
from shakedown.radio.serve.radios import Radios
from shakedown.radio.serve.schedule import Outbox, Schedule
from shakedown.radio.serve.updater import Job, Settings, Updater
from shakedown.radio.wire import emane, lines
from shakedown.radio.wire.losses import Datagram, Entries, Packer
from support.radio_free_space import FreeSpace, flat

# ------------------------------------------------------------------------------------------------------------ the schedule


def test_an_update_that_takes_too_long_leaves_intervals_out_and_they_are_counted() -> None:
    schedule = Schedule(100.0, 0.5)
    assert schedule.due(100.49) is None and schedule.next_s() == 100.5
    assert schedule.due(100.5) == 1
    schedule.begin(1)
    assert schedule.due(100.99) is None and schedule.skipped == 0
    assert schedule.due(102.7) == 5, "the latest alone: 2, 3 and 4 are past"
    schedule.begin(5)
    assert schedule.skipped == 3 and schedule.due_s(5) == 102.5 and schedule.next_s() == 103.0


@given(st.floats(0.05, 5), st.lists(st.floats(0.001, 8), max_size=60))
def test_every_interval_is_updated_or_skipped_once(every_s: float, took_s: list[float]) -> None:
    schedule, now_s, done = Schedule(7.0, every_s), 7.0, []
    for seconds in took_s:
        now_s = max(now_s, schedule.next_s() + 1e-6)
        number = schedule.due(now_s)
        assert number is not None and schedule.due_s(number) <= now_s + 1e-6 < schedule.due_s(number + 1) + 1e-5
        schedule.begin(number)
        done.append(number)
        now_s += seconds
    assert done == sorted(set(done)) and (not done or len(done) + schedule.skipped == done[-1])


def test_without_a_clock_each_follows_the_last() -> None:
    schedule = Schedule(100.0, 0.5, free=True)
    for number in (1, 2, 3):
        assert schedule.due(0.0) == number
        schedule.begin(number)
    assert schedule.skipped == 0 and schedule.next_s() == -math.inf


def datagrams(count: int, size: int = 1000) -> list[Datagram]:
    return [Datagram(bytes([at % 256]) * size, 7) for at in range(count)]


def test_datagrams_are_spread_evenly_and_keep_their_order() -> None:
    box = Outbox(most_bytes_per_s=1e9)
    box.put(datagrams(100), 10.0, 0.4)
    sent, now_s, last_s, most = [], 10.0, 0.0, 0
    while box.waiting:
        due = box.take(now_s)
        most = max(most, len(due))
        sent += due
        assert len(sent) <= 100 * (now_s - 10.0 + 0.002) / 0.4 + 1
        last_s, now_s = now_s, box.next_s(now_s)
    assert [one.data[0] for one in sent] == list(range(100)) and most <= 2 and 10.39 < last_s <= 10.41


def test_no_more_leave_than_may_and_what_waits_comes_first() -> None:
    box = Outbox(most_bytes_per_s=100_000)
    box.put(datagrams(100), 0.0, 0.4)
    assert box.end_s == pytest.approx(1.0)
    early = len(box.take(0.25))
    assert 24 <= early <= 27
    box.put(datagrams(3, 10), 0.25, 0.4)
    assert box.end_s == pytest.approx(0.25 + (100 - early) / 100, abs=0.001) and box.waiting == 103 - early
    assert box.entries == 7 * box.waiting
    rest = box.take(5.0)
    assert rest[-1].data == b"\x02" * 10 and box.waiting == 0 and box.next_s(5.0) == math.inf


@given(st.lists(st.tuples(st.integers(0, 50), st.floats(0, 1), st.floats(0, 1)), max_size=30))
def test_no_datagram_is_lost_on_its_way(puts: list[tuple[int, float, float]]) -> None:
    box, now_s, put, sent = Outbox(1e6), 0.0, 0, 0
    for count, spread_s, wait_s in puts:
        box.put(datagrams(count, 50), now_s, spread_s)
        put += count
        now_s += wait_s
        sent += len(box.take(now_s))
    assert sent + box.waiting == put and sent + len(box.take(now_s + 1e6)) == put


# ---------------------------------------------------------------------------------------------------------------- the book


def links(*rows: tuple[int, int, float]) -> Links:
    table = np.array(rows, np.float64).reshape(-1, 3)
    return Links(table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), table[:, 2].astype(np.float32))


def rows_of(found: Links) -> list[tuple[int, int, float]]:
    return list(zip(found.first.tolist(), found.second.tolist(), found.loss_db.tolist(), strict=True))


def test_links_come_change_and_cease() -> None:
    book = Book(above_db=1.0, usable_db=120.0)
    found = book.change(links((0, 2, 130), (0, 1, 100), (1, 2, 120), (2, 3, math.nan), (3, 4, -math.inf)))
    assert rows_of(found.links) == [(0, 1, 100), (1, 2, 120)] and not found.ceased.any()
    assert book.change(links((0, 1, 101), (1, 2, 119.5))).links.total == 0, "not above 1 dB"
    assert rows_of(book.change(links((0, 1, 101.5))).links) == [(0, 1, 101.5)], "of what was sent, it has crept"
    found = book.change(links((0, 1, 120.5), (1, 2, math.nan), (0, 2, 121)))
    assert found.ceased.all() and [row[:2] for row in rows_of(found.links)] == [(0, 1), (1, 2)]
    assert found.links.loss_db[0] == 120.5 and math.isnan(found.links.loss_db[1]) and book.total == 0


def test_what_is_found_as_a_whole_ends_what_is_not_in_it() -> None:
    book = Book(1.0, 120.0)
    book.change(links((0, 1, 100), (1, 2, 110)))
    found = book.change(links((0, 1, 100.25), (0, 3, 90)), whole=True)
    assert [row[:2] for row in rows_of(found.links)] == [(0, 1), (0, 3), (1, 2)] and found.ceased.tolist() == [0, 0, 1]
    assert rows_of(book.whole()) == [(0, 1, 100.25), (0, 3, 90)]


PAIR = st.tuples(st.integers(0, 12), st.integers(0, 12)).filter(lambda pair: pair[0] < pair[1])
LOSS = st.floats(50, 150, width=32) | st.sampled_from([math.nan, math.inf, -math.inf])


@settings(max_examples=50)
@given(st.lists(st.tuples(st.dictionaries(PAIR, LOSS), st.booleans()), max_size=8), st.floats(0, 10))
def test_a_receiver_that_hears_all_is_never_off_by_more_than_is_allowed(
    updates: list[tuple[dict[tuple[int, int], float], bool]], above_db: float
) -> None:
    """What it was told, beside the true losses: within ``above_db`` on every usable link, nothing where there is none."""
    book, truth, told = Book(above_db, 120.0), dict[tuple[int, int], float](), dict[tuple[int, int], float]()
    for found, whole in updates:
        truth = found if whole else {**truth, **found}
        sent = book.change(links(*((*pair, loss) for pair, loss in found.items())), whole=whole)
        for (i, j, loss), ceased in zip(rows_of(sent.links), sent.ceased.tolist(), strict=True):
            assert ceased == ((i, j) in told and not loss <= 120)
            told[i, j] = loss
            if ceased:
                del told[i, j]
        usable = {pair for pair, loss in truth.items() if math.isfinite(loss) and loss <= 120}
        assert told.keys() == usable and rows_of(book.whole()) == [(*pair, told[pair]) for pair in sorted(told)]
        assert all(abs(truth[pair] - told[pair]) <= above_db + 1e-4 for pair in usable)


def test_everybody_has_a_turn() -> None:
    book = Book(0.0, 200.0)
    count = 37
    pairs = [(i, j) for i in range(count) for j in range(i + 1, count) if (i + j) % 3]
    book.change(links(*((i, j, 100 + i) for i, j in pairs)))
    whole = set(zip(*(part.tolist() for part in entries(book.whole())), strict=True))
    turns = [book.turn(count, 0.3) for _ in range(4)]
    heard = [entry for one in turns for entry in zip(*(part.tolist() for part in one), strict=True)]
    assert set(heard) == whole and len(heard) == len(whole) == 2 * len(pairs)
    again = book.turn(count, 0.3)
    assert again.receiver.tolist() == turns[0].receiver.tolist(), "and then again from the first"
    assert book.turn(count, 0.0).total == 0 and book.turn(count, 5.0).total


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.dictionaries(PAIR, LOSS), st.booleans(), st.booleans()), max_size=8),
    st.floats(0.1, 1.0),
)
def test_who_lost_updates_is_right_again_after_a_turn(
    updates: list[tuple[dict[tuple[int, int], float], bool, bool]], share: float
) -> None:
    """Links that come and links that cease, each of them told or lost on the way; what is told again arrives."""
    book, told = Book(0.5, 120.0), dict[tuple[int, int], float]()

    def hear(found: Entries) -> None:
        told.update(((one, other), loss) for one, other, loss in zip(*(part.tolist() for part in found), strict=True))

    for found, whole, lost in updates:
        changes = book.change(links(*((*pair, loss) for pair, loss in found.items())), whole=whole)
        if not lost:
            hear(entries(changes.links))
        hear(book.turn(13, share))
    for _ in range(math.ceil(1 / share) + 1):
        hear(book.turn(13, share))
    heard = {pair: loss for pair, loss in told.items() if loss <= 120}
    everything = entries(book.whole())
    assert heard == {
        (one, other): loss for one, other, loss in zip(*(part.tolist() for part in everything), strict=True)
    }


def test_a_link_that_is_not_known_any_longer_is_heard_as_none() -> None:
    both = entries(links((1, 2, math.nan), (0, 2, 90)))
    assert both.receiver.tolist() == [0, 1, 2, 2] and both.transmitter.tolist() == [2, 2, 0, 1]
    assert both.loss_db.tolist() == [90, NO_LINK_DB, 90, NO_LINK_DB]


# ----------------------------------------------------------------------------------------------------------- the updates


def test_updates_over_an_engine_are_its_losses_within_what_is_allowed() -> None:
    """Up to 30 radios, 40 updates: what receivers were told, by datagrams and by JSON, is what the engine would say."""
    rng = np.random.Generator(np.random.PCG64(11))
    terrain = flat()
    engine = FreeSpace(terrain)
    settings = Settings(above_db=0.5, usable_db=105.0, refresh_share=0.1, json=True, eel=True)
    updater = Updater(engine, terrain, settings, Packer(bytes(16)))
    radios = Radios(100)
    ids = rng.permutation(np.arange(100, 400))[:30].tolist()
    told: dict[tuple[int, int], float] = {}
    said: dict[tuple[int, int], float] = {}
    for number in range(40):
        here = ids[: 3 + number]  # they come one after another
        for radio in here if not number else [here[-1], *rng.choice(here, 3).tolist()]:
            radios.receive(radio, *(np.array([46.98, 11.0]) + rng.random(2)), 2.0)
        update = updater.update(Job(number, number * 0.5, radios.take()))
        for one in update.datagrams:
            for to in emane.decode(one.data).serializations:
                told |= {(to.radio, loss[0]): loss[1] for loss in emane.decode_path_losses(to.data)}
        for text in update.lines:
            line = lines.read_losses(text)
            said |= {link[:2]: math.nan if link[2] is None else link[2] for link in line.links}
        _same(engine, radios, told, said)
        assert update.entries == sum(one.entries for one in update.datagrams)
        assert update.links == sum(not math.isnan(loss) for loss in said.values())
        assert all(len(sentence) < 2000 for sentence in update.sentences)


def _same(
    engine: FreeSpace, radios: Radios, told: dict[tuple[int, int], float], said: dict[tuple[int, int], float]
) -> None:
    ids = radios.take().ids.tolist()
    losses = engine.losses()
    for i, one in enumerate(ids):
        for j, other in enumerate(ids):
            if i == j:
                continue
            usable = losses[i, j] <= 105.0
            heard = told.get((one, other), NO_LINK_DB)
            assert (heard <= 105.0) == usable
            assert not usable or abs(heard - losses[i, j]) <= 0.5001
            if one < other:
                assert math.isnan(said.get((one, other), math.nan)) == (not usable)
                assert not usable or abs(said[one, other] - losses[i, j]) <= 0.506


def test_equal_positions_of_two_radios_are_no_link_and_harm_no_other() -> None:
    terrain = flat()
    engine = FreeSpace(terrain)
    updater = Updater(engine, terrain, Settings(0.0, 120.0), Packer(bytes(16)))
    radios = Radios(10)
    for radio in (1, 2):
        radios.receive(radio, 47.5, 11.5)
    radios.receive(3, 47.6, 11.5)
    radios.receive(4, 10.0, 10.0)
    update = updater.update(Job(0, 0.0, radios.take()))
    assert (update.links, update.not_known) == (2, {"off the map": 1})
    radios.receive(1, 47.5, 11.6)
    assert updater.update(Job(1, 0.5, radios.take())).links == 3


def test_an_update_in_which_nobody_moved_asks_no_engine() -> None:
    engine = FreeSpace(flat())
    updater = Updater(engine, flat(), Settings(0.0, 120.0, json=True), Packer(bytes(16)))
    update = updater.update(Job(0, 0.0, Radios(1).take(), whole=True))
    assert engine.calls == 0 and not update.datagrams and len(update.lines) == 1 and len(update.whole or []) == 1
