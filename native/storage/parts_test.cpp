// The parts of storage: each byte has one writer, every engine reads what every engine wrote, what devices moved is
// counted once, and who lags is named.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "content.hpp"
#include "folder.hpp"
#include "layout.hpp"
#include "moved.hpp"
#include "over_time.hpp"
#include "repeats.hpp"
#include "team.hpp"
#include "testing/check.hpp"
#include "threads.hpp"
#include "transfers.hpp"

namespace {

using namespace shakedown;
using namespace shakedown::storage;

/// Every writer's transfers together fill the file, each place once.
void check_whole(Checks& checks, const Layout& layout) {
  std::set<std::uint64_t> offsets;
  for (std::uint64_t writer = 0; writer < layout.writers; ++writer) {
    for (std::uint64_t i = 0; i < layout.transfers; ++i) offsets.insert(offset_of(layout, writer, i));
  }
  const std::uint64_t all = layout.writers * layout.transfers;
  checks.equal(offsets.size(), static_cast<std::size_t>(all), "as many places as transfers");
  checks.equal(*offsets.rbegin(), (all - 1) * layout.transfer, "without a gap");
}

void each_byte_has_one_writer(Checks& checks) {
  for (const Order order : {Order::sequential, Order::strided, Order::random}) {
    for (const std::uint64_t transfers : {1, 2, 12, 61}) {
      for (const std::uint64_t writers : {1, 2, 3, 7}) {
        Layout shared{Files::shared, order, 47008, transfers, 1, writers};
        for (const std::uint64_t segments : {std::uint64_t{0}, std::uint64_t{1}, transfers}) {
          shared.segments = segments_of(shared, segments);
          check_whole(checks, shared);
        }
      }
      Layout own{Files::own, order, 4096, transfers, 1, 1};
      own.segments = segments_of(own, 0);
      check_whole(checks, own);
    }
  }
  // IOR's hard case: in a strided shared file writers alternate at every transfer.
  Layout hard{Files::shared, Order::strided, 10, 4, 1, 3};
  hard.segments = segments_of(hard, 0);
  checks.equal(offset_of(hard, 2, 0), std::uint64_t{20}, "the third writer's first");
  checks.equal(offset_of(hard, 0, 1), std::uint64_t{30}, "then again the first writer's");
  Layout two{Files::shared, Order::sequential, 10, 4, 2, 3};
  checks.equal(offset_of(two, 1, 1), std::uint64_t{30}, "segments of two transfers");
  checks.equal(offset_of(two, 1, 2), std::uint64_t{80}, "the second segment lies behind all first ones");
  // Strided over its own file: what comes next is not what lies next.
  Layout own{Files::own, Order::strided, 10, 32, 1, 1};
  own.segments = segments_of(own, 0);
  checks.equal(offset_of(own, 0, 1), std::uint64_t{20}, "the second segment's first");
  std::uint64_t stayed = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) stayed += permuted(i, 1000, 3) == i ? 1 : 0;
  checks.that(stayed < 10, "a random order is none that was there");
}

void parts_are_dealt_to_folders(Checks& checks) {
  const Folders folders = {"/a", "/b"};
  checks.equal(part_of(folders, Files::own, 3, 5).path, std::string("/b/data.3"), "in turn");
  const Part shared = part_of(folders, Files::shared, 4, 5);
  checks.equal(shared.path + std::to_string(shared.writer) + std::to_string(shared.writers), std::string("/a/data23"),
               "one file in each folder, with its own writers");
  checks.equal(part_of(folders, Files::shared, 3, 5).writers, std::uint64_t{2}, "and fewer in the second");
}

std::string scratch() {
  const char* chosen = std::getenv("TMPDIR");
  return chosen != nullptr && *chosen != '\0' ? chosen : "/tmp";
}

/// Write a file by one engine, so many transfers in flight, and read it by another: all of it is right.
void carry(Checks& checks, const std::string& path, std::pair<Engine, Engine> engines, std::size_t depth, bool direct) {
  constexpr std::size_t kTransfer = 4 * kPageBytes;
  constexpr std::size_t kTransfers = 23;
  std::vector<Content> contents;
  std::vector<Pages> buffers;
  for (std::size_t i = 0; i < depth; ++i) {
    contents.emplace_back(kTransfer, kPoolPagesInFlight);
    buffers.emplace_back(kTransfer);
  }
  for (const bool write : {true, false}) {
    const Opening opening{.path = path, .write = write, .create = write, .direct = direct};
    const auto file = open_transfers(write ? engines.first : engines.second, opening, depth);
    std::vector<std::size_t> at(depth);
    std::set<std::size_t> back;
    std::size_t started = 0;
    for (std::size_t ended = 0; ended < kTransfers; ++ended) {
      for (; started < std::min(kTransfers, ended + depth); ++started) {
        const std::size_t slot = started < depth ? started : *back.begin();
        if (started >= depth) back.erase(slot);
        at[slot] = started * kTransfer;
        auto* data = write ? const_cast<std::uint8_t*>(contents[slot].at({5, 1, at[slot]}, kTransfer).data())
                           : buffers[slot].all().data();
        file->start(slot, {data, kTransfer, at[slot]});
      }
      const auto done = file->next();
      checks.equal(done.bytes, kTransfer, "a whole transfer");
      if (!write)
        checks.equal(contents[0].wrong(buffers[done.slot].all(), {5, 1, at[done.slot]}), std::int64_t{0}, "right");
      back.insert(done.slot);
    }
    if (write) file->sync();
    file->close();
  }
}

