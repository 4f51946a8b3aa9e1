// Features of what is in files.
#include <linux/falloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "attempts.hpp"

namespace shakedown::storage {
namespace {

constexpr off_t kMiB = off_t{1} << 20;
constexpr off_t kGiB = off_t{1} << 30;
constexpr std::size_t kPage = 4096;

/// What one process writes into a shared map, another reads, by its map and by read; and the other way round.
void shared_map(const std::string& folder) {
  const std::string name = folder + "/file";
  store(name, std::string(2 * kPage, '-'));
  Beside other([&](Beside& us) {
    const File file(name, O_RDWR);
    auto* map = static_cast<char*>(mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd(), 0));
    if (map == MAP_FAILED) return errno == ENODEV ? 3 : 2;  // NOLINT(performance-no-int-to-ptr)
    us.tell();
    if (!us.hear()) return 2;
    const bool seen = std::string(map, 5) == "hello";
    std::memcpy(map + kPage, "world", 5);
    if (msync(map, 2 * kPage, MS_SYNC) != 0) return 4;
    us.tell();
    return seen ? 0 : 5;
  });
  if (!other.hear()) {
    if (other.wait() == 3) throw Absent{"files cannot be mapped"};
    throw Broken{"mmap MAP_SHARED failed"};
  }
  const File file(name, O_RDWR);
  write_all(file.fd(), "hello", 0);
  other.tell();
  need(other.hear(), "msync failed");
  need(read_all(file.fd(), 5, kPage) == "world", "what was written to a shared map is not read");
  need(other.wait() == 0, "what was written is not seen in a shared map");
}

/// A hole takes no room, reads as zeros, and SEEK_DATA finds what lies after it.
void holes(const std::string& folder) {
  const File file(folder + "/file");
  need(ftruncate(file.fd(), kGiB) == 0, because("ftruncate"));
  write_all(file.fd(), "data", kGiB / 2);
  need(fsync(file.fd()) == 0, because("fsync"));
  need(read_all(file.fd(), 4096, kMiB) == std::string(4096, '\0'), "a hole does not read as zeros");
  need(status_of(file.fd()).st_size == kGiB, "the size of a file with holes is wrong");
  const auto taken = static_cast<off_t>(status_of(file.fd()).st_blocks) * 512;
  if (taken > kGiB / 4) throw Absent{"a file of 1 GiB with 4 bytes takes " + std::to_string(taken) + " bytes"};
  const off_t data = lseek(file.fd(), 0, SEEK_DATA);
  if (data < 0) refused("SEEK_DATA");
  if (data == 0) throw Absent{"SEEK_DATA finds data in a hole"};
  need(data <= kGiB / 2 && data > kGiB / 4, "SEEK_DATA finds data at " + std::to_string(data));
  const off_t hole = lseek(file.fd(), kGiB / 2, SEEK_HOLE);
  need(hole > kGiB / 2 && hole <= kGiB, "SEEK_HOLE finds a hole at " + std::to_string(hole));
}

/// Room that is reserved is taken at once, and reads as zeros.
void reserve(const std::string& folder) {
  const File file(folder + "/file");
  if (fallocate(file.fd(), 0, 0, 16 * kMiB) != 0) refused("fallocate");
  need(status_of(file.fd()).st_size == 16 * kMiB, "fallocate did not make the file longer");
  need(read_all(file.fd(), 4096, 8 * kMiB) == std::string(4096, '\0'), "reserved room does not read as zeros");
  need(static_cast<off_t>(status_of(file.fd()).st_blocks) * 512 >= 16 * kMiB, "fallocate reserved nothing");
}

void punch(const std::string& folder) {
  const File file(folder + "/file");
  write_all(file.fd(), std::string(4 * kMiB, 'x'), 0);
  need(fsync(file.fd()) == 0, because("fsync"));
  if (fallocate(file.fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, kMiB, 2 * kMiB) != 0)
    refused("FALLOC_FL_PUNCH_HOLE");
  const std::string found = read_all(file.fd(), 4 * kMiB, 0);
  std::string expected(4 * kMiB, 'x');
  expected.replace(kMiB, 2 * kMiB, 2 * kMiB, '\0');
  need(found == expected, "a punched hole is not where it was requested");
}

void direct(const std::string& folder) {
  const std::string name = folder + "/file";
  const int fd = open(name.c_str(), O_RDWR | O_CREAT | O_DIRECT | O_CLOEXEC, 0600);
  if (fd < 0 && errno == EINVAL) throw Absent{because("open with O_DIRECT")};
  if (fd < 0) refused("open with O_DIRECT");
  constexpr std::size_t kBytes = 16 * kPage;
  const std::unique_ptr<char, void (*)(void*)> out(static_cast<char*>(aligned_alloc(kPage, kBytes)), std::free);
  const std::unique_ptr<char, void (*)(void*)> in(static_cast<char*>(aligned_alloc(kPage, kBytes)), std::free);
  for (std::size_t i = 0; i < kBytes; ++i) out.get()[i] = static_cast<char>(i * 7 + i / kPage);
  const bool wrote = pwrite(fd, out.get(), kBytes, 0) == static_cast<ssize_t>(kBytes);
  const std::string why = because("write with O_DIRECT");
  const bool got = wrote && pread(fd, in.get(), kBytes, 0) == static_cast<ssize_t>(kBytes);
  ::close(fd);
  need(wrote, why);
  need(got && std::memcmp(in.get(), out.get(), kBytes) == 0, "what O_DIRECT wrote reads as something else");
  need(load(name) == std::string(out.get(), kBytes), "what O_DIRECT wrote is not what read without it gives");
}

/// A file whose name is gone can be used until it is closed.
void unlinked(const std::string& folder) {
  const std::string name = folder + "/file";
  const File file(name);
  write_all(file.fd(), "before", 0);
  need(unlink(name.c_str()) == 0, because("unlink of an open file"));
  need(access(name.c_str(), F_OK) != 0, "a file's name is there after unlink");
  write_all(file.fd(), " after", 6);
  need(read_all(file.fd(), 12, 0) == "before after", "an open file without a name lost what was in it");
  need(status_of(file.fd()).st_size == 12, "an open file without a name has the wrong size");
}

/// Past 4 GiB: offsets of 64 bits, nothing folded over.
void large(const std::string& folder) {
  const File file(folder + "/file");
  constexpr off_t kEdge = 4 * kGiB;
  write_all(file.fd(), "low", 0);
  if (pwrite(file.fd(), "across", 6, kEdge - 3) != 6) {
    if (errno == EFBIG) throw Absent{because("write past 4 GiB")};
    throw Broken{because("write past 4 GiB")};
  }
  write_all(file.fd(), "high", 5 * kGiB);
  need(fsync(file.fd()) == 0, because("fsync"));
  need(status_of(file.fd()).st_size == 5 * kGiB + 4, "a file of 5 GiB has another size");
  need(read_all(file.fd(), 6, kEdge - 3) == "across" && read_all(file.fd(), 4, 5 * kGiB) == "high" &&
           read_all(file.fd(), 3, 0) == "low" && read_all(file.fd(), 4, kGiB) == std::string(4, '\0'),
       "a file past 4 GiB reads as something else");
}

void truncated(const std::string& folder) {
  const File file(folder + "/file");
  write_all(file.fd(), std::string(10000, 'x'), 0);
  need(ftruncate(file.fd(), 5000) == 0 && ftruncate(file.fd(), 9000) == 0, because("ftruncate"));
  need(read_all(file.fd(), 20000, 0) == std::string(5000, 'x') + std::string(4000, '\0'),
       "a file that was cut and made longer does not end in zeros");
}

/// Two processes that append lines lose none and mix none.
void append(const std::string& folder) {
  constexpr int kLines = 500;
  const std::string name = folder + "/file";
  store(name, "");
  const auto write_lines = [&](char which) {
    const File file(name, O_WRONLY | O_APPEND);
    const std::string line = std::string(99, which) + '\n';
    for (int i = 0; i < kLines; ++i) {
      if (write(file.fd(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) return 1;
    }
    return 0;
  };
  Beside other([&](Beside&) { return write_lines('b'); });
  need(write_lines('a') == 0 && other.wait() == 0, because("append"));
  const std::string found = load(name);
  need(found.size() == std::size_t{2} * kLines * 100,
       "appended lines were lost: " + std::to_string(found.size() / 100));
  for (std::size_t at = 0; at < found.size(); at += 100) {
    need(found.substr(at, 100) == std::string(99, found[at]) + '\n', "appended lines are mixed");
  }
}

void synced(const std::string& folder) {
  const File file(folder + "/file");
  write_all(file.fd(), "x", 0);
  need(fdatasync(file.fd()) == 0, because("fdatasync"));
  need(fsync(file.fd()) == 0, because("fsync"));
  const File above(folder, O_RDONLY | O_DIRECTORY);
  if (fsync(above.fd()) != 0) {
    if (errno == EINVAL) throw Absent{because("fsync of a folder")};
    refused("fsync of a folder");
  }
}

void copied(const std::string& folder) {
  const File from(folder + "/from");
  const File to(folder + "/to");
  std::string text(kMiB, '\0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i % 251);
  write_all(from.fd(), text, 0);
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t now = copy_file_range(from.fd(), nullptr, to.fd(), nullptr, text.size() - done, 0);
    if (now < 0 && errno == EXDEV) throw Absent{because("copy_file_range")};
    if (now < 0) refused("copy_file_range");
    need(now > 0, "copy_file_range stopped early");
    done += static_cast<std::size_t>(now);
  }
  need(read_all(to.fd(), text.size(), 0) == text, "copy_file_range copied something else");
}

/// A program that lies there can be started.
void executed(const std::string& folder) {
  const std::string name = folder + "/program";
  store(name, "#!/bin/sh\nexit 7\n");
  need(chmod(name.c_str(), 0700) == 0, because("chmod"));
  Beside other([&](Beside&) {
    execl(name.c_str(), name.c_str(), nullptr);
    return errno == EACCES ? 3 : 2;
  });
  const int code = other.wait();
  if (code == 3) throw Absent{"programs that lie there are not started (mounted noexec)"};
  need(code == 7, "a program that lies there did not run");
}

}  // namespace

std::vector<Feature> data_features() {
  return {
      {"shared-map", "what is written to a shared map is read, and the other way round", true, shared_map},
      {"unlink-open", "an open file lives on without its name", true, unlinked},
      {"large-file", "files past 4 GiB", true, large},
      {"truncate", "files cut and made longer", true, truncated},
      {"append", "two processes that append lose and mix nothing", true, append},
      {"fsync", "fsync of files and folders", true, synced},
      {"holes", "holes take no room, and SEEK_DATA and SEEK_HOLE find them", false, holes},
      {"reserve", "fallocate reserves room", false, reserve},
      {"punch-hole", "holes are punched", false, punch},
      {"direct", "O_DIRECT", false, direct},
      {"copy-range", "copy_file_range", false, copied},
      {"execute", "programs are started from there", false, executed},
  };
}

}  // namespace shakedown::storage
