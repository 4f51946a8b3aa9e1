// Which vector instruction set this CPU and its operating system offer, found at run time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "error.hpp"

namespace shakedown {

/// Every name that a program may have code for, widest first within its architecture. "plain" is what the compiler
/// makes of ordinary C++ for the baseline, and runs everywhere. "avx2" includes FMA; "avx512" means F, CD, BW, DQ and
/// VL.
const std::vector<std::string>& isa_names();

#if defined(__x86_64__)
namespace isa_detail {
struct Leaf {
  unsigned a = 0, b = 0, c = 0, d = 0;
};
Leaf cpuid(unsigned leaf, unsigned sub = 0);
/// The register states that the operating system saves (XCR0); 0 where it saves none. Without the check a CPU that has
/// AVX-512 faults under a kernel or a hypervisor that does not switch its registers.
std::uint64_t saved_states();
}  // namespace isa_detail
#endif

/// The names that this machine can run, widest first; "plain" always last.
std::vector<std::string> machine_isas();

/// The path to take: "auto" is the first of `built` (widest first) that the machine runs; a name must be both known and
/// runnable. Throws a usage error for an unknown name, "could not measure" for one that cannot run here.
std::string choose_isa(const std::string& asked, const std::vector<std::string>& built);

/// A program's own loops for one instruction set: a function gives them, since some ask the machine first.
template <class Isa>
struct BuiltIsa {
  const char* name;
  const Isa& (*loops)();
};

/// The function for loops that ask nothing.
template <const auto& kIsa>
const std::remove_cvref_t<decltype(kIsa)>& isa_given() {
  return kIsa;
}

/// The names of a program's table, widest first.
template <class Isa, std::size_t kCount>
std::vector<std::string> names_of(const BuiltIsa<Isa> (&built)[kCount]) {
  std::vector<std::string> names;
  for (const auto& one : built) names.emplace_back(one.name);
  return names;
}

/// The loops by that name. Throws "could not measure" for what was not built in.
template <class Isa, std::size_t kCount>
const Isa& loops_of(const BuiltIsa<Isa> (&built)[kCount], const std::string& name) {
  for (const auto& one : built) {
    if (name == one.name) return one.loops();
  }
  throw cannot("no code for " + name + " was built in");
}

/// Those that this machine runs, widest first.
template <class Isa, std::size_t kCount>
std::vector<const Isa*> runnable(const BuiltIsa<Isa> (&built)[kCount]) {
  const auto runs = machine_isas();
  std::vector<const Isa*> found;
  for (const auto& one : built) {
    if (std::find(runs.begin(), runs.end(), one.name) != runs.end()) found.push_back(&one.loops());
  }
  return found;
}

}  // namespace shakedown
