// Phases like those of IO500: bandwidth at its easiest and its hardest, small files likewise, and finding them again.
// The score is Python's (workloads/common/io500.py).
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "common/clock.hpp"
#include "moved.hpp"
#include "small_files.hpp"
#include "storage.hpp"
#include "team.hpp"

namespace shakedown::storage {
namespace {

constexpr std::size_t kEasyBlock = std::size_t{2} << 20;
constexpr std::size_t kHardBlock = 47008;
constexpr std::size_t kHardFile = 3901;
constexpr const char* kPattern = "01";  // of names that are found

/// A file that find must give: its name has the pattern, its size is that of a hard one, and it is newer than the mark.
bool matches(const std::string& path, const char* name, const timespec& mark) {
  struct stat about {};
  if (std::strstr(name, kPattern) == nullptr || stat(path.c_str(), &about) != 0) return false;
  const bool newer = about.st_mtim.tv_sec > mark.tv_sec ||
                     (about.st_mtim.tv_sec == mark.tv_sec && about.st_mtim.tv_nsec > mark.tv_nsec);
  return about.st_size == static_cast<off_t>(kHardFile) && newer;
}

struct Looked {
  std::int64_t seen = 0;
  std::int64_t found = 0;
};

/// Look at every `writers`-th entry of a folder, from the `writer`-th on; with one writer, at all.
Looked look(const std::string& folder, std::uint64_t writer, std::uint64_t writers, const timespec& mark) {
  Looked all;
  DIR* listing = opendir(folder.c_str());
  if (listing == nullptr) throw io_failed("listing " + folder);
  while (const dirent* one = readdir(listing)) {
    if (one->d_name[0] == '.' || std::hash<std::string>()(one->d_name) % writers != writer) continue;
    ++all.seen;
    all.found += matches(folder + '/' + one->d_name, one->d_name, mark) ? 1 : 0;
  }
  closedir(listing);
  return all;
}

class Io500 {
 public:
  Io500(Emitter& emitter, Peers& peers, const Options& options, const std::string& folder, int threads)
      : emitter_(emitter),
        peers_(peers),
        options_(options),
        folder_(folder),
        threads_(threads),
        all_(static_cast<std::uint64_t>(threads) * static_cast<std::uint64_t>(peers.size())),
        small_easy_(peers, {folder + "/mdtest-easy"}, Files::own, threads, items(), 0),
        small_hard_(peers, {folder + "/mdtest-hard"}, Files::shared, threads, items(), kHardFile) {
    easy_ = round(Files::own, Order::sequential, kEasyBlock);
    hard_ = round(Files::shared, Order::strided, kHardBlock);
    prepare(easy_workers_, kEasyBlock);
    prepare(hard_workers_, kHardBlock);
    peers.together([&] {
      for (const char* name : {"/ior-easy", "/ior-hard", "/mdtest-easy", "/mdtest-hard"}) {
        if (peers.first() && mkdir((folder + name).c_str(), 0700) != 0) throw io_failed("making " + folder + name);
      }
    });
    small_easy_.make_folders();
    small_hard_.make_folders();
  }

  /// The order of IO500.
  void run() {
    ior("ior-easy-write", easy_workers_, easy_, Kernel::write);
    mdtest("mdtest-easy-write", small_easy_, Step::create, easy_items_);
    mark();
    ior("ior-hard-write", hard_workers_, hard_, Kernel::write);
    mdtest("mdtest-hard-write", small_hard_, Step::create, hard_items_);
    find();
    ior("ior-easy-read", easy_workers_, easy_, Kernel::read);
    mdtest("mdtest-easy-stat", small_easy_, Step::stat, easy_items_);
    ior("ior-hard-read", hard_workers_, hard_, Kernel::read);
    mdtest("mdtest-hard-stat", small_hard_, Step::stat, hard_items_);
    mdtest("mdtest-easy-delete", small_easy_, Step::unlink, easy_items_);
    mdtest("mdtest-hard-read", small_hard_, Step::read, hard_items_);
    mdtest("mdtest-hard-delete", small_hard_, Step::unlink, hard_items_);
    peers_.meet();
    if (peers_.first()) {
      for (const char* name : {"/ior-easy", "/ior-hard", "/mdtest-easy", "/mdtest-hard"}) remove_tree(folder_ + name);
    }
    peers_.meet();
  }

 private:
  [[nodiscard]] std::uint64_t items() const { return static_cast<std::uint64_t>(options_.files); }

  [[nodiscard]] Round round(Files files, Order order, std::size_t block) const {
    Round made;
    made.layout = {files, order, block, std::max<std::uint64_t>(1, options_.size / block), 1, 1};
    made.layout.segments = segments_of(made.layout, 0);
    made.extent = made.layout.transfers;
    made.generation = 1;
    made.timed_open = true;
    made.drop = true;
    return made;
  }

  void prepare(std::vector<Worker>& workers, std::size_t block) const {
    workers.resize(static_cast<std::size_t>(threads_));
    for (auto& worker : workers) {
      worker.contents.push_back(std::make_unique<Content>(block));
      worker.buffers.push_back(std::make_unique<Pages>(block));
    }
  }

  /// Whoever reads is the next rank, or alone the next thread.
  void assign(std::vector<Worker>& workers, const Round& round, bool shifted) const {
    const auto threads = static_cast<std::uint64_t>(threads_);
    const std::uint64_t shift = !shifted ? 0 : peers_.size() > 1 ? threads : 1;
    const std::string name = round.layout.files == Files::own ? "/ior-easy" : "/ior-hard";
    for (std::uint64_t i = 0; i < threads; ++i) {
      const std::uint64_t writer = static_cast<std::uint64_t>(peers_.rank()) * threads + i + shift;
      workers[i].part = part_of({folder_ + name}, round.layout.files, writer % all_, all_);
    }
  }

