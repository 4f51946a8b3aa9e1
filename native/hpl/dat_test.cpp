// What must be true of reading and writing HPL.dat.
#include "dat.hpp"

#include <algorithm>
#include <cstdlib>
#include <random>
#include <set>
#include <sstream>

#include "common/error.hpp"
#include "testing/check.hpp"

namespace shakedown::hpl {
namespace {

/// The file that HPL comes with, with a list in every place that takes one.
const std::vector<std::string> kClassic = {
    "HPLinpack benchmark input file",
    "Innovative Computing Laboratory, University of Tennessee",
    "HPL.out      output file name (if any)",
    "6            device out (6=stdout,7=stderr,file)",
    "4            # of problems sizes (N)",
    "29 30 34 35  Ns",
    "4            # of NBs",
    "1 2 3 4      NBs",
    "0            PMAP process mapping (0=Row-,1=Column-major)",
    "3            # of process grids (P x Q)",
    "2 1 4        Ps",
    "2 4 1        Qs",
    "16.0         threshold",
    "3            # of panel fact",
    "0 1 2        PFACTs (0=left, 1=Crout, 2=Right)",
    "2            # of recursive stopping criterium",
    "2 4          NBMINs (>= 1)",
    "1            # of panels in recursion",
    "2            NDIVs",
    "3            # of recursive panel fact.",
    "0 1 2        RFACTs (0=left, 1=Crout, 2=Right)",
    "1            # of broadcast",
    "0            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)",
    "1            # of lookahead depth",
    "0            DEPTHs (>=0)",
    "2            SWAP (0=bin-exch,1=long,2=mix)",
    "64           swapping threshold",
    "0            L1 in (0=transposed,1=no-transposed) form",
    "0            U  in (0=transposed,1=no-transposed) form",
    "1            Equilibration (0=no,1=yes)",
    "8            memory alignment in double (> 0)",
};

std::string text_of(const std::vector<std::string>& lines, const std::string& end = "\n") {
  std::string text;
  for (const auto& line : lines) text += line + end;
  return text;
}

/// The classic file with one line replaced.
std::string with(std::size_t line, const std::string& content) {
  auto lines = kClassic;
  lines[line - 1] = content;
  return text_of(lines);
}

/// With two: a list and its count.
std::string with(std::size_t line, const std::string& count, const std::string& list) {
  auto lines = kClassic;
  lines[line - 1] = count;
  lines[line] = list;
  return text_of(lines);
}

struct Reading {
  Dat dat;
  std::vector<std::string> notices;
};

Reading read(const std::string& text) {
  Reading reading;
  reading.dat = parse_dat(text, "some.dat", reading.notices);
  return reading;
}

Dat classic() {
  Dat dat;
  dat.n = {29, 30, 34, 35};
  dat.nb = {1, 2, 3, 4};
  dat.p = {2, 1, 4};
  dat.q = {2, 4, 1};
  dat.pfact = {0, 1, 2};
  dat.nbmin = {2, 4};
  dat.ndiv = {2};
  dat.rfact = {0, 1, 2};
  dat.bcast = {0};
  dat.depth = {0};
  return dat;
}

bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// The text is refused in one message that names the file, the line, what was found and what is expected.
void refused(Checks& checks, const std::string& text, std::size_t line, const std::string& found,
             const std::string& expected, const Place& at = Place::current()) {
  try {
    read(text);
    checks.that(false, "accepted, though line " + std::to_string(line) + " is wrong", at);
  } catch (const Error& error) {
    const std::string said = error.what();
    checks.that(error.code == kUsage, "a usage error", at);
    checks.that(mentions(said, "some.dat, line " + std::to_string(line) + " "), "names the line: " + said, at);
    checks.that(mentions(said, "found " + found + ","), "says what was found: " + said, at);
    checks.that(mentions(said, "expected " + expected), "says what is expected: " + said, at);
    checks.that(mentions(said, "next: "), "says what next: " + said, at);
  }
}

/// The text is accepted with one notice, which names the line and says `part`; gives what was read.
Dat noticed(Checks& checks, const std::string& text, std::size_t line, const std::string& part,
            const Place& at = Place::current()) {
  const auto reading = read(text);
  checks.equal(reading.notices.size(), std::size_t{1}, "notices", at);
  for (const auto& notice : reading.notices) {
    checks.that(mentions(notice, "some.dat, line " + std::to_string(line) + ":") && mentions(notice, part), notice, at);
  }
  return reading.dat;
}

void classic_is_read(Checks& checks) {
  const auto reading = read(text_of(kClassic));
  checks.that(reading.dat == classic(), "every value of the classic file");
  checks.that(reading.notices.empty(), "nothing to remark on in it");
  checks.that(read(text_of(kClassic, "\r\n")).dat == classic(), "Windows line ends");
  checks.that(read(text_of(kClassic, "\r\n")).notices.empty(), "Windows line ends need no remark");
  auto unended = text_of(kClassic);
  unended.pop_back();
  checks.that(read(unended).dat == classic(), "the last line without its end");
  checks.that(read(text_of(kClassic) + "\n \n\n").notices.empty(), "empty lines at the end");
  checks.that(read("\xef\xbb\xbf" + text_of(kClassic)).dat == classic(), "a byte order mark");
  checks.that(read(with(6, "29 30 34 35")).dat == classic(), "no comment");
  checks.that(read(with(6, "29 30 34 35\tNs")).dat == classic(), "a tab before the comment");
  checks.that(read(with(6, "+29 030 34 35 Ns")).dat == classic(), "a sign and a leading zero");
  checks.equal(read(with(6, "0 30 34 35 Ns")).dat.n[0], std::int64_t{0}, "N = 0 is allowed, as in netlib");
  checks.equal(read(with(3, "out/h.txt here")).dat.output_file, std::string("out/h.txt"), "first word of line 3");
  checks.equal(read(with(4, "8")).dat.device, std::int64_t{8}, "another device is a file");
  checks.that(!read(with(28, "1")).dat.l1_transposed && read(with(28, "1")).dat.u_transposed, "L1");
  checks.that(!read(with(29, "1")).dat.u_transposed && !read(with(30, "0")).dat.equilibration, "U, equilibration");
  checks.equal(read(with(13, "1.5e3")).dat.threshold, 1500.0, "a threshold with an exponent");
}

void tolerated(Checks& checks) {
  auto lines = kClassic;
  lines.pop_back();
  checks.equal(noticed(checks, text_of(lines), 31, "missing").alignment, std::int64_t{8}, "line 31 may be missing");
  lines = kClassic;
  for (const auto* more : {"##### separator", "0  Number of additional problem sizes for PTRANS", "1200 values of N"}) {
    lines.emplace_back(more);
  }
  checks.that(noticed(checks, text_of(lines), 32, "ignored") == classic(), "hpcc's lines at the end");
  checks.equal(noticed(checks, with(9, "2"), 9, "0 is taken").mapping, std::int64_t{0}, "PMAP");
  checks.equal(noticed(checks, with(15, "0 1 7"), 15, "2 is taken").pfact[2], std::int64_t{2}, "PFACT");
  checks.equal(noticed(checks, with(21, "0 -1 2"), 21, "2 is taken").rfact[1], std::int64_t{2}, "RFACT");
  checks.equal(noticed(checks, with(23, "6"), 23, "1 is taken").bcast[0], std::int64_t{1}, "BCAST");
  checks.equal(noticed(checks, with(26, "3"), 26, "1 is taken").swap, std::int64_t{1}, "SWAP");
  checks.equal(noticed(checks, with(27, "-5"), 27, "0 is taken").swap_threshold, std::int64_t{0}, "swap threshold");
  checks.that(noticed(checks, with(28, "2"), 28, "0 is taken").l1_transposed, "L1");
  checks.that(noticed(checks, with(29, "-1"), 29, "0 is taken").u_transposed, "U");
  checks.that(noticed(checks, with(30, "2"), 30, "1 is taken").equilibration, "equilibration");
  checks.equal(noticed(checks, with(31, "0"), 31, "4 is taken").alignment, std::int64_t{4}, "alignment");
  checks.equal(noticed(checks, with(13, "-16.0"), 13, "not be checked").threshold, -16.0, "no check");
  checks.that(noticed(checks, with(5, "4", "29 30 34 35 36 Ns"), 6, "the rest is ignored") == classic(), "more values");
  checks.that(noticed(checks, with(6, "  29 30 34 35 Ns"), 6, "read 29 9 30 34 because") == classic(),
              "leading spaces");
  checks.that(noticed(checks, with(6, "29   30 34 35 Ns"), 6, "read 29 30 0 34 because") == classic(), "three spaces");
  checks.that(noticed(checks, with(6, "29 30" + std::string(20, ' ') + "34 35"), 6, "netlib") == classic(), "many");
  checks.that(noticed(checks, with(2, std::string(253, 'x')), 2, "252") == classic(), "a long line");
  checks.that(read(with(2, std::string(252, 'x'))).notices.empty(), "a line that fits netlib's buffer");
  checks.equal(read(with(3, "")).dat.output_file, std::string("HPL.out"), "no file name where none is used");
}

void refusals(Checks& checks) {
  const std::string most = " and at most 2147483647";
  refused(checks, "", 4, "the end of the file", "a whole number");
  refused(checks, "one\ntwo\nHPL.out", 4, "the end of the file", "a whole number");
  refused(checks, with(4, "stdout"), 4, "'stdout'", "a whole number");
  auto lines = kClassic;
  lines[2] = " ";
  lines[3] = "8";
  refused(checks, text_of(lines), 3, "an empty line", "a file name");
  refused(checks, with(3, std::string(253, 'f')), 3, "'" + std::string(40, 'f') + "...'", "a name of at most 252");
  refused(checks, with(5, "0"), 5, "'0'", "a whole number from 1 to 20");
  refused(checks, with(5, "-1"), 5, "'-1'", "a whole number from 1 to 20");
  refused(checks, with(5, "many"), 5, "'many'", "a whole number from 1 to 20");
  refused(checks, with(6, "29 30 34 Ns"), 6, "3 values", "4 values, as line 5 says");
  refused(checks, with(6, "Ns"), 6, "'Ns'", "a whole number of at least 0" + most);
  refused(checks, with(6, ""), 6, "an empty line", "4 values, as line 5 says");
  refused(checks, with(6, "29 -1 34 35"), 6, "'-1'", "a whole number of at least 0" + most);
  refused(checks, with(6, "29 30x 34 35"), 6, "'30x'", "a whole number of at least 0" + most);
  refused(checks, with(6, "29,30,34,35"), 6, "'29,30,34,35'", "a whole number of at least 0" + most);
  refused(checks, with(6, "29 1e5 34 35"), 6, "'1e5'", "a whole number of at least 0" + most);
  refused(checks, with(6, "29 2147483648 34 35"), 6, "'2147483648'", "a whole number of at least 0" + most);
  refused(checks, with(6, "29 99999999999999999999 34 35"), 6, "'99999999999999999999'", "a whole number");
  refused(checks, with(6, "29 +-5 34 35"), 6, "1 value", "4 values");
  refused(checks, with(6, std::string("29 3\0000 34 35", 12)), 6, "'3?0'", "a whole number");
  refused(checks, with(8, "1 0 3 4"), 8, "'0'", "a whole number of at least 1" + most);
  refused(checks, with(9, "row"), 9, "'row'", "a whole number from 0 to 1");
  refused(checks, with(10, "21"), 10, "'21'", "a whole number from 1 to 20");
  refused(checks, with(11, "2 0 4"), 11, "'0'", "a whole number of at least 1" + most);
  refused(checks, with(12, "2 -4 1"), 12, "'-4'", "a whole number of at least 1" + most);
  refused(checks, with(12, "2 4 Qs"), 12, "2 values", "3 values, as line 10 says");
  for (const auto* word : {"nan", "inf", "-inf", "1e999", "16.0f", "high"}) {
    refused(checks, with(13, word), 13, "'" + std::string(word) + "'", "a number, such as 16.0");
  }
  refused(checks, with(15, "0 one 2"), 15, "1 value", "3 values, as line 14 says");
  refused(checks, with(17, "2 0"), 17, "'0'", "a whole number of at least 1" + most);
  refused(checks, with(19, "1"), 19, "'1'", "a whole number of at least 2" + most);
  refused(checks, with(25, "-1"), 25, "'-1'", "a whole number of at least 0" + most);
  refused(checks, with(31, "none"), 31, "'none'", "a whole number");
  for (std::size_t line = 4; line <= 31; ++line) {
    const auto found = "'\?\?" + std::string(38, 'a') + "...'";
    refused(checks, with(line, "\x1b\xff" + std::string(300, 'a')), line, found, "");
    lines = kClassic;
    if (line == 31) continue;
    lines.resize(line - 1);
    refused(checks, text_of(lines), line, "the end of the file", "");
  }
}

void twenty_values(Checks& checks) {
  const auto list = [](int count) {
    std::string text;
    for (int i = 1; i <= count; ++i) text += std::to_string(100 * i) + " ";
    return text;
  };
  const auto reading = read(with(5, "20", list(20) + "Ns"));
  checks.equal(reading.dat.n.size(), std::size_t{20}, "20 values");
  checks.equal(reading.dat.n.back(), std::int64_t{2000}, "the last of 20");
  checks.that(reading.notices.empty(), "20 values need no remark");
  refused(checks, with(5, "21", list(21) + "Ns"), 5, "'21'", "a whole number from 1 to 20");
}

/// What netlib reads: a word with sscanf, atoi of it, on by its length and one; a line without a word repeats the last.
class Netlib {
 public:
  explicit Netlib(const std::string& text) : lines_(text) {}

