// The command line over HPL.dat: what is taken, what is refused and in which words, and the name xhpl.
#include "options.hpp"

#include <algorithm>

#include "testing/check.hpp"

namespace {

using namespace shakedown::hpl;
using shakedown::Checks;
using shakedown::Error;

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> argv(words.size());
  std::transform(words.begin(), words.end(), argv.begin(), [](auto& word) { return word.data(); });
  return argv;
}

Options read(std::vector<std::string> words, const std::optional<std::string>& dat = std::nullopt,
             const std::string& name = "/some/where/hpl") {
  words.insert(words.begin(), name);
  auto argv = pointers(words);
  std::vector<std::string> notices;
  return read_options(static_cast<int>(argv.size()), argv.data(), dat, notices);
}

std::string named_dat(std::vector<std::string> words) {
  auto argv = pointers(words);
  return dat_file_of(static_cast<int>(argv.size()), argv.data());
}

void refused(Checks& checks, const std::vector<std::string>& words, const std::string& said) {
  std::string line = "hpl";
  for (const auto& word : words) line.append(" ").append(word);
  try {
    read(words);
    checks.that(false, line + " was taken");
  } catch (const Error& error) {
    const std::string text = error.what();
    checks.equal(static_cast<int>(error.code), 2, line + ": a usage error");
    checks.that(text.find(said) != std::string::npos, line + " says: " + text);
  }
}

void lists(Checks& checks) {
  const Options none = read({});
  checks.that(none.own_grid && none.sweep.p.empty() && run_count(none.sweep) == 0, "the grid is chosen later");
  checks.equal(none.sweep.threshold, 16.0, "netlib's threshold");
  const Options o = read({"--n",
                          "10,20",
                          "--nb=4,5,6",
                          "--p",
                          "1,2",
                          "--q",
                          "2,1",
                          "--bcast",
                          "0,2ringM,long",
                          "--depth",
                          "0,3",
                          "--pfact",
                          "left,1,right",
                          "--rfact",
                          "crout",
                          "--nbmin",
                          "2",
                          "--ndiv",
                          "3",
                          "--swap",
                          "long",
                          "--mapping",
                          "column",
                          "--swap-threshold",
                          "9",
                          "--threshold",
                          "-1"});
  checks.that(o.sweep.n == Values{10, 20} && o.sweep.nb == Values{4, 5, 6}, "N and NB");
  checks.that(!o.own_grid && o.sweep.p == Values{1, 2} && o.sweep.q == Values{2, 1}, "grids");
  checks.that(o.sweep.bcast == Values{0, 3, 4} && o.sweep.pfact == Values{0, 1, 2} && o.sweep.rfact == Values{1},
              "words or codes");
  checks.equal(run_count(o.sweep), 2U * 3 * 2 * 3 * 2 * 3, "are swept");
  const Config config = config_of(o, run_at(o.sweep, 0));
  checks.that(config.n == 10 && config.nb == 4 && config.p == 1 && config.q == 2 && config.column_major &&
                  config.depth == 0 && config.broadcast == Broadcast::ring && config.pfact == Looking::left &&
                  config.rfact == Looking::crout && config.nbmin == 2 && config.ndiv == 3 &&
                  config.exchange == Exchange::spread && config.exchange_threshold == 9,
              "the first of them");
  Variant wide = run_at(o.sweep, 0);
  wide.n = 3;
  checks.equal(config_of(o, wide).nb, 3, "a block is never wider than the matrix");
  checks.that(read({"--n", "auto"}).n_auto, "N may be left to the program");
  checks.equal(read({"--n", "2147483647"}).sweep.n[0], 2147483647, "the largest order of an HPL.dat");
  checks.that(read({"--inject", "nan"}).inject == Inject::nan, "damage for tests");
}

