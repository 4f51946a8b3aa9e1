// The whole program: on the host backend with ranks that are threads, and on one rank through the CUDA backend with a
// driver and a cuBLAS that are fakes, in every state that a real one can be in.
#define main hpl_mxp_main
#include "main.cpp"  // NOLINT(bugprone-suspicious-include): its main is called on each rank
#undef main

#include "hpl_gpu/testing.hpp"

SHAKEDOWN_TEST_IMAGE(hpl_mxp);

namespace {

using shakedown::Checks;
namespace testing = shakedown::hpl_gpu::testing;

constexpr unsigned kHang_s = 900;

// Its cases have names of their own: nothing that HPL prints.
const testing::Program kProgram = {"hpl_mxp", hpl_mxp_main, "hpl_mxp",  {"update", "refining", "each"},
                                   {"hpl"},   FAKE_DRIVER,  FAKE_CUBLAS};

void sweeps(Checks& checks) {
  testing::sweeps_alike(checks, kProgram);
  if (testing::kSlow) return;
  testing::sweep(checks, kProgram, 1, {"--n", "8,30,31", "--nb", "8,64"}, 6);
  testing::sweep(checks, kProgram, 1, {"--n", "60", "--nb", "16", "--precision", "bf16", "--tail-nb", "5"}, 1);
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"--n", "40", "--nb", "8192"}, {"--n", "40", "--precision", "fp8"}, {"--n", "1"}})
    testing::sweep(checks, kProgram, 2, words, 0, 2);
  const auto rough = testing::sweep(checks, kProgram, 1, {"--n", "40", "--nb", "8", "--refinements", "0"}, 1, 1);
  checks.equal(rough.count(R"("code":"not-converged")"), 1, "without refinement it does not pass, and that is told");
}

/// What HPL.dat asks for and has no meaning here is named.
void file(Checks& checks) {
  const std::string dat = testing::write_dat("hpl_mxp_program_test.dat", "HPL.out");
  const auto ran = testing::sweep(checks, kProgram, 1, {"--dat", dat}, 2);
  checks.equal(ran.count(R"("code":"ignored")"), 11, "ignored parameters, each in words: " + ran.text);
  for (const char* word : {"PFACT 0,1,2 (line 15)", "SWAP 2 (line 26)", "swapping threshold 64 (line 27)"})
    checks.that(ran.count(word) > 0, word);
  const auto swap = testing::sweep(checks, kProgram, 1, {"--n", "40", "--nb", "8", "--swap", "binary"}, 1);
  checks.equal(swap.count(R"("code":"ignored")"), 1, "of the command line too");
  std::remove(dat.c_str());
}

void wrong_products(Checks& checks) {
  setenv("FAKE_CUBLAS", "wrong", 1);
  const auto wrong = testing::run_on_fakes(kProgram, "devices 1", {"--n", "60", "--nb", "16"});
  unsetenv("FAKE_CUBLAS");
  checks.equal(wrong.code, 1, "products that are wrong do not pass: " + wrong.text);
}

}  // namespace

int main() {
  alarm(kHang_s);
  Checks checks;
  through_cuda(checks, kProgram, 20);
  wrong_products(checks);
  sweeps(checks);
  file(checks);
  return checks.end();
}
