// Features of names and folders.
#include <dirent.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <map>
#include <vector>

#include "attempts.hpp"

namespace shakedown::storage {
namespace {

constexpr int kRenames = 300;
constexpr int kRaces = 40;
constexpr int kRacers = 4;
constexpr int kManyFiles = 3000;
constexpr double kClockS = 2;

/// While one process renames new versions over a file, another must find one of them, whole, each time it looks.
void rename_over(const std::string& folder) {
  const std::string target = folder + "/target";
  const std::string parts[] = {std::string(65536, 'a'), std::string(40000, 'b')};
  store(target, parts[0]);
  Beside writer([&](Beside& us) {
    for (int i = 0; i < kRenames; ++i) {
      const std::string fresh = folder + "/fresh";
      store(fresh, parts[i % 2]);
      if (rename(fresh.c_str(), target.c_str()) != 0) return 2;
    }
    us.tell();
    return 0;
  });
  do {
    const std::string found = load(target);
    need(found == parts[0] || found == parts[1],
         "a file that is being replaced was read as " + std::to_string(found.size()) + " bytes of neither version");
  } while (!writer.said());
  need(writer.hear() && writer.wait() == 0, "rename over a file that is there failed");
  need(access((folder + "/fresh").c_str(), F_OK) != 0, "the old name is still there after rename");
}

/// Of several processes that create one name with O_EXCL, exactly one succeeds.
void exclusive(const std::string& folder) {
  const std::string there = folder + "/there";
  store(there, "x");
  need(open(there.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600) < 0 && errno == EEXIST,
       "O_EXCL opened a file that was there");
  const std::string dangling = folder + "/dangling";
  if (symlink("nowhere", dangling.c_str()) == 0) {
    need(open(dangling.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600) < 0 && errno == EEXIST,
         "O_EXCL followed a symbolic link");
  }
  std::vector<std::unique_ptr<Beside>> racers;
  racers.reserve(kRacers);
  for (int racer = 0; racer < kRacers; ++racer) {
    racers.push_back(std::make_unique<Beside>([&](Beside& us) {
      int won = 0;
      for (int race = 0; race < kRaces; ++race) {
        if (!us.hear()) return 98;
        const std::string name = folder + "/race" + std::to_string(race);
        const int fd = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd >= 0) {
          ++won;
          ::close(fd);
        }
        us.tell();
      }
      return won;
    }));
  }
  for (int race = 0; race < kRaces; ++race) {
    for (const auto& one : racers) one->tell();
    for (const auto& one : racers) need(one->hear(), "a process that creates files went away");
  }
  int won = 0;
  for (const auto& one : racers) won += one->wait();
  need(won == kRaces, std::to_string(won) + " processes created " + std::to_string(kRaces) + " names with O_EXCL");
}

void hard_links(const std::string& folder) {
  const std::string a = folder + "/a";
  const std::string b = folder + "/b";
  store(a, "one");
  if (link(a.c_str(), b.c_str()) != 0) {
    if (errno == EPERM) throw Absent{because("link")};
    refused("link");
  }
  need(status_of(a).st_ino == status_of(b).st_ino && status_of(a).st_nlink == 2,
       "two names are not one file of two links");
  store(b, "two");
  need(load(a) == "two", "what is written by one name is not read by the other");
  need(unlink(a.c_str()) == 0 && load(b) == "two" && status_of(b).st_nlink == 1, "removing one name hurt the other");
  need(link(b.c_str(), b.c_str()) != 0 && errno == EEXIST, "link replaced a name that was there");
}

void symbolic_links(const std::string& folder) {
  const std::string target(900, 't');
  const std::string name = folder + "/link";
  if (symlink(target.c_str(), name.c_str()) != 0) {
    if (errno == EPERM) throw Absent{because("symlink")};
    refused("symlink");
  }
  std::array<char, 1024> found{};
  const ssize_t length = readlink(name.c_str(), found.data(), found.size());
  need(length == 900 && std::string(found.data(), 900) == target, "a link does not say what it was made to say");
  need(S_ISLNK(status_of(name).st_mode), "a link is not seen as one");
  store(folder + "/file", "content");
  need(symlink("file", (folder + "/good").c_str()) == 0 && load(folder + "/good") == "content",
       "a link is not followed");
  need(symlink("loop", (folder + "/loop").c_str()) == 0, because("symlink"));
  need(open((folder + "/loop").c_str(), O_RDONLY) < 0 && errno == ELOOP, "a link to itself was opened");
  need(symlink("none", (folder + "/none").c_str()) == 0 && open((folder + "/none").c_str(), O_RDONLY) < 0,
       "a link to nothing was opened");
}

void long_names(const std::string& folder) {
  const std::string name = folder + '/' + std::string(255, 'n');
  store(name, "x");
  need(load(name) == "x", "a file whose name has 255 bytes is not read back");
  need(open((name + 'n').c_str(), O_WRONLY | O_CREAT, 0600) < 0 && errno == ENAMETOOLONG,
       "a name of 256 bytes was taken");
}

/// Names differ by case, and any byte but / and 0 is kept.
void any_names(const std::string& folder) {
  store(folder + "/name", "lower");
  store(folder + "/NAME", "upper");
  need(load(folder + "/name") == "lower" && load(folder + "/NAME") == "upper",
       "names that differ by case are one file");
  for (const std::string name : {"gr\xc3\xbc\xc3\x9f", "sp ace", "new\nline", "back\\slash", "-rf", "e\xcc\x81"}) {
    std::string path = folder + '/';
    path += name;
    store(path, name);
    need(load(path) == name, "the name '" + name + "' is not kept");
  }
  need(access((folder + "/\xc3\xa9").c_str(), F_OK) != 0,
       "names are changed: e with an accent is found in other bytes");
}

/// Many files in one folder: each is listed once, and none other.
void many_files(const std::string& folder) {
  const auto name = [&](int i) { return folder + "/file." + std::to_string(i); };
  for (int i = 0; i < kManyFiles; ++i) {
    const File made(name(i), O_WRONLY | O_CREAT | O_EXCL);
  }
  DIR* listing = opendir(folder.c_str());
  need(listing != nullptr, because("opendir"));
  std::map<std::string, int> seen;
  while (const dirent* one = readdir(listing)) ++seen[one->d_name];
  closedir(listing);
  need(seen.size() == kManyFiles + 2U,
       std::to_string(seen.size() - 2) + " of " + std::to_string(kManyFiles) + " files are listed");
  for (const auto& [file, times] : seen) need(times == 1, file + " is listed " + std::to_string(times) + " times");
  for (int i = 0; i < kManyFiles; ++i) need(unlink(name(i).c_str()) == 0, because("unlink"));
  need(rmdir(folder.c_str()) == 0, because("rmdir of an empty folder"));
  need(mkdir(folder.c_str(), 0700) == 0, because("mkdir"));
}

void folders(const std::string& folder) {
  const std::string a = folder + "/a";
  need(mkdir(a.c_str(), 0700) == 0, because("mkdir"));
  need(mkdir(a.c_str(), 0700) != 0 && errno == EEXIST, "mkdir made a folder that was there");
  store(a + "/file", "x");
  need(rmdir(a.c_str()) != 0 && (errno == ENOTEMPTY || errno == EEXIST), "rmdir removed a folder with a file in it");
  need(rename(a.c_str(), (folder + "/b").c_str()) == 0 && load(folder + "/b/file") == "x",
       "a folder cannot be renamed");
  need(mkdir(a.c_str(), 0700) == 0 && rename((folder + "/b").c_str(), a.c_str()) == 0,
       "no rename over an empty folder");
  need(rename(folder.c_str(), (a + "/inside").c_str()) != 0 && errno == EINVAL, "a folder was moved into itself");
}

void permissions(const std::string& folder) {
  const std::string name = folder + "/file";
  store(name, "x");
  for (const mode_t mode : {0600U, 0640U, 0755U, 0444U, 0000U}) {
    need(chmod(name.c_str(), mode) == 0, because("chmod"));
    need((status_of(name).st_mode & 07777U) == mode, "chmod " + std::to_string(mode) + " is not kept");
  }
  need(status_of(name).st_uid == geteuid(), "a file belongs to someone else than who made it");
  if (geteuid() != 0) {
    need(open(name.c_str(), O_RDONLY) < 0 && errno == EACCES, "a file without permissions was opened");
  }
}

void attributes(const std::string& folder) {
  const std::string name = folder + "/file";
  store(name, "x");
  const std::string value("va\0lue", 6);
  if (setxattr(name.c_str(), "user.shakedown", value.data(), value.size(), 0) != 0) {
    if (errno == EPERM) throw Absent{because("setxattr user.*")};
    refused("setxattr user.*");
  }
  std::array<char, 256> found{};
  const ssize_t length = getxattr(name.c_str(), "user.shakedown", found.data(), found.size());
  need(length == 6 && std::string(found.data(), 6) == value, "an attribute reads back as something else");
  const ssize_t listed = listxattr(name.c_str(), found.data(), found.size());
  need(listed > 0 &&
           std::string(found.data(), static_cast<std::size_t>(listed)).find("user.shakedown") != std::string::npos,
       "an attribute is not listed");
  need(removexattr(name.c_str(), "user.shakedown") == 0 &&
           getxattr(name.c_str(), "user.shakedown", found.data(), found.size()) < 0 && errno == ENODATA,
       "an attribute stays after it was removed");
}

/// Access control lists as POSIX.1e drafted them: one user more, and a mask, which shows as the group's bits.
void access_lists(const std::string& folder) {
  struct Entry {
    std::uint16_t tag, perm;
    std::uint32_t id;
  };
  struct List {
    std::uint32_t version;
    std::array<Entry, 5> entries;
  };
  constexpr std::uint32_t kNone = ~0U;
  // linux/posix_acl_xattr.h: owner, a user, group, mask, others
  const List list{2, {{{1, 6, kNone}, {2, 6, 54321}, {4, 4, kNone}, {16, 6, kNone}, {32, 0, kNone}}}};
  const std::string name = folder + "/file";
  store(name, "x");
  if (setxattr(name.c_str(), "system.posix_acl_access", &list, sizeof list, 0) != 0) {
    if (errno == EINVAL || errno == EPERM) throw Absent{because("setxattr system.posix_acl_access")};
    refused("setxattr system.posix_acl_access");
  }
  List found{};
  need(getxattr(name.c_str(), "system.posix_acl_access", &found, sizeof found) == sizeof found &&
           std::memcmp(&found, &list, sizeof list) == 0,
       "an access list reads back as something else");
  need((status_of(name).st_mode & 0777U) == 0660, "the mask of an access list does not show as the group's bits");
}

/// Times are kept to the nanosecond, before 1970 and after 2038.
void times(const std::string& folder) {
  const std::string name = folder + "/file";
  store(name, "x");
  for (const time_t second : {time_t{1'000'000'000}, time_t{4'000'000'000}}) {
    const timespec both[2] = {{second, 123'456'789}, {second, 987'654'321}};
    need(utimensat(AT_FDCWD, name.c_str(), both, 0) == 0, because("utimensat"));
    const auto found = status_of(name);
    need(found.st_mtim.tv_sec == second && found.st_atim.tv_sec == second,
         "a time of year " + std::to_string(1970 + second / 31'556'952) + " is not kept");
    if (found.st_mtim.tv_nsec != 987'654'321) {
      throw Absent{"987654321 ns are kept as " + std::to_string(found.st_mtim.tv_nsec) + " ns"};
    }
  }
}

/// Files are stamped by a clock that agrees with this host's: else make builds too much or too little.
void stamps(const std::string& folder) {
  timespec before{};
  timespec after{};
  clock_gettime(CLOCK_REALTIME, &before);
  store(folder + "/file", "x");
  clock_gettime(CLOCK_REALTIME, &after);
  const auto at = status_of(folder + "/file").st_mtim;
  const auto seconds = [](const timespec& t) {
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  const double off = seconds(at) < seconds(before)  ? seconds(at) - seconds(before)
                     : seconds(at) > seconds(after) ? seconds(at) - seconds(after)
                                                    : 0;
  need(off > -kClockS && off < kClockS, "a new file is stamped " + std::to_string(off) + " s off this host's clock");
}

}  // namespace

std::vector<Feature> names_features() {
  return {
      {"rename", "rename replaces a file at once, and readers see the old or the new", true, rename_over},
      {"exclusive", "O_EXCL creates a name once, among racing processes", true, exclusive},
      {"hard-links", "hard links", false, hard_links},
      {"symbolic-links", "symbolic links, long, broken and looping", true, symbolic_links},
      {"folders", "folders are made, renamed, and removed only when empty", true, folders},
      {"long-names", "names of 255 bytes", true, long_names},
      {"any-names", "names keep their case and their bytes", true, any_names},
      {"many-files", std::to_string(kManyFiles) + " files in a folder, each listed once", true, many_files},
      {"permissions", "modes and owners are kept", true, permissions},
      {"attributes", "extended attributes (user.*)", false, attributes},
      {"access-lists", "POSIX access control lists", false, access_lists},
      {"nanoseconds", "times to the nanosecond, past 2038", false, times},
      {"clock", "new files are stamped within 2 s of this host's clock", true, stamps},
  };
}

}  // namespace shakedown::storage
