// Writing new files, writing over and reading: samples of all threads, what they left compared, what the devices moved.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "common/clock.hpp"
#include "content.hpp"
#include "moved.hpp"
#include "repeats.hpp"
#include "storage.hpp"
#include "team.hpp"
#include "threads.hpp"

namespace shakedown::storage {
namespace {

constexpr double kWhole = 0.98;     // of what was moved: from here on the devices are said to have moved it all
constexpr double kResident = 0.01;  // share of a file that may be in memory before it is read

/// Change one byte in the middle of a file.
void damage(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  struct stat about {};
  char byte = 0;
  bool done = fd >= 0 && fstat(fd, &about) == 0 && pread(fd, &byte, 1, about.st_size / 2) == 1;
  byte = static_cast<char>(byte ^ 1);
  done = done && pwrite(fd, &byte, 1, about.st_size / 2) == 1;
  if (fd >= 0) close(fd);
  if (!done) throw io_failed("damaging " + path);
  drop_cache(path);
}

std::string percent(double share) { return std::to_string(static_cast<int>(100 * share)) + " %"; }

/// How many ranks further on the reader of a part is: on the next host, where there are several, else the next rank.
std::uint64_t ranks_shift(Peers& peers) {
  const auto hosts = peers.share(host_name());
  const std::set<std::string> different(hosts.begin(), hosts.end());
  if (different.size() > 1) return static_cast<std::uint64_t>(std::count(hosts.begin(), hosts.end(), hosts[0]));
  return hosts.size() > 1 ? 1 : 0;
}

class Measurement {
 public:
  Measurement(Emitter& emitter, Peers& peers, const Options& options, const Folders& folders, const CacheUse& cache,
              const Pattern& pattern)
      : emitter_(emitter), peers_(peers), options_(options), folders_(folders), cache_(cache), pattern_(pattern) {
    if (pattern.block % kPageBytes != 0 || is_mpi()) {
      cache_.drop = cache_.drop || cache_.direct;
      cache_.word = cache_.direct && cache_.word == "direct" ? "dropped" : cache_.word;
      cache_.direct = false;
    }
    round_ = round();
    shift_ = ranks_shift(peers) * static_cast<std::uint64_t>(pattern.threads);
    workers_.resize(static_cast<std::size_t>(pattern.threads));
    const std::size_t pool = cache.word == "memory" ? kPoolPagesInMemory
                             : options.depth > 1    ? kPoolPagesInFlight
                                                    : kPoolPages;
    for (auto& worker : workers_) {
      for (std::size_t i = 0; i < round_.depth; ++i) {
        worker.contents.push_back(std::make_unique<Content>(pattern.block, pool));
        worker.buffers.push_back(std::make_unique<Pages>(pattern.block));
      }
    }
  }

  void run() {
    for (const Kernel kernel : {Kernel::write, Kernel::rewrite, Kernel::read}) {
      const bool asked = std::find(options_.kernels.begin(), options_.kernels.end(), kernel) != options_.kernels.end();
      if (asked || kernel == Kernel::write) measure(kernel, asked);
    }
    assign(0);
    peers_.meet();
    for (const auto& worker : workers_) unlink(worker.part.path.c_str());
    peers_.meet();
  }

 private:
  [[nodiscard]] bool is_mpi() const {
    return options_.engine == Engine::mpi || options_.engine == Engine::mpi_collective;
  }

  [[nodiscard]] Round round() const {
    Round made;
    made.layout = {options_.share, options_.order, pattern_.block, options_.size / pattern_.block, 1, 1};
    made.layout.segments = segments_of(made.layout, static_cast<std::uint64_t>(options_.segments));
    made.extent = made.layout.transfers;
    made.depth = static_cast<std::size_t>(options_.depth);
    made.engine = choose_engine(options_.engine, made.depth, cache_.direct);
    made.direct = cache_.direct;
    made.drop = cache_.drop;
    made.sync = options_.sync;
    return made;
  }

  /// Every thread gets its part, or, to read, that of a thread so many further on.
  void assign(std::uint64_t shift) {
    const auto threads = static_cast<std::uint64_t>(pattern_.threads);
    const auto all = threads * static_cast<std::uint64_t>(peers_.size());
    for (std::uint64_t i = 0; i < threads; ++i) {
      const std::uint64_t writer = (static_cast<std::uint64_t>(peers_.rank()) * threads + i + shift) % all;
      workers_[i].part = part_of(folders_, options_.share, writer, all);
    }
  }

