// Messages between neighbours of a ring, alone or all at once, beside products or not.
#include <cstring>

#include "hpl_probe.hpp"

namespace shakedown::hpl_probe {
namespace {

constexpr double kSampleS = 0.003;
constexpr int kTag = 1;

/// The content of message `sample` of a rank: every word differs from every other's.
std::uint64_t word_of(int rank, std::int64_t sample, std::size_t at) {
  return (static_cast<std::uint64_t>(rank) << 48) + (static_cast<std::uint64_t>(sample) << 32) + at + 1;
}

/// One rank's end: to whom it sends, from whom it receives (-1: nobody).
struct End {
  MPI_Comm comm;
  int rank, to, from;
  std::uint64_t *out, *in;
  std::size_t words;

  void fill(std::int64_t sample, bool whole) const {
    for (std::size_t i = 0; i < words; ++i) {
      if (whole || i == 0 || i + 1 == words) out[i] = word_of(rank, sample, i);
    }
  }
  /// Make sure that what is found later came now.
  void forget(bool whole) const {
    if (whole) std::memset(in, 0, words * sizeof *in);
    in[0] = in[words - 1] = 0;
  }
  /// Words that are not those which the sender of message `sample` filled in.
  [[nodiscard]] double wrong(std::int64_t sample, bool whole) const {
    double count = 0;
    for (std::size_t i = 0; i < words; ++i) {
      if ((whole || i == 0 || i + 1 == words) && in[i] != word_of(from, sample, i)) count += 1;
    }
    return count;
  }
  void exchange(std::int64_t repeats) const {
    const auto count = static_cast<int>(words);
    const auto of = [](int peer) { return peer < 0 ? MPI_PROC_NULL : peer; };
    for (std::int64_t r = 0; r < repeats; ++r) {
      MPI_Sendrecv(out, count, MPI_UINT64_T, of(to), kTag, in, count, MPI_UINT64_T, of(from), kTag, comm,
                   MPI_STATUS_IGNORE);
    }
  }
  /// There and back: `leads` begins.
  void bounce(std::int64_t repeats, bool leads) const {
    const auto count = static_cast<int>(words);
    const int peer = leads ? to : from;
    for (std::int64_t r = 0; r < repeats; ++r) {
      if (leads) MPI_Send(out, count, MPI_UINT64_T, peer, kTag, comm);
      MPI_Recv(in, count, MPI_UINT64_T, peer, kTag, comm, MPI_STATUS_IGNORE);
      if (!leads) MPI_Send(out, count, MPI_UINT64_T, peer, kTag, comm);
    }
  }
};

}  // namespace

Series measure_messages(const Bench& bench, const Task& task, const Ring& ring) {
  const int me = bench.world.rank;
  const auto at = static_cast<std::size_t>(me);
  const int first = ring.first, second = ring.to[static_cast<std::size_t>(first)];
  const bool bounces = task.kind == Kind::latency;
  End end{bench.world.all,
          me,
          ring.to[at],
          ring.from[at],
          nullptr,
          nullptr,
          static_cast<std::size_t>(task.bytes) / sizeof(std::uint64_t)};
  end.out = reinterpret_cast<std::uint64_t*>(bench.field.out());
  end.in = reinterpret_cast<std::uint64_t*>(bench.field.in());
  if (!task.contended) {  // one pair: the first sends to the second, and there and back for latency
    end.to = me == first ? second : -1;
    end.from = me == second ? first : -1;
    if (bounces && me == first) end.from = second;
    if (bounces && me == second) end.to = first;
  }
  const bool takes_part = end.to >= 0 || end.from >= 0;
  std::int64_t sample = 0;
  double wrong = 0;
  end.fill(0, true);
  if (end.from >= 0) end.forget(true);
  const auto once = [&](std::int64_t repeats) {
    end.fill(sample, false);
    if (end.from >= 0) end.forget(false);
    MPI_Barrier(bench.world.all);
    double seconds = 0;
    const auto work = [&](int) {
      const double begin = now_s();
      if (bounces && takes_part) {
        end.bounce(repeats, me == first);
      } else if (takes_part) {
        end.exchange(repeats);
      }
      seconds = takes_part ? now_s() - begin : 0;
    };
    if (task.busy) {
      run_beside_products(bench, 1, work);
    } else {
      work(0);
    }
    if (end.from >= 0) wrong += end.wrong(sample, false);
    ++sample;
    return seconds;
  };
  auto series = take_samples(bench, kSampleS, once);
  if (bench.options.verify) {  // one more, whole
    end.fill(sample, true);
    if (end.from >= 0) end.forget(true);
    MPI_Barrier(bench.world.all);
    if (bounces && takes_part) end.bounce(1, me == first);
    if (!bounces) end.exchange(1);
    // Rank 0 is the first of the ring, whose neighbour may be the one that receives.
    if (bench.options.inject == task.kind && end.from >= 0) end.in[end.words / 2] ^= 1;
    if (end.from >= 0) wrong += end.wrong(sample, true);
    series.error = wrong;
  }
  return series;
}

}  // namespace shakedown::hpl_probe
