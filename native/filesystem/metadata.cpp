// Small files, made, looked at and removed: every thread in a folder of its own.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <thread>

#include "common/clock.hpp"
#include "filesystem.hpp"

namespace shakedown::filesystem {
namespace {

enum class Step { create, stat, unlink };
constexpr std::array<const char*, 3> kSteps = {"create", "stat", "unlink"};

std::string folder_of(const std::string& folder, int rank, int thread) {
  return folder + "/files." + std::to_string(rank) + '.' + std::to_string(thread);
}

/// One call on one file; false where it did not do what it must.
bool done(Step step, const std::string& name) {
  if (step == Step::create) {
    const int fd = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
    return fd >= 0 && close(fd) == 0;
  }
  if (step == Step::unlink) return unlink(name.c_str()) == 0;
  struct stat about {};
  return stat(name.c_str(), &about) == 0 && about.st_size == 0 && S_ISREG(about.st_mode);
}

/// All threads at once; the seconds from their common begin to the end of the last.
double run_step(Peers& peers, const std::vector<std::vector<std::string>>& names, Step step,
                std::atomic<std::int64_t>& failed) {
  const auto count = static_cast<std::ptrdiff_t>(names.size());
  std::barrier go(count + 1);
  std::vector<double> ends(names.size());
  std::vector<std::thread> threads;
  threads.reserve(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    threads.emplace_back([&, i] {
      go.arrive_and_wait();
      std::int64_t wrong = 0;
      for (const auto& name : names[i]) wrong += done(step, name) ? 0 : 1;
      ends[i] = now_s();
      failed += wrong;
    });
  }
  std::string lost;
  try {
    peers.meet();
  } catch (const Error& error) {
    lost = error.what();
  }
  const double begin = now_s();
  go.arrive_and_wait();
  for (auto& one : threads) one.join();
  if (!lost.empty()) throw cannot(lost);
  return peers.most(*std::max_element(ends.begin(), ends.end()) - begin);
}

}  // namespace

void measure_metadata(Emitter& emitter, Peers& peers, const Options& options, const std::string& folder, int threads) {
  std::vector<std::vector<std::string>> own(static_cast<std::size_t>(threads));
  std::vector<std::vector<std::string>> next(own.size());  // of the next rank: what this one has not in its memory
  peers.together([&] {
    for (int thread = 0; thread < threads; ++thread) {
      const std::string place = folder_of(folder, peers.rank(), thread);
      if (mkdir(place.c_str(), 0700) != 0) throw cannot("a folder cannot be made in " + folder);
      const std::string other = folder_of(folder, (peers.rank() + 1) % peers.size(), thread);
      for (std::int64_t i = 0; i < options.files; ++i) {
        own[static_cast<std::size_t>(thread)].push_back(place + "/f" + std::to_string(i));
        next[static_cast<std::size_t>(thread)].push_back(other + "/f" + std::to_string(i));
      }
    }
  });
  std::array<Case, kSteps.size()> cases;
  std::array<std::atomic<std::int64_t>, kSteps.size()> failed{};
  double spent = 0;
  for (std::int64_t sample = 0; sample < options.samples || spent < options.seconds; ++sample) {
    for (const Step step : {Step::create, Step::stat, Step::unlink}) {
      const auto at = static_cast<std::size_t>(step);
      const std::int64_t begin_ns = unix_ns();
      const double seconds = run_step(peers, step == Step::stat ? next : own, step, failed[at]);
      cases[at].seconds.push_back(seconds);
      cases[at].spans.push_back({begin_ns, unix_ns()});
      spent = peers.most(spent + seconds);
    }
  }
  for (std::size_t at = 0; at < kSteps.size(); ++at) {
    double wrong = 0;
    for (const auto& text : peers.share(std::to_string(failed[at]))) wrong += std::stod(text);
    if (!peers.first()) continue;
    Case& made = cases[at];
    made.kernel = kSteps[at];
    made.params.add("threads", threads).add("ranks", peers.size()).add("files", options.files);
    made.params.add("whose", at == 1 && peers.size() > 1 ? "another's" : "own");
    made.work.add("op", static_cast<std::int64_t>(threads) * peers.size() * options.files);
    const Residual residual{wrong, 0, "calls that failed"};
    emitter.series(made, &residual);
  }
  for (int thread = 0; thread < threads; ++thread) rmdir(folder_of(folder, peers.rank(), thread).c_str());
}

}  // namespace shakedown::filesystem
