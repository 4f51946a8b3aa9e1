// The program on the host backend, and on the fake driver with every state that a real one can be in.
#include "gpu/program.hpp"
#include "gpu_stream.hpp"
#include "testing/check.hpp"
#include "testing/driver_states.hpp"

namespace {

using shakedown::Checks;
using shakedown::Ran;
namespace own = shakedown::gpu_stream;

const std::string kProgram = FOLDER "/gpu_stream --warm-ms 0 --samples 2 --sample-ms 0 ";
const std::string kSmall = "--sizes 65536 --kernels triad --shape u2 ";

Ran host(const std::string& arguments) { return shakedown::run_command(kProgram + "--backend host " + arguments); }
Ran fake(const std::string& words, const std::string& arguments = kSmall) {
  return shakedown::run_command("FAKE_CUDA='" + words + "' " + kProgram + FAKES + arguments);
}

void states(Checks& checks) {
  shakedown::gpu::refused_alike(checks, shakedown::gpu::driver_states(3), "",
                                [](const std::string& words) { return fake(words); });
  shakedown::gpu::without_driver(checks, kProgram);
}

void others_go_on(Checks& checks) {
  const Ran lost = fake("devices 3 lost_after 3 of 1");
  checks.equal(lost.code, 3, "one of three falls off the bus");
  checks.equal(lost.count("\"event\":\"case\""), 2, "the others are measured: " + lost.text);
  checks.equal(lost.count("\"code\":\"gpu-lost\""), 1, "and it is told once");
  checks.that(lost.says("\"event\":\"end\""), "to the end");
  const Ran held = fake("devices 2 retain 46 mode 3 retain_of 0");
  checks.equal(held.code, 3, "one of two is held by another process");
  checks.equal(held.count("\"event\":\"case\""), 1, "the other is measured: " + held.text);
  checks.equal(held.count("\"code\":\"gpu-busy\""), 1, "and the state is told");
  checks.equal(fake("devices 2 retain 46 retain_of 0", kSmall + "--devices 1").code, 0, "asked for alone, it is well");
}

void fits(Checks& checks) {
  const Ran ran = fake("room 1000000", "--sizes 65536,1048576 --kernels triad --shape u2");
  checks.equal(ran.code, 0, "a size that does not fit is left out: " + ran.text);
  checks.equal(ran.count("gpu-size-left-out"), 1, "and told");
  checks.equal(ran.count("\"event\":\"case\""), 1, "the other is measured");
  checks.that(ran.says("three arrays of 1 MiB do not fit"), ran.text);
  const Ran none = host("--sizes 100000000000000,9000000000000000000");
  checks.equal(none.code, 3, "where nothing is left, nothing was measured: " + none.text);
  checks.that(none.says("nothing was measured: three arrays of") && none.says("next: name smaller --sizes"), none.text);
  checks.equal(none.count("gpu-size-left-out"), 2, "and each size is told: " + none.text);
  checks.that(none.says("\"event\":\"end\""), "to the end");
  const Ran mig = fake("mig 1");
  checks.that(mig.code == 0 && mig.says("\"mig\":true"), "a slice of a GPU is measured, and said to be one");
}

void measured(Checks& checks) {
  for (const Ran& ran : {host("--sizes 65536"), fake("", "--sizes 65536")}) {
    checks.equal(ran.code, 0, ran.text);
    checks.equal(ran.count("\"event\":\"case\""), 5, "four kernels and the driver's copy");
    checks.equal(ran.count("\"residual\":{\"value\":0,"), 5, "all right");
    checks.that(ran.says("\"work\":{\"bytes\":196608,\"calls\":1}"), "triad counts three arrays: " + ran.text);
    checks.that(ran.says("\"work\":{\"bytes\":131072,\"calls\":1}"), "copy two");
  }
  for (const char* kernel : {"copy", "scale", "add", "triad", "memcpy"}) {
    const Ran broken = host(std::string("--sizes 1048576 --break-element 70000 --kernels ") + kernel);
    checks.equal(broken.code, 1, std::string(kernel) + " with a wrong element fails");
    const std::string said = std::string("gpu_stream: 1 of 1 checks failed; the first: ") + kernel + " {\"device\":";
    checks.that(broken.says(said) && broken.says("next: run it again"), "in words: " + broken.text);
  }
  checks.equal(host("--sizes 65536 --break-element 1 --no-verify").code, 0, "unless it is not looked at");
}

void refused(Checks& checks) {
  for (const char* words :
       {"--sizes 1", "--kernels quadrad", "--shape u3", "--devices 4", "--sizes ,", "--bandwidth 1"})
    checks.equal(host(words).code, 2, words);
}

}  // namespace

int main() {
  Checks checks;
  checks.equal(shakedown::gpu::level_of(1 << 20, 4 << 20), std::string("l2"), "half of the cache or less is in it");
  checks.equal(shakedown::gpu::level_of(16 << 20, 4 << 20), std::string("memory"), "four times the cache is in memory");
  checks.equal(shakedown::gpu::level_of(4 << 20, 4 << 20), std::string(), "between is neither");
  checks.equal(own::arrays_of("add") + own::arrays_of("copy"), 5u, "arrays of kernels");
  checks.equal(own::turns_of("u4s"), 4u, "turns of a shape");
  measured(checks);
  states(checks);
  others_go_on(checks);
  fits(checks);
  refused(checks);
  return checks.end();
}
