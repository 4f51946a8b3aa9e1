// Real files, the library as applications call it: killed at every operation by the end of the process, storage that
// hangs, is full, read-only or not there, paths of any length, and bad arguments.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "testing/check.hpp"
#include "testing/ranks.hpp"
#include "testing/sanitized.hpp"
#include "testing/watched.hpp"

using namespace shakedown::checkpoint;
using namespace shakedown::checkpoint::testing;

namespace {

shakedown::Checks checks;
namespace fs = std::filesystem;

const shakedown_ckpt_comm kAlone = {0, 1, nullptr, nullptr, nullptr};

Settings settings_in(const fs::path& folder) {
  Settings settings;
  settings.local = folder / "local";
  settings.global = folder / "global";
  settings.node = "here";
  settings.domain = "here";
  settings.synchronous = true;
  settings.timeout_seconds = 200;
  return settings;
}

/// Restores, then saves steps 1 to 4; reports each commit on the pipe.
void run_application(const fs::path& folder, const std::shared_ptr<Files>& files, int report) {
  std::unique_ptr<Session> session;
  if (!Session::open(kAlone, {}, settings_in(folder), files, session).good()) return;
  Application application(0, 1, 40, 40);
  application.protect(*session);
  for (std::uint64_t step = 1; step <= 4; ++step) {
    application.compute(step);
    if (!session->checkpoint(step % 2 == 0 ? 4 : 1).good()) continue;
    const auto reported = static_cast<char>(step);
    if (::write(report, &reported, 1) != 1) return;
  }
  (void)session->close(SHAKEDOWN_CKPT_KEEP);
}

/// The step that comes back, 0 for a fresh start, kWrong where the state is not that of its step.
constexpr std::uint64_t kWrong = ~0ULL;
std::uint64_t restored_step(const fs::path& folder) {
  std::unique_ptr<Session> session;
  if (!Session::open(kAlone, {}, settings_in(folder), real_files(), session).good()) return kWrong;
  Application application(0, 1, 40, 40);
  application.protect(*session);
  const Outcome outcome = session->restore(std::nullopt);
  if (outcome.error == SHAKEDOWN_CKPT_NOTHING) return 0;
  return outcome.good() && application.right() ? application.step : kWrong;
}

/// restored_step in a process of its own: one that forks starts no thread.
std::uint64_t restored_in_child(const fs::path& folder, const std::string& what) {
  int ends[2];
  checks.that(::pipe(ends) == 0, "a pipe");
  const pid_t child = ::fork();
  if (child == 0) {
    const std::uint64_t step = restored_step(folder);
    ::_exit(step != kWrong && ::write(ends[1], &step, sizeof step) == sizeof step ? 0 : 1);
  }
  ::close(ends[1]);
  std::uint64_t step = 0;
  const bool read = ::read(ends[0], &step, sizeof step) == sizeof step;
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  checks.that(read && status == 0, what + ": the state comes back exactly");
  return step;
}

/// A child ends at its n-th operation, in whatever thread that is; false when it has fewer.
bool killed_at(const fs::path& top, int n) {
  const std::string what = "process ended at operation " + std::to_string(n);
  const fs::path folder = top / ("kill" + std::to_string(n));
  fs::create_directories(folder);
  int ends[2];
  checks.that(::pipe(ends) == 0, "a pipe");
  const pid_t child = ::fork();
  if (child == 0) {
    std::atomic<int> count = 0;
    run_application(folder, std::make_shared<Watched>([&](const std::string&) -> Result {
                      if (count++ == n) ::_exit(9);
                      return 0;
                    }),
                    ends[1]);
    ::_exit(0);
  }
  ::close(ends[1]);
  char committed = 0;
  for (char one = 0; ::read(ends[0], &one, 1) == 1;) committed = one;
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  const auto step = restored_in_child(folder, what);
  checks.that(step >= static_cast<std::uint64_t>(committed),
              what + ": step " + std::to_string(step) + " after " + std::to_string(committed));
  fs::remove_all(folder);
  return WIFEXITED(status) && WEXITSTATUS(status) == 9;
}

/// The global folder hangs: the levels of the node go on, and nobody waits longer than was said.
void hanging(const fs::path& top) {
  const fs::path folder = top / "hang";
  fs::create_directories(folder);
  Settings settings = settings_in(folder);
  settings.timeout_seconds = 3;
  const auto hang = std::make_shared<std::atomic<bool>>(false);
  const auto files = std::make_shared<Watched>([hang](const std::string& path) -> Result {
    while (hang->load() && path.find("/global/") != std::string::npos)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return 0;
  });
  std::unique_ptr<Session> session;
  checks.that(Session::open(kAlone, {}, settings, files, session).good(), "opened");
  Application application(0, 1, 40, 40);
  application.protect(*session);
  application.compute(1);
  checks.that(session->checkpoint(4).good(), "before it hangs");
  hang->store(true);
  application.compute(2);
  checks.that(!session->checkpoint(4).good(), "the global level failed");
  checks.that(session->take_warnings().find("committed at level 1 only") != std::string::npos,
              "and the local one holds");
  application.compute(3);
  checks.that(session->checkpoint(1).good(), "the local level goes on");
  application.compute(4);
  checks.that(session->restore(std::nullopt).good() && application.step == 3 && application.right(),
              "and gives the state back");
  (void)session->close(SHAKEDOWN_CKPT_KEEP);
  session.reset();
  hang->store(false);
}

void bad_storage(const fs::path& top) {
  const fs::path folder = top / "bad";
  fs::create_directories(folder);
  ::close(::creat((folder / "file").c_str(), 0600));
  Settings settings = settings_in(folder);
  settings.global = folder / "file" / "below";  // cannot be a folder
  std::unique_ptr<Session> session;
  checks.that(Session::open(kAlone, {}, settings, real_files(), session).good(), "one folder is enough");
  checks.that(session->take_warnings().find("its levels are not used") != std::string::npos, "the other is named");
  Application application(0, 1, 8, 8);
  application.protect(*session);
  application.compute(1);
  checks.that(!session->checkpoint(4).good() && session->checkpoint(1).good(), "level 4 fails, level 1 does not");
  session.reset();
  settings.local = folder / "file";
  checks.equal(Session::open(kAlone, {}, settings, real_files(), session).error, int{SHAKEDOWN_CKPT_STORAGE},
               "no folder is left");
}

void long_paths(const fs::path& top) {
  fs::path folder = top;
  for (int depth = 0; depth < 3; ++depth) folder /= std::string(120, 'x') + " with spaces";
  fs::create_directories(folder);
  int ends[2];
  checks.that(::pipe(ends) == 0, "a pipe");
  run_application(folder, real_files(), ends[1]);
  checks.equal(restored_step(folder), std::uint64_t{4}, "long paths with spaces");
}

/// As a program in C calls it.
void arguments(const fs::path& top) {
  shakedown_ckpt_options options;
  shakedown_ckpt_options_init(&options);
  shakedown_ckpt* handle = nullptr;
  checks.equal(shakedown_ckpt_open(nullptr, &options, &handle), int{SHAKEDOWN_CKPT_INVALID}, "no folder at all");
  const std::string local = top / "arguments";
  options.local = local.c_str();
  options.keep = 1;
  checks.equal(shakedown_ckpt_open(nullptr, &options, &handle), int{SHAKEDOWN_CKPT_INVALID}, "keep 1");
  checks.that(handle == nullptr && std::string(shakedown_ckpt_last_error(nullptr)).find("keep") != std::string::npos,
              "named");
  checks.equal(shakedown_ckpt_checkpoint(handle, 1), int{SHAKEDOWN_CKPT_INVALID},
               "a NULL handle is an error, no crash");
  options.keep = 2;
  checks.equal(shakedown_ckpt_open(nullptr, &options, &handle), 0, "opened");
  double value = 1;
  const uint64_t shape[2] = {4, 4};
  const uint64_t offset[2] = {1, 0};
  checks.equal(shakedown_ckpt_protect(handle, "x", &value, SHAKEDOWN_CKPT_FLOAT64, 2, shape, shape, offset),
               int{SHAKEDOWN_CKPT_INVALID}, "a box outside of its array");
  checks.equal(shakedown_ckpt_protect(handle, "x", &value, SHAKEDOWN_CKPT_FLOAT64, 9, shape, shape, offset),
               int{SHAKEDOWN_CKPT_INVALID}, "nine dimensions");
  checks.equal(shakedown_ckpt_restore(handle, nullptr), int{SHAKEDOWN_CKPT_INVALID}, "nothing is protected");
  checks.equal(shakedown_ckpt_protect(handle, "x", &value, SHAKEDOWN_CKPT_FLOAT64, 0, nullptr, nullptr, nullptr), 0,
               "a scalar");
  checks.equal(shakedown_ckpt_checkpoint(handle, 5), int{SHAKEDOWN_CKPT_INVALID}, "level 5");
  checks.equal(shakedown_ckpt_checkpoint(handle, 2), 0, "level 2 on one node is staged");
  checks.equal(shakedown_ckpt_wait(handle, -1), int{SHAKEDOWN_CKPT_STORAGE}, "and is level 1 only");
  std::int32_t other = 0;
  checks.equal(shakedown_ckpt_protect(handle, "x", &other, SHAKEDOWN_CKPT_INT32, 0, nullptr, nullptr, nullptr), 0,
               "another type");
  checks.equal(shakedown_ckpt_restore(handle, nullptr), int{SHAKEDOWN_CKPT_MISMATCH}, "does not fit");
  checks.equal(other, 0, "and memory is left alone");
  checks.equal(shakedown_ckpt_set_option(handle, "local", "/elsewhere"), int{SHAKEDOWN_CKPT_INVALID}, "not while open");
  checks.equal(shakedown_ckpt_close(handle, SHAKEDOWN_CKPT_DISCARD), 0, "closed, all removed");
  int visited = 0;
  const char* folders[1] = {local.c_str()};
  checks.equal(
      shakedown_ckpt_list(
          folders, 1, 1, [](void* count, const shakedown_ckpt_entry*) { ++*static_cast<int*>(count); }, &visited),
      0, "listed");
  checks.equal(visited, 0, "nothing is left");
}

}  // namespace

int main() {
  char pattern[] = "/tmp/shakedown_checkpoint_XXXXXX";
  const fs::path top = ::mkdtemp(pattern);
  // Before any thread of this process: the thread sanitizer wants forks so.
  const int step = shakedown::kSanitized ? 11 : 1;
  int operations = 0;
  while (killed_at(top, operations)) operations += step;
  checks.that(operations > 60, "the operations of four checkpoints were tried: " + std::to_string(operations));
  hanging(top);
  bad_storage(top);
  long_paths(top);
  arguments(top);
  fs::remove_all(top);
  return checks.end();
}
