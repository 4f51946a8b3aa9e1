"""The thin loop at the edge: waits on sockets and the clock, and does what the deciders beside it say."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import uuid
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple, TypeVar

from ... import times
from ...errors import ShakedownError
from ..terrain import Terrain
from ..wire import traces
from ..wire.losses import USUAL_LIMIT_BYTES, Packer
from .addresses import Input, Output
from .delivery import Delivery
from .inputs import Playback, Source, Stream, opened
from .outputs import EelFile, Group, Readers
from .radios import Radios
from .schedule import SPREAD, Outbox, Schedule
from .tally import ServeReport, Tally, line
from .updater import Job, LossEngine, Settings, Update, Updater

_READ, _WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
#: A state is said so often, and the loop turns at least so often.
_SAY_S, _TURN_S = 10.0, 0.5
#: Readers that still have lines to take when a signal ends it.
_FLUSH_S = 0.5


_Sink = TypeVar("_Sink", Group, Readers, EelFile)


class ServeConfig(NamedTuple):
    """What is served. ``settings`` are those of an update; ``refresh_s``: within so long everybody is told again what
    was not changed, 0 for never. ``speed``: of traces, 1 for real time, 0 for as fast as it goes. ``gather_s``:
    positions are gathered so long before the first update. ``seconds``: the end, 0 for none."""

    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    settings: Settings
    every_s: float = 0.5
    refresh_s: float = 10.0
    most_radios: int = 5000
    limit_bytes: int = USUAL_LIMIT_BYTES
    most_bytes_per_s: float = 12.5e6
    reader_bytes: int = 64 << 20
    patience_s: float = 10.0
    speed: float = 1.0
    gather_s: float = 2.0
    seconds: float = 0.0


class Served(NamedTuple):
    """What was done; ``error`` is what ended it, where something did."""

    report: ServeReport
    error: ShakedownError | None


class Wake:
    """Ends the loop's waiting from another thread or a signal; ``stop`` ends the loop."""

    def __init__(self) -> None:
        self.heard, self._say = socket.socketpair()
        self.heard.setblocking(False)
        self._say.setblocking(False)
        self.stopped = False

    def wake(self) -> None:
        with contextlib.suppress(OSError):
            self._say.send(b".")

    def stop(self) -> None:
        self.stopped = True
        self.wake()

    def clear(self) -> None:
        with contextlib.suppress(OSError):
            self.heard.recv(4096)

    def close(self) -> None:
        self.heard.close()
        self._say.close()

    @contextlib.contextmanager
    def on_signals(self) -> Iterator[None]:
        """SIGINT and SIGTERM stop the loop."""
        before = {number: signal.signal(number, lambda *_: self.stop()) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


class Server:
    """Opens all that is read and written; ``run`` serves. Raises BadInput and CannotMeasure."""

    def __init__(
        self, config: ServeConfig, engine: LossEngine, terrain: Terrain, wake: Wake, clock: times.Clock = times.REAL
    ) -> None:
        self._config, self._wake, self._clock = config, wake, clock
        kinds = {one.kind for one in config.outputs}
        share = config.every_s / config.refresh_s if config.refresh_s else 0.0
        settings = config.settings._replace(
            emane="emane" in kinds, json="json" in kinds, eel="eel" in kinds, refresh_share=share
        )
        self.tally = Tally(config.every_s)
        self.radios = Radios(config.most_radios)
        own = uuid.uuid4().bytes
        self._updater = Updater(engine, terrain, settings, Packer(own, config.limit_bytes))
        self._delivery = Delivery(self.radios, self.tally.malformed, own)
        self._outbox = Outbox(config.most_bytes_per_s)
        self._sources: list[Source] = []
        self._listening: dict[int, tuple[socket.socket, Input]] = {}
        self._playbacks: list[Playback] = []
        self._groups: list[Group] = []
        self.readers: list[Readers] = []
        self._files: list[EelFile] = []
        self._open_all = contextlib.ExitStack()
        self._schedule: Schedule | None = None
        self._future: Future[Update] | None = None
        self._begun: tuple[int, float, bool] = (0, 0.0, False)  # number, when, after the last position
        self._leaving: deque[tuple[int, float]] = deque()  # how many will have left, and when that was due
        self._ended = ""
        self._error: ShakedownError | None = None
        try:
            self._open()
        except BaseException:
            self._open_all.close()
            raise

    def _open(self) -> None:
        for one in self._config.inputs:
            if one.kind == "trace":
                self._playbacks.append(Playback(traces.load(Path(one.path)), self.radios))
                continue
            made = opened(one, self._delivery, self.tally)
            self._open_all.callback(made.close)
            if isinstance(made, socket.socket):
                self._listening[made.fileno()] = made, one
            else:
                self._sources.append(made)
        for to in self._config.outputs:
            if to.kind == "emane":
                self._groups.append(self._kept(Group(to, self.tally)))
            elif to.kind == "json":
                held = Readers(to, self.tally, self._config.reader_bytes, self._config.patience_s)
                self.readers.append(self._kept(held))
            else:
                self._files.append(self._kept(EelFile(to.path)))

    def _kept(self, made: _Sink) -> _Sink:
        self._open_all.callback(made.close)
        return made

    # ------------------------------------------------------------------------------------------------------------ the l

    def run(self, say: Callable[[str], None] = lambda text: None) -> Served:
        """Serves until a signal, the end of all inputs or of the time. What could not go on is in ``error``."""
        begun_s = self._clock.monotonic_s()
        said_s = begun_s
        with self._open_all, selectors.PollSelector() as selector, ThreadPoolExecutor(1) as pool:
            watched: dict[int, int] = {}
            while not self._ended:
                now_s = self._clock.monotonic_s()
                try:
                    self._step(now_s, begun_s, pool)
                except ShakedownError as error:
                    self._error, self._ended = error, "an error"
                if now_s - said_s >= _SAY_S:
                    said_s = now_s
                    say(line(self._report(now_s - begun_s)))
                if not self._ended:
                    self._wait(selector, watched, now_s)
            self._flush(selector, watched)
        return Served(self._report(self._clock.monotonic_s() - begun_s), self._error)

    def _report(self, seconds: float) -> ServeReport:
        return self.tally.report(seconds=seconds, schedule=self._schedule, ended=self._ended, positions=self.radios)

    def _step(self, now_s: float, begun_s: float, pool: ThreadPoolExecutor) -> None:
        config = self._config
        if self._wake.stopped:
            self._ended = "a signal"
        elif config.seconds and now_s - begun_s >= config.seconds:
            self._ended = "its time"
        if self._future is not None and self._future.done():
            future, self._future = self._future, None
            self._finish(future.result(), now_s)
        for source in self._sources:
            if source.again_s() <= now_s:
                source.read(now_s)
        self._play(now_s)
        if self._future is None and not self._ended:
            self._begin(now_s, begun_s, pool)
        due = self._outbox.take(now_s)
        for group in self._groups:
            group.send(due)
        while self._leaving and self._leaving[0][0] <= self._outbox.passed:
            self.tally.sent(self._clock.monotonic_s() - self._leaving.popleft()[1])
        if not self._outbox.waiting and self._begun[2] and self._future is None:
            self._ended = self._ended or "the end of its input"
        for held in self.readers:
            held.drop_dead(now_s)

    def _play(self, now_s: float) -> None:
        for one in self._playbacks:
            if self._schedule is None:
                one.play(0.0)
            elif self._config.speed:
                one.play((now_s - self._schedule.begin_s) * self._config.speed)

    def _begin(self, now_s: float, begun_s: float, pool: ThreadPoolExecutor) -> None:
        """Begins the update that is due, if one is. None is begun while more waits to be sent than an interval carries:
        what changes meanwhile is then sent once."""
        config = self._config
        if self._begun[2] or self._outbox.end_s > now_s + config.every_s:
            return
        if self._schedule is None:
            gathered = self._all_played or now_s - begun_s >= config.gather_s
            if self.radios.count < 2:
                self._ended = "the end of its input" if self._last else ""
            if not gathered or self.radios.count < 2:
                return
            number = 0
        else:
            due = self._schedule.due(now_s)
            if due is None:
                return
            self._schedule.begin(number := due)
            if not config.speed:
                for one in self._playbacks:
                    one.play(number * config.every_s)
        whole = any(one.need_whole for one in self.readers)
        job = Job(number, number * config.every_s, self.radios.take(), whole)
        self._begun = number, now_s, self._last
        self._future = pool.submit(self._updater.update, job)
        self._future.add_done_callback(lambda _: self._wake.wake())

    @property
    def _all_played(self) -> bool:
        """Whether nothing but traces is read: their first places are all that there is to gather."""
        return bool(self._playbacks) and not self._sources and not self._listening

    @property
    def _last(self) -> bool:
        """Whether no position can come any longer."""
        streams_ended = all(
            isinstance(one, Stream) and one.fileno() is None and one.again_s() == float("inf") for one in self._sources
        )
        return not self._listening and streams_ended and all(one.ended for one in self._playbacks)

    def _finish(self, update: Update, now_s: float) -> None:
        """An update was found: it goes out."""
        number, begun_s, _ = self._begun
        if self._schedule is None:
            self._schedule = Schedule(now_s, self._config.every_s, free=not self._config.speed)
            self.tally.first_s = round(now_s - begun_s, 6)
            self.tally.update(update, None)
        else:
            due_s = self._schedule.due_s(number) if self._config.speed else begun_s
            self.tally.update(update, now_s - due_s)
            self._leaving.append((self._outbox.passed + self._outbox.waiting + len(update.datagrams), due_s))
        spread_s = SPREAD * self._config.every_s if self._config.speed else 0.0
        self._outbox.put(update.datagrams, now_s, spread_s)
        for file in self._files:
            file.write(update.sentences)
        for held in self.readers:
            held.offer(update, now_s)

    # ----------------------------------------------------------------------------------------------------------- waiting

    def _handlers(self) -> dict[int, tuple[int, Callable[[int, float], None]]]:
        """Files to wait on, what for, and what is then done."""
        found: dict[int, tuple[int, Callable[[int, float], None]]] = {
            self._wake.heard.fileno(): (_READ, lambda events, now_s: self._wake.clear())
        }
        for source in self._sources:
            if (file := source.fileno()) is not None:
                found[file] = _READ, lambda events, now_s, source=source: source.read(now_s)  # type: ignore[misc]
        for file in self._listening:
            found[file] = _READ, lambda events, now_s, file=file: self._accept(file)  # type: ignore[misc]
        for held in self.readers:
            accept = lambda events, now_s, held=held: held.accept(now_s)  # noqa: E731
            found[held.listening.fileno()] = _READ, accept
            for file, one in held.connected.items():
                wanted = _READ | _WRITE if one.reader.held else _READ

                def serve(events: int, now_s: float, held: Readers = held, file: int = file) -> None:
                    if events & _READ:
                        held.hear(file)
                    if events & _WRITE and file in held.connected:
                        held.write(file, now_s)

                found[file] = wanted, serve
        return found

    def _accept(self, file: int) -> None:
        listening, one = self._listening[file]
        with contextlib.suppress(OSError):
            made, _ = listening.accept()
            made.setblocking(False)
            deliver = self._delivery.json if one.kind == "json" else self._delivery.nmea
            stream = Stream(os.dup(made.fileno()), lambda data: deliver(data, one.radio), self.tally, "a connection")
            made.close()
            self._sources.append(stream)
            self._open_all.callback(stream.close)

    def _wait(
        self, selector: selectors.BaseSelector, watched: dict[int, int], now_s: float, most_s: float = _TURN_S
    ) -> None:
        handlers = self._handlers()
        for file in [file for file in watched if file not in handlers]:
            selector.unregister(file)
            del watched[file]
        for file, (events, _) in handlers.items():
            if file not in watched:
                selector.register(file, events)
            elif watched[file] != events:
                selector.modify(file, events)
            watched[file] = events
        for key, events in selector.select(max(0.0, min(most_s, self._until_s(now_s) - now_s))):
            if key.fd in handlers:
                handlers[key.fd][1](events, self._clock.monotonic_s())

    def _until_s(self, now_s: float) -> float:
        """When there is something to do at the latest."""
        found = [self._outbox.next_s(now_s), *(one.again_s() for one in self._sources)]
        if self._schedule is not None and self._future is None:
            found.append(max(self._schedule.next_s(), self._outbox.end_s - self._config.every_s))
        return min(found)

    def _flush(self, selector: selectors.BaseSelector, watched: dict[int, int]) -> None:
        """Readers take what waits for them, for as long as they go on taking; after a signal for a moment."""
        self.tally.not_sent += self._outbox.entries
        begun_s = self._clock.monotonic_s()
        if self._error is not None or self._ended == "an error":
            return
        limit_s = self._config.patience_s if self._ended == "the end of its input" else _FLUSH_S
        while any(held.held for held in self.readers):
            now_s = self._clock.monotonic_s()
            for held in self.readers:
                held.drop_dead(now_s)
            if now_s - begun_s > limit_s and self._ended != "the end of its input":
                return
            self._wait(selector, watched, now_s, 0.1)
