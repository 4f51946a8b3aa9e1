// The program on the host backend, and on the stand-ins for CUDA's driver and NCCL: every operation right, and each
// fault found, named and left behind.
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "testing/check.hpp"
#include "testing/driver_states.hpp"

namespace {

using shakedown::Checks;
using shakedown::Ran;
using shakedown::run_command;

const std::string kProgram = FOLDER "/gpu_collectives ";
// Nothing hangs on a busy machine, but where a test plants that.
const std::string kSmall = "--samples 2 --sample-ms 0 --warm-ups 1 --sizes 8,1000,70000 --silent-s 300 ";
const std::string kFakes = FAKES "--nccl " FAKE_NCCL_FILE " ";

Ran host(const std::string& arguments, int devices) {
  return run_command(kProgram + kSmall + "--backend host:" + std::to_string(devices) + ' ' + arguments);
}
Ran fake(const std::string& cuda, const std::string& nccl, const std::string& arguments = "") {
  return run_command("FAKE_CUDA='" + cuda + "' FAKE_NCCL='" + nccl + "' " + kProgram + kSmall + kFakes + arguments);
}

/// Cases: vectors of three sizes, and blocks of the two that have room for them; in place where that can be.
void measured(Checks& checks) {
  for (const Ran& ran : {host("", 3), fake("devices 3", "")}) {
    checks.equal(ran.code, 0, ran.text);
    for (const char* operation : {"all_reduce", "broadcast", "reduce"})
      checks.equal(ran.count(std::string("\"operation\":\"") + operation + '"'), 6, std::string(operation) + ran.text);
    for (const char* operation : {"all_gather", "reduce_scatter"})
      checks.equal(ran.count(std::string("\"operation\":\"") + operation + '"'), 4, operation);
    for (const char* operation : {"alltoall", "gather", "scatter"})
      checks.equal(ran.count(std::string("\"operation\":\"") + operation + '"'), 2, operation);
    checks.equal(ran.count("\"operation\":\"sendrecv\""), 3, "a ring of messages");
    checks.equal(ran.count("\"residual\":{\"value\":0,"), 35, "all of them right");
    checks.that(ran.says("\"bytes\":70000,\"bus_bytes\":93333.33"), "2 (n-1)/n of all: " + ran.text);
  }
  const Ran words = host("--type uint64 --place out --groups 2,0", 4);
  checks.equal(words.code, 0, words.text);
  checks.equal(words.count("\"gpus\":2"), 22, "two of them");
  checks.equal(words.count("\"gpus\":4"), 22, "and all");
  const Ran known = fake("devices 2", "algorithm 4", "--operations all_reduce --links switch");
  checks.that(known.says("\"algorithm\":\"nvls\",\"transport\":\"P2P\""), "how it was done: " + known.text);
  checks.that(known.says("\"library\":\"NCCL 2.32.3\"") && known.says("\"library_found\":\"named\""), known.text);
  checks.that(known.says("\"0 to 1\":\"P2P/direct pointer\"") && known.says("\"channels\":24"), known.text);
  checks.equal(known.count("\"event\":\"notice\""), 0, "nothing is wrong: " + known.text);
}

/// One bit of one element of any rank, for any operation that gives that rank something.
void one_wrong_bit(Checks& checks) {
  for (int device = 0; device < 3; ++device) {
    const std::string victim = "wrong " + std::to_string(device) + " element 2";
    const Ran ran = fake("devices 3", victim, "--operations all_reduce,reduce_scatter,alltoall --sizes 4800");
    checks.equal(ran.code, 1, ran.text);
    checks.equal(ran.count("\"code\":\"element-wrong\""), 5, "every case: " + ran.text);
    checks.that(ran.says("rank " + std::to_string(device) + " (GPU " + std::to_string(device) + ", NVIDIA Fake"),
                ran.text);
    checks.that(ran.says("has a wrong element 2,") && ran.says("(bits 0x20)"), "element and bit: " + ran.text);
  }
  const Ran late = fake("devices 2", "wrong 1 after 4", "--operations all_reduce --sizes 4096 --place out");
  checks.that(late.code == 1 && late.says("element-wrong"), "one that comes later: " + late.text);
  const Ran spoiled = host("--spoil --operations all_reduce,sendrecv", 2);
  checks.equal(spoiled.code, 1, "damaged on purpose");
  checks.equal(host("--spoil --no-verify --operations all_reduce", 2).code, 0,
               "which a run without checks does not see");
}

/// A fault, what is said of it, and with how many GPUs the others went on; 0: with none.
struct Fault {
  std::string cuda, nccl, says;
  int left = 0;
};

/// Those that wait for a limit, side by side: they sleep.
void faults(Checks& checks) {
  const std::vector<Fault> all = {
      {"devices 4", "hang 2 after 5",
       "rank 2 (GPU 2, NVIDIA Fake, 0000:03:00.0): no answer even to an operation of its own", 3},
      {"devices 4", "hang 2 with 1 after 5", "no answer between rank 1 (GPU 1, NVIDIA Fake, 0000:02:00.0) and rank 2",
       3},
      {"devices 3", "hang 0 after 5 once 1", "none is to blame by itself", 3},
      {"devices 3", "stuck 1 after 5", "rank 1 (GPU 1, NVIDIA Fake, 0000:02:00.0) is behind all others", 2},
      {"devices 3", "async 1 after 5", "ncclCommGetAsyncError: unhandled system error (2): as the test has it", 2},
      {"devices 3 lost_after 3 of 1", "", "it was there and is gone", 2},
      {"devices 3", "hang 0 after 5", "rank 0 (GPU 0, NVIDIA Fake, 0000:01:00.0): no answer even", 2},
      {"devices 2", "hang 1 after 5", "rank 1 (GPU 1, NVIDIA Fake, 0000:02:00.0): no answer even", 0},
  };
  std::vector<Ran> ran(all.size());
  std::vector<std::thread> threads;
  threads.reserve(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    threads.emplace_back([&, i] {
      ran[i] = fake(all[i].cuda, all[i].nccl, "--operations all_reduce,all_gather --place out --silent-s 8 --try-s 8");
    });
  }
  for (auto& thread : threads) thread.join();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string seen = all[i].cuda + ", " + all[i].nccl + ": " + ran[i].text;
    checks.equal(ran[i].code, 3, seen);
    checks.that(ran[i].says(all[i].says), "says '" + all[i].says + "': " + seen);
    checks.that(ran[i].says("all_reduce of "), "names the operation: " + seen);
    checks.that(ran[i].says("\"event\":\"end\""), "to the end: " + seen);
    const int others = ran[i].count("\"operation\":\"all_gather\",\"bytes\":");
    checks.equal(others > 0, all[i].left > 0, "whether the others went on: " + seen);
    if (all[i].left > 0)
      checks.that(ran[i].says("\"gpus\":" + std::to_string(all[i].left)), "with those that are left: " + seen);
    checks.equal(ran[i].count("\"residual\":{\"value\":0,"), ran[i].count("\"event\":\"case\""), "all right: " + seen);
  }
}