  void skip() { std::getline(lines_, line_); }

  Values next(std::size_t count) {
    skip();
    Values values;
    std::size_t at = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (at <= line_.size()) {
        std::istringstream rest(line_.substr(at));
        std::string word;
        if (rest >> word) word_ = word;
      }
      at += word_.size() + 1;
      values.push_back(std::atoi(word_.c_str()));
    }
    return values;
  }

  [[nodiscard]] double real() {
    next(1);
    return std::atof(word_.c_str());
  }

  [[nodiscard]] std::int64_t one() { return next(1)[0]; }
  [[nodiscard]] Values list() { return next(static_cast<std::size_t>(one())); }
  [[nodiscard]] std::string word() {
    next(1);
    return word_;
  }

 private:
  std::istringstream lines_;
  std::string line_, word_;
};

Dat as_netlib_reads(const std::string& text) {
  Netlib file(text);
  file.skip();
  file.skip();
  Dat dat;
  dat.output_file = file.word();
  dat.device = file.one();
  dat.n = file.list();
  dat.nb = file.list();
  dat.mapping = file.one();
  const auto grids = static_cast<std::size_t>(file.one());
  dat.p = file.next(grids);
  dat.q = file.next(grids);
  dat.threshold = file.real();
  dat.pfact = file.list();
  dat.nbmin = file.list();
  dat.ndiv = file.list();
  dat.rfact = file.list();
  dat.bcast = file.list();
  dat.depth = file.list();
  dat.swap = file.one();
  dat.swap_threshold = file.one();
  dat.l1_transposed = file.one() == 0;
  dat.u_transposed = file.one() == 0;
  dat.equilibration = file.one() == 1;
  dat.alignment = file.one();
  return dat;
}

using Random = std::mt19937_64;

std::int64_t pick(Random& random, std::int64_t low, std::int64_t high) {
  // By width first, so that short numbers are as common as long ones.
  const auto span = static_cast<std::uint64_t>(high - low);
  const std::uint64_t narrowed = span >> (random() % 32);
  return low + static_cast<std::int64_t>(random() % (narrowed + 1));
}

Values pick_values(Random& random, std::size_t count, std::int64_t low, std::int64_t high) {
  Values values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(pick(random, low, high));
  return values;
}

Dat any_dat(Random& random) {
  const auto count = [&] { return static_cast<std::size_t>(1 + random() % kMostValues); };
  Dat dat;
  dat.output_file = "out" + std::to_string(random() % 1000) + ".txt";
  dat.device = pick(random, 0, 99);
  dat.n = pick_values(random, count(), 0, kMostInt);
  dat.nb = pick_values(random, count(), 1, kMostInt);
  dat.mapping = pick(random, 0, 1);
  dat.p = pick_values(random, count(), 1, kMostInt);
  dat.q = pick_values(random, dat.p.size(), 1, kMostInt);
  dat.threshold = std::uniform_real_distribution<>(1e-6, 100)(random);
  dat.pfact = pick_values(random, count(), 0, 2);
  dat.nbmin = pick_values(random, count(), 1, kMostInt);
  dat.ndiv = pick_values(random, count(), 2, kMostInt);
  dat.rfact = pick_values(random, count(), 0, 2);
  dat.bcast = pick_values(random, count(), 0, 5);
  dat.depth = pick_values(random, count(), 0, kMostInt);
  dat.swap = pick(random, 0, 2);
  dat.swap_threshold = pick(random, 0, kMostInt);
  dat.l1_transposed = random() % 2 == 0;
  dat.u_transposed = random() % 2 == 0;
  dat.equilibration = random() % 2 == 0;
  dat.alignment = pick(random, 1, kMostInt);
  return dat;
}

void round_trip(Checks& checks) {
  Random random(20181202);
  for (int i = 0; i < 300; ++i) {
    const Dat dat = any_dat(random);
    const auto text = format_dat(dat);
    const auto reading = read(text);
    checks.that(reading.dat == dat, "what was written is read: " + text);
    checks.that(reading.notices.empty(), "without a notice: " + text);
    checks.that(as_netlib_reads(text) == dat, "netlib reads it too: " + text);
    checks.equal(format_dat(reading.dat), text, "written again");
    checks.equal(std::count(text.begin(), text.end(), '\n'), std::ptrdiff_t{31}, "lines");
  }
  checks.equal(format_dat(classic()).substr(0, 31), text_of(kClassic).substr(0, 31), "the first line");
  auto lines = kClassic;
  lines[1] = "Written by Shakedown";
  checks.equal(format_dat(classic()), text_of(lines), "the classic file, byte by byte");
}

void unwritable(Checks& checks) {
  const auto spoilt = [&](const std::string& what, auto&& spoil) {
    Dat dat;
    spoil(dat);
    checks.throws<Error>([&] { format_dat(dat); }, what);
  };
  format_dat(Dat{});
  spoilt("no N", [](Dat& dat) { dat.n.clear(); });
  spoilt("21 NBs", [](Dat& dat) { dat.nb.assign(21, 8); });
  spoilt("P without Q", [](Dat& dat) { dat.p = {1, 2}; });
  spoilt("N < 0", [](Dat& dat) { dat.n = {-1}; });
  spoilt("N over netlib's int", [](Dat& dat) { dat.n = {kMostInt + 1}; });
  spoilt("NDIV 1", [](Dat& dat) { dat.ndiv = {1}; });
  spoilt("BCAST 6", [](Dat& dat) { dat.bcast = {6}; });
  spoilt("SWAP 3", [](Dat& dat) { dat.swap = 3; });
  spoilt("mapping 2", [](Dat& dat) { dat.mapping = 2; });
  spoilt("swapping threshold -1", [](Dat& dat) { dat.swap_threshold = -1; });
  spoilt("alignment 0", [](Dat& dat) { dat.alignment = 0; });
  spoilt("no threshold", [](Dat& dat) { dat.threshold = std::numeric_limits<double>::quiet_NaN(); });
  for (const auto* name : {"", "two words", " led", "line\nend"}) {
    spoilt("a file name of other than one word", [&](Dat& dat) { dat.output_file = name; });
  }
}

/// Reads what must be refused or understood; what is understood must be stable.
void survives(Checks& checks, const std::string& text) {
  try {
    const auto dat = read(text).dat;
    checks.that(read(format_dat(dat)).dat == dat, "understood, and stable: " + text);
  } catch (const Error& error) {
    if (error.code != kUsage) checks.that(false, std::string("another error: ") + error.what());
  }
}

void fuzz(Checks& checks) {
  Random random(31);
  for (int i = 0; i < 2000; ++i) {
    std::string noise(random() % 600, '\0');
    for (auto& c : noise) c = static_cast<char>(random() % 256);
    survives(checks, noise);
  }
  const std::string classic_text = text_of(kClassic);
  const std::string likely = "0123456789 \t\r\n-+.eEx,";
  int understood = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = classic_text;
    for (std::uint64_t hits = 1 + random() % 4; hits > 0 && !text.empty(); --hits) {
      const std::size_t at = random() % text.size();
      const char c = random() % 4 == 0 ? static_cast<char>(random() % 256) : likely[random() % likely.size()];
      switch (random() % 4) {
        case 0:
          text[at] = c;
          break;
        case 1:
          text.insert(at, 1, c);
          break;
        case 2:
          text.erase(at, 1 + random() % 3);
          break;
        default:
          text.resize(at + 1);
      }
    }
    try {
      std::vector<std::string> notices;
      const Dat dat = parse_dat(text, "fuzz", notices);
      checks.that(read(format_dat(dat)).dat == dat, "stable: " + text);
      ++understood;
    } catch (const Error& error) {
      if (error.code != kUsage) checks.that(false, error.what());
    }
  }
  checks.that(understood > 1000, "some of the damaged files are still understood");
}

