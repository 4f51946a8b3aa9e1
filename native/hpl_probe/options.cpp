#include <algorithm>

#include "common/args.hpp"
#include "hpl_probe.hpp"

namespace shakedown::hpl_probe {
namespace {

std::string join(const std::vector<std::string>& values) {
  std::string text;
  for (const auto& value : values) {
    if (!text.empty()) text += ',';
    text += value;
  }
  return text;
}
std::string join(const std::vector<Index>& values) {
  std::vector<std::string> words;
  words.reserve(values.size());
  for (const auto value : values) words.push_back(std::to_string(value));
  return join(words);
}

/// Numbers between commas, each once, at least one.
std::vector<Index> numbers(Args& args, const std::string& name, const std::vector<Index>& otherwise,
                           const std::string& help, Index low = 1) {
  auto found = args.integers(name, join(otherwise), low, help);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::vector<std::string> words(Args& args, const std::string& name, const std::vector<std::string>& known,
                               const std::vector<std::string>& otherwise, const std::string& help) {
  auto found = args.words(name, join(otherwise), help);
  const auto strange = std::find_if(found.begin(), found.end(), [&](const auto& word) {
    return std::find(known.begin(), known.end(), word) == known.end();
  });
  if (strange != found.end()) throw usage("--" + name + " '" + *strange + "' is not known", "known: " + join(known));
  return found;
}

}  // namespace

Options read_options(int argc, char** argv) {
  Options o;
  Sweep& sweep = o.sweep;
  Args args(
      argc, argv,
      "The pieces that HPL is made of, each timed alone by HPL's own code on all threads of all ranks: products,\n"
      "triangular solves, panels, rows moved in memory, messages. Start several ranks with the mpirun of the MPI\n"
      "it was built with.");
  for (const auto& word : args.words("only", "",
                                     "probes between commas: gemm, narrow, solve, panel, rows, ring, "
                                     "latency, node (default: all)")) {
    sweep.only.push_back(parse_kind(word));
  }
  sweep.k = numbers(args, "k", sweep.k, "depths of the products");
  sweep.nb =
      numbers(args, "nb", sweep.nb, "block sizes of solves, panels and rows; the middle one is the narrow products'");
  sweep.narrow_rows = numbers(args, "narrow-rows", sweep.narrow_rows, "heights of the narrow products");
  sweep.narrow_columns = numbers(args, "narrow-columns", sweep.narrow_columns, "widths of the narrow products");
  sweep.rows = args.integer("rows", 0, 0, "rows of each thread's product; 0: 1536");
  sweep.columns = args.integer("columns", 0, 0, "columns of the matrix; 0: 3072, or 256 for each thread");
  sweep.panel_rows = numbers(args, "panel-rows", sweep.panel_rows, "rows of the panels");
  sweep.panel_threads =
      numbers(args, "panel-threads", {}, "threads that factor a panel (default: 1, 2, 4... to all of a rank)");
  sweep.pfact = words(args, "pfact", {"left", "crout", "right"}, sweep.pfact, "factorization of a panel");
  sweep.nbmin = numbers(args, "nbmin", sweep.nbmin, "widths at which its recursion ends");
  sweep.trsm = words(args, "trsm", {"recursive", "inverse", "blas"}, sweep.trsm, "how the rows of U are solved");
  sweep.sizes = numbers(args, "sizes", sweep.sizes, "bytes of the messages", 8);
  sweep.seed = static_cast<std::uint64_t>(args.integer("seed", 1, 0, "of the order of the cases"));
  o.threads = static_cast<int>(
      args.integer("threads", 0, 0, "threads of a rank; 0: its binding's cores, or its share", 1 << 15));
  o.cpus = args.text("cpus", "", "the CPUs of each host, dealt to its ranks in order, such as 0-7,16-23");
  o.library =
      args.text("library", "", "path of the BLAS library (default: libopenblas, libblis, libmkl_rt or libblas)");
  o.pages = parse_pages(args.text("pages", "huge", "huge, base or hugetlb pages"));
  o.samples = args.integer("samples", o.samples, 1, "of each case; those that find its length are discarded");
  o.seconds_total = args.real("seconds-total", 0, 0, "for all cases together: fewer samples, then fewer cases; 0: any");
  o.verify = !args.flag("no-verify", "do not check what was computed");
  o.allow_oversubscribe = args.flag("allow-oversubscribe", "let threads share a CPU: for tests, not for figures");
  o.isa = args.text("isa", "auto", "instruction set of the loops around the BLAS: auto, avx512, avx2 or plain");
  const auto damage = args.text("inject", "none", "damage the result of a probe, for tests");
  args.finish();
  if (damage != "none") o.inject = parse_kind(damage);
  for (const auto size : sweep.sizes) {
    if (size > Index{8} << 30) throw usage("--sizes " + std::to_string(size) + " is above 8 GiB");
  }
  for (const auto* list : {&sweep.k, &sweep.nb}) {
    if (list->back() > 1 << 14) throw usage("a block size of " + std::to_string(list->back()) + " is above 16384");
  }
  return o;
}

}  // namespace shakedown::hpl_probe
