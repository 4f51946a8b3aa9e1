// Which kernels were built in, and the scalar chain.
#include "common/chain.hpp"
#include "common/error.hpp"
#include "probe.hpp"

namespace shakedown::probe {

extern const Kernel kAvx512Kernel, kAvx2Kernel, kSse2Kernel, kNeonKernel;
const Kernel& sve_kernel();  // a function: the length of its registers is asked of the machine, which must have them

std::vector<std::string> kernel_names() {
  return {
#if defined(SHAKEDOWN_HAS_AVX512)
    "avx512",
#endif
#if defined(SHAKEDOWN_HAS_AVX2)
        "avx2",
#endif
#if defined(SHAKEDOWN_HAS_SVE)
        "sve",
#endif
#if defined(__x86_64__)
        "sse2",
#elif defined(__aarch64__)
    "neon",
#endif
  };
}

const Kernel& kernel(const std::string& isa) {
#if defined(SHAKEDOWN_HAS_AVX512)
  if (isa == "avx512") return kAvx512Kernel;
#endif
#if defined(SHAKEDOWN_HAS_AVX2)
  if (isa == "avx2") return kAvx2Kernel;
#endif
#if defined(SHAKEDOWN_HAS_SVE)
  if (isa == "sve") return sve_kernel();
#endif
#if defined(__x86_64__)
  if (isa == "sse2") return kSse2Kernel;
#elif defined(__aarch64__)
  if (isa == "neon") return kNeonKernel;
#endif
  throw cannot("no code for " + isa + " was built in");
}

std::uint64_t add_chain(std::uint64_t count) {
  std::uint64_t sum = 0;
  const std::uint64_t one = opaque_one();
  for (std::uint64_t done = 0; done < count; done += 64) add_times<64>(sum, one);
  return sum;
}

}  // namespace shakedown::probe
