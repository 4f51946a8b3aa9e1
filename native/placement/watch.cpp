#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>

#include "arrange.hpp"
#include "common/clock.hpp"
#include "common/emit.hpp"
#include "placement_rank.hpp"
#include "record.hpp"

namespace shakedown::placement {
namespace {

/// Of the time watching may take this share: one rank beside another on a busy CPU must not pay for being watched.
constexpr double kMostCost = 0.004;
constexpr double kLongestPeriod_s = 5;

std::atomic<pid_t> watched{0};

constexpr std::array kForwarded = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGTSTP, SIGALRM};

void forward(int signal) {
  const int kept = errno;
  if (const pid_t child = watched; child > 0) kill(child, signal);
  errno = kept;
}

void forward_signals() {
  struct sigaction action {};
  action.sa_handler = forward;
  sigemptyset(&action.sa_mask);
  for (const int signal : kForwarded) sigaction(signal, &action, nullptr);
}

double processor_s() { return 1e-9 * static_cast<double>(read_clock_ns(CLOCK_PROCESS_CPUTIME_ID)); }

/// In the child: become the program. What fails goes up the pipe, which closes by itself where nothing does.
[[noreturn]] void become(const Options& options, const std::vector<int>& cpus, int failure) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // a launcher that kills the watcher means the rank
  if (!cpus.empty()) {
    const CpuMask mask(cpus);
    if (sched_setaffinity(0, CpuMask::bytes(), mask.set()) == 0) {
      setenv("I_MPI_PIN", "off", 1);  // these two bind in MPI_Init
      setenv("MV2_ENABLE_AFFINITY", "0", 1);
      setenv("MVP_ENABLE_AFFINITY", "0", 1);
      execvp(options.argv.front(), options.argv.data());
    }
  } else {
    execvp(options.argv.front(), options.argv.data());
  }
  const int why = errno;
  static_cast<void>(write(failure, &why, sizeof why));
  _exit(127);
}

/// The child, once it is the program. Throws where it cannot be started.
pid_t start(const Options& options, const std::vector<int>& cpus) {
  std::array<int, 2> pipe{};
  if (pipe2(pipe.data(), O_CLOEXEC) != 0) throw cannot(std::string("no pipe: ") + std::strerror(errno));
  // What comes before the handlers are there waits for them: the program may send a signal as soon as it runs.
  sigset_t held, before;
  sigemptyset(&held);
  for (const int signal : kForwarded) sigaddset(&held, signal);
  sigprocmask(SIG_BLOCK, &held, &before);
  const pid_t child = fork();
  if (child == 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    become(options, cpus, pipe[1]);
  }
  if (child > 0) {
    watched = child;
    forward_signals();
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (child < 0) throw cannot(std::string("no process: ") + std::strerror(errno));
  close(pipe[1]);
  int why = 0;
  ssize_t got = 0;
  do {
    got = read(pipe[0], &why, sizeof why);
  } while (got < 0 && errno == EINTR);
  close(pipe[0]);
  if (got == 0) return child;
  waitpid(child, nullptr, 0);
  throw cannot(std::string(options.argv.front()) + ": " + std::strerror(why),
               "name a program that the rank's host has and may start");
}

/// Until the child ends, at most so long: whether it has.
bool ends_within(pid_t child, int handle, double seconds) {
  if (handle < 0) {  // a kernel before 5.3
    const auto whole = static_cast<time_t>(seconds);
    const timespec nap{whole, static_cast<long>(1e9 * (seconds - static_cast<double>(whole)))};
    nanosleep(&nap, nullptr);
  } else {
    pollfd one{handle, POLLIN, 0};
    poll(&one, 1, static_cast<int>(1000 * seconds));
  }
  siginfo_t how{};
  return waitid(P_PID, static_cast<id_t>(child), &how, WEXITED | WNOHANG | WNOWAIT) == 0 && how.si_pid == child;
}

class Watch {
 public:
  Watch(const Options& options, const LaunchedRank& rank) : options_(options) {
    record_.rank = rank;
    record_.arrange = options.arrange;
    for (const char* word : options.argv) {
      if (word != nullptr) record_.argv.emplace_back(word);
    }
    record_.launched_mask = allowed_cpus();
    record_.reachable = reachable_cpus();
    record_.places = cpu_places(record_.reachable);
    const std::string name = rank.rank < 0 ? "none" : std::to_string(rank.rank);
    path_ = options.folder + "/rank-" + name + '-' + host_name() + '-' + std::to_string(getpid()) + ".json";
  }

  Ended run() {
    std::vector<int> cpus;
    if (!options_.arrange.empty()) {
      cpus = arranged_cpus(options_.arrange, std::max(0, record_.rank.local_rank), options_.threads, record_.places);
    }
    record_.arranged = cpus;
    pressure_ = pressure_us();
    record_.begin_unix_ns = unix_ns();
    begin_s_ = now_s();
    const pid_t child = start(options_, cpus);
    Observer observer(child);
    try {
      follow(child, observer);
    } catch (const std::exception& error) {  // the program goes on, whatever becomes of the watching
      complain(error.what());
    }
    int status = 0;
    while (wait4(child, &status, 0, &record_.usage) < 0 && errno == EINTR) {
    }
    record_.wall_s = now_s() - begin_s_;
    record_.finished = true;
    record_.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    record_.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    keep(observer);
    return {record_.exit_code, record_.signal};
  }

 private:
  /// Look again and again, at first every period, then so seldom that the share of kMostCost holds; at memory and
  /// groups at 0, 0.25, 0.5, 1, 2 s...
  void follow(pid_t child, Observer& observer) {
    const auto handle = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
    double next_look_s = 0.25;
    observer.look_at_groups();
    double last_cost = 1;
    for (;;) {
      const double before = processor_s();
      observer.sample();
      const double cost = processor_s() - before;
      const double passed = now_s() - begin_s_;
      if (passed >= next_look_s) {
        observer.look_at_memory();
        observer.look_at_groups();
        next_look_s = 2 * passed;
        keep(observer);
      }
      record_.period_s = std::clamp(std::min(cost, last_cost) / kMostCost, options_.period_s, kLongestPeriod_s);
      last_cost = cost;
      if (ends_within(child, handle, record_.period_s)) break;
    }
    observer.sample(true);  // its times stay readable until it is waited for
    if (handle >= 0) close(handle);
  }

  void keep(const Observer& observer) {
    if (!record_.finished) record_.wall_s = now_s() - begin_s_;
    record_.own_cpu_s = processor_s();
    if (const auto now = pressure_us(); now && pressure_) record_.pressure_us = *now - *pressure_;
    if (complained_) return;
    try {
      write_record(path_, record_, observer);
    } catch (const Error& error) {
      complain(error.what());
    }
  }

  /// Once; nothing is written afterwards.
  void complain(const char* why) {
    complained_ = true;
    std::fprintf(stderr, "placement_rank: %s\n", why);
  }

  const Options& options_;
  Record record_;
  std::string path_;
  std::optional<std::uint64_t> pressure_;
  double begin_s_ = 0;
  bool complained_ = false;
};

}  // namespace

Ended watch(const Options& options, const LaunchedRank& rank) { return Watch(options, rank).run(); }

}  // namespace shakedown::placement
