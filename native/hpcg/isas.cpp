// Which instruction sets were built in: CMake defines SHAKEDOWN_HAS_... for each source that it could compile.
#include "common/isa.hpp"
#include "hpcg.hpp"

namespace shakedown::hpcg {

extern const Isa kAvx512, kAvx2, kPlain;

namespace {

constexpr BuiltIsa<Isa> kBuilt[] = {
#ifdef SHAKEDOWN_HAS_AVX512
    {"avx512", isa_given<kAvx512>},
#endif
#ifdef SHAKEDOWN_HAS_AVX2
    {"avx2", isa_given<kAvx2>},
#endif
    {"plain", isa_given<kPlain>},
};

}  // namespace

std::vector<std::string> isas_built() { return names_of(kBuilt); }
const Isa& isa_of(const std::string& name) { return loops_of(kBuilt, name); }
std::vector<const Isa*> isas_here() { return runnable(kBuilt); }

}  // namespace shakedown::hpcg
