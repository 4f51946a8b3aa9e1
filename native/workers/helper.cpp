#include "helper.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>
#include <string>
#include <thread>

#include "common/affinity.hpp"
#include "common/error.hpp"

namespace shakedown::workers {
namespace {

Error refused(const char* what) {
  return cannot(std::string(what) + ": " + std::strerror(errno), "see ulimit -u and the memory that is free");
}

/// One worker from its pin to what it tells; false where it could not begin.
bool one(Shared& shared, int worker) {
  bool pinned = true;
  try {
    pin_thread(shared.cpus[worker]);
  } catch (const Error&) {
    pinned = false;
  }
  Field field(shared.task.cells);
  shared.told[worker] = work(
      field, shared.task, worker, shared.workers, [&] { return shared.begin_at(); }, [&] { shared.meet(); });
  return pinned;
}

bool as_threads(Shared& shared) {
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(shared.workers));
  std::atomic<bool> sound = true;
  for (int worker = 0; worker < shared.workers; ++worker) {
    threads.emplace_back([&, worker] {
      if (!one(shared, worker)) sound = false;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return sound;
}

/// Each dies with its parent.
void die_with(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
}

bool as_processes(Shared& shared) {
  std::vector<pid_t> processes;
  const pid_t self = ::getpid();
  bool sound = true;
  for (int worker = 0; worker < shared.workers && sound; ++worker) {
    const pid_t process = ::fork();
    if (process == 0) {
      die_with(self);
      ::_exit(one(shared, worker) ? 0 : 1);
    }
    if (process > 0) processes.push_back(process);
    sound = process > 0;
  }
  // Others wait for one that is not there, or that ended too early.
  for (std::size_t left = processes.size(); left > 0; --left) {
    int status = 0;
    if (sound && ::wait(&status) > 0) {
      sound = WIFEXITED(status) && WEXITSTATUS(status) == 0;
      continue;
    }
    break;
  }
  if (!sound) {
    for (const pid_t process : processes) ::kill(process, SIGKILL);
    while (::wait(nullptr) > 0) {
    }
  }
  return sound;
}

}  // namespace

Helper::Helper() {
  void* memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw refused("there is no memory that processes share");
  shared_ = new (memory) Shared;
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw refused("there is no socket");
  const pid_t self = ::getpid();
  process_ = ::fork();
  if (process_ < 0) throw refused("there is no second process");
  if (process_ == 0) {
    ::close(ends[0]);
    die_with(self);
    serve(ends[1]);
  }
  ::close(ends[1]);
  socket_ = ends[0];
}

Helper::~Helper() {
  ::close(socket_);
  ::waitpid(process_, nullptr, 0);
  ::munmap(shared_, sizeof(Shared));
}

void Helper::serve(int socket) {
  for (char way = 0; ::read(socket, &way, 1) == 1;) {
    const char sound = (way == static_cast<char>(Way::threads) ? as_threads(*shared_) : as_processes(*shared_)) ? 1 : 0;
    if (::write(socket, &sound, 1) != 1) break;
  }
  ::_exit(0);
}

std::vector<Told> Helper::run(Way way, const Task& task, const std::vector<int>& cpus, bool yield) {
  shared_->task = task;
  shared_->workers = static_cast<int>(cpus.size());
  shared_->yield = yield;
  shared_->ready = shared_->arrived = shared_->turn = 0;
  shared_->begin_ns = 0;
  std::copy(cpus.begin(), cpus.end(), shared_->cpus);
  const char what = static_cast<char>(way);
  char sound = 0;
  if (::write(socket_, &what, 1) != 1 || ::read(socket_, &sound, 1) != 1 || sound == 0) {
    throw cannot(std::string("a worker of the way '") + name_of(way) + "' could not begin, or ended too early",
                 "see ulimit -u, and whether CPUs " + format_cpu_list(cpus) + " may be used");
  }
  return {shared_->told, shared_->told + cpus.size()};
}

}  // namespace shakedown::workers
