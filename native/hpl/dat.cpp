#include "dat.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "common/error.hpp"

namespace shakedown::hpl {
namespace {

constexpr std::size_t kLines = 31;
constexpr std::size_t kNetlibBuffer = 253;  // characters that netlib's fgets takes of a line, its end included
constexpr std::size_t kCommentColumn = 13;
constexpr std::string_view kSpaces = " \t\v\f\r";

/// What values an item may have; one outside becomes `otherwise`, or is refused where there is none.
struct Range {
  std::int64_t low;
  std::int64_t high;
  std::optional<std::int64_t> otherwise;
};

struct List {
  const char* name;
  Values Dat::*values;
  std::size_t count_line;
  std::size_t line;
  const char* count_comment;
  const char* comment;
  Range range;
};

struct Single {
  const char* name;
  std::size_t line;
  const char* comment;
  Range range;
};

const std::array<List, 10> kLists = {{
    {"N", &Dat::n, 5, 6, "# of problems sizes (N)", "Ns", {0, kMostInt, {}}},
    {"NB", &Dat::nb, 7, 8, "# of NBs", "NBs", {1, kMostInt, {}}},
    {"P", &Dat::p, 10, 11, "# of process grids (P x Q)", "Ps", {1, kMostInt, {}}},
    {"Q", &Dat::q, 10, 12, "# of process grids (P x Q)", "Qs", {1, kMostInt, {}}},
    {"PFACT", &Dat::pfact, 14, 15, "# of panel fact", "PFACTs (0=left, 1=Crout, 2=Right)", {0, 2, 2}},
    {"NBMIN", &Dat::nbmin, 16, 17, "# of recursive stopping criterium", "NBMINs (>= 1)", {1, kMostInt, {}}},
    {"NDIV", &Dat::ndiv, 18, 19, "# of panels in recursion", "NDIVs", {2, kMostInt, {}}},
    {"RFACT", &Dat::rfact, 20, 21, "# of recursive panel fact.", "RFACTs (0=left, 1=Crout, 2=Right)", {0, 2, 2}},
    {"BCAST", &Dat::bcast, 22, 23, "# of broadcast", "BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)", {0, 5, 1}},
    {"DEPTH", &Dat::depth, 24, 25, "# of lookahead depth", "DEPTHs (>=0)", {0, kMostInt, {}}},
}};

const Single kDevice = {"device", 4, "device out (6=stdout,7=stderr,file)", {-kMostInt, kMostInt, {}}};
const Single kMapping = {"PMAP", 9, "PMAP process mapping (0=Row-,1=Column-major)", {0, 1, 0}};
const Single kSwap = {"SWAP", 26, "SWAP (0=bin-exch,1=long,2=mix)", {0, 2, 1}};
const Single kSwapThreshold = {"swapping threshold", 27, "swapping threshold", {0, kMostInt, 0}};
const Single kL1 = {"L1 form", 28, "L1 in (0=transposed,1=no-transposed) form", {0, 1, 0}};
const Single kU = {"U form", 29, "U  in (0=transposed,1=no-transposed) form", {0, 1, 0}};
const Single kEquilibration = {"equilibration", 30, "Equilibration (0=no,1=yes)", {0, 1, 1}};
const Single kAlignment = {"alignment", 31, "memory alignment in double (> 0)", {1, kMostInt, 4}};

/// For a message: at most 40 characters, without what a terminal would not print.
std::string quoted(std::string_view found) {
  std::string text = "'";
  for (const char c : found.substr(0, 40)) text += c >= ' ' && c <= '~' ? c : '?';
  return text + (found.size() > 40 ? "...'" : "'");
}

std::string expectation(const Range& range) {
  if (range.low == -kMostInt) return "a whole number";
  if (range.high == kMostInt) {
    return "a whole number of at least " + std::to_string(range.low) + " and at most " + std::to_string(kMostInt);
  }
  return "a whole number from " + std::to_string(range.low) + " to " + std::to_string(range.high);
}

bool within(const Range& range, std::int64_t value) { return value >= range.low && value <= range.high; }

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (auto begin = line.find_first_not_of(kSpaces); begin != std::string_view::npos;) {
    const auto end = std::min(line.find_first_of(kSpaces, begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(kSpaces, end);
  }
  return words;
}

/// A whole word as a number; nothing where it is not one or does not fit.
template <class Number>
std::optional<Number> number(std::string_view word) {
  if (word.size() > 1 && word[0] == '+' && word[1] != '-') word.remove_prefix(1);
  Number value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size()) return {};
  return value;
}

std::optional<std::int64_t> integer(std::string_view word) { return number<std::int32_t>(word); }

bool begins_as_number(std::string_view word) {
  const std::size_t first = word.starts_with('-') || word.starts_with('+') ? 1 : 0;
  return word.size() > first && word[first] >= '0' && word[first] <= '9';
}

/// The first words of a line as netlib finds them: after each it moves on by the length of the word and one, counted
/// from where it began to look and not from where the word was. It so lags behind, and never passes a word unread.
std::vector<std::string_view> netlib_words(std::string_view line, std::size_t count) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; words.size() < count; at += words.back().size() + 1) {
    const auto rest = words_of(line.substr(std::min(at, line.size())));
    if (rest.empty()) break;
    words.push_back(rest[0]);
  }
  return words;
}

