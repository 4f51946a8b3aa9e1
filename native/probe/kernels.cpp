// Which kernels were built in, and the scalar chain.
#include "chain.hpp"
#include "probe.hpp"

namespace shakedown::probe {

extern const Kernel kAvx512Kernel, kAvx2Kernel, kSse2Kernel, kNeonKernel;
const Kernel& sve_kernel();  // a function: the length of its registers is known at run time only

std::vector<const Kernel*> kernels() {
  std::vector<const Kernel*> found;
#if defined(SHAKEDOWN_HAS_AVX512)
  found.push_back(&kAvx512Kernel);
#endif
#if defined(SHAKEDOWN_HAS_AVX2)
  found.push_back(&kAvx2Kernel);
#endif
#if defined(SHAKEDOWN_HAS_SVE)
  found.push_back(&sve_kernel());
#endif
#if defined(__x86_64__)
  found.push_back(&kSse2Kernel);
#elif defined(__aarch64__)
  found.push_back(&kNeonKernel);
#endif
  return found;
}

std::uint64_t add_chain(std::uint64_t count) {
  std::uint64_t sum = 0;
  const std::uint64_t one = opaque_one();
  for (std::uint64_t done = 0; done < count; done += 64) add_times<64>(sum, one);
  return sum;
}

}  // namespace shakedown::probe
