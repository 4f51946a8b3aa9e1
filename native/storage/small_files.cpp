#include "small_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <limits>
#include <numeric>
#include <string_view>
#include <utility>

#include "common/clock.hpp"
#include "repeats.hpp"

namespace shakedown::storage {
namespace {

constexpr std::uint64_t kBranches = 8;
constexpr std::uint64_t kSmallFiles = std::uint64_t{1} << 40;  // their numbers in stamps: so many of each writer

bool makes_folders(Step step) { return step == Step::mkdir || step == Step::rmdir; }

/// Remove in the order opposite to that of making: what lies below goes first.
std::uint64_t turned(Step step, std::uint64_t item, std::uint64_t items) {
  return step == Step::rmdir ? items - 1 - item : item;
}

/// Names that differ in their ends, written one after another into the same memory.
class Numbered {
 public:
  explicit Numbered(std::string stem) : text_(std::move(stem)), stem_(text_.size()) {}
  const char* with(std::uint64_t number) {
    std::array<char, 20> digits{};
    const auto* end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    return with(std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data())));
  }
  const char* with(std::string_view end) {
    text_.resize(stem_);
    return text_.append(end).c_str();
  }

 private:
  std::string text_;
  std::size_t stem_;
};

/// An error of the storage itself, after which no call can succeed: nothing is measured. All others are wrong answers.
bool is_of_storage(int number) {
  constexpr std::array kOfStorage = {ENOSPC, EDQUOT, EROFS, EIO, ESTALE, ENOTCONN, ENODEV, ESHUTDOWN, ETIMEDOUT};
  return std::find(kOfStorage.begin(), kOfStorage.end(), number) != kOfStorage.end();
}

void need_folder(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) throw io_failed("making the folder " + path);
}

}  // namespace

std::string tree_path(std::uint64_t item) {
  std::string path = "/d" + std::to_string(item);
  while (item > 0) {
    item = (item - 1) / kBranches;
    path.insert(0, "/d" + std::to_string(item));
  }
  return path;
}

SmallFiles::SmallFiles(Peers& peers, Folders folders, Files share, int threads, std::uint64_t items, std::size_t bytes)
    : peers_(peers),
      folders_(std::move(folders)),
      share_(share),
      threads_(static_cast<std::uint64_t>(threads)),
      most_(items),
      bytes_(bytes),
      failed_(threads_) {
  for (std::uint64_t i = 0; i < threads_; ++i) {
    contents_.emplace_back(bytes_, kPoolPagesInMemory);
    buffers_.emplace_back(bytes_ + 1);  // one more, to see a file that is too long
  }
}

std::uint64_t SmallFiles::writers() const { return threads_ * static_cast<std::uint64_t>(peers_.size()); }

std::uint64_t SmallFiles::writer(std::size_t thread, std::uint64_t ranks_on) const {
  const std::uint64_t rank = static_cast<std::uint64_t>(peers_.rank()) + ranks_on;
  return (rank * threads_ + thread) % writers();
}

std::string SmallFiles::folder_of(std::uint64_t writer) const {
  const std::string& folder = folders_[writer % folders_.size()];
  return share_ == Files::shared ? folder + "/files" : folder + "/files." + std::to_string(writer);
}

std::string SmallFiles::stem(std::uint64_t writer, bool renamed) const {
  std::string path = folder_of(writer) + (renamed ? "/g" : "/f");
  if (share_ == Files::shared) path += std::to_string(writer) + '.';
  return path;
}

std::string SmallFiles::name(std::uint64_t writer, std::uint64_t item, bool renamed) const {
  return stem(writer, renamed) + std::to_string(item);
}

std::string SmallFiles::tree_of(std::uint64_t writer) const {
  return folder_of(writer) + "/tree" + std::to_string(writer);
}

void SmallFiles::make_folders() {
  peers_.together([&] {
    for (std::size_t i = 0; i < threads_; ++i) need_folder(folder_of(writer(i, 0)));
  });
}

void SmallFiles::remove_folders() {
  peers_.meet();
  for (std::size_t i = 0; i < threads_; ++i) rmdir(folder_of(writer(i, 0)).c_str());
  peers_.meet();
}

