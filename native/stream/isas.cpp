// Which instruction sets were built in: CMake defines SHAKEDOWN_HAS_... for each source that it could compile.
#include "stream.hpp"

namespace shakedown::stream {

extern const IsaLoops kAvx512Loops, kAvx2Loops, kSse2Loops, kSveLoops, kNeonLoops, kPlainLoops;

IsaList isas_built() {
  static const IsaLoops* const kBuilt[] = {
#ifdef SHAKEDOWN_HAS_AVX512
      &kAvx512Loops,
#endif
#ifdef SHAKEDOWN_HAS_AVX2
      &kAvx2Loops,
#endif
#ifdef SHAKEDOWN_HAS_SSE2
      &kSse2Loops,
#endif
#ifdef SHAKEDOWN_HAS_SVE
      &kSveLoops,
#endif
#ifdef SHAKEDOWN_HAS_NEON
      &kNeonLoops,
#endif
      &kPlainLoops,
  };
  return {kBuilt, sizeof kBuilt / sizeof kBuilt[0]};
}

}  // namespace shakedown::stream
