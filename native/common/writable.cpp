#include "writable.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "error.hpp"

namespace shakedown {

void require_writable(const std::string& argument, const std::string& path) {
  if (path.empty()) return;
  const bool there = access(path.c_str(), F_OK) == 0;
  std::FILE* const file = std::fopen(path.c_str(), "ab");
  if (file == nullptr) {
    throw usage("--" + argument + ": cannot write " + path + ": " + std::strerror(errno),
                "name a file in a folder that is there and can be written");
  }
  std::fclose(file);
  if (!there) unlink(path.c_str());
}

}  // namespace shakedown
