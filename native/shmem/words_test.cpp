// What words must hold after atomic operations, against the same operations done one after another.
#include "words.hpp"

#include <array>
#include <map>

#include "testing/check.hpp"

using namespace shakedown;
using namespace shakedown::shmem;

namespace {

/// The k-th operation on a word as OpenSHMEM defines it, from what calls.cpp gives it: what is fetched.
Word act(Operation operation, Word& word, Word finds) {
  const Word old = word;
  switch (operation) {
    case Operation::swap:
    case Operation::set:
      word = finds + 1;
      break;
    case Operation::compare_swap:
      if (word == finds) word = finds + 1;
      break;
    case Operation::fetch:
      break;
    default:
      ++word;
  }
  return old;
}

void expectations_are_those_of_the_operations_one_by_one(Checks& checks) {
  for (int i = 0; i < kOperations; ++i) {
    const auto operation = static_cast<Operation>(i);
    if (!is_atomic(operation)) continue;
    for (const std::size_t bytes : {4, 8}) {
      const Shape shape{operation, Mode::pipelined, bytes, 7};
      std::vector<std::uint8_t> memory = expected_words(shape, 5, 0);
      std::vector<std::uint8_t> olds(memory.size());
      for (int round = 1; round <= 3; ++round) {
        for (int slot = 0; slot < shape.slots; ++slot) {
          const auto at = static_cast<std::size_t>(slot) * bytes;
          Word word = onesided::load(std::span(memory).subspan(at, bytes));
          const Word finds = initial_of(bytes, slot, 5) + static_cast<Word>(round - 1);
          onesided::store(std::span(olds).subspan(at, bytes), act(operation, word, finds));
          onesided::store(std::span(memory).subspan(at, bytes), word);
        }
        checks.that(memory == expected_words(shape, 5, round), osu_name_of(shape) + ": the words");
        const auto wanted = expected_olds(shape, 5, round);
        checks.equal(wanted.empty(), !fetches(operation), osu_name_of(shape) + " fetches");
        if (!wanted.empty()) checks.that(olds == wanted, osu_name_of(shape) + ": the old values");
      }
      checks.that(memory != expected_words(shape, 6, 3), "another seed, other words");
    }
  }
}

/// Two PEs in any order: what comes of it is right; a lost operation, an old value given twice, a wrong end are not.
void what_two_do_at_once_is_right_in_any_order_and_faults_are_found(Checks& checks) {
  constexpr std::int64_t kCount = 20;
  for (int i = 0; i < kOperations; ++i) {
    const auto operation = static_cast<Operation>(i);
    if (!can_contend(operation)) continue;
    const Shape shape{operation, Mode::pipelined, 4, 1};
    const Word initial = initial_of(4, 0, 3);
    for (unsigned order = 0; order < 50; ++order) {
      Word word = initial;
      std::vector<Word> olds;
      std::array<std::int64_t, 2> done{};
      for (unsigned step = 0; done[0] + done[1] < 2 * kCount; ++step) {
        unsigned pe = (order * 2654435761U + step * 40503U) >> (step % 13U) & 1U;
        if (done[pe] == kCount) pe = 1 - pe;
        const Word leaves = initial + 1 + 2 * static_cast<Word>(done[pe]) + pe;
        olds.push_back(word);
        word = operation == Operation::swap ? leaves : word + 1;
        ++done[pe];
      }
      checks.equal(contended(shape, olds, word, initial, kCount).wrong, 0, std::string(name_of(operation)) + ", right");
      checks.that(contended(shape, olds, word - 1, initial, kCount).wrong > 0, "a wrong last value");
      if (!fetches(operation)) continue;
      auto twice = olds;
      twice[4] = twice[9];
      checks.that(contended(shape, twice, word, initial, kCount).wrong > 0, "an old value that came twice");
    }
  }
}

void kernels_and_cases_tell_all_shapes_apart(Checks& checks) {
  std::map<std::string, int> seen;
  for (int i = 0; i < kOperations; ++i) {
    const auto operation = static_cast<Operation>(i);
    for (const std::size_t bytes : {4, 8}) {
      for (const Mode mode : {Mode::completed, Mode::pipelined}) {
        const Shape shape{operation, mode, bytes, 3};
        ++seen[kernel_of(shape) + ' ' + osu_name_of(shape) + ' ' + std::to_string(bytes)];
      }
    }
  }
  checks.equal(seen.size(), std::size_t{4} * kOperations, "kernel, case and size");
  checks.equal(osu_name_of({Operation::compare_swap, Mode::pipelined, 4, 1}), "shmem_int_cswap", "OSU's name");
  checks.equal(osu_name_of({Operation::fetch_inc, Mode::pipelined, 8, 1}), "shmem_longlong_finc", "OSU's name");
}

}  // namespace

int main() {
  Checks checks;
  expectations_are_those_of_the_operations_one_by_one(checks);
  what_two_do_at_once_is_right_in_any_order_and_faults_are_found(checks);
  kernels_and_cases_tell_all_shapes_apart(checks);
  return checks.end();
}
