// Schedule, products and patterns: what is right is right to the bit, what is flipped is found where it is.
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "common/isa.hpp"
#include "memory.hpp"
#include "product.hpp"
#include "schedule.hpp"
#include "testing/check.hpp"

namespace {

using namespace shakedown;
using namespace shakedown::burnin;

constexpr std::int64_t kSecond = 1'000'000'000;
bool never() { return false; }
bool always() { return true; }

void stages(Checks& checks) {
  const Schedule schedule(parse_stages({"product:60", "steps:30", "memory:30"}), {1, 0.1, 0.01});
  checks.equal(schedule.cycle_ns(), 120 * kSecond, "a cycle");
  checks.that(schedule.at(0).work == Work::product && schedule.at(0).busy, "begins with products");
  checks.that(schedule.at(60 * kSecond - 1).work == Work::product, "to the last nanosecond");
  checks.that(schedule.at(60 * kSecond).work == Work::steps, "then steps");
  checks.that(schedule.at(90 * kSecond).work == Work::memory, "then memory");
  checks.equal(schedule.at(90 * kSecond).until_ns, 120 * kSecond, "to its end");
  checks.equal(schedule.at(500 * kSecond).cycle, 4, "and again");
  for (const auto& [share, period] : {std::pair{0, 1.0}, {1, 0.1}, {2, 0.01}}) {
    const auto begin = (60 + 10 * share) * kSecond;
    checks.equal(schedule.at(begin).period_s, period, "each period has its share");
    checks.that(schedule.at(begin).busy, "which begins high");
    const auto half = static_cast<std::int64_t>(period / 2 * 1e9);
    checks.equal(schedule.at(begin).until_ns, begin + half, "for half a period");
    checks.that(!schedule.at(begin + half).busy && schedule.at(begin + half - 1).busy, "then low");
    checks.equal(schedule.at(begin + half).until_ns, begin + 2 * half, "for the other half");
  }
}

/// Whoever sleeps until `until_ns` never sleeps past an edge, and comes on.
void edges(Checks& checks) {
  const Schedule schedule(parse_stages({"steps:0.7", "product:0.013"}), {0.3, 0.007, 0.05});
  std::int64_t at = 0, high = 0;
  for (int turn = 0; turn < 2000; ++turn) {
    const Moment moment = schedule.at(at);
    checks.that(moment.until_ns > at, "time goes on");
    checks.that(
        schedule.at(moment.until_ns - 1).busy == moment.busy && schedule.at(moment.until_ns - 1).work == moment.work,
        "and nothing changes before it");
    if (moment.work == Work::steps && moment.busy) high += moment.until_ns - at;
    at = moment.until_ns;
  }
  const double cycles = static_cast<double>(at) / static_cast<double>(schedule.cycle_ns());
  const double share = static_cast<double>(high) / (cycles * 0.7e9);
  checks.that(share > 0.49 && share < 0.6, "about half of the steps is high");
}

void bad_schedules(Checks& checks) {
  for (const char* word : {"", "product", "product:", "product:x", "product:0", "product:-1", "burn:3", "product:3s"})
    checks.throws<Error>([&] { parse_stages({word}); }, std::string("no stage: '") + word + "'");
  checks.throws<Error>([] { Schedule({}, {1}); }, "no stages");
  checks.throws<Error>([] { Schedule(parse_stages({"steps:1"}), {}); }, "steps without a period");
  checks.throws<Error>([] { Schedule(parse_stages({"steps:1"}), {0.0001}); }, "a period that is too short");
  checks.throws<Error>([] { Schedule(parse_stages({"steps:1"}), {std::nan("")}); }, "a period that is no number");
}

/// Every kernel that this machine runs gives, bit for bit, what scalar operations give.
void products(Checks& checks) {
  const auto runs = machine_isas();
  for (const auto& isa : kernel_names()) {
    if (std::find(runs.begin(), runs.end(), isa) == runs.end()) continue;
    Product product(kernel(isa));
    checks.that(product.renew(7, never), "operands");
    for (int turn = 0; turn < 4; ++turn) {
      product.multiply();
      checks.equal(product.check().count, 0, isa + " is right");
    }
    product.drill(Product::Drill::result);
    product.multiply();
    const Defects soft = product.check();
    checks.equal(soft.count, 1, isa + ": one flipped bit is one fault");
    if (soft.count == 1) {
      const Wrong& one = soft.located.front();
      checks.equal(one.expected ^ one.found, std::uint64_t{1} << 21, "its bit");
      checks.that(!one.hard && one.where == Wrong::Where::result, "it was right when it was done again");
      checks.that(one.row >= 0 && one.row < product.rows() && one.column >= 0 && one.column < product.columns(),
                  "its place");
    }
    product.multiply();
    checks.equal(product.check().count, 0, "and the next product is right");
    product.drill(Product::Drill::result_always);
    for (int turn = 0; turn < 3; ++turn) {
      product.multiply();
      const Defects hard = product.check();
      checks.that(hard.count == 1 && hard.located.front().hard, isa + ": wrong again is hard");
    }
    product.drill(Product::Drill::operand);
    product.multiply();
    const Defects operand = product.check();
    checks.equal(operand.count, 1, isa + ": an operand that changed is one fault, not a row of them");
    checks.that(!operand.located.empty() && operand.located.front().where == Wrong::Where::left, "and is named");
    checks.equal(operand.located.front().expected ^ operand.located.front().found, std::uint64_t{1} << 21,
                 "with its bit");
    product.multiply();
    product.multiply();
    checks.equal(product.check().count, 0, "and was put right");
  }
}

void stopped_and_stale(Checks& checks) {
  Product product(kernel("plain"));
  checks.that(!product.renew(1, always), "making operands ends where it is told to");
  product.renew(1, never);
  product.multiply();
  product.renew(2, never);
  checks.that(product.check().count > 0, "a product of other operands is wrong");
}

/// Go through so many whole passes, and gather what was wrong.
std::vector<WrongWord> go(MemoryTest& test, std::int64_t passes, std::int64_t& count) {
  std::vector<WrongWord> all;
  for (const auto end = test.march().passes() + passes; test.march().passes() < end;) {
    test.step();
    count += test.wrong_words();
    all.insert(all.end(), test.wrong().begin(), test.wrong().end());
  }
  return all;
}

void patterns(Checks& checks) {
  for (const std::size_t words : {std::size_t{1}, std::size_t{1000}, (std::size_t{1} << 16) + 3}) {
    std::vector<std::uint64_t> memory(words);
    MemoryTest test(memory);
    std::int64_t count = 0;
    go(test, 2L * kPatterns, count);
    checks.equal(count, 0, "sound memory");
    checks.equal(test.march().bytes(), static_cast<double>(words) * 8 * 6 * 2 * kPatterns, "write, two of both, read");
  }
}

/// Whatever is changed between two steps, in any pattern, is found at its place; nothing else is.
void flips(Checks& checks) {
  std::vector<std::uint64_t> memory(std::size_t{1} << 17);
  for (int pattern = 0; pattern < kPatterns; ++pattern) {
    for (const std::size_t at : {std::size_t{0}, std::size_t{77'777}, memory.size() - 1}) {
      MemoryTest test(memory);
      std::int64_t count = 0;
      go(test, pattern, count);
      for (std::size_t written = 0; written < memory.size(); written += std::size_t{1} << 15) test.step();
      memory[at] ^= std::uint64_t{1} << 9;
      const auto wrong = go(test, 1, count);
      checks.equal(count, 1, std::string(test.march().piece().pattern.name) + ": one word");
      if (wrong.size() != 1) continue;
      checks.equal(wrong[0].offset_bytes, at * 8, "its place");
      checks.equal(wrong[0].expected ^ wrong[0].found, std::uint64_t{1} << 9, "its bit");
      checks.that(wrong[0].again && !wrong[0].hard, "it lay wrong, and could be written");
    }
  }
}

/// Two words that are one behind the address lines: every value that a word has at its own place differs.
void addresses(Checks& checks) {
  std::vector<std::uint64_t> memory(std::size_t{1} << 15);
  MemoryTest test(memory);
  test.step();  // random by address is written first
  memory[100] = memory[4196];
  std::int64_t count = 0;
  const auto wrong = go(test, 1, count);
  checks.that(count == 1 && wrong.size() == 1 && wrong[0].offset_bytes == 800, "a word from elsewhere is found");
}

void floods(Checks& checks) {
  std::vector<std::uint64_t> memory(std::size_t{1} << 16);
  MemoryTest test(memory);
  test.step();
  test.step();
  for (auto& word : memory) word = ~word;
  std::int64_t count = 0;
  const auto wrong = go(test, 1, count);
  checks.equal(count, std::ssize(memory), "all are counted");
  checks.equal(wrong.size(), 2 * MemoryTest::kMostLocated, "some of each step are told");
}

}  // namespace

int main() {
  Checks checks;
  stages(checks);
  edges(checks);
  bad_schedules(checks);
  products(checks);
  stopped_and_stale(checks);
  patterns(checks);
  flips(checks);
  addresses(checks);
  floods(checks);
  return checks.end();
}
