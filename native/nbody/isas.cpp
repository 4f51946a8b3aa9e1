// Which instruction sets were built in: CMake defines SHAKEDOWN_HAS_... for each source that it could compile.
#include "common/isa.hpp"
#include "kernel.hpp"

namespace shakedown::nbody {

extern const Isa kAvx512, kAvx2, kNeon, kPlain;
const Isa& sve_isa();  // a function: the length of its registers is asked of the machine, which must have them

namespace {

constexpr BuiltIsa<Isa> kBuilt[] = {
#ifdef SHAKEDOWN_HAS_AVX512
    {"avx512", isa_given<kAvx512>},
#endif
#ifdef SHAKEDOWN_HAS_AVX2
    {"avx2", isa_given<kAvx2>},
#endif
#ifdef SHAKEDOWN_HAS_SVE
    {"sve", sve_isa},
#endif
#ifdef SHAKEDOWN_HAS_NEON
    {"neon", isa_given<kNeon>},
#endif
    {"plain", isa_given<kPlain>},
};

}  // namespace

std::vector<std::string> isas_built() { return names_of(kBuilt); }
const Isa& isa_of(const std::string& name) { return shakedown::loops_of(kBuilt, name); }
std::vector<const Isa*> isas_here() { return runnable(kBuilt); }

}  // namespace shakedown::nbody
