// One case of one pair: samples made long enough, timed, and what arrived checked.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "pattern.hpp"
#include "pingpong.hpp"

namespace shakedown::pingpong {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kHead = 4096;                         // of a sample's messages that is checked after each sample
constexpr std::size_t kCheckBytes = std::size_t{16} << 20;  // most that one check of whole messages takes
constexpr std::int64_t kMostSamples = 8192;                 // aimed at under --seconds: longer samples instead
constexpr std::int64_t kFewSamples = 10;                    // that a slow case has at least
constexpr std::int64_t kCheck = -1;                         // as a sample's number

/// The leader's word to the other side.
struct Command {
  enum Op : std::int64_t { run, check, leave, stop };
  std::int64_t op = run;
  std::int64_t iterations = 0;
  std::int64_t sample = 0;
};

/// One side of a pair.
class Side {
 public:
  Side(const World& world, const Options& options, const Buffers& buffers, const Shape& shape, int peer, bool leads)
      : control_(world.control), options_(options), buffers_(buffers), shape_(shape) {
    end_.comm = world.data;
    end_.peer = peer;
    end_.leads = leads;
    end_.out = buffers.out(shape.bytes).data();
    end_.in = buffers.in(shape.bytes).data();
    end_.bytes = static_cast<int>(shape.bytes);
    end_.window = options.window;
    end_.requests.resize(2 * static_cast<std::size_t>(std::max(options.window, Buffers::kMostSlots)));
  }

  /// The seconds of one sample: both sides prepare, meet, and exchange. Of use to the leader.
  double sample(std::int64_t iterations, std::int64_t number) {
    if (options_.verify && sends()) {
      for_ends(buffers_.out(shape_.bytes), [&](auto part, int which) { fill(part, seed(number, which, end_.leads)); });
    }
    meet();
    const double begin = now_s();
    exchange(shape_.kernel, end_, iterations);
    const double seconds = now_s() - begin;
    if (options_.verify && receives()) {
      for_ends(buffers_.in(shape_.bytes),
               [&](auto part, int which) { wrong_ += count_wrong(part, seed(number, which, !end_.leads)); });
    }
    return seconds;
  }

  /// Whole messages, each with its own content and place: what is lost, stale, damaged, swapped or too many shows.
  void check() {
    const int slots = Buffers::slots(shape_, options_.window);
    for (int slot = 0; slot < slots; ++slot) {
      if (sends()) fill(buffers_.out(shape_.bytes, slot), seed(kCheck, slot, end_.leads));
      if (receives()) fill_wrong(buffers_.in(shape_.bytes, slot), seed(kCheck, slot, !end_.leads));
    }
    MPI_Request* next = end_.requests.data();
    for (int slot = 0; receives() && slot < slots; ++slot) {
      MPI_Irecv(buffers_.in(shape_.bytes, slot).data(), end_.bytes, MPI_BYTE, end_.peer, kTag, end_.comm, next++);
    }
    for (int slot = 0; sends() && slot < slots; ++slot) {
      MPI_Isend(buffers_.out(shape_.bytes, slot).data(), end_.bytes, MPI_BYTE, end_.peer, kTag, end_.comm, next++);
    }
    std::vector<MPI_Status> statuses(end_.requests.size());
    MPI_Waitall(static_cast<int>(next - end_.requests.data()), end_.requests.data(), statuses.data());
    if (receives()) {
      damage();
      for (int slot = 0; slot < slots; ++slot) wrong_ += wrong_message(slot, statuses[static_cast<std::size_t>(slot)]);
    }
    meet();  // all that the other side sent has been sent
    wrong_ += strays();
  }

  void tell(const Command& command) const { MPI_Send(&command, sizeof command, MPI_BYTE, end_.peer, kTag, control_); }
  [[nodiscard]] Command hear() const {
    Command command;
    MPI_Recv(&command, sizeof command, MPI_BYTE, end_.peer, kTag, control_, MPI_STATUS_IGNORE);
    return command;
  }
  void tell_wrong() const { MPI_Send(&wrong_, 1, MPI_INT64_T, end_.peer, kTag, control_); }
  [[nodiscard]] std::int64_t hear_wrong() const {
    std::int64_t theirs = 0;
    MPI_Recv(&theirs, 1, MPI_INT64_T, end_.peer, kTag, control_, MPI_STATUS_IGNORE);
    return wrong_ + theirs;
  }