  [[nodiscard]] Round of(Kernel kernel) const {
    Round made = round_;
    made.kernel = kernel;
    made.generation = generation_;
    made.stale = kernel == Kernel::rewrite && options_.inject == Inject::stale;
    made.stonewall_s = kernel == Kernel::write ? options_.stonewall_s : 0;
    return made;
  }

  /// What samples came to.
  struct Found {
    Case made;
    std::optional<double> moved;  // of all samples; nothing where it is not known
    std::string why_not;
    std::string counter;
    double in_memory = 0;
    std::vector<ThreadTime> threads;  // of the last sample
  };

  /// One sample of a kernel.
  void sample(Kernel kernel, Found& found) {
    if (kernel == Kernel::read && cache_.drop) found.in_memory = std::max(found.in_memory, share_of_memory());
    if (kernel != Kernel::read) ++generation_;
    if (kernel == Kernel::write) round_.extent = round_.layout.transfers;
    peers_.meet();
    const Watch watch(folders_);
    const Crowded done = run_team(peers_, workers_, of(kernel));
    found.made.seconds.push_back(done.seconds);
    round_.extent = done.items;
    const auto moved = watch.moved(peers_, kernel == Kernel::read);
    found.counter = watch.name();
    if (moved && found.why_not.empty()) {
      found.moved = found.moved.value_or(0) + *moved;
    } else if (found.why_not.empty()) {
      found.why_not = watch.why_not();
      found.moved = std::nullopt;
    }
    found.threads = gather_threads(peers_, workers_);
  }

  /// Samples of one kernel, and what they left looked at. Files that are only read are written once before.
  void measure(Kernel kernel, bool asked) {
    assign(kernel == Kernel::read ? shift_ : 0);
    Found found;
    found.made.kernel = name_of(kernel);
    found.made.begin_ns = unix_ns();
    const bool once = !asked || (kernel == Kernel::write && options_.stonewall_s > 0);
    const Enough asked_for{options_.samples, options_.seconds};
    const double begin_s = now_s();
    double spent = 0;
    for (bool enough = false; !enough;) {
      sample(kernel, found);
      spent += found.made.seconds.back();
      const std::size_t done = found.made.seconds.size();
      // Small files come and go in microseconds: what is between the samples takes longer than they.
      enough = once || asked_for.reached(done, spent) ||
               (static_cast<std::int64_t>(done) >= options_.samples &&
                asked_for.out_of_time(1, peers_.most(now_s() - begin_s)));
    }
    found.made.end_ns = unix_ns();
    if (options_.inject == Inject::flip && peers_.first()) damage(workers_[0].part.path);
    const std::int64_t wrong = options_.verify ? verified() : 0;
    if (!asked || !peers_.first()) return;
    fill(found);
    const Residual residual{static_cast<double>(wrong), 0, "wrong pages"};
    emitter_.series(found.made, options_.verify ? &residual : nullptr);
    tell(kernel, found);
  }

  /// Read everything again, each part on another rank than wrote it, and compare; the wrong pages of all ranks.
  std::int64_t verified() {
    Round round = of(Kernel::read);
    round.whole = true;
    // What MPI-IO wrote, plain calls read.
    if (is_mpi()) round.engine = Engine::calls;
    assign(shift_);
    peers_.meet();
    run_team(peers_, workers_, round);
    double wrong = 0;
    for (auto& worker : workers_) wrong += static_cast<double>(std::exchange(worker.wrong, 0));
    double all = 0;
    for (const auto& text : peers_.gather(std::to_string(wrong))) all += std::stod(text);
    return static_cast<std::int64_t>(all);
  }

  double share_of_memory() {
    double most = 0;
    for (const auto& worker : workers_) most = std::max(most, share_in_memory(worker.part.path).value_or(0));
    return peers_.most(most);
  }

  void fill(Found& found) const {
    Object& params = found.made.params;
    params.add("block", pattern_.block).add("threads", pattern_.threads).add("ranks", peers_.size());
    params.add("size", options_.size).add("cache", cache_.word);
    // What is not the simplest: a case without such a word is as it always was.
    if (options_.share != Files::own) params.add("file", name_of(options_.share));
    if (options_.order != Order::sequential) params.add("pattern", name_of(options_.order));
    if (round_.layout.segments > 1) params.add("segments", round_.layout.segments);
    if (options_.depth > 1) params.add("depth", options_.depth);
    if (round_.engine != Engine::calls) params.add("engine", name_of(round_.engine));
    if (options_.sync != Sync::end) params.add("sync", name_of(options_.sync));
    if (folders_.size() > 1) params.add("directories", folders_.size());
    if (options_.stonewall_s > 0) params.add("stonewall", options_.stonewall_s);
    // As those of other programs that may be of memory (workloads/common/page_cache.py): nothing is ranked by it.
    if (cached(found)) params.add("doubt", "page cache");
    const auto writers = static_cast<std::uint64_t>(pattern_.threads) * static_cast<std::uint64_t>(peers_.size());
    const std::uint64_t transfers = writers * round_.extent;
    Object& work = found.made.work;
    work.add("bytes", transfers * pattern_.block).add("op", transfers);
    if (found.moved) work.add("device_bytes", *found.moved / static_cast<double>(found.made.seconds.size()));
    double longest = 0;
    for (const auto& one : found.threads) longest = std::max(longest, one.longest_s);
    work.add("longest_s", longest).add("slowest_s", found.threads[slowest(found.threads)].seconds);
    work.add("median_s", median_s(found.threads));
  }

