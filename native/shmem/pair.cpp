// One case of two PEs: both take the same steps, with a meeting after each; PE 1 waits there while PE 0 measures.
#include <shmem.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "calls.hpp"
#include "common/clock.hpp"
#include "common/sampling.hpp"
#include "common/watch.hpp"
#include "shmem.hpp"

namespace shakedown::shmem {
namespace {

constexpr Word kTimed = onesided::kTimed;
constexpr std::size_t kHead = 4096;  // bytes of what a get brought that are checked after each sample,
constexpr std::size_t kTail = 64;    // and at its end
constexpr std::int64_t kFewSamples = 10;
constexpr double kWarmS = 0.001;
enum Told : std::size_t { kRounds, kWrong, kFirst };  // words of the control memory

class Pair {
 public:
  Pair(const Job& job, const Options& options, const Shape& shape, const PairMemory& memory)
      : job_(job), options_(options), shape_(shape), memory_(memory) {
    const std::size_t bytes = shape.window_bytes();
    memory_.window = memory.window.first(bytes);
    memory_.out = memory.out.first(bytes);
    memory_.in = memory.in.first(bytes);
    call_ = {shape, kTarget, memory_.window.data(), memory_.out.data(), memory_.in.data(), {}, 0};
    initial_.resize(static_cast<std::size_t>(shape.slots));
  }

  Series run() {
    check_once(2);
    if (options_.verify && can_contend(shape_.operation) && shape_.mode == Mode::pipelined) check_contended(3);
    prepare(kTimed);
    if (leads()) measure();
    if (options_.verify) verify(kTimed);
    check_once(4);
    return series_;
  }

 private:
  [[nodiscard]] bool leads() const { return job_.pe == kOrigin; }
  [[nodiscard]] bool atomic() const { return is_atomic(shape_.operation); }

  /// Memory as it is before operations with this seed.
  void prepare(Word seed) {
    call_.done = 0;
    for (int slot = 0; slot < shape_.slots; ++slot) {
      initial_[static_cast<std::size_t>(slot)] = initial_of(shape_.bytes, slot, seed);
    }
    call_.initial = initial_;
    if (!leads()) {
      if (atomic()) {
        const auto words = expected_words(shape_, seed, 0);
        std::copy(words.begin(), words.end(), memory_.window.begin());
      } else {
        onesided::fill_target(content_of(shape_), memory_.window, seed);
      }
    } else if (shape_.operation == Operation::put) {
      onesided::fill_sent(content_of(shape_), memory_.out, seed);
    }
    onesided::poison(memory_.in);
    meet();
  }

  double sample(std::int64_t rounds) {
    for (const auto& part : brought_ends()) onesided::poison(part);
    const InMpi mark;
    const double begin = now_s();
    operate(call_, rounds);
    return now_s() - begin;
  }

  [[nodiscard]] std::vector<std::span<std::uint8_t>> brought_ends() const {
    if (shape_.operation != Operation::get) return {};
    const std::size_t head = std::min(kHead, memory_.in.size());
    return {memory_.in.first(head), memory_.in.last(std::min(kTail, memory_.in.size() - head))};
  }

  void note(const Difference& difference, int pe) {
    if (difference.wrong > 0 && series_.wrong == 0) {
      series_.wrong_pe = pe;
      series_.wrong_element = difference.first;
    }
    series_.wrong += difference.wrong;
  }

  [[nodiscard]] std::vector<std::uint8_t> wanted_at_origin(Word seed) const {
    const auto rounds = static_cast<std::int64_t>(call_.done);
    return atomic() ? expected_olds(shape_, seed, rounds) : onesided::expected_origin(content_of(shape_), seed, rounds);
  }

  /// What a sample fetched: the old values of its last round, or the ends of a get.
  void check_sample() {
    if (!options_.verify) return;
    if (atomic()) {
      note(onesided::compare(content_of(shape_), memory_.in, wanted_at_origin(kTimed)), kOrigin);
      return;
    }
    if (shape_.operation != Operation::get) return;
    if (wanted_.empty()) wanted_ = wanted_at_origin(kTimed);
    for (const auto& part : brought_ends()) {
      const auto at = static_cast<std::size_t>(part.data() - memory_.in.data());
      auto found = onesided::compare(content_of(shape_), part, std::span(wanted_).subspan(at, part.size()));
      if (found.wrong > 0) found.first += static_cast<std::int64_t>(at / onesided::element_bytes(content_of(shape_)));
      note(found, kOrigin);
    }
  }

