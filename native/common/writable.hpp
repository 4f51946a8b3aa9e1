// Where a program is to write at its end, looked at before it measures.
#pragma once

#include <string>

namespace shakedown {

/// Throw a usage error where no file can be written at `path`, which --`argument` gave; empty: nothing is to be
/// written. What is there stays as it is.
void require_writable(const std::string& argument, const std::string& path);

}  // namespace shakedown