 private:
  [[nodiscard]] bool sends() const { return end_.leads || shape_.kernel != Kernel::bandwidth; }
  [[nodiscard]] bool receives() const { return !end_.leads || shape_.kernel != Kernel::bandwidth; }
  [[nodiscard]] std::uint64_t seed(std::int64_t number, int slot, bool from_leader) const {
    return seed_of({static_cast<int>(shape_.kernel), shape_.bytes, number, slot, from_leader});
  }
  void meet() const {
    char word = 0;
    if (!end_.leads) {
      MPI_Send(&word, 1, MPI_CHAR, end_.peer, kTag, control_);
    } else {
      MPI_Recv(&word, 1, MPI_CHAR, end_.peer, kTag, control_, MPI_STATUS_IGNORE);
    }
  }

  /// The first page and the last line of a message: what every sample checks, because it costs little.
  template <class Do>
  static void for_ends(std::span<std::uint8_t> data, Do&& act) {
    const std::size_t head = std::min(data.size(), kHead);
    act(data.first(head), 0);
    act(data.last(std::min(data.size() - head, kLine)), 1);
  }

  [[nodiscard]] std::int64_t wrong_message(int slot, const MPI_Status& status) const {
    int arrived = 0;
    MPI_Get_count(&status, MPI_BYTE, &arrived);
    if (options_.inject == Inject::stale && slot == 0 && end_.bytes == 0) ++arrived;
    return std::abs(arrived - end_.bytes) +
           count_wrong(buffers_.in(shape_.bytes, slot), seed(kCheck, slot, !end_.leads));
  }

  /// Messages that nobody sent on purpose.
  [[nodiscard]] std::int64_t strays() const {
    int found = 0;
    MPI_Status status;
    MPI_Iprobe(end_.peer, MPI_ANY_TAG, end_.comm, &found, &status);
    return found;
  }

  void damage() const {
    const auto first = buffers_.in(shape_.bytes, 0);
    if (options_.inject == Inject::none || first.empty()) return;
    switch (options_.inject) {
      case Inject::flip:
        first[first.size() / 2] ^= 1;
        break;
      case Inject::stale:
        fill(first, seed(kCheck - 1, 0, !end_.leads));
        break;
      case Inject::swap:
        std::swap_ranges(first.begin(), first.end(), buffers_.in(shape_.bytes, 1).begin());
        break;
      case Inject::none:
      case Inject::hang:
        break;
    }
  }

  MPI_Comm control_;
  const Options& options_;
  const Buffers& buffers_;
  const Shape& shape_;
  End end_;
  std::int64_t wrong_ = 0;
};

/// How many iterations make a sample of `target_s`, found while warming up for at least `warm_s`. The shortest of three
/// counts, so that a rank that was once put aside does not make all samples too short.
std::int64_t calibrate(Side& side, double target_s, double warm_s) {
  std::int64_t iterations = 1;
  std::int64_t number = 0;
  const auto run = [&] {
    --number;
    side.tell({Command::run, iterations, kCheck + number});
    return side.sample(iterations, kCheck + number);
  };
  const double begin = now_s();
  for (;;) {
    const double seconds = std::min({run(), run(), run()});
    if (seconds >= target_s) {
      if (now_s() - begin >= warm_s) return iterations;
      continue;
    }
    const double factor = std::clamp(1.2 * target_s / std::max(seconds, 1e-9), 1.1, 8.0);
    iterations = static_cast<std::int64_t>(std::ceil(static_cast<double>(iterations) * factor));
  }
}

}  // namespace

