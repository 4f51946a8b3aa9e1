// The texts of the kernel, the launchers' variables, the arrangements, and the watcher on real programs.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

#include "arrange.hpp"
#include "common/error.hpp"
#include "launched_rank.hpp"
#include "proc_text.hpp"
#include "testing/check.hpp"
#include "testing/run_program.hpp"

namespace shakedown::placement {
namespace {

Checks checks;

void texts() {
  const auto times = parse_schedstat("594725839 631521226 213\n");
  checks.that(times && times->run_ns == 594725839 && times->wait_ns == 631521226 && times->slices == 213, "schedstat");
  checks.that(!parse_schedstat("") && !parse_schedstat("1 2") && !parse_schedstat("1 x 3"), "none is none");
  const std::string fields =
      " R 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 777 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 36 0";
  const auto stat = parse_stat("42 (a) S (b) " + fields.substr(1));
  checks.that(stat && stat->name == "a) S (b" && stat->state == 'R', "a name may hold anything");
  checks.that(stat && stat->start_ticks == 777, "field 22");
  checks.that(stat && stat->cpu == 36, "field 39");
  for (const char* text : {"", "42", "42 (a", "42 (a) R 1 2 3", ") R ("}) checks.that(!parse_stat(text), text);
  checks.equal(parse_migrations("x : 1\nse.nr_migrations       :        12\n").value_or(0), 12U, "migrations");
  checks.that(!parse_migrations("nr_migrations : 12\n"), "only by its whole name");
  checks.equal(parse_named("nr_throttled 3\nthrottled_usec 81\n", "throttled_usec").value_or(0), 81U, "cpu.stat");
  checks.that(!parse_cpu_max("max 100000") && !parse_cpu_max("") && !parse_cpu_max("0 100000"), "no limit");
  checks.equal(parse_cpu_max("250000 100000\n").value_or(0), 2.5, "a quota");
  checks.that(!parse_cpu_max("-1 100000"), "version 1 says -1 for none");
}

void maps() {
  const std::string text =
      "400000-401000 r-xp 00001000 08:01 7 /opt/a b/libmpi.so.40\n"
      "600000-603000 rw-p 00000000 00:00 0 \nzzz\n7000-6000 rw-p 0 00:00 0\n";
  const auto found = parse_maps(text);
  checks.equal(found.size(), 2U, "lines that are none are left out");
  checks.equal(found.front().path, "/opt/a b/libmpi.so.40", "a path with a space");
  checks.that(found.front().code && !found.front().writable && found.front().offset == 0x1000, "code");
  for (const std::size_t most : {0U, 1U, 2U, 3U, 1000U}) {
    const auto pages = page_addresses(found, most, 4096);
    checks.that(pages.size() <= most && 2 * pages.size() >= std::min<std::size_t>(most, 3), "so many pages of three");
    for (const auto page : pages) checks.that(page >= 0x600000 && page < 0x603000 && page % 4096 == 0, "in the map");
  }
  std::vector<Mapping> large;
  large.reserve(9);
  for (std::uint64_t i = 1; i < 10; ++i) large.push_back({i << 32U, (i << 32U) + i * 1000 * 4096, 0, true, false, ""});
  const auto pages = page_addresses(large, 1024, 4096);
  checks.that(pages.size() <= 1024 && pages.size() > 900, "of many pages nearly as many as were asked");
  checks.that(std::is_sorted(pages.begin(), pages.end()), "in order");
}

void groups() {
  const std::string mounts =
      "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\ncgroup /old/cpu cgroup rw,cpu,cpuacct 0 0\nproc /proc proc rw 0 0\n";
  const auto levels = cpu_groups("0::/job/step\n3:cpu,cpuacct:/x\n4:memory:/y\n", mounts);
  std::string all;
  for (const auto& level : levels) all += level + ' ';
  checks.equal(all, "/sys/fs/cgroup/job/step /sys/fs/cgroup/job /sys/fs/cgroup /old/cpu/x /old/cpu ", "levels");
  checks.that(cpu_groups("0::/\n", mounts).size() == 1 && cpu_groups("nonsense", mounts).empty(), "the root, nothing");
}

void variables() {
  const auto of = [](const std::map<std::string, std::string>& set) {
    return launched_rank([&](const char* name) {
      const auto found = set.find(name);
      return found == set.end() ? nullptr : found->second.c_str();
    });
  };
  checks.equal(of({}).rank, -1, "no launcher");
  const auto open = of({{"OMPI_COMM_WORLD_RANK", "3"},
                        {"OMPI_COMM_WORLD_SIZE", "4"},
                        {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                        {"SLURM_PROCID", "0"}});
  checks.that(open.rank == 3 && open.size == 4 && open.local_rank == 1 && open.launcher == "Open MPI",
              "a launcher in a job of Slurm comes first");
  const auto slurm = of({{"PMI_RANK", "5"}, {"PMI_SIZE", "8"}, {"SLURM_PROCID", "5"}, {"SLURM_LOCALID", "1"}});
  checks.that(slurm.rank == 5 && slurm.local_rank == 1, "srun's PMI-2 has the place on the host under Slurm's name");
  checks.equal(of({{"PMI_RANK", "x"}, {"SLURM_PROCID", "2"}}).rank, 2, "a variable that is no number is none");
}

std::vector<CpuPlace> two_sockets() {
  // 2 sockets of 2 cores of 2 threads; node = socket; threads of a core are 4 apart
  std::vector<CpuPlace> places;
  places.reserve(8);
  for (int cpu = 0; cpu < 8; ++cpu) places.push_back({cpu, cpu % 4, cpu % 4 / 2, cpu % 4 / 2});
  return places;
}

void arrangements() {
  const auto places = two_sockets();
  const auto of = [&](const std::string& word, int rank, int threads = 1) {
    return format_cpu_list(arranged_cpus(word, rank, threads, places));
  };
  checks.equal(of("compact", 0) + ' ' + of("compact", 1), "0 1", "neighbours");
  checks.equal(of("compact", 2), "2", "then the next socket");
  const auto socket = [&](int rank) {
    return places[static_cast<std::size_t>(arranged_cpus("spread", rank, 1, places).front())].socket;
  };
  checks.that(socket(0) != socket(1), "spread over sockets");
  checks.equal(of("compact", 1, 2), "2-3", "two CPUs for two threads");
  checks.equal(of("compact", 8), of("compact", 0), "ranks beyond the CPUs go round again");
  checks.equal(of("one-node", 5), "0-1,4-5", "any CPU of one node");
  checks.equal(of("unbound", 5), "0-7", "any CPU");
  checks.throws<Error>([&] { of("tight", 0); }, "another word");
}

/// A folder that is empty and goes with the test.
class Folder {
 public:
  Folder() {
    std::string name = std::filesystem::temp_directory_path() / "placement-XXXXXX";
    path_ = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string path() const { return path_; }
  [[nodiscard]] std::string record() const {
    std::string text;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) text += read_file(entry.path());
    return text;
  }

 private:
  std::filesystem::path path_;
};

Ran watched(const Folder& folder, const std::string& program, const std::string& before = "") {
  return run_command(before + " " PROGRAM " --to " + folder.path() + " --period-ms 5 " + program);
}

void ends() {
  const Folder folder;
  checks.equal(watched(folder, "-- sh -c 'exit 7'").code, 7, "the program's own exit code");
  checks.that(folder.record().find("\"exit_code\":7") != std::string::npos, "is in the record");
  checks.that(folder.record().find("\"rank\":-1") != std::string::npos, "without a launcher there is no rank");
  const Folder killed;
  checks.equal(watched(killed, "-- sh -c 'kill -9 $$'").code, 1009, "a signal ends the watcher, too");
  checks.that(killed.record().find("\"signal\":9") != std::string::npos, "and is in the record");
  const Folder absent;
  const Ran ran = watched(absent, "-- /nonexistent");
  checks.that(ran.code == kCouldNotMeasure && ran.says("/nonexistent") && ran.says("next:"), "no such program");
  checks.that(absent.record().empty(), "leaves no record");
  checks.equal(run_command(PROGRAM " --to /nonexistent -- sh -c 'exit 3'").code, 3, "no folder: the program runs");
  checks.equal(run_command(PROGRAM).code, static_cast<int>(kUsage), "no program at all");
  const Folder term;
  const Ran got = watched(term, "-- sh -c 'trap \"exit 5\" TERM; kill -TERM $PPID; while :; do sleep 0.01; done'");
  checks.equal(got.code, 5, "a signal to the watcher goes on to the program");
}

void sees() {
  const Folder folder;
  // it ends when the record has the script and its child
  const std::string until = "until grep -q tid.*tid " + folder.path() + "/rank-*.json; do sleep 0.1; done; :";
  const std::string script = "-- timeout 600 sh -c 'sh -c \"" + until + "\"; :'";
  checks.equal(watched(folder, script, "PMI_RANK=2 PMI_SIZE=4 MPI_LOCALRANKID=2").code, 0, "a script with a child");
  const std::string text = folder.record();
  for (const char* part : {"\"rank\":2,\"size\":4,\"local_rank\":2", "\"launcher\":\"Hydra\"", "\"finished\":true",
                           "\"name\":\"sh\"", "\"mask\":[", "\"places\":[["}) {
    checks.that(text.find(part) != std::string::npos, std::string("the record has ") + part + ": " + text);
  }
  const Folder arranged;
  checks.equal(watched(arranged, "--arrange compact -- sleep 0.02", "PMI_RANK=0 MPI_LOCALRANKID=0").code, 0,
               "arranged");
  const int first = compact_order(cpu_places(reachable_cpus())).front();
  const std::string mask = "\"mask\":[" + std::to_string(first) + "]";
  checks.that(arranged.record().find(mask) != std::string::npos, "is on the first CPU alone");
}

}  // namespace
}  // namespace shakedown::placement

int main() {
  using namespace shakedown::placement;
  texts();
  maps();
  groups();
  variables();
  arrangements();
  ends();
  sees();
  return checks.end();
}
