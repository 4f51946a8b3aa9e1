#include "folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

#include "common/error.hpp"

namespace shakedown::storage {
namespace {

struct Known {
  std::uint64_t magic;
  const char* type;
  const char* where;
};

// statfs(2), linux/magic.h, and the sources of those that are not in the kernel.
constexpr Known kKnown[] = {
    {0xef53, "ext4", "local"},          {0x58465342, "xfs", "local"},     {0x9123683e, "btrfs", "local"},
    {0xf2f52010, "f2fs", "local"},      {0x2fc12fc1, "zfs", "local"},     {0xca451a4e, "bcachefs", "local"},
    {0x794c7630, "overlay", "local"},   {0x01021994, "tmpfs", "memory"},  {0x858458f6, "ramfs", "memory"},
    {0x6969, "nfs", "network"},         {0xff534d42, "cifs", "network"},  {0xfe534d42, "smb2", "network"},
    {0x0bd00bd0, "lustre", "network"},  {0x47504653, "gpfs", "network"},  {0x19830326, "beegfs", "network"},
    {0x00c36400, "ceph", "network"},    {0xaad7aaea, "panfs", "network"}, {0x01161970, "gfs2", "network"},
    {0x7461636f, "ocfs2", "network"},   {0x01021997, "9p", "network"},    {0x5346414f, "afs", "network"},
    {0x6b414653, "kafs", "network"},    {0x013111a8, "ibrix", "network"}, {0x65735546, "fuse", "unknown"},
    {0x20030528, "orangefs", "network"}};

const Known* known(std::uint64_t magic) {
  for (const auto& one : kKnown) {
    if (one.magic == magic) return &one;
  }
  return nullptr;
}

/// mountinfo writes a space as \040.
std::string unescaped(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

int remove_one(const char* path, const struct stat* /*unused*/, int /*unused*/, FTW* /*unused*/) {
  return remove(path) == 0 || errno == ENOENT ? 0 : -1;
}

/// Waits until nobody holds the other end of the leash, then removes the folder and ends.
[[noreturn]] void keep_watch(const std::string& path, int leash) {
  setsid();  // a signal to the group of what it watches leaves it alone
  for (const int number : {SIGHUP, SIGINT, SIGTERM, SIGPIPE}) signal(number, SIG_IGN);
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd < 3; ++fd) dup2(nothing, fd);  // nobody waits for its output
  dup2(leash, 3);
  close_range(4, ~0U, 0);  // else it would hold open what others wait to see closed
  leash = 3;
  char byte = 0;
  while (read(leash, &byte, 1) < 0 && errno == EINTR) {
  }
  // What wrote there may have ended a moment ago only: its last files are still to come.
  bool gone = false;
  for (int tries = 0; tries < 20 && !gone; ++tries) {
    if (tries > 0) usleep(50'000);
    gone = remove_tree(path);
  }
  _exit(gone ? 0 : 1);
}

}  // namespace

std::string where_of(std::uint64_t magic, const std::string& type) {
  for (const char* word : {"fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.s3fs", "fuse.juicefs", "fuse.cvmfs2",
                           "fuse.beeondfs", "fuse.dfuse", "fuse.seaweedfs", "virtiofs"}) {
    if (type == word) return "network";
  }
  const Known* found = known(magic);
  return found == nullptr ? "unknown" : found->where;
}

Mount mount_of(const std::string& mountinfo, const std::string& path) {
  Mount best;
  std::istringstream lines(mountinfo);
  for (std::string line; std::getline(lines, line);) {
    const auto dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream before(line.substr(0, dash));
    std::istringstream after(line.substr(dash + 3));
    std::string skipped;
    std::string point;
    before >> skipped >> skipped >> skipped >> skipped >> point;  // id, parent, device, root, mount point
    point = unescaped(point);
    const bool below = point == "/" || path == point || path.starts_with(point + '/');
    if (!below || point.size() < best.point.size()) continue;  // of two on one point, the later covers the earlier
    best.point = point;
    after >> best.type >> best.source;
    best.source = unescaped(best.source);
  }
  return best;
}

FileSystem look_at(const std::string& folder) {
  struct statfs about {};
  struct statvfs room {};
  if (statfs(folder.c_str(), &about) != 0 || statvfs(folder.c_str(), &room) != 0) {
    throw cannot("the file system of " + folder + " cannot be asked: " + std::strerror(errno),
                 "--directory names a folder on the file system to be measured");
  }
  const auto magic = static_cast<std::uint64_t>(about.f_type) & 0xffffffff;
  std::array<char, PATH_MAX> resolved{};
  const char* path = realpath(folder.c_str(), resolved.data());
  std::ifstream file("/proc/self/mountinfo");
  std::stringstream text;
  text << file.rdbuf();
  const Mount mount = mount_of(text.str(), path == nullptr ? folder : path);
  FileSystem found;
  found.mount_point = mount.point;
  found.source = mount.source;
  const Known* by_number = known(magic);
  std::ostringstream number;
  number << "0x" << std::hex << magic;
  found.type = !mount.type.empty() ? mount.type : by_number != nullptr ? by_number->type : number.str();
  found.where = where_of(magic, found.type);
  found.bounded = room.f_blocks > 0;
  found.free_bytes = static_cast<std::uint64_t>(room.f_bavail) * room.f_frsize;
  found.free_files = room.f_favail;
  return found;
}

bool remove_tree(const std::string& path) {
  constexpr int kOpen = 32;  // folders at once
  return nftw(path.c_str(), remove_one, kOpen, FTW_DEPTH | FTW_PHYS) == 0 ||
         (access(path.c_str(), F_OK) != 0 && errno == ENOENT);
}

Workplace::Workplace(const std::string& parent) {
  std::string name = parent + "/shakedown-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) {
    throw cannot("no folder can be made in " + parent + ": " + std::strerror(errno),
                 "--directory names a folder that can be written to");
  }
  path_ = name;
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0 || (janitor_ = fork()) < 0) {
    const std::string why = std::strerror(errno);
    rmdir(path_.c_str());
    throw cannot("no process can be started that clears up: " + why);
  }
  if (janitor_ == 0) {
    close(ends[1]);
    keep_watch(path_, ends[0]);
  }
  close(ends[0]);
  leash_ = ends[1];
}

Workplace::~Workplace() {
  close(leash_);
  int status = 0;
  while (waitpid(janitor_, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    std::fprintf(stderr, "storage: %s could not be removed\n  next: remove it by hand once the storage is back\n",
                 path_.c_str());
  }
}

}  // namespace shakedown::storage