void every_engine_reads_what_every_engine_wrote(Checks& checks) {
  const Workplace place(scratch());
  const bool direct = [&] {
    try {
      open_transfers(Engine::calls, {.path = place.path() + "/x", .write = true, .create = true, .direct = true}, 1);
      return true;
    } catch (const Error&) {
      return false;  // tmpfs of older kernels
    }
  }();
  std::vector<Engine> engines;
  for (const Engine engine : {Engine::uring, Engine::aio}) {
    try {
      engines.push_back(choose_engine(engine, 8, true));
    } catch (const Error&) {
      continue;  // a kernel without it
    }
  }
  for (const Engine engine : engines) {
    carry(checks, place.path() + "/" + name_of(engine), {engine, engine}, 8, direct);
    carry(checks, place.path() + "/to-calls", {engine, Engine::calls}, 1, direct);
    carry(checks, place.path() + "/from-calls", {Engine::calls, engine}, 1, direct);
  }
  checks.that(choose_engine(Engine::automatic, 1, false) == Engine::calls, "one at a time");
  checks.throws<Error>([] { choose_engine(Engine::aio, 8, false); }, "AIO without O_DIRECT waits");
  checks.throws<Error>([] { choose_engine(Engine::calls, 8, true); }, "calls keep nothing in flight");
  checks.throws<Error>([&] { open_file({.path = place.path() + "/none"}); }, "a file that is not there");
  checks.throws<Error>([&] { open_mpi({.path = place.path() + "/none"}, false); }, "no MPI in this build");
  // What cannot be removed is told by the reason for that, and not by the name that is then found to be there.
  remove_before(place.path() + "/none");
  std::string reason;
  try {
    remove_before(place.path());
  } catch (const Error& error) {
    reason = error.what();
  }
  checks.that(reason.find("removing " + place.path() + " failed") != std::string::npos, "why it cannot be removed");
}

void what_moved_is_read(Checks& checks) {
  const auto block = parse_block("  100 3 2048 77 200 9 4096 55 0 60 132 0 0 0 0 1 2\n");
  checks.that(block && block->read_bytes == 1'048'576 && block->written_bytes == 2'097'152, "sectors of 512 bytes");
  checks.that(!parse_block("1 2 three"), "not numbers");
  const std::string mounts =
      "device /dev/vda mounted on / with fstype ext4\n"
      "device srv:/a mounted on /data with fstype nfs4 statvers=1.1\n\topts:\trw\n\tage:\t9\n"
      "\tbytes:\t1 2 3 4 5000 6000 7 8\n"
      "device srv:/b mounted on /data/b with fstype nfs statvers=1.1\n\tbytes:\t0 0 0 0 70 80 0 0\n";
  const auto mount = parse_mountstats(mounts, "/data");
  checks.that(mount && mount->read_bytes == 5000 && mount->written_bytes == 6000, "what the server gave and took");
  const auto below = parse_mountstats(mounts, "/data/b");
  checks.that(below && below->read_bytes == 70, "of the mount that was named");
  checks.that(!parse_mountstats(mounts, "/"), "a mount that is not NFS");
  const auto process = parse_process("rchar: 9\nwchar: 8\nsyscr: 1\nsyscw: 1\nread_bytes: 4096\nwrite_bytes: 8192\n");
  checks.that(process && process->read_bytes == 4096 && process->written_bytes == 8192, "of the process");
  checks.that(!parse_process("rchar: 9\n"), "where it is not said");
}