void refusals(Checks& checks) {
  refused(checks, {"--n", "0"}, "--n");
  refused(checks, {"--n", "x"}, "--n");
  refused(checks, {"--n", "1e5"}, "--n");
  refused(checks, {"--n", "2147483648"}, "2147483647");
  refused(checks, {"--n", "99999999999999999999"}, "--n");
  refused(checks, {"--nb", "0"}, "--nb");
  refused(checks, {"--nb", "-4"}, "--nb");
  refused(checks, {"--p", "1,2", "--q", "1"}, "in pairs");
  refused(checks, {"--p", "2"}, "in pairs");
  refused(checks, {"--p", "0", "--q", "1"}, "--p");
  refused(checks, {"--bcast", "7"}, "known: 0 1ring, 1 1ringM");
  refused(checks, {"--pfact", "up"}, "0 left, 1 crout, 2 right");
  refused(checks, {"--swap", "none"}, "binary");
  refused(checks, {"--trsm", "fast"}, "recursive");
  refused(checks, {"--mapping", "diagonal"}, "row");
  refused(checks, {"--ndiv", "1"}, "--ndiv");
  refused(checks, {"--nbmin", "0"}, "--nbmin");
  refused(checks, {"--depth", "-1"}, "--depth");
  refused(checks, {"--depth", "17"}, "above 16");
  refused(checks, {"--split", "1.5"}, "--split");
  refused(checks, {"--split", "nan"}, "--split");
  refused(checks, {"--memory-share", "2"}, "--memory-share");
  refused(checks, {"--segment", "7"}, "--segment");
  refused(checks, {"--windows", "1,0"}, "share of N");
  refused(checks, {"--windows", "1.5"}, "share of N");
  refused(checks, {"--samples", "0"}, "--samples");
  refused(checks, {"--threads", "-1"}, "--threads");
  refused(checks, {"--pages", "large"}, "huge");
  refused(checks, {"--inject", "all"}, "singular");
  refused(checks, {"--treads", "2"}, "did you mean --threads");
  refused(checks, {"stray"}, "stray");
  std::string many = "1";
  for (int i = 2; i <= 21; ++i) many.append(",").append(std::to_string(i));
  refused(checks, {"--n", many}, "at most 20");
  refused(checks, {"--nb", many}, "at most 20");
}

void files(Checks& checks) {
  Dat dat;
  dat.n = {30, 40};
  dat.nb = {8};
  dat.p = {2};
  dat.q = {3};
  dat.device = 8;
  dat.output_file = "HPL.text";
  const std::string text = format_dat(dat);
  const Options from_file = read({"--dat", "HPL.dat"}, text);
  checks.that(!from_file.own_grid && from_file.sweep == dat, "an HPL.dat as it is");
  const Options over = read({"--dat", "HPL.dat", "--n", "50", "--bcast", "long"}, text);
  checks.that(over.sweep.n == Values{50} && over.sweep.bcast == Values{4} && over.sweep.nb == Values{8} &&
                  over.sweep.q == Values{3},
              "options replace its values");
  checks.equal(named_dat({"hpl"}), "", "hpl reads none");
  checks.equal(named_dat({"hpl", "--dat", "a.dat"}), "a.dat", "but the one that is named");
  checks.equal(named_dat({"hpl", "--dat=b.dat"}), "b.dat", "either way");
  checks.equal(named_dat({"/opt/bin/xhpl"}), "HPL.dat", "xhpl reads HPL.dat");
  checks.equal(named_dat({"xhpl", "--dat", "c.dat"}), "c.dat", "or the one that is named");
}

/// Started as xhpl: netlib's text goes where the file says, the events to a file of their own.
void as_xhpl(Checks& checks) {
  Dat dat;
  dat.output_file = "HPL.text";
  for (const auto& [device, place] : {std::pair{6, "-"}, {7, "2"}, {8, "HPL.text"}}) {
    dat.device = device;
    const Options o = read({}, format_dat(dat), "./xhpl");
    checks.equal(o.netlib_file, place, "device " + std::to_string(device));
    checks.equal(o.events_file, "HPL.events.jsonl", "the events");
  }
  const Options named = read({"--netlib", "mine", "--events", "-"}, format_dat(dat), "./xhpl");
  checks.that(named.netlib_file == "mine" && named.events_file == "-", "unless they are named");
  checks.that(read({}).events, "hpl prints events");
  checks.that(!read({"--netlib", "-"}).events, "unless netlib's text goes there");
  checks.that(read({"--netlib", "-", "--events", "e"}).events, "and they have a file");
  checks.that(read({"--netlib", "file"}).events, "or the text has");
}

}  // namespace

int main() {
  Checks checks;
  lists(checks);
  refusals(checks);
  files(checks);
  as_xhpl(checks);
  return checks.end();
}