  /// What all threads moved in all samples.
  [[nodiscard]] double bytes_of(const Found& found) const {
    return static_cast<double>(round_.extent * pattern_.block) * static_cast<double>(found.threads.size()) *
           static_cast<double>(found.made.seconds.size());
  }

  /// Whether the devices moved less than the program did.
  [[nodiscard]] bool cached(const Found& found) const {
    return cache_.word != "memory" && found.moved && *found.moved < kWhole * bytes_of(found);
  }

  /// What the figures alone do not say: where the data came from, and who was slow.
  void tell(Kernel kernel, const Found& found) {
    const std::string name = std::string(name_of(kernel)) + " block=" + std::to_string(pattern_.block) +
                             " threads=" + std::to_string(pattern_.threads);
    emitter_.facts(Object().add("over_time " + name, threads_fact(found.threads, directories(options_))));
    if (const std::string slow = slow_thread(found.threads); !slow.empty()) {
      emitter_.notice("storage-slow-thread", name + ": " + slow,
                      "the same rank each time: its host or its path to the servers; another each time: the storage");
    }
    if (const std::string slow = slow_folder(found.threads, directories(options_)); !slow.empty())
      emitter_.notice("storage-slow-directory", name + ": " + slow, "its server, or the path to it; or leave it out");
    if (cache_.word == "memory") return;
    const double bytes = bytes_of(found);
    if (!found.moved) {
      if (kernel != Kernel::read || cache_.direct) return;
      emitter_.notice("storage-cache-not-known",
                      name + ": not known whether from a cache: " + found.why_not +
                          (found.in_memory > kResident
                               ? ", and " + percent(found.in_memory) + " of a file was in this host's memory"
                               : ""),
                      "files larger than all memory, or --cache direct");
    } else if (cached(found)) {
      emitter_.notice(
          "storage-cached",
          name + ": the devices (" + found.counter + ") moved " + percent(*found.moved / bytes) +
              " of what the program moved: this rate is above theirs, the rest is that of this host's memory",
          kernel == Kernel::read ? "--cache direct or dropped, or files larger than all memory"
                                 : "--sync end: what was written is then on the device");
    }
  }

  Emitter& emitter_;
  Peers& peers_;
  const Options& options_;
  const Folders& folders_;
  CacheUse cache_;
  Pattern pattern_;
  Round round_;
  std::uint64_t shift_ = 0;
  std::uint64_t generation_ = 0;
  std::vector<Worker> workers_;
};

}  // namespace

CacheUse choose_cache(const std::string& folder, Cache asked, bool in_memory) {
  const std::string name = folder + "/direct";
  int fd = open(name.c_str(), O_RDWR | O_CREAT | O_DIRECT | O_CLOEXEC, 0600);
  bool works = false;
  if (fd >= 0) {
    const Pages page(kPageBytes);
    works = pwrite(fd, page.all().data(), kPageBytes, 0) == static_cast<ssize_t>(kPageBytes);
    close(fd);
  }
  unlink(name.c_str());
  if (in_memory) return {asked == Cache::direct && works, false, "memory"};
  switch (asked) {
    case Cache::direct:
      if (!works) throw cannot("this file system takes no O_DIRECT", "--cache dropped reads from it as well");
      return {true, false, "direct"};
    case Cache::kept:
      return {false, false, "kept"};
    case Cache::dropped:
      return {false, true, "dropped"};
    case Cache::automatic:
      break;
  }
  return works ? CacheUse{true, false, "direct"} : CacheUse{false, true, "dropped"};
}

void measure_bandwidth(Emitter& emitter, Peers& peers, const Options& options, const Folders& folders,
                       const CacheUse& cache, const Pattern& pattern) {
  Measurement(emitter, peers, options, folders, cache, pattern).run();
}

}  // namespace shakedown::storage
