// What must be true of the common headers for threads, pinning, memory and instruction sets.
#include <atomic>
#include <numeric>

#include "common/isa.hpp"
#include "common/team.hpp"
#include "layout.hpp"
#include "testing.hpp"

namespace shakedown::stream {
namespace {

using List = std::vector<int>;

void cpu_lists() {
  expect(parse_cpu_list("0-3,8,10-11") == List{0, 1, 2, 3, 8, 10, 11}, "a list is read");
  expect(parse_cpu_list("7,2") == List{7, 2}, "the order is kept");
  expect(parse_cpu_list("").empty(), "an empty list is empty");
  expect(format_cpu_list({11, 8, 0, 1, 2, 3, 10, 8}) == "0-3,8,10-11", "a list is written");
  for (const List& cpus : {List{}, List{5}, List{0, 2, 4}, List{0, 1, 2, 63, 64, 1023, 4096}}) {
    expect(parse_cpu_list(format_cpu_list(cpus)) == cpus, "what is written reads back");
    expect(CpuMask(cpus).cpus() == cpus, "a mask holds any CPU");
  }
  for (const char* wrong : {"a", "1-", "-1", "3-1", "1,,2", "1,", "0x2", "1 2"}) {
    expect_error(kUsage, "is not a list of CPUs", [&] { parse_cpu_list(wrong); });
  }
}

/// Two sockets with a node each, two cores in each, two threads a core, numbered as Linux does: siblings are n and n
/// + 4.
void describe_two_sockets(const FakeRoot& root) {
  root.write("/sys/devices/system/node/online", "0-1");
  root.write("/sys/devices/system/node/has_memory", "0-1");
  root.write("/sys/devices/system/node/node0/cpulist", "0-1,4-5");
  root.write("/sys/devices/system/node/node1/cpulist", "2-3,6-7");
  root.write("/sys/devices/system/node/node0/distance", "10 21");
  root.write("/sys/devices/system/node/node1/distance", "21 10");
  for (int cpu = 0; cpu < 8; ++cpu) {
    const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    root.write(folder + "thread_siblings_list", std::to_string(cpu % 4) + "," + std::to_string(cpu % 4 + 4));
    root.write(folder + "physical_package_id", std::to_string(cpu % 4 / 2));
  }
}

void threads_are_spread() {
  const FakeRoot root;
  List all(8);
  std::iota(all.begin(), all.end(), 0);
  expect(spread_order(cpu_places(all, root.path())) == all, "nothing told: in the order of their numbers");
  describe_two_sockets(root);
  const auto places = cpu_places(all, root.path());
  expect(spread_order(places) == List{0, 2, 1, 3, 4, 6, 5, 7}, "cores first, in turn over the nodes");
  expect(spread_order(cpu_places({1, 4, 5, 7}, root.path())) == List{1, 7, 4, 5}, "among those that may be used");
  expect(cpus_near(places, 1, true) == List{2, 3, 6, 7}, "the CPUs of a node, cores first");
  expect(cpus_near(places, 1, false).size() == 8, "then the others");
  expect(farthest_node(0, root.path()) == 1, "the other node is remote");
}

void placements() {
  const FakeRoot one_node;
  one_node.write("/sys/devices/system/node/online", "0");
  one_node.write("/sys/devices/system/node/has_memory", "0");
  const auto& root = one_node.path();
  expect_error(kCouldNotMeasure, "one NUMA node", [&] { resolve_layout("remote", 1, "", root); });
  expect_error(kCouldNotMeasure, "no NUMA node 3", [&] { resolve_layout("node:3", 1, "", root); });
  for (const char* wrong : {"far", "node:", "node:x", "node:1x"}) {
    expect_error(kUsage, "unknown placement", [&] { resolve_layout(wrong, 1, "", root); });
  }
  expect(resolve_layout("interleave", 1, "", root).memory.nodes == List{0}, "interleaved over all nodes");
  expect_error(kUsage, "threads requested", [] { choose_cpus(1'000'000, ""); });
  expect_error(kUsage, "threads requested", [] { choose_cpus(0, ""); });
  expect_error(kUsage, "may not be used", [] { choose_cpus(1, "60000"); });
}

void teams() {
  const auto usable = default_cpu_order();
  const auto before = allowed_cpus();
  for (const std::size_t threads : {1U, 2U, 5U}) {
    List cpus;
    for (std::size_t i = 0; i < threads; ++i) cpus.push_back(usable[i % usable.size()]);
    Team team(cpus);
    for (std::size_t i = 0; i < threads; ++i)
      expect(team.binding()[i] == List{cpus[i]}, "each thread is where it was put");
    List seen(threads, 0);
    bool all_were_there = true;
    for (int round = 0; round < 200; ++round) {
      team.run([&](int thread) {
        const auto i = static_cast<std::size_t>(thread);
        seen[i] = round;
        team.barrier();
        const bool whole = std::all_of(seen.begin(), seen.end(), [&](int last) { return last == round; });
        team.barrier();
        if (thread == 0) all_were_there = all_were_there && whole;
      });
    }
    expect(all_were_there, "nobody passes a barrier before all have come");
    for (std::size_t failing = 0; failing < threads; ++failing) {
      std::string caught;
      try {
        team.run([&](int thread) {
          if (thread == static_cast<int>(failing)) throw std::runtime_error("thread " + std::to_string(thread));
          team.barrier();
        });
      } catch (const std::runtime_error& error) {
        caught = error.what();
      }
      expect(caught == "thread " + std::to_string(failing),
             "a thread's exception reaches the caller, and nobody hangs");
    }
    std::atomic<int> count{0};
    team.run([&](int) {
      team.barrier();
      ++count;
    });
    expect(count == static_cast<int>(threads), "the team still works after an exception");
  }
  expect(allowed_cpus() == before, "the caller has its own binding back");
  expect_error(kCouldNotMeasure, "cannot pin", [&] { Team({usable[0], 60000}); });
  expect(allowed_cpus() == before, "also after a refusal");
}

void memory_limits() {
  const FakeRoot root;
  root.write("/proc/meminfo", "MemTotal:       2000 kB\nMemAvailable:   1000 kB");
  expect(memory_room(root.path()).bytes == 1'024'000, "what is available, without a control group");
  root.write("/proc/self/cgroup", "4:cpu,memory:/job/step\n0::/");
  root.write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "500000");
  root.write("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "300000");
  root.write("/sys/fs/cgroup/memory/job/memory.stat", "cache 1\ntotal_inactive_file 100000");
  root.write("/sys/fs/cgroup/memory/job/step/memory.limit_in_bytes", "9223372036854771712");
  expect(memory_room(root.path()).bytes == 300'000, "version 1: the limit of a group above, its page cache given back");
  root.write("/proc/self/cgroup", "0::/job");
  root.write("/sys/fs/cgroup/job/memory.max", "400000");
  root.write("/sys/fs/cgroup/job/memory.current", "150000");
  expect(memory_room(root.path()).bytes == 250'000, "version 2");
  root.write("/sys/fs/cgroup/job/memory.max", "max");
  expect(memory_room(root.path()).bytes == 1'024'000, "version 2 without a limit");
  // A GPU's memory (node 1) and another job's node (2) are available to the kernel, not to this program.
  const std::string nodes = "/sys/devices/system/node";
  root.write(nodes + "/has_memory", "0-2");
  for (const std::string node : {"0", "1", "2"}) {
    const std::string prefix = "Node " + node + ' ';
    std::string path = nodes;
    path.append("/node").append(node);
    std::string meminfo = prefix;
    meminfo.append("MemTotal: 700 kB\n").append(prefix).append("MemFree:   200 kB\n");
    meminfo.append(prefix).append("Inactive(file): 50 kB");
    root.write(path + "/cpulist", node == "1" ? "" : node);
    root.write(path + "/meminfo", meminfo);
  }
  expect(memory_room(root.path()).bytes == 512'000, "nodes without CPUs do not count");
  root.write("/proc/self/status", "Name:\tx\nMems_allowed_list:\t0-1");
  expect(memory_room(root.path()).bytes == 256'000, "nor do those that cpuset.mems forbids");
  expect(memory_room(root.path()).what.find("(0)") != std::string::npos, "and it says so");
  root.write(nodes + "/has_memory", "0");
  expect(memory_room(root.path()).bytes == 1'024'000, "where all nodes count, what is available does");
  expect_error(kCouldNotMeasure, "only 1 GiB are left by a limit", [] {
    require_memory(std::uint64_t{1} << 30, "two arrays", {std::uint64_t{1} << 30, "a limit"});
  });
  require_memory(std::uint64_t{1} << 29, "two arrays", {std::uint64_t{1} << 30, "a limit"});
}

void buffers() {
  for (const Pages pages : {Pages::base, Pages::huge}) {
    Buffer buffer(3 * kHugePage + 8, pages);
    expect(reinterpret_cast<std::uintptr_t>(buffer.data()) % kHugePage == 0, "aligned to a huge page");
    const auto bytes = buffer.as<unsigned char>();
    expect(std::all_of(bytes.begin(), bytes.end(), [](auto byte) { return byte == 0; }), "zero at first");
    std::fill(bytes.begin(), bytes.end(), static_cast<unsigned char>(1));
    const auto report = page_report(buffer.data());
    if (report.known) expect(report.resident_bytes >= buffer.bytes(), "the report is of this buffer");
    if (pages == Pages::base) expect(report.huge_bytes == 0, "no huge pages where none were asked for");
    const Buffer moved = std::move(buffer);
    expect(moved.data() == bytes.data(), "a buffer moves with what it holds");
  }
  expect_error(kUsage, "no bytes", [] { Buffer(0, Pages::base); });
  expect_error(kUsage, "unknown page size", [] { parse_pages("large"); });
}

void instruction_sets() {
  const auto runs = machine_isas();
  expect(!runs.empty() && runs.back() == "plain", "plain code runs everywhere");
  for (const auto& name : runs) expect(choose_isa(name, {name}) == name, name + " can be chosen");
  expect(choose_isa("auto", {"plain"}) == "plain", "auto takes what was built");
  expect(choose_isa("auto", isa_names()) == runs.front(), "auto takes the widest");
  expect_error(kUsage, "unknown instruction set", [] { choose_isa("mmx", {"plain"}); });
  expect_error(kCouldNotMeasure, "no code for", [] { choose_isa("avx2", {"plain"}); });
  for (const auto& name : isa_names()) {
    if (std::find(runs.begin(), runs.end(), name) != runs.end()) continue;
    expect_error(kCouldNotMeasure, "does not offer", [&] { choose_isa(name, {name}); });
  }
}

}  // namespace
}  // namespace shakedown::stream

int main() {
  using namespace shakedown::stream;
  cpu_lists();
  threads_are_spread();
  placements();
  teams();
  memory_limits();
  buffers();
  instruction_sets();
  return checks.end();
}
