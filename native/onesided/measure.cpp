// One case: the origin leads, the target prepares its memory, looks at it afterwards, and waits in MPI or computes.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "common/clock.hpp"
#include "common/sampling.hpp"
#include "common/watch.hpp"
#include "onesided.hpp"

namespace shakedown::onesided {
namespace {

constexpr int kTag = 1;
constexpr std::size_t kHead = 4096;  // bytes of what was fetched that are checked after each sample,
constexpr std::size_t kTail = 64;    // and at its end
constexpr std::int64_t kFewSamples = 10;
constexpr double kWarmS = 0.001;
constexpr double kLeastComputingS = 1e-3;
constexpr double kMostComputingS = 0.1;
constexpr double kHeadStartS = 50e-6;             // the target has begun to compute
constexpr double kComputingTimes = 4;             // so many operations fit into the time that the target computes
constexpr std::size_t kContendedBytes = 1 << 20;  // of both ranks' operations on the same memory, where there are two

/// What the origin asks of the target.
struct Command {
  enum class Kind : std::int64_t { prepare, verify, compute, contend, leave } kind = Kind::leave;
  Word seed = 0;
  std::int64_t operations = 0;
  double seconds = 0;
};

class Side {
 public:
  Side(const Ranks& ranks, const Options& options, const Window& window, const Buffers& buffers, const Shape& shape)
      : control_(ranks.control),
        peer_(ranks.rank == kOrigin ? kTarget : kOrigin),
        options_(options),
        window_(window),
        shape_(shape),
        out_(static_cast<std::uint8_t*>(buffers.out.data()), shape.origin_bytes()),
        in_(static_cast<std::uint8_t*>(buffers.in.data()), shape.origin_bytes()) {
    call_ = {shape,
             window.handle(),
             window.base(),
             kTarget,
             out_.data(),
             in_.data(),
             static_cast<std::uint8_t*>(buffers.compare.data()),
             0};
  }

 protected:
  template <class T>
  void send(const T* data, std::size_t count) const {
    const InMpi mark;
    MPI_Send(data, static_cast<int>(count * sizeof(T)), MPI_BYTE, peer_, kTag, control_);
  }
  template <class T>
  void receive(T* data, std::size_t count) const {
    const InMpi mark;
    MPI_Recv(data, static_cast<int>(count * sizeof(T)), MPI_BYTE, peer_, kTag, control_, MPI_STATUS_IGNORE);
  }

  /// What is sent by the operations to come.
  void set_out(Word seed) {
    call_.next = seed;
    if (shape_.operation == Operation::fetch_and_op) {
      store(out_.first(shape_.bytes), 1);
    } else if (shape_.operation != Operation::compare_and_swap && shape_.operation != Operation::get) {
      fill_sent(shape_, out_, seed);
    }
  }

  /// This rank's part of operations of both ranks on the same memory; of atomics the old values.
  std::vector<Word> contend(std::int64_t operations, Word seed) {
    const InMpi mark;
    set_out(seed);
    std::vector<Word> olds;
    while (std::ssize(olds) < operations) {
      operate(call_, 1);
      const Word old = is_atomic(shape_.operation) ? load(in_.first(shape_.bytes)) : 0;
      if (shape_.operation == Operation::compare_and_swap && old != call_.next - 1) {
        call_.next = old;  // the other rank was there before
        continue;
      }
      olds.push_back(old);
    }
    return olds;
  }

  MPI_Comm control_;
  int peer_;
  const Options& options_;
  const Window& window_;
  Shape shape_;
  std::span<std::uint8_t> out_;
  std::span<std::uint8_t> in_;
  Call call_;
};

class Origin : Side {
 public:
  using Side::Side;

  Series run() {
    check_once(2);
    if (can_contend()) check_contended(3);
    prepare(kTimed);
    if (shape_.mode == Mode::computing) {
      measure_computing();
    } else {
      measure();
    }
    if (options_.verify) verify(kTimed);
    check_once(4);
    tell({Command::Kind::leave});
    return series_;
  }