void fallbacks(Checks& checks) {
  const std::string few = "--operations all_reduce --sizes 4096 --place out ";
  const Ran shared = fake("devices 3", "transport 1", few + "--links switch");
  checks.equal(shared.code, 0, shared.text);
  checks.that(shared.says("through shared memory of the host (SHM) although NVLink is there"), shared.text);
  checks.equal(shared.count("gpu-collective-fallback"), 1, "once");
  checks.that(shared.says("\"transport\":\"SHM\""), "and the case says so");
  const Ran set = run_command("NCCL_P2P_DISABLE=1 FAKE_CUDA='devices 2' FAKE_NCCL='transport 1' " + kProgram + kSmall +
                              kFakes + few);
  checks.that(set.says("although their GPUs can reach each other's memory"), set.text);
  checks.that(set.says("the environment sets NCCL_P2P_DISABLE=1: take it away"), "with its cause: " + set.text);
  const Ran sockets = fake("devices 2", "transport 2", few);
  checks.that(sockets.says("through the network (NET)"), sockets.text);
  const Ran apart = fake("devices 2 peers 0", "transport 1", few);
  checks.equal(apart.count("gpu-collective-fallback"), 0,
               "where they cannot reach each other it is none: " + apart.text);
  const Ran ring = fake("devices 3", "algorithm 1",
                        "--operations all_reduce --sizes 16777216 --place out --links switch --samples 1");
  checks.that(ring.says("although the NVLink switches can reduce: NCCL says that NVLS multicast is not available"),
              ring.text);
}

