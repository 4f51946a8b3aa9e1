#include "kernels.hpp"

#include <algorithm>

#include "common/isa.hpp"

namespace shakedown::hpl {

#define SHAKEDOWN_DECLARE(name)  \
  namespace name {               \
  extern const Kernels kKernels; \
  }
#ifdef SHAKEDOWN_HAS_AVX512
SHAKEDOWN_DECLARE(avx512)
#endif
#ifdef SHAKEDOWN_HAS_AVX2
SHAKEDOWN_DECLARE(avx2)
#endif
SHAKEDOWN_DECLARE(plain)
#undef SHAKEDOWN_DECLARE

namespace {

const std::vector<const Kernels*>& built() {
  static const std::vector<const Kernels*> sets = {
#ifdef SHAKEDOWN_HAS_AVX512
      &avx512::kKernels,
#endif
#ifdef SHAKEDOWN_HAS_AVX2
      &avx2::kKernels,
#endif
      &plain::kKernels};
  return sets;
}

}  // namespace

const std::vector<std::string>& built_kernels() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> words;
    for (const auto* set : built()) words.emplace_back(set->isa);
    return words;
  }();
  return names;
}

const Kernels& kernels(const std::string& isa) {
  const std::string name = choose_isa(isa, built_kernels());
  return **std::find_if(built().begin(), built().end(), [&](const auto* set) { return set->isa == name; });
}

}  // namespace shakedown::hpl
