// The whole program on ranks that are threads: every rank leaves with the same code, also those outside the grid.
#define main hpl_main
#include "main.cpp"  // NOLINT(bugprone-suspicious-include): its main is called on each rank
#undef main

#include <unistd.h>

#include "common/check.hpp"

namespace {

using shakedown::Checks;

constexpr unsigned kHang_s = 600;

struct Ran {
  std::vector<int> codes;
  std::string events;
  [[nodiscard]] int count(const std::string& word) const {
    int found = 0;
    for (auto at = events.find(word); at != std::string::npos; at = events.find(word, at + 1)) ++found;
    return found;
  }
};

Ran run(int ranks, const std::vector<std::string>& words) {
  const std::string file = "program_test." + std::to_string(getpid()) + ".jsonl";
  std::vector<std::string> all = {"hpl",       "--library", PLAIN_BLAS, "--allow-oversubscribe",
                                  "--threads", "2",         "--events", file};
  all.insert(all.end(), words.begin(), words.end());
  Ran ran;
  ran.codes.resize(static_cast<std::size_t>(ranks));
  ranks_in_threads::start(ranks, [&](int rank) {
    auto mine = all;
    std::vector<char*> argv(mine.size() + 1);
    std::transform(mine.begin(), mine.end(), argv.begin(), [](auto& word) { return word.data(); });
    ran.codes[static_cast<std::size_t>(rank)] = hpl_main(static_cast<int>(mine.size()), argv.data());
  });
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  ran.events = text.str();
  std::remove(file.c_str());
  return ran;
}

void sweep(Checks& checks, int ranks, const std::vector<std::string>& words, int cases, int code = 0) {
  const Ran ran = run(ranks, words);
  std::string line = std::to_string(ranks) + " ranks:";
  for (const auto& word : words) line.append(" ").append(word);
  for (const int found : ran.codes) checks.equal(found, code, line);
  checks.equal(ran.count(R"("event":"case","kernel":"hpl")"), cases, line + ": systems");
  checks.equal(ran.count(R"("kernel":"update")"), cases, line + ": with their shares");
  if (code == 0 || code == 1) {
    checks.equal(ran.count(R"("event":"end","ok":)" + std::string(code == 0 ? "true" : "false")), 1,
                 line + ": the end");
  }
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
