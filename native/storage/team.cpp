#include "team.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "common/clock.hpp"

namespace shakedown::storage {
namespace {

constexpr std::uint64_t kSharedFiles = std::uint64_t{1} << 48;  // their numbers, above those of writers

/// The transfers of one thread between two indices, as many in flight as there are slots.
class Drive {
 public:
  Drive(Worker& worker, Transfers& file, const Round& round) : worker_(worker), file_(file), round_(round) {
    layout_ = round.layout;
    layout_.writers = worker.part.writers;
    writes_ = round.kernel != Kernel::read;
    slots_.resize(round.depth);
    for (std::size_t i = round.depth; i-- > 0;) free_.push_back(i);
  }

  /// Ends at `to`, or starts no more once `until_s` has come. The index that was reached.
  std::uint64_t run(std::uint64_t from, std::uint64_t to, double until_s) {
    now_ = now_s();
    std::uint64_t next = from;
    while (true) {
      while (!free_.empty() && next < to && now_ < until_s) start(next++);
      if (free_.size() == slots_.size()) return next;
      finish();
    }
  }

 private:
  struct Slot {
    Spot place;
    double begun_s = 0;
  };

  void start(std::uint64_t index) {
    const std::size_t at = free_.back();
    Slot& slot = slots_[at];
    if (round_.stale && index == round_.extent / 2) return;
    slot.place = {worker_.part.file, round_.generation, offset_of(layout_, worker_.part.writer, index)};
    slot.begun_s = now_;
    free_.pop_back();
    std::uint8_t* data = nullptr;
    if (writes_) {
      // The kernel only reads it: a transfer is one type for both ways.
      data = const_cast<std::uint8_t*>(worker_.contents[at]->at(slot.place, layout_.transfer).data());
    } else {
      data = worker_.buffers[at]->all().data();
    }
    file_.start(at, {data, layout_.transfer, slot.place.offset});
  }

  void finish() {
    const auto done = file_.next();
    if (writes_ && round_.sync == Sync::each) file_.sync();
    now_ = now_s();
    const Slot& slot = slots_[done.slot];
    worker_.longest_s = std::max(worker_.longest_s, now_ - slot.begun_s);
    worker_.bytes += done.bytes;
    worker_.over_time.add(now_ - worker_.begin_s, done.bytes);
    if (!writes_) look_at(done, slot.place);
    free_.push_back(done.slot);
  }

  void look_at(const Transfers::Done& done, const Spot& place) {
    const auto data = worker_.buffers[done.slot]->all().first(layout_.transfer);
    const Content& content = *worker_.contents.front();
    if (done.bytes < data.size()) {
      worker_.wrong += static_cast<std::int64_t>((data.size() + kPageBytes - 1) / kPageBytes);
    } else if (round_.whole) {
      worker_.wrong += content.wrong(data, place);
    } else if (!content.begins_right(data, place)) {
      ++worker_.wrong;
    }
  }

  Worker& worker_;
  Transfers& file_;
  const Round& round_;
  Layout layout_;
  bool writes_ = false;
  double now_ = 0;
  std::vector<Slot> slots_;
  std::vector<std::size_t> free_;
};

/// New files of several writers are there before these open them: their first writer makes them.
void make_shared_files(Peers& peers, const std::vector<Worker>& workers, const Round& round) {
  if (round.kernel != Kernel::write || round.layout.files == Files::own) return;
  peers.together([&] {
    for (const auto& worker : workers) {
      if (worker.part.writer != 0) continue;
      remove_before(worker.part.path);
      close(open_file({.path = worker.part.path, .write = true, .create = true, .exclusive = true}));
    }
  });
}

std::unique_ptr<Transfers> open_part(const Worker& worker, const Round& round) {
  const bool makes = round.kernel == Kernel::write && round.layout.files == Files::own;
  if (makes) remove_before(worker.part.path);
  return open_transfers(round.engine,
                        {.path = worker.part.path,
                         .write = round.kernel != Kernel::read,
                         .create = makes,
                         .exclusive = makes,
                         .direct = round.direct,
                         .alone = round.layout.files == Files::own},
                        round.depth);
}

}  // namespace

Part part_of(const Folders& folders, Files files, std::uint64_t writer, std::uint64_t writers) {
  const std::uint64_t folder = writer % folders.size();
  const std::string& place = folders[folder];
  if (files == Files::own) return {place + "/data." + std::to_string(writer), writer, 0, 1, folder};
  const std::uint64_t there = (writers - folder + folders.size() - 1) / folders.size();
  return {place + "/data", kSharedFiles + folder, writer / folders.size(), there, folder};
}

void drop_cache(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw io_failed("opening " + path);
  const bool flushed = fdatasync(fd) == 0;
  if (flushed) posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  close(fd);
  if (!flushed) throw io_failed("fdatasync of " + path);
}

Crowded run_team(Peers& peers, std::vector<Worker>& workers, const Round& round) {
  make_shared_files(peers, workers, round);
  std::vector<std::unique_ptr<Transfers>> files(workers.size());
  Crowd crowd;
  crowd.threads = workers.size();
  crowd.items = round.extent;
  crowd.stonewall_s = round.stonewall_s;
  crowd.before = [&](std::size_t i) {
    workers[i].longest_s = 0;
    workers[i].bytes = 0;
    workers[i].over_time = {};
    if (!round.timed_open) files[i] = open_part(workers[i], round);
  };
  crowd.begun = [&](std::size_t i, double begin_s) {
    workers[i].begin_s = begin_s;
    if (!files[i]) files[i] = open_part(workers[i], round);
  };
  crowd.work = [&](std::size_t i, std::uint64_t from, std::uint64_t to, double until_s) {
    return Drive(workers[i], *files[i], round).run(from, to, until_s);
  };
  crowd.finish = [&](std::size_t i) {
    if (round.kernel != Kernel::read && round.sync != Sync::none) files[i]->sync();
    if (round.timed_open) files[i]->close();
  };
  crowd.after = [&](std::size_t i, double seconds) {
    workers[i].seconds = seconds;
    if (!round.timed_open) files[i]->close();
    if (round.drop) drop_cache(workers[i].part.path);
  };
  return run_crowd(peers, crowd);
}

}  // namespace shakedown::storage
