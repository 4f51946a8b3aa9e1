// What the probe runs, in one screen. The model behind the numbers is in README.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace shakedown::probe {

/// Each accumulator takes this many multiply-adds up, then as many down: see Kernel.
inline constexpr int kSteps = 4096;
inline constexpr int kMostChains = 24;
inline constexpr int kMostBytes = 256;  // of one vector register: SVE's largest
inline constexpr int kDensities = 3;

/// The factors of the multiply-adds, of even and odd accumulators: whole numbers whose product, kSteps times, is exact.
template <class T>
struct Factors {
  T p[2], q[2];
};
inline constexpr Factors<double> kFactors64 = {{649'607, 753'477}, {850'453, 981'047}};  // 20 bits each
inline constexpr Factors<float> kFactors32 = {{61, 53}, {59, 63}};                       // 6 bits each

/// The loops of one instruction set. `chains` independent accumulators, each a register of `lanes` numbers, lie in
/// `state` one after another. A block is kSteps times acc += p q on every accumulator, then kSteps times acc -= p q;
/// the last half block is up. So after any number of blocks every lane holds its first value plus kSteps p q, exactly,
/// and an error in any operation of any block stays to the end.
struct Kernel {
  const char* isa;
  int lanes64, lanes32, chains;
  void (*fma64)(std::int64_t blocks, double* state);
  void (*fma32)(std::int64_t blocks, float* state);
  /// The same in double precision with a chain of dependent integer additions in between, `adds[density]` for each step
  /// over all accumulators; returns the sum of the chain, which is the number of its additions.
  std::uint64_t (*mixed)(std::int64_t blocks, int density, double* state);
  int adds[kDensities];
};

/// Steps over all accumulators in a call with that many blocks.
inline std::int64_t steps_of(std::int64_t blocks) { return (2 * blocks + 1) * kSteps; }

/// The names of the kernels that were built in, widest first (see common/isa.hpp).
std::vector<std::string> kernel_names();

/// The kernel of that name, which must be built in and which this machine must be able to run.
const Kernel& kernel(const std::string& isa);

/// `count` additions, each of which waits for the one before: one cycle each on every CPU of note. Returns the sum,
/// which must be `count` rounded up to a multiple of 64.
std::uint64_t add_chain(std::uint64_t count);

}  // namespace shakedown::probe
