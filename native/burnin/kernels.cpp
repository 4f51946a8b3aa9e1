// Which kernels were built in.
#include "common/error.hpp"
#include "product.hpp"

namespace shakedown::burnin {

extern const Kernel kAvx512Kernel, kAvx2Kernel, kSse2Kernel, kNeonKernel, kPlainKernel;

std::vector<std::string> kernel_names() {
  return {
#if defined(SHAKEDOWN_HAS_AVX512)
    "avx512",
#endif
#if defined(SHAKEDOWN_HAS_AVX2)
        "avx2",
#endif
#if defined(__x86_64__)
        "sse2",
#elif defined(__aarch64__)
    "neon",
#endif
        "plain",
  };
}

const Kernel& kernel(const std::string& isa) {
#if defined(SHAKEDOWN_HAS_AVX512)
  if (isa == "avx512") return kAvx512Kernel;
#endif
#if defined(SHAKEDOWN_HAS_AVX2)
  if (isa == "avx2") return kAvx2Kernel;
#endif
#if defined(__x86_64__)
  if (isa == "sse2") return kSse2Kernel;
#elif defined(__aarch64__)
  if (isa == "neon") return kNeonKernel;
#endif
  if (isa == "plain") return kPlainKernel;
  throw cannot("no code for " + isa + " was built in");
}

}  // namespace shakedown::burnin
