#include "watch.hpp"

#include <sys/time.h>
#include <unistd.h>

#include <cmath>
#include <csignal>

#include "error.hpp"

namespace shakedown {
namespace {

// What the handler prints; written while no timer runs.
std::string g_line;
std::string g_says;
std::string g_outside;
volatile std::sig_atomic_t g_in_mpi = 0;
constexpr unsigned kDrainS = 1;  // for other dead pairs to be named, and for the launcher to pass the lines on

void print(int file, const std::string& text) {
  for (std::size_t begin = 0; begin < text.size();) {
    const ssize_t count = write(file, text.data() + begin, text.size() - begin);
    if (count <= 0) return;
    begin += static_cast<std::size_t>(count);
  }
}

extern "C" void silent(int /*signal*/) {
  print(STDOUT_FILENO, g_line);
  print(STDERR_FILENO, g_in_mpi != 0 || g_outside.empty() ? g_says : g_outside);
  sleep(kDrainS);
  _exit(kCheckFailed);
}

void set_timer(double seconds) {
  itimerval timer{};
  timer.it_value.tv_sec = static_cast<time_t>(std::ceil(seconds));
  setitimer(ITIMER_REAL, &timer, nullptr);
}

}  // namespace

void watch(double seconds, const std::string& line, const std::string& says, const std::string& outside) {
  if (seconds <= 0) return;
  g_outside = outside;
  g_line = line;
  g_says = says;
  struct sigaction action {};
  action.sa_handler = silent;
  sigaction(SIGALRM, &action, nullptr);
  set_timer(seconds);
}

void unwatch() { set_timer(0); }

InMpi::InMpi() { g_in_mpi = 1; }
InMpi::~InMpi() { g_in_mpi = 0; }

}  // namespace shakedown
