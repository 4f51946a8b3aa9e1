// What the checks of features share: files that close themselves, processes beside this one, answers in words.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <string>
#include <utility>

#include "storage.hpp"

namespace shakedown::storage {

/// What it was is broken unless it holds.
inline void need(bool holds, const std::string& what) {
  if (!holds) throw Broken{what};
}

inline std::string because(const std::string& what) { return what + ": " + std::strerror(errno); }

/// The call failed: absent where the file system says that it does not do such things, else broken.
[[noreturn]] inline void refused(const std::string& what) {
  const int number = errno;
  const std::string why = because(what);
  if (number == EOPNOTSUPP || number == ENOSYS || number == ENOTTY) throw Absent{why};
  throw Broken{why};
}

class File {
 public:
  explicit File(const std::string& path, int flags = O_RDWR | O_CREAT, mode_t mode = 0600)
      : fd_(open(path.c_str(), flags | O_CLOEXEC, mode)) {
    if (fd_ < 0) throw Broken{because("open " + path.substr(path.rfind('/') + 1))};
  }
  ~File() { ::close(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

void write_all(int fd, const std::string& text, off_t at);
std::string read_all(int fd, std::size_t bytes, off_t at);
/// Written anew and closed.
void store(const std::string& path, const std::string& text);
/// All of a file's content; throws Broken where it cannot be opened.
std::string load(const std::string& path);
struct stat status_of(const std::string& path);
struct stat status_of(int fd);

/// A process beside this one that runs `work`; the exit code is what that returns, or 99 where it throws. Its end and
/// ours can say one another words of one byte.
class Beside {
 public:
  explicit Beside(const std::function<int(Beside&)>& work);
  ~Beside();
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;

  /// Tell the other side one thing, and wait for one. False where it has gone, or says nothing for ten seconds.
  bool tell() const;
  [[nodiscard]] bool hear() const;
  /// Whether it said something, or has gone, by now.
  [[nodiscard]] bool said() const;
  /// Its exit code; -1 where a signal ended it.
  int wait();
  /// End it by force.
  void end();
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  int out_ = -1;
  int in_ = -1;
  pid_t pid_ = -1;
};

}  // namespace shakedown::storage
