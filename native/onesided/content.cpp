#include "content.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace shakedown::onesided {
namespace {

constexpr std::array<const char*, kOperations> kNames = {
    "put", "get", "accumulate", "get_accumulate", "fetch_and_op", "compare_and_swap"};

/// 64 well mixed bits of a place (the finaliser of SplitMix64: Steele, Lea, Flood 2014).
constexpr Word mixed(Word value) {
  value += 0x9e3779b97f4a7c15U;
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

enum class Row : Word { sent = 0, target = 1, nothing = 2 };

/// Bytes that tell their place, their row and the seed; a message cut short has the same first ones.
void fill(std::span<std::uint8_t> data, Row row, Word seed, Word flip = 0) {
  const Word begin = mixed(seed * 4 + static_cast<Word>(row));
  for (std::size_t at = 0; at < data.size(); at += sizeof(Word)) {
    const Word word = mixed(begin + at) ^ flip;
    std::memcpy(data.data() + at, &word, std::min(sizeof(Word), data.size() - at));
  }
}

/// `operations` times `sent` added to what `data` holds, element by element, modulo 2^8 or 2^64.
void add(Element element, std::span<std::uint8_t> data, std::span<const std::uint8_t> sent, std::int64_t operations) {
  const auto times = static_cast<Word>(operations);
  if (element == Element::byte) {
    for (std::size_t i = 0; i < data.size(); ++i) {
      data[i] = static_cast<std::uint8_t>(data[i] + static_cast<std::uint8_t>(times * sent[i]));
    }
    return;
  }
  for (std::size_t at = 0; at + sizeof(Word) <= data.size(); at += sizeof(Word)) {
    const auto place = data.subspan(at, sizeof(Word));
    store(place, load(place) + times * load(sent.subspan(at, sizeof(Word))));
  }
}

std::vector<std::uint8_t> sums(const Shape& shape, Word seed, std::int64_t operations) {
  std::vector<std::uint8_t> data(shape.window_bytes());
  std::vector<std::uint8_t> sent(data.size());
  fill_target(shape, data, seed);
  fill_sent(shape, sent, seed);
  add(shape.element, data, sent, operations);
  return data;
}

/// Sums of bytes are of small ones: none goes beyond 255.
void keep_small(const Shape& shape, std::span<std::uint8_t> data, std::uint8_t mask) {
  if (!is_sum(shape.operation) || shape.element == Element::word) return;
  for (auto& byte : data) byte &= mask;
}

}  // namespace

const char* name_of(Operation operation) { return kNames[static_cast<std::size_t>(operation)]; }

bool is_atomic(Operation operation) {
  return operation == Operation::fetch_and_op || operation == Operation::compare_and_swap;
}
bool is_sum(Operation operation) {
  return operation == Operation::accumulate || operation == Operation::get_accumulate;
}
bool fetches(Operation operation) { return operation != Operation::put && operation != Operation::accumulate; }

std::size_t Shape::window_bytes() const { return is_atomic(operation) ? bytes : origin_bytes(); }

std::string kernel_of(const Shape& shape) {
  std::string name = name_of(shape.operation);
  if (is_sum(shape.operation) && shape.element == Element::word) name += "_words";
  if (shape.mode == Mode::computing) return name + "_computing";
  if (shape.mode == Mode::latency) return name + "_latency";
  return name + (is_atomic(shape.operation) ? "_rate" : "_bandwidth");
}

void store(std::span<std::uint8_t> data, Word word) {
  std::memcpy(data.data(), &word, std::min(sizeof word, data.size()));
}
Word load(std::span<const std::uint8_t> data) {
  Word word = 0;
  std::memcpy(&word, data.data(), std::min(sizeof word, data.size()));
  return word;
}

void fill_sent(const Shape& shape, std::span<std::uint8_t> data, Word seed) {
  fill(data, Row::sent, seed);
  keep_small(shape, data, seed == kTimed ? 0 : 1);
}

void fill_target(const Shape& shape, std::span<std::uint8_t> data, Word seed) {
  if (is_atomic(shape.operation)) {
    store(data, seed);
  } else if (shape.operation == Operation::put) {
    fill(data, Row::sent, seed, ~Word{0});
  } else {
    fill(data, Row::target, seed);
    keep_small(shape, data, 127);
  }
}

void poison(std::span<std::uint8_t> data) { fill(data, Row::nothing, 0); }

std::vector<std::uint8_t> expected_target(const Shape& shape, Word seed, std::int64_t operations) {
  std::vector<std::uint8_t> data(shape.window_bytes());
  if (is_atomic(shape.operation)) {
    store(data, seed + static_cast<Word>(operations));
  } else if (is_sum(shape.operation)) {
    return sums(shape, seed, operations);
  } else if (shape.operation == Operation::put && operations > 0) {
    fill_sent(shape, data, seed);
  } else {
    fill_target(shape, data, seed);
  }
  return data;
}

std::vector<std::uint8_t> expected_origin(const Shape& shape, Word seed, std::int64_t operations) {
  if (!fetches(shape.operation)) return {};
  if (is_sum(shape.operation)) return sums(shape, seed, operations - 1);
  std::vector<std::uint8_t> data(shape.origin_bytes());
  if (shape.operation == Operation::get) {
    fill_target(shape, data, seed);
    return data;
  }
  const auto slots = static_cast<Word>(shape.slots);
  const Word first = seed + static_cast<Word>(operations) - slots;
  for (Word slot = 0; slot < slots; ++slot) {
    store(std::span(data).subspan(slot * shape.bytes, shape.bytes), first + slot);
  }
  return data;
}

std::size_t element_bytes(const Shape& shape) { return shape.bytes % 8 == 0 ? 8 : shape.bytes % 4 == 0 ? 4 : 1; }

Difference compare(const Shape& shape, std::span<const std::uint8_t> found, std::span<const std::uint8_t> wanted) {
  const std::size_t step = element_bytes(shape);
  Difference difference;
  for (std::size_t at = 0; at < wanted.size(); at += step) {
    if (std::equal(wanted.begin() + static_cast<std::ptrdiff_t>(at),
                   wanted.begin() + static_cast<std::ptrdiff_t>(at + step),
                   found.begin() + static_cast<std::ptrdiff_t>(at))) {
      continue;
    }
    if (difference.wrong++ == 0) difference.first = static_cast<std::int64_t>(at / step);
  }
  return difference;
}

Difference each_once(std::vector<Word> olds, Word seed, std::size_t bytes) {
  const Word mask = ~Word{0} >> (8 * (sizeof(Word) - bytes));
  for (auto& old : olds) old = (old - seed) & mask;
  std::sort(olds.begin(), olds.end());
  Difference difference;
  for (std::size_t i = 0; i < olds.size(); ++i) {
    if (olds[i] == i) continue;
    if (difference.wrong++ == 0) difference.first = static_cast<std::int64_t>(i);
  }
  return difference;
}

}  // namespace shakedown::onesided