std::string joined(const std::vector<std::string_view>& words) {
  std::string text;
  for (const auto word : words) text.append(text.empty() ? "" : " ").append(word);
  return text;
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& name, std::vector<std::string>& notices)
      : name_(name), notices_(notices) {
    while (!text.empty() && lines_.size() < kLines) {
      const auto end = std::min(text.find('\n'), text.size());
      lines_.push_back(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    more_ = text.find_first_not_of(" \t\v\f\r\n") != std::string_view::npos;
  }

  [[nodiscard]] bool has(std::size_t line) const { return line <= lines_.size(); }

  void note(std::size_t line, const std::string& text) { notices_.push_back(at(line) + ": " + text); }

  [[nodiscard]] Error wrong(std::size_t line, const std::string& item, const std::string& found,
                            const std::string& expected) const {
    return usage(at(line) + " (" + item + "): found " + found + ", expected " + expected,
                 "an HPL.dat has 31 lines in a fixed order, values before comments; native/hpl/README.md lists them");
  }

  /// The words of a line, at least one.
  [[nodiscard]] std::vector<std::string_view> words(std::size_t line, const std::string& item,
                                                    const std::string& expected) const {
    if (!has(line)) throw wrong(line, item, "the end of the file", expected);
    auto found = words_of(lines_[line - 1]);
    if (found.empty()) throw wrong(line, item, "an empty line", expected);
    return found;
  }

  std::int64_t integer_in(std::size_t line, const std::string& item, const Range& range, std::string_view word) {
    const auto value = integer(word);
    if (value && within(range, *value)) return *value;
    if (!value || !range.otherwise) throw wrong(line, item, quoted(word), expectation(range));
    note(line, item + " " + std::to_string(*value) + " is not " + expectation(range) + ": " +
                   std::to_string(*range.otherwise) + " is taken, as netlib HPL does");
    return *range.otherwise;
  }

  std::int64_t single(const Single& item) {
    return integer_in(item.line, item.name, item.range, words(item.line, item.name, expectation(item.range))[0]);
  }

  Values list(const List& item) {
    const Range counts = {1, static_cast<std::int64_t>(kMostValues), {}};
    const std::string counted = std::string("number of values of ") + (item.count_line == 10 ? "P and Q" : item.name);
    const auto count_words = words(item.count_line, counted, expectation(counts));
    const auto count = static_cast<std::size_t>(integer_in(item.count_line, counted, counts, count_words[0]));
    const std::string expected = std::to_string(count) + (count == 1 ? " value" : " values") + ", as line " +
                                 std::to_string(item.count_line) + " says";
    const auto found = words(item.line, item.name, expected);
    Values values;
    for (const auto word : found) {
      if (values.size() == count) break;
      if (!values.empty() && !begins_as_number(word)) break;
      values.push_back(integer_in(item.line, item.name, item.range, word));
    }
    if (values.size() < count) {
      throw wrong(item.line, item.name, std::to_string(values.size()) + (values.size() == 1 ? " value" : " values"),
                  expected);
    }
    compare_spacing(item, found, count);
    return values;
  }

  double threshold() {
    constexpr std::size_t kLine = 13;
    const std::string expected = "a number, such as 16.0";
    const auto word = words(kLine, "threshold", expected)[0];
    const auto value = number<double>(word);
    if (!value || !std::isfinite(*value)) throw wrong(kLine, "threshold", quoted(word), expected);
    if (*value <= 0) note(kLine, "threshold " + std::string(word) + " is not above 0: the results will not be checked");
    return *value;
  }

  std::string output_file(std::int64_t device) {
    constexpr std::size_t kLine = 3;
    const auto found = words_of(lines_[kLine - 1]);
    if (!found.empty() && found[0].size() < kNetlibBuffer) return std::string(found[0]);
    if (!found.empty()) throw wrong(kLine, "output file", quoted(found[0]), "a name of at most 252 characters");
    if (device != kStdout && device != kStderr) {
      throw wrong(kLine, "output file", "an empty line", "a file name, as the device of line 4 is a file");
    }
    return Dat{}.output_file;
  }

  /// What the file holds beyond its values.
  void remark_on_rest() {
    for (std::size_t line = 1; line <= lines_.size(); ++line) {
      if (lines_[line - 1].size() < kNetlibBuffer) continue;
      note(line, "longer than the " + std::to_string(kNetlibBuffer - 1) +
                     " characters that netlib HPL reads of a line: it would take the rest for the next line");
    }
    if (more_) note(kLines + 1, "ignored, with all lines after it: an HPL.dat ends with line 31");
  }

 private:
  [[nodiscard]] std::string at(std::size_t line) const { return name_ + ", line " + std::to_string(line); }

  void compare_spacing(const List& item, const std::vector<std::string_view>& found, std::size_t count) {
    const std::vector<std::string_view> values(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count));
    if (found.size() > count && integer(found[count])) {
      note(item.line, "more values of " + std::string(item.name) + " than the " + std::to_string(count) +
                          " that line " + std::to_string(item.count_line) + " counts: the rest is ignored");
    }
    const auto netlib = netlib_words(lines_[item.line - 1], count);
    if (netlib == values) return;
    note(item.line, std::string(item.name) + " is " + joined(values) + " here; netlib HPL would read " +
                        joined(netlib) + " because it expects one space between values and none before them");
  }

  std::string name_;
  std::vector<std::string>& notices_;
  std::vector<std::string_view> lines_;
  bool more_ = false;
};