  /// The whole of the target's memory, and the whole of what was fetched. PE 0 says how many rounds there were.
  void verify(Word seed) {
    const Word rounds = call_.done;
    if (leads()) shmem_putmem(&memory_.control[kRounds], &rounds, sizeof rounds, kTarget);
    meet();
    if (leads()) {
      note(onesided::compare(content_of(shape_), memory_.in, wanted_at_origin(seed)), kOrigin);
    } else {
      const auto told = static_cast<std::int64_t>(memory_.control[kRounds]);
      const auto wanted =
          atomic() ? expected_words(shape_, seed, told) : onesided::expected_target(content_of(shape_), seed, told);
      const auto found = onesided::compare(content_of(shape_), memory_.window, wanted);
      const std::array<Word, 2> says = {static_cast<Word>(found.wrong), static_cast<Word>(found.first)};
      shmem_putmem(&memory_.control[kWrong], says.data(), sizeof says, kOrigin);
    }
    meet();
    if (leads()) hear();
  }

  void hear() {
    note({static_cast<std::int64_t>(memory_.control[kWrong]), static_cast<std::int64_t>(memory_.control[kFirst])},
         kTarget);
  }

  /// One round with data that were not there before.
  void check_once(Word seed) {
    if (!options_.verify) return;
    prepare(seed);
    if (leads()) sample(1);
    verify(seed);
  }

  /// Both PEs at once on one word: no operation may be lost, and no old value be given twice.
  void check_contended(Word seed) {
    prepare(seed);
    const std::int64_t count = options_.contended;
    const Word initial = initial_of(shape_.bytes, 0, seed);
    const auto mine = memory_.olds.subspan(static_cast<std::size_t>(job_.pe * count), static_cast<std::size_t>(count));
    {
      const InMpi mark;
      Word next = initial;
      for (std::int64_t i = 0; i < count;) {
        const bool swaps = shape_.operation == Operation::swap;
        const Word leaves = swaps ? initial + 1 + 2 * static_cast<Word>(i) + static_cast<Word>(job_.pe) : next + 1;
        const Word old = operate_once(call_, leaves, next);
        if (shape_.operation == Operation::compare_swap) {
          const bool done = old == next;
          next = done ? next + 1 : old;
          if (!done) continue;  // the other PE was there before
        }
        mine[static_cast<std::size_t>(i++)] = old;
      }
      shmem_quiet();
    }
    if (!leads()) shmem_putmem(mine.data(), mine.data(), mine.size_bytes(), kOrigin);
    meet();
    if (leads()) {
      const Word last = last_word();
      note(contended(shape_, {memory_.olds.begin(), memory_.olds.begin() + 2 * count}, last, initial, count), kTarget);
    }
    meet();
  }

  [[nodiscard]] Word last_word() const {
    std::array<std::uint8_t, sizeof(Word)> bytes{};
    shmem_getmem(bytes.data(), memory_.window.data(), shape_.bytes, kTarget);
    return onesided::load(bytes);
  }

  void measure() {
    const std::int64_t rounds =
        calibrated_iterations(options_.sample_s, kWarmS, [&](std::int64_t count) { return sample(count); });
    series_.operations = rounds * shape_.slots;
    series_.begin_ns = unix_ns();
    take_samples(options_.samples, kFewSamples, options_.budget_s, [&] {
      series_.seconds.push_back(sample(rounds));
      check_sample();
    });
    series_.end_ns = unix_ns();
  }

  const Job& job_;
  const Options& options_;
  Shape shape_;
  PairMemory memory_;
  Call call_;
  std::vector<Word> initial_;
  std::vector<std::uint8_t> wanted_;
  Series series_;
};

}  // namespace

Series measure_pair(const Job& job, const Options& options, const Shape& shape, const PairMemory& memory) {
  return Pair(job, options, shape, memory).run();
}

}  // namespace shakedown::shmem
