// Whether this is a build under a sanitizer, where a test takes 10 to 50 times as long: there rounds that only draw
// more of the same are fewer. What draws fewer here is also tried without a sanitizer, whole (`shakedown_plain` of
// CMakeLists.txt).
#pragma once

namespace shakedown {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace shakedown
