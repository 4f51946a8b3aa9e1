#include "attempts.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

namespace shakedown::storage {

void write_all(int fd, const std::string& text, off_t at) {
  const ssize_t done = pwrite(fd, text.data(), text.size(), at);
  need(done == static_cast<ssize_t>(text.size()), because("write"));
}

std::string read_all(int fd, std::size_t bytes, off_t at) {
  std::string text(bytes, '\0');
  std::size_t got = 0;
  while (got < bytes) {
    const ssize_t done = pread(fd, text.data() + got, bytes - got, at + static_cast<off_t>(got));
    if (done < 0) throw Broken{because("read")};
    if (done == 0) break;
    got += static_cast<std::size_t>(done);
  }
  text.resize(got);
  return text;
}

void store(const std::string& path, const std::string& text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) throw Broken{because("open")};
  const ssize_t done = write(fd, text.data(), text.size());
  const int closed = ::close(fd);  // where a network file system says that what it took did not arrive
  need(done == static_cast<ssize_t>(text.size()) && closed == 0, because("write and close"));
}

std::string load(const std::string& path) {
  const File file(path, O_RDONLY);
  return read_all(file.fd(), static_cast<std::size_t>(status_of(file.fd()).st_size), 0);
}

struct stat status_of(const std::string& path) {
  struct stat found {};
  if (lstat(path.c_str(), &found) != 0) throw Broken{because("lstat")};
  return found;
}

struct stat status_of(int fd) {
  struct stat found {};
  if (fstat(fd, &found) != 0) throw Broken{because("fstat")};
  return found;
}

Beside::Beside(const std::function<int(Beside&)>& work) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) throw Broken{because("socketpair")};
  pid_ = fork();
  if (pid_ < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    throw Broken{because("fork")};
  }
  ::close(ends[pid_ == 0 ? 0 : 1]);
  in_ = out_ = ends[pid_ == 0 ? 1 : 0];
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // whatever ends us ends it
    int code = 99;
    try {
      code = work(*this);
    } catch (...) {  // NOLINT(bugprone-empty-catch): 99 says it
    }
    _exit(code);
  }
}

Beside::~Beside() {
  if (pid_ > 0) end();
  ::close(in_);
}

bool Beside::tell() const { return send(out_, "x", 1, MSG_NOSIGNAL) == 1; }

bool Beside::hear() const {
  pollfd one{in_, POLLIN, 0};
  char byte = 0;
  return poll(&one, 1, 10'000) == 1 && recv(in_, &byte, 1, 0) == 1;
}

bool Beside::said() const {
  pollfd one{in_, POLLIN, 0};
  return poll(&one, 1, 0) == 1;
}

int Beside::wait() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void Beside::end() {
  kill(pid_, SIGKILL);
  wait();
}

}  // namespace shakedown::storage
