// The content tells every wrong page, mounts are found by their paths, the folder goes with its process, the processes
// of a job find one another, and what POSIX asks of a file system holds here.
#include "storage.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "content.hpp"
#include "testing/check.hpp"

namespace {

using namespace shakedown;
using namespace shakedown::storage;

std::string scratch() {
  const char* chosen = std::getenv("TMPDIR");
  return chosen != nullptr && *chosen != '\0' ? chosen : "/tmp";
}

using Bytes = std::vector<std::uint8_t>;

Bytes written(Content& content, const Spot& place, std::size_t bytes) {
  const auto data = content.at(place, bytes);
  return {data.begin(), data.end()};
}

void the_content_tells_every_wrong_page(Checks& checks) {
  constexpr std::size_t kBlock = 4 * kPageBytes;
  Content content(kBlock);
  const Spot at{3, 1, 8 * kPageBytes};
  auto data = written(content, at, kBlock);
  checks.equal(content.wrong(data, at), std::int64_t{0}, "as written");
  checks.that(content.begins_right(data, at), "its beginning is known");
  for (const std::size_t byte : {std::size_t{0}, std::size_t{24}, kPageBytes - 1, kPageBytes, kBlock - 1}) {
    data[byte] ^= 1;
    checks.equal(content.wrong(data, at), std::int64_t{1}, "one byte, one page");
    data[byte] ^= 1;
  }
  for (const Spot other : {Spot{4, 1, at.offset}, Spot{3, 2, at.offset}, Spot{3, 1, at.offset + kBlock}}) {
    const auto wrong = written(content, other, kBlock);
    checks.equal(content.wrong(wrong, at), std::int64_t{4}, "another file's, generation's or place's pages");
    checks.that(!content.begins_right(wrong, at), "by the beginning alone");
    // Not by the stamps alone: what lies behind them differs, too.
    std::int64_t alike = 0;
    for (std::size_t i = sizeof(Stamp); i < kPageBytes; ++i) alike += wrong[i] == data[i] ? 1 : 0;
    checks.that(alike < 100, "of 4072 bytes behind the stamp about 16 are alike by chance");
  }
  // No two pages alike: what stores equal pages once has nothing to gain.
  std::set<Bytes> pages;
  for (std::uint64_t page = 0; page < 2 * kPoolPages; ++page)
    pages.insert(written(content, {3, 1, page * kPageBytes}, kPageBytes));
  checks.equal(pages.size(), 2 * kPoolPages, "different pages");
}

/// The byte at an offset is the same whatever transfer brings it: odd sizes, odd places, other pools' sizes.
void the_content_is_a_function_of_the_place(Checks& checks) {
  for (const std::size_t pool : {kPoolPages, kPoolPagesInFlight, kPoolPagesInMemory}) {
    constexpr std::size_t kWhole = 40 * kPageBytes;
    Content content(kWhole, pool);
    const std::uint64_t begin = (4 * pool - 20) * kPageBytes;  // across the pool's end
    const Bytes whole = written(content, {9, 4, begin}, kWhole);
    for (const std::size_t transfer :
         {std::size_t{47008}, std::size_t{3901}, std::size_t{23}, kPageBytes, std::size_t{1}}) {
      for (std::size_t at = 0; at + transfer <= kWhole; at += transfer * 7 + 1) {
        const Spot place{9, 4, begin + at};
        auto part = written(content, place, transfer);
        checks.that(std::equal(part.begin(), part.end(), whole.begin() + static_cast<std::ptrdiff_t>(at)),
                    "the same bytes");
        checks.equal(content.wrong(part, place), std::int64_t{0}, "which are right");
        checks.that(content.begins_right(part, place), "from their beginning");
        part[transfer - 1] ^= 0x80;
        checks.equal(content.wrong(part, place), std::int64_t{1}, "and the last one counts");
      }
    }
  }
}

void mounts_are_found_by_their_paths(Checks& checks) {
  const std::string text =
      "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
      "30 22 0:40 / /data rw - nfs4 server:/export rw,vers=4.2\n"
      "31 30 0:41 /sub /data/deep\\040er rw master:2 propagate_from:1 - lustre 10.0.0.1@tcp:/fs rw\n"
      "32 22 0:42 / /data2 rw - tmpfs tmpfs rw\n"
      "33 22 0:43 / /data2 rw - xfs /dev/sdb rw\n";
  checks.equal(mount_of(text, "/home/x").type, std::string("ext4"), "the root");
  checks.equal(mount_of(text, "/data").source, std::string("server:/export"), "a mount point itself");
  checks.equal(mount_of(text, "/data/other/x").type, std::string("nfs4"), "below it");
  checks.equal(mount_of(text, "/data/deep er/x").type, std::string("lustre"), "the longest, with a space");
  checks.equal(mount_of(text, "/data2/x").type, std::string("xfs"), "what was mounted last covers what was before");
  checks.equal(mount_of(text, "/data3").type, std::string("ext4"), "not what only begins alike");
  checks.equal(mount_of("", "/x").type, std::string(), "nothing known");
  checks.equal(where_of(0x6969, "nfs4"), std::string("network"), "NFS");
  checks.equal(where_of(0xef53, "ext4"), std::string("local"), "ext4");
  checks.equal(where_of(0x01021994, "tmpfs"), std::string("memory"), "tmpfs");
  checks.equal(where_of(0x65735546, "fuse.sshfs"), std::string("network"), "by its type behind FUSE");
  checks.equal(where_of(0x65735546, "fuse.ntfs"), std::string("unknown"), "FUSE may be anything");
  checks.equal(where_of(0x12345, "new"), std::string("unknown"), "not known");
}

bool there(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

void the_folder_goes_with_its_process(Checks& checks) {
  std::string path;
  {
    const Workplace place(scratch());
    path = place.path();
    std::ofstream(path + "/file") << "x";
    checks.that(there(path + "/file"), "it can be worked in");
  }
  checks.that(!there(path), "it is gone when it is left");
  for (const int number : {SIGKILL, SIGTERM, SIGINT}) {
    int ends[2];
    checks.that(pipe(ends) == 0, "pipe");
    const pid_t child = fork();
    if (child == 0) {
      const Workplace place(scratch());
      std::ofstream(place.path() + "/file") << "x";
      const bool told = write(ends[1], place.path().c_str(), place.path().size()) > 0;
      while (told || getppid() > 0) pause();
      _exit(0);
    }
    char name[256] = "";
    checks.that(read(ends[0], name, sizeof name - 1) > 0 && there(name), "a process works in it");
    kill(child, number);
    waitpid(child, nullptr, 0);
    close(ends[0]);
    close(ends[1]);
    for (int tries = 0; tries < 30'000 && there(name); ++tries) usleep(10'000);
    checks.that(!there(name), "it is gone after signal " + std::to_string(number));
  }
  checks.throws<Error>([] { Workplace nowhere("/nonexistent"); }, "a folder that is not there");
}

void the_processes_of_a_job_find_one_another(Checks& checks) {
  const Workplace place(scratch());
  const std::string meeting = place.path() + "/meeting";
  std::ofstream(meeting) << "0123456789abcdef0123456789abcdef 9 127.0.0.1\n";  // of an earlier job that was cut short
  constexpr int kRanks = 4;
  std::vector<std::vector<std::string>> heard(kRanks);
  std::vector<double> most(kRanks);
  std::vector<int> failed(kRanks);
  std::vector<std::thread> threads;
  threads.reserve(kRanks);
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      const auto at = static_cast<std::size_t>(rank);
      Peers peers(rank, kRanks, meeting, 20);
      heard[at] = peers.share("rank " + std::to_string(rank));
      most[at] = peers.most(rank == 2 ? 7.5 : rank);
      try {
        peers.together([&] {
          if (rank == 1 || rank == 3) throw cannot("rank " + std::to_string(rank) + " cannot");
        });
      } catch (const Error& error) {
        failed[at] = std::string(error.what()) == "rank 1 cannot" ? error.code : -1;
      }
      peers.meet();
    });
  }
  for (auto& one : threads) one.join();
  const std::vector<std::string> all = {"rank 0", "rank 1", "rank 2", "rank 3"};
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    checks.that(heard[rank] == all, "every rank hears every text, in order");
    checks.equal(most[rank], 7.5, "the largest");
    checks.equal(failed[rank], int{kCouldNotMeasure}, "all fail alike, with the lowest rank's words");
  }
  checks.that(!there(meeting), "where to come is told nobody afterwards");
  checks.throws<Error>([&] { Peers alone(0, 2, meeting, 0.2); }, "somebody does not come");
  checks.throws<Error>([&] { Peers lost(1, 2, place.path() + "/nothing", 0.2); }, "nobody is there");
  checks.throws<Error>([&] { Peers wrong(2, 2, meeting, 0.2); }, "a rank that is none");
}

void what_posix_asks_for_holds_here(Checks& checks) {
  const Workplace place(scratch());
  const auto found = try_features(place.path(), all_features(), {"posix"});
  std::set<std::string> names;
  for (const auto& one : found) {
    names.insert(one.name);
    checks.that(one.state != State::broken, one.name + ": " + one.why);
    checks.that(one.state == State::holds || !one.required, one.name + " is required: " + one.why);
    checks.that(one.state != State::absent || !one.why.empty(), one.name + " says why");
    checks.that(!there(place.path() + '/' + one.name), one.name + " leaves nothing behind");
  }
  checks.equal(names.size(), found.size(), "names are different");
  checks.throws<Error>(
      [] {
        check_names({"direct", "nothing-like-it"}, {"posix"}, "--require");
      },
      "a feature that is none");
}

}  // namespace

int main() {
  Checks checks;
  the_content_tells_every_wrong_page(checks);
  the_content_is_a_function_of_the_place(checks);
  mounts_are_found_by_their_paths(checks);
  the_folder_goes_with_its_process(checks);
  what_posix_asks_for_holds_here(checks);
  the_processes_of_a_job_find_one_another(checks);
  return checks.end();
}