std::string number_text(double value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  std::string word(text.data(), end);
  return word.find_first_of(".e") == std::string::npos ? word + ".0" : word;
}

void check_value(const char* name, const Range& range, std::int64_t value) {
  if (within(range, value)) return;
  throw usage(std::string(name) + " " + std::to_string(value) + " cannot go into an HPL.dat: expected " +
              expectation(range));
}

void check(const Dat& dat) {
  for (const auto& item : kLists) {
    const auto& values = dat.*item.values;
    if (values.empty() || values.size() > kMostValues) {
      throw usage(std::to_string(values.size()) + " values of " + item.name +
                  " cannot go into an HPL.dat: expected 1 to " + std::to_string(kMostValues));
    }
    for (const auto value : values) check_value(item.name, item.range, value);
  }
  if (dat.p.size() != dat.q.size()) {
    throw usage(std::to_string(dat.p.size()) + " values of P and " + std::to_string(dat.q.size()) +
                " of Q cannot go into an HPL.dat: expected as many of each, as they are paired");
  }
  check_value(kDevice.name, kDevice.range, dat.device);
  check_value(kMapping.name, kMapping.range, dat.mapping);
  check_value(kSwap.name, kSwap.range, dat.swap);
  check_value(kSwapThreshold.name, kSwapThreshold.range, dat.swap_threshold);
  check_value(kAlignment.name, kAlignment.range, dat.alignment);
  if (!std::isfinite(dat.threshold)) throw usage("a threshold that is not finite cannot go into an HPL.dat");
  const auto& name = dat.output_file;
  if (name.empty() || name.size() >= kNetlibBuffer || name.find_first_of(" \t\v\f\r\n") != std::string::npos) {
    throw usage("the output file " + quoted(name) + " cannot go into an HPL.dat: expected one word");
  }
}

/// A value and its comment; the comment is left out where netlib's buffer would not hold the line.
std::string line_of(std::string text, const std::string& comment) {
  const std::size_t pad = text.size() < kCommentColumn ? kCommentColumn - text.size() : 1;
  if (text.size() + pad + comment.size() < kNetlibBuffer) text += std::string(pad, ' ') + comment;
  return text + "\n";
}

std::string line_of(std::int64_t value, const char* comment) { return line_of(std::to_string(value), comment); }

std::string lines_of(const Dat& dat, const List& item) {
  const auto& values = dat.*item.values;
  std::string text;
  for (const auto value : values) text.append(text.empty() ? "" : " ").append(std::to_string(value));
  const bool shares_count = item.line != item.count_line + 1;
  return (shares_count ? "" : line_of(static_cast<std::int64_t>(values.size()), item.count_comment)) +
         line_of(text, item.comment);
}

}  // namespace

