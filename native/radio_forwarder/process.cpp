// Processes of nodes.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/error.hpp"
#include "control.hpp"

namespace shakedown::radio_forwarder {
namespace {

/// In the child of a process with threads: only what is safe after fork (signal-safety(7)).
[[noreturn]] void become(int space, const char* log, char* const* argv) {
  const int out = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (out >= 0 && in >= 0 && dup2(in, 0) >= 0 && dup2(out, 1) >= 0 && dup2(out, 2) >= 0) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    setsid();
    if (space < 0 || setns(space, CLONE_NEWNET) == 0) execvp(argv[0], argv);
    const char* const words = std::strerror(errno);
    if (write(2, argv[0], std::strlen(argv[0])) > 0 && write(2, ": ", 2) > 0 && write(2, words, std::strlen(words)) > 0)
      (void)!write(2, "\n", 1);
  }
  _exit(127);
}

}  // namespace

int start_process(int space, const std::string& log, const std::vector<std::string>& argv) {
  std::vector<char*> words;
  words.reserve(argv.size() + 1);
  for (const auto& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) become(space, log.c_str(), words.data());
  if (child > 0) return child;
  throw cannot("start " + argv.front() + ": " + std::strerror(errno),
               errno == EAGAIN ? "raise /proc/sys/kernel/pid_max, or the limit of processes (ulimit -u)" : "");
}

}  // namespace shakedown::radio_forwarder
