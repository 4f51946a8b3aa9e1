// Writing anew, writing over and reading: every thread its own file, whole, in blocks of one size, one after another.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <cerrno>
#include <cstring>
#include <exception>
#include <thread>

#include "common/clock.hpp"
#include "filesystem.hpp"
#include "pages.hpp"

namespace shakedown::filesystem {
namespace {

constexpr double kResident = 0.01;  // share of a file that may be in memory before it is read

Error failed(const std::string& what) {
  const int number = errno;
  const std::string hint = number == ENOSPC   ? "free some space, or make the files smaller (--size)"
                           : number == EDQUOT ? "the quota is used up: make the files smaller (--size)"
                                              : "";
  return cannot(what + " failed: " + std::strerror(number), hint);
}

class Descriptor {
 public:
  Descriptor(const std::string& path, int flags) : fd_(open(path.c_str(), flags | O_CLOEXEC, 0600)) {
    if (fd_ < 0) throw failed("opening " + path);
  }
  ~Descriptor() { close(fd_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

/// One thread's file, and what was last written into it.
struct Job {
  std::string path;
  std::uint64_t file = 0;
  std::uint64_t version = 0;
  std::int64_t wrong = 0;  // pages
  std::unique_ptr<Content> content;
  std::unique_ptr<Pages> buffer;
};

/// What one measurement of all threads does.
struct Round {
  Kernel kernel = Kernel::write;
  std::size_t block = 0;
  std::uint64_t blocks = 0;
  bool direct = false;
  bool drop = false;
  bool stale = false;  // leave one block as it was: damage, for tests
};

void drop_cache(int fd) {
  if (fdatasync(fd) != 0) throw failed("fdatasync");
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

/// The share of a file that is in this host's memory.
double resident(int fd) {
  struct stat about {};
  if (fstat(fd, &about) != 0 || about.st_size == 0) return 0;
  const auto bytes = static_cast<std::size_t>(about.st_size);
  void* map = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
  if (map == MAP_FAILED) return 0;  // NOLINT(performance-no-int-to-ptr)
  const std::size_t pages = (bytes + kPageBytes - 1) / kPageBytes;
  std::vector<unsigned char> state(pages);
  const bool known = mincore(map, bytes, state.data()) == 0;
  munmap(map, bytes);
  if (!known) return 0;
  const auto there = std::count_if(state.begin(), state.end(), [](unsigned char one) { return (one & 1) != 0; });
  return static_cast<double>(there) / static_cast<double>(pages);
}

void write_blocks(Job& job, const Round& round, int fd) {
  for (std::uint64_t i = 0; i < round.blocks; ++i) {
    if (round.stale && i == round.blocks / 2) continue;
    const auto data = job.content->block({job.file, job.version, i * (round.block / kPageBytes)}, round.block);
    const auto at = static_cast<off_t>(i * round.block);
    for (std::size_t done = 0; done < data.size();) {
      const ssize_t now = pwrite(fd, data.data() + done, data.size() - done, at + static_cast<off_t>(done));
      if (now < 0 && errno == EINTR) continue;
      if (now <= 0) throw failed("writing");
      done += static_cast<std::size_t>(now);
    }
  }
  if (fsync(fd) != 0) throw failed("fsync");
}

/// Read all; of each block the first stamp is looked at, which costs nothing beside the reading, or, to verify, all of
/// it.
void read_blocks(Job& job, const Round& round, int fd, bool verify) {
  const auto buffer = job.buffer->all().first(round.block);
  for (std::uint64_t i = 0; i < round.blocks; ++i) {
    const auto at = static_cast<off_t>(i * round.block);
    std::size_t done = 0;
    while (done < buffer.size()) {
      const ssize_t now = pread(fd, buffer.data() + done, buffer.size() - done, at + static_cast<off_t>(done));
      if (now < 0 && errno == EINTR) continue;
      if (now < 0) throw failed("reading");
      if (now == 0) break;
      done += static_cast<std::size_t>(now);
    }
    const Stamp stamp{job.file, job.version, i * (round.block / kPageBytes)};
    if (done < buffer.size()) {
      job.wrong += static_cast<std::int64_t>(round.block / kPageBytes);
    } else if (verify) {
      job.wrong += job.content->wrong(buffer, stamp);
    } else if (!Content::stamped(buffer, stamp)) {
      ++job.wrong;
    }
  }
}

int flags_of(const Round& round) {
  const int direct = round.direct ? O_DIRECT : 0;
  if (round.kernel == Kernel::write) return O_WRONLY | O_CREAT | O_EXCL | direct;
  return (round.kernel == Kernel::rewrite ? O_WRONLY : O_RDONLY) | direct;
}

/// All threads at once; the seconds from their common begin to the end of the last.
class Team {
 public:
  Team(std::vector<Job>& jobs, const Round& round) : jobs_(jobs), round_(round) {}

  double run(Peers& peers) {
    std::barrier ready(static_cast<std::ptrdiff_t>(jobs_.size()) + 1);
    std::barrier go(static_cast<std::ptrdiff_t>(jobs_.size()) + 1);
    ends_.assign(jobs_.size(), 0);
    errors_.assign(jobs_.size(), nullptr);
    std::vector<std::thread> threads;
    threads.reserve(jobs_.size());
    for (std::size_t i = 0; i < jobs_.size(); ++i) threads.emplace_back([&, i] { work(i, ready, go); });
    ready.arrive_and_wait();
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
    double seconds = *std::max_element(ends_.begin(), ends_.end()) - begin;
    peers.together([&] {
      for (const auto& error : errors_) {
        if (error) std::rethrow_exception(error);
      }
    });
    return peers.most(seconds);
  }

 private:
  void work(std::size_t i, std::barrier<>& ready, std::barrier<>& go) {
    Job& job = jobs_[i];
    bool met = false;
    try {
      if (round_.kernel == Kernel::write) unlink(job.path.c_str());
      if (round_.kernel != Kernel::read) ++job.version;
      const Descriptor file(job.path, flags_of(round_));
      ready.arrive_and_wait();
      go.arrive_and_wait();
      met = true;
      if (round_.kernel == Kernel::read) {
        read_blocks(job, round_, file.fd(), false);
      } else {
        write_blocks(job, round_, file.fd());
      }
      ends_[i] = now_s();
      if (round_.drop) drop_cache(file.fd());
    } catch (...) {
      errors_[i] = std::current_exception();
      if (!met) {
        ready.arrive_and_wait();
        go.arrive_and_wait();
      }
      ends_[i] = now_s();
    }
  }

  std::vector<Job>& jobs_;
  Round round_;
  std::vector<double> ends_;
  std::vector<std::exception_ptr> errors_;
};

/// Read everything again and compare; the number of wrong pages of all ranks.
std::int64_t verified(std::vector<Job>& jobs, Round round, Peers& peers) {
  round.kernel = Kernel::read;
  double wrong = 0;
  peers.together([&] {
    for (auto& job : jobs) {
      const Descriptor file(job.path, flags_of(round));
      if (round.drop) drop_cache(file.fd());
      read_blocks(job, round, file.fd(), true);
      if (round.drop) drop_cache(file.fd());
      wrong += static_cast<double>(job.wrong);
      job.wrong = 0;
    }
  });
  double all = 0;
  for (const auto& text : peers.share(std::to_string(wrong))) all += std::stod(text);
  return static_cast<std::int64_t>(all);
}

/// Change one byte in the middle of the first file.
void damage(const Job& job) {
  const Descriptor file(job.path, O_RDWR);
  struct stat about {};
  char byte = 0;
  if (fstat(file.fd(), &about) != 0 || pread(file.fd(), &byte, 1, about.st_size / 2) != 1) throw failed("damaging");
  byte = static_cast<char>(byte ^ 1);
  if (pwrite(file.fd(), &byte, 1, about.st_size / 2) != 1) throw failed("damaging");
  drop_cache(file.fd());
}

class Measurement {
 public:
  Measurement(Emitter& emitter, Peers& peers, const Options& options, const std::string& folder, const CacheUse& cache,
              const Pattern& pattern)
      : emitter_(emitter), peers_(peers), options_(options), cache_(cache), pattern_(pattern) {
    // Nothing compresses what is in memory, and there one block that stays in the cache is written as fast as can be.
    const std::size_t pool = cache.word == "memory" ? pattern.block : kPoolBytes;
    for (int i = 0; i < pattern.threads; ++i) {
      Job job;
      const auto number = static_cast<std::uint64_t>(peers.rank()) * 100'000 + static_cast<std::uint64_t>(i);
      job.path = folder + "/data." + std::to_string(number);
      job.file = number;
      job.content = std::make_unique<Content>(number, pattern.block, pool);
      job.buffer = std::make_unique<Pages>(pattern.block);
      jobs_.push_back(std::move(job));
    }
  }

  void run() {
    for (const Kernel kernel : {Kernel::write, Kernel::rewrite, Kernel::read}) {
      const bool asked = std::find(options_.kernels.begin(), options_.kernels.end(), kernel) != options_.kernels.end();
      if (asked || kernel == Kernel::write) measure(kernel, asked);
    }
    for (const auto& job : jobs_) unlink(job.path.c_str());
  }

 private:
  [[nodiscard]] Round round(Kernel kernel) const {
    Round made;
    made.kernel = kernel;
    made.block = pattern_.block;
    made.blocks = options_.size / pattern_.block;
    made.direct = cache_.direct;
    made.drop = cache_.drop;
    made.stale = kernel == Kernel::rewrite && options_.inject == Inject::stale;
    return made;
  }

  /// Samples of one kernel, and what they left looked at. Files that are only read are written once before.
  void measure(Kernel kernel, bool asked) {
    const Round what = round(kernel);
    Case made;
    made.kernel = name_of(kernel);
    made.begin_ns = unix_ns();
    double in_memory = 0;
    double spent = 0;
    do {
      if (kernel == Kernel::read) in_memory = std::max(in_memory, share_in_memory());
      made.seconds.push_back(Team(jobs_, what).run(peers_));
      spent += made.seconds.back();
    } while (asked && (static_cast<std::int64_t>(made.seconds.size()) < options_.samples || spent < options_.seconds));
    made.end_ns = unix_ns();
    if (options_.inject == Inject::flip) peers_.together([&] { damage(jobs_[0]); });
    const std::int64_t wrong = options_.verify ? verified(jobs_, what, peers_) : 0;
    if (!asked || !peers_.first()) return;
    fill(made, what);
    const Residual residual{static_cast<double>(wrong), 0, "wrong pages"};
    emitter_.series(made, options_.verify ? &residual : nullptr);
    if (!cache_.direct && cache_.drop && in_memory > kResident) {
      emitter_.notice("filesystem-cached",
                      std::to_string(static_cast<int>(100 * in_memory)) +
                          " % of the files were in this host's memory when they were read",
                      "their rate is in part that of memory: use larger files (--size), or --cache direct");
    }
  }

  double share_in_memory() {
    double most = 0;
    for (const auto& job : jobs_) {
      const int fd = open(job.path.c_str(), O_RDONLY | O_CLOEXEC);
      if (fd < 0) continue;
      most = std::max(most, resident(fd));
      close(fd);
    }
    return peers_.most(most);
  }

  void fill(Case& made, const Round& what) const {
    const std::uint64_t files = jobs_.size() * static_cast<std::uint64_t>(peers_.size());
    made.params.add("block", pattern_.block).add("threads", pattern_.threads).add("ranks", peers_.size());
    made.params.add("size", options_.size).add("cache", cache_.word);
    made.work.add("bytes", files * what.blocks * what.block).add("op", files * what.blocks);
  }

  Emitter& emitter_;
  Peers& peers_;
  const Options& options_;
  CacheUse cache_;
  Pattern pattern_;
  std::vector<Job> jobs_;
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

void measure_bandwidth(Emitter& emitter, Peers& peers, const Options& options, const std::string& folder,
                       const CacheUse& cache, const Pattern& pattern) {
  Measurement(emitter, peers, options, folder, cache, pattern).run();
}

}  // namespace shakedown::filesystem