void what_moved_is_counted_once(Checks& checks) {
  const auto seen = [](const char* host, const char* counter, std::uint64_t device, std::uint64_t process) {
    return Seen{host, counter, Moved{device, 3 * device}, Moved{process, 0}};
  };
  // Two ranks of one host see the same disk; another host has one of the same name.
  const std::vector<Seen> ranks = {seen("a", "vda", 100, 50), seen("a", "vda", 100, 50), seen("b", "vda", 70, 70)};
  checks.equal(all_moved(ranks, true).value_or(-1), 170.0, "each disk once");
  checks.equal(all_moved(ranks, false).value_or(-1), 510.0, "what was written");
  // Somebody else reads from the same disk: no more than ours counts.
  checks.equal(all_moved({seen("a", "vda", 1000, 40)}, true).value_or(-1), 40.0, "another's reading is not ours");
  auto unknown = ranks;
  unknown[1].device.reset();
  checks.that(!all_moved(unknown, true), "not known of one, not known of all");
  auto of_nfs = ranks;
  of_nfs[2].process.reset();
  checks.equal(all_moved(of_nfs, true).value_or(-1), 170.0, "without the process, the devices");
}

void bins_grow_and_lose_nothing(Checks& checks) {
  OverTime over_time;
  for (int i = 0; i < 1000; ++i) over_time.add(0.01 * i, 7);
  std::uint64_t all = 0;
  for (const auto bytes : over_time.at(over_time.width())) all += bytes;
  checks.equal(all, std::uint64_t{7000}, "no byte is lost");
  checks.that(over_time.width() * 64 > 9.99 && over_time.width() * 32 <= 9.99, "no wider than it must be");
  const auto wide = over_time.at(4 * over_time.width());
  checks.equal(wide[0],
               over_time.at(over_time.width())[0] + over_time.at(over_time.width())[1] +
                   over_time.at(over_time.width())[2] + over_time.at(over_time.width())[3],
               "wider bins hold the narrow ones");
}

void who_lags_is_named(Checks& checks) {
  // Three threads move 400 bytes each, the last one in twice the time.
  std::vector<ThreadTime> threads = {{"a", 0, 0, 2.0, 0.5, 400, 0.5, {100, 100, 100, 100}},
                                     {"a", 0, 1, 2.0, 0.5, 400, 1.0, {200, 200}},
                                     {"b", 1, 0, 4.0, 1.5, 400, 0.5, {50, 50, 50, 50, 50, 50, 50, 50}}};
  const Lags lags = lags_of(threads);
  checks.equal(lags.bin_s, 1.0, "the widest bins");
  checks.that(lags.all == std::vector<double>{500, 500, 100, 100}, "the rate of all over time");
  // The mean thread's rate is 100 bytes a second; after 2 s it has moved 1000/3 bytes, and the slow one 200.
  checks.that(std::abs(lags.lag_s[2][1] - (1000.0 / 3 - 200) / 100) < 1e-12, "the slow one's lag");
  checks.that(lags.lag_s[0][1] < 0 && std::abs(lags.lag_s[2][3]) < 1e-12,
              "others are ahead, and at the end all are even");
  checks.equal(slowest(threads), std::size_t{2}, "the slowest");
  const std::string words = slow_thread(threads);
  checks.that(words.find("rank 1 on b") != std::string::npos && words.find("4 s") != std::string::npos,
              "by name: " + words);
  threads[1].folder = 1;
  const std::vector<std::string> directories = {"/a", "/b"};
  checks.equal(slow_folder(threads, directories).substr(0, 9), std::string("/a took 2"), "and its directory");
  const auto there = by_folder(threads, 2);
  checks.that(there[0].threads == 2 && there[0].bytes == 800 && there[0].seconds == 4.0 && there[1].bytes == 400,
              "what went where");
  checks.equal(slow_folder(threads, {"/all"}), std::string(), "of one directory nothing is said");
  threads[1].folder = 0;
  threads.pop_back();
  checks.equal(slow_thread(threads), std::string(), "nobody is slow");
  const auto back = from_text(to_text(threads));
  checks.that(back.size() == 2 && back[1].bins == threads[1].bins && back[1].seconds == 2.0 && back[1].folder == 0,
              "to rank 0 and back");
  checks.throws<Error>([] { from_text("a 0 0 1 1 5\n"); }, "half a line");
}

/// Steps of invented cost, and a clock that only they move.
struct Invented {
  std::vector<int> pair;
  std::vector<double> cycle_s;  // what a cycle of each step takes
  double around_s = 0;          // what all ranks take to come together for each sample
  double clock_s = 0;
  std::vector<std::uint64_t> runs;  // of each step

  std::vector<Repeated> repeated(const Enough& asked) {
    runs.assign(pair.size(), 0);
    return repeat(asked, {pair,
                          [&](std::size_t at, std::uint64_t cycles) {
                            ++runs[at];
                            const double seconds = cycle_s[at] * static_cast<double>(cycles);
                            clock_s += around_s + seconds;
                            return Sample{seconds, {}};
                          },
                          [&] { return clock_s; }});
  }
};