/// A file of rounds, which goes with the test.
struct RoundsFile {
  explicit RoundsFile(const std::string& text) { std::ofstream(name) << text; }
  ~RoundsFile() { std::remove(name.c_str()); }
  RoundsFile(const RoundsFile&) = delete;
  RoundsFile& operator=(const RoundsFile&) = delete;
  std::string name = "gpu_collectives_rounds_" + std::to_string(getpid()) + ".txt";
};

void groups_at_once(Checks& checks) {
  const RoundsFile file("0,1,2 3,4\n4,0 1,2\n0,9 1,2\n");
  const std::string few = "--operations all_reduce,alltoall --sizes 4096 --place out --rounds " + file.name + ' ';
  const Ran host_ran = host(few, 5);
  checks.equal(host_ran.code, 0, host_ran.text);
  checks.equal(host_ran.count("\"kernel\":\"group\""), 10, "five groups, two operations: " + host_ran.text);
  checks.equal(host_ran.count("\"residual\":{\"value\":0,"), 10, "all right");
  checks.equal(host_ran.count("\"bytes\":4096,\"gpus\":3"), 2, "the bytes as asked, whatever a group's size");
  checks.that(host_ran.says("GPU 9 is not in use"), host_ran.text);
  const Ran wrong = fake("devices 5", "wrong 4", few);
  checks.equal(wrong.code, 1, wrong.text);
  checks.equal(wrong.count("\"code\":\"element-wrong\""), 4, "of the groups that hold it alone: " + wrong.text);
  const Ran lost = fake("devices 5", "hang 3 after 1", few + "--silent-s 8 --try-s 8");
  checks.equal(lost.code, 3, lost.text);
  checks.that(lost.says("rank 3 (GPU 3, NVIDIA Fake, 0000:04:00.0): no answer even"), lost.text);
  checks.equal(lost.count("\"unanswered\":1"), 2, "of its group: " + lost.text);
  checks.that(lost.says("\"round\":2"), "the others go on: " + lost.text);
  const Ran slow = fake("devices 5 modelled 1", "slow 0 percent 300", few);
  checks.that(slow.code == 0 && slow.count("\"kernel\":\"group\"") == 10, slow.text);
  for (const char* bad : {"/nowhere/rounds", "/dev/null"}) {
    const Ran ran = host(std::string("--rounds ") + bad, 3);
    checks.that(ran.code == 2 && ran.says("next:"), ran.text);
  }
}

void refused(Checks& checks) {
  shakedown::gpu::refused_alike(checks, shakedown::gpu::driver_states(2), "",
                                [](const std::string& cuda) { return fake(cuda, ""); });
  shakedown::gpu::without_driver(checks, kProgram);
  const Ran alone = fake("", "", "--operations all_reduce,alltoall --sizes 4096 --place out");
  checks.equal(alone.code, 0, alone.text);
  checks.that(alone.says("no link is measured") && alone.count("\"event\":\"case\"") == 2, alone.text);
  checks.equal(alone.count("bus_bytes"), 0, "there is no bus");
  const Ran absent = run_command("FAKE_CUDA='devices 2' " + kProgram + FAKES + "--nccl /nowhere/libnccl.so.2");
  checks.that(absent.code == 3 && absent.says("cannot load NCCL") && absent.says("nvidia-nccl-cu13"), absent.text);
  const Ran old = run_command("FAKE_CUDA='devices 2' " + kProgram + FAKES + "--nccl libm.so.6");
  checks.that(old.code == 3 && old.says("this NCCL lacks ncclGetVersion"), old.text);
  const Ran init = fake("devices 2", "init 1");
  checks.that(init.code == 3 && init.says("ncclCommInitRank: unhandled cuda error (1)"), init.text);
  const Ran room = fake("devices 2 room 1000000", "", "--operations all_reduce --place out --sizes 4096,4194304");
  checks.that(room.code == 0 && room.says("sizes-left-out") && room.count("\"event\":\"case\"") == 1, room.text);
  for (const char* bad : {"--operations all_reduces", "--place beside", "--type half", "--links wire", "--sizes 0",
                          "--groups -1", "--nccl-log /nowhere/log", "--backend hip", "--devices 7"}) {
    const Ran ran = host(bad, 2);
    checks.that(ran.code == 2 && ran.says("next:"), std::string(bad) + ": " + ran.text);
  }
}

}  // namespace

int main() {
  Checks checks;
  measured(checks);
  one_wrong_bit(checks);
  faults(checks);
  fallbacks(checks);
  groups_at_once(checks);
  refused(checks);
  return checks.end();
}
