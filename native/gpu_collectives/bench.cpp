// One case: inputs made, a call checked, warm-up, samples, another call checked.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "common/clock.hpp"
#include "common/memory.hpp"
#include "gpu_collectives.hpp"

namespace shakedown::gpu_collectives {
namespace {

constexpr Word kFirstSeed = 17, kTimedSeed = 18, kLastSeed = 19;
constexpr std::int64_t kMostCalls = 200;  // in a sample: fewer than the launches that a driver queues
constexpr std::size_t kPiece = std::size_t{4} << 20;
constexpr std::size_t kTried = 4096;  // bytes
constexpr double kSlowest = 1e9;      // bytes a second: what a first call is given time for
constexpr double kRoom = 4;

int nccl_type(int type) { return type == kFloat ? kNcclFloat : kNcclUint64; }

/// The first element that differs, of those of a piece from `first` on.
bool differs(const Shape& shape, const Origin& origin, const std::vector<char>& piece, std::size_t first,
             std::size_t count, Wrong& wrong) {
  const std::size_t width = element_bytes(shape.type);
  for (std::size_t i = 0; i < count; ++i) {
    Word found = 0;
    std::memcpy(&found, piece.data() + i * width, width);  // the lower half of a word: little-endian, as GPUs are
    const Word wanted = expected(origin, first + i);
    if (found == wanted) continue;
    wrong.element = first + i;
    wrong.found = found;
    wrong.expected = wanted;
    return true;
  }
  return false;
}

}  // namespace

Bench::Memory::Memory(gpu::Device& device, std::size_t bytes)
    : from(device, bytes),
      to(device, bytes),
      wrong(device, 1),
      make_input(device, kModule, "make_input"),
      compare(device, kModule, "compare"),
      begin(device),
      end(device) {}

Bench::Bench(Ranks& ranks, const Nccl& nccl, const Options& options, std::size_t bytes)
    : ranks_(ranks), nccl_(nccl), options_(options) {
  memories_.reserve(static_cast<std::size_t>(ranks.seats()));
  for (int seat = 0; seat < ranks.seats(); ++seat)
    memories_.push_back(std::make_unique<Memory>(ranks.rank(seat).device, std::max(bytes, kTried)));
}

Bench::Places Bench::places(const Shape& shape, const Rank& rank) {
  Memory& memory = memory_of(rank);
  if (!shape.in_place) return {memory.from.data(), memory.to.data()};
  char* const mine =
      memory.to.data() + static_cast<std::size_t>(rank.number) * count_of(shape) * element_bytes(shape.type);
  if (shape.operation == Operation::all_gather) return {mine, memory.to.data()};
  if (shape.operation == Operation::reduce_scatter) return {memory.to.data(), mine};
  return {memory.to.data(), memory.to.data()};
}

void Bench::issue(const Shape& shape, Rank& rank) {
  const Places at = places(shape, rank);
  const std::size_t count = count_of(shape);
  const int type = nccl_type(shape.type);
  const gpu::Handle stream = *rank.stream;
  Comm const comm = rank.comm;
  switch (shape.operation) {
    case Operation::all_reduce:
      return rank.call("ncclAllReduce",
                       [&] { return nccl_.all_reduce(at.from, at.to, count, type, kNcclSum, comm, stream); });
    case Operation::all_gather:
      return rank.call("ncclAllGather", [&] { return nccl_.all_gather(at.from, at.to, count, type, comm, stream); });
    case Operation::reduce_scatter:
      return rank.call("ncclReduceScatter",
                       [&] { return nccl_.reduce_scatter(at.from, at.to, count, type, kNcclSum, comm, stream); });
    case Operation::broadcast:
      return rank.call("ncclBroadcast", [&] { return nccl_.broadcast(at.from, at.to, count, type, 0, comm, stream); });
    case Operation::reduce:
      return rank.call("ncclReduce",
                       [&] { return nccl_.reduce(at.from, at.to, count, type, kNcclSum, 0, comm, stream); });
    default:
      return rank.call("ncclGroupEnd", [&] {
        nccl_.group_start();
        issue_messages(shape, rank, at);
        return nccl_.group_end();
      });
  }
}

/// What NCCL's own all-to-all, gather and scatter are made of, too.
void Bench::issue_messages(const Shape& shape, Rank& rank, const Places& at) {
  const std::size_t count = count_of(shape), bytes = count * element_bytes(shape.type);
  const int type = nccl_type(shape.type);
  Comm const comm = rank.comm;
  const auto send = [&](int block, int peer) {
    nccl_.send(at.from + static_cast<std::size_t>(block) * bytes, count, type, peer, comm, *rank.stream);
  };
  const auto receive = [&](int block, int peer) {
    nccl_.receive(at.to + static_cast<std::size_t>(block) * bytes, count, type, peer, comm, *rank.stream);
  };
  if (shape.operation == Operation::sendrecv) {
    send(0, (rank.number + 1) % rank.of);
    receive(0, (rank.number + rank.of - 1) % rank.of);
    return;
  }
  const bool is_root = rank.number == 0;
  for (int peer = 0; peer < rank.of; ++peer) {
    if (shape.operation == Operation::alltoall || (shape.operation == Operation::scatter && is_root)) send(peer, peer);
    if (shape.operation == Operation::alltoall || (shape.operation == Operation::gather && is_root))
      receive(peer, peer);
  }
  if (shape.operation == Operation::gather) send(0, 0);
  if (shape.operation == Operation::scatter) receive(0, 0);
}

/// Inputs of a seed, and where the result comes what no result holds: an element of ones.
void Bench::prepare(const Shape& shape, Rank& rank, Word seed) {
  Memory& memory = memory_of(rank);
  const Places at = places(shape, rank);
  const std::size_t width = element_bytes(shape.type);
  rank.device.fill(at.to, 0xff, result_count(shape, rank.number) * width, *rank.stream);
  memory.make_input(kGrid, *rank.stream, at.from, shape.type, seed, rank.number, sent_count(shape, rank.number));
}

void Bench::spoil(const Shape& shape, Rank& rank) {
  const std::size_t count = result_count(shape, rank.number), width = element_bytes(shape.type);
  if (rank.number != rank.of - 1 || count == 0) return;
  char byte = 0;
  char* const at = places(shape, rank).to + count / 3 * width;
  rank.device.copy(&byte, at, 1, *rank.stream);
  rank.stream->wait();
  byte = static_cast<char>(byte ^ 0x20);
  rank.device.copy(at, &byte, 1, *rank.stream);
  rank.stream->wait();
}

void Bench::check(const Shape& shape, Rank& rank, Word seed) {
  Memory& memory = memory_of(rank);
  const std::size_t count = result_count(shape, rank.number);
  if (count == 0 || !options_.verify) return;
  Word found = 0;
  rank.device.fill(memory.wrong.data(), 0, sizeof found, *rank.stream);
  memory.compare(kGrid, *rank.stream, places(shape, rank).to, origin_of(shape, rank.number, seed), count,
                 memory.wrong.data());
  memory.end.record(*rank.stream);
  rank.finish(memory.end);
  rank.device.copy(&found, memory.wrong.data(), sizeof found, *rank.stream);
  rank.stream->wait();
  const bool first = memory.found.count == 0;
  memory.found.count += static_cast<double>(found);
  if (found > 0 && first) locate(shape, rank, seed);
}

void Bench::locate(const Shape& shape, Rank& rank, Word seed) {
  Memory& memory = memory_of(rank);
  const std::size_t width = element_bytes(shape.type), count = result_count(shape, rank.number);
  const Origin origin = origin_of(shape, rank.number, seed);
  std::vector<char> piece(std::min(count * width, kPiece));
  memory.found.seat = rank.seat;
  for (std::size_t first = 0; first < count; first += piece.size() / width) {
    const std::size_t part = std::min(piece.size() / width, count - first);
    rank.device.copy(piece.data(), places(shape, rank).to + first * width, part * width, *rank.stream);
    rank.stream->wait();
    if (differs(shape, origin, piece, first, part, memory.found)) return;
  }
}

void Bench::timed(const Shape& shape, Rank& rank, std::int64_t calls) {
  Memory& memory = memory_of(rank);
  rank.meet();
  memory.span.begin_ns = unix_ns();
  memory.begin.record(*rank.stream);
  for (std::int64_t i = 0; i < calls; ++i) issue(shape, rank);
  memory.end.record(*rank.stream);
  rank.finish(memory.begin, Doing::before);
  rank.finish(memory.end);
  memory.span.end_ns = unix_ns();
  memory.took_s = memory.begin.seconds_until(memory.end);
}

/// The case as the group of a rank has it.
Shape Bench::of(Shape shape, const Rank& rank) {
  shape.ranks = rank.of;
  return shape;
}

std::optional<Trouble> Bench::checked_call(const Shape& whole, const std::vector<int>& seats, Word seed,
                                           double expected_s) {
  return ranks_.run(seats, options_.silent_s + expected_s, [&](Rank& rank) {
    const Shape shape = of(whole, rank);
    Memory& memory = memory_of(rank);
    prepare(shape, rank, seed);
    memory.begin.record(*rank.stream);
    issue(shape, rank);
    memory.end.record(*rank.stream);
    rank.finish(memory.begin, Doing::before);
    rank.finish(memory.end);
    if (options_.spoil) spoil(shape, rank);
    check(shape, rank, seed);
  });
}

double Bench::slowest(const std::vector<int>& seats) const {
  double most = 0;
  for (const int seat : seats) most = std::max(most, memories_[static_cast<std::size_t>(seat)]->took_s);
  return most;
}

/// From the first rank's begin to the last one's end.
TimeSpan Bench::span_of(const std::vector<int>& seats) const {
  TimeSpan whole = memories_[static_cast<std::size_t>(seats.front())]->span;
  for (const int seat : seats) {
    const TimeSpan& one = memories_[static_cast<std::size_t>(seat)]->span;
    whole = {std::min(whole.begin_ns, one.begin_ns), std::max(whole.end_ns, one.end_ns)};
  }
  return whole;
}

void Bench::collect(const std::vector<int>& seats, Wrong& wrong) const {
  for (const int seat : seats) {
    const Wrong& found = memories_[static_cast<std::size_t>(seat)]->found;
    const double before = wrong.count;
    if (found.count > 0 && wrong.seat < 0) wrong = found;
    wrong.count = before + found.count;
  }
}

std::optional<Trouble> Bench::sample(const Shape& shape, const std::vector<int>& seats, double once_s,
                                     std::int64_t calls, bool check_too) {
  // A limit is for silence: what the calls take comes on top, and room for a machine that does other things too.
  const double expected_s = kRoom * once_s * static_cast<double>(calls);
  return ranks_.run(seats, options_.silent_s + expected_s, [&](Rank& rank) {
    timed(of(shape, rank), rank, calls);
    if (check_too) check(of(shape, rank), rank, kTimedSeed);
  });
}

std::optional<Trouble> Bench::measure(const Shape& shape, const std::vector<std::vector<int>>& groups,
                                      std::vector<Measured>& measured) {
  std::vector<int> seats;
  for (const auto& group : groups) seats.insert(seats.end(), group.begin(), group.end());
  for (const int seat : seats) memories_[static_cast<std::size_t>(seat)]->found = {};
  double once_s = static_cast<double>(whole_bytes(shape)) / kSlowest;
  if (auto trouble = checked_call(shape, seats, kFirstSeed, once_s)) return trouble;
  auto trouble = ranks_.run(seats, options_.silent_s, [&](Rank& rank) { prepare(of(shape, rank), rank, kTimedSeed); });
  if (!trouble) trouble = sample(shape, seats, once_s, options_.warm_ups, false);
  if (trouble) return trouble;
  once_s = std::max(slowest(seats) / static_cast<double>(options_.warm_ups), 1e-7);
  const std::int64_t calls =
      std::clamp<std::int64_t>(std::llround(std::ceil(options_.sample_s / once_s)), 1, kMostCalls);
  if (auto failed = sample(shape, seats, once_s, calls, false)) return failed;
  measured.assign(groups.size(), {});
  for (Measured& one : measured) one.calls = calls;
  const double start = now_s();
  for (std::int64_t done = 0; done < options_.samples || now_s() - start < options_.seconds; ++done) {
    // In place the input is gone with the first call.
    if (auto failed = sample(shape, seats, once_s, calls, !shape.in_place)) return failed;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      measured[i].seconds.push_back(slowest(groups[i]));
      measured[i].spans.push_back(span_of(groups[i]));
    }
  }
  if (auto failed = checked_call(shape, seats, kLastSeed, kRoom * once_s)) return failed;
  for (std::size_t i = 0; i < groups.size(); ++i) collect(groups[i], measured[i].wrong);
  return std::nullopt;
}

std::optional<Trouble> Bench::try_groups(const std::vector<std::vector<int>>& groups, double limit_s) {
  std::vector<int> seats;
  for (const auto& group : groups) seats.insert(seats.end(), group.begin(), group.end());
  if (auto trouble = ranks_.connect(groups)) return trouble;
  return ranks_.run(seats, limit_s, [&](Rank& rank) {
    const Shape shape{Operation::all_reduce, kFloat, kTried, rank.of, false};
    Memory& memory = memory_of(rank);
    prepare(shape, rank, kFirstSeed);
    issue(shape, rank);
    memory.end.record(*rank.stream);
    rank.finish(memory.end);
  });
}

}  // namespace shakedown::gpu_collectives
