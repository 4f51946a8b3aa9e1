// Clocks laid over each other, with a known truth and exchanges that were held up; and what operations must result in.
#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "clock_sync.hpp"
#include "common/error.hpp"
#include "common/rounds.hpp"
#include "content.hpp"
#include "testing/check.hpp"
#include "testing/sanitized.hpp"

namespace {

using namespace shakedown;
using namespace shakedown::collectives;

Checks checks;

constexpr std::int64_t kSecondNs = 1'000'000'000;

/// How long messages take: a least time each way and what comes on top of it; one exchange in so many is held up.
struct Path {
  double there_ns = 900;
  double back_ns = 900;
  double spread = 0.6;  // of the logarithm of what comes on top
  double top_ns = 120;  // its median
  double held_up_ns = 4e6;
  int held_up_one_in = 50;
};

struct Truth {
  double offset_ns = 0;
  double drift = 0;
  [[nodiscard]] double at(std::int64_t own_ns) const { return offset_ns + drift * static_cast<double>(own_ns); }
};

/// A batch of exchanges from a time of ours on. The delays are lognormal, which the estimator knows nothing of.
std::vector<StampExchange> batch(std::mt19937_64& random, const Path& path, const Truth& truth, std::int64_t begin_ns) {
  std::lognormal_distribution<double> top(std::log(path.top_ns), path.spread);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<StampExchange> made;
  std::int64_t now_ns = begin_ns;
  for (int i = 0; i < 25; ++i) {
    double there_ns = path.there_ns + top(random);
    double back_ns = path.back_ns + top(random);
    if (uniform(random) * path.held_up_one_in < 1) {
      (uniform(random) < 0.5 ? there_ns : back_ns) += path.held_up_ns * uniform(random);
    }
    StampExchange one;
    one.sent_ns = now_ns;
    const auto served_ns = now_ns + static_cast<std::int64_t>(there_ns);
    one.served_ns = served_ns - static_cast<std::int64_t>(std::floor(truth.at(served_ns)));
    now_ns = served_ns + static_cast<std::int64_t>(back_ns);
    one.received_ns = now_ns;
    made.push_back(one);
  }
  return made;
}

/// The goal: 0.1 us + 0.1 ppm, of clocks that are off and drift, with one exchange in 50 held up for up to 4 ms.
void clocks_are_recovered() {
  std::mt19937_64 random(20);
  const int rounds = kSanitized ? 40 : 400;
  double worst_ns = 0;
  double worst_drift = 0;
  for (int round = 0; round < rounds; ++round) {
    std::uniform_real_distribution<double> drift(-40e-6, 40e-6);
    std::uniform_real_distribution<double> offset(-1e15, 1e15);
    const Truth truth{offset(random), round % 3 == 0 ? 3.1e-6 : drift(random)};
    ClockModel model;
    const std::int64_t begin_ns = 3600 * kSecondNs;
    for (int i = 0; i < 40; ++i) {
      model.add(*intersect(batch(random, Path(), truth, begin_ns + i * kSecondNs / 4)));
    }
    checks.equal(model.batches(), std::size_t{40}, "no batch contradicts the others");
    for (const std::int64_t after_ns : {std::int64_t{0}, 5 * kSecondNs, 10 * kSecondNs}) {
      const Offset found = model.offset_at(begin_ns + after_ns);
      const double wrong_ns = std::abs(static_cast<double>(found.ns) - truth.at(begin_ns + after_ns));
      checks.that(wrong_ns <= found.error_ns + 2, "the truth is within the stated error: " + std::to_string(wrong_ns));
      worst_ns = std::max(worst_ns, wrong_ns);
    }
    const auto ahead = model.offset_at(begin_ns + 30 * kSecondNs).ns - model.offset_at(begin_ns + 20 * kSecondNs).ns;
    worst_drift = std::max(worst_drift, std::abs(static_cast<double>(ahead) / 10e9 - truth.drift));
  }
  std::fprintf(stderr, "clocks: at most %.1f ns and %.4f ppm wrong in %d runs\n", worst_ns, 1e6 * worst_drift, rounds);
  checks.that(worst_ns <= 100, "0.1 us: " + std::to_string(worst_ns) + " ns");
  checks.that(worst_drift <= 0.1e-6, "0.1 ppm: " + std::to_string(1e6 * worst_drift));
}

/// A path that is slower one way than the other cannot be seen, and the stated error holds it.
void an_uneven_path_is_within_the_stated_error() {
  std::mt19937_64 random(21);
  const Path path{.there_ns = 400, .back_ns = 2400};
  const Truth truth{.offset_ns = 5e6, .drift = -12e-6};
  ClockModel model;
  for (int i = 0; i < 20; ++i) model.add(*intersect(batch(random, path, truth, i * kSecondNs)));
  const Offset found = model.offset_at(10 * kSecondNs);
  const double wrong_ns = std::abs(static_cast<double>(found.ns) - truth.at(10 * kSecondNs));
  checks.that(wrong_ns > 500 && wrong_ns <= found.error_ns + 2, "half of the difference: " + std::to_string(wrong_ns));
}

void a_clock_that_changes_its_rate_is_followed() {
  std::mt19937_64 random(22);
  ClockModel model;
  const Truth before{.offset_ns = 0, .drift = 10e-6};
  for (int i = 0; i < 10; ++i) model.add(*intersect(batch(random, Path(), before, i * kSecondNs)));
  const Truth after{.offset_ns = before.at(10 * kSecondNs) + 40e-6 * 10e9, .drift = -40e-6};
  for (int i = 10; i < 20; ++i) model.add(*intersect(batch(random, Path(), after, i * kSecondNs)));
  checks.that(model.batches() < 20, "what the new rate contradicts is forgotten");
  const Offset found = model.offset_at(19 * kSecondNs);
  const double wrong_ns = std::abs(static_cast<double>(found.ns) - after.at(19 * kSecondNs));
  checks.that(wrong_ns <= 100, "and the new one is known: " + std::to_string(wrong_ns));
}

void one_batch_says_nothing_of_the_drift() {
  ClockModel model;
  checks.throws<std::logic_error>([&] { static_cast<void>(model.offset_at(0)); }, "no batch");
  checks.that(!intersect({}), "no exchange");
  model.add({.at_ns = 0, .low_ns = 90, .high_ns = 110});
  checks.equal(model.offset_at(0).ns, std::int64_t{100}, "the middle");
  checks.that(std::abs(model.offset_at(0).error_ns - 10) < 1e-9, "half of what is possible");
  checks.that(model.offset_at(kSecondNs).error_ns > 400'000, "a second later all that a clock may drift");
}

View view_of(Operation operation, int ranks, int rank, std::size_t count) {
  return {.operation = operation, .ranks = ranks, .rank = rank, .root = ranks - 1, .count = count};
}

/// What is expected, compared with the definition of each operation, word by word from what the ranks send.
void results_are_those_of_the_definitions() {
  constexpr std::size_t kCount = 5;
  for (const int ranks : {1, 2, 3, 7}) {
    std::vector<std::vector<Word>> sent(static_cast<std::size_t>(ranks), std::vector<Word>(kCount * 7));
    for (int rank = 0; rank < ranks; ++rank) fill_input(sent[static_cast<std::size_t>(rank)], rank, 9);
    const auto of = [&](int rank, std::size_t place) { return sent[static_cast<std::size_t>(rank)][place]; };
    const auto sum = [&](int below, std::size_t place) {
      Word total = 0;
      for (int rank = 0; rank < below; ++rank) total += of(rank, place);
      return total;
    };
    for (int rank = 0; rank < ranks; ++rank) {
      const std::size_t mine = static_cast<std::size_t>(rank) * kCount;
      const auto result = [&](Operation operation) { return expected(view_of(operation, ranks, rank, kCount), 9); };
      for (std::size_t i = 0; i < kCount; ++i) {
        checks.equal(result(Operation::bcast)[i], of(ranks - 1, i), "bcast");
        checks.equal(result(Operation::allreduce)[i], sum(ranks, i), "allreduce");
        checks.equal(result(Operation::scatter)[i], of(ranks - 1, mine + i), "scatter");
        checks.equal(result(Operation::reduce_scatter_block)[i], sum(ranks, mine + i), "reduce_scatter_block");
        checks.equal(result(Operation::scan)[i], sum(rank + 1, i), "scan");
        if (rank > 0) checks.equal(result(Operation::exscan)[i], sum(rank, i), "exscan");
        for (int other = 0; other < ranks; ++other) {
          const std::size_t at = static_cast<std::size_t>(other) * kCount + i;
          checks.equal(result(Operation::allgather)[at], of(other, i), "allgather");
          checks.equal(result(Operation::alltoall)[at], of(other, mine + i), "alltoall");
        }
      }
      checks.equal(result(Operation::reduce).empty(), rank != ranks - 1, "reduce: the root alone has a result");
      checks.equal(result(Operation::gather).empty(), rank != ranks - 1, "gather: the root alone has a result");
    }
    checks.that(expected(view_of(Operation::exscan, ranks, 0, kCount), 9).empty(), "exscan: the first has none");
  }
}

void every_damage_is_found_and_named() {
  const View view = view_of(Operation::allgather, 4, 1, 100);
  const auto wanted = expected(view, 3);
  checks.equal(std::set<Word>(wanted.begin(), wanted.end()).size(), wanted.size(), "no word is like another");
  for (std::size_t at = 0; at < wanted.size(); ++at) {
    auto found = wanted;
    found[at] ^= Word{1} << (at % 64);
    const auto difference = compare(found, wanted);
    checks.that(difference.wrong == 1 && difference.first == static_cast<std::int64_t>(at), "one bit");
  }
  auto found = wanted;
  std::swap_ranges(found.begin(), found.begin() + 100, found.begin() + 200);
  checks.equal(compare(found, wanted).wrong, std::int64_t{200}, "two blocks that changed places");
  poison(std::span<Word>(found).subspan(300));
  checks.equal(compare(std::span<const Word>(found).subspan(250), wanted, 250).wrong, std::int64_t{150},
               "a lost block");
  checks.equal(compare(std::span<const Word>(found).subspan(310, 5), wanted, 310).first, std::int64_t{310},
               "its place");
}

void rounds_are_read_by_name_and_by_number() {
  const std::vector<std::string> hosts = {"n1", "n1", "n2", "n3"};
  const auto places = place_names(hosts);
  checks.that(places == std::vector<std::string>{"n1:0", "n1:1", "n2", "n3"}, "a host of several ranks counts them");
  const auto found = parse_rounds("n1:1,n2 0,3\n\nn3,gone,n2 gone,n1:0\n", places);
  checks.that(found.rounds == std::vector<Round>{{{1, 2}, {0, 3}}, {{3, 2}}}, "groups in the order of their members");
  checks.that(found.absent == std::vector<std::string>{"gone"}, "who is not there is named once");
  for (const char* text : {"0,1 1,2", "0,4", "", "\n \n", "gone,n2", "0 1 2", "0,0"}) {
    checks.that(caught([&] { parse_rounds(text, places); }).code == kUsage, text);
  }
}

}  // namespace

int main() {
  rounds_are_read_by_name_and_by_number();
  clocks_are_recovered();
  an_uneven_path_is_within_the_stated_error();
  a_clock_that_changes_its_rate_is_followed();
  one_batch_says_nothing_of_the_drift();
  results_are_those_of_the_definitions();
  every_damage_is_found_and_named();
  return checks.end();
}