/// Whatever a call costs: what is repeated in place gets its seconds; what makes and removes gets them or runs out of
/// time; and all of it ends in a time that follows from what was asked.
void steps_are_long_enough_and_end(Checks& checks) {
  const std::vector<int> pair = {1, kInPlace, kInPlace, 1, 2, 2};
  std::uint64_t state = 5;
  for (int draw = 0; draw < 200; ++draw) {
    Invented steps{pair, {}, std::pow(10.0, -5 + 4 * static_cast<double>(mixed(++state) % 1000) / 1000), 0, {}};
    double slowest_s = 0;
    for (std::size_t i = 0; i < pair.size(); ++i) {
      steps.cycle_s.push_back(std::pow(10.0, -7 + 8 * static_cast<double>(mixed(++state) % 1000) / 1000));
      slowest_s = std::max(slowest_s, steps.cycle_s.back());
    }
    const Enough asked{static_cast<std::int64_t>(1 + mixed(++state) % 5), 1.0};
    const auto found = steps.repeated(asked);
    double round_s = 0;
    for (const double one : steps.cycle_s) round_s += one;
    const double bound_s =
        Enough::kPatience * 6 + static_cast<double>(asked.samples) * 10 * round_s + 8 + round_s + 100 * steps.around_s;
    checks.that(steps.clock_s <= bound_s, "it ends: " + std::to_string(steps.clock_s) + " s");
    const bool late = asked.out_of_time(6, steps.clock_s);
    for (std::size_t i = 0; i < pair.size(); ++i) {
      checks.that(found[i].samples.size() >= static_cast<std::size_t>(asked.samples), "as many samples");
      checks.that(found[i].spent_s >= asked.seconds ||
                      (pair[i] != kInPlace && (late || found[i].samples.size() >= Enough::kMostSamples)),
                  "long enough");
      checks.equal(found[i].first_s, steps.cycle_s[i], "the first cycle is told apart");
      checks.that(pair[i] == kInPlace || found[i].cycles == 1, "no more files than were asked for");
    }
    checks.that(steps.runs[0] == steps.runs[3] && steps.runs[4] == steps.runs[5], "what was made is removed each time");
  }
}

void few_files_take_no_more_rounds_than_they_must(Checks& checks) {
  // A hundred files: made in 10 ms, looked at in 10 us, removed in 5 ms.
  Invented steps{{1, kInPlace, 1}, {1e-2, 1e-5, 5e-3}, 1e-3, 0, {}};
  const auto found = steps.repeated({3, 1.0});
  checks.equal(steps.runs[0], std::uint64_t{200}, "as many pairs as the shorter of the two needs for its second");
  checks.that(steps.runs[1] <= 10, "looking at them is repeated in place");
  checks.equal(found[1].samples.size(), std::size_t{3}, "in as many samples");
  const auto once = steps.repeated({2, 0.0});
  checks.that(once[1].cycles == 1 && steps.runs[1] == 2, "no time asked for: each sample looks once");
  // A clock that stands still, as on a file system without cost: it ends by counts.
  Invented still{{1, kInPlace, 1}, {0, 0, 0}, 0, 0, {}};
  checks.that(still.repeated({3, 1.0})[1].samples.size() <= 10'000, "without a clock that moves");
}

void every_turn_has_each_file_once(Checks& checks) {
  for (const std::uint64_t count : {1, 2, 3, 7, 60, 1000}) {
    std::set<std::vector<std::uint64_t>> orders;
    for (std::uint64_t key = 0; key < 8; ++key) {
      Turn turn(count, key);
      std::vector<std::uint64_t> order(count);
      for (auto& one : order) one = turn.next();
      checks.equal(std::set<std::uint64_t>(order.begin(), order.end()).size(), static_cast<std::size_t>(count),
                   "each once");
      checks.that(*std::max_element(order.begin(), order.end()) == count - 1, "and none beyond");
      if (key == 0) checks.that(std::is_sorted(order.begin(), order.end()), "first as they are");
      orders.insert(std::move(order));
    }
    checks.that(count < 60 || orders.size() == 8, "in an order of its own each time");
  }
}

}  // namespace

int main() {
  Checks checks;
  each_byte_has_one_writer(checks);
  parts_are_dealt_to_folders(checks);
  every_engine_reads_what_every_engine_wrote(checks);
  what_moved_is_read(checks);
  what_moved_is_counted_once(checks);
  bins_grow_and_lose_nothing(checks);
  who_lags_is_named(checks);
  steps_are_long_enough_and_end(checks);
  few_files_take_no_more_rounds_than_they_must(checks);
  every_turn_has_each_file_once(checks);
  return checks.end();
}
