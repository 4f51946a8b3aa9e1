// CRC-32C with SSE 4.2's instruction, copied by AVX.
#include <immintrin.h>

#include "checksum_x86.hpp"

namespace shakedown::coding {
namespace {

struct Avx2 {
  SHAKEDOWN_INLINE static void stream_line(std::uint8_t* to, const std::uint8_t* from) {
    const auto* const source = reinterpret_cast<const __m256i*>(from);
    auto* const target = reinterpret_cast<__m256i*>(to);
    const __m256i low = _mm256_loadu_si256(source), high = _mm256_loadu_si256(source + 1);
    _mm256_stream_si256(target, low);
    _mm256_stream_si256(target + 1, high);
  }
};

}  // namespace

extern const ChecksumLoops kChecksumAvx2;
const ChecksumLoops kChecksumAvx2 = {"avx2", checksum, copy<Avx2>};
}  // namespace shakedown::coding
