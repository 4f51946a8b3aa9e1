// The whole program: on the host backend with ranks that are threads, and on one rank through the CUDA backend with a
// driver and a cuBLAS that are fakes, in every state that a real one can be in.
#define main hpl_gpu_main
#include "main.cpp"  // NOLINT(bugprone-suspicious-include): its main is called on each rank
#undef main

#include "testing.hpp"

SHAKEDOWN_TEST_IMAGE(hpl_gpu);

namespace {

using shakedown::Checks;
namespace testing = shakedown::hpl_gpu::testing;

constexpr unsigned kHang_s = 900;

const testing::Program kProgram = {"hpl_gpu", hpl_gpu_main, "hpl", {"update", "each"}, {}, FAKE_DRIVER, FAKE_CUBLAS};

void sweeps(Checks& checks) {
  testing::sweeps_alike(checks, kProgram);
  if (testing::kSlow) return;
  testing::sweep(checks, kProgram, 1, {"--n", "1,30,31", "--nb", "8,64"}, 6);
  testing::sweep(checks, kProgram, 2, {"--n", "40", "--nb", "16", "--tail-nb", "4", "--panel-blocks", "2"}, 1);
  testing::sweep(checks, kProgram, 2, {"--n", "40", "--nb", "4096"}, 0, 2);
}

void numbers(Checks& checks) {
  using shakedown::hpl_gpu::device_number;
  checks.equal(device_number("all", 4, 2, false), std::string("2"), "the rank's own");
  checks.equal(device_number("0,3", 4, 1, false), std::string("3"), "of those chosen");
  checks.equal(device_number("all", 1, 5, false), std::string("0"), "the only one that a rank sees");
  checks.equal(device_number("all", 2, 5, true), std::string("1"), "shared");
  checks.throws<shakedown::Error>([] { device_number("all", 2, 2, false); }, "more ranks than devices");
  checks.throws<shakedown::Error>([] { device_number("all", 0, 0, false); }, "no device");
}

/// What HPL.dat asks for and a device does its own way is named, and what was done stands in netlib's text.
void file(Checks& checks) {
  const std::string out = "hpl_gpu_program_test.out";
  const std::string dat = testing::write_dat("hpl_gpu_program_test.dat", out);
  const auto ran = testing::sweep(checks, kProgram, 1, {"--dat", dat, "--netlib", out}, 2);
  checks.equal(ran.count(R"("code":"ignored")"), 9, "ignored parameters, each in words: " + ran.text);
  checks.that(ran.count("PFACT 0,1,2 (line 15)") > 0, "with its values");
  const std::string text = testing::text_of(out);
  checks.that(text.find("WR10R2C32") != std::string::npos && text.find("WR13R2C32") != std::string::npos,
              "what was run: " + text);
  checks.that(text.find("2 tests completed and passed residual checks") != std::string::npos, text);
  std::remove(dat.c_str());
  std::remove(out.c_str());
}

void emulation(Checks& checks) {
  setenv("CUBLAS_EMULATE_DOUBLE_PRECISION", "1", 1);
  const auto emulated = testing::run_on_fakes(kProgram, "devices 1", {"--n", "60", "--nb", "16"});
  checks.that(emulated.count(R"("code":"fp64-emulation")") == 1 && getenv("CUBLAS_EMULATE_DOUBLE_PRECISION") == nullptr,
              "emulated products are not heeded: " + emulated.text);
}

}  // namespace

int main() {
  alarm(kHang_s);
  Checks checks;
  numbers(checks);
  through_cuda(checks, kProgram, 40);
  emulation(checks);
  sweeps(checks);
  file(checks);
  return checks.end();
}