Series lead(const World& world, const Options& options, const Buffers& buffers, const Shape& shape, int peer,
            double warm_s) {
  Side side(world, options, buffers, shape, peer, true);
  Series series;
  series.iterations =
      calibrate(side, std::max(options.sample_s, options.seconds / static_cast<double>(kMostSamples)), warm_s);
  series.seconds.reserve(static_cast<std::size_t>(std::clamp(options.samples, kMostSamples, 128 * kMostSamples)));
  auto sample = [&, number = std::int64_t{0}]() mutable {
    side.tell({Command::run, series.iterations, number});
    return side.sample(series.iterations, number++);
  };
  series.begin_ns = unix_ns();
  const double begin = now_s();
  const auto wants_more = [&] {
    const std::int64_t count = std::ssize(series.seconds);
    const double elapsed = now_s() - begin;
    return count < std::min(options.samples, kFewSamples) || elapsed < options.seconds ||
           (count < options.samples && elapsed < options.budget_s);
  };
  while (wants_more()) series.seconds.push_back(sample());
  series.end_ns = unix_ns();
  if (options.verify) {
    side.tell({Command::check});
    side.check();
  }
  unwatch();
  // The load goes on, unrecorded, until every pair of the round has its samples: all are measured beside all.
  side.tell({Command::leave});
  MPI_Request others = MPI_REQUEST_NULL;
  MPI_Ibarrier(world.control, &others);
  for (int done = 0;;) {
    MPI_Test(&others, &done, MPI_STATUS_IGNORE);
    if (done != 0) break;
    if (options.tournament) {
      sample();
    } else {
      rest(others);
      break;
    }
  }
  side.tell({Command::stop});
  series.wrong = side.hear_wrong();
  return series;
}

void follow(const World& world, const Options& options, const Buffers& buffers, const Shape& shape, int peer) {
  Side side(world, options, buffers, shape, peer, false);
  while (options.inject == Inject::hang && world.rank + 1 == world.size) pause();
  Command command = side.hear();
  for (; command.op != Command::leave; command = side.hear()) {
    if (command.op == Command::run) {
      side.sample(command.iterations, command.sample);
    } else {
      side.check();
    }
  }
  MPI_Request others = MPI_REQUEST_NULL;
  MPI_Ibarrier(world.control, &others);
  for (command = side.hear(); command.op != Command::stop; command = side.hear()) {
    side.sample(command.iterations, command.sample);
  }
  rest(others);
  side.tell_wrong();
}

Object work_of(const Shape& shape, const Options& options, std::int64_t iterations) {
  const std::int64_t per_iteration = shape.kernel == Kernel::bandwidth ? options.window
                                     : shape.kernel == Kernel::latency ? 2
                                                                       : 2 * std::int64_t{options.window};
  const std::int64_t messages = iterations * per_iteration;
  return Object().add("messages", messages).add("bytes", messages * static_cast<std::int64_t>(shape.bytes));
}

Buffers::Buffers(const Options& options) {
  std::size_t bytes = 1;
  for (const std::size_t size : options.sizes) {
    for (const Kernel kernel : options.kernels) {
      const auto slots_of = static_cast<std::size_t>(slots({kernel, size}, options.window));
      bytes = std::max(bytes, slots_of * stride(size));
    }
  }
  require_memory(2 * bytes, "the message buffers of a rank");
  for (Buffer* buffer : {&out_, &in_}) {
    *buffer = Buffer(bytes, options.pages);
    fill(buffer->as<std::uint8_t>(), 0);
  }
}

int Buffers::slots(const Shape& shape, int window) {
  const int most = shape.kernel == Kernel::latency ? 4 : std::min(window, kMostSlots);
  const std::size_t fit = kCheckBytes / stride(shape.bytes);
  return std::max(2, static_cast<int>(std::min(static_cast<std::size_t>(most), fit)));
}

std::size_t Buffers::stride(std::size_t bytes) { return (std::max<std::size_t>(bytes, 1) + kLine - 1) / kLine * kLine; }

std::span<std::uint8_t> Buffers::at(const Buffer& buffer, std::size_t bytes, int slot) {
  return buffer.as<std::uint8_t>().subspan(static_cast<std::size_t>(slot) * stride(bytes), bytes);
}

}  // namespace shakedown::pingpong
