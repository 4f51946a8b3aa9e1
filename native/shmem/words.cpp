#include "words.hpp"

#include <array>
#include <utility>

namespace shakedown::shmem {
namespace {

struct Names {
  const char* name;
  const char* osu;  // of atomic operations
};
constexpr std::array<Names, kOperations> kNamesOf = {{{"put", ""},
                                                      {"get", ""},
                                                      {"fetch_add", "fadd"},
                                                      {"add", "add"},
                                                      {"fetch_inc", "finc"},
                                                      {"inc", "inc"},
                                                      {"swap", "swap"},
                                                      {"compare_swap", "cswap"},
                                                      {"set", "set"},
                                                      {"fetch", "fetch"},
                                                      {"barrier", ""},
                                                      {"broadcast", ""},
                                                      {"fcollect", ""},
                                                      {"sum", ""},
                                                      {"alltoall", ""}}};

std::span<std::uint8_t> place(std::vector<std::uint8_t>& data, const Shape& shape, int slot) {
  return std::span(data).subspan(static_cast<std::size_t>(slot) * shape.bytes, shape.bytes);
}

}  // namespace

const char* name_of(Operation operation) { return kNamesOf[static_cast<std::size_t>(operation)].name; }

bool is_atomic(Operation operation) { return operation >= Operation::fetch_add && operation <= Operation::fetch; }
bool is_of_all(Operation operation) { return operation >= Operation::barrier; }

bool fetches(Operation operation) {
  switch (operation) {
    case Operation::fetch_add:
    case Operation::fetch_inc:
    case Operation::swap:
    case Operation::compare_swap:
    case Operation::fetch:
      return true;
    default:
      return false;
  }
}

bool can_contend(Operation operation) {
  return is_atomic(operation) && operation != Operation::set && operation != Operation::fetch;
}

std::string kernel_of(const Shape& shape) {
  if (is_atomic(shape.operation)) return shape.mode == Mode::completed ? "shmem_atomic_quiet" : "shmem_atomic";
  std::string name = std::string("shmem_") + name_of(shape.operation);
  switch (shape.mode) {
    case Mode::fenced:
      return name + "_fence";
    case Mode::pipelined:
      return name + "_rate";
    case Mode::nonblocking:
      return name + "_nbi";
    case Mode::completed:
      break;
  }
  return name;
}

std::string osu_name_of(const Shape& shape) {
  if (!is_atomic(shape.operation)) return "";
  const std::string type = shape.bytes == sizeof(int) ? "int" : "longlong";
  return "shmem_" + type + '_' + kNamesOf[static_cast<std::size_t>(shape.operation)].osu;
}

onesided::Shape content_of(const Shape& shape) {
  const auto operation = shape.operation == Operation::put ? onesided::Operation::put : onesided::Operation::get;
  return {operation, onesided::Element::byte, onesided::Mode::rate, shape.bytes, shape.slots};
}

Word initial_of(std::size_t bytes, int slot, Word seed) {
  const auto at = static_cast<Word>(slot);
  const Word low = (seed * 7919 + at * 131) & 0xffffffU;
  return bytes == sizeof(Word) ? low | (at + seed) << 40U : low;
}

std::vector<std::uint8_t> expected_words(const Shape& shape, Word seed, std::int64_t rounds) {
  std::vector<std::uint8_t> data(shape.window_bytes());
  const Word more = shape.operation == Operation::fetch ? 0 : static_cast<Word>(rounds);
  for (int slot = 0; slot < shape.slots; ++slot) {
    onesided::store(place(data, shape, slot), initial_of(shape.bytes, slot, seed) + more);
  }
  return data;
}

std::vector<std::uint8_t> expected_olds(const Shape& shape, Word seed, std::int64_t rounds) {
  if (!fetches(shape.operation)) return {};
  return expected_words(shape, seed, rounds - 1);
}

Difference contended(const Shape& shape, std::vector<Word> olds, Word last, Word initial, std::int64_t count) {
  // A swap's last value is one of those that were swapped in, whichever came last; of all others it is the sum.
  if (shape.operation == Operation::swap) {
    olds.push_back(last);
    return onesided::each_once(std::move(olds), initial, shape.bytes);
  }
  Difference difference;
  if (fetches(shape.operation)) difference = onesided::each_once(std::move(olds), initial, shape.bytes);
  const Word wanted = initial + 2 * static_cast<Word>(count);
  if (last != wanted) difference.join({1, 0});
  return difference;
}

}  // namespace shakedown::shmem
