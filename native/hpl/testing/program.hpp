// A whole program on ranks that are threads.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "hpl/world.hpp"
#include "testing/check.hpp"
#include "testing/run_program.hpp"

namespace shakedown::hpl::testing {

/// What a program came to on ranks that are threads: the text is that of its events, the code the first rank's.
struct RanOnRanks : Ran {
  std::vector<int> codes;  // of every rank
};

inline std::string text_of(const std::string& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// `main` on each rank, with these words after its name.
inline RanOnRanks run_on_ranks(const std::string& name, int (*main)(int, char**), int ranks,
                               const std::vector<std::string>& words) {
  const std::string file = name + "_program_test." + std::to_string(getpid()) + ".jsonl";
  std::vector<std::string> all = {name, "--events", file};
  all.insert(all.end(), words.begin(), words.end());
  RanOnRanks ran;
  ran.codes.resize(static_cast<std::size_t>(ranks));
  ranks_in_threads::start(ranks, [&](int rank) {
    auto mine = all;
    std::vector<char*> argv(mine.size() + 1);
    std::transform(mine.begin(), mine.end(), argv.begin(), [](auto& word) { return word.data(); });
    ran.codes[static_cast<std::size_t>(rank)] = main(static_cast<int>(mine.size()), argv.data());
  });
  ran.code = ran.codes.front();
  ran.text = text_of(file);
  std::remove(file.c_str());
  return ran;
}

/// Every rank ends with this code, and the events with what it means; the words that a failure is told by.
inline std::string ended(Checks& checks, const RanOnRanks& ran, const std::vector<std::string>& words, int code) {
  std::string line = std::to_string(ran.codes.size()) + " ranks:";
  for (const auto& word : words) line.append(" ").append(word);
  for (const int found : ran.codes) checks.equal(found, code, line);
  if (code == 0 || code == 1)
    checks.equal(ran.count(R"("event":"end","ok":)" + std::string(code == 0 ? "true" : "false")), 1,
                 line + ": the end");
  return line;
}

}  // namespace shakedown::hpl::testing
