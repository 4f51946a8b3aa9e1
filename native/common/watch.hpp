// Ranks that do not answer: said by a signal's handler, since the others wait inside MPI.
#pragma once

#include <string>

namespace shakedown {

/// From now on the process has `seconds` to call `unwatch`; else it prints `line` to standard output and `says` to
/// standard error and leaves with the exit code of a failed check, so that MPI's launcher ends the job. A rank that
/// waits in MPI for one that does not answer can do no more than that. One watch at a time; nothing at all is done for
/// 0 seconds. `outside`, where there is one, is said instead by a process that is not in MPI then: it is the one that
/// the others wait for.
void watch(double seconds, const std::string& line, const std::string& says, const std::string& outside = "");
void unwatch();

/// Marks that this process is in MPI, from its construction to the end of its scope.
class InMpi {
 public:
  InMpi();
  ~InMpi();
  InMpi(const InMpi&) = delete;
  InMpi& operator=(const InMpi&) = delete;
};

}  // namespace shakedown
