// The whole program on ranks that are threads: every rank leaves with the same code, also those outside the grid.
#define main hpl_main
#include "main.cpp"  // NOLINT(bugprone-suspicious-include): its main is called on each rank
#undef main

#include <unistd.h>

#include "hpl/testing/program.hpp"

namespace {

using shakedown::Checks;

constexpr unsigned kHang_s = 600;

void sweep(Checks& checks, int ranks, std::vector<std::string> words, int cases, int code = 0) {
  words.insert(words.begin(), {"--library", PLAIN_BLAS, "--allow-oversubscribe", "--threads", "2"});
  const auto ran = shakedown::hpl::testing::run_on_ranks("hpl", hpl_main, ranks, words);
  const std::string line = shakedown::hpl::testing::ended(checks, ran, words, code);
  checks.equal(ran.count(R"("event":"case","kernel":"hpl")"), cases, line + ": systems");
  checks.equal(ran.count(R"("kernel":"update")"), cases, line + ": with their shares");
}

}  // namespace

int main() {
  alarm(kHang_s);
  Checks checks;
  sweep(checks, 1, {"--n", "1,30,31", "--nb", "8,64", "--depth", "0,1,2"}, 18);
  sweep(checks, 3, {"--n", "40", "--nb", "8", "--p", "1", "--q", "2", "--bcast", "0,1,4"}, 3);  // one is left over
  sweep(checks, 4, {"--n", "40,40,50", "--nb", "8", "--p", "1,2,4", "--q", "3,2,1", "--no-ceiling"}, 9);
  sweep(checks, 4, {"--n", "40", "--nb", "8", "--mapping", "column", "--progress-thread", "--samples", "3"}, 1);
  sweep(checks, 2, {"--n", "40", "--nb", "8", "--repeat-in-place", "--samples", "35", "--per-host"}, 1);
  sweep(checks, 3, {"--n", "60", "--nb", "4", "--p", "1", "--q", "2", "--windows", "1,0.5,0.01", "--nbmin", "1,2"}, 0);
  sweep(checks, 2, {"--n", "auto", "--nb", "8", "--time-limit", "0.0000001", "--memory-share", "0.001"}, 1);
  sweep(checks, 2, {"--n", "40", "--nb", "8", "--threshold", "0"}, 1);
  sweep(checks, 3, {"--n", "2147483647,40", "--nb", "8", "--p", "1", "--q", "2"}, 1, 3);  // the rest is done
  sweep(checks, 2, {"--n", "2147483647", "--nb", "8"}, 0, 3);
  sweep(checks, 2, {"--n", "40", "--nb", "8", "--p", "2", "--q", "2"}, 0, 2);
  sweep(checks, 3, {"--n", "40", "--nb", "8", "--cpus", "99999"}, 0, 2);
  sweep(checks, 2, {"--n", "40", "--nb", "8", "--library", "/nowhere/libblas.so"}, 0, 3);
  sweep(checks, 2, {"--n", "40", "--nb", "8", "--trsm", "blas", "--library", NO_DTRSM}, 0, 3);
  sweep(checks, 2, {"--n", "40", "--nb", "8", "--dat", "/nowhere/HPL.dat"}, 0, 2);
  for (const char* kind : {"entry", "nan", "singular"}) {
    for (const int ranks : {1, 4}) sweep(checks, ranks, {"--n", "40", "--nb", "8", "--inject", kind}, 1, 1);
  }
  return checks.end();
}
