#include "isa.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace shakedown {

const std::vector<std::string>& isa_names() {
  static const std::vector<std::string> names = {"avx512", "avx2", "sse2", "sve", "neon", "plain"};
  return names;
}

#if defined(__x86_64__)
namespace isa_detail {

Leaf cpuid(unsigned leaf, unsigned sub) {
  Leaf out;
  __get_cpuid_count(leaf, sub, &out.a, &out.b, &out.c, &out.d);  // leaves zeros where the leaf does not exist
  return out;
}

std::uint64_t saved_states() {
  if (((cpuid(1).c >> 27) & 1U) == 0) return 0;  // OSXSAVE
  std::uint32_t low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (std::uint64_t{high} << 32) | low;
}

}  // namespace isa_detail
#endif

std::vector<std::string> machine_isas() {
  std::vector<std::string> found;
#if defined(__x86_64__)
  const auto one = isa_detail::cpuid(1);
  const auto seven = isa_detail::cpuid(7);
  const auto states = isa_detail::saved_states();
  const auto bit = [](unsigned word, int n) { return ((word >> n) & 1U) != 0; };
  const bool ymm = (states & 0x6) == 0x6;           // XMM and upper YMM halves
  const bool zmm = ymm && (states & 0xe0) == 0xe0;  // mask registers, upper ZMM halves, ZMM16-31
  const bool avx2 = ymm && bit(one.c, 28) && bit(one.c, 12) && bit(seven.b, 5);
  const bool avx512 = zmm && avx2 && bit(seven.b, 16) && bit(seven.b, 17) && bit(seven.b, 28) && bit(seven.b, 30) &&
                      bit(seven.b, 31);  // F, DQ, CD, BW, VL
  if (avx512) found.emplace_back("avx512");
  if (avx2) found.emplace_back("avx2");
  found.emplace_back("sse2");
#elif defined(__aarch64__)
  const unsigned long capabilities = getauxval(AT_HWCAP);
  if ((capabilities >> 22) & 1UL) found.emplace_back("sve");  // HWCAP_SVE
  if ((capabilities >> 1) & 1UL) found.emplace_back("neon");  // HWCAP_ASIMD
#endif
  found.emplace_back("plain");
  return found;
}

std::string choose_isa(const std::string& asked, const std::vector<std::string>& built) {
  const auto runs = machine_isas();
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const auto join = [](const std::vector<std::string>& names) {
    std::string out;
    for (const auto& name : names) out += (out.empty() ? "" : ", ") + name;
    return out;
  };
  if (asked == "auto") {
    for (const auto& name : built) {
      if (has(runs, name)) return name;
    }
    throw cannot("none of the instruction sets built in (" + join(built) + ") runs here",
                 "this machine has " + join(runs));
  }
  if (!has(isa_names(), asked))
    throw usage("unknown instruction set '" + asked + "'", "known: auto, " + join(isa_names()));
  if (!has(built, asked)) throw cannot("no code for " + asked + " was built in", "choose among " + join(built));
  if (!has(runs, asked)) throw cannot("this machine or its kernel does not offer " + asked, "it offers " + join(runs));
  return asked;
}

}  // namespace shakedown
