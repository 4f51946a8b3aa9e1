// How a fake library is made to do wrong: an environment variable of its own holds the name of the fault.
#pragma once

#include <cstdlib>
#include <string_view>

namespace shakedown::testing {

/// Whether this variable asks for this fault. Read at each call: a test may set another while the library is loaded.
inline bool fault_is(const char* variable, std::string_view fault) {
  const char* asked = std::getenv(variable);
  return asked != nullptr && asked == fault;
}

}  // namespace shakedown::testing
