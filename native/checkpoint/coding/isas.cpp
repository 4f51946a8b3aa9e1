// Which instruction sets were built in and run here: CMake defines SHAKEDOWN_HAS_... for each source that it could
// compile.
#include <algorithm>
#include <array>

#include "common/isa.hpp"
#include "loops.hpp"

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace shakedown::coding {

extern const FieldLoops kFieldGfni512, kFieldGfni256, kFieldAvx512, kFieldAvx2, kFieldSsse3, kFieldNeon, kFieldPlain;
extern const ChecksumLoops kChecksumAvx2, kChecksumSse42, kChecksumArm, kChecksumPlain;

namespace {

/// What the loops need beyond the names of common/isa.hpp.
struct Machine {
  bool avx512 = false, avx2 = false, ssse3 = false, gfni = false, sse42 = false, clmul = false;
  bool neon = false, arm_crc = false;
};

Machine machine() {
  Machine here;
  for (const auto& name : machine_isas()) {
    here.avx512 |= name == "avx512";
    here.avx2 |= name == "avx2";
    here.neon |= name == "neon";
  }
#if defined(__x86_64__)
  const auto bit = [](unsigned word, unsigned n) { return ((word >> n) & 1U) != 0; };
  const auto one = isa_detail::cpuid(1), seven = isa_detail::cpuid(7);
  here.ssse3 = bit(one.c, 9);
  here.sse42 = bit(one.c, 20);
  here.clmul = bit(one.c, 1);
  here.gfni = bit(seven.c, 8);
#elif defined(__aarch64__)
  here.arm_crc = ((getauxval(AT_HWCAP) >> 7U) & 1UL) != 0;  // HWCAP_CRC32
#endif
  return here;
}

/// The loops that run here, in the order of `add`.
template <class Loops>
struct Found {
  std::array<const Loops*, 8> loops{};
  std::size_t count = 0;
  void add(const Loops& one, bool runs) {
    if (runs) loops[count++] = &one;
  }
  [[nodiscard]] std::span<const Loops* const> all() const { return {loops.data(), count}; }
};

Found<FieldLoops> find_field_loops() {
  [[maybe_unused]] const Machine here = machine();
  Found<FieldLoops> found;
#ifdef SHAKEDOWN_HAS_FIELD_GFNI512
  found.add(kFieldGfni512, here.gfni && here.avx512);
#endif
#ifdef SHAKEDOWN_HAS_FIELD_GFNI256
  found.add(kFieldGfni256, here.gfni && here.avx2);
#endif
#ifdef SHAKEDOWN_HAS_FIELD_AVX512
  found.add(kFieldAvx512, here.avx512);
#endif
#ifdef SHAKEDOWN_HAS_FIELD_AVX2
  found.add(kFieldAvx2, here.avx2);
#endif
#ifdef SHAKEDOWN_HAS_FIELD_SSSE3
  found.add(kFieldSsse3, here.ssse3);
#endif
#ifdef SHAKEDOWN_HAS_FIELD_NEON
  found.add(kFieldNeon, here.neon);
#endif
  found.add(kFieldPlain, true);
  return found;
}

Found<ChecksumLoops> find_checksum_loops() {
  [[maybe_unused]] const Machine here = machine();
  Found<ChecksumLoops> found;
#ifdef SHAKEDOWN_HAS_CHECKSUM_AVX2
  found.add(kChecksumAvx2, here.avx2 && here.sse42 && here.clmul);
#endif
#ifdef SHAKEDOWN_HAS_CHECKSUM_SSE42
  found.add(kChecksumSse42, here.sse42 && here.clmul);
#endif
#ifdef SHAKEDOWN_HAS_CHECKSUM_ARM
  found.add(kChecksumArm, here.arm_crc);
#endif
  found.add(kChecksumPlain, true);
  return found;
}

}  // namespace

std::span<const FieldLoops* const> field_loops() {
  static const auto found = find_field_loops();
  return found.all();
}

std::span<const ChecksumLoops* const> checksum_loops() {
  static const auto found = find_checksum_loops();
  return found.all();
}

}  // namespace shakedown::coding
