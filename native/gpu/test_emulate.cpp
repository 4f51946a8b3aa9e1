// What must be true of kernels that run on the host: threads of a block wait for each other at barriers and nowhere
// else, blocks that are together run at the same time, and the thread sanitizer sees what one block does to another.
#include <cstring>
#include <string>
#include <vector>

#include "emulate.hpp"
#include "testing/check.hpp"
#include "testing/run_program.hpp"

namespace {

using shakedown::blockDim;
using shakedown::blockIdx;
using shakedown::Checks;
using shakedown::gridDim;
using shakedown::threadIdx;
using shakedown::gpu::Grid;
using shakedown::gpu::emulate::Kind;
using shakedown::gpu::emulate::launch;

constexpr unsigned kThreads = 96;  // three warps

/// How many threads see what their neighbours below and above wrote before.
unsigned well_met(bool barrier) {
  std::vector<unsigned> written(kThreads, 0);
  unsigned seen = 0;
  launch({.blocks = 1, .threads = kThreads}, Kind::barriers, [&] {
    const unsigned me = threadIdx.x;
    written[me] = me + 1;
    if (barrier) shakedown::__syncthreads();
    const unsigned below = (me + kThreads - 1) % kThreads, above = (me + 1) % kThreads;
    seen += written[below] == below + 1 && written[above] == above + 1 ? 1 : 0;
  });
  return seen;
}

void barriers(Checks& checks) {
  checks.equal(well_met(true), kThreads, "behind a barrier each sees what the others wrote");
  checks.that(well_met(false) < kThreads, "a barrier that is missing shows");
  unsigned after = 0;
  launch({.blocks = 1, .threads = kThreads}, Kind::barriers, [&] {
    if (threadIdx.x >= 40) return;
    shakedown::__syncthreads();
    ++after;
  });
  checks.equal(after, 40u, "nobody waits for threads that have ended");
}

void warps(Checks& checks) {
  std::vector<unsigned> from_above(kThreads), votes(kThreads), most(kThreads);
  launch({.blocks = 1, .threads = kThreads}, Kind::barriers, [&] {
    const unsigned me = threadIdx.x;
    from_above[me] = shakedown::__shfl_xor_sync(~0u, me, 1);
    votes[me] = shakedown::__ballot_sync(~0u, me % 2 == 1);
    most[me] = shakedown::warp_max(me);
  });
  bool right = true;
  for (unsigned t = 0; t < kThreads; ++t) {
    right = right && from_above[t] == (t ^ 1) && votes[t] == 0xaaaaaaaau && most[t] == t / 32 * 32 + 31;
  }
  checks.that(right, "words between the lanes of each warp");
}

/// Many blocks, and many launches: nothing of one stays for the next.
void again_and_again(Checks& checks) {
  constexpr unsigned kBlocks = 70, kLaunches = 700;
  std::vector<unsigned> sums(kBlocks, 0);
  const Grid grid{.blocks = kBlocks / 2, .threads = 32, .shared_bytes = 32 * sizeof(unsigned), .blocks_y = 2};
  const auto body = [&] {
    auto* const mine = static_cast<unsigned*>(shakedown::gpu::emulate::block().shared());
    mine[threadIdx.x] = threadIdx.x;
    shakedown::__syncthreads();
    if (threadIdx.x != 0) return;
    for (unsigned t = 0; t < blockDim.x; ++t) sums[blockIdx.y * gridDim.x + blockIdx.x] += mine[t];
  };
  launch(grid, Kind::barriers, body);
  for (unsigned turn = 1; turn < kLaunches; ++turn) launch({.blocks = 1, .threads = 96}, Kind::barriers, [] {});
  launch(grid, Kind::barriers, body);
  bool right = true;
  for (const unsigned sum : sums) right = right && sum == 2 * 31 * 32 / 2;
  checks.that(right, "each block of each launch once");
}

/// Blocks tell each other by a word that something is there: with `told` false the other looks without being told.
std::uint64_t between_blocks(bool told) {
  std::uint64_t word = 0, value = 0, seen = 0;
  launch({.blocks = 2, .threads = 64}, Kind::together, [&] {
    if (blockIdx.x == 0 && threadIdx.x == 63) {
      value = 7;
      shakedown::store_release(&word, 1, false);
    }
    if (blockIdx.x == 1 && threadIdx.x == 5) {
      while (told && shakedown::load_acquire(&word, false) == 0) shakedown::spin();
      seen = value;
    }
    shakedown::__syncthreads();
  });
  return seen;
}

/// A race between blocks, in a process of its own: the sanitizer's report is what is wanted.
void races([[maybe_unused]] Checks& checks, [[maybe_unused]] const std::string& program) {
#if defined(__SANITIZE_THREAD__)
  const auto told = shakedown::run_command(program + " told");
  checks.equal(told.code, 0, "who waits for the word races with nobody: " + told.text);
  const auto untold = shakedown::run_command("TSAN_OPTIONS=exitcode=66 " + program + " untold");
  checks.equal(untold.code, 66, "who does not is found out: " + untold.text);
  checks.that(untold.says("data race"), untold.text);
  checks.that(untold.says("test_emulate.cpp"), "and the lines are named: " + untold.text);
#endif
}

}  // namespace

int main(int count, char** words) {
  if (count == 2) return between_blocks(std::strcmp(words[1], "told") == 0) > 7 ? 1 : 0;
  Checks checks;
  barriers(checks);
  warps(checks);
  again_and_again(checks);
  checks.equal(between_blocks(true), 7u, "what was written before the word is there behind it");
  races(checks, words[0]);
  return checks.end();
}
