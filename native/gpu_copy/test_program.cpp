// The program on the host backend and the fake driver: every case there, every check able to fail, pairs of devices.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "gpu/near.hpp"
#include "testing/check.hpp"
#include "testing/driver_states.hpp"

namespace {

using shakedown::Checks;
using shakedown::Ran;

const std::string kProgram = FOLDER
    "/gpu_copy --warm-ms 0 --samples 2 --sample-ms 0 --sizes 4096,65536 --triad-bytes 100000 --blocks 4096,65536 ";

Ran host(const std::string& arguments, int devices = 1) {
  return shakedown::run_command(kProgram + "--backend host:" + std::to_string(devices) + ' ' + arguments);
}
Ran fake(const std::string& words, const std::string& arguments = "") {
  return shakedown::run_command("FAKE_CUDA='" + words + "' " + kProgram + FAKES + arguments);
}

void measured(Checks& checks) {
  for (const Ran& ran : {host(""), fake("")}) {
    checks.equal(ran.code, 0, ran.text);
    checks.equal(ran.count("\"kernel\":\"h2d\""), 4, "two sizes, pinned and pageable");
    checks.equal(ran.count("\"kernel\":\"d2h\""), 4, "and back");
    checks.equal(ran.count("\"kernel\":\"bidirectional\""), 4, "and both at once");
    checks.equal(ran.count("\"kernel\":\"launch\"") + ran.count("\"kernel\":\"echo\""), 2, "latencies");
    checks.equal(ran.count("\"kernel\":\"triad\""), 2, "a triad for each size of blocks");
    checks.equal(ran.count("\"kernel\":\"peer"), 0, "one device has no peer");
    checks.that(ran.says("\"work\":{\"bytes\":131072,\"copies\":2}"), "both ways count twice: " + ran.text);
    checks.that(ran.says("\"work\":{\"bytes\":3e+05,\"flop\":50000}"), "the triad's work: three arrays, two flop");
  }
  const Ran above = host("--blocks 200000 --kernels triad");
  checks.equal(above.count("\"event\":\"case\""), 0, "no block above the array");
  checks.that(above.code == 3 && above.says("next: name larger --triad-bytes"), above.text);
}

/// Sizes that do not fit are left out; what does is measured.
void fits(Checks& checks) {
  const Ran some = fake("room 1000000", "--sizes 4096,4194304 --kernels h2d,triad --blocks 4096,4194304");
  checks.equal(some.code, 0, some.text);
  checks.equal(some.count("\"kernel\":\"h2d\""), 2, "the small size, pinned and pageable: " + some.text);
  checks.equal(some.count("\"kernel\":\"triad\""), 1, "the small blocks");
  checks.equal(some.count("gpu-size-left-out"), 3, "the rest is told: " + some.text);
  const std::string huge = "--sizes 100000000000000 ";
  const Ran none = host(huge + "--kernels h2d,d2h,triad --triad-bytes 100000000000000");
  checks.equal(none.code, 3, "nothing fits: " + none.text);
  checks.that(none.says("nothing was measured") && none.says("do not fit") && none.says("next: name smaller"),
              none.text);
  checks.that(none.says("\"event\":\"end\""), "to the end");
  const Ran pairs = host(huge + "--kernels peer", 2);
  checks.that(pairs.code == 3 && pairs.says("between devices"), "nor between devices: " + pairs.text);
  checks.equal(host(huge + "--kernels latency,h2d").code, 0, "the latency needs no room");
}

void peers(Checks& checks) {
  const Ran ran = fake("devices 3", "--kernels peer");
  checks.equal(ran.code, 0, ran.text);
  checks.equal(ran.count("\"kernel\":\"peer\""), 12, "each to each other, two sizes");
  checks.equal(ran.count("\"kernel\":\"peer_bidirectional\""), 6, "each pair both ways at once");
  checks.equal(ran.count("\"path\":\"direct\""), 18, "all direct");
  const Ran apart = fake("devices 2 peers 0", "--kernels peer");
  checks.equal(apart.code, 0, "devices that cannot reach each other are measured too: " + apart.text);
  checks.equal(apart.count("\"path\":\"host\""), 6, "and their path is told");
  checks.equal(apart.count("gpu-no-peer"), 1, "once");
  const Ran lost = fake("devices 2 lost_after 2 of 1", "--kernels h2d,peer");
  checks.equal(lost.code, 3, "a device that is lost");
  checks.that(lost.says("gpu-lost") && lost.count("\"kernel\":\"h2d\"") >= 4, "the other was measured: " + lost.text);
}

void checked(Checks& checks) {
  for (const char* kernel : {"h2d", "d2h", "bidirectional", "latency", "triad"}) {
    const Ran ran = host(std::string("--spoil --kernels ") + kernel);
    checks.equal(ran.code, 1, std::string(kernel) + ", damaged: " + ran.text);
    checks.that(ran.says("\"ok\":false"), "and the end says so");
  }
  checks.equal(host("--spoil --kernels peer", 2).code, 1, "peer, damaged");
  checks.equal(host("--spoil --no-verify --kernels h2d").code, 0, "unless it is not looked at");
  for (const char* words : {"--kernels up", "--memory swapped", "--placement far", "--sizes 4", "--blocks 0",
                            "--sizes 9000000000000000000"})
    checks.equal(host(words).code, 2, words);
}

void placed(Checks& checks) {
  namespace fs = std::filesystem;
  std::string folder = (fs::temp_directory_path() / "gpu-copy-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return checks.that(false, "a folder for the test");
  fs::create_directories(folder + "/sys/bus/pci/devices/0000:9b:00.0");
  std::ofstream(folder + "/sys/bus/pci/devices/0000:9b:00.0/numa_node") << "1\n";
  checks.equal(shakedown::gpu::numa_node("00000000:9B:00.0", folder), 1, "as NVML writes an address");
  checks.equal(shakedown::gpu::numa_node("0000:9b:00.0", folder), 1, "as CUDA writes it");
  checks.equal(shakedown::gpu::numa_node("0000:9c:00.0", folder), -1, "not known");
  fs::remove_all(folder);
}

}  // namespace

int main() {
  Checks checks;
  measured(checks);
  fits(checks);
  peers(checks);
  checked(checks);
  placed(checks);
  return checks.end();
}
