// The program against libraries that are right, wrong, incomplete or without devices: exit codes, words, cases.

#include <cstdlib>
#include <string>

#include "testing/check.hpp"
#include "testing/run_program.hpp"

namespace {

using shakedown::Checks;
using shakedown::Ran;

Ran run(const std::string& arguments) { return shakedown::run_command(FOLDER "/opencl " + arguments); }

/// The fake OpenCL, with this fault of native/testing/fake_opencl.cpp; `lack`: without some of its functions.
Ran fake(const std::string& fault, const std::string& more = "", const std::string& lack = "") {
  setenv("FAKE_OPENCL", fault.c_str(), 1);
  Ran ran = run("--library " FAKE_FOLDER "/libfake_opencl" + lack +
                ".so --bodies 256 --elements 4096 --samples 2 --together 0.05 " + more);
  unsetenv("FAKE_OPENCL");
  return ran;
}

void right(Checks& checks) {
  const auto ran = fake("");
  checks.equal(ran.code, 0, "two devices that compute right: " + ran.text);
  checks.equal(ran.count("\"kernel\":\"triad\""), 4, "a triad on each, in both precisions");
  checks.equal(ran.count("\"kernel\":\"nbody\""), 6, "bodies likewise, and once more at the same time");
  checks.equal(ran.count("\"pattern\":\"together\""), 2, "both at once");
  checks.that(ran.says("\"devices\":2}"), "two devices are counted");
  checks.that(ran.says("\"name\":\"Fake GPU\",\"kind\":\"gpu\""), "names are trimmed, and kinds told");
  checks.that(ran.says("\"flop\":") && ran.says("\"bytes\":"), "with their work");
  const auto one = fake("", "--devices gpu --precision s");
  checks.equal(one.code, 0, one.text);
  checks.that(one.says("\"devices\":1}") && !one.says("\"pattern\":\"together\""), "one alone has nobody beside it");
  checks.equal(fake("", "--devices 1").count("Fake CPU\",\"index\":1"), 4, "a device by its number");
  const auto single = fake("no_double");
  checks.equal(single.code, 0, "devices without double precision");
  checks.that(single.says("opencl-double") && !single.says("\"precision\":\"double\""),
              "say so, and are measured single");
}

void wrong(Checks& checks) {
  for (const char* fault : {"wrong_triad", "wrong_bodies", "unwritten"}) {
    const auto ran = fake(fault);
    checks.equal(ran.code, 1, std::string(fault) + ": " + ran.text);
    checks.that(ran.says("\"ok\":false") && ran.says("\"devices\":0}"), "and no device is counted");
  }
  checks.equal(fake("unwritten", "--no-verify").code, 0, "unless the checks are left out");
  const auto build = fake("no_build");
  checks.equal(build.code, 1, "kernels that cannot be built");
  checks.that(build.says("CL_BUILD_PROGRAM_FAILURE (-11): line 3: no such word"),
              "with the compiler's words: " + build.text);
  const auto lost = fake("lost_together");
  checks.equal(lost.code, 1, "a device that fails only beside another: " + lost.text);
  checks.that(lost.says("CL_INVALID_COMMAND_QUEUE") && lost.says("\"devices\":1}"), "the other still counts");
  checks.equal(fake("lost_together", "--together 0").code, 0, "alone it is right");
}

void absent(Checks& checks) {
  const auto library = run("--library /nowhere/libOpenCL.so");
  checks.equal(library.code, 3, "no library");
  checks.that(library.says("/nowhere/libOpenCL.so") && library.says("next:"), "is named: " + library.text);
  const auto platform = fake("no_platform");
  checks.equal(platform.code, 3, "no driver");
  checks.that(platform.says("no driver is registered"), platform.text);
  const auto device = fake("no_device");
  checks.equal(device.code, 3, "no device");
  checks.that(device.says("Fake platform"), "names the platform: " + device.text);
  const auto half = fake("", "", "_no_finish");
  checks.equal(half.code, 3, "a library without clFinish");
  checks.that(half.says("has no clFinish"), half.text);
  const auto kind = fake("", "--devices accelerator");
  checks.equal(kind.code, 3, "no accelerator");
  checks.that(kind.says("0 Fake GPU (gpu), 1 Fake CPU (cpu)"), "lists what is here: " + kind.text);
  checks.equal(run("--precision q").code, 2, "an unknown precision");
  checks.that(run("--devicse all").says("did you mean --devices"), "a misspelt argument");
}

}  // namespace

int main() {
  Checks checks;
  right(checks);
  wrong(checks);
  absent(checks);
  return checks.end();
}