Dat parse_dat(std::string_view text, const std::string& name, std::vector<std::string>& notices) {
  Reader reader(text, name, notices);
  Dat dat;
  dat.device = reader.single(kDevice);
  dat.output_file = reader.output_file(dat.device);
  for (const auto& item : kLists) {  // in the order of the lines, so that the first one wrong is the one named
    if (item.values == &Dat::p) dat.mapping = reader.single(kMapping);
    if (item.values == &Dat::pfact) dat.threshold = reader.threshold();
    dat.*item.values = reader.list(item);
  }
  dat.swap = reader.single(kSwap);
  dat.swap_threshold = reader.single(kSwapThreshold);
  dat.l1_transposed = reader.single(kL1) == 0;
  dat.u_transposed = reader.single(kU) == 0;
  dat.equilibration = reader.single(kEquilibration) == 1;
  if (reader.has(kAlignment.line)) {
    dat.alignment = reader.single(kAlignment);
  } else {
    reader.note(kAlignment.line, "missing: the alignment is " + std::to_string(dat.alignment) +
                                     "; netlib HPL would take the number of line 30 for it");
  }
  reader.remark_on_rest();
  return dat;
}

std::string format_dat(const Dat& dat) {
  check(dat);
  std::string text = "HPLinpack benchmark input file\nWritten by Shakedown\n";
  text += line_of(dat.output_file, "output file name (if any)");
  text += line_of(dat.device, kDevice.comment);
  for (const auto& item : kLists) {
    if (item.values == &Dat::p) text += line_of(dat.mapping, kMapping.comment);
    if (item.values == &Dat::pfact) text += line_of(number_text(dat.threshold), "threshold");
    text += lines_of(dat, item);
  }
  text += line_of(dat.swap, kSwap.comment);
  text += line_of(dat.swap_threshold, kSwapThreshold.comment);
  text += line_of(dat.l1_transposed ? 0 : 1, kL1.comment);
  text += line_of(dat.u_transposed ? 0 : 1, kU.comment);
  text += line_of(dat.equilibration ? 1 : 0, kEquilibration.comment);
  text += line_of(dat.alignment, kAlignment.comment);
  return text;
}

std::vector<std::string> ignored(const Dat& dat) {
  std::vector<std::string> words;
  if (dat.swap != 2) {
    words.push_back("swapping threshold " + std::to_string(dat.swap_threshold) +
                    " (line 27): only the swap 2, mix, has a threshold");
  }
  words.push_back(std::string("L1 ") + (dat.l1_transposed ? "transposed" : "no-transposed") +
                  " (line 28): how the triangle of a panel is stored is the program's own choice");
  words.push_back(std::string("U ") + (dat.u_transposed ? "transposed" : "no-transposed") +
                  " (line 29): how the rows of U are stored is the program's own choice");
  words.push_back(std::string("equilibration ") + (dat.equilibration ? "yes" : "no") +
                  " (line 30): how the exchange of rows is balanced is the program's own choice");
  words.push_back("alignment " + std::to_string(dat.alignment) +
                  " (line 31): buffers are aligned as the program needs");
  return words;
}

std::int64_t ranks_needed(const Dat& dat) {
  std::int64_t most = 0;
  for (std::size_t i = 0; i < std::min(dat.p.size(), dat.q.size()); ++i) most = std::max(most, dat.p[i] * dat.q[i]);
  return most;
}

std::uint64_t run_count(const Dat& dat) {
  std::uint64_t count = std::min(dat.p.size(), dat.q.size());
  for (const auto* values : {&dat.n, &dat.nb, &dat.depth, &dat.bcast, &dat.rfact, &dat.pfact, &dat.nbmin, &dat.ndiv}) {
    count *= values->size();
  }
  return count;
}

Variant run_at(const Dat& dat, std::uint64_t index) {
  const auto take = [&index](const Values& values) {
    const auto value = values[index % values.size()];
    index /= values.size();
    return value;
  };
  Variant run{};  // the innermost loop is the lowest digit
  run.ndiv = take(dat.ndiv);
  run.nbmin = take(dat.nbmin);
  run.pfact = take(dat.pfact);
  run.rfact = take(dat.rfact);
  run.bcast = take(dat.bcast);
  run.depth = take(dat.depth);
  run.nb = take(dat.nb);
  run.n = take(dat.n);
  run.p = dat.p.at(index);
  run.q = dat.q.at(index);
  return run;
}

}  // namespace shakedown::hpl
