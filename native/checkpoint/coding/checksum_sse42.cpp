// CRC-32C with SSE 4.2's instruction, copied by SSE2.
#include "checksum_x86.hpp"

namespace shakedown::coding {
namespace {

struct Sse2 {
  SHAKEDOWN_INLINE static void stream_line(std::uint8_t* to, const std::uint8_t* from) {
    const auto* const source = reinterpret_cast<const __m128i*>(from);
    auto* const target = reinterpret_cast<__m128i*>(to);
    const __m128i first = _mm_loadu_si128(source), second = _mm_loadu_si128(source + 1);
    const __m128i third = _mm_loadu_si128(source + 2), fourth = _mm_loadu_si128(source + 3);
    _mm_stream_si128(target, first);
    _mm_stream_si128(target + 1, second);
    _mm_stream_si128(target + 2, third);
    _mm_stream_si128(target + 3, fourth);
  }
};

}  // namespace

extern const ChecksumLoops kChecksumSse42;
const ChecksumLoops kChecksumSse42 = {"sse4.2", checksum, copy<Sse2>};
}  // namespace shakedown::coding
