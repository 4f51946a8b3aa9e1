#include "options.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "common/affinity.hpp"
#include "common/args.hpp"
#include "common/writable.hpp"

namespace shakedown::fft {
namespace {

/// Two flags of a list of words, of which it holds at least one and no other but "both".
void choose(const std::string& argument, const std::vector<std::string>& given,
            const std::vector<std::pair<std::string, bool*>>& known) {
  const std::string hint = "known: " + known[0].first + ", " + known[1].first + ", both";
  bool any = false;
  for (const auto& word : given) {
    if (word == "both") {
      any = *known[0].second = *known[1].second = true;
      continue;
    }
    const auto found = std::find_if(known.begin(), known.end(), [&](const auto& one) { return one.first == word; });
    if (found == known.end())
      throw usage(std::string("--").append(argument).append(": unknown word '").append(word).append("'"), hint);
    any = *found->second = true;
  }
  if (!any) throw usage("--" + argument + " is empty", hint);
}

Effort effort_of(const std::string& word) {
  if (word == "estimate") return Effort::estimate;
  if (word == "measure") return Effort::measure;
  if (word == "patient") return Effort::patient;
  throw usage("--plan '" + word + "'", "known: estimate, measure, patient");
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Args args(argc, argv, "fft: complex transforms by a library with FFTW's interface, verified");
  Options o;
  o.library = args.text("library", "auto", "path of the library, or fftw, mkl, armpl, nvpl; auto: the first of these");
  o.label = args.text("label", "", "what the cases call the library (default: the name and version that it gives)");
  const auto sizes = args.words("sizes", "256,1024,4096,16384,65536,262144,1048576",
                                "lengths of the transforms between commas; 1024x1024 and 128x128x128 have dimensions");
  o.threads = args.integers("threads", std::to_string(usable_cores()), 1,
                            "numbers of threads, one case each (default: one for each core)");
  o.cpus = args.text("cpus", "", "CPUs to use, in order: t threads take the first t (default: cores first, spread)");
  const auto precision = args.words("precision", "d", "d (double), s (single) or both");
  const auto batch =
      args.words("batch", "together", "together: one transform by all threads; each: every thread its own; or both");
  const auto data =
      args.words("data", "warm", "warm: the same arrays again; cold: arrays that no cache holds; or both");
  o.plan = args.text("plan", "measure", "effort of the planner: estimate, measure or patient");
  o.plan_limit = args.real("plan-limit", 0, 0, "seconds after which the planner takes what it has (0: no limit)");
  o.wisdom = args.text("wisdom", "", "file of plans found before, to be read first (fftw-wisdom makes such)");
  o.save_wisdom = args.text("save-wisdom", "", "file to write the plans to that were found");
  o.samples = args.integer("samples", 5, 1, "at least so many samples for each case");
  o.seconds = args.real("seconds", 0, 0, "repeat each case for at least so many seconds");
  o.sample_flop = args.real("sample-flop", 5e8, 1, "a sample is one call, or as many as do at least so much");
  o.seed = args.integer("seed", 1, 0, "chooses the modes of the check");
  o.page_word = args.text("pages", "huge", "huge, base or hugetlb pages for the arrays");
  o.verify = !args.flag("no-verify", "leave the check out");
  args.finish();
  o.pages = parse_pages(o.page_word);
  o.effort = effort_of(o.plan);
  for (const auto& word : sizes) o.shapes.push_back(parse_shape(word));
  if (o.shapes.empty() || o.threads.empty()) throw usage("nothing to measure", "give --sizes and --threads");
  choose("precision", precision, {{"d", &o.in_double}, {"s", &o.in_single}});
  choose("batch", batch, {{"together", &o.together}, {"each", &o.each}});
  choose("data", data, {{"warm", &o.warm}, {"cold", &o.cold}});
  if (!o.wisdom.empty() && access(o.wisdom.c_str(), R_OK) != 0)
    throw usage("--wisdom: cannot read " + o.wisdom + ": " + std::strerror(errno),
                "name a file that fftw-wisdom or --save-wisdom wrote");
  if (!o.save_wisdom.empty() && o.in_double && o.in_single)
    throw usage("--save-wisdom holds one precision", "take --precision d or s");
  require_writable("save-wisdom", o.save_wisdom);
  return o;
}

}  // namespace shakedown::fft