/// Where we understand a file and remark on nothing, netlib reads the same.
void agrees_with_netlib(Checks& checks) {
  Random random(2023);
  int compared = 0;
  for (int i = 0; i < 3000; ++i) {
    auto lines = kClassic;
    for (int hits = 0; hits < 3; ++hits) {
      auto& line = lines[4 + random() % 27];
      const std::size_t at = random() % (line.size() + 1);
      line.insert(at, 1, " 0123"[random() % 5]);
    }
    const auto text = text_of(lines);
    try {
      const auto reading = read(text);
      if (!reading.notices.empty()) continue;
      checks.that(reading.dat == as_netlib_reads(text), "netlib reads the same: " + text);
      ++compared;
    } catch (const Error&) {
      continue;
    }
  }
  checks.that(compared > 500, "many files were compared");
}

void meaningless(Checks& checks) {
  Dat dat;
  checks.equal(ignored(dat).size(), std::size_t{4}, "L1, U, equilibration, alignment");
  dat.swap = 1;
  checks.equal(ignored(dat).size(), std::size_t{5}, "and the threshold of a swap that has none");
  dat.l1_transposed = false;
  const auto words = ignored(dat);
  for (const auto* part : {"swapping threshold 64 (line 27)", "L1 no-transposed (line 28)", "U transposed (line 29)",
                           "equilibration yes (line 30)", "alignment 8 (line 31)"}) {
    const auto says = [&](const std::string& text) { return text.starts_with(part); };
    checks.that(std::any_of(words.begin(), words.end(), says), part);
  }
}

