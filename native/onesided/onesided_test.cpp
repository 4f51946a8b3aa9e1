// What memory must hold after one-sided operations, against the same operations done one after another.
#include <algorithm>

#include "content.hpp"
#include "testing/check.hpp"

using namespace shakedown;
using namespace shakedown::onesided;

namespace {

using Bytes = std::vector<std::uint8_t>;

/// An operation as MPI defines it, done here: on one place of the target's memory, with what the origin sends.
void act(const Shape& shape, int slot, Bytes& memory, const Bytes& sent, Bytes& fetched) {
  const std::size_t place = static_cast<std::size_t>(slot) * shape.bytes;
  const std::size_t at = is_atomic(shape.operation) ? 0 : place;
  for (std::size_t i = 0; i < shape.bytes && fetches(shape.operation); ++i) fetched[place + i] = memory[at + i];
  if (shape.operation == Operation::put) {
    for (std::size_t i = 0; i < shape.bytes; ++i) memory[at + i] = sent[at + i];
  } else if (shape.operation != Operation::get) {
    const std::size_t step = is_atomic(shape.operation) ? shape.bytes : shape.element == Element::word ? 8 : 1;
    for (std::size_t i = 0; i < shape.bytes; i += step) {
      const auto element = std::span(memory).subspan(at + i, step);
      const Word more = is_sum(shape.operation) ? load(std::span(sent).subspan(at + i, step)) : 1;
      store(element, load(element) + more);
    }
  }
}

void expectations_are_those_of_the_operations_one_by_one(Checks& checks) {
  for (int kind = 0; kind < kOperations; ++kind) {
    const auto operation = static_cast<Operation>(kind);
    for (const Element element : {Element::byte, Element::word}) {
      for (const std::size_t bytes : {4, 8, 24, 13}) {
        if (is_atomic(operation) && (bytes > 8 || element == Element::byte)) continue;
        if (is_sum(operation) && element == Element::word && bytes % 8 != 0) continue;
        for (const int slots : {1, 3}) {
          const Shape shape{operation, element, Mode::rate, bytes, slots};
          for (const std::int64_t iterations : {1, 2, 120}) {
            Bytes memory(shape.window_bytes()), sent(shape.origin_bytes()), fetched(shape.origin_bytes());
            fill_target(shape, memory, 7);
            fill_sent(shape, sent, 7);
            poison(fetched);
            for (std::int64_t i = 0; i < iterations; ++i) {
              for (int slot = 0; slot < slots; ++slot) act(shape, slot, memory, sent, fetched);
            }
            const std::int64_t operations = is_atomic(operation) ? iterations * slots : iterations;
            const std::string what = kernel_of(shape) + " of " + std::to_string(bytes);
            checks.equal(compare(shape, memory, expected_target(shape, 7, operations)).wrong, 0, what);
            const auto wanted = expected_origin(shape, 7, operations);
            checks.equal(wanted.empty(), !fetches(operation), what + " fetches");
            checks.equal(compare(shape, fetched, wanted).wrong, 0, what + " fetched");
          }
        }
      }
    }
  }
}

void sums_of_bytes_stay_below_256(Checks& checks) {
  const Shape shape{Operation::accumulate, Element::byte, Mode::latency, 4096, 1};
  Bytes memory(4096), sent(4096), timed(4096);
  fill_target(shape, memory, 7);
  fill_sent(shape, sent, 7);
  fill_sent(shape, timed, kTimed);
  std::int64_t most = 0, added = 0;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    most = std::max<std::int64_t>(most, memory[i] + kMostByteSums * sent[i]);
    added += timed[i];
  }
  checks.that(most < 256 && most > 200, "the largest sum of bytes");
  checks.equal(added, 0, "what is timed adds nothing");
}

void what_was_not_done_shows(Checks& checks) {
  for (const Operation operation : {Operation::put, Operation::accumulate, Operation::fetch_and_op}) {
    const Shape shape{operation, Element::word, Mode::latency, 8, 1};
    Bytes memory(shape.window_bytes());
    fill_target(shape, memory, 3);
    const auto found = compare(shape, memory, expected_target(shape, 3, 1));
    checks.equal(found.wrong, 1, std::string(name_of(operation)) + ": nothing came");
    checks.equal(found.first, 0, "the first element");
  }
  const Shape shape{Operation::put, Element::byte, Mode::latency, 800, 1};
  auto memory = expected_target(shape, 3, 1);
  memory[17UL * 8 + 5] ^= 1U;
  memory[90UL * 8] ^= 128U;
  const auto found = compare(shape, memory, expected_target(shape, 3, 1));
  checks.equal(found.wrong, 2, "two words of one wrong bit each");
  checks.equal(found.first, 17, "the first of them");
}

void old_values_are_each_there_once(Checks& checks) {
  for (const std::size_t bytes : {4, 8}) {
    const Word most = bytes == 4 ? 0xffffffffU : ~Word{0};
    const Word seed = most - 2;  // they pass the largest word
    std::vector<Word> olds;
    for (Word i = 0; i < 10; ++i) olds.push_back((seed + (i * 7) % 10) & most);
    checks.equal(each_once(olds, seed, bytes).wrong, 0, "a permutation");
    auto twice = olds;
    twice[3] = twice[4];
    checks.that(each_once(twice, seed, bytes).wrong > 0, "one came twice");
    olds.pop_back();
    olds.push_back((seed + 10) & most);
    checks.that(each_once(olds, seed, bytes).wrong > 0, "one was left out");
  }
}

}  // namespace

int main() {
  Checks checks;
  expectations_are_those_of_the_operations_one_by_one(checks);
  sums_of_bytes_stay_below_256(checks);
  what_was_not_done_shows(checks);
  old_values_are_each_there_once(checks);
  return checks.end();
}
