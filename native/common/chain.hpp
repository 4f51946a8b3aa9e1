// The chain of dependent integer additions. Included by files for different instruction sets: nothing here but
// templates and functions of internal linkage, so that no code for one set is taken for another.
#pragma once

#include <cstdint>

namespace shakedown {
namespace {

/// One addition that the compiler can neither fold nor move before the one above it. Both operands are registers: since
/// Golden Cove, Intel's renamer does additions of small constants by itself, several in a cycle, which would break the
/// rule of one cycle each.
[[gnu::always_inline]] inline void add(std::uint64_t& sum, std::uint64_t one) {
#if defined(__x86_64__)
  asm volatile("add %1, %0" : "+r"(sum) : "r"(one) : "cc");
#elif defined(__aarch64__)
  asm volatile("add %0, %0, %1" : "+r"(sum) : "r"(one));
#else
  sum += one;
  asm volatile("" : "+r"(sum));
#endif
}

template <int Count>
[[gnu::always_inline]] inline void add_times(std::uint64_t& sum, std::uint64_t one) {
  if constexpr (Count > 0) {
    add(sum, one);
    add_times<Count - 1>(sum, one);
  }
}

/// 1 in a register, of unknown value to the compiler.
[[gnu::always_inline]] inline std::uint64_t opaque_one() {
  std::uint64_t one = 1;
  asm volatile("" : "+r"(one));
  return one;
}

}  // namespace
}  // namespace shakedown