void sweep(Checks& checks) {
  Dat dat = classic();
  dat.ndiv = {2, 3};
  checks.equal(ranks_needed(dat), std::int64_t{4}, "ranks");
  checks.equal(run_count(dat), std::uint64_t{3} * 4 * 4 * 3 * 3 * 2 * 2, "runs");
  std::set<std::vector<std::int64_t>> seen;
  for (std::uint64_t i = 0; i < run_count(dat); ++i) {
    const auto run = run_at(dat, i);
    seen.insert({run.n, run.nb, run.p, run.q, run.depth, run.bcast, run.rfact, run.pfact, run.nbmin, run.ndiv});
  }
  checks.equal(seen.size(), static_cast<std::size_t>(run_count(dat)), "every run once");
  checks.equal(run_at(dat, 1).ndiv, std::int64_t{3}, "NDIV changes fastest");
  checks.equal(run_at(dat, 2).nbmin, std::int64_t{4}, "then NBMIN");
  checks.equal(run_at(dat, 4).pfact, std::int64_t{1}, "then PFACT");
  checks.equal(run_at(dat, 12).rfact, std::int64_t{1}, "then RFACT");
  checks.equal(run_at(dat, 36).nb, std::int64_t{2}, "then NB");
  checks.equal(run_at(dat, 144).n, std::int64_t{30}, "then N");
  checks.that(run_at(dat, 576).p == 1 && run_at(dat, 576).q == 4, "and the grid last");
  for (auto* values :
       {&dat.n, &dat.nb, &dat.p, &dat.q, &dat.pfact, &dat.nbmin, &dat.ndiv, &dat.rfact, &dat.bcast, &dat.depth}) {
    values->assign(kMostValues, 2);
  }
  checks.equal(run_count(dat), std::uint64_t{512000000000}, "20 to the ninth");
}

}  // namespace
}  // namespace shakedown::hpl

int main() {
  using namespace shakedown::hpl;
  shakedown::Checks checks;
  classic_is_read(checks);
  tolerated(checks);
  refusals(checks);
  twenty_values(checks);
  round_trip(checks);
  unwritable(checks);
  fuzz(checks);
  agrees_with_netlib(checks);
  meaningless(checks);
  sweep(checks);
  return checks.end();
}
