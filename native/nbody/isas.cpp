// Which instruction sets were built in: CMake defines SHAKEDOWN_HAS_... for each source that it could compile.
#include <algorithm>

#include "common/isa.hpp"
#include "kernel.hpp"

namespace shakedown::nbody {

extern const Isa kAvx512, kAvx2, kNeon, kPlain;
const Isa& sve_isa();  // a function: the length of its registers is asked of the machine, which must have them

std::vector<std::string> isas_built() {
  return {
#ifdef SHAKEDOWN_HAS_AVX512
      "avx512",
#endif
#ifdef SHAKEDOWN_HAS_AVX2
      "avx2",
#endif
#ifdef SHAKEDOWN_HAS_SVE
      "sve",
#endif
#ifdef SHAKEDOWN_HAS_NEON
      "neon",
#endif
      "plain",
  };
}

const Isa& isa_of(const std::string& name) {
#ifdef SHAKEDOWN_HAS_AVX512
  if (name == "avx512") return kAvx512;
#endif
#ifdef SHAKEDOWN_HAS_AVX2
  if (name == "avx2") return kAvx2;
#endif
#ifdef SHAKEDOWN_HAS_SVE
  if (name == "sve") return sve_isa();
#endif
#ifdef SHAKEDOWN_HAS_NEON
  if (name == "neon") return kNeon;
#endif
  if (name == "plain") return kPlain;
  throw cannot("no code for " + name + " was built in");
}

std::vector<const Isa*> isas_here() {
  const auto runs = machine_isas();
  std::vector<const Isa*> found;
  for (const auto& name : isas_built()) {
    if (std::find(runs.begin(), runs.end(), name) != runs.end()) found.push_back(&isa_of(name));
  }
  return found;
}

}  // namespace shakedown::nbody
