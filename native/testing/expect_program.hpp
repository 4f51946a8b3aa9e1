// What must be true of the program under test as a whole; CMake defines PROGRAM, its path, for such a test.
#pragma once

#include <string>

#include "testing/check.hpp"
#include "testing/run_program.hpp"

namespace shakedown {

/// The program with these arguments ends with this exit code and prints this part.
inline void expect(Checks& checks, const std::string& arguments, int code, const std::string& part) {
  const Ran ran = run_command(std::string(PROGRAM) + " " + arguments);
  checks.equal(ran.code, code, arguments + ": exit code");
  checks.that(ran.says(part), arguments + ": prints '" + part + "': " + ran.text);
}

}  // namespace shakedown
