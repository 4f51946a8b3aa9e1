// The GPU's part of a burn-in beside the products, which are cuBLAS's: operands, comparison to the bit, patterns.
#include "entries.hpp"

namespace {

namespace own = shakedown::burnin;
using Word = unsigned long long;

__device__ void note(own::Wrongs* wrongs, Word index, Word expected, Word found) {
  const Word at = atomicAdd(&wrongs->count, 1ULL);
  if (at >= own::Wrongs::kMost) return;
  wrongs->index[at] = index;
  wrongs->expected[at] = expected;
  wrongs->found[at] = found;
}

__device__ size_t first() { return static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ size_t stride() { return static_cast<size_t>(gridDim.x) * blockDim.x; }

template <own::Kind kKind>
__device__ void march(Word* words, Word key, size_t begin, size_t end, Word invert, Word next, bool reads, bool writes,
                      own::Wrongs* wrongs) {
  for (size_t i = begin + first(); i < end; i += stride()) {
    const Word word = own::pattern_word(kKind, key, i);
    if (reads) {
      const Word found = words[i];
      if (found != (word ^ invert)) note(wrongs, i, word ^ invert, found);
    }
    if (writes) words[i] = word ^ next;
  }
}

}  // namespace

extern "C" __global__ void operands(double* to, unsigned stream, size_t count) {
  for (size_t i = first(); i < count; i += stride()) to[i] = own::gpu_operand(stream, i);
}

/// Operands that are no longer what was written.
extern "C" __global__ void check_operands(const double* at, unsigned stream, size_t count, own::Wrongs* wrongs) {
  for (size_t i = first(); i < count; i += stride()) {
    const Word expected = static_cast<Word>(__double_as_longlong(own::gpu_operand(stream, i)));
    const Word found = static_cast<Word>(__double_as_longlong(at[i]));
    if (found != expected) note(wrongs, i, expected, found);
  }
}

extern "C" __global__ void compare(const double* at, const double* expected, size_t count, own::Wrongs* wrongs) {
  for (size_t i = first(); i < count; i += stride()) {
    const Word want = static_cast<Word>(__double_as_longlong(expected[i]));
    const Word found = static_cast<Word>(__double_as_longlong(at[i]));
    if (found != want) note(wrongs, i, want, found);
  }
}

extern "C" __global__ void patterns(unsigned long long* words, unsigned kind, unsigned long long key, size_t begin,
                                    size_t end, unsigned long long invert, unsigned long long next, unsigned reads,
                                    unsigned writes, own::Wrongs* wrongs) {
  switch (static_cast<own::Kind>(kind)) {
    case own::Kind::addressed:
      return march<own::Kind::addressed>(words, key, begin, end, invert, next, reads != 0, writes != 0, wrongs);
    case own::Kind::walking:
      return march<own::Kind::walking>(words, key, begin, end, invert, next, reads != 0, writes != 0, wrongs);
    default:
      return march<own::Kind::solid>(words, key, begin, end, invert, next, reads != 0, writes != 0, wrongs);
  }
}