 private:
  void tell(const Command& command) const { send(&command, 1); }

  void prepare(Word seed) {
    done_ = 0;
    tell({Command::Kind::prepare, seed});
    set_out(seed);
    poison(in_);
    char ready = 0;
    receive(&ready, 1);
  }

  double sample(std::int64_t iterations) {
    const auto ends = fetched_ends();
    for (const auto& part : ends) poison(part);
    const InMpi mark;
    const double begin = now_s();
    operate(call_, iterations);
    const double seconds = now_s() - begin;
    done_ += iterations;
    return seconds;
  }

  /// Parts of what a get brings; of other operations the whole is looked at, once.
  [[nodiscard]] std::vector<std::span<std::uint8_t>> fetched_ends() const {
    if (shape_.operation != Operation::get) return {};
    const std::size_t head = std::min(kHead, in_.size());
    return {in_.first(head), in_.last(std::min(kTail, in_.size() - head))};
  }

  /// Operations on each place so far; of atomics, on their one word.
  [[nodiscard]] std::int64_t operations() const { return is_atomic(shape_.operation) ? done_ * shape_.slots : done_; }

  void note(const Difference& difference, int rank) {
    if (difference.wrong > 0 && series_.wrong == 0) {
      series_.wrong_rank = rank;
      series_.wrong_element = difference.first;
    }
    series_.wrong += difference.wrong;
  }

  void check_fetched(Word seed) {
    if (wanted_.empty() || is_atomic(shape_.operation)) wanted_ = expected_origin(shape_, seed, operations());
    if (wanted_.empty()) return;
    if (options_.inject == Inject::flip) in_[in_.size() / 3] ^= 32U;
    note(compare(shape_, in_, wanted_), kOrigin);
  }

  /// What a sample fetched: the old values of its last operations, or the ends of a get.
  void check_sample() {
    if (!options_.verify) return;
    if (is_atomic(shape_.operation)) return check_fetched(kTimed);
    if (shape_.operation != Operation::get) return;
    if (wanted_.empty()) wanted_ = expected_origin(shape_, kTimed, 1);
    for (const auto& part : fetched_ends()) {
      const auto at = static_cast<std::size_t>(part.data() - in_.data());
      auto found = compare(shape_, part, std::span(wanted_).subspan(at, part.size()));
      if (found.wrong > 0) found.first += static_cast<std::int64_t>(at / element_bytes(shape_));
      note(found, kOrigin);
    }
  }

  /// The whole of the target's memory, and the whole of what was fetched.
  void verify(Word seed) {
    if (options_.inject == Inject::lost) ++done_;
    tell({Command::Kind::verify, seed, operations()});
    Difference at_target;
    receive(&at_target, 1);
    note(at_target, kTarget);
    wanted_.clear();
    check_fetched(seed);
    wanted_.clear();
  }

  /// One operation on each place, with data that were not there before.
  void check_once(Word seed) {
    if (!options_.verify) return;
    prepare(seed);
    sample(1);
    verify(seed);
  }

  [[nodiscard]] bool can_contend() const {
    return options_.verify && shape_.mode == Mode::latency && (is_atomic(shape_.operation) || is_sum(shape_.operation));
  }

  /// Both ranks at once on the same memory: no operation may be lost, and no old value be given twice.
  void check_contended(Word seed) {
    prepare(seed);
    const auto fit = static_cast<std::int64_t>(kContendedBytes / shape_.bytes);
    const bool is_small = is_sum(shape_.operation) && shape_.element == Element::byte;
    const std::int64_t count = std::clamp<std::int64_t>(
        fit, 2, is_small ? std::min(kMostByteSums / 2, options_.contended) : options_.contended);
    tell({Command::Kind::contend, seed, count});
    auto olds = contend(count, seed);
    const auto mine = olds.size();
    olds.resize(2 * mine);
    receive(olds.data() + mine, mine);
    if (options_.inject == Inject::twice) olds[1] = olds[0];
    if (is_atomic(shape_.operation)) note(each_once(olds, seed, shape_.bytes), kOrigin);
    tell({Command::Kind::verify, seed, 2 * count});
    Difference at_target;
    receive(&at_target, 1);
    note(at_target, kTarget);
  }

