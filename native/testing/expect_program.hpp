// What must be true of the program under test as a whole; CMake defines PROGRAM, its path, for such a test.
#pragma once

#include <string>

#include "testing/check.hpp"
#include "testing/run_program.hpp"

namespace shakedown {

/// The program with these arguments ends with this exit code and prints each of these parts.
template <typename... Parts>
void expect(Checks& checks, const std::string& arguments, int code, const Parts&... parts) {
  const Ran ran = run_command(std::string(PROGRAM) + " " + arguments);
  checks.equal(ran.code, code, arguments + ": exit code");
  (checks.that(ran.says(parts), arguments + ": prints '" + parts + "': " + ran.text), ...);
}

}  // namespace shakedown
