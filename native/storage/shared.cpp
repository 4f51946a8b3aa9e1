// Features between the processes of a job, which are on several hosts where there are several: what one does, others
// see.
#include <dirent.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "attempts.hpp"
#include "common/clock.hpp"

namespace shakedown::storage {
namespace {

constexpr int kRounds = 4;
constexpr int kNeighbours = 8;  // that each rank looks at: a cache that is stale is so for some of them
constexpr double kListingS =
    90;  // after which a file that nobody lists will not be listed: caches of folders are that old

/// One step of a shared check: what this rank found wrong, empty for nothing.
using Step = std::function<std::string(Peers&, const std::string&)>;

std::string attempt(const std::function<void()>& work) {
  try {
    work();
  } catch (const Broken& broken) {
    return broken.why.empty() ? "it failed" : broken.why;
  } catch (const Absent& absent) {
    return "absent: " + absent.why;
  }
  return "";
}

std::string content(int rank, int round) {
  return "rank " + std::to_string(rank) + " round " + std::to_string(round) +
         std::string(static_cast<std::size_t>(5000 + 100 * round), static_cast<char>('a' + round));
}

/// Close-to-open: who opens a file after another host has closed it reads what that wrote, each time anew.
std::string close_to_open(Peers& peers, const std::string& folder) {
  std::string wrong;
  const auto name = [&](int rank) { return folder + "/open." + std::to_string(rank); };
  for (int round = 0; round < kRounds; ++round) {
    const std::string failed = attempt([&] { store(name(peers.rank()), content(peers.rank(), round)); });
    peers.meet();
    for (int step = 1; step <= std::min(kNeighbours, peers.size() - 1); ++step) {
      const int other = (peers.rank() + step) % peers.size();
      const std::string bad = attempt([&] {
        need(load(name(other)) == content(other, round),
             "a file was read as it was before rank " + std::to_string(other) + " wrote and closed it");
      });
      if (wrong.empty()) wrong = bad;
    }
    if (wrong.empty()) wrong = failed;
    peers.meet();
  }
  return wrong;
}

/// A new version renamed over a file is what others open, and a name that is removed is gone.
std::string names_change(Peers& peers, const std::string& folder) {
  std::string wrong;
  const std::string name = folder + "/name";
  const auto note = [&](const std::string& text) {
    if (wrong.empty()) wrong = text;
  };
  for (int round = 0; round < kRounds; ++round) {
    if (peers.first()) {
      note(attempt([&] {
        store(name + ".new", content(0, round));
        need(rename((name + ".new").c_str(), name.c_str()) == 0, because("rename"));
      }));
    }
    peers.meet();
    note(attempt([&] { need(load(name) == content(0, round), "a renamed file was read as the one before it"); }));
    peers.meet();
  }
  if (peers.first()) unlink(name.c_str());
  peers.meet();
  const int fd = open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    ::close(fd);
    note("a file that another host removed was opened");
  }
  return wrong;
}

/// Of all ranks that create one name with O_EXCL at a time, one succeeds: told by the sum, on rank 0.
std::string exclusive_names(Peers& peers, const std::string& folder) {
  std::string won;
  for (int race = 0; race < 10 * kRounds; ++race) {
    peers.meet();
    const int fd =
        open((folder + "/race." + std::to_string(race)).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    won += fd >= 0 ? '1' : '0';
    if (fd >= 0) ::close(fd);
  }
  const auto all = peers.share(won);
  for (std::size_t race = 0; race < won.size(); ++race) {
    const auto winners =
        std::count_if(all.begin(), all.end(), [&](const auto& one) { return one.size() > race && one[race] == '1'; });
    if (winners != 1)
      return std::to_string(winners) + " of " + std::to_string(all.size()) + " processes created one name with O_EXCL";
  }
  return "";
}

/// What rank 0 holds is refused to all others, and free to each of them in turn afterwards.
std::string locks_exclude(Peers& peers, const std::string& folder, const std::function<int(int fd, bool take)>& lock,
                          const char* what) {
  const std::string name = folder + "/lock." + what;
  std::string wrong = attempt([&] {
    if (peers.first()) store(name, "x");
  });
  peers.meet();
  int fd = open(name.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0 && wrong.empty()) wrong = because("open");
  const auto note = [&](bool holds, const std::string& text) {
    if (!holds && wrong.empty()) wrong = text;
  };
  if (peers.first()) {
    const bool taken = fd >= 0 && lock(fd, true) == 0;
    if (!taken && (errno == ENOLCK || errno == EOPNOTSUPP || errno == ENOSYS)) {
      wrong = because("absent: " + std::string(what));
    } else {
      note(taken, because("a free file cannot be locked"));
    }
  }
  peers.meet();
  if (!peers.first())
    note(fd >= 0 && lock(fd, true) != 0, std::string("a file that another host has locked was locked (") + what + ")");
  peers.meet();
  if (peers.first() && fd >= 0) lock(fd, false);
  for (int rank = 1; rank < std::min(peers.size(), kNeighbours); ++rank) {
    peers.meet();
    if (peers.rank() != rank || fd < 0) continue;
    note(lock(fd, true) == 0, because("a file that was unlocked cannot be locked"));
    lock(fd, false);
  }
  peers.meet();
  if (fd >= 0) ::close(fd);
  return wrong;
}

int by_fcntl(int fd, bool take) {
  struct flock lock {};
  lock.l_type = take ? F_WRLCK : F_UNLCK;
  lock.l_whence = SEEK_SET;
  return fcntl(fd, F_SETLK, &lock);
}

int by_flock(int fd, bool take) { return flock(fd, take ? LOCK_EX | LOCK_NB : LOCK_UN); }

/// Lines that all append are all there, and whole. NFS does not do that, and says so.
std::string appended(Peers& peers, const std::string& folder) {
  constexpr int kLines = 50;
  const std::string name = folder + "/append";
  std::string wrong = attempt([&] {
    if (peers.first()) store(name, "");
  });
  peers.meet();
  const std::string line = std::string(99, static_cast<char>('a' + peers.rank() % 26)) + '\n';
  const std::string failed = attempt([&] {
    const File file(name, O_WRONLY | O_APPEND);
    for (int i = 0; i < kLines; ++i) {
      need(write(file.fd(), line.data(), line.size()) == static_cast<ssize_t>(line.size()), because("append"));
    }
  });
  peers.meet();
  if (wrong.empty()) wrong = failed;
  if (!wrong.empty() || !peers.first()) return wrong;
  return attempt([&] {
    const std::string found = load(name);
    const auto expected = static_cast<std::size_t>(kLines * peers.size()) * 100;
    need(found.size() == expected, "of " + std::to_string(expected / 100) + " appended lines " +
                                       std::to_string(found.size() / 100) + " are there");
    for (std::size_t at = 0; at < found.size(); at += 100) {
      need(found.substr(at, 100) == std::string(99, found[at]) + '\n', "appended lines are mixed");
    }
  });
}

bool listed(const std::string& folder, const std::string& name) {
  DIR* listing = opendir(folder.c_str());
  if (listing == nullptr) return false;
  bool found = false;
  while (const dirent* one = readdir(listing)) found = found || name == one->d_name;
  closedir(listing);
  return found;
}

/// A new file is listed by all others, sooner or later.
std::string listing(Peers& peers, const std::string& folder) {
  listed(folder, "");  // what a client may remember
  peers.meet();
  std::string wrong = attempt([&] {
    if (peers.first()) store(folder + "/listed", "x");
  });
  peers.meet();
  const double begin = now_s();
  while (!listed(folder, "listed") && now_s() - begin < kListingS) usleep(2000);
  if (wrong.empty() && !listed(folder, "listed"))
    wrong = "a new file is not listed elsewhere after " + std::to_string(static_cast<int>(kListingS)) + " s";
  return wrong;
}

struct Shared {
  const char* name;
  const char* what;
  bool posix;
  Step step;
};

const std::vector<Shared>& shared_checks() {
  static const std::vector<Shared> all = {
      {"shared-open", "who opens a file reads what another host wrote and closed", true, close_to_open},
      {"shared-names", "files that another host renamed or removed are so here", true, names_change},
      {"shared-exclusive", "O_EXCL creates a name once, among all hosts", true, exclusive_names},
      {"shared-listing", "a file that another host made is listed", true, listing},
      {"shared-fcntl", "fcntl locks keep other hosts out", false,
       [](Peers& peers, const std::string& folder) { return locks_exclude(peers, folder, by_fcntl, "fcntl"); }},
      {"shared-flock", "flock keeps other hosts out", false,
       [](Peers& peers, const std::string& folder) { return locks_exclude(peers, folder, by_flock, "flock"); }},
      {"shared-append", "hosts that append lose and mix nothing", false, appended},
  };
  return all;
}

bool asked(const std::vector<std::string>& require, const std::string& name, bool posix) {
  return chosen(require, name) || (posix && std::find(require.begin(), require.end(), "posix") != require.end());
}

}  // namespace

const char* name_of(State state) {
  return state == State::holds ? "holds" : state == State::absent ? "absent" : "broken";
}

std::vector<Feature> all_features() {
  std::vector<Feature> all = names_features();
  for (const auto& more : {data_features(), lock_features()}) all.insert(all.end(), more.begin(), more.end());
  return all;
}

void check_names(const std::vector<std::string>& words, const std::vector<std::string>& also,
                 const std::string& where) {
  std::vector<std::string> names = also;
  for (const auto& one : all_features()) names.push_back(one.name);
  for (const auto& one : shared_checks()) names.emplace_back(one.name);
  const auto unknown = std::find_if(words.begin(), words.end(), [&](const auto& word) {
    return std::find(names.begin(), names.end(), word) == names.end();
  });
  if (unknown == words.end()) return;
  std::string known;
  for (const auto& name : names) {
    known += known.empty() ? "" : ", ";
    known += name;
  }
  throw usage(where + ": no feature is called '" + *unknown + "'", "known: " + known);
}

bool chosen(const std::vector<std::string>& words, const std::string& name) {
  return std::any_of(words.begin(), words.end(), [&](const auto& word) { return word == name || word == "all"; });
}

std::vector<Finding> try_features(const std::string& folder, const std::vector<Feature>& features,
                                  const std::vector<std::string>& require) {
  std::vector<Finding> found;
  for (const auto& feature : features) {
    Finding one{feature.name, feature.what, State::holds, "", asked(require, feature.name, feature.posix)};
    const std::string place = folder + '/' + feature.name;
    try {
      need(mkdir(place.c_str(), 0700) == 0, because("mkdir"));
      feature.check(place);
    } catch (const Absent& absent) {
      one.state = State::absent;
      one.why = absent.why;
    } catch (const Broken& broken) {
      one.state = State::broken;
      one.why = broken.why;
    }
    remove_tree(place);
    found.push_back(std::move(one));
  }
  return found;
}

std::vector<Finding> try_shared(Peers& peers, const std::string& folder, const std::vector<std::string>& which,
                                const std::vector<std::string>& require) {
  std::vector<Finding> found;
  for (const auto& check : shared_checks()) {
    if (!chosen(which, check.name)) continue;
    Finding one{check.name, check.what, State::holds, "", asked(require, check.name, check.posix)};
    const std::string place = folder + '/' + check.name;
    if (peers.first()) mkdir(place.c_str(), 0700);
    peers.meet();
    const auto said = peers.share(check.step(peers, place));
    for (std::size_t rank = 0; rank < said.size(); ++rank) {
      if (said[rank].empty()) continue;
      // What hosts need not do for one another (NFS appends nothing at once) is not offered, rather than broken.
      one.state = said[rank].starts_with("absent: ") || !check.posix ? State::absent : State::broken;
      one.why = "rank " + std::to_string(rank) + ": " + said[rank];
      break;
    }
    found.push_back(std::move(one));
  }
  return found;
}

}  // namespace shakedown::storage
