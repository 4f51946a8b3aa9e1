// What a witness sees of a recorded machine and of this process, and that it becomes the program.
#include "witness.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "common/error.hpp"
#include "testing/check.hpp"
#include "testing/run_program.hpp"

namespace shakedown::witness {
namespace {

Checks checks;

std::filesystem::path scratch() {
  static const auto path = std::filesystem::temp_directory_path() / ("witness_test-" + std::to_string(getpid()));
  std::filesystem::create_directories(path);
  return path;
}

void put(const std::string& name, const std::string& text) {
  const auto path = scratch() / "machine" / name;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

void links() {
  checks.equal(namespace_of("mnt:[4026531841]").value_or(0), 4026531841U, "an inode");
  for (const char* text : {"", "mnt", "mnt:[]", "mnt:[x]", "mnt:[12", "[12]", "mnt:12]"}) {
    checks.that(!namespace_of(text), std::string("none is none: ") + text);
  }
}

void recorded() {
  put("proc/sys/kernel/random/boot_id", "b-1\n");
  put("proc/self/cgroup", "0::/job/step\n");
  put("proc/self/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n");
  put("sys/fs/cgroup/job/cpu.max", "150000 100000\n");
  put("sys/fs/cgroup/job/step/cpu.max", "max 100000\n");
  put("sys/fs/cgroup/job/memory.max", "1073741824\n");
  put("sys/fs/cgroup/job/step/memory.max", "max\n");
  put("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu hypervisor lm\n");
  put("proc/self/status", "Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t1\nNoNewPrivs:\t1\n");
  std::filesystem::create_directories(scratch() / "machine/proc/self/ns");
  std::filesystem::create_symlink("mnt:[77]", scratch() / "machine/proc/self/ns/mnt");
  const Seen seen = look((scratch() / "machine").string());
  checks.equal(seen.boot_id, "b-1", "the kernel's boot");
  checks.equal(seen.namespaces.size(), 1U, "what is not there is left out");
  checks.equal(seen.namespaces.at("mnt"), 77U, "a namespace");
  checks.equal(seen.cpu_quota.value_or(0), 1.5, "the quota of the group above");
  checks.equal(seen.memory_max.value_or(0), std::uint64_t{1} << 30U, "the limit on memory of the group above");
  checks.that(seen.virtual_machine.value_or(false), "the flag of a hypervisor");
  checks.equal(seen.seccomp, 2, "seccomp, and not the number of filters");
  checks.equal(seen.no_new_privileges, 1, "no new privileges");
  put("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu no_hypervisor lm\n");
  checks.that(!look((scratch() / "machine").string()).virtual_machine.value_or(true), "another flag is none");
  put("proc/cpuinfo", "processor\t: 0\nFeatures\t: fp asimd\n");
  checks.that(!look((scratch() / "machine").string()).virtual_machine, "Arm does not say");
  const Seen empty = look((scratch() / "nothing").string());
  checks.that(empty.namespaces.empty() && !empty.cpu_quota && empty.root.empty() && empty.seccomp == -1, "nothing");
}

void records() {
  const std::string folder = (scratch() / "records").string();
  for (int i = 0; i < 3; ++i) leave(folder, "inside", record(look(), "inside"));
  int count = 0;
  for (const auto& one : std::filesystem::directory_iterator(folder)) count += one.path().extension() == ".json";
  checks.equal(count, 3, "none replaces another");
  checks.throws<Error>([] { leave("/no/such/folder/at/all", "inside", "x"); }, "a folder that cannot be made");
}

void programs() {
  const std::string to = std::string(PROGRAM) + " --to " + (scratch() / "started").string();
  const auto shown = run_command(PROGRAM);
  checks.that(shown.code == 0 && shown.says("\"side\":\"inside\""), "it prints what it sees");
  const auto became = run_command(to + " -- /bin/sh -c 'echo here; exit 7'");
  checks.that(became.code == 7 && became.text == "here\n", "it becomes the program");
  checks.that(!std::filesystem::is_empty(scratch() / "started"), "and has left its record");
  const auto gone = run_command(to + " -- /no/such/program");
  checks.that(gone.code == kCouldNotMeasure && gone.says("/no/such/program"), "no program");
  checks.equal(run_command(to).code, int{kUsage}, "nothing to start");
  checks.equal(run_command(std::string(PROGRAM) + " --side above -- true").code, int{kUsage}, "no such side");
  const auto unseen = run_command(std::string(PROGRAM) + " --to /no/such/folder -- true");
  checks.that(unseen.code == kCouldNotMeasure && unseen.says("bind it"), "no folder");
}

}  // namespace
}  // namespace shakedown::witness

int main() {
  using namespace shakedown::witness;
  links();
  recorded();
  records();
  programs();
  std::filesystem::remove_all(scratch());
  return checks.end();
}