  void emit(const char* name, double seconds, std::int64_t begin_ns, Object work, double wrong, const char* kind) {
    if (!peers_.first()) return;
    Case made;
    made.kernel = name;
    made.params.add("threads", threads_).add("ranks", peers_.size()).add("stonewall", options_.stonewall_s);
    made.work = std::move(work);
    made.seconds = {seconds};
    made.begin_ns = begin_ns;
    made.end_ns = unix_ns();
    const Residual residual{wrong, 0, kind};
    emitter_.series(made, &residual);
    emitter_.progress(0.5, name);
  }

  void ior(const char* name, std::vector<Worker>& workers, Round& round, Kernel kernel) {
    const bool reads = kernel == Kernel::read;
    assign(workers, round, reads);
    round.kernel = kernel;
    round.stonewall_s = reads ? 0 : options_.stonewall_s;
    peers_.meet();
    const std::int64_t begin_ns = unix_ns();
    const Watch watch({folder_});
    const Crowded done = run_team(peers_, workers, round);
    const auto moved = watch.moved(peers_, reads);
    round.extent = done.items;
    if (reads && options_.verify) {
      Round whole = round;
      whole.whole = true;
      run_team(peers_, workers, whole);
    }
    double wrong = 0;
    for (auto& worker : workers) wrong += static_cast<double>(std::exchange(worker.wrong, 0));
    double sum = 0;
    for (const auto& text : peers_.gather(std::to_string(wrong))) sum += std::stod(text);
    Object work;
    work.add("bytes", all_ * done.items * round.layout.transfer).add("op", all_ * done.items);
    if (moved) work.add("device_bytes", *moved);
    emit(name, done.seconds, begin_ns, std::move(work), sum, "wrong pages");
  }

  void mdtest(const char* name, SmallFiles& files, Step step, std::uint64_t& reached) {
    const bool creates = step == Step::create;
    peers_.meet();
    const std::int64_t begin_ns = unix_ns();
    const Crowded done = files.run(step, creates ? items() : reached, 1, creates ? options_.stonewall_s : 0);
    reached = done.items;
    emit(name, done.seconds, begin_ns, Object().add("op", all_ * done.items), static_cast<double>(files.failed()),
         "calls that failed");
  }

  /// What is made from here on is newer.
  void mark() {
    const std::string path = folder_ + "/mark";
    peers_.together([&] {
      if (peers_.first()) close(open_file({.path = path, .write = true, .create = true}));
    });
    peers_.together([&] {
      struct stat about {};
      if (stat(path.c_str(), &about) != 0) throw io_failed("looking at " + path);
      mark_ = about.st_mtim;
    });
  }

  void find() {
    peers_.meet();
    const std::int64_t begin_ns = unix_ns();
    std::vector<Looked> looked(static_cast<std::size_t>(threads_));
    Crowd crowd;
    crowd.threads = looked.size();
    crowd.items = 1;
    crowd.work = [&](std::size_t i, std::uint64_t, std::uint64_t to, double) {
      const Looked easy = look(small_easy_.folder_of(small_easy_.writer(i, 1)), 0, 1, mark_);
      const Looked hard = look(small_hard_.folder_of(0), small_hard_.writer(i, 0), all_, mark_);
      looked[i] = {easy.seen + hard.seen, easy.found + hard.found};
      return to;
    };
    const double seconds = run_crowd(peers_, crowd).seconds;
    std::int64_t seen = 0;
    std::int64_t missed = 0;
    for (std::size_t i = 0; i < looked.size(); ++i) {
      seen += looked[i].seen;
      missed += should_find(small_hard_.writer(i, 0)) - looked[i].found;
    }
    const auto texts = peers_.gather(std::to_string(seen) + ' ' + std::to_string(missed));
    std::int64_t all = 0;
    missed = 0;
    for (const auto& text : texts) {
      all += std::stoll(text);
      missed += std::stoll(text.substr(text.find(' ')));
    }
    const auto there = static_cast<std::int64_t>(all_ * (easy_items_ + hard_items_));
    // As residuals are never negative: what was missed or found too much, and entries that were not seen.
    const auto wrong = static_cast<double>(std::abs(missed) + std::abs(there - all));
    emit("find", seconds, begin_ns, Object().add("op", all), wrong, "files that find missed");
  }

  /// How many of a writer's hard files have the pattern in their names.
  [[nodiscard]] std::int64_t should_find(std::uint64_t writer) const {
    std::int64_t count = 0;
    for (std::uint64_t item = 0; item < hard_items_; ++item) {
      const std::string path = small_hard_.name(writer, item);
      count += path.find(kPattern, path.rfind('/')) != std::string::npos ? 1 : 0;
    }
    return count;
  }

  Emitter& emitter_;
  Peers& peers_;
  const Options& options_;
  std::string folder_;
  int threads_;
  std::uint64_t all_;  // threads of all ranks
  SmallFiles small_easy_, small_hard_;
  std::vector<Worker> easy_workers_, hard_workers_;
  Round easy_, hard_;
  std::uint64_t easy_items_ = 0, hard_items_ = 0;
  timespec mark_{};
};

}  // namespace

void measure_io500(Emitter& emitter, Peers& peers, const Options& options, const std::string& folder, int threads) {
  Io500(emitter, peers, options, folder, threads).run();
}

}  // namespace shakedown::storage