bool SmallFiles::write_file(const char* path, std::size_t thread, std::uint64_t number) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
  if (fd < 0) return false;
  std::size_t written = 0;
  int why = 0;
  while (written < bytes_ && why == 0) {
    const auto data = contents_[thread].at({number, 1, 0}, bytes_);
    const ssize_t now = write(fd, data.data() + written, data.size() - written);
    if (now > 0) written += static_cast<std::size_t>(now);
    if (now <= 0 && errno != EINTR) why = now < 0 ? errno : EIO;
  }
  const bool closed = close(fd) == 0;
  if (why != 0) errno = why;
  return closed && why == 0;
}

bool SmallFiles::read_file(const char* path, std::size_t thread, std::uint64_t number) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  auto& buffer = buffers_[thread];
  const ssize_t got = read(fd, buffer.data(), buffer.size());
  const int why = errno;
  close(fd);
  errno = got < 0 ? why : 0;
  if (got != static_cast<ssize_t>(bytes_)) return false;
  return contents_[thread].wrong({buffer.data(), bytes_}, {number, 1, 0}) == 0;
}

bool SmallFiles::done(Step step, std::size_t thread, std::uint64_t number, const char* path, const char* renamed) {
  struct stat about {};
  switch (step) {
    case Step::create:
      return write_file(path, thread, number);
    case Step::stat:
      return stat(path, &about) == 0 && about.st_size == static_cast<off_t>(bytes_) && S_ISREG(about.st_mode);
    case Step::read:
      return read_file(path, thread, number);
    case Step::rename:
      return std::rename(path, renamed) == 0;
    case Step::unlink:
      return unlink(path) == 0;
    case Step::mkdir:
      return mkdir(path, 0700) == 0;
    case Step::rmdir:
      return rmdir(path) == 0;
  }
  return false;
}

std::uint64_t SmallFiles::part(Step step, std::size_t thread, const Part& part) {
  // Another rank in each cycle, as long as there are some: their files are not in this host's memory.
  const auto others = static_cast<std::uint64_t>(peers_.size()) - 1;
  const std::uint64_t of = writer(thread, on_others(step) ? 1 + part.cycle % others : 0);
  const bool back = step == Step::rename && part.cycle % 2 == 1;
  const bool walled = part.until_s < std::numeric_limits<double>::infinity();
  Numbered path(makes_folders(step) ? tree_of(of) : stem(of, renamed_ != back));
  Numbered renamed(stem(of, renamed_ == back));
  Turn turn(part.items, part.cycle);
  std::uint64_t at = part.from;
  for (; at < part.to && !(walled && now_s() >= part.until_s); ++at) {
    const std::uint64_t item = part.cycle > 0 ? turn.next() : turned(step, at, part.items);
    const char* name = makes_folders(step) ? path.with(tree_path(item)) : path.with(item);
    const char* to = step == Step::rename ? renamed.with(item) : nullptr;
    if (done(step, thread, of * kSmallFiles + item, name, to)) continue;
    if (is_of_storage(errno)) throw io_failed(std::string(name_of(step)) + " of " + name);
    ++failed_[thread];
  }
  return at;
}

Crowded SmallFiles::run(Step step, std::uint64_t items, std::uint64_t cycles, double stonewall_s) {
  const std::uint64_t each = std::min(items, most_);
  Crowd crowd;
  crowd.threads = threads_;
  crowd.items = each * cycles;
  crowd.stonewall_s = stonewall_s;
  crowd.before = [&](std::size_t i) {
    if (step == Step::mkdir) need_folder(tree_of(writer(i, 0)));
  };
  crowd.work = [&](std::size_t i, std::uint64_t from, std::uint64_t to, double until_s) {
    std::uint64_t at = from;
    while (at < to) {
      const std::uint64_t cycle = at / each;
      const std::uint64_t begin = cycle * each;
      const std::uint64_t end = std::min(each, to - begin);
      at = begin + part(step, i, {at - begin, end, each, cycle, until_s});
      if (at < begin + end) break;
    }
    return at;
  };
  crowd.after = [&](std::size_t i, double) {
    if (step == Step::rmdir) rmdir(tree_of(writer(i, 0)).c_str());
  };
  const Crowded found = run_crowd(peers_, crowd);
  if (step == Step::rename) renamed_ = renamed_ != (cycles % 2 == 1);
  if (step == Step::unlink) renamed_ = false;
  return found;
}

std::int64_t SmallFiles::failed() {
  const std::int64_t mine = std::accumulate(failed_.begin(), failed_.end(), std::int64_t{0});
  failed_.assign(failed_.size(), 0);
  std::int64_t all = 0;
  for (const auto& text : peers_.gather(std::to_string(mine))) all += std::stoll(text);
  return all;
}

}  // namespace shakedown::storage