  void measure() {
    series_.iterations =
        calibrated_iterations(options_.sample_s, kWarmS, [&](std::int64_t count) { return sample(count); });
    series_.seconds.reserve(static_cast<std::size_t>(std::min<std::int64_t>(options_.samples, 1 << 20)));
    series_.begin_ns = unix_ns();
    take_samples(options_.samples, kFewSamples, options_.budget_s, [&] {
      series_.seconds.push_back(sample(series_.iterations));
      check_sample();
    });
    series_.end_ns = unix_ns();
  }

  void measure_computing() {
    const double once_s = std::min({sample(1), sample(1), sample(1)});
    series_.computed_s = std::clamp(kComputingTimes * once_s, kLeastComputingS, kMostComputingS);
    series_.iterations = 1;
    series_.begin_ns = unix_ns();
    for (std::int64_t i = 0; i < std::min(options_.samples, kFewSamples); ++i) {
      Command command{Command::Kind::compute};
      command.seconds = series_.computed_s;
      char begun = 0;
      tell(command);
      receive(&begun, 1);
      for (const double begin = now_s(); now_s() - begin < kHeadStartS;) {
      }
      series_.seconds.push_back(sample(1));
      receive(&begun, 1);  // it has ended
    }
    series_.end_ns = unix_ns();
  }

  Series series_;
  std::int64_t done_ = 0;
  std::vector<std::uint8_t> wanted_;
};

class Target : Side {
 public:
  using Side::Side;

  void run() {
    while (options_.inject == Inject::hang) pause();
    for (;;) {
      Command command;
      receive(&command, 1);
      switch (command.kind) {
        case Command::Kind::prepare:
          fill_target(shape_, memory(), command.seed);
          MPI_Win_sync(window_.handle());
          acknowledge();
          break;
        case Command::Kind::verify:
          verify(command);
          break;
        case Command::Kind::compute:
          acknowledge();
          for (const double begin = now_s(); now_s() - begin < command.seconds;) {
          }
          acknowledge();
          break;
        case Command::Kind::contend: {
          const auto olds = contend(command.operations, command.seed);
          send(olds.data(), olds.size());
          break;
        }
        case Command::Kind::leave:
          return;
      }
    }
  }

 private:
  [[nodiscard]] std::span<std::uint8_t> memory() const { return window_.memory().first(shape_.window_bytes()); }

  void acknowledge() const {
    const char word = 0;
    send(&word, 1);
  }

  void verify(const Command& command) {
    MPI_Win_sync(window_.handle());
    if (options_.inject == Inject::flip && !fetches(shape_.operation)) memory()[shape_.window_bytes() / 3] ^= 32U;
    if (options_.inject == Inject::lost) poison(memory().first(1));
    const auto found = compare(shape_, memory(), expected_target(shape_, command.seed, command.operations));
    send(&found, 1);
  }
};

}  // namespace

Buffers::Buffers(std::size_t bytes, Pages pages) {
  require_memory(3 * bytes, "the buffers of a rank");  // two, and what must be in one
  out = Buffer(bytes, pages);
  in = Buffer(bytes, pages);
  compare = Buffer(bytes, pages);  // untouched, where nothing compares
  for (const Buffer* one : {&out, &in}) poison(one->as<std::uint8_t>());
}

Series lead(const Ranks& ranks, const Options& options, const Window& window, const Buffers& buffers,
            const Shape& shape) {
  return Origin(ranks, options, window, buffers, shape).run();
}

void follow(const Ranks& ranks, const Options& options, const Window& window, const Buffers& buffers,
            const Shape& shape) {
  Target(ranks, options, window, buffers, shape).run();
}

}  // namespace shakedown::onesided
