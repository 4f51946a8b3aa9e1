// The host backend's equivalents of kernels.cu.
#include <bit>

#include "entries.hpp"
#include "gpu.hpp"
#include "gpu/image.hpp"

SHAKEDOWN_GPU_IMAGE(burnin);

namespace shakedown::burnin {
namespace {

using Word = unsigned long long;

void note(Wrongs* wrongs, Word index, Word expected, Word found) {
  const Word at = wrongs->count++;
  if (at >= Wrongs::kMost) return;
  wrongs->index[at] = index;
  wrongs->expected[at] = expected;
  wrongs->found[at] = found;
}

void operands(const gpu::Grid&, double* to, unsigned stream, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = gpu_operand(stream, i);
}

void check_operands(const gpu::Grid&, const double* at, unsigned stream, std::size_t count, Wrongs* wrongs) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto expected = std::bit_cast<Word>(gpu_operand(stream, i)), found = std::bit_cast<Word>(at[i]);
    if (found != expected) note(wrongs, i, expected, found);
  }
}

void compare(const gpu::Grid&, const double* at, const double* expected, std::size_t count, Wrongs* wrongs) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto want = std::bit_cast<Word>(expected[i]), found = std::bit_cast<Word>(at[i]);
    if (found != want) note(wrongs, i, want, found);
  }
}

void patterns(const gpu::Grid&, Word* words, unsigned kind, Word key, std::size_t begin, std::size_t end, Word invert,
              Word next, unsigned reads, unsigned writes, Wrongs* wrongs) {
  for (std::size_t i = begin; i < end; ++i) {
    const Word word = pattern_word(static_cast<Kind>(kind), key, i);
    if (reads != 0 && words[i] != (word ^ invert)) note(wrongs, i, word ^ invert, words[i]);
    if (writes != 0) words[i] = word ^ next;
  }
}

const gpu::HostKernel kHost[] = {
    gpu::host_kernel<operands>("operands"),
    gpu::host_kernel<check_operands>("check_operands"),
    gpu::host_kernel<compare>("compare"),
    gpu::host_kernel<patterns>("patterns"),
};

}  // namespace

const gpu::Module kModule{burnin_image(), kHost};

}  // namespace shakedown::burnin
